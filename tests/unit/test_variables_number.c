/* Numbers of the DWARF stack machine: conversions, and operations on each kind; expressions use few of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/attr.h"
#include "symbolicator/variables/constants.h"
#include "symbolicator/variables/number.h"

/* Bits of floating-point numbers. */
#define F_2_5 UINT64_C(0x40200000)
#define F_1 UINT64_C(0x3f800000)
#define F_3_5 UINT64_C(0x40600000)
#define F_MINUS_2_5 UINT64_C(0xc0200000)
#define D_2_5 UINT64_C(0x4004000000000000)
#define D_1_5 UINT64_C(0x3ff8000000000000)
#define D_MINUS_2_5 UINT64_C(0xc004000000000000)
#define D_HUGE UINT64_C(0x7e37e43c8800759c) /* 1e300 */
#define D_NAN UINT64_C(0x7ff8000000000000)
#define G NUMBER_GENERIC
#define S NUMBER_SIGNED
#define U NUMBER_UNSIGNED
#define F NUMBER_FLOAT

static void
test_convert(void **state FZ_UNUSED)
{
    static const struct {
        struct variables_number from, want;
    } cases[] = {
        {{F_2_5, F, 4}, {2, S, 4}},         {{F_2_5, F, 4}, {D_2_5, F, 8}},
        {{D_2_5, F, 8}, {F_2_5, F, 4}},     {{D_MINUS_2_5, F, 8}, {0xfffe, S, 2}},
        {{D_HUGE, F, 8}, {0, S, 8}},        {{D_NAN, F, 8}, {0, U, 8}},
        {{0xff, S, 1}, {UINT64_MAX, S, 8}}, {{0xff, U, 1}, {0xff, S, 8}},
        {{0x1ff, G, 8}, {0xff, U, 1}},      {{1, S, 4}, {F_1, F, 4}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct variables_number want = cases[i].want,
                                got = variables_number_convert(cases[i].from, want.kind, want.size);
        print_message("%zu\n", i);
        assert_true(got.bits == want.bits);
        assert_int_equal(got.kind, want.kind);
        assert_int_equal(got.size, want.size);
    }
}

static void
test_unary(void **state FZ_UNUSED)
{
    static const struct {
        unsigned op;
        struct variables_number a;
        bool is_done;
        uint64_t want;
    } cases[] = {
        {OP_NEG, {F_2_5, F, 4}, true, F_MINUS_2_5},
        {OP_ABS, {F_MINUS_2_5, F, 4}, true, F_2_5},
        {OP_ABS, {D_2_5, F, 8}, true, D_2_5},
        {OP_NOT, {D_2_5, F, 8}, false, 0},
        {OP_ABS, {0xff, S, 1}, true, 1},
        {OP_ABS, {0xff, U, 1}, true, 0xff},
        {OP_NEG, {1, U, 2}, true, 0xffff},
        {OP_NOT, {1, S, 1}, true, 0xfe},
        {OP_PLUS, {1, G, 8}, false, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct variables_number got = {0, G, 8};
        print_message("%zu\n", i);
        assert_int_equal(variables_number_unary(cases[i].op, cases[i].a, &got), cases[i].is_done);
        assert_true(got.bits == cases[i].want);
    }
}

static void
test_binary(void **state FZ_UNUSED)
{
    static const struct {
        unsigned op;
        struct variables_number a, b;
        bool is_done;
        uint64_t want;
    } cases[] = {
        {OP_PLUS, {F_2_5, F, 4}, {F_1, F, 4}, true, F_3_5},
        {OP_MINUS, {F_3_5, F, 4}, {F_1, F, 4}, true, F_2_5},
        {OP_MUL, {F_2_5, F, 4}, {F_1, F, 4}, true, F_2_5},
        {OP_DIV, {D_2_5, F, 8}, {0, F, 8}, false, 0},
        {OP_MOD, {D_2_5, F, 8}, {D_1_5, F, 8}, false, 0},
        {OP_LT, {D_1_5, F, 8}, {D_2_5, F, 8}, true, 1},
        {OP_GE, {D_1_5, F, 8}, {D_2_5, F, 8}, true, 0},
        {OP_NE, {D_1_5, F, 8}, {D_2_5, F, 8}, true, 1},
        {OP_EQ, {D_NAN, F, 8}, {D_NAN, F, 8}, true, 0},
        {OP_GE, {D_NAN, F, 8}, {D_2_5, F, 8}, true, 0},
        {OP_NE, {D_NAN, F, 8}, {D_2_5, F, 8}, true, 1},
        {OP_NE, {1, S, 4}, {2, S, 4}, true, 1},
        {OP_LE, {0xff, S, 1}, {1, S, 1}, true, 1},
        {OP_LE, {0xff, U, 1}, {1, U, 1}, true, 0},
        {OP_PLUS, {1, S, 4}, {1, S, 8}, false, 0}, /* of two sizes */
        {OP_PLUS, {1, S, 4}, {F_1, F, 4}, false, 0},
        {OP_PLUS, {0xffffffff, G, 8}, {1, U, 4}, true, 0}, /* takes the other one's type */
        {OP_MINUS, {1, U, 1}, {2, G, 8}, true, 0xff},
        {OP_DIV, {0xf0, U, 1}, {0x10, U, 1}, true, 0x0f},
        {OP_MOD, {0xf0, S, 1}, {7, S, 1}, true, 0xfe},
        {OP_MOD, {9, U, 4}, {0, U, 4}, false, 0},
        {OP_SHRA, {0x80, S, 1}, {9, G, 8}, true, 0xff},
        {OP_SHL, {1, U, 1}, {7, G, 8}, true, 0x80},
        {OP_SHL, {F_1, F, 4}, {1, G, 8}, false, 0},
        {OP_DROP, {1, S, 4}, {1, S, 4}, false, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct variables_number got = {0, G, 8};
        print_message("%zu\n", i);
        assert_int_equal(variables_number_binary(cases[i].op, cases[i].a, cases[i].b, &got),
                         cases[i].is_done);
        assert_true(got.bits == cases[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_convert), cmocka_unit_test(test_unary),
                                       cmocka_unit_test(test_binary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
