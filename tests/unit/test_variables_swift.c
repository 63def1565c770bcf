/* Swift's types, in hand-written DWARF: there is no compiler for it here. */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

#define VARIABLE "4 'v' 4:6d u5 c 4:9000"

struct swift_case {
    const char *name, *types, *memory, *want;
};

/* The type at 6d: name, mangled name, size. */
static const struct swift_case cases[] = {
    {"Int", "1d 'Int' '$sSiD' 8 0 ", "8:fffffffffffffff9", "v = -7; "},
    {"UInt8", "1d 'UInt8' '$ss5UInt8VD' 1 0 ", "ff", "v = 255; "},
    {"Int32", "1d 'Int32' '$ss5Int32VD' 4 0 ", "4:fffffffe", "v = -2; "},
    {"Bool", "1d 'Bool' '$sSbD' 1 0 ", "1", "v = true; "},
    {"Double", "1d 'Double' '$sSdD' 8 0 ", "8:3ff8000000000000", "v = 1.5; "},
    {"Float", "1d 'Float' '$sSfD' 4 0 ", "4:3fc00000", "v = 1.5; "},
    {"a pointer", "1d 'P' '$sSPySiGD' 8 0 ", "8:1234", "v = 0x1234; "},
    {"a small String", "1d 'String' '$sSSD' 10 0 ", "68 69 21 0 0 0 0 0 0 0 0 0 0 0 0 e3",
     "v = \"hi!\"; "},
    {"a small String that is not ASCII", "1d 'String' '$sSSD' 10 0 ",
     "c3 a4 0 0 0 0 0 0 0 0 0 0 0 0 0 a2", "v = \"\xc3\xa4\"; "},
    {"an empty String", "1d 'String' '$sSSD' 10 0 ", "8:0 8:e000000000000000", "v = \"\"; "},
    {"a literal of 5 bytes, 32 after its object", "1d 'String' '$sSSD' 10 0 ",
     "8:d000000000000005 8:8000000000008ff0 'large'", "v = \"large\"; "},
    {"a String on the heap that was not captured", "1d 'String' '$sSSD' 10 0 ",
     "8:f000000000000005 8:0000000000123450", "v memory_not_captured; "},
    {"one whose bytes are elsewhere", "1d 'String' '$sSSD' 10 0 ",
     "8:0000000000000005 8:0000000000009000",
     "v = 16 bytes: 05 00 00 00 00 00 00 00 00 90 00 00 00 00 00 00; "},
    {"a type of another module, in a structure that has its size",
     "7 '' 8 8 '' 4:78 0 0 1d '' '$s10Foundation4DateVD' 0 0 ", "8:1",
     "v = 8 bytes: 01 00 00 00 00 00 00 00; "},
    {"an object of Objective-C", "1d 'V' '$sSo6UIViewCD' 8 0 ", "8:9100", "v = 0x9100; "},
    {"an Optional Int", "1d 'Optional' '$sSiSgD' 9 0 ", "8:2a 0", "v = 42; "},
    {"one that is nil", "1d 'Optional' '$sSiSgD' 9 0 ", "8:0 1", "v = nil; "},
    {"an Optional Bool", "1d 'Optional' '$sSbSgD' 1 0 ", "2", "v = nil; "},
    {"an Optional String", "1d 'Optional' '$sSSSgD' 10 0 ", "8:0 8:0", "v = nil; "},
    {"an Optional String with a value", "1d 'Optional' '$sSSSgD' 10 0 ",
     "68 69 21 0 0 0 0 0 0 0 0 0 0 0 0 e3", "v = \"hi!\"; "},
    {"an Optional class", "1d 'Optional' '$s4Demo3FooCSgD' 8 0 ", "8:0", "v = nil; "},
    {"a class", "1d 'Foo' '$s4Demo3FooCD' 8 0 ", "8:9100", "v = 0x9100; "},
    {"an enum without payload", "25 'Kind' '$s4Demo4KindOD' 1 24 'red' 24 'green' 0 ", "1",
     "v = .green; "},
    {"a case that it has not", "25 'Kind' '$s4Demo4KindOD' 1 24 'red' 24 'green' 0 ", "7",
     "v = 1 bytes: 07; "},
    {"an enum with a payload", "25 'Kind' '$s4Demo4KindOD' 9 8 'red' 4:31 0 24 'green' 0 ", "8:1 1",
     "v = 9 bytes: 01 00 00 00 00 00 00 00 01; "},
    {"a structure without members", "1d 'Point' '$s4Demo5PointVD' 2 0 ", "1 2",
     "v = 2 bytes: 01 02; "},
    {"a structure with members", "1d 'Point' '$s4Demo5PointVD' 8 8 'x' 4:19 0 8 'y' 4:19 4 0 ",
     "4:1 4:2", "v (x = 1, y = 2); "},
    {"a long one", "1d 'Big' '$s4Demo3BigVD' 14 0 ", "8:1 8:2 8:3",
     "v = 20 bytes: 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00...; "},
};

static void
test_swift(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        const struct variables_case one = {
            .types = cases[i].types, .body = VARIABLE, .memory = cases[i].memory, .language = 0x1e};
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swift)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
