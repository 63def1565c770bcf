/*
 * One unit's DWARF to pieces, rows and records.
 *
 * The ranges of functions and inlined calls and the rows of the line table are walked together in
 * address order. At each address the innermost node is the one whose range began last; that is how
 * LLVM decides too where ranges overlap. Each change of node or row begins a segment; segments of
 * one function that touch are a piece.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicator/index/builder.h"

enum { COLUMN_MAX = UINT16_MAX, PIECE_SPAN_MAX = 1 << 30, VARIANTS_MAX = 256 };
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

/* In Unix or Windows spelling: cross compilers write both. */
static bool
is_absolute(struct fz_span path)
{
    if (path.len && (path.data[0] == '/' || path.data[0] == '\\'))
        return true;
    return path.len > 2 && path.data[1] == ':' && (path.data[2] == '/' || path.data[2] == '\\');
}

static bool
path_add(struct unit_builder *u, struct fz_span part)
{
    struct bytes *path = &u->path;
    if (part.len == 0)
        return true;
    if (is_absolute(part))
        path->n = 0;
    else if (path->n && path->data[path->n - 1] != '/' && !bytes_add(u->b, path, "/", 1))
        return false;
    return bytes_add(u->b, path, part.data, part.len);
}

/* The file of a line program's file number; 0 if there is none. */
static bool
map_file(struct unit_builder *u, uint32_t number, uint32_t *ret)
{
    *ret = 0;
    if (number > u->lines.n_files)
        return true;
    if (u->file_map[number]) {
        *ret = u->file_map[number] - 1;
        return true;
    }
    struct sym_dwarf_path path;
    u->file_map[number] = 1;
    if (!sym_dwarf_path(&u->lines, u->unit, number, &path) || path.name.len == 0)
        return true;
    u->path.n = 0;
    if (!is_absolute(path.name) && (!path_add(u, path.comp_dir) || !path_add(u, path.include_dir)))
        return false;
    struct fz_span directory = fz_span_make(u->path.data, u->path.n);
    if (!pool_file(u->b, directory, path.name, ret))
        return false;
    u->file_map[number] = *ret + 1;
    return true;
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

static bool
variant_find(struct unit_builder *u, uint32_t node, uint32_t file, bool has_rows, uint32_t *ret)
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

/* Code from `addr` on belongs to `node` and `row` (NULL: no row covers it). */
static bool
add_segment(struct unit_builder *u, uint64_t addr, uint32_t node, const struct sym_dwarf_row *row)
{
    struct segment segment = {.addr = addr, .node = node};
    uint32_t file = 0;
    if (row) {
        if (!map_file(u, row->file, &file))
            return false;
        segment.line = row->line;
        segment.column = row->column > COLUMN_MAX ? 0 : row->column;
    }
    if (node == NONE) {
        segment.variant = file;
    } else {
        if (!variant_find(u, node, file, file != 0, &segment.variant))
            return false;
        struct variant *variant = &u->variants[segment.variant];
        if (segment.line && segment.line < variant->base_line)
            variant->base_line = segment.line;
    }
    struct local_piece *piece = &u->pieces[u->n_pieces - 1];
    if (piece->n) {
        const struct segment *last = &u->segments[u->n_segments - 1];
        if (last->node == node && last->variant == segment.variant && last->line == segment.line &&
            last->column == segment.column)
            return true;
    }
    if (u->n_segments == u->room_segments || !u->segments) {
        struct segment *segments = sym_grow(&u->b->budget, u->segments, &u->room_segments,
                                            u->n_segments + 1, sizeof(*segments));
        if (!segments)
            return false;
        u->segments = segments;
    }
    u->segments[u->n_segments++] = segment;
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
        const struct sym_dwarf_row *row = NULL;
        uint64_t until = end;
        if (sequence && sequence->low <= start) {
            row = lines->rows + sequence->first;
            while (u->row + 1 < sequence->n && row[u->row + 1].addr <= start)
                u->row++;
            until = u->row + 1 < sequence->n ? row[u->row + 1].addr : sequence->high;
            row += u->row;
        } else if (sequence) {
            until = sequence->low;
        }
        if (until > end)
            until = end;
        if ((row || node != NONE) &&
            (!open_piece(u, start, until, root) || !add_segment(u, start, node, row)))
            return false;
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

static void
sort_ranges(struct sym_dwarf_range *ranges, size_t n, struct sym_dwarf_range *scratch)
{
    /* Mostly sorted already: a merge sort that looks first; short runs by insertion. */
    if (n <= 16) {
        for (size_t i = 1; i < n; i++) {
            struct sym_dwarf_range range = ranges[i];
            size_t at = i;
            for (; at > 0 && ranges[at - 1].low > range.low; at--)
                ranges[at] = ranges[at - 1];
            ranges[at] = range;
        }
        return;
    }
    size_t half = n / 2;
    sort_ranges(ranges, half, scratch);
    sort_ranges(ranges + half, n - half, scratch);
    if (ranges[half - 1].low <= ranges[half].low)
        return;
    memcpy(scratch, ranges, half * sizeof(*ranges));
    size_t a = 0, b = half, to = 0;
    while (a < half) {
        if (b < n && ranges[b].low < scratch[a].low)
            ranges[to++] = ranges[b++];
        else
            ranges[to++] = scratch[a++];
    }
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

/* Walk ranges and rows together. */
static bool
walk(struct unit_builder *u)
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

static bool
prepare(struct unit_builder *u)
{
    struct sym_budget *budget = &u->b->budget;
    size_t n = u->scan.n_nodes, n_map = u->lines.n_files + 1;
    struct node_info *infos = sym_grow(budget, u->infos, &u->room_infos, n + 1, sizeof(*infos));
    if (!infos)
        return false;
    u->infos = infos;
    uint32_t *map = sym_grow(budget, u->file_map, &u->room_file_map, n_map, sizeof(*u->file_map));
    if (!map)
        return false;
    u->file_map = map;
    memset(map, 0, n_map * sizeof(*map));
    struct sym_dwarf_range *scratch =
        sym_grow(budget, u->scratch, &u->room_scratch, u->scan.n_ranges + 1, sizeof(*scratch));
    if (!scratch)
        return false;
    u->scratch = scratch;
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = u->scan.nodes[i].parent;
        infos[i] = (struct node_info){.root = parent == NONE ? (uint32_t)i : infos[parent].root,
                                      .variant = NONE,
                                      .low = UINT64_MAX};
    }
    for (size_t i = 0; i < u->scan.n_ranges; i++) {
        const struct sym_dwarf_range *range = &u->scan.ranges[i];
        struct node_info *info = &infos[range->node];
        if (range->low < info->low) {
            info->low = range->low;
            info->high = range->high;
        }
    }
    sort_ranges(u->scan.ranges, u->scan.n_ranges, u->scratch);
    u->n_variants = u->n_segments = u->n_pieces = 0;
    u->sequence = u->row = u->unit_range = 0;
    return true;
}

/* Bitcode builds replace names by __hidden#12_ until a symbol map is applied. */
static bool
is_hidden(struct fz_span name)
{
    struct fz_span head;
    size_t skip = name.len > 1 && name.data[0] == '_' && name.data[1] == '_' ? 1 : 0;
    return fz_span_sub(name, skip, 8, &head) && fz_span_is(head, "_hidden#");
}

/* Fill in who calls the inlined node and from where. */
static bool
set_caller(struct unit_builder *u, const struct sym_dwarf_node *node, struct record *record)
{
    record->is_inlined = true;
    record->call_line = node->call_line;
    record->call_column = node->call_column > COLUMN_MAX ? 0 : node->call_column;
    if (!map_file(u, node->call_file, &record->call_file))
        return false;
    uint32_t chosen = u->infos[node->parent].variant;
    for (uint32_t at = chosen; at != NONE; at = u->variants[at].next) {
        if (u->variants[at].has_rows && u->variants[at].file == record->call_file)
            chosen = at;
    }
    record->caller = u->variants[chosen].record;
    record->caller_file = u->variants[chosen].file;
    return true;
}

/*
 * The name of a function with its own frame, at `start`.
 *
 * Compilers leave the linkage name out of constructors, lambdas, internal functions and clones, and
 * at times name a function before its final name is known; what the symbol table says of the very
 * start is then the better name, and the one that LLVM shows. Of several symbols the one that DWARF
 * agrees with is taken. Names that a bitcode build hid in the symbol table only are no better.
 */
static bool
function_name(struct builder *b, uint64_t die, uint64_t start, uint32_t *ret)
{
    struct sym_dwarf_name found;
    sym_dwarf_name(b->dwarf, die, &b->name_steps, &found);
    struct fz_span name = found.linkage.len ? found.linkage : found.plain;
    struct fz_span symbol = symbol_name_at(b, start, name);
    if (symbol.len && (name.len == 0 || !is_hidden(symbol) || is_hidden(name))) {
        uint32_t other;
        if (found.linkage.len && !fz_span_equal(symbol, name) &&
            (!pool_string(b, name, &other) || !alias_add(b, start, other)))
            return false;
        name = symbol;
    }
    return pool_string(b, name, ret);
}

static bool
add_records(struct unit_builder *u, uint32_t n)
{
    const struct sym_dwarf_node *node = &u->scan.nodes[n];
    struct node_info *info = &u->infos[n];
    struct record record = {.source = SYM_SOURCE_DWARF};
    uint32_t variant;
    if (info->variant == NONE && !variant_find(u, n, 0, false, &variant))
        return false;
    if (node->parent != NONE) {
        u->b->stats.n_inlines++;
        if (!pool_name(u->b, node->origin, &record.name) || !set_caller(u, node, &record))
            return false;
    } else {
        struct function function = {.start = info->low, .size = info->high - info->low};
        u->b->stats.n_functions++;
        if (!function_name(u->b, node->die, info->low, &function.name))
            return false;
        record.name = function.name;
        record.start = function.start;
        record.size = function.size;
        if (!function_add(u->b, &function, &info->root)) /* from here on the function's number */
            return false;
    }
    for (uint32_t at = info->variant; at != NONE; at = u->variants[at].next) {
        struct variant *v = &u->variants[at];
        if (v->base_line == UINT32_MAX)
            v->base_line = 1;
        record.file = v->file;
        record.base_line = v->base_line;
        record.has_rows = v->has_rows;
        if (!record_add(u->b, &record, &v->record))
            return false;
    }
    return true;
}

static bool
add_piece(struct unit_builder *u, const struct local_piece *local)
{
    struct builder *b = u->b;
    bool is_bare = local->root == NONE;
    struct piece piece = {.origin = local->start,
                          .start = local->start,
                          .end = local->end,
                          .first_row = (uint32_t)(is_bare ? b->n_bare_rows : b->n_rows),
                          .n_rows = local->n,
                          .function = is_bare ? NO_FUNCTION : u->infos[local->root].root,
                          .unit = u->number};
    for (uint32_t i = 0; i < local->n; i++) {
        const struct segment *segment = &u->segments[local->first + i];
        uint32_t offset = (uint32_t)(segment->addr - local->start);
        if (is_bare) {
            struct bare_row row = {.offset = offset,
                                   .file = segment->variant,
                                   .line = segment->line,
                                   .column = segment->column};
            if (!bare_row_add(b, &row))
                return false;
            continue;
        }
        const struct variant *variant = &u->variants[segment->variant];
        struct row row = {.offset = offset,
                          .record = variant->record,
                          .line_code = segment->line && variant->has_rows
                                           ? segment->line - variant->base_line + 1
                                           : 0,
                          .column = segment->column};
        if (!row_add(b, &row))
            return false;
    }
    return is_bare ? bare_piece_add(b, &piece) : piece_add(b, &piece);
}

static bool
build_unit(struct unit_builder *u)
{
    if (!prepare(u) || !walk(u))
        return false;
    for (size_t i = 0; i < u->scan.n_nodes; i++) {
        if (u->infos[i].is_used && !add_records(u, (uint32_t)i))
            return false;
    }
    for (size_t i = 0; i < u->n_pieces; i++) {
        if (!add_piece(u, &u->pieces[i]))
            return false;
    }
    return true;
}

/* Scan one unit; what is broken in it is counted and the rest used. */
static enum fz_code
read_unit(struct unit_builder *u, size_t i, struct fz_error *err)
{
    struct builder *b = u->b;
    struct fz_error why;
    u->unit = sym_dwarf_unit(b->dwarf, i);
    u->number = (uint32_t)i;
    b->stats.n_units++;
    if (u->unit->is_bad) {
        b->stats.n_bad_units++;
        return FZ_OK;
    }
    if (b->stats.min_dwarf_version == 0 || u->unit->version < b->stats.min_dwarf_version)
        b->stats.min_dwarf_version = u->unit->version;
    if (u->unit->version > b->stats.max_dwarf_version)
        b->stats.max_dwarf_version = u->unit->version;
    enum fz_code code = sym_dwarf_scan_unit(b->dwarf, i, &b->budget, &u->scan, &why);
    if (code == FZ_E_MALFORMED) {
        b->stats.n_bad_units++;
        sym_problem_add(b->problems, "bad_unit", "%s", why.text);
    } else if (code != FZ_OK) {
        return fz_fail(err, code, "%s", why.text);
    }
    code = sym_dwarf_lines_unit(b->dwarf, i, &b->budget, &u->lines, &why);
    if (code == FZ_E_MALFORMED) {
        b->stats.n_bad_line_programs++;
        sym_problem_add(b->problems, "bad_line_program", "%s", why.text);
    } else if (code != FZ_OK) {
        return fz_fail(err, code, "%s", why.text);
    }
    b->stats.n_lines += u->lines.n_rows;
    return build_unit(u) ? FZ_OK : sym_grow_fail(&b->budget, err);
}

enum fz_code
units_build(struct builder *b, struct fz_error *err)
{
    struct unit_builder u = {.b = b};
    u.scan.code_low = u.lines.code_low = b->code_low;
    u.scan.code_high = u.lines.code_high = b->code_high;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < sym_dwarf_n_units(b->dwarf) && code == FZ_OK; i++)
        code = read_unit(&u, i, err);
    sym_dwarf_scan_deinit(&u.scan, &b->budget);
    sym_dwarf_lines_deinit(&u.lines, &b->budget);
    sym_grow_free(&b->budget, u.scratch, u.room_scratch, sizeof(*u.scratch));
    sym_grow_free(&b->budget, u.infos, u.room_infos, sizeof(*u.infos));
    sym_grow_free(&b->budget, u.variants, u.room_variants, sizeof(*u.variants));
    sym_grow_free(&b->budget, u.segments, u.room_segments, sizeof(*u.segments));
    sym_grow_free(&b->budget, u.pieces, u.room_pieces, sizeof(*u.pieces));
    sym_grow_free(&b->budget, u.open, u.room_open, sizeof(*u.open));
    sym_grow_free(&b->budget, u.file_map, u.room_file_map, sizeof(*u.file_map));
    sym_grow_free(&b->budget, u.path.data, u.path.room, 1);
    return code;
}
