/* The build of an index, from the slice to the file. */
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/index/format.h"

enum {
    S_ATTR_CODE = (int)0x80000400u, /* pure or some instructions */
    NAME_STEPS_PER_BYTE = 64,
    NAME_STEPS_FREE = 1 << 20,
    WORK_PER_BYTE = 16,
    WORK_FREE = 64 << 20,
    /* Swift code of a release needs 3.5 bytes for each of its dSYM, C++ with its types 0.5. */
    MEMORY_PER_BYTE = 4,
    MEMORY_FREE = 160 << 20,
    INFLATED_PER_BYTE = 2, /* inflated bytes that count, for each byte of the slice */
};
/* From the first to the last instruction. Branches of real code reach far less. */
static const uint64_t CODE_SPAN_MAX = (uint64_t)1 << 40;

static void
extend_code(struct index_builder *b, const char *name, uint64_t addr, uint64_t size)
{
    uint64_t end;
    /* A range that wraps around has been reported with its section or segment. */
    if (size == 0 || __builtin_add_overflow(addr, size, &end))
        return;
    uint64_t low = b->code_high == 0 || addr < b->code_low ? addr : b->code_low;
    uint64_t high = end > b->code_high ? end : b->code_high;
    /* Units are walked from the first to the last address of code, whether there is any or not. */
    if (high - low > CODE_SPAN_MAX) {
        sym_problem_add(b->problems, SYM_PROBLEM_BAD_SECTION,
                        "%s: its code (0x%llx bytes at 0x%llx) counts only within 0x%llx bytes",
                        name, (unsigned long long)size, (unsigned long long)addr,
                        (unsigned long long)CODE_SPAN_MAX);
        low = b->code_high == 0 ? addr : b->code_low;
        /* What begins far from the rest is left out. */
        high = addr >= low && addr - low < CODE_SPAN_MAX ? low + CODE_SPAN_MAX : b->code_high;
    }
    b->code_low = low;
    b->code_high = high;
}

/* Where code can be. DWARF outside of it speaks of functions that the linker dropped. */
static void
find_code(struct index_builder *b)
{
    const struct sym_macho *macho = b->macho;
    for (size_t i = 0; i < macho->n_sections; i++) {
        /* By their flags, since code is also in sections of other names (__stubs, __StaticInit). */
        if (macho->sections[i].flags & (uint32_t)S_ATTR_CODE)
            extend_code(b, macho->sections[i].name, macho->sections[i].addr,
                        macho->sections[i].size);
    }
    /* Old tools wrote dSYMs with sections that have no sizes: then whole segments count. */
    if (b->code_high)
        return;
    for (size_t i = 0; i < macho->n_segments; i++) {
        const struct sym_segment *segment = &macho->segments[i];
        /* These three hold no code. */
        if (strcmp(segment->name, "__PAGEZERO") != 0 && strcmp(segment->name, "__DWARF") != 0 &&
            strcmp(segment->name, "__LINKEDIT") != 0)
            extend_code(b, segment->name, segment->vmaddr, segment->vmsize);
    }
}

void
index_builder_deinit(struct index_builder *b)
{
    struct fz_budget *budget = &b->budget;
    sym_dwarf_close(b->dwarf);
    index_table_deinit(b, &b->string_table);
    index_table_deinit(b, &b->file_table);
    index_table_deinit(b, &b->place_table);
    fz_list_free(budget, b->strings.data, b->strings.room, 1);
    fz_list_free(budget, b->records.data, b->records.room, 1);
    for (size_t i = 0; i < b->n_parts; i++) {
        fz_list_free(budget, b->parts[i].regions.data, b->parts[i].regions.room, 1);
        fz_list_free(budget, b->parts[i].pages.data, b->parts[i].pages.room, 1);
        fz_list_free(budget, b->parts[i].rows.data, b->parts[i].rows.room, 1);
    }
    fz_list_free(budget, b->files, b->room_files, sizeof(*b->files));
    fz_list_free(budget, b->places, b->room_places, sizeof(*b->places));
    fz_list_free(budget, b->functions, b->room_functions, sizeof(*b->functions));
    fz_list_free(budget, b->pieces, b->room_pieces, sizeof(*b->pieces));
    fz_list_free(budget, b->bare_pieces, b->room_bare_pieces, sizeof(*b->bare_pieces));
    for (size_t i = 0; i < b->n_blocks; i++)
        fz_list_free(budget, b->blocks[i].rows, b->blocks[i].room, sizeof(*b->blocks[i].rows));
    fz_list_free(budget, b->blocks, b->n_blocks ? b->n_blocks : 1, sizeof(*b->blocks));
    fz_list_free(budget, b->rows, b->room_rows, sizeof(*b->rows));
    fz_list_free(budget, b->bare_rows, b->room_bare_rows, sizeof(*b->bare_rows));
    fz_list_free(budget, b->aliases, b->room_aliases, sizeof(*b->aliases));
    fz_list_free(budget, b->calls, b->room_calls, sizeof(*b->calls));
    fz_arena_deinit(&b->arena);
}

/* What the build may allocate for so many bytes of input, within the caller's cap. */
static size_t
memory_for(const struct index_builder *b, uint64_t bytes)
{
    uint64_t cap = (uint64_t)MEMORY_FREE;
    /* Each thread has units of its own in memory. */
    if (__builtin_mul_overflow(bytes, MEMORY_PER_BYTE, &bytes) ||
        __builtin_add_overflow(cap, bytes, &cap) ||
        __builtin_mul_overflow(cap, b->n_threads, &cap) || cap > SIZE_MAX)
        cap = SIZE_MAX;
    return b->memory_cap && b->memory_cap < cap ? b->memory_cap : (size_t)cap;
}

/* The DWARF of the slice, if it has any. */
static enum fz_code
read_dwarf(struct index_builder *b, struct fz_error *err)
{
    struct fz_error why;
    enum fz_code code = sym_dwarf_open(b->macho, &b->budget, b->problems, &b->dwarf, &why);
    /* Names alone are still of use. */
    if (code == FZ_E_NOT_FOUND) {
        sym_problem_add(b->problems, SYM_PROBLEM_NO_DWARF,
                        "no debug information, only a symbol table");
        return FZ_OK;
    }
    if (code != FZ_OK)
        return fz_fail(err, code, "%s", why.text);
    uint64_t inflated = sym_dwarf_inflated_size(b->dwarf), bytes = b->macho->bytes.len;
    if (inflated > bytes * INFLATED_PER_BYTE)
        inflated = bytes * INFLATED_PER_BYTE;
    b->budget.cap = memory_for(b, bytes + inflated);
    b->info_size = sym_dwarf_info_size(b->dwarf);
    if (index_die_len(b->info_size) == 0)
        b->info_size = 0;
    return index_units_build(b, err);
}

static void
report_hidden(const struct index_builder *b)
{
    if (b->n_hidden && b->symbol_map)
        sym_problem_add(b->problems, SYM_PROBLEM_HIDDEN_NAMES,
                        "%llu names stay hidden (__hidden#), since the BCSymbolMap given does not "
                        "have them: is it that of this build?",
                        (unsigned long long)b->n_hidden);
    else if (b->n_hidden)
        sym_problem_add(b->problems, SYM_PROBLEM_HIDDEN_NAMES,
                        "%llu names are hidden by a bitcode build (__hidden#): give the whole "
                        ".xcarchive, or the dSYM and its .bcsymbolmap in one archive",
                        (unsigned long long)b->n_hidden);
}

static enum fz_code
build(struct index_builder *b, int out_fd, struct fz_error *err)
{
    static const uint8_t none = 0;
    find_code(b);
    /* Names that refer to each other could make the work quadratic. */
    b->name_steps = b->macho->bytes.len * NAME_STEPS_PER_BYTE + NAME_STEPS_FREE;
    /* So could units that refer to the same bytes. In a sound file nearly all bytes are read once. */
    b->work_left = b->macho->bytes.len * WORK_PER_BYTE + WORK_FREE;
    /* Record and string 0 mean none. */
    if (!index_bytes_add(b, &b->strings, &none, 1) || !index_bytes_add(b, &b->records, &none, 1))
        return fz_budget_fail(&b->budget, err);
    /* Symbols first: they name functions whose DWARF has no linkage name. Aliases are complete only
     * after the symbols have filled the gaps, and calls need them sorted. */
    enum fz_code code = index_symbols_load(b, err);
    if (code == FZ_OK)
        code = read_dwarf(b, err);
    if (code == FZ_OK)
        code = index_pieces_settle(b, err);
    if (code == FZ_OK)
        code = index_symbols_fill(b, err);
    if (code == FZ_OK) {
        index_aliases_sort(b);
        code = index_calls_build(b, err);
    }
    sym_dwarf_close(b->dwarf);
    b->dwarf = NULL;
    b->stats.n_ranges = b->n_pieces;
    /* An index that answers nothing would hide that the file is broken. */
    if (code == FZ_OK && b->n_pieces == 0 && b->stats.n_units > 0 &&
        b->stats.n_bad_units == b->stats.n_units)
        code = fz_fail(err, FZ_E_MALFORMED, "no unit of its DWARF can be read");
    else if (code == FZ_OK && b->n_pieces == 0)
        sym_problem_add(b->problems, SYM_PROBLEM_NO_NAMES, "holds neither functions nor symbols");
    if (code == FZ_OK)
        code = index_pages_build(b, err);
    /* Only now: the pool has each hidden name once, however often it is used. */
    report_hidden(b);
    return code == FZ_OK ? index_write(b, out_fd, err) : code;
}

enum fz_code
sym_index_build(const struct sym_macho *macho, const struct sym_build_options *options, int out_fd,
                struct sym_build_stats *ret_stats, struct sym_problems *problems,
                struct fz_error *err)
{
    struct index_builder b = {.macho = macho, .problems = problems};
    /* One budget for all threads: their sum is what the process may use. */
    b.memory_cap = options ? options->memory_cap : 0;
    b.n_threads = options && options->n_threads ? options->n_threads : 1;
    b.budget.cap = memory_for(&b, macho->bytes.len);
    b.symbol_map = options ? options->symbol_map : NULL;
    fz_arena_init(&b.arena, b.budget.cap);
    enum fz_code code = build(&b, out_fd, err);
    if (code == FZ_OK && ret_stats)
        *ret_stats = b.stats;
    index_builder_deinit(&b);
    return code;
}
