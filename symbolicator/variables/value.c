/*
 * Values: chooses by the type.
 */
#include "symbolicator/variables/value.h"

#include "symbolicator/variables/locate.h"
#include "symbolicator/variables/place.h"

/* A pointer that the optimiser removed, whose target is described: "DW_OP_implicit_pointer". */
static bool
fill_pointee(struct variables_value *value, const struct variables_place *place,
             struct sym_variable *out)
{
    struct variables_die die;
    struct variables_fields fields = {.value = value, .limit = 1};
    if (!place->pointee || !variables_die_at(value->frame->image, place->pointee, &die) ||
        value->n_followed >= value->variables->limits.pointer_depth)
        return false;
    const struct variables_type *type = variables_type_of(&die);
    struct variables_place whole = variables_locate(value->frame, &die, type->size);
    struct sym_variable *field = variables_fields_add(&fields, "*", type);
    if (!field)
        return false;
    value->n_followed++;
    struct variables_place part = variables_place_at(&whole, (uint64_t)place->pointee_offset);
    variables_value_part(value, type, &part, field);
    value->n_followed--;
    out->fields = fields.list;
    out->n_fields = fields.n;
    out->availability =
        field->availability == SYM_VALUE_AVAILABLE ? SYM_VALUE_PARTIAL : field->availability;
    return true;
}

static void
fill_enum(struct variables_value *value, const struct variables_type *type,
          const struct variables_place *place, struct sym_variable *out)
{
    uint64_t number;
    enum sym_availability why = variables_place_uint(
        value->variables, place, 0, type->size > 8 ? 9 : (unsigned)type->size, &number);
    if (why == SYM_VALUE_AVAILABLE)
        variables_enum_number(value, type, number, 8 * (unsigned)type->size, out);
    else
        variables_value_absent(out, why);
}

static void
fill_kind(struct variables_value *value, const struct variables_type *type,
          const struct variables_place *place, struct sym_variable *out)
{
    switch (type->kind) {
    case TYPE_BASE:
        variables_scalar_fill(value, type, place, out);
        break;
    case TYPE_POINTER:
        if (!variables_objc_pointer(value, type, place, out))
            variables_pointer_fill(value, type, place, out);
        break;
    case TYPE_REFERENCE:
        variables_reference_fill(value, type, place, out);
        break;
    case TYPE_MEMBER_POINTER:
        variables_member_pointer_fill(value, type, place, out);
        break;
    case TYPE_RECORD:
        if (!variables_cxx_fill(value, type, place, out) &&
            !variables_objc_fill(value, type, place, out))
            variables_record_fill(value, type, place, out);
        break;
    case TYPE_ENUM:
        fill_enum(value, type, place, out);
        break;
    case TYPE_ARRAY:
        variables_array_fill(value, type, place, out);
        break;
    case TYPE_UNKNOWN:
    case TYPE_VOID:
    case TYPE_FUNCTION:
        variables_value_absent(out, SYM_VALUE_UNSUPPORTED);
    }
}

void
variables_value_fill(struct variables_value *value, const struct variables_type *type,
                     const struct variables_place *place, struct sym_variable *out)
{
    out->availability = SYM_VALUE_AVAILABLE;
    out->has_address = place->is_memory;
    out->address = place->is_memory ? place->address : 0;
    if (!place->is_memory && !place->bytes) {
        if (!fill_pointee(value, place, out))
            variables_value_absent(out, place->none);
        return;
    }
    if (value->depth > value->variables->limits.value_depth) {
        variables_value_absent(out, SYM_VALUE_LIMIT);
        return;
    }
    type = variables_type_complete(type);
    if (type->is_swift && variables_swift_fill(value, type, place, out))
        return;
    fill_kind(value, type, place, out);
}
