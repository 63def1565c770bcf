/*
 * Namespaces and classes around a type, and the variables outside of functions.
 *
 * A DIE does not know its parent. The containers of a unit are listed once, in one pass that skips
 * functions: each with the range of offsets that it spans. The innermost range that holds a DIE is
 * its container.
 */
#include "symbolicator/variables/container.h"

#include "symbolicator/dwarf/skip.h"

enum { DEPTH_MAX = 64, PARTS_MAX = 16, NO_PARENT = -1 };

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

struct walk {
    struct variables_image *image;
    const struct sym_dwarf_unit *unit;
    struct variables_containers *to;
    int32_t open[DEPTH_MAX]; /* the containers around each level; NO_PARENT = another DIE */
    unsigned depth;
};

static bool
open_container(struct walk *walk, const struct dwarf_abbrev *abbrev, uint64_t offset)
{
    struct sym_variables *variables = walk->image->variables;
    if (walk->depth == DEPTH_MAX)
        return false;
    int32_t parent = walk->depth ? walk->open[walk->depth - 1] : NO_PARENT;
    if (!is_container(abbrev->tag)) {
        walk->open[walk->depth++] = parent;
        return true;
    }
    struct container *list = fz_list_grow_in(&variables->cache, walk->to->list, &walk->to->room,
                                             walk->to->n + 1, sizeof(*list));
    if (!list)
        return false;
    walk->to->list = list;
    list[walk->to->n] = (struct container){.start = offset,
                                           .end = walk->unit->end,
                                           .parent = parent,
                                           .is_namespace = abbrev->tag == TAG_NAMESPACE};
    walk->open[walk->depth++] = (int32_t)walk->to->n++;
    return true;
}

/* Is the walk in the unit itself or in its namespaces? */
static bool
is_outside(const struct walk *walk)
{
    int32_t around = walk->depth ? walk->open[walk->depth - 1] : NO_PARENT;
    unsigned n = 1; /* the root */
    for (; around != NO_PARENT; around = walk->to->list[around].parent, n++) {
        if (!walk->to->list[around].is_namespace)
            return false;
    }
    return walk->depth == n;
}

static bool
add_variable(struct walk *walk, uint64_t offset)
{
    uint64_t *list =
        fz_list_grow_in(&walk->image->variables->cache, walk->to->variables,
                        &walk->to->room_variables, walk->to->n_variables + 1, sizeof(*list));
    if (!list)
        return false;
    walk->to->variables = list;
    list[walk->to->n_variables++] = offset;
    return true;
}

/* DIEs are skipped by their abbreviations alone: a unit has a hundred thousand. */
static void
walk_unit(struct walk *walk)
{
    const struct sym_dwarf *dwarf = walk->image->dwarf;
    const struct dwarf_abbrev_table *table = &dwarf->tables[walk->unit->abbrevs];
    struct dwarf_cursor c =
        dwarf_cursor_make(dwarf, SECTION_INFO, walk->unit->dies, walk->unit->end);
    const uint8_t *section = dwarf->sections[SECTION_INFO].data;
    while (dwarf_cursor_left(&c)) {
        uint64_t offset = (uint64_t)(c.at - section);
        uint64_t code = dwarf_cursor_uleb(&c);
        if (code == 0) {
            if (walk->depth == 0)
                return;
            int32_t closed = walk->open[--walk->depth];
            int32_t around = walk->depth ? walk->open[walk->depth - 1] : NO_PARENT;
            if (closed != around)
                walk->to->list[closed].end = offset;
            continue;
        }
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(dwarf, table, code);
        if (!abbrev)
            return;
        const uint8_t *after =
            abbrev->n_steps ? skip_die(dwarf, walk->unit, abbrev, c.at, c.end) : c.at;
        bool has_tail = abbrev->n_steps &&
                        dwarf->steps[abbrev->first_step + abbrev->n_steps - 1].op == STEP_NONE;
        if (!after || (!has_tail && abbrev->size > (size_t)(c.end - after)))
            return;
        if (abbrev->tag == TAG_VARIABLE && is_outside(walk) && !add_variable(walk, offset))
            return;
        c.at = has_tail ? after : after + abbrev->size;
        if (abbrev->has_children && !open_container(walk, abbrev, offset))
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
        struct walk walk = {.image = image, .unit = unit, .to = more->containers};
        walk_unit(&walk);
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
