/*
 * Definitions by name.
 *
 * A table has each definition of a file outside of functions: a hash of its kind and its qualified
 * name ("shop::Item"), and its offset. It is made in one pass over the units when the first type
 * is looked for. A name may have several definitions, one in each unit that includes its header.
 * Which of them a declaration means is known only if all are the same, in size, members and the
 * types of these: C allows two units to have different structures of one name, and a C++ program
 * that does so breaks its one definition rule. Of an Objective-C class those count that are in the
 * unit of the @implementation, where it has all its ivars.
 *
 * Types in functions and in unnamed namespaces are those of their unit alone. Type units are not
 * listed: no compiler for Apple's systems writes them.
 */
#include "symbolicator/variables/definition.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolicator/variables/container.h"
#include "symbolicator/variables/type_name.h"
#include "symbolicator/variables/walk.h"

enum {
    WALKED_MAX = 256 * 1024 * 1024,   /* bytes of .debug_info */
    LISTED_MAX = 1000 * 1000,         /* definitions, 16 bytes each */
    LISTED_DIES_MAX = 4 * 1000 * 1000 /* whose name is read */
};
enum { LAYOUT_DEPTH_MAX = 6, LAYOUT_MEMBERS_MAX = 4096 };

/* Kinds of types that can have the same name, the first part of a hash. */
enum kind { KIND_NONE, KIND_RECORD, KIND_UNION, KIND_ENUM, KIND_CLASS, KIND_LOCAL };

/* A group of equal names is compared once: the offset of its first entry then has the result. */
static const uint64_t RESOLVED = UINT64_C(1) << 63;
static const uint64_t DIFFERENT = UINT64_MAX;

/* FNV-1a. */
static uint64_t
hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t
hash_number(uint64_t hash, uint64_t number)
{
    return hash_bytes(hash, &number, sizeof(number));
}

static uint64_t
hash_start(enum kind kind)
{
    return hash_number(UINT64_C(0xcbf29ce484222325), kind);
}

static enum kind
kind_of(const struct variables_die *die)
{
    switch (variables_die_tag(die)) {
    case TAG_STRUCTURE_TYPE:
    case TAG_CLASS_TYPE:
        return variables_die_flag(die, AT_APPLE_RUNTIME_CLASS) ? KIND_CLASS : KIND_RECORD;
    case TAG_UNION_TYPE:
        return KIND_UNION;
    case TAG_ENUMERATION_TYPE:
        return KIND_ENUM;
    default:
        return KIND_NONE;
    }
}

/* The hash of a qualified name: `around` is the text before the name, with its "::". */
static uint64_t
hash_name(enum kind kind, const struct fz_buffer *around, struct fz_span name,
          const struct sym_dwarf_unit *unit)
{
    uint64_t hash = hash_bytes(hash_start(kind), around->data, around->len);
    hash = hash_bytes(hash, name.data, name.len);
    if (strstr(fz_buffer_cstr(around), "(anonymous namespace)"))
        hash = hash_number(hash, unit->offset);
    return hash;
}

/* What is known while a unit is walked. */
struct listing {
    struct variables_image *image;
    const struct sym_dwarf_unit *unit;
    struct fz_buffer around;                      /* "shop::Outer::" */
    size_t lengths[VARIABLES_WALK_DEPTH_MAX + 1]; /* of `around`, by the depth of a container */
    unsigned function; /* the depth of the function that the walk is in; UINT_MAX = none */
    bool is_c;
};

static bool
add(struct variables_image *image, uint64_t hash, uint64_t offset)
{
    struct variables_definition *list =
        fz_list_grow(&image->variables->budget, image->definitions, &image->room_definitions,
                     image->n_definitions + 1, sizeof(*list));
    if (!list || image->n_definitions >= LISTED_MAX)
        return false;
    image->definitions = list;
    list[image->n_definitions++] = (struct variables_definition){.hash = hash, .offset = offset};
    return true;
}

static bool
abbrev_has(const struct sym_dwarf *dwarf, const struct dwarf_abbrev *abbrev, unsigned name)
{
    for (uint32_t i = 0; i < abbrev->n_attrs; i++) {
        if (dwarf->attrs[abbrev->first_attr + i].name == name)
            return true;
    }
    return false;
}

/* Add the type at which the walk is, and its name to what is around its children. */
static bool
list_type(struct listing *listing, const struct variables_walk *walk)
{
    struct variables_die die;
    bool is_local = walk->depth > listing->function;
    bool is_declared = abbrev_has(walk->dwarf, walk->abbrev, AT_DECLARATION);
    if (is_local && !is_declared)
        return true;
    if (!variables_die_at(listing->image, walk->offset, &die))
        return false;
    if (is_local)
        return add(listing->image, hash_start(KIND_LOCAL), walk->offset);
    struct fz_span name = variables_die_string(&die, AT_NAME);
    enum kind kind = kind_of(&die);
    if (!is_declared && name.len && kind != KIND_NONE &&
        !add(listing->image, hash_name(kind, &listing->around, name, walk->unit), walk->offset))
        return false;
    if (walk->abbrev->has_children && !listing->is_c && (name.len || kind == KIND_NONE)) {
        fz_buffer_append(&listing->around,
                         name.len ? (const char *)name.data : "(anonymous namespace)",
                         name.len ? name.len : strlen("(anonymous namespace)"));
        fz_buffer_text(&listing->around, "::");
    }
    return true;
}

static void
leave(struct fz_buffer *around, size_t len)
{
    if (around->data && len < around->len) {
        around->len = len;
        around->data[len] = '\0';
    }
}

/* False: there are too many, or no memory. */
static bool
list_unit(struct listing *listing)
{
    struct variables_walk walk;
    variables_walk_start(&walk, listing->image, listing->unit);
    while (variables_walk_next(&walk)) {
        if (!walk.abbrev) {
            leave(&listing->around, listing->lengths[walk.depth]);
            if (walk.depth == listing->function)
                listing->function = UINT_MAX;
            continue;
        }
        size_t before = listing->around.len;
        switch (walk.abbrev->tag) {
        case TAG_NAMESPACE:
        case TAG_STRUCTURE_TYPE:
        case TAG_CLASS_TYPE:
        case TAG_UNION_TYPE:
        case TAG_ENUMERATION_TYPE:
            if (!list_type(listing, &walk))
                return false;
            break;
        case TAG_SUBPROGRAM:
            if (walk.abbrev->has_children && listing->function == UINT_MAX)
                listing->function = walk.depth;
            break;
        default:
            break;
        }
        listing->lengths[walk.depth] = before;
    }
    return true;
}

static int
compare(const void *a, const void *b)
{
    const struct variables_definition *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void
list_image(struct variables_image *image)
{
    size_t n = sym_dwarf_n_units(image->dwarf);
    uint64_t walked = 0, dies = image->variables->dies_left;
    image->has_definitions = true;
    image->variables->dies_left = LISTED_DIES_MAX;
    for (size_t i = 0; i < n && !image->lacks_definitions; i++) {
        struct listing listing = {.image = image, .function = UINT_MAX};
        listing.unit = sym_dwarf_unit(image->dwarf, i);
        const struct variables_unit *unit = variables_image_unit(image, listing.unit);
        walked += listing.unit->end - listing.unit->dies;
        if (listing.unit->is_bad || variables_unit_is_swift(unit))
            continue;
        listing.is_c = variables_unit_is_c(unit);
        fz_buffer_init(&listing.around, VARIABLES_TEXT_MAX);
        image->lacks_definitions = walked > WALKED_MAX || !list_unit(&listing);
        fz_buffer_deinit(&listing.around);
    }
    image->variables->dies_left = dies;
    if (image->n_definitions > 1)
        qsort(image->definitions, image->n_definitions, sizeof(*image->definitions), compare);
}

static uint64_t
hash_attr(const struct variables_die *die, unsigned name, uint64_t hash)
{
    struct variables_attr attr;
    uint64_t number = 0;
    if (!variables_die_attr_deep(die, name, &attr, NULL))
        return hash;
    hash = hash_number(hash, name);
    if (variables_attr_uint(&attr, &number))
        return hash_number(hash, number);
    return hash_bytes(hash, attr.block.data, attr.block.len);
}

static uint64_t hash_layout(const struct variables_die *record, unsigned depth, uint64_t hash);

/* The type of a member: its name, and what is in it. After a pointer that is one level: what a
 * value shows may go further than the member itself. */
static uint64_t
hash_type(const struct variables_die *member, unsigned depth, uint64_t hash)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer name = fz_buffer_make(VARIABLES_TEXT_MAX);
    struct variables_die type;
    bool is_found = variables_die_ref(member, AT_TYPE, &type);
    variables_type_name(member->image, is_found ? type.offset : UINT64_MAX, &name);
    hash = hash_bytes(hash, name.data, name.len);
    for (unsigned n = 0; is_found && n < VARIABLES_TYPE_CHAIN_MAX; n++) {
        switch (variables_die_tag(&type)) {
        case TAG_STRUCTURE_TYPE:
        case TAG_CLASS_TYPE:
        case TAG_UNION_TYPE:
        case TAG_ENUMERATION_TYPE:
            return depth < LAYOUT_DEPTH_MAX ? hash_layout(&type, depth + 1, hash) : hash;
        case TAG_BASE_TYPE:
            return hash_attr(&type, AT_ENCODING, hash_attr(&type, AT_BYTE_SIZE, hash));
        case TAG_POINTER_TYPE:
        case TAG_REFERENCE_TYPE:
        case TAG_RVALUE_REFERENCE_TYPE:
            if (depth >= LAYOUT_DEPTH_MAX)
                return hash;
            depth = LAYOUT_DEPTH_MAX - 1;
            break;
        default:
            break;
        }
        is_found = variables_die_ref(&type, AT_TYPE, &type);
    }
    return hash;
}

/* What makes two definitions the same: sizes, and members with their places and types. */
static uint64_t
hash_layout(const struct variables_die *record, unsigned depth, uint64_t hash)
{
    static const unsigned numbers[] = {AT_DATA_MEMBER_LOCATION, AT_BIT_SIZE,  AT_BIT_OFFSET,
                                       AT_DATA_BIT_OFFSET,      AT_BYTE_SIZE, AT_CONST_VALUE,
                                       AT_DISCR_VALUE,          AT_VIRTUALITY};
    struct variables_die at;
    unsigned n = 0;
    hash = hash_attr(record, AT_BYTE_SIZE, hash);
    for (bool more = variables_die_child(record, &at); more && n < LAYOUT_MEMBERS_MAX;
         more = variables_die_next(&at, &at)) {
        unsigned tag = variables_die_tag(&at);
        bool is_part = tag == TAG_MEMBER || tag == TAG_INHERITANCE || tag == TAG_ENUMERATOR ||
                       tag == TAG_VARIANT_PART || tag == TAG_VARIANT;
        if (!is_part || variables_die_flag(&at, AT_EXTERNAL))
            continue;
        struct fz_span name = variables_die_string(&at, AT_NAME);
        hash = hash_bytes(hash_number(hash, tag), name.data, name.len);
        for (size_t i = 0; i < FZ_ARRAY_LEN(numbers); i++)
            hash = hash_attr(&at, numbers[i], hash);
        if (tag == TAG_MEMBER || tag == TAG_INHERITANCE)
            hash = hash_type(&at, depth, hash);
        else if (tag != TAG_ENUMERATOR && depth < LAYOUT_DEPTH_MAX)
            hash = hash_layout(&at, depth + 1, hash);
        n++;
    }
    return hash;
}

/* The one definition that all of a group are, or DIFFERENT. */
static uint64_t
choose(struct variables_image *image, const struct variables_definition *group, size_t n)
{
    uint64_t chosen = 0, layout = 0;
    bool is_chosen_complete = false, is_same = true;
    for (size_t i = 0; i < n; i++) {
        struct variables_die die;
        if (!variables_die_at(image, group[i].offset, &die))
            return DIFFERENT;
        bool is_complete = variables_die_flag(&die, AT_APPLE_OBJC_COMPLETE_TYPE);
        if (is_chosen_complete && !is_complete)
            continue;
        uint64_t hash = n > 1 ? hash_layout(&die, 0, hash_start(kind_of(&die))) : 0;
        is_same = !chosen || is_complete != is_chosen_complete || (is_same && hash == layout);
        chosen = group[i].offset;
        layout = hash;
        is_chosen_complete = is_complete;
    }
    return is_same && chosen ? chosen : DIFFERENT;
}

/* The entries with a hash: how many, from *ret on. */
static size_t
find_group(const struct variables_image *image, uint64_t hash, size_t *ret)
{
    size_t low = 0, high = image->n_definitions, n = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->definitions[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + n < image->n_definitions && image->definitions[low + n].hash == hash)
        n++;
    *ret = low;
    return n;
}

static enum sym_availability
find(struct variables_image *image, uint64_t hash, struct variables_die *ret)
{
    struct sym_variables *variables = image->variables;
    size_t first, n = find_group(image, hash, &first);
    /* What is missing could be another definition of the name. */
    if (image->lacks_definitions)
        return SYM_VALUE_LIMIT;
    if (n == 0)
        return SYM_VALUE_NO_DEBUG_INFO;
    uint64_t *offset = &image->definitions[first].offset;
    if (!(*offset & RESOLVED)) {
        uint64_t dies = variables->dies_left;
        variables->dies_left = variables->definition_dies_left;
        uint64_t chosen = choose(image, &image->definitions[first], n);
        variables->definition_dies_left = variables->dies_left;
        variables->dies_left = dies;
        if (variables->definition_dies_left == 0)
            return SYM_VALUE_LIMIT;
        *offset = chosen | RESOLVED;
    }
    if (*offset == DIFFERENT)
        return SYM_VALUE_NO_DEBUG_INFO;
    return variables_die_at(image, *offset & ~RESOLVED, ret) ? SYM_VALUE_AVAILABLE
                                                             : SYM_VALUE_LIMIT;
}

static bool
is_local(const struct variables_die *die)
{
    size_t first, n = find_group(die->image, hash_start(KIND_LOCAL), &first);
    for (size_t i = 0; i < n; i++) {
        if (die->image->definitions[first + i].offset == die->offset)
            return true;
    }
    return false;
}

enum sym_availability
variables_definition_find(const struct variables_die *type, struct variables_die *ret)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer around = fz_buffer_make(VARIABLES_TEXT_MAX);
    struct variables_image *image = type->image;
    struct fz_span name = variables_die_string(type, AT_NAME);
    enum kind kind = kind_of(type);
    if (!name.len || kind == KIND_NONE ||
        variables_unit_is_swift(variables_image_unit(image, type->unit)))
        return SYM_VALUE_NO_DEBUG_INFO;
    if (!image->has_definitions)
        list_image(image);
    if (is_local(type))
        return SYM_VALUE_NO_DEBUG_INFO;
    variables_container_append(type, &around);
    return find(image, hash_name(kind, &around, name, type->unit), ret);
}

bool
variables_definition_class(struct variables_image *image, struct fz_span name,
                           struct variables_die *ret)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer around = fz_buffer_make(1);
    if (!image->dwarf || !image->units)
        return false;
    if (!image->has_definitions)
        list_image(image);
    return find(image, hash_name(KIND_CLASS, &around, name, NULL), ret) == SYM_VALUE_AVAILABLE &&
           variables_die_flag(ret, AT_APPLE_OBJC_COMPLETE_TYPE);
}
