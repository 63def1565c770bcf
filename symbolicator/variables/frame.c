/*
 * Frames, and the values that parameters had at the call.
 *
 * The compiler often forgets a parameter after its last use, but the caller's DWARF says what it
 * put into the register: DW_TAG_call_site with DW_AT_call_return_pc and, for each register,
 * DW_TAG_call_site_parameter with DW_AT_call_value, an expression in the caller's frame. It may use
 * an entry value of the caller in turn.
 *
 * The call site must be of this very call: it returns to where the caller goes on, and what it
 * calls is the function of this frame. After a tail call it is not: the function that the site
 * names has left the stack, and this one got other values.
 */
#include "symbolicator/variables/frame.h"

#include "symbolicator/variables/expression.h"
#include "symbolicator/variables/location.h"

bool
variables_frame_make(struct sym_variables *variables, const struct sym_unwind_chain *chain,
                     size_t i, struct variables_frame *ret)
{
    const struct sym_unwind_frame *frame = &chain->frames[i];
    *ret = (struct variables_frame){.variables = variables, .chain = chain, .i = i, .frame = frame};
    uint64_t pc = frame->pc - frame->is_return;
    if (frame->image < 0 || !sym_process_to_file(variables->process, frame->image, pc, &ret->pc))
        return false;
    ret->image = variables_image_get(variables, frame->image);
    if (!ret->image || !ret->image->dwarf ||
        !variables_image_function(ret->image, ret->pc, &ret->function))
        return false;
    struct variables_die origin = variables_die_origin(&ret->function);
    const struct sym_dwarf_unit *unit = ret->function.unit;
    ret->is_optimized = variables_image_unit(ret->image, unit)->is_optimized ||
                        variables_die_flag(&ret->function, AT_APPLE_OPTIMIZED) ||
                        variables_die_flag(&origin, AT_APPLE_OPTIMIZED);
    uint64_t low, end;
    ret->is_early = !ret->is_optimized && !frame->is_return &&
                    variables_die_address(&ret->function, AT_LOW_PC, &low) &&
                    variables_image_prologue_end(ret->image, unit, low, &end) && ret->pc < end;
    return true;
}

/* Is it the call that returns to `return_pc`? */
static bool
returns_to(const struct variables_die *site, uint64_t return_pc)
{
    unsigned tag = variables_die_tag(site);
    uint64_t addr;
    if (tag != TAG_CALL_SITE && tag != TAG_GNU_CALL_SITE)
        return false;
    /* The GNU extension names the return address DW_AT_low_pc. */
    return (variables_die_address(site, AT_CALL_RETURN_PC, &addr) ||
            (tag == TAG_GNU_CALL_SITE && variables_die_address(site, AT_LOW_PC, &addr))) &&
           addr == return_pc;
}

/* The call site in a function: depth first, without recursion. */
static bool
find_site(const struct variables_die *function, uint64_t return_pc, struct variables_die *ret)
{
    struct variables_die open[VARIABLES_SCOPES_MAX];
    unsigned depth = 0;
    if (!variables_die_child(function, &open[0]))
        return false;
    for (;;) {
        struct variables_die *at = &open[depth], child;
        if (returns_to(at, return_pc)) {
            *ret = *at;
            return true;
        }
        unsigned tag = variables_die_tag(at);
        bool has_sites = tag == TAG_LEXICAL_BLOCK || tag == TAG_INLINED_SUBROUTINE;
        if (has_sites && depth + 1 < VARIABLES_SCOPES_MAX && variables_die_child(at, &child)) {
            open[++depth] = child;
            continue;
        }
        while (!variables_die_next(&open[depth], &open[depth])) {
            if (depth-- == 0)
                return false;
        }
    }
}

/* Do two DIEs name one function? A declaration in another unit has its linkage name, or in C its
 * name. */
static bool
is_same_function(const struct variables_die *a, const struct variables_die *b)
{
    struct variables_die x = variables_die_origin(a), y = variables_die_origin(b);
    if (x.image == y.image && x.offset == y.offset)
        return true;
    unsigned names[] = {AT_LINKAGE_NAME, AT_MIPS_LINKAGE_NAME};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        struct fz_span p = variables_die_string_deep(a, names[i]),
                       q = variables_die_string_deep(b, names[i]);
        if (p.len || q.len)
            return p.len && fz_span_equal(p, q);
    }
    struct fz_span p = variables_die_string(&x, AT_NAME), q = variables_die_string(&y, AT_NAME);
    return p.len && fz_span_equal(p, q);
}

/* The address that a call through a pointer went to, if the caller still has it. */
static bool
is_called_at(struct variables_frame *caller, const struct variables_die *site,
             const struct variables_frame *callee)
{
    struct variables_attr attr;
    uint64_t target, addr, low;
    if (!variables_die_attr(site, AT_CALL_TARGET, &attr) &&
        !variables_die_attr(site, AT_CALL_TARGET_CLOBBERED, &attr) &&
        !variables_die_attr(site, AT_GNU_CALL_SITE_TARGET, &attr))
        return false;
    return variables_attr_is_block(&attr) &&
           variables_expression_number(caller, site->unit, attr.block, NULL, &target) ==
               SYM_VALUE_AVAILABLE &&
           sym_process_code(caller->variables->process, target, &addr) &&
           variables_die_address(&callee->function, AT_LOW_PC, &low) &&
           sym_process_to_file(caller->variables->process, callee->image->number, addr, &addr) &&
           addr == low;
}

static bool
is_call_of(struct variables_frame *caller, const struct variables_die *site,
           const struct variables_frame *callee)
{
    struct variables_die origin;
    /* DWARF 5's attribute, and the GNU extension's. */
    if (variables_die_ref(site, AT_CALL_ORIGIN, &origin) ||
        variables_die_ref(site, AT_ABSTRACT_ORIGIN, &origin))
        return is_same_function(&origin, &callee->function);
    return is_called_at(caller, site, callee);
}

/* The expression for the value in a register at a call site. */
static bool
find_parameter(const struct variables_die *site, int reg, struct fz_span *ret)
{
    struct variables_die at;
    for (bool more = variables_die_child(site, &at); more; more = variables_die_next(&at, &at)) {
        struct variables_attr place, value;
        unsigned tag = variables_die_tag(&at);
        if ((tag != TAG_CALL_SITE_PARAMETER && tag != TAG_GNU_CALL_SITE_PARAMETER) ||
            !variables_die_attr(&at, AT_LOCATION, &place) ||
            variables_expression_register(place.block) != reg)
            continue;
        if (!variables_die_attr(&at, AT_CALL_VALUE, &value) &&
            !variables_die_attr(&at, AT_GNU_CALL_SITE_VALUE, &value))
            return false;
        *ret = value.block;
        return value.block.len > 0;
    }
    return false;
}

enum sym_availability
variables_frame_entry(struct variables_frame *frame, int reg, uint64_t *ret)
{
    struct variables_frame caller;
    struct variables_die site;
    struct fz_span expr;
    if (frame->entry_depth >= VARIABLES_ENTRY_DEPTH_MAX)
        return SYM_VALUE_LIMIT;
    if (frame->i + 1 >= frame->chain->n ||
        !variables_frame_make(frame->variables, frame->chain, frame->i + 1, &caller))
        return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    caller.entry_depth = frame->entry_depth + 1;
    /* A frame that a signal interrupted made no call. */
    if (!caller.frame->is_return || !find_site(&caller.function, caller.pc + 1, &site) ||
        !is_call_of(&caller, &site, frame) || !find_parameter(&site, reg, &expr))
        return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    return variables_expression_number(&caller, site.unit, expr, NULL, ret);
}
