/*
 * What a worker read of a unit, added to the index: strings and files pooled, records, rows and
 * pieces made. Units are added one at a time and in their order, so that the index is the same
 * however many threads read them.
 */
#include <string.h>

#include "symbolicator/index/unit.h"
#include "symbolicator/macho/symbol_map.h"

/* In Unix or Windows spelling: cross compilers write both. */
static bool
is_absolute(struct fz_span path)
{
    if (path.len && (path.data[0] == '/' || path.data[0] == '\\'))
        return true;
    return path.len > 2 && path.data[1] == ':' && (path.data[2] == '/' || path.data[2] == '\\');
}

static bool
path_add(struct index_unit_builder *u, struct fz_span part)
{
    struct index_bytes *path = &u->path;
    part = sym_symbol_map_name(u->b->symbol_map, part);
    if (part.len == 0)
        return true;
    if (is_absolute(part))
        path->n = 0;
    else if (path->n && path->data[path->n - 1] != '/' && !index_bytes_add(u->b, path, "/", 1))
        return false;
    return index_bytes_add(u->b, path, part.data, part.len);
}

/* The file of a line program's file number; 0 if there is none. */
static bool
pool_unit_file(struct index_unit_builder *u, uint32_t number, uint32_t *ret)
{
    *ret = 0;
    /* A number that the header does not list. */
    if (number > u->lines.n_files)
        return true;
    if (u->file_map[number]) {
        *ret = u->file_map[number] - 1;
        return true;
    }
    struct sym_dwarf_path path;
    /* Remembered as file 0 first: a number without a name is looked up once, too. */
    u->file_map[number] = 1;
    if (!sym_dwarf_path(&u->lines, u->unit, number, &path) || path.name.len == 0)
        return true;
    u->path.n = 0;
    path.name = sym_symbol_map_name(u->b->symbol_map, path.name);
    if (!is_absolute(path.name) && (!path_add(u, path.comp_dir) || !path_add(u, path.include_dir)))
        return false;
    struct fz_span directory = fz_span_make(u->path.data, u->path.n);
    if (!index_pool_file(u->b, directory, path.name, ret))
        return false;
    u->file_map[number] = *ret + 1;
    return true;
}

/* Names of inlined calls. */
static bool
pool_names(struct index_unit_builder *u)
{
    struct index_builder *b = u->b;
    for (size_t i = 0; i < u->n_names; i++) {
        struct index_unit_name *name = &u->names[i];
        /* By its place first: most names were pooled by an earlier unit. */
        if (!index_pool_place(b, name->place, &name->pooled))
            return false;
        if (name->pooled || name->place.len == 0)
            continue;
        struct sym_dwarf_name found;
        sym_dwarf_name(b->dwarf, name->die, &b->name_steps, &found);
        if (!index_pool_string(b, found.linkage.len ? found.linkage : found.plain, &name->pooled))
            return false;
    }
    return true;
}

/* Files of the unit become those of the index; line programs may give two numbers to one file. */
static bool
pool_variants(struct index_unit_builder *u, const struct index_node_info *info)
{
    for (uint32_t at = info->variant; at != NONE; at = u->variants[at].next) {
        struct index_variant *v = &u->variants[at];
        v->twin = NONE;
        if (v->file && !pool_unit_file(u, v->file - 1, &v->file))
            return false;
        for (uint32_t k = info->variant; k != at; k = u->variants[k].next) {
            struct index_variant *other = &u->variants[k];
            if (other->twin != NONE || other->file != v->file || other->has_rows != v->has_rows)
                continue;
            /* One record serves both, with the lower base line. */
            v->twin = k;
            if (v->base_line < other->base_line)
                other->base_line = v->base_line;
            break;
        }
    }
    return true;
}

/* Fill in who calls the inlined node and from where. */
static bool
set_caller(struct index_unit_builder *u, const struct sym_dwarf_node *node,
           struct index_record *record)
{
    record->is_inlined = true;
    record->call_line = node->call_line;
    /* Columns have 16 bits in the index; 0 says unknown, a wrong column would mislead. */
    record->call_column = node->call_column > COLUMN_MAX ? 0 : node->call_column;
    if (!pool_unit_file(u, node->call_file, &record->call_file))
        return false;
    /* The caller's record of the file that the call is in: then the file is not stored again. */
    uint32_t chosen = u->infos[node->parent].variant;
    for (uint32_t at = chosen; at != NONE; at = u->variants[at].next) {
        if (u->variants[at].has_rows && u->variants[at].file == record->call_file)
            chosen = at;
    }
    record->caller = u->variants[chosen].record;
    record->has_call_file = record->call_file != u->variants[chosen].file;
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
function_name(struct index_builder *b, uint64_t die, uint64_t start, uint32_t *ret)
{
    struct sym_dwarf_name found;
    sym_dwarf_name(b->dwarf, die, &b->name_steps, &found);
    struct fz_span name = found.linkage.len ? found.linkage : found.plain;
    name = sym_symbol_map_name(b->symbol_map, name);
    struct fz_span symbol = index_symbol_name_at(b, start, name);
    if (symbol.len &&
        (name.len == 0 || !sym_symbol_map_is_hidden(symbol) || sym_symbol_map_is_hidden(name))) {
        uint32_t other;
        if (found.linkage.len && !fz_span_equal(symbol, name) &&
            (!index_pool_string(b, name, &other) || !index_alias_add(b, start, other)))
            return false;
        name = symbol;
    }
    return index_pool_string(b, name, ret);
}

static bool
add_records(struct index_unit_builder *u, uint32_t n)
{
    const struct sym_dwarf_node *node = &u->scan.nodes[n];
    struct index_node_info *info = &u->infos[n];
    struct index_record record = {.source = SYM_SOURCE_DWARF};
    uint32_t variant;
    /* Without rows of its own it is still the caller of one that has rows. */
    if (info->variant == NONE && !index_unit_variant_find(u, n, 0, false, &variant))
        return false;
    if (!pool_variants(u, info))
        return false;
    if (node->parent != NONE) {
        u->b->stats.n_inlines++;
        record.name = u->names[info->name].pooled;
        if (!set_caller(u, node, &record))
            return false;
    } else {
        struct index_function function = {.start = info->low, .size = info->high - info->low};
        u->b->stats.n_functions++;
        if (!function_name(u->b, node->die, info->low, &function.name))
            return false;
        record.name = function.name;
        record.start = function.start - u->b->code_low;
        record.size = function.size;
        record.die = (uint32_t)node->die;
        record.die_len = (uint8_t)index_die_len(u->b->info_size);
        if (!index_function_add(u->b, &function,
                                &info->root)) /* from here on the function's number */
            return false;
    }
    for (uint32_t at = info->variant; at != NONE; at = u->variants[at].next) {
        struct index_variant *v = &u->variants[at];
        if (v->twin != NONE) {
            v->record = u->variants[v->twin].record;
            v->base_line = u->variants[v->twin].base_line;
            continue;
        }
        /* No row of it has a line. */
        if (v->base_line == UINT32_MAX)
            v->base_line = 1;
        record.file = v->file;
        record.base_line = v->base_line;
        record.has_rows = v->has_rows;
        if (!index_record_add(u->b, &record, &v->record))
            return false;
    }
    return true;
}

/* The rows of a piece without a function wait for a symbol. */
static bool
add_bare_rows(struct index_unit_builder *u, const struct index_local_piece *local)
{
    for (uint32_t i = 0; i < local->n; i++) {
        const struct index_row *row = &u->rows[local->first + i];
        struct index_bare_row bare = {
            .offset = row->offset, .line = row->line_code, .column = row->column};
        if (row->record && !pool_unit_file(u, row->record - 1, &bare.file))
            return false;
        if (!index_bare_row_add(u->b, &bare))
            return false;
    }
    return true;
}

/* The rows stay where they are. */
static void
commit_rows(struct index_unit_builder *u, const struct index_local_piece *local)
{
    uint32_t offsets = 0;
    for (uint32_t i = 0; i < local->n; i++) {
        struct index_row *row = &u->rows[local->first + i];
        const struct index_variant *variant = &u->variants[row->record];
        uint32_t line = variant->has_rows ? row->line_code : 0;
        row->record = variant->record;
        row->line_code = line ? line - variant->base_line + 1 : 0;
        offsets |= row->offset;
    }
    u->b->row_offsets |= offsets;
    u->b->n_all_rows += local->n;
}

static bool
add_piece(struct index_unit_builder *u, const struct index_local_piece *local)
{
    struct index_builder *b = u->b;
    bool is_bare = local->root == NONE;
    struct index_piece piece = {.origin = local->start,
                                .start = local->start,
                                .end = local->end,
                                .first_row = is_bare ? (uint32_t)b->n_bare_rows : local->first,
                                .n_rows = local->n,
                                .function = is_bare ? NO_FUNCTION : u->infos[local->root].root,
                                .unit = u->number};
    if (!is_bare)
        commit_rows(u, local);
    else if (!add_bare_rows(u, local))
        return false;
    return index_piece_add(b, &piece);
}

static bool
add_unit(struct index_unit_builder *u)
{
    if (!pool_names(u))
        return false;
    for (size_t i = 0; i < u->scan.n_nodes; i++) {
        /* A node whose code other nodes have taken over completely covers no address. */
        if (u->infos[i].is_used && !add_records(u, (uint32_t)i))
            return false;
    }
    for (size_t i = 0; i < u->n_pieces; i++) {
        if (!add_piece(u, &u->pieces[i]))
            return false;
    }
    struct index_row_block *block = &u->b->blocks[u->number];
    /* The rows are handed over and not copied; the builder gets new ones for its next unit. */
    block->rows = fz_list_trim(&u->b->budget, u->rows, &u->room_rows, u->n_rows, sizeof(*u->rows));
    block->room = u->room_rows;
    u->rows = NULL;
    u->room_rows = 0;
    return true;
}

/* What a commit adds to. */
struct commit_counts {
    struct sym_build_stats stats;
    size_t n_pieces, n_bare_pieces, n_bare_rows, n_functions, n_aliases, n_all_rows, n_records;
    uint32_t row_offsets;
};

static struct commit_counts
counts(const struct index_builder *b)
{
    return (struct commit_counts){.stats = b->stats,
                                  .n_pieces = b->n_pieces,
                                  .n_bare_pieces = b->n_bare_pieces,
                                  .n_bare_rows = b->n_bare_rows,
                                  .n_functions = b->n_functions,
                                  .n_aliases = b->n_aliases,
                                  .n_all_rows = b->n_all_rows,
                                  .n_records = b->records.n,
                                  .row_offsets = b->row_offsets};
}

/* As if the unit had not been begun, and its memory is free for what comes after the units. What
 * was pooled stays: nothing refers to it. */
static void
take_back(struct index_builder *b, const struct commit_counts *was)
{
    struct fz_budget *budget = &b->budget;
    b->stats = was->stats;
    b->n_pieces = was->n_pieces;
    b->n_bare_pieces = was->n_bare_pieces;
    b->n_bare_rows = was->n_bare_rows;
    b->n_functions = was->n_functions;
    b->n_aliases = was->n_aliases;
    b->n_all_rows = was->n_all_rows;
    b->row_offsets = was->row_offsets;
    b->records.n = was->n_records;
    b->pieces = fz_list_trim(budget, b->pieces, &b->room_pieces, b->n_pieces, sizeof(*b->pieces));
    b->bare_pieces = fz_list_trim(budget, b->bare_pieces, &b->room_bare_pieces, b->n_bare_pieces,
                                  sizeof(*b->bare_pieces));
    b->bare_rows = fz_list_trim(budget, b->bare_rows, &b->room_bare_rows, b->n_bare_rows,
                                sizeof(*b->bare_rows));
    b->functions = fz_list_trim(budget, b->functions, &b->room_functions, b->n_functions,
                                sizeof(*b->functions));
    b->records.data = fz_list_trim(budget, b->records.data, &b->records.room, b->records.n, 1);
}

enum fz_code
index_unit_commit(struct index_unit_builder *u, struct fz_error *err)
{
    struct index_builder *b = u->b;
    const struct commit_counts was = counts(b);
    struct sym_build_stats *stats = &b->stats;
    stats->n_units++;
    if (u->unit->is_bad) {
        stats->n_bad_units++;
        return FZ_OK;
    }
    /* Static libraries bring units of other compilers, and of other versions. */
    if (stats->min_dwarf_version == 0 || u->unit->version < stats->min_dwarf_version)
        stats->min_dwarf_version = u->unit->version;
    if (u->unit->version > stats->max_dwarf_version)
        stats->max_dwarf_version = u->unit->version;
    /* Reported here and not where it was found, so that the order does not depend on threads. */
    if (u->scan_code == FZ_E_MALFORMED) {
        stats->n_bad_units++;
        sym_problem_add(b->problems, SYM_PROBLEM_BAD_UNIT, "%s", u->scan_error.text);
    }
    if (u->lines_code == FZ_E_MALFORMED) {
        stats->n_bad_line_programs++;
        sym_problem_add(b->problems, SYM_PROBLEM_BAD_LINE_PROGRAM, "%s", u->lines_error.text);
    }
    stats->n_lines += u->lines.n_rows;
    if (add_unit(u))
        return FZ_OK;
    take_back(b, &was);
    return fz_budget_fail(&b->budget, err);
}
