/* Function symbols and function starts. */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/macho_writer.h"

static const uint32_t CODE = 0x80000400;
enum { N_SECT = 0x0e, N_EXT = 0x01, N_ABS = 0x02, N_FUN = 0x24 };

static struct macho_writer
sample(uint32_t cputype)
{
    struct macho_writer w = macho_writer_make();
    w.cputype = cputype;
    w.is_64 = fz_arch_pointer_size(cputype) == 8;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, CODE, (struct fz_span){NULL, 0});
    w.sections[0].size = 0x1000;
    macho_writer_section(&w, "__DATA", "__data", 0x2000, 0, (struct fz_span){NULL, 0});
    return w;
}

/* The symbols as "name@addr " in their order, T after Thumb ones, x after external ones. */
static void
read_symbols(const struct macho_writer *w, char *ret, size_t size, struct sym_problems *problems)
{
    struct fz_buffer bytes;
    struct fz_arena arena;
    struct sym_macho macho;
    struct sym_symbol *symbols;
    size_t n;
    fz_buffer_init(&bytes, 0);
    fz_arena_init(&arena, 1 << 20);
    macho_write(w, &bytes);
    assert_int_equal(sym_macho_open(fz_buffer_span(&bytes), &arena, &macho, problems, NULL), FZ_OK);
    assert_int_equal(sym_macho_symbols(&macho, &arena, &symbols, &n, problems, NULL), FZ_OK);
    ret[0] = '\0';
    for (size_t i = 0, len = 0; i < n; i++) {
        assert_int_equal(symbols[i].name_len, strlen(symbols[i].name));
        len += (size_t)snprintf(ret + len, size - len, "%s@%llx%s%s ", symbols[i].name,
                                (unsigned long long)symbols[i].addr, symbols[i].is_thumb ? "T" : "",
                                symbols[i].is_external ? "x" : "");
    }
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&bytes);
}

static void
test_only_functions_sorted_and_stable(void **state)
{
    (void)state;
    struct macho_writer w = sample(FZ_ARCH_ARM64);
    char text[256];
    struct sym_problems problems = {0};
    macho_writer_symbol(&w, "_late", N_SECT | N_EXT, 1, 0, 0x1800);
    macho_writer_symbol(&w, "_stab", N_FUN, 1, 0, 0x1100);
    macho_writer_symbol(&w, "_data", N_SECT, 2, 0, 0x2000);
    macho_writer_symbol(&w, "_undefined", N_EXT, 0, 0, 0);
    macho_writer_symbol(&w, "_absolute", N_ABS, 0, 0, 0x1200);
    macho_writer_symbol(&w, "__mh_execute_header", N_SECT | N_EXT, 1, 0, 0x1000);
    macho_writer_symbol(&w, "_twin_a", N_SECT, 1, 0, 0x1400);
    macho_writer_symbol(&w, "_twin_b", N_SECT, 1, 0, 0x1400);
    macho_writer_symbol(&w, "-[Foo bar]", N_SECT, 1, 0, 0x1004);
    macho_writer_symbol(&w, "ltmp0", N_SECT, 1, 0, 0x1000);
    macho_writer_symbol(&w, "ltmpl", N_SECT, 1, 0, 0x1900);
    macho_writer_symbol(&w, "", N_SECT, 1, 0, 0x1500);
    macho_writer_symbol(&w, "<redacted>", N_SECT, 1, 0, 0x1600);
    read_symbols(&w, text, sizeof(text), &problems);
    assert_string_equal(text, "-[Foo bar]@1004 _twin_a@1400 _twin_b@1400 _late@1800x ltmpl@1900 ");
    assert_int_equal(problems.n, 0);
}

static void
test_thumb(void **state)
{
    (void)state;
    struct macho_writer w = sample(FZ_ARCH_ARM);
    char text[256];
    macho_writer_symbol(&w, "_thumb", N_SECT, 1, 0x0008, 0x1100);
    macho_writer_symbol(&w, "_odd", N_SECT, 1, 0, 0x1201);
    macho_writer_symbol(&w, "_arm", N_SECT, 1, 0, 0x1300);
    read_symbols(&w, text, sizeof(text), NULL);
    assert_string_equal(text, "_thumb@1100T _odd@1200T _arm@1300 ");
    w = sample(FZ_ARCH_ARM64);
    macho_writer_symbol(&w, "_odd", N_SECT, 1, 0x0008, 0x1201);
    read_symbols(&w, text, sizeof(text), NULL);
    assert_string_equal(text, "_odd@1201 ");
}

static void
test_bad_section_number_is_told(void **state)
{
    (void)state;
    struct macho_writer w = sample(FZ_ARCH_ARM64);
    struct sym_problems problems = {0};
    char text[256];
    macho_writer_symbol(&w, "_bad", N_SECT, 3, 0, 0x1100);
    macho_writer_symbol(&w, "_good", N_SECT, 1, 0, 0x1200);
    read_symbols(&w, text, sizeof(text), &problems);
    assert_string_equal(text, "_good@1200 ");
    assert_int_equal(problems.n, 1);
    assert_string_equal(sym_problem_kind_name(problems.list[0].kind), "bad_symbol");
    assert_string_equal(problems.list[0].text, "symbol 0: section 3 of 2");
}

/* 20,000 symbols that all name the same 200,000 bytes: 4 GB of work if nobody counted. */
static void
test_shared_long_name_is_bounded(void **state)
{
    (void)state;
    enum { N = 20000, NAME = 200000 };
    struct fz_arena arena;
    fz_arena_init(&arena, 64 << 20);
    struct fz_buffer records;
    fz_buffer_init(&records, 0);
    char *names = calloc(1, NAME + 1);
    assert_non_null(names);
    memset(names, 'a', NAME);
    for (size_t i = 0; i < N; i++) {
        macho_write_int(&records, false, 4, 0);
        macho_write_int(&records, false, 4, 0x010e);
        macho_write_int(&records, false, 8, 0x1000);
    }
    struct sym_section text = {.segment = "__TEXT", .name = "__text", .flags = CODE};
    struct sym_macho macho = {.is_64 = true,
                              .cputype = FZ_ARCH_ARM64,
                              .sections = &text,
                              .n_sections = 1,
                              .symbol_table = fz_buffer_span(&records),
                              .string_table = fz_span_make(names, NAME + 1),
                              .n_symbols = N};
    struct sym_symbol *symbols;
    size_t n;
    struct sym_problems problems = {0};
    assert_int_equal(sym_macho_symbols(&macho, &arena, &symbols, &n, &problems, NULL), FZ_OK);
    assert_true(n >= 16 && n < 32);
    assert_int_equal(problems.list[0].count, N - n);
    /* Without its NUL the name runs into the end of the table. */
    macho.string_table.len = NAME;
    assert_int_equal(sym_macho_symbols(&macho, &arena, &symbols, &n, &problems, NULL), FZ_OK);
    assert_int_equal(n, 0);
    free(names);
    fz_buffer_deinit(&records);
    fz_arena_deinit(&arena);
}

static void
test_function_starts(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t len;
        uint32_t cputype;
        size_t n;
        uint64_t want[4];
        const char *problem;
    } cases[] = {
        {"two and padding", "\x90\x20\x10\0\0\0\0\0", 8, FZ_ARCH_ARM64, 2, {0x2010, 0x2020}, NULL},
        {"thumb", "\x11\x10\0", 3, FZ_ARCH_ARM, 2, {0x1010, 0x1020}, NULL},
        {"odd on arm64", "\x11\0", 2, FZ_ARCH_ARM64, 1, {0x1011}, NULL},
        {"no terminator", "\x10\x10", 2, FZ_ARCH_ARM64, 2, {0x1010, 0x1020}, NULL},
        {"number without end", "\x10\x80\x80", 3, FZ_ARCH_ARM64, 1, {0x1010}, NULL},
        {"wraps",
         "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
         11,
         FZ_ARCH_ARM64,
         1,
         {0x1010},
         "bad_function_starts"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct fz_arena arena;
        fz_arena_init(&arena, 1 << 20);
        struct sym_macho macho = {.cputype = cases[i].cputype,
                                  .text_vmaddr = 0x1000,
                                  .function_starts = fz_span_make(cases[i].bytes, cases[i].len)};
        struct sym_problems problems = {0};
        uint64_t *starts;
        size_t n;
        assert_int_equal(sym_macho_function_starts(&macho, &arena, &starts, &n, &problems, NULL),
                         FZ_OK);
        assert_int_equal(n, cases[i].n);
        assert_memory_equal(starts, cases[i].want, n * sizeof(*starts));
        if (cases[i].problem)
            assert_string_equal(sym_problem_kind_name(problems.list[0].kind), cases[i].problem);
        fz_arena_deinit(&arena);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_functions_sorted_and_stable),
        cmocka_unit_test(test_thumb),
        cmocka_unit_test(test_bad_section_number_is_told),
        cmocka_unit_test(test_shared_long_name_is_bounded),
        cmocka_unit_test(test_function_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
