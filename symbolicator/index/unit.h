/* One unit while its DWARF becomes pieces: unit_walk.c fills in segments and variants, unit.c makes
 * records and rows of them. */
#ifndef INDEX_UNIT_H
#define INDEX_UNIT_H

#include "symbolicator/index/builder.h"

enum { COLUMN_MAX = UINT16_MAX };
static const uint32_t NONE = UINT32_MAX;

struct segment {
    uint64_t addr;
    uint32_t node; /* NONE: outside of functions */
    uint32_t variant, line, column;
};

/* A node with the file of some of its rows; most nodes have one. */
struct variant {
    uint32_t next, file, base_line, record;
    bool has_rows;
};

struct node_info {
    uint32_t root, variant;
    uint64_t low, high; /* its lowest range */
    bool is_used;
};

struct open_range {
    uint64_t high;
    uint32_t node;
};

struct local_piece {
    uint64_t start, end;
    uint32_t root, first, n; /* segments */
};

struct unit_builder {
    struct builder *b;
    const struct sym_dwarf_unit *unit;
    uint32_t number;
    struct sym_dwarf_scan scan;
    struct sym_dwarf_lines lines;
    struct sym_dwarf_range *scratch;
    struct node_info *infos;
    struct variant *variants;
    struct segment *segments;
    struct local_piece *pieces;
    struct open_range *open;
    uint32_t *file_map; /* number in the line program -> file + 1 */
    struct bytes path;
    size_t n_variants, n_segments, n_pieces, n_open;
    size_t room_scratch, room_infos, room_variants, room_segments, room_pieces, room_open,
        room_file_map;
    size_t sequence, row; /* where the walk is in the line table */
    size_t unit_range;    /* and in the ranges of the unit */
};

/* unit_walk.c; false when the budget is exhausted. */

/* Walk ranges and rows together in address order: segments, pieces, variants. */
bool unit_walk(struct unit_builder *u);
void unit_sort_ranges(struct sym_dwarf_range *ranges, size_t n, struct sym_dwarf_range *scratch);
/* The file of a line program's file number; 0 if there is none. */
bool unit_map_file(struct unit_builder *u, uint32_t number, uint32_t *ret);
/* The variant of `node` for code of `file`, made if it is new. */
bool unit_variant_find(struct unit_builder *u, uint32_t node, uint32_t file, bool has_rows,
                       uint32_t *ret);

#endif
