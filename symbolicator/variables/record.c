/*
 * Structures, classes and unions: members, bit-fields, bases, variant parts.
 *
 * A bit-field is described in three ways: DW_AT_data_bit_offset from the start of the structure
 * (DWARF 4 and 5); DW_AT_bit_offset, counted from the highest bit of a unit of DW_AT_byte_size bytes
 * (DWARF 2 and 3: "int a : 3" at the start has bit offset 29); and that without a byte size, where
 * the unit is the member's type.
 */
#include "symbolicator/variables/expression.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/symbols.h"
#include "symbolicator/variables/value.h"

enum { BASES_MAX = 24, MEMBERS_READ_MAX = 4096 };

/* The address of a virtual base: "dup, deref, constu N, minus, deref, plus" looks N bytes before
 * where the object's vtable pointer leads. Vtables are constant data of the image, and the offsets
 * in them are no pointers, so the bytes of the file are those of the process. */
static bool
virtual_base(struct variables_value *value, const struct variables_attr *attr, uint64_t object,
             uint64_t *ret)
{
    struct sym_process *process = value->variables->process;
    unsigned size = sym_process_pointer_size(process);
    struct dwarf_cursor c = {.at = attr->block.data, .end = attr->block.data + attr->block.len};
    uint64_t vtable, offset;
    if (attr->block.len < 6 || dwarf_cursor_u8(&c) != OP_DUP || dwarf_cursor_u8(&c) != OP_DEREF ||
        dwarf_cursor_u8(&c) != OP_CONSTU)
        return false;
    uint64_t before = dwarf_cursor_uleb(&c);
    if (dwarf_cursor_u8(&c) != OP_MINUS || dwarf_cursor_u8(&c) != OP_DEREF ||
        dwarf_cursor_u8(&c) != OP_PLUS || c.bad ||
        !sym_process_read_pointer(process, object, &vtable) ||
        !variables_symbols_constant(value->variables, vtable - before, size, &offset))
        return false;
    *ret = object + (uint64_t)variables_symbols_signed(offset, size);
    return true;
}

/* Where a member or base is; the availability if it cannot be known. */
static enum sym_availability
member_place(struct variables_value *value, const struct variables_die *member,
             const struct variables_place *record, struct variables_place *ret)
{
    struct variables_attr attr;
    uint64_t offset = 0;
    if (!variables_die_attr(member, AT_DATA_MEMBER_LOCATION, &attr)) {
        *ret = variables_place_at(record, 0); /* of a union, or the first one */
        return SYM_VALUE_AVAILABLE;
    }
    if (variables_attr_uint(&attr, &offset)) {
        *ret = variables_place_at(record, offset);
        return SYM_VALUE_AVAILABLE;
    }
    uint64_t object = record->is_memory ? record->address : 0, address;
    bool is_plain = attr.block.len && attr.block.data[0] == OP_PLUS_UCONST;
    /* An expression that reads the object needs it in memory. */
    if (!variables_attr_is_block(&attr) || (!record->is_memory && !is_plain))
        return SYM_VALUE_UNSUPPORTED;
    enum sym_availability why =
        variables_expression_number(value->frame, member->unit, attr.block, &object, &address);
    if (why != SYM_VALUE_AVAILABLE && virtual_base(value, &attr, object, &address))
        why = SYM_VALUE_AVAILABLE;
    if (why == SYM_VALUE_AVAILABLE)
        *ret = variables_place_at(record, address - object);
    return why;
}

/* The bits of a bit-field from the start of the structure; false for other members. */
static bool
bit_field(const struct variables_die *member, const struct variables_type *type, uint64_t *ret_at,
          uint64_t *ret_bits)
{
    uint64_t location = 0, offset, size = type->size, at;
    if (!variables_die_uint(member, AT_BIT_SIZE, ret_bits) || *ret_bits == 0 || *ret_bits > 64)
        return false;
    if (variables_die_uint(member, AT_DATA_BIT_OFFSET, ret_at))
        return true;
    struct variables_attr attr;
    if (variables_die_attr(member, AT_DATA_MEMBER_LOCATION, &attr) &&
        !variables_attr_uint(&attr, &location)) {
        struct dwarf_cursor c = {.at = attr.block.data,
                                 .end = attr.block.len ? attr.block.data + attr.block.len : NULL};
        location = dwarf_cursor_u8(&c) == OP_PLUS_UCONST ? dwarf_cursor_uleb(&c) : 0;
    }
    variables_die_uint(member, AT_BYTE_SIZE, &size);
    if (__builtin_mul_overflow(location, 8, &at))
        return false;
    if (!variables_die_uint(member, AT_BIT_OFFSET, &offset)) {
        *ret_at = at;
        return true;
    }
    if (member->image->dwarf->big_endian)
        *ret_at = at + offset;
    else if (size <= 16 && offset + *ret_bits <= size * 8)
        *ret_at = at + size * 8 - offset - *ret_bits;
    else
        return false;
    return true;
}

static void
fill_bit_field(struct variables_value *value, const struct variables_type *type,
               const struct variables_place *record, const uint64_t range[2],
               struct sym_variable *out)
{
    uint64_t number;
    unsigned bits = (unsigned)range[1];
    enum sym_availability why =
        variables_place_bits(value->variables, record, range[0], bits, &number);
    out->availability = why;
    if (why != SYM_VALUE_AVAILABLE)
        return;
    bool is_signed = type->encoding == ATE_SIGNED || type->encoding == ATE_SIGNED_CHAR;
    if (type->kind == TYPE_ENUM) {
        variables_enum_number(value, type, number, bits, out);
        return;
    }
    if (is_signed && number >> (bits - 1) && bits < 64)
        number |= UINT64_MAX << bits;
    uint64_t mask = type->size < 8 ? (UINT64_C(1) << (8 * type->size)) - 1 : UINT64_MAX;
    variables_scalar_number(value, type, number & mask, out);
}

bool
variables_record_bits(struct variables_value *value, const struct variables_die *member,
                      const struct variables_place *record, struct sym_variable *out)
{
    const struct variables_type *type = variables_type_of(member);
    uint64_t range[2];
    if (!bit_field(member, type, &range[0], &range[1]))
        return false;
    fill_bit_field(value, type, record, range, out);
    return true;
}

static void
add_base(const struct variables_die *base, const struct variables_place *record,
         struct variables_fields *fields)
{
    struct variables_value *value = fields->value;
    const struct variables_type *type = variables_type_complete(variables_type_of(base));
    struct variables_place place;
    if (type->kind == TYPE_RECORD && !type->is_incomplete && type->size <= 1) {
        struct variables_die child;
        if (!variables_die_child(&type->die, &child))
            return; /* an empty base has nothing to show */
    }
    struct sym_variable *field = variables_fields_add(fields, type->name, type);
    if (!field)
        return;
    enum sym_availability why = member_place(value, base, record, &place);
    if (why == SYM_VALUE_AVAILABLE)
        variables_value_part(value, type, &place, field);
    else
        variables_value_absent(field, why);
}

/* Members of an unnamed structure or union are written as if they were the outer one's. */
static bool
is_transparent(const struct variables_die *member, const struct variables_type *type)
{
    return type->kind == TYPE_RECORD && variables_die_string(member, AT_NAME).len == 0;
}

static bool
is_shown(const struct variables_die *member)
{
    struct fz_span name = variables_die_string(member, AT_NAME);
    if (variables_die_tag(member) == TAG_INHERITANCE)
        return true;
    return variables_die_tag(member) == TAG_MEMBER && !variables_die_flag(member, AT_EXTERNAL) &&
           !variables_die_flag(member, AT_DECLARATION) && !fz_span_begins(name, "_vptr");
}

/* The variant of a variant part that its discriminant chooses: Rust's enums. */
static bool
choose_variant(struct variables_value *value, const struct variables_die *part,
               const struct variables_place *record, struct variables_die *ret)
{
    struct variables_die discriminant, at;
    struct variables_place place;
    uint64_t number = 0;
    bool is_known = false, has_default = false;
    if (variables_die_ref(part, AT_DISCR, &discriminant)) {
        const struct variables_type *type = variables_type_of(&discriminant);
        is_known = member_place(value, &discriminant, record, &place) == SYM_VALUE_AVAILABLE &&
                   type->size <= 8 &&
                   variables_place_uint(value->variables, &place, 0, (unsigned)type->size,
                                        &number) == SYM_VALUE_AVAILABLE;
    }
    for (bool more = variables_die_child(part, &at); more && is_known;
         more = variables_die_next(&at, &at)) {
        uint64_t wanted;
        if (variables_die_tag(&at) != TAG_VARIANT)
            continue;
        if (variables_die_uint(&at, AT_DISCR_VALUE, &wanted)) {
            if (wanted == number) {
                *ret = at;
                return true;
            }
        } else {
            *ret = at;
            has_default = true;
        }
    }
    return has_default;
}

/* The members of one DIE; `open`: variants and unnamed members that are still to be looked at. */
struct pending {
    struct variables_die die;
    struct variables_place place;
};

static void
add_member(const struct variables_die *member, const struct variables_place *record,
           struct variables_fields *fields, struct pending *open, unsigned *n_open)
{
    struct variables_value *value = fields->value;
    const struct variables_type *type = variables_type_of(member);
    struct variables_place place;
    enum sym_availability why = member_place(value, member, record, &place);
    if (is_transparent(member, type) && why == SYM_VALUE_AVAILABLE && *n_open < BASES_MAX) {
        open[(*n_open)++] = (struct pending){.die = type->die, .place = place};
        return;
    }
    struct sym_variable *field = variables_fields_add(
        fields, variables_text(value->variables, variables_die_string(member, AT_NAME)), type);
    if (!field)
        return;
    if (why != SYM_VALUE_AVAILABLE)
        variables_value_absent(field, why);
    else if (!variables_record_bits(value, member, record, field))
        variables_value_part(value, type, &place, field);
}

void
variables_record_members(const struct variables_type *type, const struct variables_place *place,
                         struct variables_fields *fields)
{
    struct pending open[BASES_MAX] = {{.die = type->die, .place = *place}};
    unsigned n_open = 1, n_read = 0;
    for (unsigned i = 0; i < n_open; i++) {
        struct variables_die at, variant;
        struct variables_place record = open[i].place;
        for (bool more = variables_die_child(&open[i].die, &at); more && n_read < MEMBERS_READ_MAX;
             more = variables_die_next(&at, &at), n_read++) {
            if (variables_die_tag(&at) == TAG_VARIANT_PART) {
                if (n_open < BASES_MAX && choose_variant(fields->value, &at, &record, &variant))
                    open[n_open++] = (struct pending){.die = variant, .place = record};
                continue;
            }
            if (!is_shown(&at))
                continue;
            if (variables_die_tag(&at) == TAG_INHERITANCE)
                add_base(&at, &record, fields);
            else
                add_member(&at, &record, fields, open, &n_open);
        }
    }
}

bool
variables_record_find(struct variables_value *value, const struct variables_type *type,
                      const struct variables_place *place, const char *name,
                      const struct variables_type **ret_type, struct variables_place *ret)
{
    struct pending open[BASES_MAX] = {{.die = type->die, .place = *place}};
    unsigned n_open = 1, n_read = 0;
    for (unsigned i = 0; i < n_open; i++) {
        struct variables_die at;
        struct variables_place record = open[i].place;
        for (bool more = variables_die_child(&open[i].die, &at); more && n_read < MEMBERS_READ_MAX;
             more = variables_die_next(&at, &at), n_read++) {
            struct variables_place part;
            if (!is_shown(&at) || member_place(value, &at, &record, &part) != SYM_VALUE_AVAILABLE)
                continue;
            const struct variables_type *member = variables_type_complete(variables_type_of(&at));
            if (fz_span_is(variables_die_string(&at, AT_NAME), name)) {
                *ret_type = member;
                *ret = part;
                return true;
            }
            bool is_inner =
                variables_die_tag(&at) == TAG_INHERITANCE || is_transparent(&at, member);
            if (is_inner && n_open < BASES_MAX)
                open[n_open++] = (struct pending){.die = member->die, .place = part};
        }
    }
    return false;
}

void
variables_record_fill(struct variables_value *value, const struct variables_type *type,
                      const struct variables_place *place, struct sym_variable *out)
{
    struct variables_fields fields = {.value = value, .limit = value->variables->limits.members};
    /* Declared here, and no definition is known: nothing is known of its members. */
    if (type->is_incomplete) {
        variables_value_absent(out, variables_type_missing(type));
        return;
    }
    variables_record_members(type, place, &fields);
    variables_fields_done(&fields, out);
}
