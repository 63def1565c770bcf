/*
 * The state machine of line programs, DWARF 2 to 5 (DWARF 5, 6.2.5).
 *
 * Of rows at one address the last counts, since the others are empty. A sequence that ends where it
 * begins, or begins in no code, is dropped, as are rows that ROW_REACH does not reach from the
 * first of their sequence; a program that is cut off keeps its finished sequences.
 */
#include "symbolicator/dwarf/line.h"

#include <stdlib.h>

#include "symbolicator/dwarf/constants.h"

/* How far before the first row others may be; after it they may be 2 GB, or 4 GB of the lowest. */
static const uint64_t ROW_REACH = (uint64_t)1 << 31;

/* The registers. */
struct registers {
    uint64_t addr;
    uint32_t op_index, file, line, column;
};

struct machine {
    struct dwarf_line_program *program;
    struct dwarf_cursor c;
    struct registers now;
    uint64_t base;    /* of the sequence that is being read */
    size_t first_row; /* its first */
    bool is_sorted;   /* so far */
    bool no_memory;
};

void
sym_dwarf_lines_deinit(struct sym_dwarf_lines *lines, struct fz_budget *budget)
{
    fz_list_free(budget, lines->rows, lines->room_rows, sizeof(*lines->rows));
    fz_list_free(budget, lines->sequences, lines->room_sequences, sizeof(*lines->sequences));
    fz_list_free(budget, lines->files, lines->room_files, sizeof(*lines->files));
    fz_list_free(budget, lines->directories, lines->room_directories, sizeof(*lines->directories));
    *lines = (struct sym_dwarf_lines){0};
}

static void
reset(struct machine *m)
{
    /* The initial values of 6.2.2. */
    m->now = (struct registers){.file = 1, .line = 1};
    m->first_row = m->program->lines->n_rows;
    m->is_sorted = true;
}

static inline void
advance(const struct dwarf_line_program *program, struct registers *r, uint64_t operations)
{
    if (program->max_ops == 1) {
        r->addr += operations * program->min_inst_length;
        return;
    }
    /* Only VLIW processors have several operations in one instruction. */
    /* The formula of 6.2.5.1. */
    uint64_t total = r->op_index + operations;
    r->addr += total / program->max_ops * program->min_inst_length;
    r->op_index = (uint32_t)(total % program->max_ops);
}

static inline void
emit_row(struct machine *m, const struct registers *r)
{
    struct sym_dwarf_lines *lines = m->program->lines;
    size_t n = lines->n_rows;
    /* The base is below the first row, since rows of a broken writer may go backwards. */
    if (n == m->first_row)
        m->base = r->addr > ROW_REACH ? r->addr - ROW_REACH : 0;
    uint64_t offset = r->addr - m->base;
    /* An address that has wrapped around would give a row before its sequence. */
    if (r->addr < m->base || offset > UINT32_MAX)
        return;
    struct sym_dwarf_row row = {.offset = (uint32_t)offset,
                                .file = r->file,
                                .line = r->line,
                                .column = r->column > UINT16_MAX ? 0 : (uint16_t)r->column};
    if (n > m->first_row) {
        struct sym_dwarf_row *last = &lines->rows[n - 1];
        if (last->offset == row.offset) {
            *last = row;
            return;
        }
        m->is_sorted = m->is_sorted && last->offset < row.offset;
    }
    /* Tested here too: the call for every row was measurable. */
    if (n == lines->room_rows || !lines->rows) {
        struct sym_dwarf_row *rows =
            fz_list_grow(m->program->budget, lines->rows, &lines->room_rows, n + 1, sizeof(*rows));
        if (!rows) {
            m->no_memory = true;
            return;
        }
        lines->rows = rows;
    }
    lines->rows[n] = row;
    lines->n_rows = n + 1;
}

/* Stable, by address: rows of a broken writer may go backwards. */
static void
sort_rows(struct sym_dwarf_row *rows, size_t n, struct sym_dwarf_row *scratch)
{
    if (n < 2)
        return;
    size_t half = n / 2;
    sort_rows(rows, half, scratch);
    sort_rows(rows + half, n - half, scratch);
    memcpy(scratch, rows, half * sizeof(*rows));
    size_t a = 0, b = half, to = 0;
    while (a < half) {
        if (b < n && rows[b].offset < scratch[a].offset)
            rows[to++] = rows[b++];
        else
            rows[to++] = scratch[a++];
    }
}

/* Sort the rows of the current sequence and keep the last of each address. */
static bool
repair_rows(struct machine *m)
{
    struct sym_dwarf_lines *lines = m->program->lines;
    struct sym_dwarf_row *rows = lines->rows + m->first_row;
    size_t n = lines->n_rows - m->first_row;
    struct sym_dwarf_row *scratch = fz_list_zeroed(m->program->budget, n, sizeof(*scratch));
    if (!scratch)
        return false;
    sort_rows(rows, n, scratch);
    fz_list_free(m->program->budget, scratch, n, sizeof(*scratch));
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept && rows[kept - 1].offset == rows[i].offset)
            rows[kept - 1] = rows[i];
        else
            rows[kept++] = rows[i];
    }
    lines->n_rows = m->first_row + kept;
    return true;
}

/* The rows so far end at this address: keep them as a sequence, or drop them. */
static void
end_sequence(struct machine *m)
{
    struct sym_dwarf_lines *lines = m->program->lines;
    size_t n = lines->n_rows - m->first_row;
    /* Only then, since nearly all programs are sorted and the copy costs time. */
    if (n && !m->is_sorted && !repair_rows(m)) {
        m->no_memory = true;
        return;
    }
    n = lines->n_rows - m->first_row;
    uint64_t low = n ? m->base + lines->rows[m->first_row].offset : 0, high = m->now.addr;
    /* Rows at the end of the sequence or after it cover no code. */
    while (n && m->base + lines->rows[m->first_row + n - 1].offset >= high)
        n--;
    lines->n_rows = m->first_row + n;
    /* No rows, or the code was dropped by the linker. */
    if (n == 0 || low < lines->code_low || low >= lines->code_high) {
        lines->n_rows = m->first_row;
        reset(m);
        return;
    }
    struct sym_dwarf_sequence *sequences =
        fz_list_grow(m->program->budget, lines->sequences, &lines->room_sequences,
                     lines->n_sequences + 1, sizeof(*sequences));
    if (!sequences) {
        m->no_memory = true;
        return;
    }
    lines->sequences = sequences;
    sequences[lines->n_sequences++] = (struct sym_dwarf_sequence){
        .low = low, .high = high, .base = m->base, .first = m->first_row, .n = n};
    reset(m);
}

static void
run_extended(struct machine *m)
{
    uint64_t len = dwarf_cursor_uleb(&m->c);
    /* The length counts the opcode, so 0 is not an instruction. */
    if (len == 0 || len > dwarf_cursor_left(&m->c)) {
        dwarf_cursor_fail(&m->c);
        return;
    }
    struct dwarf_cursor body = m->c;
    body.end = body.at + len;
    /* Before the opcode is looked at, so that unknown ones are skipped by their length. */
    m->c.at += len;
    switch (dwarf_cursor_u8(&body)) {
    case LNE_END_SEQUENCE:
        end_sequence(m);
        break;
    case LNE_SET_ADDRESS:
        m->now.op_index = 0;
        /* The operand is the rest of the instruction; before DWARF 5 no header gives its size. */
        if (len - 1 == 4 || len - 1 == 8)
            m->now.addr = dwarf_cursor_uint(&body, (unsigned)len - 1);
        break;
    case LNE_DEFINE_FILE: {
        struct fz_span name = dwarf_cursor_cstr(&body);
        uint64_t directory = dwarf_cursor_uleb(&body);
        /* Old producers add files between rows; the number continues that of the header. */
        if (!body.bad && !dwarf_line_add_file(m->program, name, directory))
            m->no_memory = true;
        break;
    }
    default:
        break;
    }
}

/* The registers are the processor's own here, but for what changes sequences. */
static void
run(struct machine *m)
{
    const struct dwarf_line_program *program = m->program;
    unsigned opcode_base = program->opcode_base, line_range = program->line_range;
    /* DW_LNS_const_add_pc advances like special opcode 255, without a row (6.2.5.2). */
    uint64_t const_add = line_range ? (255 - opcode_base) / line_range : 0;
    struct registers r = m->now;
    struct dwarf_cursor c = m->c;
    while (c.at < c.end && !m->no_memory) {
        unsigned opcode = *c.at++;
        if (opcode >= opcode_base) {
            /* Special opcodes are most of a program: address and line in one byte (6.2.5.1). */
            unsigned adjusted = opcode - opcode_base;
            /* Not allowed to be 0, but a division by it must not end the process. */
            if (line_range) {
                unsigned operations = adjusted * program->line_range_inverse >> 16;
                advance(program, &r, operations);
                r.line +=
                    (uint32_t)(program->line_base + (int)(adjusted - operations * line_range));
            }
            emit_row(m, &r);
            continue;
        }
        switch (opcode) {
        case LNS_COPY:
            emit_row(m, &r);
            break;
        case LNS_ADVANCE_PC:
            advance(program, &r, dwarf_cursor_uleb(&c));
            break;
        case LNS_ADVANCE_LINE:
            r.line += (uint32_t)dwarf_cursor_sleb(&c);
            break;
        case LNS_SET_FILE:
            r.file = (uint32_t)dwarf_cursor_uleb(&c);
            break;
        case LNS_SET_COLUMN:
            r.column = (uint32_t)dwarf_cursor_uleb(&c);
            break;
        case LNS_CONST_ADD_PC:
            advance(program, &r, const_add);
            break;
        case LNS_FIXED_ADVANCE_PC:
            /* The one operand that is not multiplied by min_inst_length (6.2.5.2). */
            r.addr += dwarf_cursor_uint(&c, 2);
            r.op_index = 0;
            break;
        case 0:
            m->now = r;
            m->c = c;
            run_extended(m);
            r = m->now;
            c = m->c;
            break;
        default: /* also what later versions add: the header gives the number of operands */
            for (unsigned i = 0; i < program->opcode_args[opcode]; i++)
                dwarf_cursor_skip_leb(&c);
        }
    }
    m->now = r;
    m->c = c;
}

static int
compare_sequence(const void *a, const void *b)
{
    const struct sym_dwarf_sequence *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    /* qsort() is not stable, but the same file must always give the same index. */
    return x->first < y->first ? -1 : x->first > y->first;
}

enum fz_code
sym_dwarf_lines_unit(const struct sym_dwarf *dwarf, size_t i, struct fz_budget *budget,
                     struct sym_dwarf_lines *lines, struct fz_error *err)
{
    const struct sym_dwarf_unit *unit = &dwarf->units[i];
    lines->n_rows = lines->n_sequences = lines->n_files = lines->n_directories = 0;
    lines->version = unit->version;
    lines->work = 0;
    /* Units that hold only types have no code and no line program. */
    if (!unit->has_lines || unit->is_bad)
        return FZ_OK;
    struct dwarf_line_program program = {
        .dwarf = dwarf, .unit = unit, .budget = budget, .lines = lines};
    struct fz_reader r = fz_reader_make(dwarf->sections[SECTION_LINE], "debug_line");
    r.big_endian = dwarf->big_endian;
    fz_read_seek(&r, unit->stmt_list);
    enum fz_code code = dwarf_line_header_read(&program, &r, err);
    /* A program that begins after the section costs nothing. */
    lines->work = unit->stmt_list < r.len ? r.len - unit->stmt_list : 0;
    if (code != FZ_OK)
        return code;
    struct machine m = {.program = &program,
                        .c = dwarf_cursor_make(dwarf, SECTION_LINE, r.pos, r.len)};
    reset(&m);
    run(&m);
    if (m.no_memory)
        return fz_budget_fail(budget, err);
    bool is_cut = m.c.bad || lines->n_rows > m.first_row;
    /* Rows of a sequence without an end cover an unknown amount of code. */
    lines->n_rows = m.first_row;
    if (lines->n_sequences > 1)
        qsort(lines->sequences, lines->n_sequences, sizeof(*lines->sequences), compare_sequence);
    if (is_cut)
        return fz_fail_at(err, FZ_E_MALFORMED, unit->stmt_list,
                          "line program at %llu: ends within a sequence",
                          (unsigned long long)unit->stmt_list);
    return FZ_OK;
}
