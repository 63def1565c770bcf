/* Indexes built from samples: what a lookup answers, and what it must not. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/dwarf_text.h"

/* 1 unit (low_pc, high_pc, stmt_list, comp_dir), 2 function (name, low_pc, length), 3 inlined call,
 * 4 abstract function (linkage name), 5 unit of line tables only (no ranges). */
#define ABBREVS                                                 \
    "1 11 1 11 1 12 6 10 17 1b 8 0 0 2 2e 1 3 8 11 1 12 6 0 0 " \
    "3 1d 1 31 13 11 1 12 6 58 b 59 b 57 b 0 0 4 2e 0 6e 8 0 0 5 11 0 10 17 1b 8 0 0 0"
#define UNIT "{ 2:4 4:0 8 1 8:1000 4:1000 4:0 '/d' "
/* Behind UNIT: 0xb + 1 + 8 + 4 + 4 + 3 = 0x1f. */
#define ABSTRACT "4 '_Zg' "
#define LINES(program)                                                                     \
    "{2:4 { 1 1 1 fb e d 0 1 1 1 1 0 0 0 1 0 0 1 'inc' 0 'a.c' u0 u0 u0 'b.h' u1 u0 u0 0 " \
    "} " program "}"
#define AT(addr) "0 u9 2 8:" addr " "
#define END "0 u1 1 "

enum { N_SECT = 0xe };

struct symbol {
    uint64_t addr;
    const char *name;
};

struct expected {
    uint64_t addr;
    const char *want; /* frames: name+offset path:line:column source, inlined ones without offset */
};

struct lookup_case {
    const char *name;
    struct dwarf_text text;
    struct symbol symbols[6];
    struct expected expected[8];
    uint32_t cputype;
};

static const struct lookup_case cases[] = {
    {"lines and an inlined call",
     {.info = UNIT ABSTRACT "2 'f' 8:1000 4:20 3 4:1f 8:1008 4:8 1 7 9 0 0 0 }",
      .line = LINES(AT("1000") "5 u3 1 2 u8 4 u2 3 s20 1 2 u8 4 u1 3 s-10 1 2 u10 " END)},
     {{0}},
     {{0xffc, ""},
      {0x1000, "f+0 /d/a.c:1:3 dwarf"},
      {0x1007, "f+7 /d/a.c:1:3 dwarf"},
      {0x1008, "_Zg /d/inc/b.h:21:3 dwarf; f+8 /d/a.c:7:9 dwarf"},
      {0x100f, "_Zg /d/inc/b.h:21:3 dwarf; f+15 /d/a.c:7:9 dwarf"},
      {0x1010, "f+16 /d/a.c:11:3 dwarf"},
      {0x101f, "f+31 :0:0 dwarf"},
      {0x1020, ""}},
     0},
    {"a symbol does not reach into what DWARF covers, nor past the next symbol",
     {.info = UNIT "2 'f' 8:1010 4:10 0 0 }"},
     {{0x1000, "_a"}, {0x1018, "_label"}, {0x1040, "_b"}, {0x1050, "_c"}},
     {{0x1000, "_a+0 :0:0 symtab"},
      {0x100f, "_a+15 :0:0 symtab"},
      {0x1010, "f+0 :0:0 dwarf"},
      {0x1018, "f+8 :0:0 dwarf"},
      {0x1020, ""},
      {0x103f, ""},
      {0x1040, "_b+0 :0:0 symtab"},
      {0x1050, "_c+0 :0:0 symtab"}},
     0},
    {"the symbol names what DWARF names only plainly; a label inside does not",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }"},
     {{0x1000, "__Z1fv"}, {0x1008, "_inside"}},
     {{0x1000, "_Z1fv+0 :0:0 dwarf"}, {0x1008, "_Z1fv+8 :0:0 dwarf"}},
     0},
    {"of several symbols the one that DWARF agrees with",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }"},
     {{0x1000, "_e"}, {0x1000, "_f"}, {0x1000, "_g"}},
     {{0x1000, "f+0 :0:0 dwarf"}},
     0},
    {"names that were hidden in the symbol table do not win",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }"},
     {{0x1000, "__hidden#12_"}},
     {{0x1000, "f+0 :0:0 dwarf"}},
     0},
    {"assembler: rows without functions, named by symbols",
     {.info = "{ 2:4 4:0 8 5 4:0 '/d' }", .line = LINES(AT("1000") "1 2 u4 3 s1 1 2 u4 " END)},
     {{0x1000, "_start"}, {0x1004, "_next"}},
     {{0x1000, "_start+0 /d/a.c:1:0 symtab"},
      {0x1004, "_next+0 /d/a.c:2:0 symtab"},
      {0x1008, "_next+4 :0:0 symtab"}},
     0},
    {"rows outside of what the unit claims are not believed",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }", .line = LINES(AT("3000") "1 2 u4 " END)},
     {{0x3000, "_other"}},
     {{0x3000, "_other+0 :0:0 symtab"}},
     0},
    {"line 0 is line 0, with its file",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }",
      .line = LINES(AT("1000") "3 s-1 1 2 u8 3 s9 1 2 u8 " END)},
     {{0}},
     {{0x1000, "f+0 /d/a.c:0:0 dwarf"}, {0x1008, "f+8 /d/a.c:9:0 dwarf"}},
     0},
    {"functions that overlap: inside a unit the one that begins last, across units the first",
     {.info = UNIT "2 'f' 8:1000 4:20 0 2 'g' 8:1008 4:8 0 0 } " UNIT "2 'h' 8:1000 4:30 0 0 }"},
     {{0}},
     {{0x1000, "f+0 :0:0 dwarf"},
      {0x1008, "g+0 :0:0 dwarf"},
      {0x1010, "f+16 :0:0 dwarf"},
      {0x1020, "h+32 :0:0 dwarf"}},
     0},
    {"Thumb: bit 0 of an address is ignored",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 }"},
     {{0}},
     {{0x1001, "f+0 :0:0 dwarf"}, {0x100f, "f+14 :0:0 dwarf"}, {0x1011, ""}},
     FZ_ARCH_ARM},
};

/* A symbol table of the case's symbols in section 1. */
static void
add_symbols(const struct lookup_case *c, struct sym_macho *macho, struct fz_buffer *table,
            struct fz_buffer *names)
{
    fz_buffer_char(names, 0);
    for (size_t i = 0; i < FZ_ARRAY_LEN(c->symbols) && c->symbols[i].name; i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "4:%zx %x 1 2:0 8:%llx", names->len, (unsigned)N_SECT,
                 (unsigned long long)c->symbols[i].addr);
        dwarf_text_write(entry, false, table);
        fz_buffer_append(names, c->symbols[i].name, strlen(c->symbols[i].name) + 1);
        macho->n_symbols++;
    }
    macho->symbol_table = fz_buffer_span(table);
    macho->string_table = fz_buffer_span(names);
}

static void
append_frames(struct fz_buffer *out, const struct sym_frame *frames, size_t n, uint64_t addr)
{
    for (size_t i = 0; i < n; i++) {
        char path[256];
        sym_frame_path(&frames[i], path, sizeof(path));
        fz_buffer_printf(out, "%s%s", i ? "; " : "", frames[i].name);
        if (!frames[i].inlined)
            fz_buffer_printf(out, "+%llu", (unsigned long long)(addr - frames[i].function_start));
        fz_buffer_printf(out, " %s:%u:%u %s", path, (unsigned)frames[i].line,
                         (unsigned)frames[i].column, sym_source_name(frames[i].source));
    }
}

static struct sym_index *
build_index(const struct sym_macho *macho, struct sym_build_stats *ret_stats)
{
    struct sym_index *index = NULL;
    struct sym_problems problems = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(sym_index_build(macho, NULL, fileno(file), ret_stats, &problems, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fileno(file), &index, NULL), FZ_OK);
    fclose(file);
    return index;
}

/* Lookups made together answer as each alone does, whatever room there is for their frames. */
static void
check_many(const struct sym_index *index, const struct lookup_case *c, size_t room)
{
    struct sym_frame frames[4 * SYM_FRAMES_MAX], alone[SYM_FRAMES_MAX];
    uint64_t addrs[2 * SYM_LOOKUPS_MAX + 1];
    size_t n_frames[SYM_LOOKUPS_MAX], n_known = 0, n_done = 0;
    while (n_known < FZ_ARRAY_LEN(c->expected) && c->expected[n_known].want)
        n_known++;
    for (size_t i = 0; i < FZ_ARRAY_LEN(addrs); i++)
        addrs[i] = c->expected[i % n_known].addr;
    while (n_done < FZ_ARRAY_LEN(addrs)) {
        size_t used = 0,
               n = sym_index_lookup_many(index, addrs + n_done, FZ_ARRAY_LEN(addrs) - n_done,
                                         frames, room, n_frames);
        assert_in_range(n, 1, SYM_LOOKUPS_MAX);
        for (size_t i = 0; i < n; i++) {
            size_t n_alone = sym_index_lookup(index, addrs[n_done + i], alone, SYM_FRAMES_MAX);
            assert_int_equal(n_frames[i], n_alone);
            for (size_t k = 0; k < n_alone; k++) {
                const struct sym_frame *a = &alone[k], *b = &frames[used + k];
                assert_ptr_equal(a->name, b->name);
                assert_ptr_equal(a->file, b->file);
                assert_int_equal(a->line, b->line);
                assert_int_equal(a->function_start, b->function_start);
            }
            used += n_alone;
        }
        n_done += n;
    }
}

static void
test_lookups(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct lookup_case *c = &cases[i];
        struct dwarf_text text = c->text;
        struct dwarf_sample sample;
        struct sym_build_stats stats;
        struct fz_buffer table, names;
        text.abbrev = ABBREVS;
        dwarf_sample_init(&sample, &text);
        fz_buffer_init(&table, 0);
        fz_buffer_init(&names, 0);
        add_symbols(c, &sample.macho, &table, &names);
        if (c->cputype)
            sample.macho.cputype = c->cputype;
        struct sym_index *index = build_index(&sample.macho, &stats);
        for (size_t k = 0; k < FZ_ARRAY_LEN(c->expected) && c->expected[k].want; k++) {
            struct sym_frame frames[8];
            struct fz_buffer got;
            uint64_t addr = c->expected[k].addr;
            fz_buffer_init(&got, 0);
            size_t n = sym_index_lookup(index, addr, frames, 8);
            append_frames(&got, frames, n, c->cputype == FZ_ARCH_ARM ? addr & ~(uint64_t)1 : addr);
            if (strcmp(fz_buffer_cstr(&got), c->expected[k].want) != 0)
                fail_msg("%s: 0x%llx\n got %s\nwant %s", c->name, (unsigned long long)addr,
                         fz_buffer_cstr(&got), c->expected[k].want);
            fz_buffer_deinit(&got);
        }
        check_many(index, c, SYM_FRAMES_MAX);
        check_many(index, c, SYM_FRAMES_MAX + 2);
        check_many(index, c, 4 * SYM_FRAMES_MAX);
        sym_index_close(index);
        fz_buffer_deinit(&table);
        fz_buffer_deinit(&names);
        dwarf_sample_deinit(&sample);
    }
}

/* All names of one address are returned. */
static void
test_aliases(void **state)
{
    (void)state;
    static const struct lookup_case c = {
        .text = {.info = UNIT "2 'f' 8:1000 4:10 0 0 }"},
        .symbols = {
            {0x1000, "_e"}, {0x1000, "_f"}, {0x1000, "_g"}, {0x2000, "_x"}, {0x2000, "_y"}}};
    struct dwarf_text text = c.text;
    struct dwarf_sample sample;
    struct fz_buffer table, names;
    const char *aliases[4];
    text.abbrev = ABBREVS;
    dwarf_sample_init(&sample, &text);
    fz_buffer_init(&table, 0);
    fz_buffer_init(&names, 0);
    add_symbols(&c, &sample.macho, &table, &names);
    struct sym_index *index = build_index(&sample.macho, NULL);
    assert_int_equal(sym_index_aliases(index, 0x1008, aliases, 4), 2);
    assert_string_equal(aliases[0], "_e");
    assert_string_equal(aliases[1], "_g");
    assert_int_equal(sym_index_aliases(index, 0x1008, aliases, 1), 2);
    assert_int_equal(sym_index_aliases(index, 0x2004, aliases, 4), 1);
    assert_string_equal(aliases[0], "_x");
    assert_int_equal(sym_index_aliases(index, 0x1800, aliases, 4), 0);
    sym_index_close(index);
    fz_buffer_deinit(&table);
    fz_buffer_deinit(&names);
    dwarf_sample_deinit(&sample);
}

/* A chain longer than asked for keeps its innermost frames and the outermost. */
static void
test_long_chain(void **state)
{
    (void)state;
    struct fz_buffer info;
    fz_buffer_init(&info, 0);
    fz_buffer_text(&info, UNIT ABSTRACT "2 'f' 8:1000 4:10 ");
    for (int i = 0; i < 300; i++)
        fz_buffer_printf(&info, "3 4:1f 8:1000 4:8 1 %x 1 ", (unsigned)(i % 200 + 1));
    fz_buffer_text(&info, "}");
    struct dwarf_text text = {.info = fz_buffer_cstr(&info), .abbrev = ABBREVS};
    struct dwarf_sample sample;
    struct sym_frame frames[SYM_FRAMES_MAX];
    dwarf_sample_init(&sample, &text);
    struct sym_index *index = build_index(&sample.macho, NULL);
    assert_int_equal(sym_index_lookup(index, 0x1000, frames, SYM_FRAMES_MAX), SYM_FRAMES_MAX);
    assert_string_equal(frames[SYM_FRAMES_MAX - 1].name, "f");
    assert_int_equal(frames[SYM_FRAMES_MAX - 1].line, 1);
    assert_int_equal(sym_index_lookup(index, 0x1000, frames, 3), 3);
    assert_string_equal(frames[1].name, "_Zg");
    assert_string_equal(frames[2].name, "f");
    assert_int_equal(frames[2].line, 1);
    assert_int_equal(sym_index_lookup(index, 0x1000, frames, 1), 1);
    assert_string_equal(frames[0].name, "f");
    assert_int_equal(sym_index_lookup(index, 0x1000, frames, 0), 0);
    sym_index_close(index);
    dwarf_sample_deinit(&sample);
    fz_buffer_deinit(&info);
}

/* A cap that is too small is reported as a limit, and nothing leaks (sanitizers check). */
static void
test_memory_cap(void **state)
{
    (void)state;
    struct dwarf_text text = {.info = UNIT "2 'f' 8:1000 4:10 0 0 }", .abbrev = ABBREVS};
    struct dwarf_sample sample;
    dwarf_sample_init(&sample, &text);
    FILE *file = tmpfile();
    assert_non_null(file);
    bool is_built = false;
    for (size_t cap = 64; !is_built; cap += 512) {
        struct sym_build_options options = {.memory_cap = cap};
        struct fz_error err;
        enum fz_code code =
            sym_index_build(&sample.macho, &options, fileno(file), NULL, NULL, &err);
        assert_true(code == FZ_OK || code == FZ_E_LIMIT || code == FZ_E_NO_MEMORY);
        assert_true(cap < 1 << 20);
        is_built = code == FZ_OK;
    }
    fclose(file);
    dwarf_sample_deinit(&sample);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups), cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_long_chain), cmocka_unit_test(test_memory_cap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
