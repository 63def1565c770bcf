/*
 * One pass over all DIEs of a unit, in the order of the DWARF.
 *
 *     struct variables_walk walk;
 *     variables_walk_start(&walk, image, unit);
 *     while (variables_walk_next(&walk))
 *         ... walk.abbrev, walk.offset, walk.depth ...
 *
 * DIEs are skipped by their abbreviations alone, since a unit may have a hundred thousand: a step
 * does not count against the limit of a frame. Each step goes forward, and the walk ends with the
 * unit or at the first thing that is broken.
 */
#ifndef VARIABLES_WALK_H
#define VARIABLES_WALK_H

#include "symbolicator/dwarf/skip.h"
#include "symbolicator/variables/image.h"

enum { VARIABLES_WALK_DEPTH_MAX = 64 };

struct variables_walk {
    const struct sym_dwarf *dwarf;
    const struct sym_dwarf_unit *unit;
    struct dwarf_cursor at;
    const struct dwarf_abbrev *abbrev; /* of the DIE; NULL: a list of children ends here */
    uint64_t offset;                   /* in .debug_info */
    unsigned depth; /* of the DIE, 0 = the root; of an end: that of the children's parent */
    unsigned inner; /* the depth of what comes next */
};

static inline void
variables_walk_start(struct variables_walk *walk, const struct variables_image *image,
                     const struct sym_dwarf_unit *unit)
{
    *walk = (struct variables_walk){
        .dwarf = image->dwarf,
        .unit = unit,
        .at = dwarf_cursor_make(image->dwarf, SECTION_INFO, unit->dies, unit->end)};
}

/* Past the attributes of the DIE. */
static inline bool
variables_walk_skip(struct variables_walk *walk)
{
    const struct dwarf_abbrev *abbrev = walk->abbrev;
    struct dwarf_cursor *c = &walk->at;
    if (abbrev->kind == DIE_LEBS) {
        const uint8_t *end = skip_lebs(walk->dwarf, abbrev, c->at, c->end);
        c->at = end ? end : c->at;
        return end != NULL;
    }
    const uint8_t *after =
        abbrev->n_steps ? skip_die(walk->dwarf, walk->unit, abbrev, c->at, c->end) : c->at;
    /* What follows the last LEB128, string or block is a step of its own, or it is in `size`. */
    bool has_tail = abbrev->n_steps &&
                    walk->dwarf->steps[abbrev->first_step + abbrev->n_steps - 1].op == STEP_NONE;
    if (!after || (!has_tail && abbrev->size > (size_t)(c->end - after)))
        return false;
    c->at = has_tail ? after : after + abbrev->size;
    return true;
}

/* False: there is no more. A code of 0 ends a list of children (DWARF 5, 2.3). */
static inline bool
variables_walk_next(struct variables_walk *walk)
{
    struct dwarf_cursor *c = &walk->at;
    if (!dwarf_cursor_left(c))
        return false;
    walk->offset = (uint64_t)(c->at - walk->dwarf->sections[SECTION_INFO].data);
    uint64_t code = *c->at < 0x80 ? *c->at++ : dwarf_cursor_uleb(c);
    if (code == 0) {
        walk->abbrev = NULL;
        if (walk->inner == 0)
            return false;
        walk->depth = --walk->inner;
        return true;
    }
    walk->abbrev = dwarf_abbrev_find(walk->dwarf, &walk->dwarf->tables[walk->unit->abbrevs], code);
    walk->depth = walk->inner;
    if (!walk->abbrev || !variables_walk_skip(walk))
        return false;
    if (walk->abbrev->has_children && walk->inner++ == VARIABLES_WALK_DEPTH_MAX)
        return false;
    return true;
}

#endif
