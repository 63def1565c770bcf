/*
 * C++: the containers of libc++ that nearly every program has, read from their members.
 *
 * The names of the members are libc++'s since its beginning; some versions wrap them in a
 * compressed pair, whose first element has the value in __value_. A container that does not look
 * right (sizes that do not fit, an end before its beginning) is shown as the structure that it is.
 *
 * std::string has two layouts. The default one begins with size * 2 as a byte, or with the capacity
 * and bit 0 set; the other one, which Apple uses on arm64, ends with the size as a byte, or with the
 * capacity and the highest bit set:
 *
 *     default    short: size*2, 23 bytes         long: capacity|1, size, data
 *     alternate  short: 23 bytes, size           long: data, size, capacity|1<<63
 */
#include "symbolicator/variables/container.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/value.h"

enum { STRING_SIZE_MAX = 1 << 30 };

/* A container that is being read: the part of interest after each step. */
struct part {
    const struct variables_type *type;
    struct variables_place place;
};

static bool
step(struct variables_value *value, struct part *part, const char *name)
{
    return part->type->kind == TYPE_RECORD &&
           variables_record_find(value, part->type, &part->place, name, &part->type, &part->place);
}

/* The same, through a compressed pair if there is one. */
static bool
step_value(struct variables_value *value, struct part *part, const char *name)
{
    if (!step(value, part, name))
        return false;
    struct part inner = *part;
    if (part->type->kind == TYPE_RECORD && step(value, &inner, "__value_"))
        *part = inner;
    return true;
}

static enum sym_availability
read_word(struct variables_value *value, const struct part *part, uint64_t *ret)
{
    return part->type->size == 4 || part->type->size == 8
               ? variables_place_uint(value->variables, &part->place, 0, (unsigned)part->type->size,
                                      ret)
               : SYM_VALUE_UNSUPPORTED;
}

/* Which layout: where the pointer of a long string is, by the DWARF, else by the processor. */
static bool
is_alternate(struct variables_value *value, const struct part *string)
{
    static const uint8_t nothing[64];
    struct variables_place base = variables_place_bytes(nothing, sizeof(nothing));
    struct part at = {.type = string->type, .place = base};
    if ((step_value(value, &at, "__r_") ||
         (at = (struct part){string->type, base}, step(value, &at, "__rep_"))) &&
        step(value, &at, "__l") && step(value, &at, "__data_"))
        return at.place.bytes == nothing;
    return sym_process_cpu(value->variables->process) == FZ_CPU_ARM64;
}

struct text {
    uint64_t size, data; /* data 0: inside of the object, at `offset` */
    uint64_t offset;
};

static bool
read_string(struct variables_value *value, const struct part *string, struct text *ret)
{
    struct sym_variables *variables = value->variables;
    unsigned word = sym_process_pointer_size(variables->process);
    uint64_t words[3];
    uint8_t bytes[24];
    if (string->type->size != 3u * word ||
        variables_place_read(variables, &string->place, 0, 3u * (size_t)word, bytes) !=
            SYM_VALUE_AVAILABLE)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        words[i] = 0;
        for (unsigned k = word; k-- > 0;)
            words[i] = words[i] << 8 | bytes[i * word + k];
    }
    bool alternate = is_alternate(value, string);
    uint8_t flags = alternate ? bytes[3 * word - 1] : bytes[0];
    bool is_long = alternate ? flags >> 7 : flags & 1;
    if (!is_long) {
        ret->size = alternate ? flags : flags >> 1;
        ret->offset = alternate ? 0 : 1;
        ret->data = 0;
        return ret->size < 3u * word - 1 && bytes[ret->offset + ret->size] == 0;
    }
    uint64_t high = UINT64_C(1) << (8 * word - 1);
    uint64_t capacity = alternate ? words[2] & ~high : words[0] & ~UINT64_C(1);
    ret->size = words[1];
    ret->data = alternate ? words[0] : words[2];
    return ret->size <= capacity && ret->size < STRING_SIZE_MAX && ret->data;
}

static void
fill_text(struct variables_value *value, const struct part *string, const struct text *text,
          struct sym_variable *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer quoted = fz_buffer_make(0);
    struct sym_variables *variables = value->variables;
    unsigned max = variables->limits.string_bytes;
    size_t n = text->size > max ? max : (size_t)text->size;
    uint8_t inside[24] = {0};
    struct fz_span bytes = {NULL, 0};
    if (text->data) {
        bytes = n ? sym_process_bytes(variables->process, text->data, n) : bytes;
        if (n && bytes.len < n) {
            variables_value_absent(out, SYM_VALUE_MEMORY_NOT_CAPTURED);
            return;
        }
    } else if (variables_place_read(variables, &string->place, text->offset, n, inside) ==
               SYM_VALUE_AVAILABLE) {
        bytes = fz_span_make(inside, n);
    }
    variables_string_append(&quoted, bytes, text->size > max);
    variables_value_text(value, out, fz_buffer_cstr(&quoted));
}

static bool
fill_string(struct variables_value *value, const struct part *string, struct sym_variable *out)
{
    struct text text;
    if (!read_string(value, string, &text))
        return false;
    fill_text(value, string, &text, out);
    return true;
}

static bool
fill_vector(struct variables_value *value, const struct part *vector, struct sym_variable *out)
{
    struct part begin = *vector, end = *vector;
    uint64_t from, to;
    if (!step(value, &begin, "__begin_") || !step(value, &end, "__end_") ||
        begin.type->kind != TYPE_POINTER ||
        read_word(value, &begin, &from) != SYM_VALUE_AVAILABLE ||
        read_word(value, &end, &to) != SYM_VALUE_AVAILABLE)
        return false;
    const struct variables_type *element =
        variables_type_complete(variables_type_of(&begin.type->die));
    if (to < from || element->size == 0 || (to - from) % element->size)
        return false;
    uint64_t n = (to - from) / element->size;
    out->value = variables_printf(value->variables, "size=%llu", (unsigned long long)n);
    struct variables_place place = variables_place_memory(from);
    variables_array_elements(value, element, &place, n, out);
    return true;
}

/* Smart pointers are what they point with. */
static bool
fill_pointer(struct variables_value *value, const struct part *owner, struct sym_variable *out)
{
    struct part pointer = *owner;
    if (!step_value(value, &pointer, "__ptr_") || pointer.type->kind != TYPE_POINTER)
        return false;
    variables_value_part(value, pointer.type, &pointer.place, out);
    return true;
}

static bool
fill_optional(struct variables_value *value, const struct part *optional, struct sym_variable *out)
{
    struct part engaged = *optional, inner = *optional;
    uint8_t is_engaged;
    if (!step(value, &engaged, "__engaged_") || !step(value, &inner, "__val_") ||
        variables_place_read(value->variables, &engaged.place, 0, 1, &is_engaged) !=
            SYM_VALUE_AVAILABLE ||
        is_engaged > 1)
        return false;
    if (is_engaged)
        variables_value_part(value, inner.type, &inner.place, out);
    else
        out->value = "nullopt";
    return true;
}

static bool
fill_view(struct variables_value *value, const struct part *view, struct sym_variable *out)
{
    struct part data = *view, size = *view;
    struct text text = {0};
    if (!(step(value, &data, "__data_") || (data = *view, step(value, &data, "__data"))) ||
        !(step(value, &size, "__size_") || (size = *view, step(value, &size, "__size"))) ||
        read_word(value, &data, &text.data) != SYM_VALUE_AVAILABLE ||
        read_word(value, &size, &text.size) != SYM_VALUE_AVAILABLE ||
        text.size >= STRING_SIZE_MAX || (text.size && !text.data))
        return false;
    fill_text(value, view, &text, out);
    return true;
}

bool
variables_cxx_fill(struct variables_value *value, const struct variables_type *type,
                   const struct variables_place *place, struct sym_variable *out)
{
    static const struct {
        const char *prefix;
        bool (*fill)(struct variables_value *value, const struct part *part,
                     struct sym_variable *out);
    } kinds[] = {
        {"basic_string<char,", fill_string},
        {"vector<", fill_vector},
        {"unique_ptr<", fill_pointer},
        {"shared_ptr<", fill_pointer},
        {"weak_ptr<", fill_pointer},
        {"optional<", fill_optional},
        {"basic_string_view<char,", fill_view},
    };
    struct fz_span name = variables_type_tag_name(type);
    const struct part part = {.type = type, .place = *place};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (fz_span_begins(name, kinds[i].prefix) && variables_container_is(&type->die, "std"))
            return kinds[i].fill(value, &part, out);
    }
    return false;
}
