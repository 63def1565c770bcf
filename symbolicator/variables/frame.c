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
 * names has left the stack, and this one got other values, those of the tail call (tail.h).
 */
#include "symbolicator/variables/frame.h"

#include "symbolicator/variables/expression.h"
#include "symbolicator/variables/location.h"
#include "symbolicator/variables/tail.h"

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

/* Is it the call that returns to the address? */
static bool
returns_to(void *user, const struct variables_die *site)
{
    const uint64_t *return_pc = user;
    uint64_t addr;
    /* The GNU extension names the return address DW_AT_low_pc. */
    return (variables_die_address(site, AT_CALL_RETURN_PC, &addr) ||
            (variables_die_tag(site) == TAG_GNU_CALL_SITE &&
             variables_die_address(site, AT_LOW_PC, &addr))) &&
           addr == *return_pc;
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

/* The tail calls between a call site and a frame; false if the site may be of another call. */
static bool
path_from(struct variables_frame *caller, const struct variables_die *site,
          const struct variables_frame *callee, struct variables_tail *ret)
{
    struct variables_die origin;
    /* DWARF 5's attribute, and the GNU extension's. */
    if (variables_die_ref(site, AT_CALL_ORIGIN, &origin) ||
        variables_die_ref(site, AT_ABSTRACT_ORIGIN, &origin))
        return variables_tail_path(&origin, &callee->function, ret);
    return is_called_at(caller, site, callee) &&
           variables_tail_path(&callee->function, &callee->function, ret);
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

/* The call site in the caller of a frame that is on the stack, and the tail calls from what it
 * called; the latter are kept, since each variable of a frame asks for them. */
static const struct variables_tail *
find_call(struct variables_frame *frame, struct variables_frame *ret_caller,
          struct variables_die *ret_site)
{
    struct sym_variables *variables = frame->variables;
    if (frame->i + 1 >= frame->chain->n ||
        !variables_frame_make(variables, frame->chain, frame->i + 1, ret_caller))
        return NULL;
    ret_caller->entry_depth = frame->entry_depth + 1;
    /* A frame that a signal interrupted made no call. */
    uint64_t return_pc = ret_caller->pc + 1;
    if (!ret_caller->frame->is_return ||
        !variables_tail_site(&ret_caller->function, returns_to, &return_pc, ret_site))
        return NULL;
    if (variables->called.chain != frame->chain || variables->called.i != frame->i) {
        struct variables_tail tail = {.n = 0};
        bool is_known = path_from(ret_caller, ret_site, frame, &tail);
        variables->called.chain = frame->chain;
        variables->called.i = frame->i;
        variables->called.is_known = is_known;
        variables->called.tail = tail;
    }
    return variables->called.is_known ? &variables->called.tail : NULL;
}

enum sym_availability
variables_frame_entry(struct variables_frame *frame, int reg, uint64_t *ret)
{
    static const struct sym_unwind_frame gone = {.is_return = true};
    struct variables_frame caller, below = *frame;
    struct variables_die site;
    struct fz_span expr;
    if (frame->entry_depth >= VARIABLES_ENTRY_DEPTH_MAX)
        return SYM_VALUE_LIMIT;
    /* The frame on the stack that the one that is gone led to. */
    if (frame->tail && !variables_frame_make(frame->variables, frame->chain, frame->i, &below))
        return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    below.entry_depth = frame->entry_depth;
    const struct variables_tail *found = find_call(&below, &caller, &site);
    if (!found)
        return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    struct variables_tail tail = *found;
    unsigned n = frame->tail ? frame->i_tail : tail.n;
    if (n > 0 && n <= tail.n) {
        /* No register of a frame that is gone is known, only constants and its own entry values. */
        caller = below;
        caller.frame = &gone;
        caller.function = tail.functions[n - 1];
        caller.tail = &tail;
        caller.i_tail = n - 1;
        caller.entry_depth = frame->entry_depth + 1;
        site = tail.sites[n - 1];
    }
    if (!find_parameter(&site, reg, &expr))
        return SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    return variables_expression_number(&caller, site.unit, expr, NULL, ret);
}
