/*
 * Headers of line programs, DWARF 2 to 5: opcode lengths, directories, files (DWARF 5, 6.2.4).
 *
 *   version  directories                                files
 *   2 to 4   1.. ; 0 is the compilation directory       1.. ; name, directory, time, length
 *   5        0.. ; 0 is the compilation directory       0.. ; by a format: path, directory, MD5...
 */
#include "base/reader.h"
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/line.h"

enum { FORMATS_MAX = 16, ENTRIES_MAX = 1 << 20 };

static bool
add_directory(struct dwarf_line_program *program, struct fz_span name)
{
    struct sym_dwarf_lines *lines = program->lines;
    struct fz_span *grown =
        fz_list_grow(program->budget, lines->directories, &lines->room_directories,
                     lines->n_directories + 1, sizeof(*grown));
    if (!grown)
        return false;
    lines->directories = grown;
    grown[lines->n_directories++] = name;
    return true;
}

bool
dwarf_line_add_file(struct dwarf_line_program *program, struct fz_span name, uint64_t directory)
{
    struct sym_dwarf_lines *lines = program->lines;
    struct sym_dwarf_file *grown = fz_list_grow(program->budget, lines->files, &lines->room_files,
                                                lines->n_files + 1, sizeof(*grown));
    if (!grown)
        return false;
    lines->files = grown;
    grown[lines->n_files++] = (struct sym_dwarf_file){.name = name, .directory = directory};
    return true;
}

static enum fz_code
read_tables_v4(struct dwarf_line_program *program, struct fz_reader *r, struct fz_error *err)
{
    for (;;) {
        struct fz_span name = fz_read_cstr(r);
        if (r->failed || name.len == 0)
            break;
        if (!add_directory(program, name))
            return fz_budget_fail(program->budget, err);
    }
    for (;;) {
        struct fz_span name = fz_read_cstr(r);
        if (r->failed || name.len == 0)
            break;
        uint64_t directory = fz_read_uleb(r);
        fz_read_uleb(r); /* time of modification */
        fz_read_uleb(r); /* length */
        if (!r->failed && !dwarf_line_add_file(program, name, directory))
            return fz_budget_fail(program->budget, err);
    }
    return FZ_OK;
}

/* One attribute of a version 5 entry; `unit` has the sizes of the program's header. */
static void
read_entry_value(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                 struct fz_reader *r, uint64_t form, struct dwarf_value *ret)
{
    const struct dwarf_attr attr = {.form = form > UINT16_MAX ? 0 : (uint16_t)form};
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_LINE, r->pos, r->len);
    size_t left = dwarf_cursor_left(&c);
    *ret = (struct dwarf_value){.form = 0};
    /* These two have their form or value where an abbreviation would be. */
    if (form == FORM_IMPLICIT_CONST || form == FORM_INDIRECT)
        c.bad = true;
    else
        dwarf_value_read_any(dwarf, unit, &c, &attr, ret);
    /* Of an unknown form the length is unknown too, so that the entries cannot be separated. */
    fz_read_skip(r, c.bad ? UINT64_MAX : left - dwarf_cursor_left(&c));
}

/* A version 5 directory or file table. */
static enum fz_code
read_table_v5(struct dwarf_line_program *program, struct fz_reader *r, bool is_files,
              struct fz_error *err)
{
    uint64_t format[FORMATS_MAX][2];
    struct sym_dwarf_unit sizes = *program->unit;
    /* A line program may be of the other format, 32 or 64 bits, than its unit. */
    sizes.offset_size = (uint8_t)program->offset_size;
    unsigned n_format = fz_read_u8(r);
    /* DWARF 5 defines five kinds of content, and LLVM one more. */
    if (n_format > FORMATS_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "line program: %u formats", n_format);
    for (unsigned i = 0; i < n_format; i++) {
        format[i][0] = fz_read_uleb(r);
        format[i][1] = fz_read_uleb(r);
    }
    uint64_t n = fz_read_uleb(r);
    /* Entries without a format have no bytes, so the section would not bound their number. */
    if (r->failed || n > ENTRIES_MAX || (n_format == 0 && n > 0))
        return fz_fail(err, FZ_E_MALFORMED, "line program: %llu entries", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        struct fz_span path = {NULL, 0};
        uint64_t directory = 0;
        for (unsigned k = 0; k < n_format; k++) {
            struct dwarf_value value;
            read_entry_value(program->dwarf, &sizes, r, format[k][1], &value);
            /* Times, sizes and MD5 sums are read to get past them. */
            if (format[k][0] == LNCT_PATH)
                path = dwarf_value_string(program->dwarf, program->unit, &value);
            else if (format[k][0] == LNCT_DIRECTORY_INDEX)
                directory = value.number;
        }
        if (r->failed)
            return fz_read_done(r, err);
        if (is_files ? !dwarf_line_add_file(program, path, directory)
                     : !add_directory(program, path))
            return fz_budget_fail(program->budget, err);
    }
    return FZ_OK;
}

enum fz_code
dwarf_line_header_read(struct dwarf_line_program *program, struct fz_reader *r,
                       struct fz_error *err)
{
    uint64_t length = fz_read_u32(r);
    program->offset_size = 4;
    /* The mark of the 64-bit format (DWARF 5, 7.4). */
    if (length == 0xffffffff) {
        length = fz_read_u64(r);
        program->offset_size = 8;
    }
    bool is_cut = length > fz_read_left(r);
    /* A program that is cut off is read to the end of the section, for its finished sequences. */
    if (!is_cut)
        r->len = r->pos + (size_t)length;
    unsigned version = fz_read_u16(r);
    program->lines->version = version;
    if (!r->failed && (version < 2 || version > 5))
        return fz_fail(err, FZ_E_MALFORMED, "line program: version %u", version);
    if (version >= 5)
        fz_read_skip(r, 2); /* address and selector size: each set_address has its own */
    uint64_t header_length = fz_read_uint(r, program->offset_size);
    uint64_t body;
    if (r->failed || __builtin_add_overflow(header_length, r->pos, &body) || body > r->len)
        return fz_fail(err, FZ_E_MALFORMED, "line program: its header is cut off");
    program->min_inst_length = fz_read_u8(r);
    program->max_ops = version >= 4 ? fz_read_u8(r) : 1;
    fz_read_u8(r); /* default_is_stmt: every row counts for us */
    program->line_base = (int8_t)fz_read_u8(r);
    program->line_range = fz_read_u8(r);
    program->line_range_inverse = program->line_range ? 65536 / program->line_range + 1 : 0;
    program->opcode_base = fz_read_u8(r);
    /* Opcode 0 begins the extended ones; the list has no entry for it. */
    for (unsigned i = 1; i < program->opcode_base; i++)
        program->opcode_args[i] = fz_read_u8(r);
    /* Not allowed, but a division by it must not end the process. */
    if (program->max_ops == 0)
        program->max_ops = 1;
    enum fz_code code;
    if (version >= 5) {
        code = read_table_v5(program, r, false, err);
        if (code == FZ_OK)
            code = read_table_v5(program, r, true, err);
    } else {
        code = read_tables_v4(program, r, err);
    }
    /* A fault in the tables loses the files after it; the rows do not depend on them. */
    if (code == FZ_E_NO_MEMORY || code == FZ_E_LIMIT)
        return code;
    r->failed = false;
    fz_read_seek(r, body);
    return FZ_OK;
}

bool
sym_dwarf_path(const struct sym_dwarf_lines *lines, const struct sym_dwarf_unit *unit,
               uint64_t number, struct sym_dwarf_path *ret)
{
    uint64_t first = lines->version >= 5 ? 0 : 1;
    if (number < first || number - first >= lines->n_files)
        return false;
    const struct sym_dwarf_file *file = &lines->files[number - first];
    *ret = (struct sym_dwarf_path){.name = file->name};
    if (file->directory >= first && file->directory - first < lines->n_directories)
        ret->include_dir = lines->directories[file->directory - first];
    /* In version 5 directory 0 is the compilation directory itself. */
    if (lines->version < 5 || file->directory != 0)
        ret->comp_dir = unit->comp_dir;
    return true;
}
