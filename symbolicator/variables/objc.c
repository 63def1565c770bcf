/*
 * Objective-C: selectors, classes, objects and their ivars, blocks, constant strings.
 *
 * The compiler does not know where ivars are, since a superclass in a system library may grow: their
 * DWARF has no offsets. The offset is in the variable "_OBJC_IVAR_$_Class.ivar", which the runtime
 * corrects when it loads the class. Its value in the process is right. That in the file is right
 * too if nothing had to be corrected: if every superclass up to NSObject is of the same image, and
 * the first ivar is where its superclass ends.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/reader.h"
#include "base/text.h"
#include "symbolicator/macho/macho.h"
#include "symbolicator/variables/definition.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/symbols.h"
#include "symbolicator/variables/value.h"

enum { SELECTOR_MAX = 256, SUPERCLASSES_MAX = 16, NAME_MAX = 256, RO_START = 4, RO_SIZE = 8 };

/* The object of an isa pointer: it may have flags of the runtime in its other bits. */
static uint64_t
class_of_isa(const struct sym_process *process, uint64_t isa)
{
    if (sym_process_pointer_size(process) == 4)
        return isa;
    return isa & (sym_process_cpu(process) == FZ_CPU_ARM64 ? UINT64_C(0x0000000ffffffff8)
                                                           : UINT64_C(0x00007ffffffffff8));
}

/* A class as an object of the process. */
struct class
{
    struct variables_image *image;
    const char *name;
    bool is_meta; /* its objects are classes */
};

/* The class at an address of the process; its name is NULL if no symbol is there. */
static struct class class_at(struct sym_variables *variables, uint64_t address)
{
    static const char *const prefixes[] = {"_OBJC_CLASS_$_", "_OBJC_METACLASS_$_"};
    uint64_t addr;
    struct variables_image *image = variables_symbols_image(variables, address, &addr);
    for (size_t i = 0; image && i < FZ_ARRAY_LEN(prefixes); i++) {
        const char *symbol = variables_symbols_at(image, addr, prefixes[i]);
        if (symbol)
            return (struct class){image, symbol + strlen(prefixes[i]), i > 0};
    }
    return (struct class){0};
}

static void
fill_selector(struct variables_value *value, uint64_t address, struct sym_variable *out)
{
    struct fz_span bytes = sym_process_bytes(value->variables->process, address, SELECTOR_MAX);
    const uint8_t *nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
    struct fz_span name = fz_span_until(bytes, nul ? (size_t)(nul - bytes.data) : 0);
    bool is_name = nul && name.len > 0;
    for (size_t i = 0; i < name.len; i++)
        is_name = is_name && (isalnum(name.data[i]) || strchr("_:$.", name.data[i]));
    if (is_name)
        out->value = variables_printf(value->variables, "@selector(%.*s)", (int)name.len,
                                      (const char *)name.data);
    else
        out->value = variables_printf(value->variables, "0x%llx", (unsigned long long)address);
}

/* A constant string: isa, flags, pointer to its bytes, length. Of the file the pointer still has
 * to be rebased by dyld, so it counts only if it leads to a string of just that length. */
static bool
fill_constant_string(struct variables_value *value, uint64_t address, struct sym_variable *out)
{
    struct sym_variables *variables = value->variables;
    unsigned size = sym_process_pointer_size(variables->process);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    uint64_t addr, at, length, in_process = 0;
    struct variables_image *image = variables_symbols_image(variables, address, &addr);
    if (!image || !variables_symbols_in(image, addr, "__cfstring"))
        return false;
    uint64_t tail = address + 2u * size;
    if (!variables_symbols_constant(variables, tail + size, size, &length) || length > UINT16_MAX)
        return false;
    if (sym_process_read_pointer(variables->process, tail, &at)) {
        in_process = at;
    } else if (variables_symbols_constant(variables, tail, size, &at)) {
        /* An address of the file, or a chained fixup: an offset or an address in 36 bits. */
        uint64_t low = at & UINT64_C(0xfffffffff), text_addr = image->macho->text_vmaddr;
        const uint64_t guesses[] = {at, low, low + text_addr};
        for (size_t i = 0; i < FZ_ARRAY_LEN(guesses) && !in_process; i++) {
            if (variables_symbols_in(image, guesses[i], "__cstring"))
                fz_ignore(!sym_process_from_file(variables->process, image->number, guesses[i],
                                                 &in_process)); /* stays 0 */
        }
    }
    struct fz_span bytes = sym_process_bytes(variables->process, in_process, (size_t)length + 1);
    if (!in_process || bytes.len != length + 1 ||
        memchr(bytes.data, 0, bytes.len) != bytes.data + length)
        return false;
    unsigned max = variables->limits.string_bytes;
    fz_buffer_char(&text, '@');
    variables_string_append(&text, fz_span_until(bytes, length > max ? max : (size_t)length),
                            length > max);
    out->value = variables_printf(variables, "0x%llx %s", (unsigned long long)address,
                                  fz_buffer_cstr(&text));
    return true;
}

/* The type of what an `id` points to: that of its class, if it is implemented in an image here. */
static const struct variables_type *
type_of_class(const struct class *class)
{
    struct variables_die definition;
    if (!class->name || class->is_meta ||
        !variables_definition_class(class->image, fz_span_cstr(class->name), &definition))
        return NULL;
    return variables_type_at(&definition);
}

static void
add_object(struct variables_value *value, const struct variables_type *type, uint64_t address,
           struct sym_variable *out)
{
    struct variables_fields fields = {.value = value, .limit = 1};
    if (type->kind != TYPE_RECORD || !type->is_objc_class ||
        fz_span_is(variables_type_tag_name(type), "NSObject") ||
        sym_process_bytes(value->variables->process, address, 1).len == 0 ||
        variables_type_complete(type)->is_incomplete ||
        !variables_pointer_follow(value, address, type))
        return;
    struct sym_variable *field = variables_fields_add(&fields, "*", type);
    if (!field)
        return;
    struct variables_place place = variables_place_memory(address);
    value->n_followed++;
    variables_value_part(value, type, &place, field);
    value->n_followed--;
    out->fields = fields.list;
    out->n_fields = fields.n;
}

static bool
is_tagged(const struct sym_process *process, uint64_t address)
{
    if (sym_process_pointer_size(process) == 4)
        return false;
    return sym_process_cpu(process) == FZ_CPU_ARM64 ? address >> 63 : address & 1;
}

static void
fill_object(struct variables_value *value, const struct variables_type *pointee, uint64_t address,
            struct sym_variable *out)
{
    struct sym_variables *variables = value->variables;
    uint64_t isa;
    if (address == 0) {
        out->value = "nil";
        return;
    }
    if (is_tagged(variables->process, address)) {
        out->value =
            variables_printf(variables, "0x%llx (tagged pointer)", (unsigned long long)address);
        return;
    }
    if (fill_constant_string(value, address, out))
        return;
    struct class class = {0};
    if (sym_process_read_pointer(variables->process, address, &isa))
        class = class_at(variables, class_of_isa(variables->process, isa));
    out->value = class.name ? variables_printf(variables, "0x%llx (%s)",
                                               (unsigned long long)address, class.name)
                            : variables_printf(variables, "0x%llx", (unsigned long long)address);
    const struct variables_type *type = pointee->is_objc_class ? pointee : type_of_class(&class);
    if (type)
        add_object(value, type, address, out);
}

/* The parameter of a block's function that is the block itself: its type has what was captured. */
static bool
literal_type(struct sym_variables *variables, uint64_t invoke, const struct variables_type **ret)
{
    struct variables_die function, at, self = {0};
    uint64_t addr;
    struct variables_image *image = variables_symbols_image(variables, invoke, &addr);
    if (!image || !image->dwarf || !variables_image_function(image, addr, &function))
        return false;
    for (bool more = variables_die_child(&function, &at); more;
         more = variables_die_next(&at, &at)) {
        if (variables_die_tag(&at) == TAG_FORMAL_PARAMETER &&
            fz_span_is(variables_die_string_deep(&at, AT_NAME), ".block_descriptor"))
            self = at;
    }
    if (!self.image)
        return false;
    const struct variables_type *pointer = variables_type_of(&self);
    if (pointer->kind != TYPE_POINTER)
        return false;
    *ret = variables_type_of(&pointer->die);
    return (*ret)->kind == TYPE_RECORD;
}

/* A block: isa, flags, reserved, invoke function, descriptor, then what it captured. */
static void
fill_block(struct variables_value *value, uint64_t address, struct sym_variable *out)
{
    struct sym_variables *variables = value->variables;
    unsigned size = sym_process_pointer_size(variables->process);
    const struct variables_type *literal;
    uint64_t invoke = 0, code;
    out->value = variables_printf(variables, "0x%llx", (unsigned long long)address);
    if (address == 0 ||
        !sym_process_read_pointer(variables->process, address + size + 8, &invoke) ||
        !sym_process_code(variables->process, invoke, &code))
        return;
    const char *name = variables_pointer_function(variables, invoke);
    if (name[0])
        out->value = variables_printf(variables, "0x%llx (%s)", (unsigned long long)address, name);
    if (!literal_type(variables, code, &literal) ||
        !variables_pointer_follow(value, address, literal))
        return;
    struct variables_fields fields = {.value = value, .limit = variables->limits.members};
    struct variables_place place = variables_place_memory(address);
    value->n_followed++;
    variables_record_members(literal, &place, &fields);
    value->n_followed--;
    /* The header is the compiler's; its members begin with two underscores. */
    size_t n = 0;
    for (size_t i = 0; i < fields.n; i++) {
        if (strncmp(fields.list[i].name, "__", 2) != 0)
            fields.list[n++] = fields.list[i];
    }
    out->fields = fields.list;
    out->n_fields = n;
    out->n_fields_cut = fields.n_cut;
}

static bool
fill_pointer(struct variables_value *value, const struct variables_type *pointee, uint64_t address,
             struct sym_variable *out)
{
    struct fz_span name = variables_type_tag_name(pointee);
    if (pointee->kind != TYPE_RECORD)
        return false;
    if (fz_span_is(name, "objc_selector")) {
        fill_selector(value, address, out);
    } else if (fz_span_is(name, "objc_class")) {
        const char *class = address ? class_at(value->variables, address).name : "nil";
        out->value =
            class ? variables_printf(value->variables, "%s", class)
                  : variables_printf(value->variables, "0x%llx", (unsigned long long)address);
    } else if (fz_span_is(name, "__block_literal_generic") ||
               variables_die_flag(&pointee->die, AT_APPLE_BLOCK)) {
        fill_block(value, address, out);
    } else if (fz_span_is(name, "objc_object") || pointee->is_objc_class) {
        fill_object(value, pointee, address, out);
    } else {
        return false;
    }
    return true;
}

/* Is it a pointer to what Objective-C gives a meaning of its own? */
static bool
is_pointer_of(const struct variables_type *type, const struct variables_type **ret_pointee)
{
    const struct variables_type *pointee = variables_type_of(&type->die);
    struct fz_span name = variables_type_tag_name(pointee);
    *ret_pointee = pointee;
    return pointee->kind == TYPE_RECORD &&
           (pointee->is_objc_class || fz_span_begins(name, "objc_") ||
            fz_span_is(name, "__block_literal_generic") ||
            variables_die_flag(&pointee->die, AT_APPLE_BLOCK));
}

bool
variables_objc_pointer(struct variables_value *value, const struct variables_type *type,
                       const struct variables_place *place, struct sym_variable *out)
{
    const struct variables_type *pointee;
    uint64_t address;
    if (!is_pointer_of(type, &pointee))
        return false;
    enum sym_availability why = variables_place_uint(
        value->variables, place, 0, type->size > 8 ? 9 : (unsigned)type->size, &address);
    if (why != SYM_VALUE_AVAILABLE) {
        variables_value_absent(out, why);
        return true;
    }
    return fill_pointer(value, pointee, address, out);
}

/* A field of the constant part of a class in its file; false: the class is of another image. */
static bool
class_ro(struct variables_image *image, struct fz_span class, unsigned field, uint32_t *ret)
{
    char symbol[NAME_MAX];
    uint64_t addr;
    snprintf(symbol, sizeof(symbol), "__OBJC_CLASS_RO_$_%.*s", (int)class.len,
             (const char *)class.data);
    if (!variables_symbols_find(image, symbol, &addr))
        return false;
    struct fz_reader r = fz_reader_make(variables_symbols_bytes(image, addr), "class_ro");
    fz_read_skip(&r, field);
    *ret = fz_read_u32(&r);
    return !r.failed;
}

static bool
superclass_of(const struct variables_die *class, struct variables_die *ret)
{
    struct variables_die at;
    for (bool more = variables_die_child(class, &at); more; more = variables_die_next(&at, &at)) {
        if (variables_die_tag(&at) == TAG_INHERITANCE)
            return variables_die_ref(&at, AT_TYPE, ret);
    }
    return false;
}

/* Are the offsets in the file those of the process? */
static bool
is_as_compiled(const struct variables_die *class)
{
    struct variables_die at = *class, super;
    struct variables_image *image = class->image;
    unsigned pointer = class->unit->addr_size;
    for (unsigned n = 0; n < SUPERCLASSES_MAX; n++) {
        uint32_t start, size = pointer;
        if (!class_ro(image, variables_die_string_deep(&at, AT_NAME), RO_START, &start))
            return false;
        if (!superclass_of(&at, &super))
            return start == 0 || start == pointer; /* a root class */
        struct fz_span name = variables_die_string_deep(&super, AT_NAME);
        bool is_root = fz_span_is(name, "NSObject");
        /* NSObject has its isa and, by Apple's promise, never more. */
        if (!is_root && !class_ro(image, name, RO_SIZE, &size))
            return false;
        if (start < size || start >= size + 16)
            return false;
        if (is_root)
            return true;
        at = super;
    }
    return false;
}

/* The offset of an ivar; false: it is not known. */
static bool
ivar_offset(struct variables_value *value, const struct variables_die *class, struct fz_span ivar,
            uint64_t *ret)
{
    struct variables_image *image = class->image;
    struct fz_span name = variables_die_string_deep(class, AT_NAME);
    char symbol[2 * NAME_MAX];
    uint64_t addr, address, super_size;
    struct variables_die super;
    if (fz_span_is(ivar, "isa") && !superclass_of(class, &super)) {
        *ret = 0;
        return true;
    }
    snprintf(symbol, sizeof(symbol), "_OBJC_IVAR_$_%.*s.%.*s", (int)name.len,
             (const char *)name.data, (int)ivar.len, (const char *)ivar.data);
    struct sym_process *process = value->variables->process;
    if (!variables_symbols_find(image, symbol, &addr) ||
        !sym_process_from_file(process, image->number, addr, &address))
        return false;
    if (sym_process_read_uint(process, address, 4, &super_size)) {
        *ret = super_size;
        return true;
    }
    return is_as_compiled(class) && variables_symbols_constant(value->variables, address, 4, ret);
}

static void
add_ivar(const struct variables_type *type, const struct variables_die *member,
         const struct variables_place *place, struct variables_fields *fields)
{
    struct variables_value *value = fields->value;
    const struct variables_type *member_type = variables_type_of(member);
    struct fz_span name = variables_die_string(member, AT_NAME);
    uint64_t offset;
    struct sym_variable *field =
        variables_fields_add(fields, variables_text(value->variables, name), member_type);
    if (!field)
        return;
    if (!ivar_offset(value, &type->die, name, &offset)) {
        variables_value_absent(field, SYM_VALUE_MEMORY_NOT_CAPTURED);
    } else {
        /* The offset of a bit-field is that of the byte in which it begins; the DWARF has the bit. */
        struct variables_place part = variables_place_at(place, offset);
        if (!variables_record_bits(value, member, &part, field))
            variables_value_part(value, member_type, &part, field);
    }
}

static void
add_ivars(const struct variables_type *type, const struct variables_place *place,
          struct variables_fields *fields)
{
    struct variables_value *value = fields->value;
    struct variables_die at;
    /* The runtime of i386 has fixed offsets, which are in the DWARF. */
    if (sym_process_cpu(value->variables->process) == FZ_CPU_X86) {
        variables_record_members(type, place, fields);
        return;
    }
    for (bool more = variables_die_child(&type->die, &at); more;
         more = variables_die_next(&at, &at)) {
        if (variables_die_tag(&at) == TAG_INHERITANCE) {
            const struct variables_type *super = variables_type_complete(variables_type_of(&at));
            struct fz_span name = variables_type_tag_name(super);
            struct sym_variable *field = NULL;
            if (!super->is_incomplete && !fz_span_is(name, "NSObject"))
                field = variables_fields_add(fields, super->name, super);
            if (field)
                variables_value_part(value, super, place, field);
        } else if (variables_die_tag(&at) == TAG_MEMBER) {
            add_ivar(type, &at, place, fields);
        }
    }
}

bool
variables_objc_fill(struct variables_value *value, const struct variables_type *type,
                    const struct variables_place *place, struct sym_variable *out)
{
    struct variables_fields fields = {.value = value, .limit = value->variables->limits.members};
    if (!type->is_objc_class || type->is_incomplete || !place->is_memory)
        return false;
    add_ivars(type, place, &fields);
    variables_fields_done(&fields, out);
    return true;
}
