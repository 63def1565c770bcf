/*
 * The stack machine: its loop and the operations that need the frame.
 *
 * Example: "fbreg -16" pushes the frame base, which the function's DW_AT_frame_base describes by an
 * expression of its own, minus 16; at the end of the expression that is the address of the
 * variable. "breg0 0, convert u8, convert s32, stack_value" is the value itself.
 *
 * Every operation counts, also those of expressions inside of expressions, so that branches cannot
 * loop for ever.
 */
#include "symbolicator/variables/machine.h"

#include <stdio.h>

#include "symbolicator/variables/location.h"
#include "symbolicator/variables/operators.h"

enum { DEPTH_MAX = 8 };

static bool
fail(struct variables_machine *machine, enum sym_availability why)
{
    machine->failure = why;
    return false;
}

/* The push of an operation that found no value. */
static bool
poison(struct variables_machine *machine, enum sym_availability why)
{
    if (why == SYM_VALUE_LIMIT)
        return fail(machine, why);
    variables_machine_poison(machine, why);
    return true;
}

static void
note(struct variables_machine *machine, const char *name, int64_t offset)
{
    if (machine->text[0] || !name)
        return;
    if (offset)
        snprintf(machine->text, sizeof(machine->text), "%s%+lld", name, (long long)offset);
    else
        snprintf(machine->text, sizeof(machine->text), "%s", name);
}

static bool
push_register(struct variables_machine *machine, uint64_t number, int64_t offset)
{
    uint64_t value;
    if (number > UINT16_MAX)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    enum sym_availability why = variables_register(machine->frame, (unsigned)number, &value);
    if (why != SYM_VALUE_AVAILABLE)
        return poison(machine, why);
    note(machine, variables_register_name(machine->frame, (unsigned)number), offset);
    variables_machine_push(machine, value + (uint64_t)offset);
    return true;
}

static bool
push_cfa(struct variables_machine *machine)
{
    if (!machine->frame->frame->has_cfa)
        return poison(machine, SYM_VALUE_REGISTER_NOT_RECOVERABLE);
    note(machine, "cfa", 0);
    variables_machine_push(machine, machine->frame->frame->cfa);
    return true;
}

/* The frame pointer of a function is its CFA minus the frame record on all of Apple's processors. In
 * a prologue or an epilogue the register still, or again, is that of the caller. */
static bool
frame_pointer(const struct variables_frame *frame, unsigned number, uint64_t *ret)
{
    struct sym_process *process = frame->variables->process;
    int fp = fz_arch_register_of_role(sym_process_cpu(process), FZ_REGISTER_FP);
    if ((int)number != fp || frame->frame->is_return || !frame->frame->has_cfa)
        return false;
    *ret = frame->frame->cfa - 2 * sym_process_pointer_size(process);
    return true;
}

static bool
push_frame_base(struct variables_machine *machine, int64_t offset)
{
    struct variables_frame *frame = machine->frame;
    struct variables_attr attr;
    struct variables_die owner;
    struct fz_span expr;
    uint64_t base;
    if (machine->depth >= DEPTH_MAX ||
        !variables_die_attr_deep(&frame->function, AT_FRAME_BASE, &attr, &owner))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    enum variables_found found = variables_location_at(&owner, &attr, frame->pc, &expr);
    if (found != LOCATION_FOUND)
        return fail(machine,
                    found == LOCATION_NONE ? SYM_VALUE_OPTIMIZED_OUT : SYM_VALUE_UNSUPPORTED);
    struct variables_machine inner;
    variables_machine_init(&inner, frame, owner.unit, expr);
    inner.depth = machine->depth + 1;
    inner.steps = machine->steps;
    bool is_done = variables_machine_run(&inner);
    machine->steps = inner.steps;
    if (is_done && inner.end == MACHINE_REGISTER) {
        enum sym_availability why = frame_pointer(frame, inner.reg, &base)
                                        ? SYM_VALUE_AVAILABLE
                                        : variables_register(frame, inner.reg, &base);
        if (why != SYM_VALUE_AVAILABLE)
            return poison(machine, why);
    } else if (is_done && inner.poison != SYM_VALUE_AVAILABLE) {
        return poison(machine, inner.poison);
    } else if (is_done && inner.n && (inner.end == MACHINE_ADDRESS || inner.end == MACHINE_VALUE)) {
        base = inner.stack[inner.n - 1].bits;
    } else {
        return fail(machine, is_done ? SYM_VALUE_UNSUPPORTED : inner.failure);
    }
    note(machine, "fbreg", offset);
    variables_machine_push(machine, base + (uint64_t)offset);
    return true;
}

/* The value that an expression had when the function was called: a register, or one and an
 * offset. */
static bool
push_entry(struct variables_machine *machine)
{
    uint64_t len = dwarf_cursor_uleb(&machine->at), number;
    struct dwarf_cursor c = machine->at;
    dwarf_cursor_skip(&machine->at, len);
    if (machine->at.bad || len == 0)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    c.end = machine->at.at;
    unsigned op = dwarf_cursor_u8(&c);
    int64_t offset = 0;
    if (op >= OP_REG0 && op <= OP_REG31) {
        number = op - OP_REG0;
    } else if (op == OP_REGX) {
        number = dwarf_cursor_uleb(&c);
    } else if (op >= OP_BREG0 && op <= OP_BREG31) {
        number = op - OP_BREG0;
        offset = dwarf_cursor_sleb(&c);
    } else {
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    }
    uint64_t value;
    if (c.bad || dwarf_cursor_left(&c) || number > INT16_MAX)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    enum sym_availability why =
        machine->frame->variables->entry(machine->frame, (int)number, &value);
    if (why != SYM_VALUE_AVAILABLE)
        return poison(machine, why);
    machine->is_entry = true;
    note(machine, variables_register_name(machine->frame, (unsigned)number), 0);
    variables_machine_push(machine, value + (uint64_t)offset);
    return true;
}

static bool
push_address(struct variables_machine *machine, uint64_t addr)
{
    struct variables_frame *frame = machine->frame;
    uint64_t address;
    if (!sym_process_from_file(frame->variables->process, frame->image->number, addr, &address))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    note(machine, "static", 0);
    variables_machine_push(machine, address);
    return true;
}

static bool
push_indexed(struct variables_machine *machine, bool is_address)
{
    struct dwarf_value value = {.number = dwarf_cursor_uleb(&machine->at), .form = FORM_ADDRX};
    uint64_t number;
    if (!dwarf_value_address(machine->frame->image->dwarf, machine->unit, &value, &number))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    if (is_address)
        return push_address(machine, number);
    variables_machine_push(machine, number);
    return true;
}

/* DW_OP_call*: the location of another DIE is run with the same stack. */
static bool
call(struct variables_machine *machine, uint64_t offset)
{
    struct variables_die die;
    struct variables_attr attr;
    if (machine->depth >= DEPTH_MAX || !variables_die_at(machine->frame->image, offset, &die))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    /* A DIE without a location has no effect. */
    if (!variables_die_attr(&die, AT_LOCATION, &attr))
        return true;
    if (!variables_attr_is_block(&attr))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    struct dwarf_cursor rest = machine->at;
    const struct sym_dwarf_unit *unit = machine->unit;
    machine->at.at = attr.block.data;
    machine->at.end = attr.block.len ? attr.block.data + attr.block.len : attr.block.data;
    machine->unit = die.unit;
    machine->depth++;
    bool is_done = variables_machine_run(machine);
    machine->depth--;
    machine->at = rest;
    machine->unit = unit;
    return is_done && !machine->is_piece &&
                   (machine->end == MACHINE_ADDRESS || machine->end == MACHINE_EMPTY)
               ? true
               : fail(machine, is_done ? SYM_VALUE_UNSUPPORTED : machine->failure);
}

static bool
implicit_pointer(struct variables_machine *machine)
{
    const struct sym_dwarf_unit *unit = machine->unit;
    machine->pointee =
        dwarf_cursor_uint(&machine->at, unit->version <= 2 ? unit->addr_size : unit->offset_size);
    machine->pointee_offset = dwarf_cursor_sleb(&machine->at);
    machine->end = MACHINE_POINTEE;
    note(machine, "pointee", 0);
    return true;
}

/* Operations that end a simple location or a piece. */
static bool
run_end(struct variables_machine *machine, unsigned op)
{
    uint64_t len;
    switch (op) {
    case OP_PIECE:
        len = dwarf_cursor_uleb(&machine->at);
        machine->is_piece = true;
        machine->piece_offset = 0;
        return !__builtin_mul_overflow(len, 8, &machine->piece_bits) ||
               fail(machine, SYM_VALUE_UNSUPPORTED);
    case OP_BIT_PIECE:
        machine->is_piece = true;
        machine->piece_bits = dwarf_cursor_uleb(&machine->at);
        machine->piece_offset = dwarf_cursor_uleb(&machine->at);
        return true;
    case OP_STACK_VALUE:
        machine->end = MACHINE_VALUE;
        return machine->n > 0 || fail(machine, SYM_VALUE_UNSUPPORTED);
    case OP_IMPLICIT_VALUE: {
        len = dwarf_cursor_uleb(&machine->at);
        const uint8_t *start = machine->at.at;
        dwarf_cursor_skip(&machine->at, len);
        machine->end = MACHINE_BYTES;
        machine->bytes =
            machine->at.bad || !len ? fz_span_make(NULL, 0) : fz_span_make(start, (size_t)len);
        note(machine, "const", 0);
        return true;
    }
    default:
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    }
}

/* Operations that need the frame, its image or its unit. */
static bool
run_frame_op(struct variables_machine *machine, unsigned op)
{
    struct dwarf_cursor *c = &machine->at;
    const struct variables_frame *frame = machine->frame;
    uint64_t number;
    switch (op) {
    case OP_ADDR:
        return push_address(machine, dwarf_cursor_uint(c, machine->unit->addr_size));
    case OP_ADDRX:
    case OP_GNU_ADDR_INDEX:
        return push_indexed(machine, true);
    case OP_CONSTX:
    case OP_GNU_CONST_INDEX:
        return push_indexed(machine, false);
    case OP_FBREG:
        return push_frame_base(machine, dwarf_cursor_sleb(c));
    case OP_BREGX:
        number = dwarf_cursor_uleb(c);
        return push_register(machine, number, dwarf_cursor_sleb(c));
    case OP_CALL_FRAME_CFA:
        return push_cfa(machine);
    case OP_ENTRY_VALUE:
    case OP_GNU_ENTRY_VALUE:
        return push_entry(machine);
    case OP_PUSH_OBJECT_ADDRESS:
        if (!frame->has_object)
            return fail(machine, SYM_VALUE_UNSUPPORTED);
        variables_machine_push(machine, frame->object);
        return true;
    case OP_CALL2:
    case OP_CALL4:
        return call(machine, machine->unit->offset + dwarf_cursor_uint(c, op == OP_CALL2 ? 2 : 4));
    case OP_CALL_REF:
        return call(machine,
                    dwarf_cursor_uint(c, machine->unit->version <= 2 ? machine->unit->addr_size
                                                                     : machine->unit->offset_size));
    case OP_IMPLICIT_POINTER:
    case OP_GNU_IMPLICIT_POINTER:
        return implicit_pointer(machine);
    case OP_GNU_UNINIT:
        machine->is_stale = true;
        return true;
    default:
        return run_end(machine, op);
    }
}

static bool
run_op(struct variables_machine *machine, const uint8_t *start, unsigned op)
{
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(machine, op - OP_BREG0, dwarf_cursor_sleb(&machine->at));
    if ((op >= OP_REG0 && op <= OP_REG31) || op == OP_REGX) {
        uint64_t number = op == OP_REGX ? dwarf_cursor_uleb(&machine->at) : op - OP_REG0;
        machine->reg = number > UINT16_MAX ? UINT16_MAX : (unsigned)number;
        machine->end = MACHINE_REGISTER;
        note(machine, variables_register_name(machine->frame, machine->reg), 0);
        return true;
    }
    enum variables_operated done = variables_operate(machine, start, op);
    if (done == OPERATE_UNKNOWN)
        return run_frame_op(machine, op);
    return done == OPERATE_DONE;
}

bool
variables_machine_run(struct variables_machine *machine)
{
    struct sym_variables *variables = machine->frame->variables;
    const uint8_t *start = machine->at.at;
    machine->end = MACHINE_EMPTY;
    machine->is_piece = false;
    machine->poison = machine->depth ? machine->poison : SYM_VALUE_AVAILABLE;
    while (dwarf_cursor_left(&machine->at) && !machine->is_piece) {
        /* After a register, a value or bytes only a piece may follow. */
        bool is_ended = machine->end != MACHINE_EMPTY && machine->end != MACHINE_ADDRESS;
        unsigned op = dwarf_cursor_u8(&machine->at);
        if (is_ended && op != OP_PIECE && op != OP_BIT_PIECE && op != OP_GNU_UNINIT)
            return fail(machine, SYM_VALUE_UNSUPPORTED);
        if (machine->steps++ >= VARIABLES_STEPS_MAX || variables->steps_left == 0)
            return fail(machine, SYM_VALUE_LIMIT);
        variables->steps_left--;
        if (!run_op(machine, start, op))
            return false;
        if (machine->at.bad)
            return fail(machine, SYM_VALUE_UNSUPPORTED);
        if (machine->failure != SYM_VALUE_AVAILABLE)
            return false;
        /* Operations may also take all that was there: "lit0, drop". */
        if (machine->end == MACHINE_EMPTY || machine->end == MACHINE_ADDRESS)
            machine->end = machine->n ? MACHINE_ADDRESS : MACHINE_EMPTY;
    }
    return true;
}
