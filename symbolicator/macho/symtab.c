/*
 * The symbol table (Mach-O nlist.h), reduced to the names of code, and LC_FUNCTION_STARTS.
 *
 *   nlist   strx:4 type:1 sect:1 desc:2 value:4 or 8
 *
 * type & 0xe0 marks a debugger's stab, type & 0x0e == 0x0e a symbol in section `sect`, counted from
 * 1 over all segments. desc & 8 on 32-bit ARM means Thumb.
 *
 * LC_FUNCTION_STARTS says where functions begin, even in stripped files: a run of ULEB128 numbers.
 * The first is the distance of the first function from __TEXT's address, each further one the
 * distance from the function before; 0 ends the run (the rest is padding). On 32-bit ARM bit 0 of
 * the sum means Thumb.
 *
 *   90 20 | 10 | 00     with __TEXT at 0x100000000: functions at 0x100001010 and 0x100001020
 */
#include "symbolicator/macho/macho.h"

#include "base/reader.h"
#include "symbolicator/macho/format.h"
#include "symbolicator/macho/symbols.h"

/* Names are measured from the string table. Real tables hold each once or share tails; a hostile
 * one lets every symbol name the same megabytes. The sum is bounded by this many times the table.
 */
enum { NAME_BUDGET = 16, NAME_BUDGET_MIN = 65536 };

bool
macho_is_code(const struct sym_section *section)
{
    return (section->flags & MACHO_S_ATTR_CODE) != 0 ||
           (strcmp(section->segment, "__TEXT") == 0 && strcmp(section->name, "__text") == 0);
}

bool
macho_is_placeholder(const char *name, size_t len)
{
    static const struct {
        const char *text;
        bool prefix;
    } placeholders[] = {
        {"__mh_execute_header", false},
        {"__mh_dylib_header", false},
        {"__mh_bundle_header", false},
        {"__mh_dylinker_header", false},
        {"<redacted>", false},
        {"radr://5614542", false},
        {"ltmp", true},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(placeholders); i++) {
        size_t n = strlen(placeholders[i].text);
        /* Assembler labels have a number: "ltmp12". */
        bool matches = placeholders[i].prefix ? len > n : len == n;
        if (matches && memcmp(name, placeholders[i].text, n) == 0 &&
            (!placeholders[i].prefix || (name[n] >= '0' && name[n] <= '9')))
            return true;
    }
    return false;
}

/* Bottom-up merge sort by address: stable, which qsort() is not, and O(n log n) on any input. */
static void
merge_sort(struct sym_symbol *symbols, struct sym_symbol *scratch, size_t n)
{
    struct sym_symbol *from = symbols, *to = scratch;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n;
            size_t end = middle + width < n ? middle + width : n;
            size_t left = start, right = middle;
            for (size_t i = start; i < end; i++) {
                bool is_left =
                    left < middle && (right == end || from[left].addr <= from[right].addr);
                to[i] = is_left ? from[left++] : from[right++];
            }
        }
        struct sym_symbol *swap = from;
        from = to;
        to = swap;
    }
    if (from != symbols)
        memcpy(symbols, from, n * sizeof(*symbols));
}

enum fz_code
macho_sort_symbols(struct sym_symbol *symbols, size_t n, const struct fz_arena *arena,
                   struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena scratch = fz_arena_make(arena->cap - arena->used);
    struct sym_symbol *space = fz_arena_array(&scratch, n, sizeof(*space));
    enum fz_code code = space ? FZ_OK : fz_arena_fail(&scratch, err);
    if (space)
        merge_sort(symbols, space, n);
    return code;
}

struct table {
    const struct sym_macho *macho;
    struct sym_problems *problems;
    uint64_t name_budget;
};

/* The next record; false if it is not a function symbol. */
static bool
read_symbol(struct table *table, struct fz_reader *r, struct sym_symbol *ret)
{
    const struct sym_macho *macho = table->macho;
    uint32_t name_offset = fz_read_u32(r);
    uint8_t type = fz_read_u8(r);
    uint8_t section = fz_read_u8(r);
    uint16_t desc = fz_read_u16(r);
    uint64_t addr = fz_read_uint(r, macho->is_64 ? 8 : 4);
    /* Stabs are notes for debuggers; undefined and absolute symbols are in no section. */
    if ((type & MACHO_N_STAB) || (type & MACHO_N_TYPE) != MACHO_N_SECT || section == 0)
        return false;
    /* Sections of a load command that could not be read are missing too. */
    if (section > macho->n_sections) {
        sym_problem_add(table->problems, SYM_PROBLEM_BAD_SYMBOL, "symbol %llu: section %u of %zu",
                        (unsigned long long)(r->pos / (macho->is_64 ? 16 : 12) - 1), section,
                        macho->n_sections);
        return false;
    }
    /* Variables have no frames. */
    if (!macho_is_code(&macho->sections[section - 1]))
        return false;
    struct fz_reader names = fz_reader_make(macho->string_table, "string table");
    fz_read_seek(&names, name_offset);
    /* fz_read_cstr() then fails where the budget ends instead of reading on. */
    if (fz_read_left(&names) > table->name_budget)
        names.len = names.pos + (size_t)table->name_budget;
    size_t left = names.failed ? 0 : fz_read_left(&names);
    struct fz_span name = fz_read_cstr(&names);
    table->name_budget -= name.data ? name.len + 1 : left;
    if (names.failed) {
        sym_problem_add(table->problems, SYM_PROBLEM_BAD_SYMBOL,
                        "symbol %llu: name at %u of %zu has no end",
                        (unsigned long long)(r->pos / (macho->is_64 ? 16 : 12) - 1), name_offset,
                        macho->string_table.len);
        return false;
    }
    if (name.len == 0 || name.len > UINT32_MAX ||
        macho_is_placeholder((const char *)name.data, name.len))
        return false;
    /* An odd address is Thumb code too: ARM instructions are aligned to 4 bytes. */
    bool is_thumb = fz_arch_has_thumb(macho->cputype) &&
                    ((desc & MACHO_N_ARM_THUMB_DEF) != 0 || (addr & 1) != 0);
    *ret = (struct sym_symbol){.addr = is_thumb ? addr & ~UINT64_C(1) : addr,
                               .name = (const char *)name.data,
                               .name_len = (uint32_t)name.len,
                               .is_external = (type & MACHO_N_EXT) != 0,
                               .is_thumb = is_thumb};
    return true;
}

/* A first look at the types alone: dSYMs carry many data symbols, and the array lives long. */
static size_t
count_candidates(const struct sym_macho *macho, struct fz_reader r)
{
    size_t n = 0;
    for (uint32_t i = 0; i < macho->n_symbols; i++) {
        fz_read_skip(&r, 4);
        uint8_t type = fz_read_u8(&r);
        uint8_t section = fz_read_u8(&r);
        fz_read_skip(&r, macho->is_64 ? 10 : 6);
        if (!(type & MACHO_N_STAB) && (type & MACHO_N_TYPE) == MACHO_N_SECT && section > 0 &&
            section <= macho->n_sections && macho_is_code(&macho->sections[section - 1]))
            n++;
    }
    return n;
}

enum fz_code
sym_macho_symbols(const struct sym_macho *macho, struct fz_arena *arena, struct sym_symbol **ret,
                  size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(macho->symbol_table, "symbol table");
    r.big_endian = macho->big_endian;
    size_t room = count_candidates(macho, r);
    struct sym_symbol *symbols = fz_arena_array(arena, room, sizeof(*symbols));
    if (!symbols)
        return fz_arena_fail(arena, err);
    struct table table = {.macho = macho, .problems = problems};
    table.name_budget = (uint64_t)macho->string_table.len * NAME_BUDGET + NAME_BUDGET_MIN;
    size_t n = 0;
    for (uint32_t i = 0; i < macho->n_symbols && n < room; i++) {
        if (read_symbol(&table, &r, &symbols[n]))
            n++;
    }
    /* Both passes read the same records, so this cannot be; a reader is never left unchecked. */
    enum fz_code code = fz_read_done(&r, err);
    if (code == FZ_OK)
        code = macho_sort_symbols(symbols, n, arena, err);
    if (code != FZ_OK)
        return code;
    *ret = symbols;
    *ret_n = n;
    return FZ_OK;
}

/* At most this many: each number ends with one byte whose top bit is clear. */
static size_t
count_ends(struct fz_span bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes.len; i++)
        n += !(bytes.data[i] & 0x80);
    return n;
}

enum fz_code
sym_macho_function_starts(const struct sym_macho *macho, struct fz_arena *arena, uint64_t **ret,
                          size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    size_t room = count_ends(macho->function_starts);
    uint64_t *starts = fz_arena_array(arena, room, sizeof(*starts));
    if (!starts)
        return fz_arena_fail(arena, err);
    struct fz_reader r = fz_reader_make(macho->function_starts, "function starts");
    bool has_thumb = fz_arch_has_thumb(macho->cputype);
    uint64_t at = macho->text_vmaddr;
    size_t n = 0;
    while (n < room && fz_read_left(&r) > 0) {
        uint64_t delta = fz_read_uleb(&r);
        if (r.failed || delta == 0)
            break;
        if (__builtin_add_overflow(at, delta, &at)) {
            sym_problem_add(problems, SYM_PROBLEM_BAD_FUNCTION_STARTS,
                            "function starts: number %zu leaves the address space", n);
            break;
        }
        /* The sum keeps bit 0, since the next distance counts from it. */
        uint64_t start = has_thumb ? at & ~UINT64_C(1) : at;
        /* Clearing bit 0 can make two starts equal. */
        if (n == 0 || start != starts[n - 1])
            starts[n++] = start;
    }
    if (r.failed)
        sym_problem_add(problems, SYM_PROBLEM_BAD_FUNCTION_STARTS,
                        "function starts: a number at byte %zu has no end", r.bad_offset);
    *ret = starts;
    *ret_n = n;
    return FZ_OK;
}
