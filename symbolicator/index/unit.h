/*
 * One unit while its DWARF becomes pieces.
 *
 * unit.c and unit_walk.c read it into scratch of their own, in any thread; of the builder they use
 * nothing but what is there before the units are read, and the budget. unit_commit.c then makes
 * strings, records and rows of it, one unit at a time and in order. units.c gives the work out.
 */
#ifndef INDEX_UNIT_H
#define INDEX_UNIT_H

#include "symbolicator/index/builder.h"

enum { COLUMN_MAX = UINT16_MAX };
static const uint32_t NONE = UINT32_MAX;

/* A node with the file of some of its rows; most nodes have one. The file is the line program's
 * number + 1 until the unit is committed, then that of the index. Rows outside of functions have
 * such a file instead of a variant. */
struct index_variant {
    uint32_t next, file, base_line, record;
    uint32_t twin; /* when it is committed: an earlier one that turned out to be the same */
    bool has_rows;
};

struct index_node_info {
    uint32_t root, variant;
    uint32_t name; /* of an inlined call, in unit_builder.names */
    bool is_used;
    uint64_t low, high; /* its lowest range */
};

struct index_open_range {
    uint64_t high;
    uint32_t node;
};

struct index_local_piece {
    uint64_t start, end;
    uint32_t root, first, n; /* rows */
};

struct index_unit_name {
    uint64_t die;
    struct fz_span place;
    uint32_t pooled; /* when it is committed: in the string pool */
};

struct index_unit_builder {
    struct index_builder *b;
    const struct sym_dwarf_unit *unit;
    uint32_t number;
    struct sym_dwarf_scan scan;
    struct sym_dwarf_lines lines;
    struct sym_dwarf_range *scratch; /* as large as scan.ranges */
    struct index_node_info *infos;
    struct index_variant *variants;
    struct index_row *rows;
    struct index_local_piece *pieces;
    struct index_open_range *open;
    struct index_unit_name *names;
    uint32_t *name_slots; /* open addressing by DIE: place in names + 1 */
    uint32_t *file_map;   /* when it is committed: number in the line program -> file + 1 */
    bool *has_file;       /* by number in the line program */
    struct index_bytes path;
    enum fz_code scan_code, lines_code; /* FZ_OK or MALFORMED */
    struct fz_error scan_error, lines_error;
    uint64_t name_steps;
    size_t n_names, room_names, room_name_slots, name_mask;
    size_t n_variants, n_rows, n_pieces, n_open;
    size_t room_scratch, room_infos, room_variants, room_rows, room_pieces, room_open,
        room_file_map, room_has_file;
    size_t sequence, row; /* where the walk is in the line table */
    size_t unit_range;    /* and in the ranges of the unit */
};

/* What the unit that was read has cost, in bytes of DWARF that were looked at; the same on any
 * number of threads. */
uint64_t index_unit_work(const struct index_unit_builder *u);
/* Bytes that the units committed so far and this one keep until the index is written; likewise. */
uint64_t index_units_memory(const struct index_builder *b, const struct index_unit_builder *u);
/* unit_walk.c; false when the budget is exhausted. */

/* Walk ranges and the line table together in address order: rows, pieces, variants. */
bool index_unit_walk(struct index_unit_builder *u);
void index_unit_sort_ranges(struct index_unit_builder *u);
/* The variant of `node` for code of `file`, made if it is new. */
bool index_unit_variant_find(struct index_unit_builder *u, uint32_t node, uint32_t file,
                             bool has_rows, uint32_t *ret);

/* unit.c: scan unit `i`, run its line program and walk both. What is broken loses only itself
 * and is reported when the unit is committed. */
FZ_MUST_CHECK enum fz_code index_unit_read(struct index_unit_builder *u, size_t i,
                                           struct fz_error *err);
void index_unit_deinit(struct index_unit_builder *u);

/* unit_commit.c: add what was read to the builder. */
FZ_MUST_CHECK enum fz_code index_unit_commit(struct index_unit_builder *u, struct fz_error *err);

#endif
