/*
 * What the DWARF leaves open: names of the symbol table for code without a function DIE, those of
 * the exports trie where that table has none (stripped libraries), and the further names of a
 * function.
 *
 * A symbol reaches to the next symbol, the next function start, the next DWARF function or the end
 * of its section. A symbol inside a DWARF function is a label and covers nothing, also not what
 * is after that function's end.
 */
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/macho/symbol_map.h"

enum { SECTIONS_MAX = 256, FILES_MAX = 64, S_ATTR_CODE = (int)0x80000400u };

struct filler {
    struct index_builder *b;
    const struct sym_section *sections[SECTIONS_MAX];
    size_t n_sections;
    bool has_sizes; /* the sections */
    size_t n_dwarf; /* pieces from DWARF; those that are added come after them */
    size_t piece, bare_piece, start;
    struct index_bare_row *rows; /* of the current symbol; offsets from its address */
    size_t n_rows, room_rows;
    uint32_t files[FILES_MAX], base_lines[FILES_MAX], records[FILES_MAX];
    size_t n_files;
};

enum fz_code
index_symbols_load(struct index_builder *b, struct fz_error *err)
{
    enum fz_code code =
        sym_macho_names(b->macho, &b->arena, &b->symbols, &b->n_symbols, b->problems, err);
    if (code != FZ_OK)
        return code;
    /* Once for all: symbols are compared with names from DWARF, which are restored too. */
    for (size_t i = 0; b->symbol_map && i < b->n_symbols; i++) {
        struct sym_symbol *symbol = &b->symbols[i];
        struct fz_span name =
            sym_symbol_map_name(b->symbol_map, fz_span_make(symbol->name, symbol->name_len));
        symbol->name = (const char *)name.data;
        symbol->name_len = (uint32_t)name.len;
    }
    return sym_macho_function_starts(b->macho, &b->arena, &b->starts, &b->n_starts, b->problems,
                                     err);
}

/* A symbol's name as DWARF would write it. */
static struct fz_span
linkage_name(const struct sym_symbol *symbol)
{
    struct fz_span name = fz_span_make(symbol->name, symbol->name_len);
    /* Mach-O puts an underscore before names of C, and DWARF does not. */
    if (name.len > 1 && name.data[0] == '_')
        name = fz_span_make(name.data + 1, name.len - 1);
    return name;
}

struct fz_span
index_symbol_name_at(struct index_builder *b, uint64_t addr, struct fz_span wanted)
{
    size_t low = 0, high = b->n_symbols;
    /* Functions come mostly in address order, so the search begins at the previous result and
     * widens. */
    if (b->last_symbol < high && b->symbols[b->last_symbol].addr <= addr) {
        low = b->last_symbol;
        for (size_t step = 8; low + step < high; step *= 2) {
            if (b->symbols[low + step].addr > addr)
                high = low + step;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->symbols[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    struct fz_span last = {NULL, 0};
    b->last_symbol = low ? low - 1 : 0;
    /* The last of the table comes first here: it is the one that is shown otherwise. */
    for (; low > 0 && b->symbols[low - 1].addr == addr; low--) {
        struct fz_span name = linkage_name(&b->symbols[low - 1]);
        /* Of several names the one that DWARF has too is the better one. */
        if (fz_span_equal(name, wanted))
            return name;
        if (last.len == 0)
            last = name;
    }
    return last;
}

/* The end of the code section that holds `addr`, or of the segment where sections have no sizes (in
 * dSYMs of old tools); `addr` itself if there is none. */
static uint64_t
section_end(const struct filler *f, uint64_t addr)
{
    for (size_t i = 0; i < f->n_sections; i++) {
        const struct sym_section *section = f->sections[i];
        if (addr >= section->addr && addr - section->addr < section->size)
            return section->addr + section->size;
    }
    const struct sym_macho *macho = f->b->macho;
    for (size_t i = 0; !f->has_sizes && i < macho->n_segments; i++) {
        const struct sym_segment *segment = &macho->segments[i];
        if (addr >= segment->vmaddr && addr - segment->vmaddr < segment->vmsize)
            return segment->vmaddr + segment->vmsize;
    }
    return addr;
}

/* The names differ by more than the underscore that Mach-O puts before C names. */
static bool
differs(const struct index_builder *b, const struct sym_symbol *symbol, uint32_t name)
{
    const char *known = index_pool_text(b, name), *mine = symbol->name;
    if (strcmp(mine, known) == 0)
        return false;
    return mine[0] != '_' || strcmp(mine + 1, known) != 0;
}

static bool
add_alias(struct index_builder *b, const struct sym_symbol *symbol)
{
    uint32_t name;
    return index_pool_string(b, fz_span_make(symbol->name, symbol->name_len), &name) &&
           index_alias_add(b, symbol->addr, name);
}

static bool
append_row(struct filler *f, uint64_t offset, const struct index_bare_row *row)
{
    struct index_bare_row *rows =
        fz_list_grow(&f->b->budget, f->rows, &f->room_rows, f->n_rows + 1, sizeof(*rows));
    if (!rows)
        return false;
    f->rows = rows;
    rows[f->n_rows] = row ? *row : (struct index_bare_row){0};
    rows[f->n_rows++].offset = (uint32_t)offset;
    return true;
}

/* The rows of line tables without functions within [start, end). */
static bool
collect_rows(struct filler *f, uint64_t start, uint64_t end)
{
    const struct index_builder *b = f->b;
    uint64_t at = start;
    f->n_rows = 0;
    while (at < end) {
        while (f->bare_piece < b->n_bare_pieces && b->bare_pieces[f->bare_piece].end <= at)
            f->bare_piece++;
        const struct index_piece *piece =
            f->bare_piece < b->n_bare_pieces ? &b->bare_pieces[f->bare_piece] : NULL;
        if (!piece || piece->start > at) {
            /* Code that no line table covers: a row without a file. */
            if (!append_row(f, at - start, NULL))
                return false;
            at = piece && piece->start < end ? piece->start : end;
            continue;
        }
        uint64_t until = piece->end < end ? piece->end : end;
        for (uint32_t i = 0; i < piece->n_rows; i++) {
            const struct index_bare_row *row = &b->bare_rows[piece->first_row + i];
            uint64_t low = piece->origin + row->offset;
            uint64_t high = i + 1 < piece->n_rows ? piece->origin + row[1].offset : piece->end;
            if (high <= at || low >= until)
                continue;
            if (!append_row(f, (low > at ? low : at) - start, row))
                return false;
        }
        at = until;
    }
    return true;
}

/* The record of the current symbol for rows of `file`. */
static size_t
file_slot(struct filler *f, uint32_t file)
{
    for (size_t i = 0; i < f->n_files; i++) {
        if (f->files[i] == file)
            return i;
    }
    /* Code of so many files without a function DIE does not occur; the last record takes the
     * rest. */
    if (f->n_files == FILES_MAX)
        return FILES_MAX - 1;
    f->files[f->n_files] = file;
    f->base_lines[f->n_files] = UINT32_MAX;
    return f->n_files++;
}

/* The symbol names [start, end): its function, records and piece. */
static bool
add_symbol(struct filler *f, const struct sym_symbol *symbol, uint64_t end)
{
    struct index_builder *b = f->b;
    struct index_function function = {.start = symbol->addr, .size = end - symbol->addr};
    struct index_piece piece = {.origin = symbol->addr,
                                .start = symbol->addr,
                                .end = end,
                                .first_row = (uint32_t)b->n_rows,
                                .unit = UNIT_NONE};
    enum sym_source source = symbol->is_export ? SYM_SOURCE_EXPORTS : SYM_SOURCE_SYMTAB;
    /* Offsets of rows have 32 bits. */
    if (end - symbol->addr > UINT32_MAX)
        end = symbol->addr + UINT32_MAX;
    if (!index_pool_string(b, fz_span_make(symbol->name, symbol->name_len), &function.name) ||
        !index_function_add(b, &function, &piece.function) || !collect_rows(f, symbol->addr, end))
        return false;
    f->n_files = 0;
    for (size_t i = 0; i < f->n_rows; i++) {
        size_t slot = file_slot(f, f->rows[i].file);
        /* The lowest line is the base, so that line codes are small and never negative. */
        if (f->rows[i].line && f->rows[i].line < f->base_lines[slot])
            f->base_lines[slot] = f->rows[i].line;
    }
    for (size_t i = 0; i < f->n_files; i++) {
        if (f->base_lines[i] == UINT32_MAX)
            f->base_lines[i] = 1;
        struct index_record record = {.source = source,
                                      .name = function.name,
                                      .start = function.start - b->code_low,
                                      .size = function.size,
                                      .file = f->files[i],
                                      .base_line = f->base_lines[i],
                                      .has_rows = f->files[i] != 0};
        if (!index_record_add(b, &record, &f->records[i]))
            return false;
    }
    struct index_row *rows = index_rows_reserve(b, f->n_rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct index_bare_row *bare = &f->rows[i];
        size_t slot = file_slot(f, bare->file);
        rows[i] = (struct index_row){.offset = bare->offset,
                                     .record = f->records[slot],
                                     .line_code = bare->line && bare->file &&
                                                          bare->line >= f->base_lines[slot]
                                                      ? bare->line - f->base_lines[slot] + 1
                                                      : 0,
                                     .column = bare->column};
        b->row_offsets |= bare->offset;
    }
    piece.n_rows = (uint32_t)f->n_rows;
    return index_piece_add(b, &piece);
}

/* The symbols first .. last - 1 share one address. */
static bool
fill_from(struct filler *f, size_t first, size_t last)
{
    struct index_builder *b = f->b;
    const struct sym_symbol *main = &b->symbols[last - 1];
    uint64_t addr = main->addr, end = section_end(f, addr);
    while (f->piece < f->n_dwarf && b->pieces[f->piece].end <= addr)
        f->piece++;
    const struct index_piece *next = f->piece < f->n_dwarf ? &b->pieces[f->piece] : NULL;
    if (next && next->start <= addr) {
        struct index_function function = b->functions[next->function];
        for (size_t i = first; function.start == addr && i < last; i++) {
            if (differs(b, &b->symbols[i], function.name) && !add_alias(b, &b->symbols[i]))
                return false;
        }
        return true;
    }
    while (f->start < b->n_starts && b->starts[f->start] <= addr)
        f->start++;
    /* A function start without a symbol ends the one before: its code is of another function. */
    if (f->start < b->n_starts && b->starts[f->start] < end)
        end = b->starts[f->start];
    if (last < b->n_symbols && b->symbols[last].addr < end)
        end = b->symbols[last].addr;
    if (next && next->start < end)
        end = next->start;
    /* A symbol outside of all code sections, or a label at the end of one. */
    if (end <= addr)
        return true;
    if (!add_symbol(f, main, end))
        return false;
    for (size_t i = first; i + 1 < last; i++) {
        if (strcmp(b->symbols[i].name, main->name) != 0 && !add_alias(b, &b->symbols[i]))
            return false;
    }
    return true;
}

enum fz_code
index_symbols_fill(struct index_builder *b, struct fz_error *err)
{
    struct filler f = {.b = b, .n_dwarf = b->n_pieces};
    for (size_t i = 0; i < b->macho->n_sections && f.n_sections < SECTIONS_MAX; i++) {
        const struct sym_section *section = &b->macho->sections[i];
        if (section->size && section->flags & (uint32_t)S_ATTR_CODE)
            f.sections[f.n_sections++] = section;
    }
    f.has_sizes = f.n_sections > 0;
    bool ok = true;
    for (size_t first = 0; first < b->n_symbols && ok;) {
        size_t last = first + 1;
        while (last < b->n_symbols && b->symbols[last].addr == b->symbols[first].addr)
            last++;
        ok = fill_from(&f, first, last);
        first = last;
    }
    b->stats.n_symbols = b->n_symbols;
    fz_list_free(&b->budget, f.rows, f.room_rows, sizeof(*f.rows));
    return ok && index_pieces_sort(b, b->pieces, b->n_pieces) ? FZ_OK
                                                              : fz_budget_fail(&b->budget, err);
}
