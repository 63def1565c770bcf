/* One unit's DWARF to pieces, rows and records: what the walk found gets its names. */
#include <stdlib.h>
#include <string.h>

#include "symbolicator/index/unit.h"

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
    unit_sort_ranges(u->scan.ranges, u->scan.n_ranges, u->scratch);
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
    if (!unit_map_file(u, node->call_file, &record->call_file))
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
    if (info->variant == NONE && !unit_variant_find(u, n, 0, false, &variant))
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

/* The rows of a piece without a function wait for a symbol. */
static bool
add_bare_rows(struct unit_builder *u, const struct local_piece *local)
{
    for (uint32_t i = 0; i < local->n; i++) {
        const struct segment *segment = &u->segments[local->first + i];
        struct bare_row row = {.offset = (uint32_t)(segment->addr - local->start),
                               .file = segment->variant,
                               .line = segment->line,
                               .column = segment->column};
        if (!bare_row_add(u->b, &row))
            return false;
    }
    return true;
}

static bool
add_rows(struct unit_builder *u, const struct local_piece *local)
{
    struct row *rows = rows_reserve(u->b, local->n);
    if (!rows)
        return false;
    for (uint32_t i = 0; i < local->n; i++) {
        const struct segment *segment = &u->segments[local->first + i];
        const struct variant *variant = &u->variants[segment->variant];
        bool has_line = segment->line && variant->has_rows;
        rows[i] = (struct row){.offset = (uint32_t)(segment->addr - local->start),
                               .record = variant->record,
                               .line_code = has_line ? segment->line - variant->base_line + 1 : 0,
                               .column = segment->column};
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
    if (is_bare)
        return add_bare_rows(u, local) && bare_piece_add(b, &piece);
    return add_rows(u, local) && piece_add(b, &piece);
}

static bool
build_unit(struct unit_builder *u)
{
    if (!prepare(u) || !unit_walk(u))
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
