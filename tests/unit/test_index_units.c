/* Units read by several threads: the index must not show how many there were. */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolicator/index/reader.h"
#include "tests/unit/dwarf_text.h"

enum { UNITS = 60, BAD_UNIT = 17, BAD_LINES = 33 };

/* 1 unit (low_pc, high_pc, stmt_list, comp_dir), 2 function (name, low_pc, length), 3 inlined call,
 * 4 abstract function (linkage name). */
#define ABBREVS                                                 \
    "1 11 1 11 1 12 6 10 17 1b 8 0 0 2 2e 1 3 8 11 1 12 6 0 0 " \
    "3 1d 1 31 13 11 1 12 6 58 b 59 b 57 b 0 0 4 2e 0 6e 8 0 0 0"
/* Files 1 and 3 are the same one; the sequence is of the first unit's code. */
#define HEADER                                                                          \
    "2:4 { 1 1 1 fb e d 0 1 1 1 1 0 0 0 1 0 0 1 'inc' 0 'a.c' u0 u0 u0 'b.h' u1 u0 u0 " \
    "'a.c' u0 u0 u0 0 } "
#define LINES \
    "{" HEADER "0 u9 2 8:1000 5 u3 3 s10 1 2 u8 4 u2 3 s20 1 2 u8 4 u3 3 s-26 1 2 u10 0 u1 1 } "
/* Right after it: a program that is cut off. */
#define CUT_LINES "{" HEADER "0 u9 2 8:9000 1 }"

static void
write_units(struct fz_buffer *info)
{
    for (unsigned i = 0; i < UNITS; i++) {
        unsigned addr = 0x1000 + i * 0x100, lines = i == BAD_LINES ? 0x5a : 0;
        fz_buffer_printf(info, "{ 2:4 4:0 8 1 8:%x 4:100 4:%x '/d' 4 '_Zg%u' ", addr, lines, i % 7);
        fz_buffer_printf(info, "2 'f%u' 8:%x 4:20 3 4:1f 8:%x 4:8 %u 7 9 0 %s 0 } ", i, addr,
                         addr + 8, i % 3 + 1, i == BAD_UNIT ? "7f" : "0");
    }
}

static struct fz_buffer
build(const struct sym_macho *macho, unsigned n_threads, struct sym_build_stats *ret_stats,
      struct sym_problems *problems)
{
    struct sym_build_options options = {.n_threads = n_threads};
    struct fz_buffer bytes;
    char part[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    fz_buffer_init(&bytes, 0);
    assert_int_equal(sym_index_build(macho, &options, fileno(file), ret_stats, problems, NULL),
                     FZ_OK);
    rewind(file);
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;)
        fz_buffer_append(&bytes, part, n);
    fclose(file);
    return bytes;
}

static void
make_sample(struct dwarf_sample *sample)
{
    struct fz_buffer info;
    fz_buffer_init(&info, 0);
    write_units(&info);
    struct dwarf_text text = {
        .info = fz_buffer_cstr(&info), .abbrev = ABBREVS, .line = LINES CUT_LINES};
    dwarf_sample_init(sample, &text);
    fz_buffer_deinit(&info);
}

static void
test_threads(void **state)
{
    (void)state;
    static const unsigned counts[] = {2, 3, 8, 200};
    struct dwarf_sample sample;
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    make_sample(&sample);
    struct fz_buffer one = build(&sample.macho, 1, &stats, &problems);
    assert_int_equal(stats.n_units, UNITS);
    assert_int_equal(stats.n_functions, UNITS);
    assert_int_equal(stats.n_bad_units, 1);
    assert_int_equal(stats.n_bad_line_programs, 1);
    /* Often: who is faster differs from time to time. */
    for (size_t i = 0; i < 25 * FZ_ARRAY_LEN(counts); i++) {
        struct sym_build_stats more_stats;
        struct sym_problems more_problems = {0};
        struct fz_buffer more =
            build(&sample.macho, counts[i % FZ_ARRAY_LEN(counts)], &more_stats, &more_problems);
        assert_int_equal(more.len, one.len);
        assert_memory_equal(more.data, one.data, one.len);
        assert_memory_equal(&more_stats, &stats, sizeof(stats));
        assert_int_equal(more_problems.n, problems.n);
        for (size_t k = 0; k < problems.n; k++) {
            assert_string_equal(more_problems.list[k].text, problems.list[k].text);
            assert_int_equal(more_problems.list[k].count, problems.list[k].count);
        }
        fz_buffer_deinit(&more);
    }
    fz_buffer_deinit(&one);
    dwarf_sample_deinit(&sample);
}

/* A cap that is too small ends a build of several threads too, and nothing leaks. */
static void
test_memory_cap(void **state)
{
    (void)state;
    struct dwarf_sample sample;
    make_sample(&sample);
    bool is_built = false;
    for (size_t cap = 4096; !is_built; cap += 4096) {
        struct sym_build_options options = {.n_threads = 4, .memory_cap = cap};
        FILE *file = tmpfile();
        assert_non_null(file);
        enum fz_code code =
            sym_index_build(&sample.macho, &options, fileno(file), NULL, NULL, NULL);
        assert_true(code == FZ_OK || code == FZ_E_LIMIT);
        assert_true(cap < 4 << 20);
        is_built = code == FZ_OK;
        fclose(file);
    }
    dwarf_sample_deinit(&sample);
}

/* Many small units that refer to one long line program cost as much as a file of the whole length. */
static void
test_shared_line_program(void **state)
{
    (void)state;
    enum { PROGRAM = 1 << 20, MANY = 400 };
    struct fz_buffer info = fz_buffer_make(0), line = fz_buffer_make(0);
    for (unsigned i = 0; i < MANY; i++)
        fz_buffer_text(&info, "{ 2:4 4:0 8 1 8:1000 4:100 4:0 '/d' 0 } ");
    fz_buffer_text(&line, "{" HEADER "0 u9 2 8:1000 ");
    for (unsigned i = 0; i < PROGRAM; i++)
        fz_buffer_text(&line, "1 ");
    fz_buffer_text(&line, "2 u8 0 u1 1 }");
    struct dwarf_text text = {
        .info = fz_buffer_cstr(&info), .abbrev = ABBREVS, .line = fz_buffer_cstr(&line)};
    struct dwarf_sample sample;
    dwarf_sample_init(&sample, &text);
    for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct sym_build_stats stats;
        struct sym_problems problems = {0};
        struct fz_buffer bytes = build(&sample.macho, n_threads, &stats, &problems);
        struct sym_problem *found = sym_problem_find(&problems, SYM_PROBLEM_TOO_MUCH_WORK);
        assert_non_null(found);
        /* 64 MB, and 16 times the length of the file, which is in memory here and has none. */
        assert_string_equal(found->text,
                            "units refer to the same bytes again and again: 63 of 400 were read");
        assert_int_equal(stats.n_units, 63);
        fz_buffer_deinit(&bytes);
    }
    dwarf_sample_deinit(&sample);
    fz_buffer_deinit(&info);
    fz_buffer_deinit(&line);
}

/* Millions of units of a few bytes: as many are listed as a file of this size may have. */
static void
test_too_many_units(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    struct fz_buffer info = fz_buffer_make(0);
    fz_buffer_text(&info, "{ 2:4 4:0 8 1 8:1000 4:100 4:0 '/d' 2 'f' 8:1000 4:20 0 0 } ");
    for (unsigned i = 0; i < MANY; i++)
        fz_buffer_text(&info, "{ 2:4 4:0 8 7f } ");
    struct dwarf_text text = {.info = fz_buffer_cstr(&info), .abbrev = ABBREVS};
    struct dwarf_sample sample;
    dwarf_sample_init(&sample, &text);
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    struct fz_buffer bytes = build(&sample.macho, 1, &stats, &problems);
    struct sym_problem *found = sym_problem_find(&problems, SYM_PROBLEM_TOO_MUCH_WORK);
    assert_non_null(found);
    /* The first unit has 48 bytes, each other 12. 65,536 units, and one for each 512 bytes. */
    assert_string_equal(found->text,
                        "debug_info: its first 67176 units are read, those from 806148 "
                        "on are too many for its 840048 bytes");
    assert_int_equal(stats.n_units, 67176);
    assert_int_equal(stats.n_functions, 1);
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
    fz_buffer_deinit(&info);
}

/* A unit that needs more memory than there is ends the file; the units before it are kept. */
static void
test_too_large_unit(void **state)
{
    (void)state;
    enum { SMALL = 5, ROWS = 100000 };
    /* In the first cases reading the unit needs too much, in the last ones keeping it. */
    static const size_t caps[] = {4 << 20, 6 << 20, 8 << 20, 9 << 20};
    struct fz_buffer info = fz_buffer_make(0), line = fz_buffer_make(0);
    for (unsigned i = 0; i < SMALL; i++)
        fz_buffer_printf(&info, "{ 2:4 4:0 8 1 8:%x 4:10 4:ffffff '/d' 2 'f%u' 8:%x 4:10 0 0 } ",
                         0x1000 + 16 * i, i, 0x1000 + 16 * i);
    fz_buffer_text(&info, "{ 2:4 4:0 8 1 8:1000 4:1000000 4:0 '/d' 0 } ");
    fz_buffer_text(&line, "{" HEADER "0 u9 2 8:1000 ");
    for (unsigned i = 0; i < ROWS; i++)
        fz_buffer_text(&line, "2 u1 3 s1 1 2 u1 3 s2 1 ");
    fz_buffer_text(&line, "2 u8 0 u1 1 }");
    struct dwarf_text text = {
        .info = fz_buffer_cstr(&info), .abbrev = ABBREVS, .line = fz_buffer_cstr(&line)};
    struct dwarf_sample sample;
    dwarf_sample_init(&sample, &text);
    for (size_t i = 0; i < sample.macho.n_sections; i++) {
        if (sample.sections[i].addr == 0x1000)
            sample.sections[i].size = 0x1000000;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(caps); i++) {
        struct sym_build_options options = {.memory_cap = caps[i]};
        struct sym_build_stats stats;
        struct sym_problems problems = {0};
        FILE *file = tmpfile();
        assert_non_null(file);
        assert_int_equal(
            sym_index_build(&sample.macho, &options, fileno(file), &stats, &problems, NULL), FZ_OK);
        struct sym_problem *found = sym_problem_find(&problems, SYM_PROBLEM_TOO_MUCH_WORK);
        assert_non_null(found);
        assert_string_equal(found->text, "units need more memory than a file of this size gets: "
                                         "5 of 6 were read");
        assert_int_equal(stats.n_units, SMALL);
        assert_int_equal(stats.n_functions, SMALL);
        assert_int_equal(stats.n_lines, 0);
        fclose(file);
    }
    dwarf_sample_deinit(&sample);
    fz_buffer_deinit(&info);
    fz_buffer_deinit(&line);
}

/* Sections that claim the whole address space: what is in the first part of it is found. */
static void
test_code_without_end(void **state)
{
    (void)state;
    struct dwarf_sample sample;
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    make_sample(&sample);
    struct sym_section *text = &sample.sections[0];
    const struct sym_section was = *text;
    text->size = UINT64_MAX - text->addr - 1;
    struct fz_buffer bytes = build(&sample.macho, 1, &stats, &problems);
    assert_int_equal(stats.n_functions, UNITS);
    assert_non_null(sym_problem_find(&problems, SYM_PROBLEM_BAD_SECTION));
    *text = was;
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
}

/* Two numbers of one file are one file: the lines of both count from the lower one. */
static void
test_file_twice(void **state)
{
    (void)state;
    static const struct {
        uint64_t addr;
        const char *file;
        uint32_t line;
    } want[] = {{0x1000, "a.c", 11}, {0x1008, "b.h", 31}, {0x1010, "a.c", 5}};
    struct dwarf_sample sample;
    struct sym_index *index = NULL;
    struct sym_frame frames[4];
    make_sample(&sample);
    struct fz_buffer bytes = build(&sample.macho, 2, NULL, NULL);
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    for (size_t i = 0; i < FZ_ARRAY_LEN(want); i++) {
        assert_in_range(sym_index_lookup(index, want[i].addr, frames, 4), 1, 2);
        assert_string_equal(frames[0].file, want[i].file);
        assert_int_equal(frames[0].line, want[i].line);
    }
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
}

/* Two units with line tables for the same code, and no function in the whole file. */
static void
test_lines_alone(void **state)
{
    (void)state;
    const struct dwarf_text text = {.info = "{ 2:4 4:0 8 1 8:1000 4:100 4:0 '/d' 0 } "
                                            "{ 2:4 4:0 8 1 8:1000 4:100 4:0 '/d' 0 }",
                                    .abbrev = ABBREVS,
                                    .line = LINES};
    struct dwarf_sample sample;
    struct sym_build_stats stats;
    struct sym_index *index = NULL;
    dwarf_sample_init(&sample, &text);
    struct fz_buffer bytes = build(&sample.macho, 1, &stats, NULL);
    assert_int_equal(stats.n_units, 2);
    assert_int_equal(stats.n_functions, 0);
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
}

/* Functions that a unit has in no order, `step` bytes apart. */
static void
check_unsorted(uint64_t step)
{
    enum { FUNCTIONS = 97 };
    struct fz_buffer info;
    struct dwarf_sample sample;
    struct sym_index *index = NULL;
    struct sym_frame frame;
    fz_buffer_init(&info, 0);
    fz_buffer_text(&info, "{ 2:4 4:0 8 1 8:1000 4:f000 4:0 '/d' ");
    for (unsigned i = 0; i < FUNCTIONS; i++)
        fz_buffer_printf(&info, "2 'f%u' 8:%llx 4:20 0 ", i,
                         (unsigned long long)(0x1000 + i * 31 % FUNCTIONS * step));
    fz_buffer_text(&info, "0 }");
    struct dwarf_text text = {.info = fz_buffer_cstr(&info), .abbrev = ABBREVS};
    dwarf_sample_init(&sample, &text);
    for (size_t i = 0; i < sample.macho.n_sections; i++) {
        if (sample.sections[i].addr == 0x1000)
            sample.sections[i].size = (FUNCTIONS + 1) * step;
    }
    struct fz_buffer bytes = build(&sample.macho, 1, NULL, NULL);
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        char name[16];
        uint64_t addr = 0x1000 + i * 31 % FUNCTIONS * step;
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(sym_index_lookup(index, addr + 0x1c, &frame, 1), 1);
        assert_string_equal(frame.name, name);
        assert_int_equal(frame.function_start, addr);
        assert_int_equal(sym_index_lookup(index, addr + 0x20, &frame, 1), 0);
    }
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
    fz_buffer_deinit(&info);
}

/* Near, within 4 GB and beyond. There are more ranges than rows of the line table: none. */
static void
test_unsorted(void **state)
{
    (void)state;
    check_unsorted(0x124);
    check_unsorted(0x2000000);
    check_unsorted(0x40000000);
}

/* Exports name code that the symbol table leaves without a name, and are reported as such. */
static void
test_exports(void **state)
{
    (void)state;
    static const uint8_t trie[] = {0, 1, '_', 'f', 0, 6, 3, 0, 0x90, 0x20, 0}; /* _f at 0x1010 */
    struct dwarf_text text = {.info = NULL};
    struct dwarf_sample sample;
    struct sym_index *index = NULL;
    struct sym_frame frame;
    struct sym_problems problems = {0};
    dwarf_sample_init(&sample, &text);
    sample.macho.exports_trie = fz_span_make(trie, sizeof(trie));
    sample.macho.text_vmaddr = 0;
    struct fz_buffer bytes = build(&sample.macho, 1, NULL, &problems);
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    assert_int_equal(sym_index_lookup(index, 0x100c, &frame, 1), 0);
    assert_int_equal(sym_index_lookup(index, 0x1014, &frame, 1), 1);
    assert_string_equal(frame.name, "_f");
    assert_int_equal(frame.source, SYM_SOURCE_EXPORTS);
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
    dwarf_sample_deinit(&sample);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_memory_cap),
                                       cmocka_unit_test(test_shared_line_program),
                                       cmocka_unit_test(test_too_many_units),
                                       cmocka_unit_test(test_too_large_unit),
                                       cmocka_unit_test(test_code_without_end),
                                       cmocka_unit_test(test_file_twice),
                                       cmocka_unit_test(test_lines_alone),
                                       cmocka_unit_test(test_unsorted),
                                       cmocka_unit_test(test_exports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
