/* Places by expressions: every operation, the typed stack of DWARF 5, pieces, and their limits. */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

/* int v at the expression, which is "u<length> bytes". */
#define INT(expr) "4 'v' 4:19 " expr
#define LONG(expr) "4 'v' 4:31 " expr
#define DOUBLE(expr) "4 'v' 4:39 " expr
/* "lit<n>" is 30 + n; 9f is stack_value. */

struct expression_case {
    const char *name, *body, *want;
    const char *types;
    const char *addr; /* of version 5 */
};

static const struct expression_case cases[] = {
    {"a register", INT("u1 50"), "v = 5; ", NULL, NULL},
    {"the low bytes of one", INT("u1 63"), "v = 7; ", NULL, NULL},
    {"all of it", LONG("u1 63"), "v = 4294967303; ", NULL, NULL},
    {"a register that is not known", INT("u1 51"), "v register_not_recoverable; ", NULL, NULL},
    {"regx of a vector", DOUBLE("u2 90 48"), "v = 2.5; ", NULL, NULL},
    {"no such register", INT("u3 90 u300"), "v unsupported; ", NULL, NULL},
    {"an address in memory", INT("u2 91 70"), "v = 67305985; ", NULL, NULL},
    {"breg", INT("u2 8d 4"), "v = 0; ", NULL, NULL},
    {"breg of sp", INT("u2 8f 4"), "v = 134678021; ", NULL, NULL},
    {"bregx", INT("u3 92 1d 74"), "v = 134678021; ", NULL, NULL},
    {"stack_value of breg", INT("u3 70 2 9f"), "v = 7; ", NULL, NULL},
    {"literals and constants", INT("u5 31 8 ff 22 9f"), "v = 256; ", NULL, NULL},
    {"const1s", INT("u3 9 ff 9f"), "v = -1; ", NULL, NULL},
    {"const2u const2s", LONG("u8 a ff ff b fe ff 22 9f"), "v = 65533; ", NULL, NULL},
    {"const4s", LONG("u6 d 0 0 0 80 9f"), "v = -2147483648; ", NULL, NULL},
    {"const8u", LONG("u10 e 1 0 0 0 0 0 0 80 9f"), "v = -9223372036854775807; ", NULL, NULL},
    {"constu consts", LONG("u8 10 e5 8e 26 11 7b 22 9f"), "v = 624480; ", NULL, NULL},
    {"constu", LONG("u5 10 e5 8e 26 9f"), "v = 624485; ", NULL, NULL},
    {"consts", LONG("u4 11 80 7f 9f"), "v = -128; ", NULL, NULL},
    {"dup drop over pick", INT("u8 31 32 14 12 13 15 1 9f"), "v = 2; ", NULL, NULL},
    {"swap", INT("u5 31 35 16 1c 9f"), "v = 4; ", NULL, NULL},
    {"rot", INT("u6 31 32 33 17 1c 9f"), "v = -1; ", NULL, NULL},
    {"abs neg not", INT("u6 35 1f 19 20 1f 9f"), "v = 6; ", NULL, NULL},
    {"and or xor", INT("u8 3c 3a 1a 31 21 3f 27 9f"), "v = 6; ", NULL, NULL},
    {"div by a negative", INT("u5 3e 9 fe 1b 9f"), "v = -7; ", NULL, NULL},
    {"mod", INT("u4 3e 34 1d 9f"), "v = 2; ", NULL, NULL},
    {"mul plus minus", INT("u8 33 34 1e 35 22 32 1c 9f"), "v = 15; ", NULL, NULL},
    {"division by zero", INT("u4 31 30 1b 9f"), "v unsupported; ", NULL, NULL},
    {"the smallest number by -1", LONG("u13 f 0 0 0 0 0 0 0 80 9 ff 1b 9f"),
     "v = -9223372036854775808; ", NULL, NULL},
    {"plus_uconst", INT("u4 31 23 7f 9f"), "v = 128; ", NULL, NULL},
    {"shl shr", INT("u6 31 38 24 32 25 9f"), "v = 64; ", NULL, NULL},
    {"shra", INT("u5 9 f0 32 26 9f"), "v = -4; ", NULL, NULL},
    {"shifts of 64 bits and more", LONG("u8 31 8 40 24 8 c8 25 9f"), "v = 0; ", NULL, NULL},
    {"a shift of 64 bits", LONG("u5 31 8 40 24 9f"), "v = 0; ", NULL, NULL},
    {"comparisons are signed", INT("u5 9 ff 31 2d 9f"), "v = 1; ", NULL, NULL},
    {"eq ge gt le ne", INT("u16 31 31 29 31 31 2a 22 31 30 2b 22 31 31 2c 22 9f"), "v = 4; ", NULL,
     NULL},
    {"bra not taken", INT("u7 30 28 1 0 35 36 9f"), "v = 6; ", NULL, NULL},
    {"bra over one", INT("u7 31 28 1 0 35 36 9f"), "v = 6; ", NULL, NULL},
    {"skip", INT("u6 2f 1 0 35 36 9f"), "v = 6; ", NULL, NULL},
    {"skip out of the expression", INT("u4 2f 0 1 31"), "v unsupported; ", NULL, NULL},
    {"a loop ends", INT("u4 96 2f fc ff"), "v limit; ", NULL, NULL},
    {"deref", LONG("u3 8f 8 6"), "v memory_not_captured; ", NULL, NULL},
    {"deref of the stack", LONG("u4 8f 10 6 9f"), "v = 36864; ", NULL, NULL},
    {"deref_size", LONG("u5 8f 0 94 2 9f"), "v = 513; ", NULL, NULL},
    {"deref_size 16 of a spilled vector", LONG("u5 8f 10 94 10 9f"), "v = 36864; ", NULL, NULL},
    {"stack overflow", INT("u1 12"), "v unsupported; ", NULL, NULL},
    {"a stack of 64",
     INT("u64 31 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 "
         "12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 "
         "12 12 12 12 12 12 12"),
     "v memory_not_captured; ", NULL, NULL},
    {"a stack of 65",
     INT("u66 31 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 "
         "12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 12 "
         "12 12 12 12 12 12 12 12 12"),
     "v limit; ", NULL, NULL},
    {"more bytes than a value of pieces may have", "4 'v' 4:6d u3 50 93 4", "v limit; ",
     "a 4:31 b ff b 10 0 ", NULL},
    {"nothing", INT("u0"), "v optimized_out; ", NULL, NULL},
    {"nothing is left", INT("u2 31 13"), "v optimized_out; ", NULL, NULL},
    {"nothing is left of a piece", "4 'v' 4:6d u7 31 13 93 4 50 93 4",
     "v partial (a optimized_out, b = 5); ", "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ", NULL},
    {"an operation after a register", INT("u2 50 31"), "v unsupported; ", NULL, NULL},
    {"an unknown operation", INT("u1 ff"), "v unsupported; ", NULL, NULL},
    {"thread-local", INT("u3 8 10 9b"), "v unsupported; ", NULL, NULL},
    {"call_frame_cfa without one", INT("u2 9c 23"), "v unsupported; ", NULL, NULL},
    {"an operand that is cut off", INT("u2 c 1"), "v unsupported; ", NULL, NULL},
    {"implicit_value", INT("u6 9e u4 d2 4 0 0"), "v = 1234; ", NULL, NULL},
    {"an implicit_value that is too short", INT("u4 9e u2 1 2"), "v optimized_out; ", NULL, NULL},
    {"push_object_address without one", INT("u1 97"), "v unsupported; ", NULL, NULL},
    {"call2", "4 'v' 4:19 u4 98 2:8a 9f 4 'c' 4:19 u1 35", "v = 5; c memory_not_captured; ", NULL,
     NULL},
    {"call4 with operands", "4 'v' 4:19 u8 36 99 4:8e 1c 9f 4 'c' 4:19 u1 32",
     "v = 4; c memory_not_captured; ", NULL, NULL},
    {"call_ref", "4 'v' 4:19 u6 9a 4:8c 9f 4 'c' 4:19 u1 35", "v = 5; c memory_not_captured; ",
     NULL, NULL},
    {"a call of what has no location", INT("u7 35 99 4:19 9f"), "v = 5; ", NULL, NULL},
    {"a call of nothing", INT("u6 99 4:ffff 9f"), "v unsupported; ", NULL, NULL},
    {"a call of itself", INT("u5 99 4:7e"), "v unsupported; ", NULL, NULL},
    {"a call of what ends in a value", "4 'v' 4:19 u6 99 4:8c 9f 4 'c' 4:19 u2 35 9f",
     "v unsupported; c = 5; ", NULL, NULL},
    {"pieces", LONG("u7 50 93 4 91 70 93 4"), "v = 289077004400066565; ", NULL, NULL},
    {"a piece that is gone", "4 'v' 4:6d u5 93 4 50 93 4", "v partial (a optimized_out, b = 5); ",
     "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ", NULL},
    {"a piece in a register that is lost", "4 'v' 4:6d u6 51 93 4 50 93 4",
     "v partial (a register_not_recoverable, b = 5); ", "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ",
     NULL},
    {"a lost base of a piece", "4 'v' 4:6d u8 71 4 93 4 35 9f 93 4",
     "v partial (a register_not_recoverable, b = 5); ", "7 's' 8 8 'a' 4:19 0 8 'b' 4:19 4 0 ",
     NULL},
    {"bit pieces", INT("u8 50 9d 4 0 63 9d 1c 0"), "v = 117; ", NULL, NULL},
    {"more pieces than there may be",
     INT("u34 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 0 93 "
         "0"),
     "v limit; ", NULL, NULL},
    {"an implicit pointer", "4 'p' 4:43 u6 a0 4:91 0 4 'c' 4:20 u3 8 71 9f",
     "p optimized_out; c = 'q'; ", NULL, NULL},
    {"fbreg needs a frame base that is there", INT("u2 91 0"), "v = 36864; ", NULL, NULL},
    {"addr", INT("u9 3 8:1180"), "v memory_not_captured; ", NULL, NULL},
    {"addrx", "4 'v' 4:1a u2 a1 0", "v memory_not_captured; ", NULL, "{ 2:5 8 0 8:1180 }"},
    {"constx", "4 'v' 4:1a u3 a2 0 9f", "v = 4480; ", NULL, "{ 2:5 8 0 8:1180 }"},
    {"addrx outside of the table", "4 'v' 4:1a u2 a1 9", "v unsupported; ", NULL,
     "{ 2:5 8 0 8:1180 }"},
    {"convert to unsigned char", INT("u8 8 ff 8 2 1e a8 48 9f"), "v = 254; ", NULL, NULL},
    {"convert", INT("u6 a ff 1 a8 48 9f"), "v = 255; ", NULL, NULL},
    {"convert to char and back", LONG("u7 8 ff a8 20 a8 31 9f"), "v = -1; ", NULL, NULL},
    {"convert to double", DOUBLE("u6 33 a8 31 a8 39 9f"), "v = 3; ", NULL, NULL},
    {"typed division of doubles", DOUBLE("u12 33 a8 31 a8 39 32 a8 31 a8 39 1b 9f"), "v = 1.5; ",
     NULL, NULL},
    {"const_type", DOUBLE("u12 a4 39 8 0 0 0 0 0 0 4 40 9f"), "v = 2.5; ", NULL, NULL},
    {"const_type of the wrong size", DOUBLE("u8 a4 39 4 0 0 0 0 9f"), "v unsupported; ", NULL,
     NULL},
    {"regval_type", DOUBLE("u9 a5 u72 39 a5 u73 39 22 9f"), "v unsupported; ", NULL, NULL},
    {"a sum of regval_type", DOUBLE("u8 a5 48 39 a5 48 39 22 9f"), "v = 5; ", NULL, NULL},
    {"regval_type of a register that is lost", INT("u4 a5 1 19 9f"), "v register_not_recoverable; ",
     NULL, NULL},
    {"deref_type", INT("u6 8f 0 a6 1 48 9f"), "v = 1; ", NULL, NULL},
    {"reinterpret", DOUBLE("u12 e 0 0 0 0 0 0 4 40 a9 39 9f"), "v = 2.5; ", NULL, NULL},
    {"a type that is not one", INT("u4 31 a8 1 9f"), "v unsupported; ", NULL, NULL},
    {"a typed constant times a plain one", INT("u7 33 a8 59 37 1e 9f"), "v unsupported; ", NULL,
     NULL},
    {"a typed number times a plain one", INT("u6 33 a8 59 37 1e 9f"), "v = 21; ", NULL, NULL},
    {"an unwritten variable", INT("u3 35 9f f0"), "v = 5 stale; ", NULL, NULL},
};

static void
test_expressions(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        const struct variables_case one = {
            .types = cases[i].types,
            .body = cases[i].body,
            .is_v5 = cases[i].addr != NULL,
            .addr = cases[i].addr,
            .stack = "1 2 3 4 5 6 7 8 0 0 0 0 0 0 0 0 8:9000",
        };
        variables_case_run(&one, &out);
        if (strcmp(fz_buffer_cstr(&out), cases[i].want) != 0)
            print_message("%s: %s\n", cases[i].name, fz_buffer_cstr(&out));
        n_wrong += strcmp(fz_buffer_cstr(&out), cases[i].want) != 0;
    }
    assert_int_equal(n_wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
