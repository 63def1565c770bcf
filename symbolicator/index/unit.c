/*
 * One unit's DWARF, read into the scratch of a worker: its DIEs, its rows, what the walk makes of
 * both, and where the names of inlined calls are.
 */
#include "symbolicator/index/unit.h"

#include <string.h>

enum { NAME_STEPS_PER_BYTE = 64, NAME_STEPS_FREE = 4096, NAME_ROOM = 64 };

static bool
prepare(struct index_unit_builder *u)
{
    struct fz_budget *budget = &u->b->budget;
    size_t n = u->scan.n_nodes, n_map = u->lines.n_files + 1;
    struct index_node_info *infos =
        fz_list_grow(budget, u->infos, &u->room_infos, n + 1, sizeof(*infos));
    if (!infos)
        return false;
    u->infos = infos;
    uint32_t *map =
        fz_list_grow(budget, u->file_map, &u->room_file_map, n_map, sizeof(*u->file_map));
    if (!map)
        return false;
    u->file_map = map;
    memset(map, 0, n_map * sizeof(*map));
    /* Asked once for each file and not once for each row. */
    bool *has_file = fz_list_grow(budget, u->has_file, &u->room_has_file, n_map, sizeof(*has_file));
    if (!has_file)
        return false;
    u->has_file = has_file;
    for (size_t i = 0; i < n_map; i++) {
        struct sym_dwarf_path path;
        has_file[i] = sym_dwarf_path(&u->lines, u->unit, i, &path) && path.name.len;
    }
    struct sym_dwarf_range *scratch =
        fz_list_grow(budget, u->scratch, &u->room_scratch, u->scan.n_ranges + 1, sizeof(*scratch));
    if (!scratch)
        return false;
    u->scratch = scratch;
    /* Most rows of the line table become one; index_unit_sort_ranges() needs the room for keys. */
    size_t n_rows = u->lines.n_rows > u->scan.n_ranges ? u->lines.n_rows : u->scan.n_ranges;
    struct index_row *rows =
        fz_list_grow(budget, u->rows, &u->room_rows, n_rows + 1, sizeof(*rows));
    if (!rows)
        return false;
    u->rows = rows;
    for (size_t i = 0; i < n; i++) {
        /* Nodes come after their parents, so the parent's root is known. */
        uint32_t parent = u->scan.nodes[i].parent;
        infos[i] =
            (struct index_node_info){.root = parent == NONE ? (uint32_t)i : infos[parent].root,
                                     .variant = NONE,
                                     .low = UINT64_MAX};
    }
    for (size_t i = 0; i < u->scan.n_ranges; i++) {
        const struct sym_dwarf_range *range = &u->scan.ranges[i];
        struct index_node_info *info = &infos[range->node];
        if (range->low < info->low) {
            info->low = range->low;
            info->high = range->high;
        }
    }
    index_unit_sort_ranges(u);
    u->n_variants = u->n_rows = u->n_pieces = 0;
    u->sequence = u->row = u->unit_range = 0;
    return true;
}

static uint32_t
hash_die(uint64_t die)
{
    return (uint32_t)(die * 0x9e3779b97f4a7c15u >> 32);
}

/* An empty table of names, with room for those of all nodes. */
static bool
reset_names(struct index_unit_builder *u)
{
    size_t room = NAME_ROOM;
    /* At most half full, so that probing stays short. */
    while (room < 2 * u->scan.n_nodes)
        room *= 2;
    uint32_t *slots =
        fz_list_grow(&u->b->budget, u->name_slots, &u->room_name_slots, room, sizeof(*slots));
    if (!slots)
        return false;
    u->name_slots = slots;
    u->name_mask = room - 1;
    u->n_names = 0;
    memset(slots, 0, room * sizeof(*slots));
    return true;
}

/* The number of the DIE's name in u->names. */
static bool
find_name(struct index_unit_builder *u, uint64_t die, uint32_t *ret)
{
    size_t at = hash_die(die) & u->name_mask;
    /* Inlined calls of one function name the same DIE: its attributes are read once. */
    for (; u->name_slots[at]; at = (at + 1) & u->name_mask) {
        *ret = u->name_slots[at] - 1;
        if (u->names[*ret].die == die)
            return true;
    }
    struct index_unit_name *names =
        fz_list_grow(&u->b->budget, u->names, &u->room_names, u->n_names + 1, sizeof(*names));
    if (!names)
        return false;
    u->names = names;
    names[u->n_names] = (struct index_unit_name){
        .die = die, .place = sym_dwarf_name_place(u->b->dwarf, die, &u->name_steps)};
    *ret = (uint32_t)u->n_names++;
    u->name_slots[at] = *ret + 1;
    return true;
}

static bool
find_names(struct index_unit_builder *u)
{
    if (!reset_names(u))
        return false;
    /* A limit for each unit, so that the result does not depend on the order of the threads. */
    u->name_steps = (u->unit->end - u->unit->offset) * NAME_STEPS_PER_BYTE + NAME_STEPS_FREE;
    for (size_t i = 0; i < u->scan.n_nodes; i++) {
        const struct sym_dwarf_node *node = &u->scan.nodes[i];
        /* Functions are named when they are committed, because the symbol table may have a
         * better name. */
        if (u->infos[i].is_used && node->parent != NONE &&
            !find_name(u, node->origin, &u->infos[i].name))
            return false;
    }
    return true;
}

enum fz_code
index_unit_read(struct index_unit_builder *u, size_t i, struct fz_error *err)
{
    struct index_builder *b = u->b;
    u->unit = sym_dwarf_unit(b->dwarf, i);
    u->number = (uint32_t)i;
    if (u->unit->is_bad)
        return FZ_OK;
    u->scan_code = sym_dwarf_scan_unit(b->dwarf, i, &b->budget, &u->scan, &u->scan_error);
    if (u->scan_code != FZ_OK && u->scan_code != FZ_E_MALFORMED)
        return fz_fail(err, u->scan_code, "%s", u->scan_error.text);
    /* Also if the scan failed: without functions the rows still give symbols their lines. */
    u->lines_code = sym_dwarf_lines_unit(b->dwarf, i, &b->budget, &u->lines, &u->lines_error);
    if (u->lines_code != FZ_OK && u->lines_code != FZ_E_MALFORMED)
        return fz_fail(err, u->lines_code, "%s", u->lines_error.text);
    return prepare(u) && index_unit_walk(u) && find_names(u) ? FZ_OK
                                                             : fz_budget_fail(&b->budget, err);
}

uint64_t
index_unit_work(const struct index_unit_builder *u)
{
    /* A unit that is bad in its header has not been read. */
    return u->unit->is_bad ? 0 : u->scan.work + u->lines.work + u->n_rows + u->n_pieces;
}

uint64_t
index_units_memory(const struct index_builder *b, const struct index_unit_builder *u)
{
    uint64_t pieces = b->n_pieces + b->n_bare_pieces, records = 0;
    uint64_t rows = b->n_all_rows + b->n_bare_rows * 2;
    if (!u->unit->is_bad) {
        records = u->n_variants;
        pieces += u->n_pieces;
        rows += u->n_rows;
    }
    /* A record is packed, and has 20 bytes at most. */
    return b->strings.n + b->records.n + records * 20 + b->n_functions * sizeof(*b->functions) +
           pieces * sizeof(*b->pieces) + rows * sizeof(*u->rows) +
           b->n_places * (sizeof(*b->places) + 2 * sizeof(struct index_slot)) +
           b->n_aliases * sizeof(*b->aliases);
}

void
index_unit_deinit(struct index_unit_builder *u)
{
    struct fz_budget *budget = &u->b->budget;
    sym_dwarf_scan_deinit(&u->scan, budget);
    sym_dwarf_lines_deinit(&u->lines, budget);
    fz_list_free(budget, u->scratch, u->room_scratch, sizeof(*u->scratch));
    fz_list_free(budget, u->infos, u->room_infos, sizeof(*u->infos));
    fz_list_free(budget, u->variants, u->room_variants, sizeof(*u->variants));
    fz_list_free(budget, u->rows, u->room_rows, sizeof(*u->rows));
    fz_list_free(budget, u->pieces, u->room_pieces, sizeof(*u->pieces));
    fz_list_free(budget, u->open, u->room_open, sizeof(*u->open));
    fz_list_free(budget, u->names, u->room_names, sizeof(*u->names));
    fz_list_free(budget, u->name_slots, u->room_name_slots, sizeof(*u->name_slots));
    fz_list_free(budget, u->has_file, u->room_has_file, sizeof(*u->has_file));
    fz_list_free(budget, u->file_map, u->room_file_map, sizeof(*u->file_map));
    fz_list_free(budget, u->path.data, u->path.room, 1);
}
