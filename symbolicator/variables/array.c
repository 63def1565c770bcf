/*
 * Arrays: elements up to the limit, arrays of char as text, vectors.
 */
#include "symbolicator/variables/locate.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/value.h"

void
variables_array_elements(struct variables_value *value, const struct variables_type *element,
                         const struct variables_place *place, uint64_t n, struct sym_variable *out)
{
    struct variables_fields fields = {.value = value, .limit = value->variables->limits.elements};
    for (uint64_t i = 0; i < n; i++) {
        if (fields.n == fields.limit) {
            fields.n_cut = n - i > SIZE_MAX ? SIZE_MAX : (size_t)(n - i);
            break;
        }
        const char *name = variables_printf(value->variables, "[%llu]", (unsigned long long)i);
        struct sym_variable *field = variables_fields_add(&fields, name, element);
        if (!field)
            break;
        struct variables_place part = variables_place_at(place, i * element->size);
        variables_value_part(value, element, &part, field);
    }
    variables_fields_done(&fields, out);
}

/* The text of an array of char: up to the first NUL. A byte that is not known ends it. */
static void
fill_text(struct variables_value *value, const struct variables_place *place, uint64_t n,
          struct sym_variable *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    unsigned max = value->variables->limits.string_bytes;
    enum sym_availability why = SYM_VALUE_AVAILABLE;
    bool is_cut = false;
    for (uint64_t i = 0; i < n; i++) {
        uint8_t c;
        why = variables_place_read(value->variables, place, i, 1, &c);
        is_cut = why != SYM_VALUE_AVAILABLE || i == max;
        if (is_cut || c == 0)
            break;
        fz_buffer_char(&bytes, (char)c);
    }
    if (why != SYM_VALUE_AVAILABLE && bytes.len == 0) {
        variables_value_absent(out, why);
        return;
    }
    variables_string_append(&text, fz_buffer_span(&bytes), is_cut);
    variables_value_text(value, out, fz_buffer_cstr(&text));
    if (why != SYM_VALUE_AVAILABLE)
        out->availability = SYM_VALUE_PARTIAL;
}

/* An array of the dimensions from `dimension` on. */
static void
fill_dimension(struct variables_value *value, const struct variables_type *type,
               const struct variables_place *place, unsigned dimension, struct sym_variable *out)
{
    const struct variables_type *element = variables_type_complete(type->element);
    uint64_t count = type->counts[dimension], size = element->size;
    if (dimension + 1 >= type->n_counts) {
        if (variables_scalar_is_char(element) && !type->is_vector)
            fill_text(value, place, count, out);
        else
            variables_array_elements(value, element, place, count, out);
        return;
    }
    for (unsigned i = dimension + 1; i < type->n_counts; i++) {
        if (__builtin_mul_overflow(size, type->counts[i], &size))
            size = 0;
    }
    struct variables_fields fields = {.value = value, .limit = value->variables->limits.elements};
    value->depth++;
    for (uint64_t i = 0; i < count; i++) {
        if (fields.n == fields.limit) {
            fields.n_cut = count - i > SIZE_MAX ? SIZE_MAX : (size_t)(count - i);
            break;
        }
        const char *name = variables_printf(value->variables, "[%llu]", (unsigned long long)i);
        struct sym_variable *field = variables_fields_add(&fields, name, NULL);
        if (!field)
            break;
        struct variables_place part = variables_place_at(place, i * size);
        field->has_address = part.is_memory;
        field->address = part.address;
        fill_dimension(value, type, &part, dimension + 1, field);
    }
    value->depth--;
    variables_fields_done(&fields, out);
}

/* Set the bounds of a variable-length array, each of which the compiler keeps in a variable of its
 * own. False: one of them is not known. */
static bool
find_bounds(struct variables_value *value, struct variables_type *type)
{
    struct variables_die at, bound;
    unsigned n = 0;
    for (bool more = variables_die_child(&type->die, &at); more && n < type->n_counts;
         more = variables_die_next(&at, &at)) {
        if (variables_die_tag(&at) != TAG_SUBRANGE_TYPE)
            continue;
        uint64_t *count = &type->counts[n++];
        if (*count || !variables_die_ref(&at, AT_COUNT, &bound))
            continue;
        uint64_t size = variables_type_of(&bound)->size;
        struct variables_place place = variables_locate(value->frame, &bound, size);
        if (size > 8 || variables_place_uint(value->variables, &place, 0, (unsigned)size, count) !=
                            SYM_VALUE_AVAILABLE)
            return false;
    }
    return true;
}

void
variables_array_fill(struct variables_value *value, const struct variables_type *type,
                     const struct variables_place *place, struct sym_variable *out)
{
    struct variables_type sized = *type;
    if (type->is_sized_late) {
        sized.is_flexible = !place->is_memory || !find_bounds(value, &sized);
        type = &sized;
    }
    /* No type says how long a flexible array is: it has a place and no elements. */
    if (type->is_flexible && place->is_memory)
        return;
    if (type->n_counts == 0 || type->is_flexible ||
        variables_type_complete(type->element)->size == 0) {
        variables_value_absent(out, SYM_VALUE_UNSUPPORTED);
        return;
    }
    fill_dimension(value, type, place, 0, out);
}
