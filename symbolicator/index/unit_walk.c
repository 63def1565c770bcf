/*
 * Ranges and the line table to rows.
 *
 * The ranges of functions and inlined calls and the rows of the line table are walked together in
 * address order. At each address the innermost node is the one whose range began last; that is how
 * LLVM decides too where ranges overlap. Each change of node or line begins a row; rows of one
 * function that touch are a piece.
 */
#include <stdlib.h>

#include "symbolicator/index/unit.h"

enum { PIECE_SPAN_MAX = 1 << 30, VARIANTS_MAX = 256, SORT_BITS = 11 };

/* How the walk names the file that a line program gives this number: number + 1, or 0 if there is
 * none. */
static uint32_t
local_file(const struct index_unit_builder *u, uint32_t number)
{
    return number <= u->lines.n_files && u->has_file[number] ? number + 1 : 0;
}

/* Mark the node and those it is inlined into. */
static void
use_node(struct index_unit_builder *u, uint32_t node)
{
    /* A node that is marked has marked its callers too. */
    while (node != NONE && !u->infos[node].is_used) {
        u->infos[node].is_used = true;
        node = u->scan.nodes[node].parent;
    }
}

bool
index_unit_variant_find(struct index_unit_builder *u, uint32_t node, uint32_t file, bool has_rows,
                        uint32_t *ret)
{
    struct index_node_info *info = &u->infos[node];
    unsigned n = 0;
    for (uint32_t at = info->variant; at != NONE; at = u->variants[at].next) {
        /* No real function has code of so many files. */
        if ((u->variants[at].file == file && u->variants[at].has_rows == has_rows) ||
            ++n == VARIANTS_MAX) {
            *ret = at;
            return true;
        }
    }
    struct index_variant *variants = fz_list_grow(&u->b->budget, u->variants, &u->room_variants,
                                                  u->n_variants + 1, sizeof(*variants));
    if (!variants)
        return false;
    u->variants = variants;
    variants[u->n_variants] = (struct index_variant){
        .next = info->variant, .file = file, .base_line = UINT32_MAX, .has_rows = has_rows};
    info->variant = (uint32_t)u->n_variants;
    *ret = (uint32_t)u->n_variants++;
    use_node(u, node);
    return true;
}

/* The variant of `node` for rows of the line table's file `number`, or the file itself outside of
 * functions. UINT32_MAX: no row covers the code. */
static bool
find_variant(struct index_unit_builder *u, uint32_t node, uint32_t number, uint32_t *ret)
{
    uint32_t file = *ret = local_file(u, number);
    if (node == NONE)
        return true;
    /* The newest first: rows of one file follow each other. */
    uint32_t at = u->infos[node].variant;
    if (at != NONE && u->variants[at].file == file && u->variants[at].has_rows == (file != 0)) {
        *ret = at;
        return true;
    }
    return index_unit_variant_find(u, node, file, file != 0, ret);
}

/* From `addr` on the code is that of `row`, whose record is a variant and whose line code is a line
 * as yet; part of the last piece. */
static inline bool
add_row(struct index_unit_builder *u, uint64_t addr, struct index_row row)
{
    struct index_local_piece *piece = &u->pieces[u->n_pieces - 1];
    if (piece->root != NONE) {
        struct index_variant *variant = &u->variants[row.record];
        if (row.line_code && row.line_code < variant->base_line)
            variant->base_line = row.line_code;
    }
    if (piece->n) {
        const struct index_row *last = &u->rows[u->n_rows - 1];
        /* No lookup could distinguish the two rows. */
        if (last->record == row.record && last->line_code == row.line_code &&
            last->column == row.column)
            return true;
    }
    if (u->n_rows == u->room_rows || !u->rows) {
        struct index_row *rows =
            fz_list_grow(&u->b->budget, u->rows, &u->room_rows, u->n_rows + 1, sizeof(*rows));
        if (!rows)
            return false;
        u->rows = rows;
    }
    row.offset = (uint32_t)(addr - piece->start);
    u->rows[u->n_rows++] = row;
    piece->n++;
    return true;
}

/* Make [start, end) part of the last piece or begin one. */
static bool
open_piece(struct index_unit_builder *u, uint64_t start, uint64_t end, uint32_t root)
{
    struct index_local_piece *last = u->n_pieces ? &u->pieces[u->n_pieces - 1] : NULL;
    /* One function in one run is one piece; fewer pieces sort faster. */
    if (last && last->root == root && last->end == start && end - last->start <= PIECE_SPAN_MAX) {
        last->end = end;
        return true;
    }
    struct index_local_piece *pieces =
        fz_list_grow(&u->b->budget, u->pieces, &u->room_pieces, u->n_pieces + 1, sizeof(*pieces));
    if (!pieces || u->n_rows >= UINT32_MAX - 1)
        return false;
    u->pieces = pieces;
    pieces[u->n_pieces++] = (struct index_local_piece){
        .start = start, .end = end, .root = root, .first = (uint32_t)u->n_rows};
    return true;
}

/* Add [start, end) of `node`, which the current sequence covers, row by row. */
static bool
add_rows(struct index_unit_builder *u, const struct sym_dwarf_sequence *sequence, uint64_t start,
         uint64_t end, uint32_t node)
{
    const struct sym_dwarf_row *lines = u->lines.rows + sequence->first, *line;
    uint64_t base = sequence->base, addr = start;
    struct index_row row = {0};
    uint32_t file = 0;
    /* Addresses only grow, so the search never goes back. */
    while (u->row + 1 < sequence->n && base + lines[u->row + 1].offset <= start)
        u->row++;
    for (;;) {
        line = &lines[u->row];
        /* Most rows differ from the one before in line and column only. */
        if (addr == start || line->file != file) {
            if (!find_variant(u, node, line->file, &row.record))
                return false;
            file = line->file;
        }
        row.line_code = line->line;
        row.column = line->column;
        if (!add_row(u, addr, row))
            return false;
        if (u->row + 1 >= sequence->n || base + line[1].offset >= end)
            return true;
        u->row++;
        addr = base + line[1].offset;
    }
}

/* All addresses of [start, end) belong to `node`: cut at the rows of the line table. */
static bool
add_interval(struct index_unit_builder *u, uint64_t start, uint64_t end, uint32_t node)
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
        if (until - start > PIECE_SPAN_MAX) /* offsets of rows have 32 bits */
            until = start + PIECE_SPAN_MAX;
        if (is_covered) {
            if (!open_piece(u, start, until, root) || !add_rows(u, sequence, start, until, node))
                return false;
        } else if (node != NONE) {
            struct index_row row = {0};
            if (!open_piece(u, start, until, root) ||
                !find_variant(u, node, UINT32_MAX, &row.record) || !add_row(u, start, row))
                return false;
        }
        start = until;
    }
    return true;
}

/* No function covers [start, end). Rows count there if the unit claims the addresses: tools keep
 * rows of dropped functions, which end up in the code of other functions. */
static bool
add_bare_interval(struct index_unit_builder *u, uint64_t start, uint64_t end)
{
    const struct sym_dwarf_scan *scan = &u->scan;
    /* Old producers give the unit no ranges: all its rows count. */
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

/* One pass of a radix sort, by the bits of the keys from `shift` on. */
static void
sort_pass(const uint64_t *from, size_t n, unsigned shift, uint64_t *to)
{
    enum { N = 1 << SORT_BITS };
    uint32_t places[N + 1] = {0};
    for (size_t i = 0; i < n; i++)
        places[(from[i] >> shift & (N - 1)) + 1]++;
    for (size_t i = 1; i < N; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < n; i++)
        to[places[from[i] >> shift & (N - 1)]++] = from[i];
}

static int
compare_range(const void *a, const void *b)
{
    const struct sym_dwarf_range *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/*
 * Stable: ranges that begin together stay in the order of their nodes, callers first. What is
 * sorted are keys of 8 bytes, the distance from the lowest and the place; they use the memory of
 * the rows, which are made later.
 */
void
index_unit_sort_ranges(struct index_unit_builder *u)
{
    struct sym_dwarf_range *ranges = u->scan.ranges;
    size_t n = u->scan.n_ranges;
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
    if (highest - lowest > UINT32_MAX || n > UINT32_MAX) { /* no code of one unit is so large */
        qsort(ranges, n, sizeof(*ranges), compare_range);
        return;
    }
    uint64_t *from = (uint64_t *)(void *)u->rows, *to = from + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (ranges[i].low - lowest) << 32 | i;
    for (unsigned shift = 0; shift < 32 && (highest - lowest) >> shift; shift += SORT_BITS) {
        sort_pass(from, n, 32 + shift, to);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    struct sym_dwarf_range *sorted = u->scratch;
    for (size_t i = 0; i < n; i++)
        sorted[i] = ranges[(uint32_t)from[i]];
    size_t room = u->scan.room_ranges;
    /* The arrays change places instead of being copied back. */
    u->scan.ranges = sorted;
    u->scan.room_ranges = u->room_scratch;
    u->scratch = ranges;
    u->room_scratch = room;
}

static bool
push_range(struct index_unit_builder *u, const struct sym_dwarf_range *range)
{
    struct index_open_range *open =
        fz_list_grow(&u->b->budget, u->open, &u->room_open, u->n_open + 1, sizeof(*open));
    if (!open)
        return false;
    u->open = open;
    open[u->n_open++] = (struct index_open_range){.high = range->high, .node = range->node};
    return true;
}

bool
index_unit_walk(struct index_unit_builder *u)
{
    const struct sym_dwarf_range *ranges = u->scan.ranges;
    size_t n = u->scan.n_ranges, i = 0;
    uint64_t at = u->b->code_low, limit = u->b->code_high;
    u->n_open = 0;
    while (at < limit) {
        /* Only from the top: an outer range that has ended under an inner one goes when that one
         * does. */
        while (u->n_open && u->open[u->n_open - 1].high <= at)
            u->n_open--;
        uint64_t next = i < n && ranges[i].low < limit ? ranges[i].low : limit;
        uint32_t node = NONE;
        uint64_t until = next;
        if (u->n_open) {
            node = u->open[u->n_open - 1].node;
            /* An inner range that ends first gives the code back to its caller. */
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
