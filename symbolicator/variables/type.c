/*
 * Types: from a DIE through typedefs and qualifiers to what it is.
 */
#include "symbolicator/variables/type.h"

#include <stdio.h>

#include "base/text.h"
#include "symbolicator/variables/definition.h"
#include "symbolicator/variables/symbols.h"
#include "symbolicator/variables/type_name.h"

enum { SLOTS_FIRST = 256, NESTING_MAX = 8 };

struct slot {
    const struct variables_image *image; /* NULL: free */
    uint64_t offset;
    struct variables_type *type;
};

/* A hash table with open addressing; at most half of it is used. */
struct variables_types {
    struct slot *slots;
    size_t n, room;
};

/* A type whose definition may be elsewhere, and what was found. */
struct variables_completion {
    const struct variables_type *found; /* NULL: not looked for yet */
    enum sym_availability why;
};

/* What stands for types when there is no memory for them. */
static const struct variables_type unknown_type = {.kind = TYPE_UNKNOWN};

static size_t
place_of(const struct variables_types *types, const struct variables_image *image, uint64_t offset)
{
    uint64_t hash = (offset + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)image->number * 31;
    size_t at = (size_t)(hash >> 20) & (types->room - 1);
    while (types->slots[at].image &&
           (types->slots[at].image != image || types->slots[at].offset != offset))
        at = (at + 1) & (types->room - 1);
    return at;
}

static bool
make_room(struct sym_variables *variables)
{
    struct variables_types *types = variables->types;
    if (types && types->n * 2 < types->room)
        return true;
    size_t room = types ? types->room * 2 : SLOTS_FIRST;
    struct variables_types *more = fz_arena_alloc(&variables->cache, sizeof(*more));
    struct slot *slots = fz_arena_array(&variables->cache, room, sizeof(*slots));
    if (!more || !slots)
        return false;
    *more = (struct variables_types){.slots = slots, .room = room, .n = types ? types->n : 0};
    for (size_t i = 0; types && i < types->room; i++) {
        const struct slot *slot = &types->slots[i];
        if (slot->image)
            slots[place_of(more, slot->image, slot->offset)] = *slot;
    }
    variables->types = more;
    return true;
}

static bool
is_transparent(unsigned tag)
{
    switch (tag) {
    case TAG_TYPEDEF:
    case TAG_CONST_TYPE:
    case TAG_VOLATILE_TYPE:
    case TAG_RESTRICT_TYPE:
    case TAG_ATOMIC_TYPE:
    case TAG_PACKED_TYPE:
    case TAG_IMMUTABLE_TYPE:
    case TAG_TEMPLATE_ALIAS:
    case TAG_APPLE_PTRAUTH_TYPE:
        return true;
    default:
        return false;
    }
}

/* Through typedefs and qualifiers. */
static void
strip(struct variables_type *type)
{
    for (unsigned n = 0; is_transparent(variables_die_tag(&type->die)); n++) {
        type->is_const = type->is_const || variables_die_tag(&type->die) == TAG_CONST_TYPE;
        if (variables_die_tag(&type->die) == TAG_TYPEDEF) {
            struct fz_span name = variables_die_string(&type->die, AT_NAME);
            type->is_objc_bool = type->is_objc_bool || fz_span_is(name, "BOOL");
            type->is_boolean = type->is_boolean || fz_span_is(name, "Boolean");
        }
        if (n == VARIABLES_TYPE_CHAIN_MAX) {
            type->die = (struct variables_die){0};
            type->kind = TYPE_UNKNOWN;
            return;
        }
        if (!variables_die_ref(&type->die, AT_TYPE, &type->die)) {
            type->die = (struct variables_die){0};
            type->kind = TYPE_VOID;
            return;
        }
    }
}

static enum variables_type_kind
kind_of(unsigned tag)
{
    switch (tag) {
    case TAG_BASE_TYPE:
        return TYPE_BASE;
    case TAG_POINTER_TYPE:
        return TYPE_POINTER;
    case TAG_REFERENCE_TYPE:
    case TAG_RVALUE_REFERENCE_TYPE:
        return TYPE_REFERENCE;
    case TAG_PTR_TO_MEMBER_TYPE:
        return TYPE_MEMBER_POINTER;
    case TAG_STRUCTURE_TYPE:
    case TAG_CLASS_TYPE:
    case TAG_UNION_TYPE:
    case TAG_INTERFACE_TYPE:
        return TYPE_RECORD;
    case TAG_ENUMERATION_TYPE:
        return TYPE_ENUM;
    case TAG_ARRAY_TYPE:
        return TYPE_ARRAY;
    case TAG_SUBROUTINE_TYPE:
        return TYPE_FUNCTION;
    case TAG_UNSPECIFIED_TYPE: /* decltype(nullptr) has a size of its own only where it is stored */
        return TYPE_VOID;
    default:
        return TYPE_UNKNOWN;
    }
}

static const struct variables_type *type_at(struct variables_image *image, uint64_t offset,
                                            unsigned depth);

static void
read_array(struct variables_type *type, unsigned depth)
{
    struct variables_die at, element;
    uint64_t size = 0, total = 1;
    for (bool more = variables_die_child(&type->die, &at); more;
         more = variables_die_next(&at, &at)) {
        uint64_t count = 0;
        if (variables_die_tag(&at) != TAG_SUBRANGE_TYPE ||
            type->n_counts == VARIABLES_DIMENSIONS_MAX)
            continue;
        if (!variables_type_bound(&at, &count)) {
            type->is_flexible = type->is_flexible || type->n_counts == 0;
            type->is_sized_late = type->is_sized_late || variables_die_ref(&at, AT_COUNT, &element);
        }
        type->counts[type->n_counts++] = count;
        if (__builtin_mul_overflow(total, count, &total))
            total = 0;
    }
    type->is_vector = variables_die_flag(&type->die, AT_GNU_VECTOR);
    type->element = &unknown_type;
    if (variables_die_ref(&type->die, AT_TYPE, &element))
        type->element = type_at(type->die.image, element.offset, depth + 1);
    if (!type->size && !__builtin_mul_overflow(total, type->element->size, &size))
        type->size = size;
}

/* A unit that includes the header of a class knows only the ivars that are in it. */
static void
expect_definition(struct variables_type *type)
{
    if (type->is_incomplete ||
        (type->is_objc_class && !variables_die_flag(&type->die, AT_APPLE_OBJC_COMPLETE_TYPE)))
        type->completion =
            fz_arena_alloc(&type->die.image->variables->cache, sizeof(*type->completion));
}

static void
read_type(struct variables_type *type, unsigned depth)
{
    struct variables_die underlying;
    unsigned tag = variables_die_tag(&type->die);
    uint64_t encoding = 0;
    type->kind = kind_of(tag);
    type->is_union = tag == TAG_UNION_TYPE;
    type->is_swift = variables_unit_is_swift(variables_image_unit(type->die.image, type->die.unit));
    variables_die_uint(&type->die, AT_BYTE_SIZE, &type->size);
    switch (type->kind) {
    case TYPE_BASE:
        variables_die_uint(&type->die, AT_ENCODING, &encoding);
        type->encoding = (unsigned)encoding;
        break;
    case TYPE_POINTER:
    case TYPE_REFERENCE:
        if (!type->size)
            type->size = type->die.unit->addr_size;
        break;
    case TYPE_MEMBER_POINTER:
        /* The Itanium ABI: an offset, or a pair of pointer and adjustment for functions. */
        if (!type->size)
            type->size = variables_die_ref(&type->die, AT_TYPE, &underlying) &&
                                 variables_die_tag(&underlying) == TAG_SUBROUTINE_TYPE
                             ? 2u * type->die.unit->addr_size
                             : type->die.unit->addr_size;
        break;
    case TYPE_ENUM:
        type->encoding = ATE_UNSIGNED;
        type->is_incomplete = variables_die_flag(&type->die, AT_DECLARATION);
        expect_definition(type);
        if (variables_die_ref(&type->die, AT_TYPE, &underlying)) {
            const struct variables_type *base =
                type_at(type->die.image, underlying.offset, depth + 1);
            type->encoding = base->encoding;
            type->size = type->size ? type->size : base->size;
        }
        break;
    case TYPE_ARRAY:
        read_array(type, depth);
        break;
    case TYPE_RECORD:
        type->is_objc_class = variables_die_flag(&type->die, AT_APPLE_RUNTIME_CLASS);
        type->is_incomplete = variables_die_flag(&type->die, AT_DECLARATION);
        expect_definition(type);
        break;
    case TYPE_UNKNOWN:
    case TYPE_VOID:
    case TYPE_FUNCTION:
        break;
    }
}

/* libc++ is in an inline namespace, which no program names: "std::__1::string" is std::string. */
static void
drop_inline_namespace(struct fz_buffer *name)
{
    static const char inner[] = "std::__1::";
    enum { KEPT = 5 /* "std::" */ };
    size_t to = 0;
    for (size_t at = 0; at < name->len;) {
        bool is_inner = name->len - at >= sizeof(inner) - 1 &&
                        memcmp(name->data + at, inner, sizeof(inner) - 1) == 0;
        size_t n = is_inner ? KEPT : 1;
        memmove(name->data + to, name->data + at, n);
        to += n;
        at += is_inner ? sizeof(inner) - 1 : 1;
    }
    if (name->len) {
        name->len = to;
        name->data[to] = '\0';
    }
}

/* The text in the cache; "" without memory. */
static const char *
name_of(struct variables_image *image, uint64_t offset)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(VARIABLES_TEXT_MAX);
    variables_type_name(image, offset, &text);
    drop_inline_namespace(&text);
    return fz_text_clean_utf8(&image->variables->cache, fz_buffer_span(&text));
}

static const struct variables_type *
type_at(struct variables_image *image, uint64_t offset, unsigned depth)
{
    struct sym_variables *variables = image->variables;
    /* What was read under a limit must not be kept. */
    if (depth > NESTING_MAX || variables->dies_left < VARIABLES_TYPE_CHAIN_MAX ||
        !make_room(variables))
        return &unknown_type;
    size_t at = place_of(variables->types, image, offset);
    if (variables->types->slots[at].image)
        return variables->types->slots[at].type;
    struct variables_type *type = fz_arena_alloc(&variables->cache, sizeof(*type));
    if (!type)
        return &unknown_type;
    type->name = name_of(image, offset);
    /* In the table before it is read: a type that contains itself ends here. */
    variables->types->slots[at] = (struct slot){.image = image, .offset = offset, .type = type};
    variables->types->n++;
    if (offset == UINT64_MAX) {
        type->kind = TYPE_VOID;
        return type;
    }
    if (!variables_die_at(image, offset, &type->die))
        return type;
    strip(type);
    if (type->die.image)
        read_type(type, depth);
    return type;
}

const struct variables_type *
variables_type_of(const struct variables_die *die)
{
    struct variables_die type;
    return type_at(die->image, variables_die_ref(die, AT_TYPE, &type) ? type.offset : UINT64_MAX,
                   0);
}

const struct variables_type *
variables_type_at(const struct variables_die *die)
{
    return type_at(die->image, die->offset, 0);
}

/* Is an Objective-C class that is defined here implemented in this image? Most are of the system. */
static bool
is_implemented(const struct variables_type *type)
{
    char symbol[VARIABLES_TEXT_MAX];
    struct fz_span name = variables_type_tag_name(type);
    uint64_t addr;
    snprintf(symbol, sizeof(symbol), "_OBJC_CLASS_$_%.*s", (int)name.len, (const char *)name.data);
    return name.len && variables_symbols_find(type->die.image, symbol, &addr);
}

const struct variables_type *
variables_type_complete(const struct variables_type *type)
{
    struct variables_completion *completion = type->completion;
    struct variables_die definition;
    if (!completion)
        return type;
    if (completion->found)
        return completion->found;
    /* In the table before it is looked for: a definition may lead to another declaration. */
    completion->found = type;
    if (!type->is_incomplete && !is_implemented(type))
        return type;
    completion->why = variables_definition_find(&type->die, &definition);
    if (completion->why != SYM_VALUE_AVAILABLE)
        return type;
    const struct variables_type *found = type_at(definition.image, definition.offset, 0);
    if (found == &unknown_type) { /* under a limit of this frame */
        completion->found = NULL;
        return type;
    }
    if (found->kind == type->kind && !found->is_incomplete)
        completion->found = found;
    return completion->found;
}

enum sym_availability
variables_type_missing(const struct variables_type *type)
{
    return type->completion && type->completion->why != SYM_VALUE_AVAILABLE
               ? type->completion->why
               : SYM_VALUE_NO_DEBUG_INFO;
}

struct fz_span
variables_type_tag_name(const struct variables_type *type)
{
    return type->die.image ? variables_die_string_deep(&type->die, AT_NAME) : fz_span_make(NULL, 0);
}

bool
variables_type_is_named(const struct variables_type *type, const char *name)
{
    return fz_span_is(variables_type_tag_name(type), name);
}
