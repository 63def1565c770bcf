/* Values by type: numbers, structures, bit-fields, arrays, enumerations, pointers, and the limits of each. */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

/* A variable of the type at 6d in the memory at 0x9000: "addr"-free, since breg20 is not known here. */
#define AT_MEMORY(type) "4 'v' 4:" type " u5 c 4:9000"
#define FIRST AT_MEMORY("6d")

struct value_case {
    const char *name, *types, *memory, *want;
    const char *body; /* NULL: a variable of the type at 6d */
    struct sym_variables_limits limits;
};

static const struct value_case cases[] = {
    {.name = "int", .body = AT_MEMORY("19"), .memory = "d6 ff ff ff", .want = "v = -42; "},
    {.name = "a character", .body = AT_MEMORY("20"), .memory = "71", .want = "v = 'q'; "},
    {.name = "a character that has a name",
     .body = AT_MEMORY("20"),
     .memory = "a",
     .want = "v = '\\n'; "},
    {.name = "one above 127", .body = AT_MEMORY("20"), .memory = "e9", .want = "v = '\\xe9'; "},
    {.name = "unsigned char is a number",
     .body = AT_MEMORY("48"),
     .memory = "e9",
     .want = "v = 233; "},
    {.name = "float", .body = AT_MEMORY("28"), .memory = "cd cc cc 3d", .want = "v = 0.1; "},
    {.name = "double",
     .body = AT_MEMORY("39"),
     .memory = "8:3fd5555555555555",
     .want = "v = 0.3333333333333333; "},
    {.name = "infinite",
     .body = AT_MEMORY("39"),
     .memory = "8:fff0000000000000",
     .want = "v = -Inf; "},
    {.name = "not a number", .body = AT_MEMORY("28"), .memory = "4:7fc00000", .want = "v = NaN; "},
    {.name = "bool", .body = AT_MEMORY("65"), .memory = "1", .want = "v = true; "},
    {.name = "a bool that is neither", .body = AT_MEMORY("65"), .memory = "7", .want = "v = 7; "},
    {.name = "BOOL by its name",
     .types = "5 'signed char' 6 1 11 'BOOL' 4:6d ",
     .body = AT_MEMORY("7c"),
     .memory = "1",
     .want = "v = YES; "},
    {.name = "_Float16", .types = "5 '_Float16' 4 2 ", .memory = "0 3e", .want = "v = 1.5; "},
    {.name = "a number of 128 bits",
     .types = "5 '__int128' 5 10 ",
     .memory = "8:0 8:ffffffffffffffff",
     .want = "v = -18446744073709551616; "},
    {.name = "the x87 format",
     .types = "5 'long double' 4 10 ",
     .memory = "8:c000000000000000 2:c000",
     .want = "v = -3; "},
    {.name = "complex",
     .types = "5 'complex' 3 10 ",
     .memory = "8:3ff8000000000000 8:c000000000000000",
     .want = "v = 1.5 + -2i; "},
    {.name = "char16_t",
     .types = "5 'char16_t' 10 2 ",
     .memory = "ac 20",
     .want = "v = u'\xe2\x82\xac'; "},
    {.name = "wchar_t", .types = "5 'wchar_t' 5 4 ", .memory = "41 0 0 0", .want = "v = L'A'; "},
    {.name = "a size of 3", .types = "5 'odd' 5 3 ", .memory = "ff ff ff", .want = "v = -1; "},
    {.name = "a size that no number has",
     .types = "5 'odd' 5 9 ",
     .memory = "8:0 8:0",
     .want = "v unsupported; "},
    {.name = "memory that ends",
     .body = AT_MEMORY("31"),
     .memory = "1 2 3",
     .want = "v memory_not_captured; "},
    {.name = "a structure",
     .types = "7 's' 8 8 'a' 4:19 0 8 'c' 4:20 4 0 ",
     .memory = "5 0 0 0 78",
     .want = "v (a = 5, c = 'x'); "},
    {.name = "half of a structure",
     .types = "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ",
     .memory = "5 0 0 0",
     .want = "v partial (a = 5, b memory_not_captured); "},
    {.name = "an empty structure", .types = "7 's' 0 0 ", .memory = "0", .want = "v; "},
    {.name = "a union",
     .types = "1b 'u' 4 8 'i' 4:19 0 8 'f' 4:28 0 0 ",
     .memory = "4:3f800000",
     .want = "v (i = 1065353216, f = 1); "},
    {.name = "members of an unnamed union",
     .types = "7 's' 8 8 'a' 4:19 0 8 '' 4:81 4 0 1b '' 4 8 'i' 4:19 0 0 ",
     .memory = "8:200000001",
     .want = "v (a = 1, i = 2); "},
    {.name = "a base",
     .types = "7 'b' 4 8 'a' 4:19 0 0 7 's' 8 1f 4:6d 0 8 'c' 4:19 4 0 ",
     .body = AT_MEMORY("7a"),
     .memory = "8:200000001",
     .want = "v (struct b (a = 1), c = 2); "},
    {.name = "bit-fields of DWARF 4",
     .types = "7 's' 4 f 'a' 4:59 3 0 f 'b' 4:19 5 3 f 'c' 4:59 18 8 0 ",
     .memory = "4:abcdef9d",
     .want = "v (a = 5, b = -13, c = 11259375); "},
    {.name = "bit-fields of DWARF 2",
     .types = "7 's' 4 10 'a' 4:59 4 3 1d 0 10 'b' 4:19 4 5 18 0 0 ",
     .memory = "4:9d",
     .want = "v (a = 5, b = -13); "},
    {.name = "a bit-field that leaves its unit",
     .types = "7 's' 4 10 'a' 4:59 4 8 1d 0 0 ",
     .memory = "4:9d",
     .want = "v (a = 157); "},
    {.name = "an array",
     .types = "a 4:19 b 3 0 ",
     .memory = "4:1 4:2 4:3",
     .want = "v ([0] = 1, [1] = 2, [2] = 3); "},
    {.name = "text",
     .types = "a 4:20 b 8 0 ",
     .memory = "'ab\"' 0 0 0 0",
     .want = "v = \"ab\\\"\"; "},
    {.name = "text without an end",
     .types = "a 4:20 b 2 0 ",
     .memory = "61 62",
     .want = "v = \"ab\"; "},
    {.name = "text that is not captured to its end",
     .types = "a 4:20 b 8 0 ",
     .memory = "61 62",
     .want = "v partial = \"ab\"...; "},
    {.name = "two dimensions",
     .types = "a 4:48 b 2 b 2 0 ",
     .memory = "1 2 3 4",
     .want = "v ([0] ([0] = 1, [1] = 2), [1] ([0] = 3, [1] = 4)); "},
    {.name = "an array of length 0", .types = "20 4:19 b 0 0 ", .memory = "1", .want = "v; "},
    {.name = "more elements than the limit",
     .types = "a 4:48 b 5 0 ",
     .memory = "1 2 3 4 5",
     .limits = {.elements = 2},
     .want = "v ([0] = 1, [1] = 2, ...); "},
    {.name = "more members than the limit",
     .types = "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ",
     .memory = "8:1",
     .limits = {.members = 1},
     .want = "v (a = 1, ...); "},
    {.name = "deeper than the limit",
     .types = "7 's' 4 8 'a' 4:19 0 0 7 't' 4 8 's' 4:6d 0 0 ",
     .body = AT_MEMORY("7a"),
     .memory = "4:1",
     .limits = {.value_depth = 1},
     .want = "v limit (s limit (a limit)); "},
    {.name = "a structure that contains itself",
     .types = "7 's' 4 8 'a' 4:6d 0 0 ",
     .memory = "4:1",
     .limits = {.value_depth = 3},
     .want = "v limit (a limit (a limit (a limit (a limit)))); "},
    {.name = "an enumerator",
     .types = "d 'k' 4 4:59 e 'ONE' s1 e 'MINUS' s-1 0 ",
     .memory = "1 0 0 0",
     .want = "v = ONE (1); "},
    {.name = "flags",
     .types = "d 'k' 4 4:59 e 'A' s1 e 'B' s2 e 'C' s4 0 ",
     .memory = "5 0 0 0",
     .want = "v = A | C (5); "},
    {.name = "flags and an unknown bit",
     .types = "d 'k' 4 4:59 e 'A' s1 e 'B' s2 0 ",
     .memory = "9 0 0 0",
     .want = "v = 9; "},
    {.name = "numbers are not flags",
     .types = "d 'k' 4 4:59 e 'A' s1 e 'B' s2 e 'X' s72 0 ",
     .memory = "3 0 0 0",
     .want = "v = 3; "},
    {.name = "a negative enumerator",
     .types = "d 'k' 1 4:19 e 'NONE' s-1 0 ",
     .memory = "ff",
     .want = "v = NONE (-1); "},
    {.name = "a C string",
     .body = AT_MEMORY("43"),
     .memory = "8:9008 'hi\\'",
     .want = "v = 0x9008 \"hi\\\\\"; "},
    {.name = "a C string that is not there",
     .body = AT_MEMORY("43"),
     .memory = "8:10",
     .want = "v = 0x10; "},
    {.name = "a string longer than the limit",
     .body = AT_MEMORY("43"),
     .memory = "8:9008 'abcdef'",
     .limits = {.string_bytes = 3},
     .want = "v = 0x9008 \"abc\"...; "},
    {.name = "a null pointer", .body = AT_MEMORY("43"), .memory = "8:0", .want = "v = 0x0; "},
    {.name = "a pointer followed",
     .types = "6 4:19 ",
     .memory = "8:9008 4:2a",
     .want = "v = 0x9008 (* = 42); "},
    {.name = "a pointer to itself",
     .types = "6 4:6d ",
     .memory = "8:9000",
     .limits = {.pointer_depth = 3},
     .want = "v = 0x9000 (* = 0x9000); "},
    {.name = "pointers to pointers, one level",
     .types = "6 4:72 6 4:19 ",
     .memory = "8:9008 8:9010 4:7",
     .want = "v = 0x9008 (* = 0x9010); "},
    {.name = "two levels",
     .types = "6 4:72 6 4:19 ",
     .memory = "8:9008 8:9010 4:7",
     .limits = {.pointer_depth = 2},
     .want = "v = 0x9008 (* = 0x9010 (* = 7)); "},
    {.name = "a pointer that wraps around",
     .types = "6 4:31 ",
     .memory = "8:fffffffffffffffc",
     .want = "v = 0xfffffffffffffffc; "},
    {.name = "a reference", .types = "15 4:19 ", .memory = "8:9008 4:2a", .want = "v = 42; "},
    {.name = "a reference to what is not there",
     .types = "15 4:19 ",
     .memory = "8:10",
     .want = "v memory_not_captured; "},
    {.name = "typedefs in a circle",
     .types = "11 't' 4:6d ",
     .memory = "1",
     .want = "v unsupported; "},
    {.name = "a type that is nowhere",
     .body = AT_MEMORY("ffff"),
     .memory = "1",
     .want = "v unsupported; "},
    {.name = "a constant", .body = "c 'v' 4:19 s-3", .memory = "0", .want = "v = -3; "},
    {.name = "a constant block",
     .body = "2c 'v' 4:31 8 1 0 0 0 0 0 0 80",
     .memory = "0",
     .want = "v = -9223372036854775807; "},
    {.name = "neither a place nor a value",
     .body = "1a 'v' 4:19",
     .memory = "0",
     .want = "v optimized_out; "},
    {.name = "an array that is larger than the address space",
     .types = "a 4:72 b ff b ff b ff b ff b ff b ff b ff b ff 0 ",
     .memory = "1",
     .limits = {.elements = 1},
     .want = "v unsupported; "},
};

/* 16 * 16 * 16 elements are more fields than one variable may have. */
static void
test_fields(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    const struct variables_case one = {
        .types = "a 4:48 b 10 b 10 b 10 0 ", .body = FIRST, .memory = "1"};
    variables_case_run(&one, &out);
    size_t n = 0;
    for (const char *at = fz_buffer_cstr(&out); (at = strstr(at, "memory_not_captured")); at++)
        n++;
    assert_in_range(n, 900, 1024);
    assert_non_null(strstr(fz_buffer_cstr(&out), "...)"));
}

static void
test_values(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        const struct variables_case one = {.types = cases[i].types,
                                           .body = cases[i].body ? cases[i].body : FIRST,
                                           .memory = cases[i].memory,
                                           .limits = cases[i].limits};
        variables_case_run(&one, &out);
        if (strcmp(fz_buffer_cstr(&out), cases[i].want) == 0)
            continue;
        print_message("%s: %s\n", cases[i].name, fz_buffer_cstr(&out));
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
