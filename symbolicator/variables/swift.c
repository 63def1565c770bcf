/*
 * Swift: the types whose layout is fixed, by their mangled names.
 *
 * A Swift compiler describes a type by name and size; the layout of most is in reflection metadata
 * only. Read here: the integers, Bool, Double, Float, pointers, String (small ones, and large ones
 * whose bytes were captured), Optional of those, enums without payload, references to classes, and
 * structures whose members the DWARF does describe. Anything else is shown as its bytes.
 *
 * Mangled names: "$sSiD" is Int, "$ss5Int32VD" Int32, "$sSiSgD" Optional<Int>, "$s4Demo3FooCD" the
 * class Demo.Foo.
 */
#include <stdio.h>

#include "base/text.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/symbols.h"
#include "symbolicator/variables/type_name.h"
#include "symbolicator/variables/value.h"

enum { BYTES_SHOWN_MAX = 16, SMALL_MAX = 15, CASES_MAX = 256, LARGE_BIAS = 32 };

enum layout { SIGNED, UNSIGNED, BOOLEAN, FLOATING, POINTER, STRING, CLASS, OTHER };

struct known {
    const char *mangled;
    enum layout layout;
    unsigned size; /* 0 = of a pointer */
};

static const struct known table[] = {
    {"Si", SIGNED, 0},
    {"Su", UNSIGNED, 0},
    {"Sb", BOOLEAN, 1},
    {"Sd", FLOATING, 8},
    {"Sf", FLOATING, 4},
    {"SS", STRING, 16},
    {"SV", POINTER, 0},
    {"Sv", POINTER, 0},
    {"s4Int8V", SIGNED, 1},
    {"s5Int16V", SIGNED, 2},
    {"s5Int32V", SIGNED, 4},
    {"s5Int64V", SIGNED, 8},
    {"s5UInt8V", UNSIGNED, 1},
    {"s6UInt16V", UNSIGNED, 2},
    {"s6UInt32V", UNSIGNED, 4},
    {"s6UInt64V", UNSIGNED, 8},
    {"s13OpaquePointerV", POINTER, 0},
    {"12CoreGraphics7CGFloatV", FLOATING, 0},
    {"14CoreFoundation7CGFloatV", FLOATING, 0},
};

/* The mangled type without "$s" and the final "D". */
static struct fz_span
mangled_of(const struct variables_type *type)
{
    struct fz_span name = variables_type_mangled(&type->die);
    if (name.len < 4 || name.data[name.len - 1] != 'D')
        return fz_span_make(NULL, 0);
    return fz_span_between(name, 2, name.len - 1);
}

static enum layout
layout_of(struct fz_span mangled, unsigned pointer, unsigned *ret_size)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(table); i++) {
        if (fz_span_is(mangled, table[i].mangled)) {
            *ret_size = table[i].size ? table[i].size : pointer;
            return table[i].layout;
        }
    }
    *ret_size = pointer;
    /* UnsafePointer<T> and UnsafeMutablePointer<T>. */
    if ((fz_span_begins(mangled, "SPy") || fz_span_begins(mangled, "Spy")) &&
        fz_span_ends(mangled, "G"))
        return POINTER;
    /* Of a module, or "So": imported from Objective-C. */
    bool is_class =
        mangled.len > 2 && mangled.data[mangled.len - 1] == 'C' &&
        ((mangled.data[0] >= '0' && mangled.data[0] <= '9') || fz_span_begins(mangled, "So"));
    return is_class ? CLASS : OTHER;
}

static bool
fill_string(struct variables_value *value, const struct variables_place *place,
            struct sym_variable *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct sym_variables *variables = value->variables;
    uint8_t bytes[16];
    enum sym_availability why = variables_place_read(variables, place, 0, sizeof(bytes), bytes);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return true;
    }
    unsigned kind = bytes[15] >> 4, count = bytes[15] & 15;
    if (kind == 0xe || kind == 0xa) { /* small: up to 15 bytes in place; 0xe = ASCII */
        struct fz_span small = fz_span_until(fz_span_make(bytes, SMALL_MAX), count);
        if (!fz_text_is_utf8(small))
            return false;
        variables_string_append(&text, small, false);
    } else if ((kind == 0x8 || kind == 0) && bytes[7] & 0x10) {
        /* A literal, or on the heap: its bytes are after its object, as bit 60 of the count says. */
        uint64_t size = 0, object = 0;
        for (unsigned i = 8; i-- > 0;) {
            size = size << 8 | (i < 6 ? bytes[i] : 0);
            object = object << 8 | (i < 7 ? bytes[8 + i] : bytes[15] & 15);
        }
        unsigned max = variables->limits.string_bytes;
        size_t n = size > max ? max : (size_t)size;
        struct fz_span large = sym_process_bytes(variables->process, object + LARGE_BIAS, n);
        if (n == 0 || large.len < n) {
            variables_value_absent(out, SYM_VALUE_MEMORY_NOT_CAPTURED);
            return true;
        }
        if (size == n && !fz_text_is_utf8(large))
            return false;
        variables_string_append(&text, large, size > max);
    } else {
        return false;
    }
    variables_value_text(value, out, fz_buffer_cstr(&text));
    return true;
}

static const char *
class_of(struct variables_value *value, uint64_t address)
{
    struct sym_variables *variables = value->variables;
    uint64_t isa, addr;
    if (!sym_process_read_pointer(variables->process, address, &isa))
        return NULL;
    isa &= sym_process_cpu(variables->process) == FZ_CPU_ARM64 ? UINT64_C(0x0000000ffffffff8)
                                                               : UINT64_C(0x00007ffffffffff8);
    struct variables_image *image = variables_symbols_image(variables, isa, &addr);
    if (!image)
        return NULL;
    /* "_$s4Demo3FooCN": type metadata for Demo.Foo. */
    const char *symbol = variables_symbols_at(image, addr, "_$s");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(VARIABLES_TEXT_MAX);
    static const char prefix[] = "type metadata for ";
    if (!symbol || !sym_demangle(symbol, true, NULL, &text))
        return NULL;
    const char *name = variables_text(variables, fz_buffer_span(&text));
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : NULL;
}

static bool
fill_known(struct variables_value *value, enum layout layout, unsigned size,
           const struct variables_place *place, struct sym_variable *out)
{
    struct variables_type plain = {.kind = TYPE_BASE, .size = size};
    uint64_t number;
    enum sym_availability why;
    switch (layout) {
    case SIGNED:
    case UNSIGNED:
    case BOOLEAN:
    case FLOATING:
        plain.encoding = layout == SIGNED     ? ATE_SIGNED
                         : layout == UNSIGNED ? ATE_UNSIGNED
                         : layout == BOOLEAN  ? ATE_BOOLEAN
                                              : ATE_FLOAT;
        variables_scalar_fill(value, &plain, place, out);
        return true;
    case STRING:
        return fill_string(value, place, out);
    case POINTER:
    case CLASS:
        why = variables_place_uint(value->variables, place, 0, size, &number);
        if (why != SYM_VALUE_AVAILABLE) {
            variables_value_absent(out, why);
            return true;
        }
        const char *name = layout == CLASS && number ? class_of(value, number) : NULL;
        out->value = name
                         ? variables_printf(value->variables, "0x%llx (%s)",
                                            (unsigned long long)number, name)
                         : variables_printf(value->variables, "0x%llx", (unsigned long long)number);
        return true;
    case OTHER:
        break;
    }
    return false;
}

/* Optional: nil is a value that the type has no use for, else a byte after it. */
static bool
is_nil(struct variables_value *value, enum layout layout, unsigned size,
       const struct variables_place *place, bool *ret)
{
    uint64_t number;
    unsigned at = 0, n = size, nil = 0;
    switch (layout) {
    case SIGNED:
    case UNSIGNED:
    case FLOATING:
        at = size;
        n = 1;
        nil = 1;
        break;
    case BOOLEAN:
        nil = 2;
        break;
    case STRING: /* the object word is never 0 */
        at = 8;
        n = 8;
        break;
    case POINTER:
    case CLASS:
    case OTHER:
        break;
    }
    if (variables_place_uint(value->variables, place, at, n, &number) != SYM_VALUE_AVAILABLE)
        return false;
    *ret = number == nil;
    return true;
}

static bool
fill_optional(struct variables_value *value, struct fz_span mangled, unsigned pointer,
              const struct variables_place *place, struct sym_variable *out)
{
    unsigned size;
    bool nil;
    enum layout layout = layout_of(fz_span_until(mangled, mangled.len - 2), pointer, &size);
    if (layout == OTHER || !is_nil(value, layout, size, place, &nil))
        return false;
    if (!nil)
        return fill_known(value, layout, size, place, out);
    out->value = "nil";
    return true;
}

/* An enum without payload: its cases are members without a type that has a size; their numbers are
 * their places. */
static bool
fill_cases(struct variables_value *value, const struct variables_type *type,
           const struct variables_place *place, struct sym_variable *out)
{
    struct variables_die at;
    struct fz_span cases[CASES_MAX];
    uint64_t n = 0, number;
    if (!type->is_union || type->size != 1)
        return false;
    for (bool more = variables_die_child(&type->die, &at); more;
         more = variables_die_next(&at, &at)) {
        struct variables_attr attr;
        if (variables_die_tag(&at) != TAG_MEMBER)
            continue;
        if (n == CASES_MAX ||
            (variables_die_attr(&at, AT_TYPE, &attr) && variables_type_of(&at)->size > 0))
            return false;
        cases[n++] = variables_die_string(&at, AT_NAME);
    }
    if (n == 0 ||
        variables_place_uint(value->variables, place, 0, 1, &number) != SYM_VALUE_AVAILABLE ||
        number >= n)
        return false;
    out->value = variables_printf(value->variables, ".%.*s", (int)cases[number].len,
                                  (const char *)cases[number].data);
    return true;
}

static bool
has_members(const struct variables_type *type)
{
    struct variables_die at;
    for (bool more =
             type->kind == TYPE_RECORD && !type->is_union && variables_die_child(&type->die, &at);
         more; more = variables_die_next(&at, &at)) {
        struct variables_attr attr;
        if (variables_die_tag(&at) == TAG_MEMBER && variables_die_string(&at, AT_NAME).len > 0 &&
            variables_die_attr(&at, AT_DATA_MEMBER_LOCATION, &attr))
            return true;
    }
    return false;
}

static void
fill_bytes(struct variables_value *value, const struct variables_type *type,
           const struct variables_place *place, struct sym_variable *out)
{
    uint8_t bytes[BYTES_SHOWN_MAX];
    char text[3 * BYTES_SHOWN_MAX + 32];
    /* Declared here, and its size known to its module alone. */
    if (type->size == 0) {
        variables_value_absent(out, SYM_VALUE_NO_DEBUG_INFO);
        return;
    }
    size_t n = type->size > BYTES_SHOWN_MAX ? BYTES_SHOWN_MAX : (size_t)type->size;
    enum sym_availability why =
        n ? variables_place_read(value->variables, place, 0, n, bytes) : SYM_VALUE_UNSUPPORTED;
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return;
    }
    int len = snprintf(text, sizeof(text), "%llu bytes:", (unsigned long long)type->size);
    for (size_t i = 0; i < n; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, " %02x", (unsigned)bytes[i]);
    if (n < type->size)
        snprintf(text + len, sizeof(text) - (size_t)len, "...");
    variables_value_text(value, out, text);
}

bool
variables_swift_fill(struct variables_value *value, const struct variables_type *type,
                     const struct variables_place *place, struct sym_variable *out)
{
    unsigned pointer = sym_process_pointer_size(value->variables->process), size;
    if (type->kind != TYPE_RECORD && type->kind != TYPE_BASE)
        return false;
    struct fz_span mangled = mangled_of(type);
    if (mangled.len == 0)
        return false;
    bool is_done;
    if (fz_span_ends(mangled, "Sg")) {
        is_done = fill_optional(value, mangled, pointer, place, out);
    } else {
        enum layout layout = layout_of(mangled, pointer, &size);
        is_done = fill_known(value, layout, size, place, out);
    }
    is_done = is_done || fill_cases(value, type, place, out);
    if (!is_done && has_members(type))
        return false;
    if (!is_done)
        fill_bytes(value, type, place, out);
    return true;
}
