/*
 * Values of optimised code that a callee may have changed.
 *
 * LLVM describes a scalar by the last value that its function stored. If its address is kept in a
 * structure, another function can change it there, and the description stays as it was: a local n
 * that is set to 9 and whose address goes into "struct holder" is "DW_OP_lit9, DW_OP_stack_value"
 * whatever the functions do that get the holder.
 *
 * Such a variable has a slot in the frame that no DWARF describes, and there is a pointer to it. So
 * a value that is not in memory may be stale if a word of the frame, or of that of the function it
 * called, or what a call site passes, points to a slot of the frame that no variable is known to
 * have, and that has another value.
 */
#include "symbolicator/variables/escape.h"

#include "symbolicator/variables/expression.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/tail.h"

enum { FRAME_MAX = 64 * 1024, SLOTS_MAX = 64 };

static bool
is_suspect(const struct variables_frame *frame, const struct variables_type *type,
           const struct variables_place *place, const struct sym_variable *out)
{
    bool is_scalar =
        type->kind == TYPE_BASE || type->kind == TYPE_ENUM || type->kind == TYPE_POINTER;
    bool is_own = out->kind == SYM_VARIABLE_LOCAL || out->kind == SYM_VARIABLE_PARAM;
    return frame->is_optimized && is_own && is_scalar && !type->is_const && type->size > 0 &&
           type->size <= 8 && place->bytes && !out->maybe_stale &&
           out->availability == SYM_VALUE_AVAILABLE;
}

void
variables_escape_note(struct variables_frame *frame, const struct variables_type *type,
                      const struct variables_place *place, struct sym_variable *out)
{
    struct sym_variables *variables = frame->variables;
    struct variables_noted one = {.size = type->size};
    if (place->is_memory)
        one.address = place->address;
    else if (is_suspect(frame, type, place, out) &&
             variables_place_uint(variables, place, 0, (unsigned)type->size, &one.value) ==
                 SYM_VALUE_AVAILABLE)
        one.suspect = out;
    else
        return;
    struct variables_noted *list = fz_list_grow_in(
        variables->arena, frame->noted, &frame->room_noted, frame->n_noted + 1, sizeof(*list));
    if (!list) {
        variables->no_memory = true;
        return;
    }
    frame->noted = list;
    list[frame->n_noted++] = one;
}

/* Is the address in a variable that the DWARF has a place for? */
static bool
is_described(const struct variables_frame *frame, uint64_t address)
{
    for (size_t i = 0; i < frame->n_noted; i++) {
        const struct variables_noted *one = &frame->noted[i];
        if (!one->suspect && address >= one->address && address - one->address < one->size)
            return true;
    }
    return false;
}

static void
mark_by(struct variables_frame *frame, uint64_t slot)
{
    for (size_t i = 0; i < frame->n_noted; i++) {
        const struct variables_noted *one = &frame->noted[i];
        uint64_t value;
        if (one->suspect &&
            (!sym_process_read_uint(frame->variables->process, slot, (unsigned)one->size, &value) ||
             value != one->value))
            one->suspect->maybe_stale = true;
    }
}

static bool
role_value(const struct sym_process *process, const struct sym_unwind_frame *frame,
           enum fz_arch_register_role role, uint64_t *ret)
{
    return sym_registers_get(&frame->registers,
                             fz_arch_register_of_role(sym_process_cpu(process), role), ret);
}

/* The part of a stack where a variable of the frame may be. */
struct own {
    struct variables_frame *frame;
    uint64_t sp, fp, cfa;
    unsigned n_slots;
};

static void
look_at(struct own *own, uint64_t slot)
{
    /* What a function that it called saved of its frame pointer is not the address of a variable. */
    if (slot < own->sp || slot >= own->cfa || slot == own->fp || own->n_slots == SLOTS_MAX ||
        is_described(own->frame, slot))
        return;
    own->n_slots++;
    mark_by(own->frame, slot);
}

/* What a call passed, as far as it is an address in the frame: the pointer itself may be in no
 * memory any more. Never accepts, so that every call is seen. */
static bool
see_call(void *user, const struct variables_die *site)
{
    struct own *own = user;
    const struct sym_process *process = own->frame->variables->process;
    enum fz_arch_cpu cpu = sym_process_cpu(process);
    unsigned sp = OP_BREG0 + (unsigned)fz_arch_register_of_role(cpu, FZ_REGISTER_SP);
    unsigned fp = OP_BREG0 + (unsigned)fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    struct variables_die at;
    for (bool more = variables_die_child(site, &at); more; more = variables_die_next(&at, &at)) {
        struct variables_attr attr;
        uint64_t slot;
        if ((variables_die_attr(&at, AT_CALL_VALUE, &attr) ||
             variables_die_attr(&at, AT_GNU_CALL_SITE_VALUE, &attr)) &&
            attr.block.len > 0 && (attr.block.data[0] == sp || attr.block.data[0] == fp) &&
            variables_expression_number(own->frame, site->unit, attr.block, NULL, &slot) ==
                SYM_VALUE_AVAILABLE)
            look_at(own, slot);
    }
    return false;
}

void
variables_escape_mark(struct variables_frame *frame)
{
    struct sym_process *process = frame->variables->process;
    const struct sym_unwind_frame *unwound = frame->frame;
    struct own own = {.frame = frame, .cfa = unwound->cfa};
    unsigned size = sym_process_pointer_size(process);
    struct variables_die none;
    uint64_t start, slot;
    bool has_suspect = false;
    for (size_t i = 0; i < frame->n_noted; i++)
        has_suspect = has_suspect || frame->noted[i].suspect;
    if (!has_suspect || !unwound->has_cfa || !role_value(process, unwound, FZ_REGISTER_SP, &own.sp))
        return;
    fz_ignore(!role_value(process, unwound, FZ_REGISTER_FP, &own.fp)); /* stays 0 */
    if (frame->i == 0 ||
        !role_value(process, &frame->chain->frames[frame->i - 1], FZ_REGISTER_SP, &start) ||
        start > own.sp)
        start = own.sp;
    if (own.cfa <= own.sp || own.cfa - start > FRAME_MAX)
        return;
    struct fz_span words = sym_process_bytes(process, start, (size_t)(own.cfa - start));
    for (uint64_t at = 0; at + size <= words.len; at += size) {
        if (sym_process_read_pointer(process, start + at, &slot))
            look_at(&own, slot);
    }
    fz_ignore(!variables_tail_site(&frame->function, see_call, &own, &none)); /* it sees all */
}
