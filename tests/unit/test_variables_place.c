/* Where variables are: location lists of DWARF 4 and 5, scopes, inlined calls, values at the call. */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

/* int v with a list at 0 of .debug_loc; the same of DWARF 5 by its number. */
#define LISTED "9 'v' 4:19 4:0"
#define INDEXED "1e 'v' 4:1a u0"
/* Entries: low and high from the unit's base (0x1000), length, operations. reg0 is 5; 31 9f is 1. */
#define ENTRY(low, high, expr) "8:" low " 8:" high " 2:" expr " "
#define END "8:0 8:0"

struct place_case {
    const char *name, *want;
    struct variables_case one;
};

static const struct place_case cases[] = {
    {"an entry of a list",
     "v = 5; ",
     {.body = LISTED, .loc = ENTRY("100", "180", "2 31 9f") ENTRY("180", "200", "1 50") END}},
    {"a return address belongs to the call before it",
     "v = 1; ",
     {.body = LISTED,
      .is_return = true,
      .loc = ENTRY("100", "180", "2 31 9f") ENTRY("180", "200", "1 50") END}},
    {"no entry", "v optimized_out; ", {.body = LISTED, .loc = ENTRY("100", "180", "2 31 9f") END}},
    {"a base address",
     "v = 5; ",
     {.body = LISTED, .loc = "8:ffffffffffffffff 8:1170 " ENTRY("10", "20", "1 50") END}},
    {"a list that is cut off", "v unsupported; ", {.body = LISTED, .loc = "8:180 8:200 2:9 50"}},
    {"a list that is nowhere", "v unsupported; ", {.body = "9 'v' 4:19 4:99", .loc = END}},
    {"no section", "v unsupported; ", {.body = LISTED}},
    {"offset_pair",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .loclists = "{ 2:5 8 0 4:1 4:4 4 u256 u384 u2 31 9f 4 u384 u512 u1 50 0 }"}},
    {"base_address and offset_pair",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .loclists = "{ 2:5 8 0 4:1 4:4 6 8:1170 4 u16 u32 u1 50 0 }"}},
    {"base_addressx",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .addr = "{ 2:5 8 0 8:1170 8:1200 }",
      .loclists = "{ 2:5 8 0 4:1 4:4 1 u0 4 u16 u32 u1 50 0 }"}},
    {"startx_endx",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .addr = "{ 2:5 8 0 8:1170 8:1200 }",
      .loclists = "{ 2:5 8 0 4:1 4:4 2 u0 u1 u1 50 0 }"}},
    {"startx_length",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .addr = "{ 2:5 8 0 8:1170 }",
      .loclists = "{ 2:5 8 0 4:1 4:4 3 u0 u32 u1 50 0 }"}},
    {"start_end",
     "v = 5; ",
     {.body = INDEXED, .is_v5 = true, .loclists = "{ 2:5 8 0 4:1 4:4 7 8:1170 8:1190 u1 50 0 }"}},
    {"start_length",
     "v = 5; ",
     {.body = INDEXED, .is_v5 = true, .loclists = "{ 2:5 8 0 4:1 4:4 8 8:1170 u32 u1 50 0 }"}},
    {"the default only where no other entry is",
     "v = 5; ",
     {.body = INDEXED,
      .is_v5 = true,
      .loclists = "{ 2:5 8 0 4:1 4:4 5 u2 31 9f 8 8:1170 u32 u1 50 0 }"}},
    {"the default",
     "v = 1; ",
     {.body = INDEXED,
      .is_v5 = true,
      .loclists = "{ 2:5 8 0 4:1 4:4 5 u2 31 9f 8 8:1100 u32 u1 50 0 }"}},
    {"an unknown entry",
     "v unsupported; ",
     {.body = INDEXED, .is_v5 = true, .loclists = "{ 2:5 8 0 4:1 4:4 9 0 }"}},
    {"an address that is not in the table",
     "v unsupported; ",
     {.body = INDEXED, .is_v5 = true, .loclists = "{ 2:5 8 0 4:1 4:4 3 u9 u32 u1 50 0 }"}},
    {"parameters first, then the variables of inner blocks",
     "p = 5; inner = 2; outer = 1; ",
     {.body = "4 'outer' 4:19 u2 31 9f 17 8:1170 4:20 4 'inner' 4:19 u2 32 9f 0 3 'p' 4:19 u1 50"}},
    {"blocks that do not cover the pc",
     "v = 1; ",
     {.body = "17 8:1100 4:20 4 'w' 4:19 u2 32 9f 0 4 'v' 4:19 u2 31 9f"}},
    {"blocks in blocks above the limit",
     "limit; ",
     {.body = "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 "
              "17 8:1100 4:100 17 8:1100 4:100 17 8:1100 4:100 4 'v' 4:19 u2 31 9f "
              "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"}},
    {"an inlined call, and what only its abstract instance has",
     "g inlined: x optimized_out; gone optimized_out; v = 1; ",
     {.types = "19 'g' 1a 'x' 4:19 1a 'gone' 4:19 0 ",
      .body = "18 4:6d 8:1170 4:20 1c 4:70 0 4 'v' 4:19 u2 31 9f"}},
    {"more variables than the limit",
     "a = 1; 2 cut; ",
     {.body = "4 'a' 4:19 u2 31 9f 4 'b' 4:19 u2 31 9f 4 'c' 4:19 u2 31 9f",
      .limits = {.per_frame = 1}}},
    {"more steps than the limit",
     "limit; a = 1; b limit; ",
     {.body = "4 'a' 4:19 u2 31 9f 4 'b' 4:19 u2 31 9f", .limits = {.steps = 2}}},
    {"names of the compiler", "", {.body = "4 '.block_descriptor' 4:19 u1 50"}},
    {"a value at the call: a register that the caller preserved",
     "p entry_value = 99; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f",
      .caller_pc = 0x1290,
      .after = "2 'caller' 8:1200 4:100 u1 6d 12 4:6d 8:1290 13 u1 51 u2 83 0 0 0"}},
    {"of another function than the call names: a tail call was between",
     "p register_not_recoverable; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f",
      .caller_pc = 0x1290,
      .after = "19 'other' 0 2 'caller' 8:1200 4:100 u1 6d 12 4:8b 8:1290 13 u1 51 u2 83 0 0 0"}},
    {"of another call",
     "p register_not_recoverable; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f",
      .caller_pc = 0x1290,
      .after = "2 'caller' 8:1200 4:100 u1 6d 12 4:6d 8:1280 13 u1 51 u2 83 0 0 0"}},
    {"of another register",
     "p register_not_recoverable; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f",
      .caller_pc = 0x1290,
      .after = "2 'caller' 8:1200 4:100 u1 6d 12 4:6d 8:1290 13 u1 52 u2 83 0 0 0"}},
    {"without a caller", "p register_not_recoverable; ", {.body = "3 'p' 4:31 u4 a3 1 51 9f"}},
    {"a call through a pointer that the caller still has",
     "p register_not_recoverable; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f",
      .caller_pc = 0x1290,
      .after = "2 'caller' 8:1200 4:100 u1 6d 2a u2 84 0 8:1290 13 u1 51 u2 83 0 0 0"}},
    {"a parameter that was in a register at first",
     "p entry_value = 99; ",
     {.body = "14 'p' 4:31 4:0",
      .loc = ENTRY("100", "110", "1 51") END,
      .caller_pc = 0x1290,
      .after = "2 'caller' 8:1200 4:100 u1 6d 12 4:6d 8:1290 13 u1 51 u2 83 0 0 0"}},
    {"a frame that calls itself with its own value at the call",
     "p register_not_recoverable; ",
     {.body = "3 'p' 4:31 u4 a3 1 51 9f 12 4:6d 8:1190 13 u1 51 u4 a3 1 51 9f 0",
      .caller_pc = 0x1190}},
    {"a pc that no function has", "", {.body = "4 'v' 4:19 u1 50", .pc = 0x1300}},
    {"a function without a frame base is of line tables", "", {.body = "", .after = "19 'x' 0"}},
};

static void
test_places(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        variables_case_run(&cases[i].one, &out);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
