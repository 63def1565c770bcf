/*
 * Ranges and rows to segments.
 *
 * The ranges of functions and inlined calls and the rows of the line table are walked together in
 * address order. At each address the innermost node is the one whose range began last; that is how
 * LLVM decides too where ranges overlap. Each change of node or row begins a segment; segments of
 * one function that touch are a piece.
 */
#include <string.h>

#include "symbolicator/index/unit.h"

enum { PIECE_SPAN_MAX = 1 << 30, VARIANTS_MAX = 256 };

/* How the walk names the file that a line program gives this number: number + 1, or 0 if there is
 * none. */
static uint32_t
local_file(const struct unit_builder *u, uint32_t number)
{
    struct sym_dwarf_path path;
    bool is_known =
        number != UINT32_MAX && sym_dwarf_path(&u->lines, u->unit, number, &path) && path.name.len;
    return is_known ? number + 1 : 0;
}

/* Mark the node and those it is inlined into. */
static void
use_node(struct unit_builder *u, uint32_t node)
{
    while (node != NONE && !u->infos[node].is_used) {
        u->infos[node].is_used = true;
        node = u->scan.nodes[node].parent;
    }
}

bool
unit_variant_find(struct unit_builder *u, uint32_t node, uint32_t file, bool has_rows,
                  uint32_t *ret)
{
    struct node_info *info = &u->infos[node];
    unsigned n = 0;
    for (uint32_t at = info->variant; at != NONE; at = u->variants[at].next) {
        /* No real function has code of so many files. */
        if ((u->variants[at].file == file && u->variants[at].has_rows == has_rows) ||
            ++n == VARIANTS_MAX) {
            *ret = at;
            return true;
        }
    }
    struct variant *variants = sym_grow(&u->b->budget, u->variants, &u->room_variants,
                                        u->n_variants + 1, sizeof(*variants));
    if (!variants)
        return false;
    u->variants = variants;
    variants[u->n_variants] = (struct variant){
        .next = info->variant, .file = file, .base_line = UINT32_MAX, .has_rows = has_rows};
    info->variant = (uint32_t)u->n_variants;
    *ret = (uint32_t)u->n_variants++;
    use_node(u, node);
    return true;
}

/* What a row says, for code of `node`; NULL: no row covers it. */
static bool
make_segment(struct unit_builder *u, uint32_t node, const struct sym_dwarf_row *row,
             struct segment *ret)
{
    uint32_t file = 0;
    *ret = (struct segment){.node = node};
    if (row) {
        file = local_file(u, row->file);
        ret->line = row->line;
        ret->column = row->column > COLUMN_MAX ? 0 : row->column;
    }
    ret->variant = file;
    return node == NONE || unit_variant_find(u, node, file, file != 0, &ret->variant);
}

/* From `segment->addr` on the code is that of the segment; part of the last piece. */
static inline bool
add_segment(struct unit_builder *u, const struct segment *segment)
{
    struct local_piece *piece = &u->pieces[u->n_pieces - 1];
    if (segment->node != NONE) {
        struct variant *variant = &u->variants[segment->variant];
        if (segment->line && segment->line < variant->base_line)
            variant->base_line = segment->line;
    }
    if (piece->n) {
        const struct segment *last = &u->segments[u->n_segments - 1];
        if (last->node == segment->node && last->variant == segment->variant &&
            last->line == segment->line && last->column == segment->column)
            return true;
    }
    if (u->n_segments == u->room_segments || !u->segments) {
        struct segment *segments = sym_grow(&u->b->budget, u->segments, &u->room_segments,
                                            u->n_segments + 1, sizeof(*segments));
        if (!segments)
            return false;
        u->segments = segments;
    }
    u->segments[u->n_segments++] = *segment;
    piece->n++;
    return true;
}

/* Make [start, end) part of the last piece or begin one. */
static bool
open_piece(struct unit_builder *u, uint64_t start, uint64_t end, uint32_t root)
{
    struct local_piece *last = u->n_pieces ? &u->pieces[u->n_pieces - 1] : NULL;
    if (last && last->root == root && last->end == start && end - last->start <= PIECE_SPAN_MAX) {
        last->end = end;
        return true;
    }
    struct local_piece *pieces =
        sym_grow(&u->b->budget, u->pieces, &u->room_pieces, u->n_pieces + 1, sizeof(*pieces));
    if (!pieces || u->n_segments >= UINT32_MAX - 1)
        return false;
    u->pieces = pieces;
    pieces[u->n_pieces++] = (struct local_piece){
        .start = start, .end = end, .root = root, .first = (uint32_t)u->n_segments};
    return true;
}

/* Add [start, end) of `node`, which the current sequence covers, row by row. */
static bool
add_rows(struct unit_builder *u, const struct sym_dwarf_sequence *sequence, uint64_t start,
         uint64_t end, uint32_t node)
{
    const struct sym_dwarf_row *rows = u->lines.rows + sequence->first;
    struct segment segment = {0};
    uint32_t file = 0;
    bool is_first = true;
    while (u->row + 1 < sequence->n && rows[u->row + 1].addr <= start)
        u->row++;
    for (;;) {
        const struct sym_dwarf_row *row = &rows[u->row];
        /* Most rows differ from the one before in line and column only. */
        if (is_first || row->file != file) {
            if (!make_segment(u, node, row, &segment))
                return false;
            file = row->file;
        }
        segment.addr = is_first ? start : row->addr;
        segment.line = row->line;
        segment.column = row->column > COLUMN_MAX ? 0 : row->column;
        is_first = false;
        if (!add_segment(u, &segment))
            return false;
        if (u->row + 1 >= sequence->n || rows[u->row + 1].addr >= end)
            return true;
        u->row++;
    }
}

/* All addresses of [start, end) belong to `node`: cut at the rows of the line table. */
static bool
add_interval(struct unit_builder *u, uint64_t start, uint64_t end, uint32_t node)
{
    const struct sym_dwarf_lines *lines = &u->lines;
    uint32_t root = node == NONE ? NONE : u->infos[node].root;
    while (start < end) {
        while (u->sequence < lines->n_sequences && lines->sequences[u->sequence].high <= start) {
            u->sequence++;
            u->row = 0;
        }
        const struct sym_dwarf_sequence *sequence =
            u->sequence < lines->n_sequences ? &lines->sequences[u->sequence] : NULL;
        bool is_covered = sequence && sequence->low <= start;
        uint64_t until = !sequence ? end : is_covered ? sequence->high : sequence->low;
        if (until > end)
            until = end;
        if (is_covered) {
            if (!open_piece(u, start, until, root) || !add_rows(u, sequence, start, until, node))
                return false;
        } else if (node != NONE) {
            struct segment segment;
            if (!open_piece(u, start, until, root) || !make_segment(u, node, NULL, &segment))
                return false;
            segment.addr = start;
            if (!add_segment(u, &segment))
                return false;
        }
        start = until;
    }
    return true;
}

/* No function covers [start, end). Rows count there if the unit claims the addresses: tools leave
 * rows of dropped functions behind, that end in somebody else's code. */
static bool
add_bare_interval(struct unit_builder *u, uint64_t start, uint64_t end)
{
    const struct sym_dwarf_scan *scan = &u->scan;
    if (scan->n_unit_ranges == 0)
        return add_interval(u, start, end, NONE);
    for (; u->unit_range < scan->n_unit_ranges; u->unit_range++) {
        const struct sym_dwarf_range *range = &scan->unit_ranges[u->unit_range];
        if (range->low >= end)
            return true;
        if (range->low > start)
            start = range->low;
        if (start < range->high &&
            !add_interval(u, start, range->high < end ? range->high : end, NONE))
            return false;
        if (range->high >= end)
            return true;
        if (range->high > start)
            start = range->high;
    }
    return true;
}

/* One pass of a radix sort, by the byte of `low - base` at `shift`. */
static void
sort_pass(const struct sym_dwarf_range *from, size_t n, uint64_t base, unsigned shift,
          struct sym_dwarf_range *to)
{
    size_t places[257] = {0};
    for (size_t i = 0; i < n; i++)
        places[((from[i].low - base) >> shift & 255) + 1]++;
    for (size_t i = 1; i < 256; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < n; i++)
        to[places[(from[i].low - base) >> shift & 255]++] = from[i];
}

/* Stable: ranges that begin together stay in the order of their nodes, callers first. */
void
unit_sort_ranges(struct sym_dwarf_range *ranges, size_t n, struct sym_dwarf_range *scratch)
{
    uint64_t lowest = UINT64_MAX, highest = 0;
    bool is_sorted = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t low = ranges[i].low;
        is_sorted = is_sorted && low >= highest;
        lowest = low < lowest ? low : lowest;
        highest = low > highest ? low : highest;
    }
    if (is_sorted)
        return;
    struct sym_dwarf_range *from = ranges, *to = scratch;
    for (unsigned shift = 0; shift < 64 && (highest - lowest) >> shift; shift += 8) {
        sort_pass(from, n, lowest, shift, to);
        struct sym_dwarf_range *swap = from;
        from = to;
        to = swap;
    }
    if (from != ranges)
        memcpy(ranges, from, n * sizeof(*ranges));
}

static bool
push_range(struct unit_builder *u, const struct sym_dwarf_range *range)
{
    struct open_range *open =
        sym_grow(&u->b->budget, u->open, &u->room_open, u->n_open + 1, sizeof(*open));
    if (!open)
        return false;
    u->open = open;
    open[u->n_open++] = (struct open_range){.high = range->high, .node = range->node};
    return true;
}

bool
unit_walk(struct unit_builder *u)
{
    const struct sym_dwarf_range *ranges = u->scan.ranges;
    size_t n = u->scan.n_ranges, i = 0;
    uint64_t at = u->b->code_low, limit = u->b->code_high;
    u->n_open = 0;
    while (at < limit) {
        while (u->n_open && u->open[u->n_open - 1].high <= at)
            u->n_open--;
        uint64_t next = i < n && ranges[i].low < limit ? ranges[i].low : limit;
        uint32_t node = NONE;
        uint64_t until = next;
        if (u->n_open) {
            node = u->open[u->n_open - 1].node;
            if (u->open[u->n_open - 1].high < next)
                until = u->open[u->n_open - 1].high;
        }
        if (until > at &&
            !(node == NONE ? add_bare_interval(u, at, until) : add_interval(u, at, until, node)))
            return false;
        at = until;
        for (; i < n && ranges[i].low == at; i++) {
            if (!push_range(u, &ranges[i]))
                return false;
        }
    }
    return true;
}
