/*
 * Places: what the machine found, as bytes or an address; pieces put together.
 *
 * A value of several pieces has some in registers, some in memory and some nowhere: "reg19, piece 8,
 * piece 4, fbreg -4, piece 4" has 8 bytes of x19, 4 that are optimised out and 4 of the stack.
 */
#include "symbolicator/variables/expression.h"

#include "symbolicator/variables/machine.h"
#include "symbolicator/variables/place.h"

/* Bytes of the results' arena. */
static struct variables_place
keep_bytes(struct sym_variables *variables, const uint8_t *bytes, size_t n)
{
    uint8_t *copy = fz_arena_alloc(variables->arena, n + 1);
    if (!copy) {
        variables->no_memory = true;
        return variables_place_none(SYM_VALUE_LIMIT);
    }
    if (n)
        memcpy(copy, bytes, n);
    return variables_place_bytes(copy, n);
}

static struct variables_place
register_place(const struct variables_machine *machine)
{
    uint8_t bytes[16];
    size_t n = 0;
    enum sym_availability why = variables_register_bytes(machine->frame, machine->reg, bytes, &n);
    return why == SYM_VALUE_AVAILABLE ? keep_bytes(machine->frame->variables, bytes, n)
                                      : variables_place_none(why);
}

/* The value on the stack, little-endian. */
static struct variables_place
value_place(const struct variables_machine *machine)
{
    struct variables_number top = machine->stack[machine->n - 1];
    uint8_t bytes[8];
    uint64_t bits = top.kind == NUMBER_SIGNED ? (uint64_t)variables_number_signed(top) : top.bits;
    /* A variable may be longer than its integer type here, not than the generic type or a float. */
    bool is_integer = top.kind == NUMBER_SIGNED || top.kind == NUMBER_UNSIGNED;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    return keep_bytes(machine->frame->variables, bytes, is_integer ? sizeof(bytes) : top.size);
}

/* The place of one simple location. */
static struct variables_place
simple_place(const struct variables_machine *machine)
{
    struct variables_place place;
    if (machine->poison != SYM_VALUE_AVAILABLE)
        return variables_place_none(machine->poison);
    switch (machine->end) {
    case MACHINE_EMPTY:
        place = variables_place_none(SYM_VALUE_OPTIMIZED_OUT);
        break;
    case MACHINE_ADDRESS:
        place = variables_place_memory(machine->stack[machine->n - 1].bits);
        break;
    case MACHINE_REGISTER:
        place = register_place(machine);
        break;
    case MACHINE_VALUE:
        place = value_place(machine);
        break;
    case MACHINE_BYTES:
        place = keep_bytes(machine->frame->variables, machine->bytes.data, machine->bytes.len);
        break;
    case MACHINE_POINTEE:
        place = variables_place_none(SYM_VALUE_OPTIMIZED_OUT);
        place.pointee = machine->pointee;
        place.pointee_offset = machine->pointee_offset;
        break;
    }
    place.is_entry = machine->is_entry;
    place.is_stale = machine->is_stale;
    return place;
}

/* A failure of one piece is a piece that is not available. */
static struct variables_place
pieces_place(struct variables_machine *machine, uint64_t size)
{
    struct variables_pieces pieces;
    struct sym_variables *variables = machine->frame->variables;
    if (!variables_pieces_make(variables, size, &pieces))
        return variables_place_none(SYM_VALUE_LIMIT);
    bool is_entry = false, is_stale = false;
    for (unsigned n = 0;; n++) {
        struct variables_place piece = simple_place(machine);
        is_entry = is_entry || machine->is_entry;
        is_stale = is_stale || machine->is_stale || piece.is_memory;
        variables_pieces_add(&pieces, &piece, machine->piece_offset, machine->piece_bits);
        if (!dwarf_cursor_left(&machine->at))
            break;
        if (n + 1 == VARIABLES_PIECES_MAX)
            return variables_place_none(SYM_VALUE_LIMIT);
        machine->n = 0;
        if (!variables_machine_run(machine))
            return variables_place_none(machine->failure);
        if (!machine->is_piece)
            return variables_place_none(SYM_VALUE_UNSUPPORTED);
    }
    struct variables_place place = variables_pieces_done(&pieces);
    place.is_entry = is_entry;
    place.is_stale = is_stale && machine->frame->is_optimized;
    place.text = "pieces";
    return place;
}

struct variables_place
variables_expression_place(struct variables_frame *frame, const struct sym_dwarf_unit *unit,
                           struct fz_span expr, uint64_t size)
{
    struct variables_machine machine;
    variables_machine_init(&machine, frame, unit, expr);
    if (!variables_machine_run(&machine))
        return variables_place_none(machine.failure);
    if (machine.is_piece)
        return pieces_place(&machine, size);
    struct variables_place place = simple_place(&machine);
    if (machine.poison != SYM_VALUE_AVAILABLE)
        place.text = NULL;
    else if (place.is_memory)
        place.text = variables_printf(frame->variables, "%s @0x%llx", machine.text,
                                      (unsigned long long)place.address);
    else if (machine.is_entry)
        place.text = variables_printf(frame->variables, "%s at the call", machine.text);
    else if (machine.end == MACHINE_REGISTER)
        place.text = variables_printf(frame->variables, "%s", machine.text);
    else if (machine.end == MACHINE_VALUE)
        place.text = machine.text[0]
                         ? variables_printf(frame->variables, "value of %s", machine.text)
                         : "const";
    else if (machine.end == MACHINE_BYTES)
        place.text = "const";
    /* Stores into the stack may be dropped where no code of the function reads them again. */
    place.is_stale = place.is_stale || (place.is_memory && frame->is_optimized);
    return place;
}

enum sym_availability
variables_expression_number(struct variables_frame *frame, const struct sym_dwarf_unit *unit,
                            struct fz_span expr, const uint64_t *initial, uint64_t *ret)
{
    struct variables_machine machine;
    variables_machine_init(&machine, frame, unit, expr);
    if (initial)
        variables_machine_push(&machine, *initial);
    if (!variables_machine_run(&machine))
        return machine.failure;
    if (machine.poison != SYM_VALUE_AVAILABLE)
        return machine.poison;
    if (machine.is_piece)
        return SYM_VALUE_UNSUPPORTED;
    if (machine.end == MACHINE_REGISTER) {
        struct variables_place place = register_place(&machine);
        return variables_place_uint(frame->variables, &place, 0, place.n < 8 ? 4 : 8, ret);
    }
    if (machine.n == 0 || (machine.end != MACHINE_ADDRESS && machine.end != MACHINE_VALUE &&
                           !(initial && machine.end == MACHINE_EMPTY)))
        return SYM_VALUE_UNSUPPORTED;
    *ret = machine.stack[machine.n - 1].bits;
    return SYM_VALUE_AVAILABLE;
}

int
variables_expression_register(struct fz_span expr)
{
    if (expr.len == 0)
        return -1;
    struct dwarf_cursor c = {.at = expr.data, .end = expr.data + expr.len};
    unsigned op = dwarf_cursor_u8(&c);
    uint64_t number = UINT64_MAX;
    if (op >= OP_REG0 && op <= OP_REG31)
        number = op - OP_REG0;
    else if (op == OP_REGX)
        number = dwarf_cursor_uleb(&c);
    return c.bad || dwarf_cursor_left(&c) || number > INT16_MAX ? -1 : (int)number;
}
