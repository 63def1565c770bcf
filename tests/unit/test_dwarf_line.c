/* Line programs: every version, every opcode, odd sequences. */
#include "symbolicator/dwarf/dwarf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/dwarf_text.h"

/* A unit with a line program at 0 and the compilation directory /d. */
#define ABBREV "1 11 0 10 17 1b 8 0 0 0"
#define UNIT4 "{ 2:4 4:0 8 1 4:0 '/d' }"
#define UNIT5 "{ 2:5 1 8 4:0 1 4:0 '/d' }"

/* Line base -5, range 14, opcode base 13; include directory inc, files a.c (inc) and b.c (/d). */
#define LENGTHS "fb e d 0 1 1 1 1 0 0 0 1 0 0 1"
#define TABLES "'inc' 0 'a.c' u1 u0 u0 'b.c' u0 u0 u0 0"
#define HEAD4 "2:4 { 1 1 1 " LENGTHS TABLES " } "
#define AT(addr) "0 u9 2 8:" addr " "
#define END "0 u1 1 "

struct line_case {
    const char *name, *info, *line, *line_str, *want;
    enum fz_code code;
    bool big_endian;
};

static const struct line_case cases[] = {
    {"special opcodes: 4b is 4 bytes and 1 line", UNIT4,
     "{" HEAD4 AT("1000") "1 4b 4b 2 u4 " END "}", NULL,
     "[1000-100c 1000 /d,inc,a.c:1:0 1004 /d,inc,a.c:2:0 1008 /d,inc,a.c:3:0]", FZ_OK, false},
    {"line, file and column", UNIT4,
     "{" HEAD4 AT("1000") "3 s99 4 u2 5 u7 1 2 u4 3 s-40 1 2 u4 " END "}", NULL,
     "[1000-1008 1000 /d,,b.c:100:7 1004 /d,,b.c:60:7]", FZ_OK, false},
    {"the last of several rows at an address counts", UNIT4,
     "{" HEAD4 AT("1000") "1 3 s4 1 3 s4 1 2 u8 " END "}", NULL, "[1000-1008 1000 /d,inc,a.c:9:0]",
     FZ_OK, false},
    {"const_add_pc is opcode 255's advance, fixed_advance_pc two bytes", UNIT4,
     "{" HEAD4 AT("1000") "1 8 1 9 2:100 1 2 u1 " END "}", NULL,
     "[1000-1112 1000 /d,inc,a.c:1:0 1011 /d,inc,a.c:1:0 1111 /d,inc,a.c:1:0]", FZ_OK, false},
    {"rows gigabytes from the first of their sequence are dropped", UNIT4,
     "{" HEAD4 AT("1000") "1 2 u4 3 s1 1 " AT("120000000") "3 s1 1 2 u4 " END "}", NULL,
     "[1000-120000004 1000 /d,inc,a.c:1:0 1004 /d,inc,a.c:2:0]", FZ_OK, false},
    {"min_inst_length 4", UNIT4,
     "{2:4 { 4 1 1 " LENGTHS TABLES " }" AT("1000") "1 2 u2 1 2 u1 " END "}", NULL,
     "[1000-100c 1000 /d,inc,a.c:1:0 1008 /d,inc,a.c:1:0]", FZ_OK, false},
    {"two operations an instruction", UNIT4,
     "{2:4 { 8 2 1 " LENGTHS TABLES " }" AT("1000") "1 2 u3 3 s1 1 2 u1 " END "}", NULL,
     "[1000-1010 1000 /d,inc,a.c:1:0 1008 /d,inc,a.c:2:0]", FZ_OK, false},
    {"three operations an instruction, by every opcode that advances", UNIT4,
     "{2:4 { 10 3 1 " LENGTHS TABLES " }" AT("1000") "1 2f 2f 8 1 2 u1 9 2:10 1 2f 2 u1 " END "}",
     NULL,
     "[1000-1090 1000 /d,inc,a.c:2:0 1010 /d,inc,a.c:3:0 1070 /d,inc,a.c:3:0 1080 "
     "/d,inc,a.c:4:0]",
     FZ_OK, false},
    {"set_address begins an instruction", UNIT4,
     "{2:4 { 8 2 1 " LENGTHS TABLES " }" AT("1000") "1 2 u1 " AT("1010") "1 2 u1 3 s1 1 2 u1 " END
                                                                         "}",
     NULL, "[1000-1018 1000 /d,inc,a.c:1:0 1010 /d,inc,a.c:2:0]", FZ_OK, false},
    {"min_inst_length 2, by special opcodes and const_add_pc", UNIT4,
     "{2:4 { 2 1 1 " LENGTHS TABLES " }" AT("1000") "1 4b 8 1 2 u4 " END "}", NULL,
     "[1000-1032 1000 /d,inc,a.c:1:0 1008 /d,inc,a.c:2:0 102a /d,inc,a.c:2:0]", FZ_OK, false},
    {"discriminators and statement marks split no rows off", UNIT4,
     "{" HEAD4 AT("1000") "0 u2 4 u9 1 6 2 u4 0 u3 4 u300 3 s1 1 6 2 u4 " END "}", NULL,
     "[1000-1008 1000 /d,inc,a.c:1:0 1004 /d,inc,a.c:2:0]", FZ_OK, false},
    {"64-bit", UNIT4, "[ 2:4 ( 1 1 1 " LENGTHS TABLES " ) " AT("1000") "1 2 u4 " END "]", NULL,
     "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"64-bit, big-endian", UNIT4,
     "[ 2:4 ( 1 1 1 " LENGTHS TABLES " ) " AT("1000") "1 9 2:4 " END "]", NULL,
     "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, true},
    {"set_isa, prologue, blocks, statements, unknown opcodes are passed over", UNIT4,
     "{" HEAD4 AT("1000") "c u300 a b 7 6 0 u3 80 1 2 1 2 u4 " END "}", NULL,
     "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"a standard opcode of the future takes as many operands as the header says", UNIT4,
     "{2:4 { 1 1 1 fb e e 0 1 1 1 1 0 0 0 1 0 0 1 2 " TABLES " }" AT("1000") "d u500 u1 1 2 u4 " END
                                                                             "}",
     NULL, "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"define_file", UNIT4, "{" HEAD4 AT("1000") "0 u8 3 'new' u1 u0 u0 4 u3 1 2 u4 " END "}", NULL,
     "[1000-1004 1000 /d,inc,new:1:0]", FZ_OK, false},
    {"sequences are sorted, gaps stay", UNIT4,
     "{" HEAD4 AT("2000") "1 2 u4 " END AT("1000") "1 2 u4 " END "}", NULL,
     "[1000-1004 1000 /d,inc,a.c:1:0][2000-2004 2000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"rows that go backwards are sorted", UNIT4,
     "{" HEAD4 AT("1008") "1 3 s1 " AT("1000") "1 3 s1 " AT("1004") "1 " AT("1010") END "}", NULL,
     "[1000-1010 1000 /d,inc,a.c:2:0 1004 /d,inc,a.c:3:0 1008 /d,inc,a.c:1:0]", FZ_OK, false},
    {"dead code: address 0, tombstone, outside of the code", UNIT4,
     "{" HEAD4 AT("0") "1 2 u4 " END AT("ffffffffffffffff") "1 2 u4 " END AT(
         "200000") "1 2 u4 " END AT("1000") "1 2 u4 " END "}",
     NULL, "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"empty sequences are dropped", UNIT4, "{" HEAD4 AT("1000") "1 " END AT("1000") END "}", NULL,
     "", FZ_OK, false},
    {"a program that is cut off keeps its finished sequences", UNIT4,
     "{" HEAD4 AT("1000") "1 2 u4 " END AT("2000") "1 2 80 }", NULL,
     "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_E_MALFORMED, false},
    {"a sequence without end is dropped", UNIT4, "{" HEAD4 AT("1000") "1 2 u4 }", NULL, "",
     FZ_E_MALFORMED, false},
    {"line range 0 divides nothing", UNIT4,
     "{2:4 { 1 1 1 fb 0 d 0 1 1 1 1 0 0 0 1 0 0 1 " TABLES " }" AT("1000") "4b 8 2 u4 " END "}",
     NULL, "[1000-1004 1000 /d,inc,a.c:1:0]", FZ_OK, false},
    {"version 2 has no max_ops", UNIT4,
     "{2:2 { 1 1 " LENGTHS TABLES " }" AT("1000") "1 4b 2 u4 " END "}", NULL,
     "[1000-1008 1000 /d,inc,a.c:1:0 1004 /d,inc,a.c:2:0]", FZ_OK, false},
    {"version 9", UNIT4, "{2:9 { 1 } }", NULL, "", FZ_E_MALFORMED, false},
    {"a header that leaves the section", UNIT4, "{2:4 4:1000 1 1 }", NULL, "", FZ_E_MALFORMED,
     false},
    {"big-endian", UNIT4, "{" HEAD4 AT("1000") "1 4b 9 2:4 " END "}", NULL,
     "[1000-1008 1000 /d,inc,a.c:1:0 1004 /d,inc,a.c:2:0]", FZ_OK, true},
    {"version 5: line_strp, MD5, directory 0 is the compilation directory", UNIT5,
     "{2:5 8 0 { 1 1 1 " LENGTHS " 1 u1 u31 u2 4:0 4:3 "
     "3 u1 u31 u2 u11 u5 u30 u3 4:7 0 8:1 8:2 4:b 1 8:1 8:2 4:7 1 8:1 8:2 }" AT(
         "1000") "1 4 u0 2 u4 1 2 u4 " END "}",
     "'/d' 'inc' 'a.c' 'b.c'", "[1000-1008 1000 /d,inc,b.c:1:0 1004 ,/d,a.c:1:0]", FZ_OK, false},
    {"version 5, 64-bit, two operations an instruction", UNIT5,
     "[ 2:5 8 0 ( 8 2 1 " LENGTHS
     " 1 u1 u31 u1 8:0 2 u1 u31 u2 u11 u2 8:3 0 8:3 0 ) " AT("1000") "1 2 u3 3 s1 1 2 u1 " END "]",
     "'/d' 'a.c'", "[1000-1010 1000 ,/d,a.c:1:0 1008 ,/d,a.c:2:0]", FZ_OK, false},
    {"version 5: a form that nobody knows costs the files, not the rows", UNIT5,
     "{2:5 8 0 { 1 1 1 " LENGTHS " 1 u1 u99 u1 0 }" AT("1000") "1 2 u4 " END "}", "'/d'",
     "[1000-1004 1000 ?:1:0]", FZ_OK, false},
};

static void
append_span(struct fz_buffer *out, struct fz_span span)
{
    if (span.len)
        fz_buffer_append(out, span.data, span.len);
}

static void
append_lines(struct fz_buffer *out, const struct sym_dwarf_lines *lines,
             const struct sym_dwarf_unit *unit)
{
    for (size_t i = 0; i < lines->n_sequences; i++) {
        const struct sym_dwarf_sequence *s = &lines->sequences[i];
        fz_buffer_printf(out, "[%llx-%llx", (unsigned long long)s->low,
                         (unsigned long long)s->high);
        for (size_t k = s->first; k < s->first + s->n; k++) {
            const struct sym_dwarf_row *row = &lines->rows[k];
            struct sym_dwarf_path path;
            fz_buffer_printf(out, " %llx ", (unsigned long long)(s->base + row->offset));
            if (sym_dwarf_path(lines, unit, row->file, &path)) {
                append_span(out, path.comp_dir);
                fz_buffer_char(out, ',');
                append_span(out, path.include_dir);
                fz_buffer_char(out, ',');
                append_span(out, path.name);
            } else {
                fz_buffer_char(out, '?');
            }
            fz_buffer_printf(out, ":%u:%u", (unsigned)row->line, (unsigned)row->column);
        }
        fz_buffer_char(out, ']');
    }
}

static void
test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct line_case *c = &cases[i];
        struct dwarf_text text = {.info = c->info,
                                  .abbrev = ABBREV,
                                  .line = c->line,
                                  .line_str = c->line_str,
                                  .big_endian = c->big_endian};
        struct dwarf_sample sample;
        struct fz_budget budget = {0};
        struct sym_dwarf *dwarf = NULL;
        struct sym_dwarf_lines lines = {.code_low = 0x1000, .code_high = 0x100000};
        struct fz_buffer got;
        fz_buffer_init(&got, 0);
        dwarf_sample_init(&sample, &text);
        assert_int_equal(sym_dwarf_open(&sample.macho, &budget, NULL, &dwarf, NULL), FZ_OK);
        assert_int_equal(sym_dwarf_n_units(dwarf), 1);
        enum fz_code code = sym_dwarf_lines_unit(dwarf, 0, &budget, &lines, NULL);
        append_lines(&got, &lines, sym_dwarf_unit(dwarf, 0));
        if (code != c->code || strcmp(fz_buffer_cstr(&got), c->want) != 0)
            fail_msg("%s: code %d\n got %s\nwant %s", c->name, (int)code, fz_buffer_cstr(&got),
                     c->want);
        sym_dwarf_lines_deinit(&lines, &budget);
        sym_dwarf_close(dwarf);
        assert_int_equal(budget.used, 0);
        dwarf_sample_deinit(&sample);
        fz_buffer_deinit(&got);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
