/* Scanning units: functions, inlined calls, ranges, names, and what broken units cost. */
#include "symbolicator/dwarf/dwarf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"
#include "tests/unit/dwarf_text.h"

/*
 * 1 unit (low_pc), 2 function (name, low_pc, length), 3 inlined call (origin, low_pc, length, file,
 * line, column), 4 abstract function (linkage name, name), 5 function (name, ranges), 6 block with
 * an expression, 7 function (origin, low_pc, end address), 8 variable (string, block, sdata, flag),
 * 9 function (implicit name, rnglistx), a function (strx1, addrx1, length), b unit with bases.
 */
#define ABBREVS                                                                                    \
    "1 11 1 11 1 0 0 2 2e 1 3 8 11 1 12 6 0 0 3 1d 1 31 13 11 1 12 6 58 b 59 b 57 b 0 0 "          \
    "4 2e 0 6e 8 3 8 0 0 5 2e 0 3 8 55 17 0 0 6 b 1 2 18 0 0 7 2e 0 31 10 11 1 12 1 0 0 "          \
    "8 34 0 3 8 2 a 1c d 3f 19 0 0 9 2e 0 3 8 3b 21 s-7 55 23 0 0 a 2e 0 3 25 11 29 12 6 0 0 "     \
    "b 11 1 11 1 u114 17 u115 17 u116 17 0 0 c 1d 0 31 13 11 1b 12 6 58 b 59 5 57 b 0 0 "          \
    "d 2e 1 31 13 11 1b 12 6 0 0 e 1d 0 31 13 11 1 12 6 59 f 57 b 0 0 f 1d 0 31 15 11 1 12 6 0 0 " \
    "10 34 0 3 1a 49 13 3a b 0 0 0"
#define HEAD4 "{ 2:4 4:0 8 "
#define UNIT4 HEAD4 "1 8:1000 "
/* The DIE after UNIT4 is at 0x14. */
#define ABSTRACT "4 '_Zg' 'g' "

struct scan_case {
    const char *name;
    struct dwarf_text text;
    const char *want; /* per node: name parent [ranges] call */
    const char *problem;
    enum fz_code code;
};

static const struct scan_case cases[] = {
    {"a function", {.info = UNIT4 "2 'f' 8:1000 4:10 0 0 }"}, "f - [1000-1010]\n", NULL, FZ_OK},
    {"a call inlined in a call",
     {.info = UNIT4 ABSTRACT
      "2 'f' 8:1000 4:40 3 4:14 8:1004 4:10 1 7 9 3 4:14 8:1008 4:4 2 8 0 0 0 0 0 }"},
     "f - [1000-1040]\n_Zg 0 [1004-1014] 1:7:9\n_Zg 1 [1008-100c] 2:8:0\n",
     NULL,
     FZ_OK},
    {"blocks and variables between them do not matter",
     {.info = UNIT4 ABSTRACT "2 'f' 8:1000 4:40 8 'v' 2 aa bb s-300 6 3 1 2 3 8 'w' 0 s1 3 4:14 "
                             "8:1004 4:10 1 7 9 0 0 8 'x' 0 s0 0 "
                             "2 'h' 8:2000 4:4 0 0 }"},
     "f - [1000-1040]\n_Zg 0 [1004-1014] 1:7:9\nh - [2000-2004]\n",
     NULL,
     FZ_OK},
    {"an origin by ref_addr, high_pc as an address",
     {.info = UNIT4 ABSTRACT "7 4:14 8:1000 8:1020 0 }"},
     "_Zg - [1000-1020]\n",
     NULL,
     FZ_OK},
    {"an origin in another unit",
     {.info = UNIT4 ABSTRACT "0 } " UNIT4 "7 4:14 8:1000 8:1020 0 }"},
     "_Zg - [1000-1020]\n",
     NULL,
     FZ_OK},
    {"an origin that leads nowhere",
     {.info = UNIT4 "7 4:9999 8:1000 8:1020 0 }"},
     "? - [1000-1020]\n",
     NULL,
     FZ_OK},
    {"an origin that is itself",
     {.info = UNIT4 "7 4:14 8:1000 8:1020 0 }"},
     "? - [1000-1020]\n",
     NULL,
     FZ_OK},
    {"dropped functions: 0, all ones, outside, empty, wrapping",
     {.info = UNIT4 "2 'a' 8:0 4:10 0 2 'b' 8:ffffffffffffffff 4:10 0 2 'c' 8:200000 4:10 0 "
                    "2 'd' 8:1000 4:0 0 2 'e' 8:1000 4:10 0 0 }"},
     "e - [1000-1010]\n",
     NULL,
     FZ_OK},
    {"calls inlined in a dropped function go with it",
     {.info = UNIT4 ABSTRACT "2 'a' 8:0 4:10 3 4:14 8:4 4:4 1 7 9 0 0 2 'e' 8:1000 4:10 0 0 }"},
     "e - [1000-1010]\n",
     NULL,
     FZ_OK},
    {"ranges count from the unit's base until a base is chosen",
     {.info = UNIT4 "5 'f' 4:0 0 }",
      .ranges = "8:0 8:10 8:20 8:20 8:30 8:40 8:ffffffffffffffff 8:2000 8:0 8:8 8:0 8:0"},
     "f - [1000-1010 1030-1040 2000-2008]\n",
     NULL,
     FZ_OK},
    {"dead ranges",
     {.info = UNIT4 "5 'f' 4:0 0 }",
      .ranges = "8:fffffffffffffffe 8:ffffffffffffffff 8:8 8:10 8:0 8:0"},
     "f - [1008-1010]\n",
     NULL,
     FZ_OK},
    {"ranges that are cut off",
     {.info = UNIT4 "5 'f' 4:0 0 }", .ranges = "8:8 8:10 8:20"},
     "f - [1008-1010]\n",
     NULL,
     FZ_OK},
    {"range lists of version 5, all kinds",
     {.info = "{ 2:5 1 8 4:0 b 8:1000 4:8 4:8 4:c 9 'f' 0 0 }",
      .addr = "{ 2:5 8 0 8:3000 8:4000 }",
      .rnglists = "{ 2:5 8 0 4:1 4:4 4 10 20 1 0 4 0 8 2 0 1 3 1 u16 5 8:5000 4 1 2 6 8:6000 "
                  "8:6004 7 8:7000 u4 0 }"},
     "f - [1010-1020 3000-3008 3000-4000 4000-4010 5001-5002 6000-6004 7000-7004]\n",
     NULL,
     FZ_OK},
    {"strx and addrx",
     {.info = "{ 2:5 1 8 4:0 b 8:1000 4:8 4:8 4:c a 1 1 4:8 0 }",
      .addr = "{ 2:5 8 0 8:3000 8:4000 }",
      .str = "'x' 'name'",
      .str_offsets = "{ 2:5 2:0 4:0 4:2 }"},
     "name - [4000-4008]\n",
     NULL,
     FZ_OK},
    {"one LEB128 among the attributes: first, last but one, padded, cut off",
     {.info = "{ 2:5 1 8 4:0 b 8:1000 4:8 4:8 4:c 4 '_Zg' 'g' d 4:21 u1 4:40 c 4:21 80 80 0 4:8 1 "
              "2:7 9 "
              "e 4:21 8:4010 4:8 u300 5 10 u1 4:21 1 f u33 8:4020 4:8 10 u300 4:0 2 c 4:21 80 }",
      .addr = "{ 2:5 8 0 8:4004 8:4000 }"},
     "_Zg - [4000-4040]\n_Zg 0 [4004-400c] 1:7:9\n_Zg 0 [4010-4018] 0:300:5\n"
     "_Zg 0 [4020-4028] 0:0:0\n",
     NULL,
     FZ_E_MALFORMED},
    {"an index outside of its table",
     {.info = "{ 2:5 1 8 4:0 b 8:1000 4:8 4:8 4:c a 9 9 4:8 0 }"},
     "",
     NULL,
     FZ_OK},
    {"a DIE without abbreviation ends the unit there",
     {.info = UNIT4 "2 'f' 8:1000 4:10 0 7f 2 'g' 8:2000 4:10 0 0 }"},
     "f - [1000-1010]\n",
     NULL,
     FZ_E_MALFORMED},
    {"a DIE that leaves its unit",
     {.info = UNIT4 "2 'f' 8:1000 4:10 0 8 'v' 80 }"},
     "f - [1000-1010]\n",
     NULL,
     FZ_E_MALFORMED},
    {"the zeros at the end may be missing",
     {.info = UNIT4 "2 'f' 8:1000 4:10 }"},
     "f - [1000-1010]\n",
     NULL,
     FZ_OK},
    {"a bad unit costs only itself",
     {.info = "{ 2:4 4:5555 8 1 } " UNIT4 "2 'f' 8:1000 4:10 0 0 }"},
     "f - [1000-1010]\n",
     "bad_unit",
     FZ_OK},
    {"version 77",
     {.info = "{ 2:77 4:0 8 1 } " UNIT4 "2 'f' 8:1000 4:10 0 0 }"},
     "f - [1000-1010]\n",
     "bad_unit",
     FZ_OK},
    {"a unit that is cut off is read as far as it goes",
     {.info = "4:100 2:4 4:0 8 1 8:1000 2 'f' 8:1000 4:10"},
     "f - [1000-1010]\n",
     "truncated",
     FZ_OK},
    {"64-bit DWARF",
     {.info = "4:ffffffff 8:25 2:4 8:0 8 1 8:1000 2 'f' 8:1000 4:10 0 0"},
     "f - [1000-1010]\n",
     NULL,
     FZ_OK},
    {"big-endian",
     {.info = UNIT4 "2 'f' 8:1000 4:10 0 0 }", .big_endian = true},
     "f - [1000-1010]\n",
     NULL,
     FZ_OK},
};

static void
append_nodes(struct fz_buffer *out, const struct sym_dwarf *dwarf,
             const struct sym_dwarf_scan *scan)
{
    size_t range = 0;
    for (size_t i = 0; i < scan->n_nodes; i++) {
        const struct sym_dwarf_node *node = &scan->nodes[i];
        struct sym_dwarf_name name;
        uint64_t steps = 1000;
        sym_dwarf_name(dwarf, node->origin, &steps, &name);
        struct fz_span text = name.linkage.len ? name.linkage : name.plain;
        fz_buffer_append(out, text.len ? (const char *)text.data : "?", text.len ? text.len : 1);
        if (node->parent == UINT32_MAX)
            fz_buffer_text(out, " - [");
        else
            fz_buffer_printf(out, " %u [", (unsigned)node->parent);
        for (const char *space = ""; range < scan->n_ranges && scan->ranges[range].node == i;
             range++) {
            fz_buffer_printf(out, "%s%llx-%llx", space, (unsigned long long)scan->ranges[range].low,
                             (unsigned long long)scan->ranges[range].high);
            space = " ";
        }
        fz_buffer_char(out, ']');
        if (node->parent != UINT32_MAX)
            fz_buffer_printf(out, " %u:%u:%u", (unsigned)node->call_file, (unsigned)node->call_line,
                             (unsigned)node->call_column);
        fz_buffer_char(out, '\n');
    }
}

static void
test_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct scan_case *c = &cases[i];
        struct dwarf_text text = c->text;
        struct dwarf_sample sample;
        struct fz_budget budget = {0};
        struct sym_problems problems = {0};
        struct sym_dwarf *dwarf = NULL;
        struct sym_dwarf_scan scan = {.code_low = 0x1000, .code_high = 0x100000};
        struct fz_buffer got;
        enum fz_code code = FZ_OK;
        fz_buffer_init(&got, 0);
        text.abbrev = ABBREVS;
        dwarf_sample_init(&sample, &text);
        assert_int_equal(sym_dwarf_open(&sample.macho, &budget, &problems, &dwarf, NULL), FZ_OK);
        for (size_t k = 0; k < sym_dwarf_n_units(dwarf) && code == FZ_OK; k++) {
            code = sym_dwarf_scan_unit(dwarf, k, &budget, &scan, NULL);
            append_nodes(&got, dwarf, &scan);
        }
        const char *problem = problems.n ? sym_problem_kind_name(problems.list[0].kind) : "";
        if (code != c->code || strcmp(fz_buffer_cstr(&got), c->want) != 0 ||
            strcmp(problem, c->problem ? c->problem : "") != 0)
            fail_msg("%s: code %d, problem '%s'\n got %s\nwant %s", c->name, (int)code, problem,
                     fz_buffer_cstr(&got), c->want);
        sym_dwarf_scan_deinit(&scan, &budget);
        sym_dwarf_close(dwarf);
        assert_int_equal(budget.used, 0);
        dwarf_sample_deinit(&sample);
        fz_buffer_deinit(&got);
    }
}

/* Blocks nested deeper than the limit end the unit; inlined calls deeper than theirs are left out.
 */
static void
test_depth(void **state)
{
    (void)state;
    for (int is_inline = 0; is_inline < 2; is_inline++) {
        struct fz_buffer info;
        struct fz_budget budget = {0};
        struct sym_dwarf *dwarf = NULL;
        struct sym_dwarf_scan scan = {.code_low = 0x1000, .code_high = 0x100000};
        struct dwarf_sample sample;
        struct fz_error err = {0};
        fz_buffer_init(&info, 0);
        fz_buffer_text(&info, "{ 2:4 4:0 8 1 8:1000 2 'f' 8:1000 4:10 ");
        for (int i = 0; i < (is_inline ? 400 : 1100); i++)
            fz_buffer_text(&info, is_inline ? "3 4:14 8:1000 4:8 1 1 1 " : "6 0 ");
        fz_buffer_text(&info, "}");
        struct dwarf_text text = {.info = fz_buffer_cstr(&info), .abbrev = ABBREVS};
        dwarf_sample_init(&sample, &text);
        assert_int_equal(sym_dwarf_open(&sample.macho, &budget, NULL, &dwarf, NULL), FZ_OK);
        enum fz_code code = sym_dwarf_scan_unit(dwarf, 0, &budget, &scan, &err);
        if (is_inline) {
            assert_int_equal(code, FZ_OK);
            assert_int_equal(scan.n_nodes, 256);
            assert_int_equal(scan.nodes[255].depth, 255);
        } else {
            assert_int_equal(code, FZ_E_MALFORMED);
            assert_non_null(strstr(err.text, "deeper than 1024"));
            assert_int_equal(scan.n_nodes, 1);
        }
        sym_dwarf_scan_deinit(&scan, &budget);
        sym_dwarf_close(dwarf);
        dwarf_sample_deinit(&sample);
        fz_buffer_deinit(&info);
    }
}

/* No DWARF at all, and out of memory: they are distinguished, and nothing leaks. */
static void
test_open_errors(void **state)
{
    (void)state;
    struct dwarf_text none = {0},
                      some = {.info = UNIT4 "2 'f' 8:1000 4:10 0 0 }", .abbrev = ABBREVS};
    struct dwarf_sample sample;
    struct fz_budget budget = {0}, small = {.cap = 100};
    struct sym_dwarf *dwarf = NULL;
    dwarf_sample_init(&sample, &none);
    assert_int_equal(sym_dwarf_open(&sample.macho, &budget, NULL, &dwarf, NULL), FZ_E_NOT_FOUND);
    dwarf_sample_deinit(&sample);
    dwarf_sample_init(&sample, &some);
    assert_int_equal(sym_dwarf_open(&sample.macho, &small, NULL, &dwarf, NULL), FZ_E_LIMIT);
    assert_null(dwarf);
    assert_int_equal(small.used, 0);
    dwarf_sample_deinit(&sample);
}

/* DWARF 5, 7.5.6, with sizes that cannot be taken for each other. */
static void
test_form_sizes(void **state FZ_UNUSED)
{
    static const struct dwarf_form_sizes sizes = {.addr = 8, .offset = 5, .ref_addr = 7};
    static const struct {
        uint64_t form;
        unsigned size;
    } forms[] = {
        {FORM_DATA1, 1},     {FORM_FLAG, 1},         {FORM_ADDRX1, 1},   {FORM_DATA2, 2},
        {FORM_REF2, 2},      {FORM_STRX2, 2},        {FORM_STRX3, 3},    {FORM_ADDRX3, 3},
        {FORM_DATA4, 4},     {FORM_REF4, 4},         {FORM_ADDRX4, 4},   {FORM_DATA8, 8},
        {FORM_REF_SIG8, 8},  {FORM_ADDR, 8},         {FORM_REF_ADDR, 7}, {FORM_STRP, 5},
        {FORM_LINE_STRP, 5}, {FORM_SEC_OFFSET, 5},   {FORM_UDATA, 0},    {FORM_STRING, 0},
        {FORM_BLOCK1, 0},    {FORM_FLAG_PRESENT, 0}, {FORM_DATA16, 0},   {0, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(forms); i++)
        assert_int_equal(dwarf_form_number_size(forms[i].form, sizes), forms[i].size);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_units), cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_form_sizes),
                                       cmocka_unit_test(test_open_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
