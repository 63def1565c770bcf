/*
 * One linear pass over the DIEs of a unit.
 *
 * LLVM writes no DW_AT_sibling, so walking by sibling would read every subtree once per level;
 * here each DIE is read once. A DIE whose abbreviation has no addresses is skipped by its program
 * and never looked at: on a large C++ dSYM that is all but 20,800 of 2.8 million subprograms.
 */
#include <stdlib.h>

#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"
#include "symbolicator/dwarf/skip.h"

enum {
    DIE_DEPTH_MAX = 1024,
    INLINE_DEPTH_MAX = 255, /* and the function itself: SYM_FRAMES_MAX */
    STEPS_PER_BYTE = 64,
    STEPS_FREE = 64 * 1024,
};

/* A node whose children are being read. */
struct open_node {
    uint32_t depth, node; /* of its DIE */
};

struct walk {
    const struct sym_dwarf *dwarf;
    const struct sym_dwarf_unit *unit;
    struct fz_budget *budget;
    struct sym_dwarf_scan *scan;
    uint64_t steps; /* what attributes and range lists may still cost */
    bool no_memory;
    uint32_t n_open;
    struct open_node open[DIE_DEPTH_MAX + 1];
};

struct code_die {
    uint64_t offset, origin;
    uint32_t call_file, call_line, call_column;
    struct dwarf_value low, high, ranges;
};

void
sym_dwarf_scan_deinit(struct sym_dwarf_scan *scan, struct fz_budget *budget)
{
    fz_list_free(budget, scan->nodes, scan->room_nodes, sizeof(*scan->nodes));
    fz_list_free(budget, scan->ranges, scan->room_ranges, sizeof(*scan->ranges));
    fz_list_free(budget, scan->unit_ranges, scan->room_unit_ranges, sizeof(*scan->unit_ranges));
    *scan = (struct sym_dwarf_scan){0};
}

/* Append the range, cut to where code is, unless it begins outside. */
static bool
append_range(struct walk *walk, struct sym_dwarf_range **list, size_t *n, size_t *room,
             struct sym_dwarf_range range)
{
    const struct sym_dwarf_scan *scan = walk->scan;
    if (range.low < scan->code_low || range.low >= scan->code_high)
        return true;
    /* A sound function ends in its section; a broken one keeps the part that has code. */
    if (range.high > scan->code_high)
        range.high = scan->code_high;
    struct sym_dwarf_range *ranges =
        fz_list_grow(walk->budget, *list, room, *n + 1, sizeof(*ranges));
    if (!ranges) {
        walk->no_memory = true;
        return false;
    }
    *list = ranges;
    ranges[(*n)++] = range;
    return true;
}

static bool
add_unit_range(void *user, uint64_t low, uint64_t high)
{
    struct walk *walk = user;
    struct sym_dwarf_scan *scan = walk->scan;
    return append_range(walk, &scan->unit_ranges, &scan->n_unit_ranges, &scan->room_unit_ranges,
                        (struct sym_dwarf_range){.low = low, .high = high});
}

static bool
add_range(void *user, uint64_t low, uint64_t high)
{
    struct walk *walk = user;
    struct sym_dwarf_scan *scan = walk->scan;
    struct sym_dwarf_range range = {.low = low, .high = high, .node = (uint32_t)scan->n_nodes};
    return append_range(walk, &scan->ranges, &scan->n_ranges, &scan->room_ranges, range);
}

static uint32_t
clamp_u32(uint64_t value)
{
    /* A file, line or column of 0 means that it is not known. */
    return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static void
read_code_die(struct walk *walk, struct dwarf_cursor *c, const struct dwarf_abbrev *abbrev,
              struct code_die *ret)
{
    struct dwarf_value value;
    for (uint32_t i = 0; i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &walk->dwarf->attrs[abbrev->first_attr + i];
        dwarf_value_read(walk->dwarf, walk->unit, c, attr, &value);
        if (c->bad)
            return;
        switch (attr->name) {
        case AT_LOW_PC:
            ret->low = value;
            break;
        case AT_HIGH_PC:
            ret->high = value;
            break;
        case AT_RANGES:
            ret->ranges = value;
            break;
        case AT_ABSTRACT_ORIGIN:
        case AT_SPECIFICATION: {
            uint64_t origin = dwarf_value_reference(walk->dwarf, walk->unit, &value);
            /* A reference that leads nowhere leaves the DIE its own name. */
            if (origin != UINT64_MAX)
                ret->origin = origin;
            break;
        }
        case AT_CALL_FILE:
            ret->call_file = clamp_u32(value.number);
            break;
        case AT_CALL_LINE:
            ret->call_line = clamp_u32(value.number);
            break;
        case AT_CALL_COLUMN:
            ret->call_column = clamp_u32(value.number);
            break;
        default:
            break;
        }
    }
}

/* A DIE that is read by plan. It and 8 bytes after it can be read. */
struct planned_die {
    const struct dwarf_plan *plan;
    const uint8_t *bases[2]; /* by enum dwarf_planned_base */
    uint64_t leb;
};

static inline struct dwarf_value
read_planned(const struct planned_die *die, enum dwarf_planned_id id)
{
    const struct dwarf_planned *planned = &die->plan->values[id];
    /* A LEB128 has no fixed width, so enter_code_die() has decoded it already. */
    if (planned->base == IS_LEB)
        return (struct dwarf_value){.number = die->leb, .form = planned->form};
    const uint8_t *at = die->bases[planned->base] + planned->offset;
    /* Always 8 bytes: one load and a mask cost less than a branch on the size. */
    struct dwarf_cursor c = {.at = at, .end = at + 8};
    return (struct dwarf_value){.number = dwarf_cursor_uint(&c, 8) & planned->mask,
                                .form = planned->form};
}

/* As read_code_die() without looking at attributes one by one. */
static inline void
read_planned_die(const struct walk *walk, const struct planned_die *planned, struct code_die *ret)
{
    struct dwarf_value origin = read_planned(planned, PLANNED_ORIGIN);
    ret->low = read_planned(planned, PLANNED_LOW);
    ret->high = read_planned(planned, PLANNED_HIGH);
    ret->ranges = read_planned(planned, PLANNED_RANGES);
    ret->call_file = clamp_u32(read_planned(planned, PLANNED_CALL_FILE).number);
    ret->call_line = clamp_u32(read_planned(planned, PLANNED_CALL_LINE).number);
    ret->call_column = clamp_u32(read_planned(planned, PLANNED_CALL_COLUMN).number);
    uint64_t die =
        origin.form ? dwarf_value_reference(walk->dwarf, walk->unit, &origin) : UINT64_MAX;
    if (die != UINT64_MAX)
        ret->origin = die;
}

/* Add the ranges of a DIE; false if a range list is broken or memory is short. */
static bool
add_ranges(struct walk *walk, const struct code_die *die, range_fn add)
{
    uint64_t low, high;
    /* Functions that were split, hot and cold parts, have a list instead of one range. */
    if (die->ranges.form)
        return dwarf_ranges_read(walk->dwarf, walk->unit, &die->ranges, &walk->steps, add, walk);
    /* A broken address index: without it the DIE has no code. */
    if (!dwarf_value_address(walk->dwarf, walk->unit, &die->low, &low))
        return true;
    /* From DWARF 4 on a high_pc that is not an address is the length. */
    if (!dwarf_value_address(walk->dwarf, walk->unit, &die->high, &high) &&
        __builtin_add_overflow(low, die->high.number, &high))
        return true;
    return low >= high || add(walk, low, high);
}

/* A DIE with addresses: a node if any code of it is left. Returns its number or UINT32_MAX. */
static uint32_t
add_node(struct walk *walk, const struct dwarf_abbrev *abbrev, const struct code_die *die)
{
    struct sym_dwarf_scan *scan = walk->scan;
    uint32_t parent = walk->n_open ? walk->open[walk->n_open - 1].node : UINT32_MAX;
    bool is_inlined = abbrev->tag == TAG_INLINED_SUBROUTINE && parent != UINT32_MAX;
    uint32_t depth = is_inlined ? scan->nodes[parent].depth + 1 : 0;
    size_t before = scan->n_ranges;
    if (depth > INLINE_DEPTH_MAX || scan->n_nodes >= UINT32_MAX - 1)
        return UINT32_MAX;
    /* Ranges first: they carry the number that the node gets below. Of a broken list the ranges
     * before the fault are kept. */
    if (!add_ranges(walk, die, add_range) && walk->no_memory)
        return UINT32_MAX;
    /* Code that the linker dropped: no address can lead to this node. */
    if (scan->n_ranges == before)
        return UINT32_MAX;
    struct sym_dwarf_node *nodes = fz_list_grow(walk->budget, scan->nodes, &scan->room_nodes,
                                                scan->n_nodes + 1, sizeof(*nodes));
    if (!nodes) {
        walk->no_memory = true;
        return UINT32_MAX;
    }
    scan->nodes = nodes;
    nodes[scan->n_nodes] = (struct sym_dwarf_node){.die = die->offset,
                                                   .origin = die->origin,
                                                   .parent = is_inlined ? parent : UINT32_MAX,
                                                   .call_file = die->call_file,
                                                   .call_line = die->call_line,
                                                   .call_column = die->call_column,
                                                   .depth = depth};
    return (uint32_t)scan->n_nodes++;
}

/* Read one DIE with addresses and open it for its children. NULL if it leaves the unit. */
static const uint8_t *
enter_code_die(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
               const uint8_t *end, uint64_t offset, uint32_t depth)
{
    struct dwarf_cursor c = {.at = at, .end = end, .big_endian = walk->dwarf->big_endian};
    struct code_die die = {.offset = offset, .origin = offset};
    struct planned_die planned = {.bases = {at, at}};
    if (abbrev->plan) {
        planned.plan = &walk->dwarf->plans[abbrev->plan - 1];
        if (planned.plan->has_leb) {
            dwarf_cursor_skip(&c, planned.plan->leb_offset);
            planned.leb = dwarf_cursor_uleb(&c);
            planned.bases[FROM_LEB] = c.at;
        }
    }
    /* The 8 bytes are what read_planned() may load past the last attribute; DIEs at the very end of
     * the unit are read one attribute at a time. */
    if (abbrev->plan && abbrev->size + 8u <= dwarf_cursor_left(&c)) {
        read_planned_die(walk, &planned, &die);
        c.at += abbrev->size;
    } else {
        c.at = at;
        c.bad = false;
        read_code_die(walk, &c, abbrev, &die);
        if (c.bad)
            return NULL;
    }
    uint64_t cost = abbrev->n_attrs;
    walk->steps -= cost < walk->steps ? cost : walk->steps;
    uint32_t node = add_node(walk, abbrev, &die);
    /* Inlined calls below dropped code hang on what is around it: they have no code either. */
    if (node != UINT32_MAX && abbrev->has_children)
        walk->open[walk->n_open++] = (struct open_node){.depth = depth, .node = node};
    return c.at;
}

static int
compare_range(const void *a, const void *b)
{
    const struct sym_dwarf_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* The ranges of the unit, from its root DIE. */
static void
read_unit_ranges(struct walk *walk, struct dwarf_cursor c, const struct dwarf_abbrev_table *table)
{
    const struct dwarf_abbrev *abbrev =
        dwarf_abbrev_find(walk->dwarf, table, dwarf_cursor_uleb(&c));
    struct code_die die = {0};
    if (!abbrev)
        return;
    read_code_die(walk, &c, abbrev, &die);
    /* What of a broken list was read before the fault is used. */
    if (!c.bad && !add_ranges(walk, &die, add_unit_range) && walk->no_memory)
        return;
    if (walk->scan->n_unit_ranges > 1)
        qsort(walk->scan->unit_ranges, walk->scan->n_unit_ranges, sizeof(*walk->scan->unit_ranges),
              compare_range);
}

/* What ended the walk of a unit at the DIE that is `at` bytes into the section. */
static enum fz_code
walk_fail(const struct walk *walk, ptrdiff_t at, const char *what, struct fz_error *err)
{
    uint64_t offset = (uint64_t)at;
    if (walk->no_memory)
        return fz_budget_fail(walk->budget, err);
    return fz_fail_at(err, FZ_E_MALFORMED, offset, "DIE at %llu: %s", (unsigned long long)offset,
                      what);
}

/* The loop that sees every DIE of the file: what is not needed for most of them is kept out. */
static enum fz_code
walk_unit(struct walk *walk, struct dwarf_cursor unit, const uint8_t *section, struct fz_error *err)
{
    const struct dwarf_abbrev_table *table = &walk->dwarf->tables[walk->unit->abbrevs];
    /* Codes that are 1, 2, 3... are places in an array and need no search. */
    uint64_t n_dense = table->is_dense ? table->n : 0;
    const struct dwarf_abbrev *dense = n_dense ? &walk->dwarf->abbrevs[table->first] : NULL;
    const uint8_t *at = unit.at, *end = unit.end;
    uint32_t depth = 0;
    read_unit_ranges(walk, unit, table);
    while (at < end) {
        const uint8_t *start = at;
        uint64_t code = *at++;
        /* Two bytes hold 16,383 codes, which nearly all tables stay below. */
        if (code >= 0x80 && at < end && *at < 0x80) {
            code = (code & 0x7f) | (uint64_t)*at++ << 7;
        } else if (code >= 0x80) {
            unit.at = start;
            code = dwarf_cursor_uleb(&unit);
            at = unit.at;
        }
        if (code == 0) {
            /* The end of the root's children: what is left of the unit is padding. */
            if (depth <= 1)
                return FZ_OK;
            depth--;
            if (walk->n_open && walk->open[walk->n_open - 1].depth == depth)
                walk->n_open--;
            continue;
        }
        const struct dwarf_abbrev *abbrev =
            code - 1 < n_dense ? &dense[code - 1] : dwarf_abbrev_find(walk->dwarf, table, code);
        if (!abbrev)
            return walk_fail(walk, start - section, "no such abbreviation", err);
        if (abbrev->kind == DIE_FIXED) {
            at = abbrev->size <= (size_t)(end - at) ? at + abbrev->size : NULL;
        } else if (abbrev->kind == DIE_LEBS) {
            at = skip_lebs(walk->dwarf, abbrev, at, end);
        } else if (abbrev->kind == DIE_STEPS) {
            at = skip_die(walk->dwarf, walk->unit, abbrev, at, end);
        } else {
            at = enter_code_die(walk, abbrev, at, end, (uint64_t)(start - section), depth);
            if (walk->no_memory || walk->steps == 0)
                return walk_fail(walk, start - section, "too much work", err);
        }
        if (!at)
            return walk_fail(walk, start - section, "leaves its unit", err);
        depth += abbrev->has_children;
        if (depth - 1 >= DIE_DEPTH_MAX) { /* 0: a root without children is all */
            return depth == 0 ? FZ_OK : walk_fail(walk, start - section, "deeper than 1024", err);
        }
    }
    return FZ_OK; /* writers leave out the last zeros */
}

enum fz_code
sym_dwarf_scan_unit(const struct sym_dwarf *dwarf, size_t i, struct fz_budget *budget,
                    struct sym_dwarf_scan *scan, struct fz_error *err)
{
    const struct sym_dwarf_unit *unit = &dwarf->units[i];
    scan->n_nodes = 0;
    scan->n_ranges = 0;
    scan->n_unit_ranges = 0;
    if (unit->is_bad)
        return FZ_OK; /* reported when the units were listed */
    /* In the heap: on the stack, -ftrivial-auto-var-init=zero would clear all levels for each
     * unit. */
    struct walk *walk = malloc(sizeof(*walk));
    if (!walk)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    walk->dwarf = dwarf;
    walk->unit = unit;
    walk->budget = budget;
    walk->scan = scan;
    /* Thousands of DIEs may name the same long range list: without a limit the work would be
     * quadratic in the size of the unit. */
    uint64_t size = unit->end - unit->offset, steps = size * STEPS_PER_BYTE + STEPS_FREE;
    walk->steps = steps;
    walk->no_memory = false;
    walk->n_open = 0;
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, unit->dies, unit->end);
    enum fz_code code = walk_unit(walk, c, dwarf->sections[SECTION_INFO].data, err);
    scan->work = size + (steps - walk->steps);
    free(walk);
    return code;
}
