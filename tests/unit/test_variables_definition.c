/* Types that the unit of the frame declares and another one defines. */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

/* Ends the first unit and begins another, with int at d and the next DIE at 14. */
#define UNIT "0 } { 2:4 4:0 8 31 c 5 'int' 5 4 "
#define UNIT_CXX "0 } { 2:4 4:0 8 31 1a 5 'int' 5 4 "
#define ITEM(member) "7 'item' 4 8 '" member "' 4:d 0 0 "
/* A pointer to what is at 72, with its target after it. */
#define POINTER "6 4:72 "
#define MEMORY "8:9008 4:2a"

struct definition_case {
    const char *name, *types, *after, *want;
    const char *body, *memory; /* NULL: a variable of the type at 6d, and MEMORY */
    unsigned language;
};

static const struct definition_case cases[] = {
    {.name = "one definition",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a"),
     .want = "v = 0x9008 (* (a = 42)); "},
    {.name = "none",
     .types = POINTER "2d 'item' ",
     .after = UNIT "7 'other' 4 8 'a' 4:d 0 0 ",
     .want = "v = 0x9008; "},
    {.name = "two that are the same",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a") UNIT ITEM("a"),
     .want = "v = 0x9008 (* (a = 42)); "},
    {.name = "different members",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a") UNIT ITEM("b"),
     .want = "v = 0x9008; "},
    {.name = "different ones before and after the same",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a") UNIT ITEM("b") UNIT ITEM("a"),
     .want = "v = 0x9008; "},
    {.name = "different types of a member",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a") "0 } { 2:4 4:0 8 31 c 5 'uns' 7 4 " ITEM("a"),
     .want = "v = 0x9008; "},
    {.name = "different sizes",
     .types = POINTER "2d 'item' ",
     .after = UNIT ITEM("a") UNIT "7 'item' 8 8 'a' 4:d 0 0 ",
     .want = "v = 0x9008; "},
    {.name = "different structures in a member",
     .types = POINTER "2d 'item' ",
     .after = UNIT "7 'in' 4 8 'a' 4:d 0 0 7 'item' 4 8 'm' 4:14 0 0 " UNIT
                   "7 'in' 4 8 'b' 4:d 0 0 7 'item' 4 8 'm' 4:14 0 0 ",
     .want = "v = 0x9008; "},
    {.name = "different structures behind a member",
     .types = POINTER "2d 'item' ",
     .after = UNIT "7 'in' 4 8 'a' 4:d 0 0 6 4:14 7 'item' 8 8 'p' 4:22 0 0 " UNIT
                   "7 'in' 4 8 'b' 4:d 0 0 6 4:14 7 'item' 8 8 'p' 4:22 0 0 ",
     .want = "v = 0x9008; "},
    {.name = "a pointer to itself",
     .types = POINTER "2d 'item' ",
     .after = UNIT "6 4:19 7 'item' 8 8 'p' 4:14 0 0 " UNIT "6 4:19 7 'item' 8 8 'p' 4:14 0 0 ",
     .want = "v = 0x9008 (* (p = 0x9010)); ",
     .memory = "8:9008 8:9010"},
    {.name = "a union of the same name",
     .types = POINTER "2d 'item' ",
     .after = UNIT "1b 'item' 4 8 'a' 4:d 0 0 ",
     .want = "v = 0x9008; "},
    {.name = "only in a function",
     .types = POINTER "2d 'item' ",
     .after = UNIT "19 'g' " ITEM("a") "0 ",
     .want = "v = 0x9008; "},
    {.name = "declared in a function",
     .types = "",
     .after = UNIT ITEM("a"),
     .want = "v = 0x9008; ",
     .body = "2d 'item' 6 4:7e 4 'v' 4:84 u5 c 4:9000"},
    {.name = "in a namespace",
     .types = "6 4:78 2e 'shop' 2d 'item' 0 ",
     .after = UNIT_CXX "2e 'shop' " ITEM("a") "0 ",
     .want = "v = 0x9008 (* (a = 42)); ",
     .language = 0x1a},
    {.name = "in another namespace",
     .types = "6 4:78 2e 'shop' 2d 'item' 0 ",
     .after = UNIT_CXX "2e 'shoq' " ITEM("a") "0 ",
     .want = "v = 0x9008; ",
     .language = 0x1a},
    {.name = "in an unnamed namespace",
     .types = "6 4:73 2f 2d 'item' 0 ",
     .after = UNIT_CXX "2f " ITEM("a") "0 ",
     .want = "v = 0x9008; ",
     .language = 0x1a},
    {.name = "in an unnamed namespace of this unit",
     .types = "6 4:73 2f 2d 'item' 7 'item' 4 8 'a' 4:19 0 0 0 ",
     .after = UNIT_CXX,
     .want = "v = 0x9008 (* (a = 7)); ",
     .language = 0x1a,
     .memory = "8:9008 4:7"},
    {.name = "after a namespace",
     .types = POINTER "2d 'item' ",
     .after = UNIT_CXX "2f 7 'x' 4 0 0 " ITEM("a"),
     .want = "v = 0x9008 (* (a = 42)); ",
     .language = 0x1a},
    {.name = "an enumeration",
     .types = "30 'state' 4 4:19 ",
     .after = UNIT "d 'state' 4 4:d e 'OPEN' s42 0 ",
     .want = "v = OPEN (42); ",
     .memory = "4:2a"},
    {.name = "an enumeration without a definition",
     .types = "30 'state' 4 4:19 ",
     .after = UNIT,
     .want = "v = 42; ",
     .memory = "4:2a"},
    {.name = "a member",
     .types = "7 's' 4 8 'm' 4:7a 0 0 2d 'item' ",
     .after = UNIT ITEM("a"),
     .want = "v (m (a = 42)); ",
     .memory = "4:2a"},
    {.name = "a member without a definition",
     .types = "7 's' 4 8 'm' 4:7a 0 0 2d 'item' ",
     .after = UNIT,
     .want = "v no_debug_info (m no_debug_info); ",
     .memory = "4:2a"},
    {.name = "a base",
     .types = "7 's' 4 1f 4:78 0 0 2d 'item' ",
     .after = UNIT_CXX ITEM("a"),
     .want = "v (item (a = 42)); ",
     .memory = "4:2a",
     .language = 0x1a},
    {.name = "elements",
     .types = "a 4:75 b 2 0 2d 'item' ",
     .after = UNIT ITEM("a"),
     .want = "v ([0] (a = 1), [1] (a = 2)); ",
     .memory = "4:1 4:2"},
    {.name = "a definition of a declaration of itself",
     .types = POINTER "2d 'item' ",
     .after = UNIT "7 'item' 8 8 'p' 4:24 0 0 6 4:29 2d 'item' ",
     .want = "v = 0x9008 (* (p = 0x2a)); ",
     .memory = "8:9008 8:2a"},
};

static void
test_definitions(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        const struct variables_case one = {.types = cases[i].types,
                                           .body = cases[i].body ? cases[i].body
                                                                 : "4 'v' 4:6d u5 c 4:9000",
                                           .after = cases[i].after,
                                           .memory = cases[i].memory ? cases[i].memory : MEMORY,
                                           .language = cases[i].language};
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
