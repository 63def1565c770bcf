/*
 * Pointers, references, member pointers.
 *
 * A pointer has the address as its value, with the text of a C string or the name of a function;
 * what it points to is a field of the name "*" where that was captured. The pointer itself is
 * available whether its target is or not.
 */
#include <stdio.h>

#include "symbolicator/variables/place.h"
#include "symbolicator/variables/value.h"

/* False: this target was shown before, or there were too many. */
static bool
visit(struct variables_value *value, uint64_t address, const struct variables_type *type)
{
    if (value->n_visited >= VARIABLES_VISITED_MAX)
        return false;
    for (unsigned i = 0; i < value->n_visited; i++) {
        if (value->visited[i].address == address && value->visited[i].type == type)
            return false;
    }
    value->visited[value->n_visited].address = address;
    value->visited[value->n_visited++].type = type;
    return true;
}

bool
variables_pointer_follow(struct variables_value *value, uint64_t address,
                         const struct variables_type *type)
{
    return value->n_followed < value->variables->limits.pointer_depth &&
           visit(value, address, type);
}

const char *
variables_pointer_function(struct sym_variables *variables, uint64_t address)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    uint64_t code, addr;
    if (!sym_process_code(variables->process, address, &code))
        return "";
    int image = sym_process_image_at(variables->process, code);
    const struct sym_process_files *files = sym_process_files(variables->process, image);
    if (!files->index || !sym_process_to_file(variables->process, image, code, &addr))
        return "";
    size_t n = sym_index_lookup(files->index, addr, frames, SYM_FRAMES_MAX);
    /* An address inside of a function is a label or a mistake; it gets no name. */
    if (n == 0 || frames[n - 1].function_start != addr)
        return "";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer name = fz_buffer_make(VARIABLES_TEXT_MAX);
    sym_demangle(frames[n - 1].name, frames[n - 1].source != SYM_SOURCE_DWARF, NULL, &name);
    return variables_text(variables, fz_buffer_span(&name));
}

/* The target as a field, where at least its first byte was captured. */
static void
add_target(struct variables_value *value, const struct variables_type *pointee, uint64_t address,
           struct sym_variable *out)
{
    struct variables_fields fields = {.value = value, .limit = 1};
    if (pointee->kind == TYPE_VOID || pointee->kind == TYPE_FUNCTION ||
        pointee->kind == TYPE_UNKNOWN ||
        sym_process_bytes(value->variables->process, address, 1).len == 0)
        return;
    /* Last, since looking for a definition costs the most. */
    const struct variables_type *complete = variables_type_complete(pointee);
    if (complete->is_incomplete || complete->size == 0 ||
        !variables_pointer_follow(value, address, pointee))
        return;
    struct sym_variable *field = variables_fields_add(&fields, "*", pointee);
    if (!field)
        return;
    struct variables_place place = variables_place_memory(address);
    value->n_followed++;
    variables_value_part(value, pointee, &place, field);
    value->n_followed--;
    out->fields = fields.list;
    out->n_fields = fields.n;
}

void
variables_pointer_fill(struct variables_value *value, const struct variables_type *type,
                       const struct variables_place *place, struct sym_variable *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    uint64_t address;
    enum sym_availability why = variables_place_uint(
        value->variables, place, 0, type->size > 8 ? 9 : (unsigned)type->size, &address);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return;
    }
    const struct variables_type *pointee = variables_type_of(&type->die);
    fz_buffer_printf(&text, "0x%llx", (unsigned long long)address);
    if (address && variables_scalar_is_char(pointee)) {
        fz_buffer_char(&text, ' ');
        if (!variables_string_at(value, address, &text))
            text.len--;
    } else if (address && pointee->kind == TYPE_FUNCTION) {
        const char *name = variables_pointer_function(value->variables, address);
        if (name[0])
            fz_buffer_printf(&text, " (%s)", name);
    } else if (address) {
        add_target(value, pointee, address, out);
    }
    out->value = variables_text(value->variables, fz_buffer_span(&text));
}

void
variables_reference_fill(struct variables_value *value, const struct variables_type *type,
                         const struct variables_place *place, struct sym_variable *out)
{
    uint64_t address;
    enum sym_availability why = variables_place_uint(
        value->variables, place, 0, type->size > 8 ? 9 : (unsigned)type->size, &address);
    const struct variables_type *target = variables_type_of(&type->die);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return;
    }
    /* A reference is another name of its target, so it does not count as a pointer. */
    if (!visit(value, address, target)) {
        variables_value_absent(out, SYM_VALUE_LIMIT);
        return;
    }
    struct variables_place at = variables_place_memory(address);
    variables_value_part(value, target, &at, out);
    if (!out->value && out->n_fields)
        out->value = variables_printf(value->variables, "0x%llx", (unsigned long long)address);
}

void
variables_member_pointer_fill(struct variables_value *value, const struct variables_type *type,
                              const struct variables_place *place, struct sym_variable *out)
{
    unsigned size = type->die.unit->addr_size;
    struct variables_die target;
    uint64_t number;
    enum sym_availability why = variables_place_uint(value->variables, place, 0, size, &number);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return;
    }
    bool is_function = variables_die_ref(&type->die, AT_TYPE, &target) &&
                       variables_die_tag(&target) == TAG_SUBROUTINE_TYPE;
    const char *name =
        is_function && number ? variables_pointer_function(value->variables, number) : "";
    if (is_function && name[0])
        out->value =
            variables_printf(value->variables, "0x%llx (%s)", (unsigned long long)number, name);
    else if (is_function)
        out->value = variables_printf(value->variables, "0x%llx", (unsigned long long)number);
    else if (number == (size == 8 ? UINT64_MAX : UINT32_MAX))
        out->value = "nullptr"; /* -1, since 0 is the offset of the first member */
    else
        out->value = variables_printf(value->variables, "offset %llu", (unsigned long long)number);
}
