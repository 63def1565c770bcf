/*
 * Constants, the stack, arithmetic, memory, branches, and the typed operations of DWARF 5
 * (2.5.1.1 to 2.5.1.6).
 */
#include "symbolicator/variables/operators.h"

static enum variables_operated
fail(struct variables_machine *machine, enum sym_availability why)
{
    machine->failure = why;
    return OPERATE_FAILED;
}

static enum variables_operated
push(struct variables_machine *machine, uint64_t value)
{
    variables_machine_push(machine, value);
    return OPERATE_DONE;
}

static enum variables_operated
push_number(struct variables_machine *machine, struct variables_number number)
{
    if (machine->n == VARIABLES_STACK_MAX)
        return fail(machine, SYM_VALUE_LIMIT);
    machine->stack[machine->n++] = number;
    return OPERATE_DONE;
}

static enum variables_operated
push_constant(struct variables_machine *machine, unsigned op)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
    struct dwarf_cursor *c = &machine->at;
    if (op == OP_CONSTU)
        return push(machine, dwarf_cursor_uleb(c));
    if (op == OP_CONSTS)
        return push(machine, (uint64_t)dwarf_cursor_sleb(c));
    unsigned size = sizes[op - OP_CONST1U];
    uint64_t value = dwarf_cursor_uint(c, size);
    bool is_signed = (op - OP_CONST1U) % 2 == 1;
    if (is_signed && size < 8 && value >> (8 * size - 1))
        value |= UINT64_MAX << (8 * size);
    return push(machine, value);
}

/* The stack operations; they do not look at what the numbers are. */
static enum variables_operated
shuffle(struct variables_machine *machine, unsigned op)
{
    struct variables_number *stack = machine->stack, top;
    unsigned n = machine->n, pick = op == OP_PICK   ? dwarf_cursor_u8(&machine->at)
                                    : op == OP_OVER ? 1
                                                    : 0;
    unsigned needs = op == OP_SWAP ? 2 : op == OP_ROT ? 3 : pick + 1;
    if (n < needs)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    switch (op) {
    case OP_DROP:
        machine->n--;
        return OPERATE_DONE;
    case OP_SWAP:
        top = stack[n - 1];
        stack[n - 1] = stack[n - 2];
        stack[n - 2] = top;
        return OPERATE_DONE;
    case OP_ROT: /* the top becomes the third */
        top = stack[n - 1];
        stack[n - 1] = stack[n - 2];
        stack[n - 2] = stack[n - 3];
        stack[n - 3] = top;
        return OPERATE_DONE;
    default: /* dup, over, pick */
        return push_number(machine, stack[n - 1 - pick]);
    }
}

/* The base type that an operation names by its offset in the unit; 0 = the generic type. */
static bool
base_type(struct variables_machine *machine, uint64_t offset, struct variables_number *ret)
{
    struct variables_die die;
    uint64_t encoding, size, at;
    if (offset == 0) {
        *ret = variables_number_make(0, NUMBER_GENERIC, machine->unit->addr_size);
        return true;
    }
    if (__builtin_add_overflow(machine->unit->offset, offset, &at) ||
        !variables_die_at(machine->frame->image, at, &die) ||
        variables_die_tag(&die) != TAG_BASE_TYPE ||
        !variables_die_uint(&die, AT_ENCODING, &encoding) ||
        !variables_die_uint(&die, AT_BYTE_SIZE, &size) || size == 0 || size > 8)
        return false;
    unsigned kind = NUMBER_UNSIGNED;
    if (encoding == ATE_SIGNED || encoding == ATE_SIGNED_CHAR)
        kind = NUMBER_SIGNED;
    else if (encoding == ATE_FLOAT)
        kind = NUMBER_FLOAT;
    else if (encoding == ATE_COMPLEX_FLOAT)
        return false;
    *ret = variables_number_make(0, kind, (unsigned)size);
    return kind != NUMBER_FLOAT || size == 4 || size == 8;
}

static bool
read_memory(const struct variables_machine *machine, uint64_t addr, uint64_t size, uint64_t *ret)
{
    return size >= 1 && size <= 8 &&
           sym_process_read_uint(machine->frame->variables->process, addr, (unsigned)size, ret);
}

static enum variables_operated
deref(struct variables_machine *machine, unsigned op)
{
    uint64_t size = machine->unit->addr_size, value;
    struct variables_number type = variables_number_make(0, NUMBER_GENERIC, (unsigned)size);
    if (op != OP_DEREF)
        size = dwarf_cursor_u8(&machine->at);
    if ((op == OP_DEREF_TYPE || op == OP_GNU_DEREF_TYPE) &&
        !base_type(machine, dwarf_cursor_uleb(&machine->at), &type))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    if (machine->n == 0 || size == 0 || size > 16)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    /* A vector register was saved as a whole; the variable is in its low bytes. */
    if (size > 8)
        size = 8;
    if (!read_memory(machine, machine->stack[machine->n - 1].bits, size, &value)) {
        machine->n--;
        variables_machine_poison(machine, SYM_VALUE_MEMORY_NOT_CAPTURED);
        value = 0;
    }
    machine->stack[machine->n - 1] = variables_number_make(value, type.kind, type.size);
    return OPERATE_DONE;
}

static enum variables_operated
push_typed_constant(struct variables_machine *machine)
{
    struct variables_number type;
    uint64_t offset = dwarf_cursor_uleb(&machine->at);
    unsigned size = dwarf_cursor_u8(&machine->at);
    if (!base_type(machine, offset, &type) || size != type.size)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    type.bits = dwarf_cursor_uint(&machine->at, size);
    return push_number(machine, type);
}

static enum variables_operated
push_typed_register(struct variables_machine *machine)
{
    struct variables_number type;
    uint64_t reg = dwarf_cursor_uleb(&machine->at), offset = dwarf_cursor_uleb(&machine->at);
    uint8_t bytes[16];
    size_t n = 0;
    if (reg > UINT16_MAX || !base_type(machine, offset, &type))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    enum sym_availability why = variables_register_bytes(machine->frame, (unsigned)reg, bytes, &n);
    if (why == SYM_VALUE_AVAILABLE && n < type.size)
        why = SYM_VALUE_REGISTER_NOT_RECOVERABLE;
    if (why != SYM_VALUE_AVAILABLE) {
        variables_machine_poison(machine, why);
        machine->stack[machine->n - 1] = type;
        return OPERATE_DONE;
    }
    for (unsigned i = type.size; i-- > 0;)
        type.bits = type.bits << 8 | bytes[i];
    return push_number(machine, type);
}

static enum variables_operated
convert(struct variables_machine *machine, bool is_reinterpreted)
{
    struct variables_number type;
    if (!base_type(machine, dwarf_cursor_uleb(&machine->at), &type) || machine->n == 0)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    struct variables_number *top = &machine->stack[machine->n - 1];
    if (!is_reinterpreted) {
        *top = variables_number_convert(*top, type.kind, type.size);
        return OPERATE_DONE;
    }
    if (top->size != type.size)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    top->kind = type.kind;
    return OPERATE_DONE;
}

static enum variables_operated
branch(struct variables_machine *machine, const uint8_t *start, bool is_taken)
{
    int64_t by = (int16_t)dwarf_cursor_uint(&machine->at, 2);
    int64_t from = machine->at.at - start, len = machine->at.end - start;
    /* Where to go on is not known if a value was not. */
    if (machine->poison != SYM_VALUE_AVAILABLE)
        return fail(machine, machine->poison);
    if (machine->at.bad || !is_taken)
        return OPERATE_DONE;
    if (from + by < 0 || from + by > len)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    machine->at.at = start + (from + by);
    return OPERATE_DONE;
}

static enum variables_operated
arithmetic(struct variables_machine *machine, unsigned op)
{
    bool is_unary = op == OP_ABS || op == OP_NEG || op == OP_NOT;
    struct variables_number *stack = machine->stack, result;
    if (machine->n < (is_unary ? 1u : 2u))
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    unsigned n = machine->n;
    bool is_done = is_unary ? variables_number_unary(op, stack[n - 1], &result)
                            : variables_number_binary(op, stack[n - 2], stack[n - 1], &result);
    if (!is_done)
        return fail(machine, SYM_VALUE_UNSUPPORTED);
    machine->n = is_unary ? n : n - 1;
    /* The truth of a comparison is of the generic type, whatever was compared. */
    if (op >= OP_EQ && op <= OP_NE)
        result = variables_number_make(result.bits, NUMBER_GENERIC, machine->unit->addr_size);
    stack[machine->n - 1] = result;
    return OPERATE_DONE;
}

static enum variables_operated
operate_typed(struct variables_machine *machine, unsigned op)
{
    switch (op) {
    case OP_CONST_TYPE:
    case OP_GNU_CONST_TYPE:
        return push_typed_constant(machine);
    case OP_REGVAL_TYPE:
    case OP_GNU_REGVAL_TYPE:
        return push_typed_register(machine);
    case OP_DEREF_SIZE:
    case OP_DEREF_TYPE:
    case OP_GNU_DEREF_TYPE:
        return deref(machine, op);
    case OP_CONVERT:
    case OP_GNU_CONVERT:
        return convert(machine, false);
    case OP_REINTERPRET:
    case OP_GNU_REINTERPRET:
        return convert(machine, true);
    case OP_NOP:
        return OPERATE_DONE;
    default:
        return OPERATE_UNKNOWN;
    }
}

enum variables_operated
variables_operate(struct variables_machine *machine, const uint8_t *start, unsigned op)
{
    if (op >= OP_LIT0 && op <= OP_LIT31)
        return push(machine, op - OP_LIT0);
    if (op >= OP_CONST1U && op <= OP_CONSTS)
        return push_constant(machine, op);
    if ((op >= OP_DUP && op <= OP_ROT))
        return shuffle(machine, op);
    switch (op) {
    case OP_DEREF:
        return deref(machine, op);
    case OP_PLUS_UCONST: {
        uint64_t by = dwarf_cursor_uleb(&machine->at);
        if (machine->n == 0 || machine->stack[machine->n - 1].kind == NUMBER_FLOAT)
            return fail(machine, SYM_VALUE_UNSUPPORTED);
        struct variables_number *top = &machine->stack[machine->n - 1];
        *top = variables_number_make(top->bits + by, top->kind, top->size);
        return OPERATE_DONE;
    }
    case OP_BRA: {
        if (machine->n == 0)
            return fail(machine, SYM_VALUE_UNSUPPORTED);
        bool is_taken = machine->stack[--machine->n].bits != 0;
        return branch(machine, start, is_taken);
    }
    case OP_SKIP:
        return branch(machine, start, true);
    default:
        break;
    }
    if (op >= OP_ABS && op <= OP_NE && op != OP_XDEREF)
        return arithmetic(machine, op);
    return operate_typed(machine, op);
}
