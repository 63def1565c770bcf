/* The exports trie: tries written by hand, sound and hostile. */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"

static struct sym_section sections[] = {
    {.segment = "__TEXT", .name = "__text", .addr = 0x101000, .size = 0x1000, .flags = 0x80000400},
    {.segment = "__DATA", .name = "__data", .addr = 0x102000, .size = 0x1000},
    {.segment = "__TEXT", .name = "__stubs", .addr = 0x103000, .size = 0x100, .flags = 0x80000400},
};

/* The exports of a trie as "name@address ", and the first problem. */
static void
read_trie(struct fz_span trie, uint32_t cputype, char *ret, size_t size,
          struct sym_problems *problems)
{
    struct fz_arena arena;
    struct sym_macho macho = {.is_64 = true,
                              .cputype = cputype,
                              .text_vmaddr = 0x100000,
                              .sections = sections,
                              .n_sections = FZ_ARRAY_LEN(sections),
                              .exports_trie = trie};
    struct sym_symbol *symbols;
    size_t n = 0;
    fz_arena_init(&arena, 64 << 20);
    assert_int_equal(sym_macho_exports(&macho, &arena, &symbols, &n, problems, NULL), FZ_OK);
    ret[0] = '\0';
    for (size_t i = 0, len = 0; i < n && len < size; i++) {
        assert_int_equal(symbols[i].name_len, strlen(symbols[i].name));
        assert_true(symbols[i].is_external);
        len +=
            (size_t)snprintf(ret + len, size - len, "%s@%llx%s ", symbols[i].name,
                             (unsigned long long)symbols[i].addr, symbols[i].is_thumb ? "T" : "");
    }
    fz_arena_deinit(&arena);
}

#define BYTES(text) text, sizeof(text) - 1

static void
test_tries(void **state)
{
    (void)state;
    static const struct {
        const char *what, *bytes;
        size_t len;
        const char *want, *problem;
    } cases[] = {
        {"empty", BYTES(""), "", NULL},
        {"one", BYTES("\0\1_f\0\6\3\0\x90\x20\0"), "_f@101010 ", NULL},
        {"a name within another, sorted by address",
         BYTES("\0\1_f\0\6\3\0\x90\x20\1oo\0\x10\0\3\0\x80\x20\0"), "_foo@101000 _f@101010 ", NULL},
        {"two of one address stay in order",
         BYTES("\0\2_b\0\x0a_a\0\x0f\3\0\x80\x20\0\3\0\x80\x20\0"), "_b@101000 _a@101000 ", NULL},
        {"data", BYTES("\0\1_d\0\6\3\0\x80\x40\0"), "", NULL},
        {"nowhere", BYTES("\0\1_d\0\6\3\0\x80\x7f\0"), "", NULL},
        {"beyond the address space",
         BYTES("\0\1_d\0\6\x0b\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"), "", NULL},
        {"weak", BYTES("\0\1_f\0\6\3\4\x90\x20\0"), "_f@101010 ", NULL},
        {"thread-local", BYTES("\0\1_t\0\6\3\1\x90\x20\0"), "", NULL},
        {"absolute", BYTES("\0\1_a\0\6\3\2\x90\x20\0"), "", NULL},
        {"re-export", BYTES("\0\1_r\0\6\5\x08\x90\x20_\0\0"), "", NULL},
        {"stub and resolver", BYTES("\0\1_s\0\6\5\x10\x80\x60\x90\x20\0"), "_s@101010 _s@103000 ",
         NULL},
        {"the header's mark", BYTES("\0\1__mh_execute_header\0\x17\3\0\x80\x20\0"), "", NULL},
        {"a nameless root", BYTES("\3\0\x80\x20\0"), "", NULL},
        {"a node that is its own child", BYTES("\0\1a\0\0"), "",
         "exports: node at byte 0: two edges lead to it"},
        {"a circle of two", BYTES("\0\1a\0\5\0\1b\0\0"), "",
         "exports: node at byte 0: two edges lead to it"},
        {"two edges to one node", BYTES("\0\2_a\0\x0a_b\0\x0a\3\0\x80\x20\0"), "_a@101000 ",
         "exports: node at byte 10: two edges lead to it"},
        {"outside", BYTES("\0\2_a\0\x7f_b\0\x0a\3\0\x80\x20\0"), "_b@101000 ",
         "exports: node at byte 127: outside"},
        {"far outside", BYTES("\0\1_a\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), "",
         "exports: node at byte 18446744073709551615: outside"},
        {"brackets without end", BYTES("\0\1_a\0\6\x09\0\x80"), "",
         "exports: node at byte 6: truncated"},
        {"brackets too small for what they hold", BYTES("\0\1_a\0\6\2\0\x80\x20\0"), "",
         "exports: node at byte 6: truncated"},
        {"an edge without end", BYTES("\0\1_abc"), "",
         "exports: node at byte 2: an edge is truncated"},
        {"no second edge", BYTES("\0\2_f\0\6\3\0\x90\x20\0"), "_f@101010 ",
         "exports: node at byte 4112: outside"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[256];
        struct sym_problems problems = {0};
        print_message("%s\n", cases[i].what);
        read_trie(fz_span_make(cases[i].bytes, cases[i].len), FZ_ARCH_ARM64, text, sizeof(text),
                  &problems);
        assert_string_equal(text, cases[i].want);
        assert_int_equal(problems.n, cases[i].problem != NULL);
        if (cases[i].problem) {
            assert_string_equal(sym_problem_kind_name(problems.list[0].kind), "bad_exports");
            assert_string_equal(problems.list[0].text, cases[i].problem);
            assert_int_equal(problems.list[0].count, 1);
        }
    }
}

static void
test_thumb(void **state)
{
    (void)state;
    static const char trie[] = "\0\1_f\0\6\3\0\x91\x20\0";
    char text[64];
    read_trie(fz_span_make(trie, sizeof(trie) - 1), FZ_ARCH_ARM, text, sizeof(text), NULL);
    assert_string_equal(text, "_f@101010T ");
    read_trie(fz_span_make(trie, sizeof(trie) - 1), FZ_ARCH_ARM64, text, sizeof(text), NULL);
    assert_string_equal(text, "_f@101011 ");
}

static void
put_uleb(struct fz_buffer *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        fz_buffer_char(out, (char)(value | 0x80));
    fz_buffer_char(out, (char)value);
}

static char text[1 << 20];

/* A chain of nodes, each a letter longer and each an export. */
static void
test_depth(void **state)
{
    (void)state;
    enum { NODES = 6000, SIZE = 9 };
    struct fz_buffer trie;
    struct sym_problems problems = {0};
    fz_buffer_init(&trie, 0);
    for (uint64_t i = 0; i < NODES; i++) {
        fz_buffer_append(&trie, "\3\0\x80\x20\1a", 7); /* with the NUL */
        fz_buffer_char(&trie, (char)(0x80 | ((i + 1) * SIZE & 0x7f)));
        fz_buffer_char(&trie, (char)((i + 1) * SIZE >> 7 & 0x7f));
        if ((i + 1) * SIZE >= 1 << 14)
            break;
    }
    read_trie(fz_buffer_span(&trie), FZ_ARCH_ARM64, text, sizeof(text), &problems);
    assert_true(strncmp(text, "a@101000 aa@101000 aaa@101000 ", 30) == 0);
    assert_int_equal(problems.n, 1); /* the last node is cut off */
    fz_buffer_clear(&trie);
    /* Nodes that are not exports: the depth alone. */
    for (uint64_t i = 0; i < NODES; i++) {
        fz_buffer_append(&trie, "\0\1a", 4);
        fz_buffer_char(&trie, (char)(0x80 | ((i + 1) * 7 & 0x7f)));
        fz_buffer_char(&trie, (char)(0x80 | ((i + 1) * 7 >> 7 & 0x7f)));
        fz_buffer_char(&trie, (char)((i + 1) * 7 >> 14));
    }
    problems = (struct sym_problems){0};
    read_trie(fz_buffer_span(&trie), FZ_ARCH_ARM64, text, sizeof(text), &problems);
    assert_string_equal(text, "");
    assert_string_equal(problems.list[0].text, "exports: node at byte 28672: too deep");
    fz_buffer_deinit(&trie);
}

/* Edges that all reach to one far NUL: each node would make a name of its own 100,000 letters. */
static void
test_overlapping_edges(void **state)
{
    (void)state;
    enum { LEN = 400000, CHILDREN = 250 };
    struct fz_buffer trie;
    struct sym_problems problems = {0};
    fz_buffer_init(&trie, 0);
    fz_buffer_char(&trie, '\0');
    fz_buffer_char(&trie, (char)CHILDREN);
    for (unsigned i = 0; i < CHILDREN; i++) {
        fz_buffer_append(&trie, "a", 2);
        put_uleb(&trie, 0x4000 + i * 4);
    }
    while (trie.len < 0x4000)
        fz_buffer_char(&trie, 'x');
    /* Nodes within each other: "\0\1" and what follows is one long edge. */
    while (trie.len < LEN)
        fz_buffer_append(&trie, "\0\xfa\1\1", 4);
    read_trie(fz_buffer_span(&trie), FZ_ARCH_ARM64, text, sizeof(text), &problems);
    assert_true(problems.n == 1);
    fz_buffer_clear(&trie);
    fz_buffer_append(&trie, "\0\xfa", 2);
    while (trie.len < LEN)
        fz_buffer_char(&trie, 'y');
    fz_buffer_append(&trie, "\0\0", 2);
    read_trie(fz_buffer_span(&trie), FZ_ARCH_ARM64, text, sizeof(text), &problems);
    assert_string_equal(text, "");
    fz_buffer_deinit(&trie);
}

/* Table records as 64-bit little-endian nlist: all defined in the first section. */
static struct fz_span
put_table(const uint64_t *addrs, const uint32_t *names, size_t n, struct fz_buffer *out)
{
    for (size_t i = 0; i < n; i++) {
        char record[16] = {(char)names[i], 0, 0, 0, 0x0e, 1};
        for (size_t k = 0; k < 8; k++)
            record[8 + k] = (char)(addrs[i] >> (8 * k));
        fz_buffer_append(out, record, sizeof(record));
    }
    return fz_buffer_span(out);
}

static const char names_trie[] = "\0\2_b\0\x0a_a\0\x0f\3\0\x80\x20\0\3\0\x80\x21\0";
static const char names_strings[] = "\0_t\0_u";

/* _b at 101000 and _a at 101080 are exported; the table has _t at 101000 and _u at 101040. */
static struct sym_macho
make_partly_stripped(struct fz_buffer *table)
{
    static const uint64_t addrs[] = {0x101000, 0x101040};
    static const uint32_t names[] = {1, 4};
    return (struct sym_macho){.is_64 = true,
                              .cputype = FZ_ARCH_ARM64,
                              .text_vmaddr = 0x100000,
                              .text_vmsize = 0x4000,
                              .sections = sections,
                              .n_sections = FZ_ARRAY_LEN(sections),
                              .symbol_table = put_table(addrs, names, 2, table),
                              .string_table = fz_span_make(names_strings, sizeof(names_strings)),
                              .n_symbols = 2,
                              .exports_trie = fz_span_make(names_trie, sizeof(names_trie) - 1)};
}

static void
test_names_of_table_and_trie(void **state)
{
    (void)state;
    static const char *const want[] = {"_t", "_u", "_a"};
    struct fz_buffer table;
    struct fz_arena arena;
    struct sym_symbol *symbols;
    size_t n = 0;
    fz_buffer_init(&table, 0);
    fz_arena_init(&arena, 64 << 20);
    struct sym_macho macho = make_partly_stripped(&table);
    assert_int_equal(sym_macho_names(&macho, &arena, &symbols, &n, NULL, NULL), FZ_OK);
    assert_int_equal(n, FZ_ARRAY_LEN(want));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(symbols[i].name, want[i]);
        assert_int_equal(symbols[i].addr, 0x101000 + i * 0x40);
        assert_int_equal(symbols[i].is_export, i == 2);
    }
    macho.exports_trie.len = 0;
    assert_int_equal(sym_macho_names(&macho, &arena, &symbols, &n, NULL, NULL), FZ_OK);
    assert_int_equal(n, 2);
    macho = make_partly_stripped(&table);
    macho.n_symbols = 0;
    assert_int_equal(sym_macho_names(&macho, &arena, &symbols, &n, NULL, NULL), FZ_OK);
    assert_int_equal(n, 2);
    assert_string_equal(symbols[0].name, "_b");
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&table);
}

static void
test_out_of_memory(void **state)
{
    (void)state;
    static const char trie[] = "\0\1_f\0\6\3\0\x90\x20\0";
    struct sym_macho macho = {.cputype = FZ_ARCH_ARM64,
                              .text_vmaddr = 0x100000,
                              .sections = sections,
                              .n_sections = FZ_ARRAY_LEN(sections),
                              .exports_trie = fz_span_make(trie, sizeof(trie) - 1)};
    struct fz_error err;
    struct sym_symbol *symbols;
    size_t n;
    for (int64_t allowed = 0; allowed < 2; allowed++) {
        struct fz_arena arena;
        fz_arena_init(&arena, 64 << 20);
        arena.fail_after = allowed;
        assert_int_equal(sym_macho_exports(&macho, &arena, &symbols, &n, NULL, &err),
                         FZ_E_NO_MEMORY);
        fz_arena_deinit(&arena);
    }
    struct fz_arena arena;
    fz_arena_init(&arena, 1024);
    assert_int_equal(sym_macho_exports(&macho, &arena, &symbols, &n, NULL, &err), FZ_E_LIMIT);
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tries),
        cmocka_unit_test(test_thumb),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_overlapping_edges),
        cmocka_unit_test(test_names_of_table_and_trie),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
