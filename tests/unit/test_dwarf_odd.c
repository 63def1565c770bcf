/* What compilers and linkers may write and seldom do, through an index: units that others import,
 * type units, 64-bit sections, either byte order, strings and addresses by number. libdwarf must
 * read the same. */
#define _GNU_SOURCE /* memfd_create */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/dwarf_text.h"

/*
 * 1 unit (low_pc, high_pc, stmt_list, comp_dir), 2 function (name, low_pc, length), 3 inlined call
 * (origin, low_pc, length, file, line), 4 abstract function (linkage name), 5 partial unit, 6
 * import, 7 type unit, 8 type with a method, 9 function (origin, low_pc, length), a function
 * (linkage name, specification, ranges), b unit without addresses.
 */
#define ABBREVS                                                                                  \
    "1 11 1 11 1 12 6 10 17 1b 8 0 0 2 2e 1 3 8 11 1 12 6 0 0 3 1d 0 31 10 11 1 12 6 58 b 59 b " \
    "0 0 4 2e 0 6e 8 0 0 5 3c 1 0 0 6 3d 0 18 10 0 0 7 41 1 13 b 0 0 8 13 1 3 8 0 0 "            \
    "9 2e 0 31 10 11 1 12 6 0 0 a 2e 0 47 10 55 17 0 0 b 11 1 0 0 0"
/* Bases and all that is found by number: c unit of version 5, d function (strx, rnglistx), e
 * (strx3, addrx, length), f (line_strp, addrx2). */
#define NUMBERED                                                                                 \
    "c 11 1 72 17 73 17 74 17 10 17 1b 1f 11 1b 0 0 d 2e 0 3 1a 55 23 0 0 e 2e 0 3 27 11 1b 12 " \
    "6 0 0 f 2e 0 3 1f 11 2a 12 6 0 0 0"
#define LENGTHS "fb e d 0 1 1 1 1 0 0 0 1 0 0 1 "
#define LINE                                                                                       \
    "{ 2:4 { 1 1 1 " LENGTHS "0 'a.c' u0 u0 u0 0 } 0 u9 2 8:1000 5 u3 3 s10 1 2 u8 3 s1 1 2 u248 " \
    "0 u1 1 }"
#define LINE5(open, close, in, out, offset)                                                     \
    open " 2:5 8 0 " in " 1 1 1 " LENGTHS "1 u1 u31 u1 " offset ":0 2 u1 u31 u2 u11 u2 " offset \
         ":3 0 " offset ":3 0 " out " 0 u9 2 8:1000 5 u3 3 s10 1 9 2:100 0 u1 1 " close
#define UNIT "1 8:1000 4:100 4:0 '/d' "

struct expected {
    uint64_t addr;
    const char *want; /* frames: name line */
};

static const struct odd_case {
    const char *name;
    struct dwarf_text text; /* abbrev NULL: the table above */
    struct expected expected[4];
    uint64_t n_functions; /* as libdwarf counts them */
} cases[] = {
    {"a function out of a partial unit",
     {.info = "{ 2:4 4:0 8 5 4 '_Zg' 0 } "
              "{ 2:4 4:0 8 " UNIT "6 4:b 2 'f' 8:1000 4:20 3 4:c 8:1008 4:8 1 7 0 0 }",
      .line = LINE},
     {{0x1000, "f 11"}, {0x1008, "_Zg 12; f 7"}, {0x1020, ""}},
     1},
    {"a partial unit of version 5, after those that import it",
     {.info = "{ 2:5 1 8 4:0 " UNIT "6 4:43 9 4:44 8:1000 4:20 0 } { 2:5 3 8 4:0 5 4 '_Zg' 0 }",
      .line = LINE},
     {{0x1000, "_Zg 11"}, {0x1020, ""}},
     1},
    {"units that import each other",
     {.info = "{ 2:4 4:0 8 5 6 4:1d 0 } { 2:4 4:0 8 5 6 4:b 0 } "
              "{ 2:4 4:0 8 " UNIT "6 4:b 2 'f' 8:1000 4:20 0 0 }",
      .line = LINE},
     {{0x1000, "f 11"}},
     1},
    {"units without entries, as old tools leave them",
     {.info = "{ 2:4 4:0 8 } { 2:4 4:0 8 " UNIT "2 'f' 8:1000 4:20 0 0 } { 2:2 4:0 8 } "
              "{ 2:4 4:0 8 " UNIT "2 'g' 8:1020 4:20 0 0 } { 2:3 4:0 8 }",
      .line = LINE},
     {{0x1000, "f 11"}, {0x1020, "g 12"}},
     2},
    {"a type unit of version 5 has no code",
     {.info = "{ 2:5 2 8 4:0 8:1234 4:1a 7 4 8 'type' 2 'method' 8:1000 4:10 0 0 0 } "
              "{ 2:5 1 8 4:0 " UNIT "2 'f' 8:1000 4:20 0 0 }",
      .line = LINE},
     {{0x1000, "f 11"}, {0x1018, "f 12"}},
     1},
    {"type units of version 4 are not looked at",
     {.info = "{ 2:4 4:0 8 " UNIT "2 'f' 8:1000 4:20 0 0 }",
      .line = LINE,
      .types = "{ 2:4 4:0 8 8:1234 4:19 7 4 8 'type' 2 'method' 8:1000 4:10 0 0 0 }"},
     {{0x1000, "f 11"}, {0x1018, "f 12"}},
     1},
    {"a specification and an origin in two other units",
     {.info = "{ 2:4 4:0 8 b 4 '_Zg' 0 } { 2:4 4:0 8 b 4 '_Zh' 0 } "
              "{ 2:4 4:0 8 " UNIT "a 4:c 4:0 9 4:1e 8:1040 4:10 0 }",
      .line = LINE,
      .ranges = "8:20 8:28 8:ffffffffffffffff 8:1000 8:0 8:8 8:0 8:0"},
     {{0x1000, "_Zg 11"}, {0x1010, ""}, {0x1024, "_Zg 12"}, {0x1040, "_Zh 12"}},
     2},
    {"strings and ranges by number",
     {.info = "{ 2:5 1 8 4:0 c 4:8 4:8 4:c 4:0 4:0 u0 d u1 u0 e 3:0 u1 4:8 f 4:3 2:2 4:4 0 }",
      .abbrev = NUMBERED,
      .line = LINE5("{", "}", "{", "}", "4"),
      .line_str = "'/d' 'a.c'",
      .str = "'x' 'name'",
      .str_offsets = "{ 2:5 2:0 4:0 4:2 }",
      .addr = "{ 2:5 8 0 8:1000 8:1040 8:1080 }",
      .rnglists = "{ 2:5 8 0 4:1 4:4 4 0 20 0 }"},
     {{0x1000, "name 11"}, {0x1020, ""}, {0x1040, "x 11"}, {0x1080, "a.c 11"}},
     3},
    {"the same, 64-bit",
     {.info = "[ 2:5 1 8 8:0 c 8:10 8:10 8:14 8:0 8:0 u0 d u1 u0 e 3:0 u1 4:8 0 ]",
      .abbrev = NUMBERED,
      .line = LINE5("[", "]", "(", ")", "8"),
      .line_str = "'/d' 'a.c'",
      .str = "'x' 'name'",
      .str_offsets = "[ 2:5 2:0 8:0 8:2 ]",
      .addr = "[ 2:5 8 0 8:1000 8:1040 ]",
      .rnglists = "[ 2:5 8 0 4:1 8:8 4 0 20 0 ]"},
     {{0x1000, "name 11"}, {0x1020, ""}, {0x1040, "x 11"}},
     2},
    {"the same, 64-bit and big-endian",
     {.info = "[ 2:5 1 8 8:0 c 8:10 8:10 8:14 8:0 8:0 u0 d u1 u0 e 3:0 u1 4:8 0 ]",
      .abbrev = NUMBERED,
      .line = LINE5("[", "]", "(", ")", "8"),
      .line_str = "'/d' 'a.c'",
      .str = "'x' 'name'",
      .str_offsets = "[ 2:5 2:0 8:0 8:2 ]",
      .addr = "[ 2:5 8 0 8:1000 8:1040 ]",
      .rnglists = "[ 2:5 8 0 4:1 8:8 4 0 20 0 ]",
      .big_endian = true},
     {{0x1000, "name 11"}, {0x1020, ""}, {0x1040, "x 11"}},
     2},
};

static void
report(void *user, const char *text)
{
    (void)user;
    print_message("%s\n", text);
}

static void
check_lookups(const struct odd_case *c, const struct sym_index *index)
{
    for (size_t k = 0; k < FZ_ARRAY_LEN(c->expected) && c->expected[k].want; k++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer got = fz_buffer_make(0);
        struct sym_frame frames[4];
        size_t n = sym_index_lookup(index, c->expected[k].addr, frames, 4);
        for (size_t i = 0; i < n; i++) {
            fz_buffer_printf(&got, "%s%s %u", i ? "; " : "", frames[i].name,
                             (unsigned)frames[i].line);
            assert_string_equal(frames[i].file, "a.c");
            assert_string_equal(frames[i].directory, "/d");
        }
        assert_string_equal(fz_buffer_cstr(&got), c->expected[k].want);
    }
}

static void
test_odd(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct odd_case *c = &cases[i];
        struct dwarf_text text = c->text;
        struct dwarf_sample sample;
        struct sym_problems problems = {0};
        struct sym_build_stats stats;
        struct sym_verify_stats verified = {0};
        struct sym_index *index;
        FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
        if (!text.abbrev)
            text.abbrev = ABBREVS;
        print_message("%s\n", c->name);
        dwarf_sample_init(&sample, &text);
        assert_int_equal(sym_index_build(&sample.macho, NULL, fd, &stats, &problems, NULL), FZ_OK);
        for (size_t k = 0; k < problems.n; k++)
            print_message("%s: %s\n", sym_problem_kind_name(problems.list[k].kind),
                          problems.list[k].text);
        assert_int_equal(problems.n, 0);
        assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
        check_lookups(c, index);
        assert_int_equal(sym_verify(&sample.macho, index, report, NULL, &verified, NULL), FZ_OK);
        assert_int_equal(verified.n_differences, 0);
        assert_int_equal(verified.n_functions, c->n_functions);
        assert_true(verified.n_rows > 0);
        sym_index_close(index);
        dwarf_sample_deinit(&sample);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_odd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
