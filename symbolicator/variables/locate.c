/*
 * Where a variable is.
 *
 * A parameter that has no place any more, or one in a register that the callee was free to use, may
 * still have been in a register at the function's first instruction. Then the caller's call site
 * says what it was at the call: shown as such, since the function may have changed it since.
 */
#include "symbolicator/variables/locate.h"

#include "symbolicator/variables/expression.h"
#include "symbolicator/variables/location.h"
#include "symbolicator/variables/place.h"

/* DW_AT_const_value: a number of any form, a block of bytes, or a string. */
static struct variables_place
constant_place(struct variables_frame *frame, const struct variables_die *owner,
               const struct variables_attr *attr, uint64_t size)
{
    struct sym_variables *variables = frame->variables;
    struct fz_span bytes = attr->block;
    uint8_t number[16];
    int64_t value;
    struct variables_place place;
    if (!bytes.len && variables_attr_int(attr, &value)) {
        /* A number of a form shorter than the type counts as signed where its form has a sign, and
         * where it has not: LLVM writes the bits of negative numbers as udata of 64 bits. */
        uint64_t bits = attr->value.number;
        bool is_negative = attr->value.form == FORM_SDATA || attr->value.form == FORM_IMPLICIT_CONST
                               ? value < 0
                               : false;
        for (size_t i = 0; i < sizeof(number); i++)
            number[i] = i < 8 ? (uint8_t)(bits >> (8 * i)) : is_negative ? 0xff : 0;
        bytes = fz_span_make(number, sizeof(number));
    } else if (!bytes.len) {
        bytes = dwarf_value_string(owner->image->dwarf, owner->unit, &attr->value);
    }
    size_t n = size && size < bytes.len ? (size_t)size : bytes.len;
    uint8_t *copy = fz_arena_alloc(variables->arena, n + 1);
    if (!copy) {
        variables->no_memory = true;
        return variables_place_none(SYM_VALUE_LIMIT);
    }
    if (n)
        memcpy(copy, bytes.data, n);
    place = variables_place_bytes(copy, n);
    place.text = "const";
    return place;
}

/* The value at the call, if the first instruction of the function has the parameter in a
 * register. */
static bool
entry_place(struct variables_frame *frame, const struct variables_die *die,
            const struct variables_attr *attr, struct variables_place *ret)
{
    struct sym_variables *variables = frame->variables;
    struct fz_span expr;
    uint64_t low, value;
    if (variables_die_tag(die) != TAG_FORMAL_PARAMETER || variables_location_is_single(attr) ||
        !variables_die_address(&frame->function, AT_LOW_PC, &low) ||
        variables_location_at(die, attr, low, &expr) != LOCATION_FOUND)
        return false;
    int reg = variables_expression_register(expr);
    if (reg < 0 || variables->entry(frame, reg, &value) != SYM_VALUE_AVAILABLE)
        return false;
    uint8_t *bytes = fz_arena_alloc(variables->arena, 8);
    if (!bytes) {
        variables->no_memory = true;
        return false;
    }
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    *ret = variables_place_bytes(bytes, 8);
    ret->is_entry = true;
    ret->text = "value at the call";
    return true;
}

struct variables_place
variables_locate(struct variables_frame *frame, const struct variables_die *die, uint64_t size)
{
    struct variables_attr attr;
    struct variables_die owner;
    struct fz_span expr;
    struct variables_place place, entry;
    if (variables_die_attr_deep(die, AT_CONST_VALUE, &attr, &owner))
        return constant_place(frame, &owner, &attr, size);
    if (!variables_die_attr_deep(die, AT_LOCATION, &attr, &owner))
        return variables_place_none(SYM_VALUE_OPTIMIZED_OUT);
    switch (variables_location_at(&owner, &attr, frame->pc, &expr)) {
    case LOCATION_FOUND:
        place = variables_expression_place(frame, owner.unit, expr, size);
        break;
    case LOCATION_NONE:
        place = variables_place_none(SYM_VALUE_OPTIMIZED_OUT);
        break;
    case LOCATION_BROKEN:
        return variables_place_none(SYM_VALUE_UNSUPPORTED);
    }
    bool is_gone =
        !place.is_memory && !place.bytes && !place.pointee &&
        (place.none == SYM_VALUE_OPTIMIZED_OUT || place.none == SYM_VALUE_REGISTER_NOT_RECOVERABLE);
    return is_gone && entry_place(frame, &owner, &attr, &entry) ? entry : place;
}

bool
variables_locate_static(const struct variables_die *die, uint64_t *ret)
{
    struct variables_attr attr;
    struct variables_die owner;
    if (!variables_die_attr_deep(die, AT_LOCATION, &attr, &owner) || attr.block.len == 0)
        return false;
    struct dwarf_cursor c = {.at = attr.block.data,
                             .end = attr.block.data + attr.block.len,
                             .big_endian = owner.image->dwarf->big_endian};
    unsigned op = dwarf_cursor_u8(&c);
    if (op == OP_ADDR) {
        *ret = dwarf_cursor_uint(&c, owner.unit->addr_size);
    } else if (op == OP_ADDRX || op == OP_GNU_ADDR_INDEX) {
        struct dwarf_value value = {.number = dwarf_cursor_uleb(&c), .form = FORM_ADDRX};
        if (!dwarf_value_address(owner.image->dwarf, owner.unit, &value, ret))
            return false;
    } else {
        return false;
    }
    return !c.bad && dwarf_cursor_left(&c) == 0;
}
