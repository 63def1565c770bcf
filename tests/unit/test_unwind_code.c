/* Following code: single instructions of x86, whole functions of i386 and arm64. */
#include "symbolicator/unwind/code.h"
#include "symbolicator/unwind/x86_insn.h"
#include "tests/unit/unwind_case.h"

/* Bytes as an assembler makes them; the length is that of the array. */
static void
test_x86_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        unsigned len;
        bool only_64;
    } cases[] = {
        {"\x90", 1, false},
        {"\x55", 1, false},
        {"\x41\x57", 2, true},
        {"\x48\x89\xe5", 3, true},
        {"\x48\x83\xec\x10", 4, true},
        {"\x48\x81\xec\x00\x01\x00\x00", 7, true},
        {"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, true}, /* movabs */
        {"\x66\xb8\x01\x02", 4, false},
        {"\x66\x81\xc1\x01\x02", 5, false},
        {"\xe8\x00\x00\x00\x00", 5, false},
        {"\x0f\x84\x00\x00\x00\x00", 6, false},
        {"\xc7\x44\x24\x04\x00\x00\x00\x00", 8, false},
        {"\xc7\x05\x00\x00\x00\x00\x00\x00\x00\x00", 10, false},
        {"\x8b\x04\x85\x00\x00\x00\x00", 7, false},
        {"\xf6\xc1\x01", 3, false},
        {"\xf6\xd9", 2, false},
        {"\xf7\xc1\x01\x00\x00\x00", 6, false},
        {"\xf7\xf9", 2, false},
        {"\xc8\x10\x00\x00", 4, false},
        {"\xc2\x04\x00", 3, false},
        {"\xa1\x01\x02\x03\x04\x05\x06\x07\x08", 9, true},
        {"\x0f\x0b", 2, false},
        {"\xf3\x0f\x1e\xfa", 4, false},
        {"\x66\x0f\x70\xc0\x4e", 5, false},
        {"\x66\x0f\x38\x00\xc1", 5, false},
        {"\x66\x0f\x3a\x0f\xc1\x08", 6, false},
        {"\xc5\xf8\x77", 3, true}, /* vzeroupper */
        {"\xc5\xfc\x10\x44\x24\x20", 6, true},
        {"\xc4\xe3\x7d\x19\xc1\x01", 6, true},         /* vextractf128 */
        {"\x62\xf1\x7c\x48\x10\x44\x24\x01", 8, true}, /* EVEX */
        {"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, false},
        {"\xf3\x48\x0f\xb8\xc1", 5, true},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        for (int is_64 = cases[i].only_64; is_64 < 2; is_64++) {
            struct unwind_x86_insn insn;
            struct fz_span bytes = fz_span_make(cases[i].bytes, cases[i].len);
            if (!unwind_x86_decode(bytes, 0, is_64, &insn) || insn.len != cases[i].len)
                fail_msg("case %zu, %d bits: %u", i, is_64 ? 64 : 32, insn.len);
            /* One byte less is not an instruction. */
            bytes.len--;
            assert_false(unwind_x86_decode(bytes, 0, is_64, &insn));
        }
    }
    struct unwind_x86_insn insn;
    static const uint8_t prefixes[20] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
    assert_false(unwind_x86_decode(fz_span_make(prefixes, 20), 0, true, &insn));
    assert_true(unwind_x86_decode(fz_span_make("\xc4\x01", 2), 0, false, &insn)); /* les */
}

struct at {
    uint64_t at;
    int64_t cfa; /* from sp; -1: not known */
    int64_t fp;  /* from the frame pointer; -1: none */
};

static void
check(struct fz_span code, unwind_decode_fn decode, unsigned unit, int64_t entry,
      const struct at *want, size_t n)
{
    struct unwind_state start = {.has_sp = true, .sp = entry}, got;
    for (size_t i = 0; i < n; i++) {
        if (!unwind_code_follow(code, decode, unit, &start, want[i].at, &got))
            fail_msg("0x%x: not reached", (unsigned)want[i].at);
        if ((got.has_sp ? got.sp : -1) != want[i].cfa || (got.has_fp ? got.fp : -1) != want[i].fp)
            fail_msg("0x%x: sp %d %d, fp %d %d", (unsigned)want[i].at, got.has_sp, (int)got.sp,
                     got.has_fp, (int)got.fp);
    }
}

/* push ebp; mov ebp, esp; push esi; sub esp, 20; call +0; pop eax; push 1; call f; add esp, 4;
 * add esp, 20; pop esi; pop ebp; ret */
static void
test_i386(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x55, 0x89, 0xe5, 0x56, 0x83, 0xec, 0x14, 0xe8, 0,   0,
                                   0,    0,    0x58, 0x6a, 0x01, 0xe8, 0,    1,    0,   0,
                                   0x83, 0xc4, 0x04, 0x83, 0xc4, 0x14, 0x5e, 0x5d, 0xc3};
    static const struct at want[] = {
        {0, 4, -1},  {1, 8, -1},  {3, 8, 8},   {4, 12, 8},  {7, 32, 8}, {12, 36, 8}, {13, 32, 8},
        {15, 36, 8}, {20, 36, 8}, {23, 32, 8}, {26, 12, 8}, {27, 8, 8}, {28, 4, -1}};
    check(fz_span_make(code, sizeof(code)), unwind_decode_x86, 1, 4, want, FZ_ARRAY_LEN(want));
    struct unwind_state start = {.has_sp = true, .sp = 4}, got;
    assert_true(unwind_code_follow(fz_span_make(code, sizeof(code)), unwind_decode_x86, 1, &start,
                                   20, &got));
    assert_int_equal(got.saved[FZ_X86_EBP], 8);
    assert_int_equal(got.saved[FZ_X86_ESI], 12);
    assert_int_equal(got.saved[FZ_X86_EDI], UNWIND_IN_PLACE);
    assert_true(unwind_code_follow(fz_span_make(code, sizeof(code)), unwind_decode_x86, 1, &start,
                                   28, &got));
    assert_int_equal(got.saved[FZ_X86_ESI], UNWIND_IN_PLACE);
}

static struct fz_span
words(const uint32_t *list, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < 4 * n; i++)
        to[i] = (uint8_t)(list[i / 4] >> (8 * (i % 4)));
    return fz_span_make(to, 4 * n);
}

/* Two epilogues, a block that only a table of jumps leads to, a call that does not return. */
static void
test_arm64(void **state)
{
    (void)state;
    static const uint32_t list[] = {
        0xb4000160, /* 00 cbz x0, 2c */
        0xa9be7bfd, /* 04 stp x29, x30, [sp, #-32]! */
        0xa9014ff4, /* 08 stp x20, x19, [sp, #16] */
        0x910003fd, /* 0c mov x29, sp */
        0xd10083ff, /* 10 sub sp, sp, #32 */
        0x94000100, /* 14 bl elsewhere */
        0xd61f0120, /* 18 br x9 */
        0x910003bf, /* 1c mov sp, x29: only by the table */
        0xa9414ff4, /* 20 ldp x20, x19, [sp, #16] */
        0xa8c27bfd, /* 24 ldp x29, x30, [sp], #32 */
        0x14000100, /* 28 b elsewhere */
        0x52800000, /* 2c mov w0, #0 */
        0xd65f03c0, /* 30 ret */
    };
    static const struct at want[] = {{0, 0, -1},     {4, 0, -1},     {8, 32, -1},    {0xc, 32, -1},
                                     {0x10, 32, 32}, {0x14, 64, 32}, {0x18, 64, 32}, {0x1c, 64, 32},
                                     {0x20, 32, 32}, {0x24, 32, 32}, {0x28, 0, -1},  {0x2c, 0, -1},
                                     {0x30, 0, -1}};
    uint8_t bytes[sizeof(list)];
    struct fz_span code = words(list, FZ_ARRAY_LEN(list), bytes);
    check(code, unwind_decode_arm64, 4, 0, want, FZ_ARRAY_LEN(want));
    struct unwind_state start = {.has_sp = true}, got;
    assert_true(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 0x18, &got));
    assert_int_equal(got.saved[30], 24);
    assert_int_equal(got.saved[29], 32);
    assert_int_equal(got.saved[19], 8);
    assert_int_equal(got.saved[20], 16);
    assert_true(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 0x28, &got));
    for (int i = 19; i < 31; i++)
        assert_int_equal(got.saved[i], UNWIND_IN_PLACE);
    assert_false(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 0x34, &got));
    assert_false(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 2, &got));
}

/* A frame of 70,000 bytes whose size is loaded first; vectors; a slot that is written over. */
static void
test_arm64_large(void **state)
{
    (void)state;
    static const uint32_t list[] = {
        0x6dbe23e9, /* 00 stp d9, d8, [sp, #-32]! */
        0xf9000bfc, /* 04 str x28, [sp, #16] */
        0xd2822e09, /* 08 mov x9, #0x1170 */
        0xf2a00029, /* 0c movk x9, #1, lsl #16 */
        0xcb2963ff, /* 10 sub sp, sp, x9 */
        0x8b2963ff, /* 14 add sp, sp, x9 */
        0xf9000be0, /* 18 str x0, [sp, #16] */
        0xfd4007e8, /* 1c ldr d8, [sp, #8] */
        0xd65f03c0, /* 20 ret */
    };
    static const struct at want[] = {{4, 32, -1}, {0x14, 32 + 0x11170, -1}, {0x18, 32, -1}};
    uint8_t bytes[sizeof(list)];
    struct fz_span code = words(list, FZ_ARRAY_LEN(list), bytes);
    check(code, unwind_decode_arm64, 4, 0, want, FZ_ARRAY_LEN(want));
    struct unwind_state start = {.has_sp = true}, got;
    assert_true(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 0x18, &got));
    assert_int_equal(got.saved_vectors[9], 32);
    assert_int_equal(got.saved_vectors[8], 24);
    assert_int_equal(got.saved[28], 16);
    assert_true(unwind_code_follow(code, unwind_decode_arm64, 4, &start, 0x20, &got));
    assert_int_equal(got.saved[28], UNWIND_LOST);
    assert_int_equal(got.saved_vectors[8], UNWIND_IN_PLACE);
}

/* A damaged frame pointer: the code of the callers finds the way by sp. */
static void
test_smashed_fp(void **state)
{
    (void)state;
    static const uint32_t list[] = {
        0xa9bf7bfd, /* 1000 stp x29, x30, [sp, #-16]! */
        0x910003fd, /* 1004 mov x29, sp */
        0x94000002, /* 1008 bl 1010 */
        0x00000000, /* 100c */
        0xa9bf7bfd, /* 1010 stp x29, x30, [sp, #-16]! */
        0x910003fd, /* 1014 mov x29, sp */
        0xf9000000, /* 1018 str x0, [x0] */
    };
    static const uint8_t starts[] = {0x80, 0x20, 0x10, 0};
    uint8_t bytes[sizeof(list)];
    struct sym_section text = {
        .segment = "__TEXT", .name = "__text", .addr = 0x1000, .size = sizeof(list)};
    struct unwind_case c;
    const uint64_t s = UNWIND_STACK;
    unwind_case_init(&c, FZ_CPU_ARM64);
    text.bytes = words(list, FZ_ARRAY_LEN(list), bytes);
    c.binary.sections = &text;
    c.binary.n_sections = 1;
    c.binary.function_starts = fz_span_make(starts, sizeof(starts));
    unwind_case_set(&c, "pc", UNWIND_IMAGE + 0x1018);
    unwind_case_set(&c, "sp", s);
    unwind_case_set(&c, "fp", 0x4141414141414141);
    unwind_case_put(&c, s, 0x4242424242424242); /* the saved one is damaged too */
    unwind_case_put(&c, s + 8, UNWIND_IMAGE + 0x100c);
    unwind_case_put(&c, s + 0x10, 0);
    unwind_case_put(&c, s + 0x18, 0x200030);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){UNWIND_IMAGE + 0x1018, UNWIND_IMAGE + 0x100c, 0x200030, 0},
                     SYM_UNWIND_END_BASE);
    sym_process_destroy(c.process);
    /* Where the caller is in no image, the CFA of the last frame is known all the same. */
    unwind_case_put(&c, s + 0x18, 0x999999);
    unwind_case_run(&c, 100);
    assert_int_equal(c.chain.n, 2);
    assert_int_equal(c.chain.end, SYM_UNWIND_END_NO_CODE);
    assert_true(c.chain.frames[1].has_cfa);
    assert_int_equal(c.chain.frames[1].cfa, s + 0x20);
    unwind_case_end(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_lengths), cmocka_unit_test(test_i386),
        cmocka_unit_test(test_arm64),       cmocka_unit_test(test_arm64_large),
        cmocka_unit_test(test_smashed_fp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
