/*
 * Namespaces and classes around a type, and the variables outside of functions.
 *
 * A DIE does not know its parent. The containers of a unit are listed once, in one pass that skips
 * functions: each with the range of offsets that it spans. The innermost range that holds a DIE is
 * its container.
 */
#include "symbolicator/variables/container.h"

#include "symbolicator/variables/walk.h"

enum { PARTS_MAX = 16, NO_PARENT = -1 };

struct container {
    uint64_t start, end; /* offsets of its children in .debug_info */
    int32_t parent;
    bool is_namespace;
};

struct variables_containers {
    struct container *list; /* ascending by start */
    uint64_t *variables;    /* offsets of the unit's own variables */
    size_t n, room, n_variables, room_variables;
};

static bool
is_container(unsigned tag)
{
    return tag == TAG_NAMESPACE || tag == TAG_STRUCTURE_TYPE || tag == TAG_CLASS_TYPE ||
           tag == TAG_UNION_TYPE;
}

struct listing {
    struct variables_image *image;
    struct variables_containers *to;
    /* The containers around the children of each depth; NO_PARENT = of another DIE. */
    int32_t open[VARIABLES_WALK_DEPTH_MAX + 1];
};

static bool
open_container(struct listing *listing, const struct variables_walk *walk, int32_t parent)
{
    struct variables_containers *to = listing->to;
    struct container *list = fz_list_grow_in(&listing->image->variables->cache, to->list, &to->room,
                                             to->n + 1, sizeof(*list));
    if (!list)
        return false;
    to->list = list;
    list[to->n] = (struct container){.start = walk->offset,
                                     .end = walk->unit->end,
                                     .parent = parent,
                                     .is_namespace = walk->abbrev->tag == TAG_NAMESPACE};
    listing->open[walk->depth] = (int32_t)to->n++;
    return true;
}

/* Is a DIE of this depth, in this container, in the unit itself or in its namespaces? */
static bool
is_outside(const struct listing *listing, unsigned depth, int32_t around)
{
    unsigned n = 1; /* the root */
    for (; around != NO_PARENT; around = listing->to->list[around].parent, n++) {
        if (!listing->to->list[around].is_namespace)
            return false;
    }
    return depth == n;
}

static bool
add_variable(struct listing *listing, uint64_t offset)
{
    struct variables_containers *to = listing->to;
    uint64_t *list = fz_list_grow_in(&listing->image->variables->cache, to->variables,
                                     &to->room_variables, to->n_variables + 1, sizeof(*list));
    if (!list)
        return false;
    to->variables = list;
    list[to->n_variables++] = offset;
    return true;
}

static void
list_unit(struct listing *listing, const struct sym_dwarf_unit *unit)
{
    struct variables_walk walk;
    variables_walk_start(&walk, listing->image, unit);
    while (variables_walk_next(&walk)) {
        int32_t around = walk.depth ? listing->open[walk.depth - 1] : NO_PARENT;
        if (!walk.abbrev) {
            if (listing->open[walk.depth] != around)
                listing->to->list[listing->open[walk.depth]].end = walk.offset;
            continue;
        }
        if (walk.abbrev->tag == TAG_VARIABLE && is_outside(listing, walk.depth, around) &&
            !add_variable(listing, walk.offset))
            return;
        if (!walk.abbrev->has_children)
            continue;
        listing->open[walk.depth] = around;
        if (is_container(walk.abbrev->tag) && !open_container(listing, &walk, around))
            return;
    }
}

static const struct variables_containers *
containers_of(struct variables_image *image, const struct sym_dwarf_unit *unit)
{
    struct variables_unit *more = variables_image_unit(image, unit);
    if (!more->containers) {
        more->containers = fz_arena_alloc(&image->variables->cache, sizeof(*more->containers));
        if (!more->containers)
            return NULL;
        struct listing listing = {.image = image, .to = more->containers};
        list_unit(&listing, unit);
    }
    return more->containers;
}

/* The innermost container of a DIE; NO_PARENT if it has none. */
static int32_t
find(const struct variables_containers *containers, uint64_t offset)
{
    size_t low = 0, high = containers->n;
    while (low < high) { /* the first one that begins at or after the DIE */
        size_t middle = low + (high - low) / 2;
        if (containers->list[middle].start < offset)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t at = low ? (int32_t)low - 1 : NO_PARENT;
    while (at != NO_PARENT && containers->list[at].end <= offset)
        at = containers->list[at].parent;
    return at;
}

size_t
variables_container_variables(struct variables_image *image, const struct sym_dwarf_unit *unit,
                              const uint64_t **ret)
{
    const struct variables_containers *containers = containers_of(image, unit);
    *ret = containers ? containers->variables : NULL;
    return containers ? containers->n_variables : 0;
}

void
variables_container_append(const struct variables_die *die, struct fz_buffer *out)
{
    struct variables_unit *unit = variables_image_unit(die->image, die->unit);
    if (variables_unit_is_c(unit) || variables_unit_is_swift(unit))
        return;
    const struct variables_containers *containers = containers_of(die->image, die->unit);
    int32_t parts[PARTS_MAX];
    size_t n = 0;
    for (int32_t at = containers ? find(containers, die->offset) : NO_PARENT;
         at != NO_PARENT && n < PARTS_MAX; at = containers->list[at].parent)
        parts[n++] = at;
    while (n-- > 0) {
        struct variables_die part;
        if (!variables_die_at(die->image, containers->list[parts[n]].start, &part))
            continue;
        struct fz_span name = variables_die_string_deep(&part, AT_NAME);
        if (name.len)
            fz_buffer_append(out, name.data, name.len);
        else if (containers->list[parts[n]].is_namespace)
            fz_buffer_text(out, "(anonymous namespace)");
        else
            continue;
        fz_buffer_text(out, "::");
    }
}

bool
variables_container_is(const struct variables_die *die, const char *name)
{
    const struct variables_containers *containers = containers_of(die->image, die->unit);
    int32_t at = containers ? find(containers, die->offset) : NO_PARENT;
    for (size_t n = 0; at != NO_PARENT && n < PARTS_MAX; n++) {
        struct variables_die part;
        if (containers->list[at].is_namespace &&
            variables_die_at(die->image, containers->list[at].start, &part) &&
            fz_span_is(variables_die_string_deep(&part, AT_NAME), name))
            return true;
        at = containers->list[at].parent;
    }
    return false;
}
