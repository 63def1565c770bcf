/* Features and problems of a slice; the index of each fixture against libdwarf. */
#define _GNU_SOURCE /* memfd_create */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/corpus.h"
#include "tests/unit/macho_writer.h"

static const uint32_t CODE = 0x80000400;
static const uint8_t uuid[16] = {1};
/* A subprogram, an inlined call, a variable with a location; two tables. */
static const uint8_t abbrevs_full[] = {1,    0x2e, 1, 0x11, 1, 0,    0, 2,    0x1d, 0,
                                       0x31, 0x13, 0, 0,    3, 0x34, 0, 0x02, 0x18, 0,
                                       0,    0,    1, 0x11, 0, 0,    0, 0};
static const uint8_t abbrevs_lines[] = {1, 0x2e, 1, 0x11, 1, 0, 0, 3, 0x34, 0, 0x03, 0x08, 0, 0, 0};
/* Two units, versions 4 and 5. */
static const uint8_t info[] = {3, 0, 0, 0, 4, 0, 0, 3, 0, 0, 0, 5, 0, 0};

enum {
    HAS_DWARF = 1,
    HAS_LINES = 2,
    HAS_SYMBOLS = 4,
    HAS_STARTS = 8,
    IS_BINARY = 16,
    NO_UUID = 32,
    IS_ENCRYPTED = 64,
    HIDDEN = 128,
    LINES_ONLY = 256,
    HAS_EH = 512,
    EMPTY_EH = 1024
};

static void
make(unsigned what, struct fz_buffer *out)
{
    static const uint8_t eh_frame[] = {8, 0, 0, 0, 0,  0, 0, 0, 1, 0, 0, 0,
                                       8, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0};
    struct macho_writer w = macho_writer_make();
    w.uuid = what & NO_UUID ? NULL : uuid;
    w.filetype = what & IS_BINARY ? 2 : 10;
    w.crypt_id = what & IS_ENCRYPTED ? 1 : 0;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, CODE, (struct fz_span){NULL, 0});
    w.sections[0].size = 0x100;
    if (what & (HAS_EH | EMPTY_EH))
        macho_writer_section(&w, "__TEXT", "__eh_frame", 0x1100, 0,
                             fz_span_make(eh_frame, what & HAS_EH ? sizeof(eh_frame) : 12));
    if (what & HAS_DWARF) {
        macho_writer_section(&w, "__DWARF", "__debug_info", 0x2000, 0,
                             fz_span_make(info, sizeof(info)));
        macho_writer_section(&w, "__DWARF", "__debug_abbrev", 0x2100, 0,
                             what & LINES_ONLY ? fz_span_make(abbrevs_lines, sizeof(abbrevs_lines))
                                               : fz_span_make(abbrevs_full, sizeof(abbrevs_full)));
    }
    if (what & HAS_LINES)
        macho_writer_section(&w, "__DWARF", "__debug_line", 0x2200, 0, fz_span_cstr("lines"));
    if (what & HAS_SYMBOLS)
        macho_writer_symbol(&w, what & HIDDEN ? "__hidden#1_" : "_main", 0x0f, 1, 0, 0x1000);
    if (what & HAS_STARTS)
        w.function_starts = fz_span_make("\x10\0", 2);
    fz_buffer_init(out, 0);
    macho_write(&w, out);
}

static void
test_features_and_problems(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned what;
        struct sym_features want; /* without counts */
        const char *problems;     /* kinds */
    } cases[] = {
        {"full dSYM",
         HAS_DWARF | HAS_LINES | HAS_SYMBOLS,
         {.symtab = true, .dwarf = true, .lines = true, .inlines = true, .variables = true},
         ""},
        {"line tables only",
         HAS_DWARF | HAS_LINES | HAS_SYMBOLS | LINES_ONLY,
         {.symtab = true, .dwarf = true, .lines = true},
         ""},
        {"no lines",
         HAS_DWARF | HAS_SYMBOLS,
         {.symtab = true, .dwarf = true, .inlines = true, .variables = true},
         "no_lines "},
        {"stub dSYM", HAS_SYMBOLS, {.symtab = true}, "no_dwarf "},
        {"binary",
         HAS_SYMBOLS | HAS_STARTS | IS_BINARY | HAS_EH,
         {.symtab = true, .function_starts = true, .unwind = true},
         "no_dwarf "},
        {"frame section without functions",
         HAS_SYMBOLS | IS_BINARY | EMPTY_EH,
         {.symtab = true},
         "no_dwarf "},
        {"stripped and encrypted",
         HAS_STARTS | IS_BINARY | IS_ENCRYPTED | NO_UUID,
         {.function_starts = true},
         "no_uuid encrypted no_dwarf stripped "},
        {"hidden names",
         HAS_DWARF | HAS_LINES | HAS_SYMBOLS | HIDDEN | LINES_ONLY,
         {.symtab = true, .dwarf = true, .lines = true},
         "hidden_names "},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer bytes;
        struct fz_arena arena;
        struct sym_macho macho;
        struct sym_problems problems = {0};
        struct sym_features features;
        struct fz_buffer kinds;
        print_message("%s\n", cases[i].name);
        make(cases[i].what, &bytes);
        fz_arena_init(&arena, 1 << 20);
        fz_buffer_init(&kinds, 0);
        assert_int_equal(sym_macho_open(fz_buffer_span(&bytes), &arena, &macho, &problems, NULL),
                         FZ_OK);
        assert_int_equal(sym_inspect(&macho, NULL, &arena, &features, &problems, NULL), FZ_OK);
        for (size_t k = 0; k < problems.n; k++) {
            fz_buffer_printf(&kinds, "%s ", sym_problem_kind_name(problems.list[k].kind));
            assert_true(strlen(problems.list[k].text) + 1 < SYM_PROBLEM_TEXT); /* not cut */
        }
        assert_string_equal(fz_buffer_cstr(&kinds), cases[i].problems);
        assert_int_equal(features.symtab, cases[i].want.symtab);
        assert_int_equal(features.function_starts, cases[i].want.function_starts);
        assert_int_equal(features.dwarf, cases[i].want.dwarf);
        assert_int_equal(features.lines, cases[i].want.lines);
        assert_int_equal(features.inlines, cases[i].want.inlines);
        assert_int_equal(features.variables, cases[i].want.variables);
        assert_int_equal(features.unwind, cases[i].want.unwind);
        assert_int_equal(features.n_units, features.dwarf ? 2 : 0);
        assert_int_equal(features.dwarf_min, features.dwarf ? 4 : 0);
        assert_int_equal(features.dwarf_max, features.dwarf ? 5 : 0);
        fz_buffer_deinit(&kinds);
        fz_buffer_deinit(&bytes);
        fz_arena_deinit(&arena);
    }
}

static void
count(void *user, const char *text)
{
    size_t *n = user;
    if ((*n)++ < 3)
        print_message("  %s\n", text);
}

static struct sym_index *
build(const struct sym_macho *macho)
{
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    struct sym_build_options options = {.n_threads = 1};
    struct sym_build_stats stats;
    struct sym_index *index = NULL;
    assert_int_equal(sym_index_build(macho, &options, fd, &stats, NULL, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
    return index;
}

static void
verify_file(const char *path, struct sym_verify_stats *total)
{
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    assert_int_equal(sym_file_open(path, &file, NULL), FZ_OK);
    for (size_t i = 0; i < file->n_slices; i++) {
        const struct sym_file_slice *slice = file->slices[i];
        struct sym_verify_stats stats = {0};
        size_t n_lines = 0;
        if (!sym_file_slice_has_dwarf(slice))
            continue;
        print_message("%s %s\n", slice->path, slice->arch);
        FZ_CLEANUP(sym_index_closep) struct sym_index *index = build(&slice->macho);
        assert_int_equal(sym_verify(&slice->macho, index, count, &n_lines, &stats, NULL), FZ_OK);
        assert_int_equal(stats.n_differences, 0);
        assert_int_equal(n_lines, 0);
        total->n_units += stats.n_units;
        total->n_functions += stats.n_functions;
        total->n_inlines += stats.n_inlines;
        total->n_rows += stats.n_rows;
    }
}

static void
test_fixtures_against_libdwarf(void **state)
{
    (void)state;
    struct sym_verify_stats total = {0};
    verify_file(FZ_FIXTURES, &total);
    assert_true(total.n_functions > 50);
    assert_true(total.n_inlines > 20);
    assert_true(total.n_rows > 500);
}

/* The index of another build of the same program must not pass. */
static void
test_wrong_index_is_told(void **state)
{
    (void)state;
    FZ_CLEANUP(sym_file_closep) struct sym_file *a = NULL;
    FZ_CLEANUP(sym_file_closep) struct sym_file *b = NULL;
    struct sym_verify_stats stats = {0};
    size_t n_lines = 0;
    assert_int_equal(sym_file_open(FZ_FIXTURES "/calls-arm64-dw4-O0/calls.dSYM", &a, NULL), FZ_OK);
    assert_int_equal(sym_file_open(FZ_FIXTURES "/calls-arm64-dw4-O2/calls.dSYM", &b, NULL), FZ_OK);
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = build(&b->slices[0]->macho);
    assert_int_equal(sym_verify(&a->slices[0]->macho, index, count, &n_lines, &stats, NULL), FZ_OK);
    assert_true(stats.n_differences > 0);
    assert_int_equal(n_lines, stats.n_differences);
}

static void
test_corpus_against_libdwarf(void **state)
{
    (void)state;
    static const char *const folders[] = {"dsyms", "generated", "binaries", "matched"};
    struct sym_verify_stats total = {0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(folders); i++) {
        char path[512];
        if (!corpus_path(folders[i], path, sizeof(path)))
            skip();
        verify_file(path, &total);
    }
    print_message("%llu units, %llu functions, %llu inlined calls, %llu rows\n",
                  (unsigned long long)total.n_units, (unsigned long long)total.n_functions,
                  (unsigned long long)total.n_inlines, (unsigned long long)total.n_rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_and_problems),
        cmocka_unit_test(test_fixtures_against_libdwarf),
        cmocka_unit_test(test_wrong_index_is_told),
        cmocka_unit_test(test_corpus_against_libdwarf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
