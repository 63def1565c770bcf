#include "tests/unit/unwind_case.h"

static const uint64_t S = 0x7ff000;

/* Records of two words at the frame pointer, on every processor. */
static void
test_records(void **state)
{
    (void)state;
    static const struct {
        enum fz_arch_cpu cpu;
        const char *pc, *sp, *fp;
    } cases[] = {{FZ_CPU_ARM64, "pc", "sp", "fp"},
                 {FZ_CPU_ARM, "pc", "sp", "r7"},
                 {FZ_CPU_X86_64, "rip", "rsp", "rbp"},
                 {FZ_CPU_X86, "eip", "esp", "ebp"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct unwind_case c;
        unwind_case_init(&c, cases[i].cpu);
        unwind_case_set(&c, cases[i].pc, 0x100010);
        unwind_case_set(&c, cases[i].sp, S);
        unwind_case_set(&c, cases[i].fp, S + 0x40);
        unwind_case_put(&c, S + 0x40, S + 0x80);
        unwind_case_put(&c, S + 0x40 + c.word, 0x100020);
        unwind_case_put(&c, S + 0x80, S + 0xc0);
        unwind_case_put(&c, S + 0x80 + c.word, 0x200030);
        unwind_case_put(&c, S + 0xc0, 0);
        unwind_case_put(&c, S + 0xc0 + c.word, 0);
        unwind_case_run(&c, 100);
        unwind_case_want(&c, (uint64_t[]){0x100010, 0x100020, 0x200030, 0}, SYM_UNWIND_END_BASE);
        assert_int_equal(c.chain.frames[0].trust, SYM_TRUST_CONTEXT);
        assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_FRAME_POINTER);
        assert_false(c.chain.frames[0].is_return);
        assert_true(c.chain.frames[2].is_return);
        assert_int_equal(c.chain.frames[2].image, 1);
        /* sp of a caller is the CFA; which registers were saved is not known. */
        uint64_t sp = 0, other;
        assert_true(sym_registers_get(&c.chain.frames[1].registers,
                                      fz_arch_register_of_role(c.cpu, FZ_REGISTER_SP), &sp));
        assert_int_equal(sp, S + 0x40 + 2 * c.word);
        assert_true(c.chain.frames[0].has_cfa);
        assert_int_equal(c.chain.frames[0].cfa, sp);
        assert_false(sym_registers_get(&c.chain.frames[1].registers, 3, &other));
        unwind_case_end(&c);
    }
}

/* Where chains must stop. */
static void
test_stops(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t fp, next, pc; /* the first record */
        size_t n, max;
        enum sym_unwind_end end;
    } cases[] = {
        {"below sp", S - 0x40, S + 0x80, 0x100020, 1, 100, SYM_UNWIND_END_BAD_RECORD},
        {"not aligned", S + 0x44, S + 0x80, 0x100020, 1, 100, SYM_UNWIND_END_BAD_RECORD},
        {"to itself", S + 0x40, S + 0x40, 0x100020, 2, 100, SYM_UNWIND_END_BAD_RECORD},
        {"back", S + 0x40, S + 0x10, 0x100020, 2, 100, SYM_UNWIND_END_BAD_RECORD},
        {"no code", S + 0x40, S + 0x80, 0x999999, 1, 100, SYM_UNWIND_END_NO_CODE},
        {"not captured", 0x900000, S + 0x80, 0x100020, 1, 100, SYM_UNWIND_END_NO_MEMORY},
        {"fp 0", 0, S + 0x80, 0x100020, 1, 100, SYM_UNWIND_END_BAD_RECORD},
        {"at the top", UINT64_MAX - 15, 0, 0x100020, 1, 100, SYM_UNWIND_END_BAD_RECORD},
        {"limit", S + 0x40, S + 0x80, 0x100020, 2, 2, SYM_UNWIND_END_LIMIT},
        {"one frame", S + 0x40, S + 0x80, 0x100020, 1, 1, SYM_UNWIND_END_LIMIT},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct unwind_case c;
        unwind_case_init(&c, FZ_CPU_ARM64);
        unwind_case_set(&c, "pc", 0x100010);
        unwind_case_set(&c, "sp", S);
        unwind_case_set(&c, "fp", cases[i].fp);
        unwind_case_put(&c, S + 0x40, cases[i].next);
        unwind_case_put(&c, S + 0x48, cases[i].pc);
        unwind_case_put(&c, S + 0x80, 0);
        unwind_case_put(&c, S + 0x88, 0x100090);
        unwind_case_run(&c, cases[i].max);
        if (c.chain.n != cases[i].n || c.chain.end != cases[i].end)
            fail_msg("%s: %zu frames, end %d", cases[i].what, c.chain.n, (int)c.chain.end);
        unwind_case_end(&c);
    }
}

/* Go keeps its records 8 bytes below sp, so on arm64 the address above one is no place for sp. */
static void
test_records_beside_sp(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t last; /* what the third record leads to */
        size_t n;
        enum sym_unwind_end end;
    } cases[] = {
        {"the first function", 0, 4, SYM_UNWIND_END_BASE},
        {"to itself", S + 0xa8, 4, SYM_UNWIND_END_BAD_RECORD},
        {"a cycle", S + 0x28, 4, SYM_UNWIND_END_BAD_RECORD},
        {"back to a place for sp", S + 0x80, 4, SYM_UNWIND_END_BAD_RECORD},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct unwind_case c;
        uint64_t value;
        unwind_case_init(&c, FZ_CPU_ARM64);
        unwind_case_set(&c, "pc", 0x100010);
        unwind_case_set(&c, "sp", S + 0x30);
        unwind_case_set(&c, "fp", S + 0x28);
        unwind_case_put(&c, S + 0x28, S + 0x68);
        unwind_case_put(&c, S + 0x30, 0x100020);
        unwind_case_put(&c, S + 0x68, S + 0xa8);
        unwind_case_put(&c, S + 0x70, 0x200030);
        unwind_case_put(&c, S + 0xa8, cases[i].last);
        unwind_case_put(&c, S + 0xb0, 0x100040);
        unwind_case_put(&c, S + 0x80, S + 0x100);
        unwind_case_put(&c, S + 0x88, 0x100050);
        unwind_case_run(&c, 100);
        if (cases[i].last == 0)
            unwind_case_want(&c, (uint64_t[]){0x100010, 0x100020, 0x200030, 0x100040, 0},
                             cases[i].end);
        else if (c.chain.n != cases[i].n || c.chain.end != cases[i].end)
            fail_msg("%s: %zu frames, end %d", cases[i].what, c.chain.n, (int)c.chain.end);
        assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_FRAME_POINTER);
        assert_false(c.chain.frames[0].has_cfa);
        assert_false(sym_registers_get(&c.chain.frames[1].registers, FZ_ARM64_SP, &value));
        assert_true(sym_registers_get(&c.chain.frames[1].registers, FZ_ARM64_FP, &value));
        assert_int_equal(value, S + 0x68);
        unwind_case_end(&c);
    }
}

/* Return addresses with a signature, Swift's mark in a saved fp, Thumb bits. */
static void
test_pointers(void **state)
{
    (void)state;
    struct unwind_case c;
    unwind_case_init(&c, FZ_CPU_ARM64);
    unwind_case_set(&c, "pc", 0x100010);
    unwind_case_set(&c, "sp", S);
    unwind_case_set(&c, "fp", S + 0x40);
    unwind_case_put(&c, S + 0x40, (S + 0x80) | UINT64_C(1) << 60);
    unwind_case_put(&c, S + 0x48, 0x8f2a800000100020);
    unwind_case_put(&c, S + 0x88, 0xffffff8000200030);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0x100010, 0x100020, 0x200030, 0}, SYM_UNWIND_END_BASE);
    unwind_case_end(&c);

    unwind_case_init(&c, FZ_CPU_ARM);
    unwind_case_set(&c, "pc", 0x100011);
    unwind_case_set(&c, "sp", S);
    unwind_case_set(&c, "r7", S + 0x40);
    unwind_case_put(&c, S + 0x44, 0x100021);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0x100010, 0x100020, 0}, SYM_UNWIND_END_BASE);
    unwind_case_end(&c);
}

/* A call of a null pointer, and of an address without code: nothing has run since the call. */
static void
test_nowhere(void **state)
{
    (void)state;
    struct unwind_case c;
    uint64_t value;
    unwind_case_init(&c, FZ_CPU_ARM64);
    unwind_case_set(&c, "pc", 0);
    unwind_case_set(&c, "sp", S);
    unwind_case_set(&c, "lr", 0x100020);
    unwind_case_set(&c, "x19", 7);
    unwind_case_set(&c, "x0", 8);
    unwind_case_set(&c, "fp", S + 0x40);
    unwind_case_put(&c, S + 0x48, 0x200030);
    unwind_case_run(&c, 100);
    /* The first address is 0, so the rest is compared one by one. */
    assert_int_equal(c.chain.n, 3);
    assert_int_equal(c.chain.frames[0].pc, 0);
    assert_int_equal(c.chain.frames[1].pc, 0x100020);
    assert_int_equal(c.chain.frames[2].pc, 0x200030);
    assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_LINK_REGISTER);
    assert_true(sym_registers_get(&c.chain.frames[1].registers, 19, &value));
    assert_int_equal(value, 7);
    assert_false(sym_registers_get(&c.chain.frames[1].registers, 0, &value));
    assert_true(sym_registers_get(&c.chain.frames[1].registers, FZ_ARM64_SP, &value));
    assert_int_equal(value, S);
    unwind_case_end(&c);
}

static void
test_nowhere_x86(void **state)
{
    (void)state;
    struct unwind_case c;
    unwind_case_init(&c, FZ_CPU_X86_64);
    unwind_case_set(&c, "rip", 0xdead);
    unwind_case_set(&c, "rsp", S);
    unwind_case_set(&c, "rbx", 7);
    unwind_case_put(&c, S, 0x100020);
    unwind_case_set(&c, "rbp", S + 0x40);
    unwind_case_put(&c, S + 0x48, 0x200030);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0xdead, 0x100020, 0x200030, 0}, SYM_UNWIND_END_BASE);
    assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_LINK_REGISTER);
    unwind_case_end(&c);
    /* A return to a wrong address: any word is at the top of the stack, here 0; the record counts. */
    unwind_case_init(&c, FZ_CPU_X86_64);
    unwind_case_set(&c, "rip", 0xdead);
    unwind_case_set(&c, "rsp", S);
    unwind_case_put(&c, S, 0);
    unwind_case_set(&c, "rbp", S + 0x40);
    unwind_case_put(&c, S + 0x48, 0x200030);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0xdead, 0x200030, 0}, SYM_UNWIND_END_BASE);
    assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_FRAME_POINTER);
    unwind_case_end(&c);
}

/* Without files: lr of another image is a caller that the chain of records skips; lr nearby may
 * be what the function itself called. */
static void
test_link_register(void **state)
{
    (void)state;
    static const struct {
        uint64_t lr;
        const uint64_t want[5];
    } cases[] = {
        {0x200040, {0x100010, 0x200040, 0x200030, 0}}, {0x100014, {0x100010, 0x200030, 0}},
        {0x108000, {0x100010, 0x108000, 0x200030, 0}}, {0x200030, {0x100010, 0x200030, 0}},
        {0x8f2a800000200030, {0x100010, 0x200030, 0}}, {0x5, {0x100010, 0x200030, 0}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct unwind_case c;
        unwind_case_init(&c, FZ_CPU_ARM64);
        unwind_case_set(&c, "pc", 0x100010);
        unwind_case_set(&c, "sp", S);
        unwind_case_set(&c, "lr", cases[i].lr);
        unwind_case_set(&c, "fp", S + 0x40);
        unwind_case_put(&c, S + 0x48, 0x200030);
        unwind_case_run(&c, 100);
        unwind_case_want(&c, cases[i].want, SYM_UNWIND_END_BASE);
        unwind_case_end(&c);
    }
}

/* struct sigframe of xnu above the record of _sigtramp. */
static void
test_signal_arm64(void **state)
{
    (void)state;
    struct unwind_case c;
    uint64_t frame = S + 0x40 + 16, ucontext = frame + 104, mcontext = ucontext + 56;
    unwind_case_init(&c, FZ_CPU_ARM64);
    unwind_case_set(&c, "pc", 0x100010);
    unwind_case_set(&c, "sp", S);
    unwind_case_set(&c, "fp", S + 0x20);
    unwind_case_put(&c, S + 0x20, S + 0x40);
    unwind_case_put(&c, S + 0x28, 0x200100); /* _sigtramp */
    unwind_case_put(&c, S + 0x40, S + 0x800);
    unwind_case_put(&c, S + 0x48, 0x100500); /* the kernel leaves lr of the interrupted code */
    unwind_case_put(&c, ucontext + 40, 816);
    unwind_case_put(&c, ucontext + 48, mcontext);
    for (uint64_t i = 0; i < 29; i++)
        unwind_case_put(&c, mcontext + 16 + 8 * i, 0x1000 + i);
    unwind_case_put(&c, mcontext + 16 + 8 * 29, S + 0x800);
    unwind_case_put(&c, mcontext + 16 + 8 * 30, 0x100500);
    unwind_case_put(&c, mcontext + 16 + 8 * 31, S + 0x7c0);
    unwind_case_put(&c, mcontext + 16 + 8 * 32, 0x100400);
    unwind_case_put(&c, mcontext + 16 + 272 + 8 * 16, 0x4142434445464748);
    unwind_case_put(&c, S + 0x808, 0x100600);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0x100010, 0x200100, 0x100400, 0x100600, 0},
                     SYM_UNWIND_END_BASE);
    const struct sym_unwind_frame *interrupted = &c.chain.frames[2];
    uint64_t value = 0;
    assert_false(interrupted->is_return);
    assert_int_equal(interrupted->trust, SYM_TRUST_CONTEXT);
    assert_true(sym_registers_get(&interrupted->registers, 7, &value));
    assert_int_equal(value, 0x1007);
    assert_memory_equal(interrupted->registers.vectors[8].bytes, "HGFEDCBA", 8);
    assert_int_equal(c.chain.frames[1].cfa, frame);
    unwind_case_end(&c);
}

static void
test_signal_x86_64(void **state)
{
    (void)state;
    static const uint64_t order[] = {FZ_X86_64_RAX, FZ_X86_64_RBX, FZ_X86_64_RCX,
                                     FZ_X86_64_RDX, FZ_X86_64_RDI, FZ_X86_64_RSI};
    struct unwind_case c;
    uint64_t ucontext = S + 0x60 + 104, mcontext = ucontext + 56, value = 0;
    unwind_case_init(&c, FZ_CPU_X86_64);
    unwind_case_set(&c, "rip", 0x200100); /* in _sigtramp */
    unwind_case_set(&c, "rsp", S);
    unwind_case_set(&c, "rbp", S + 0x20);
    unwind_case_put(&c, S + 0x20, S + 0x800);
    unwind_case_put(&c, S + 0x28, 0x100500);
    unwind_case_put(&c, ucontext + 40, 712);
    unwind_case_put(&c, ucontext + 48, mcontext);
    for (uint64_t i = 0; i < FZ_ARRAY_LEN(order); i++)
        unwind_case_put(&c, mcontext + 16 + 8 * i, 0x1000 + order[i]);
    unwind_case_put(&c, mcontext + 16 + 8 * 6, S + 0x800);
    unwind_case_put(&c, mcontext + 16 + 8 * 7, S + 0x7c0);
    unwind_case_put(&c, mcontext + 16 + 8 * 16, 0x100400);
    unwind_case_put(&c, S + 0x808, 0x100600);
    unwind_case_run(&c, 100);
    unwind_case_want(&c, (uint64_t[]){0x200100, 0x100400, 0x100600, 0}, SYM_UNWIND_END_BASE);
    for (size_t i = 0; i < FZ_ARRAY_LEN(order); i++) {
        assert_true(sym_registers_get(&c.chain.frames[1].registers, (int)order[i], &value));
        assert_int_equal(value, 0x1000 + order[i]);
    }
    unwind_case_end(&c);
}

/* A signal frame whose context leads back to itself ends. */
static void
test_signal_cycle(void **state)
{
    (void)state;
    struct unwind_case c;
    uint64_t ucontext = S + 0x40 + 16 + 104, mcontext = ucontext + 56;
    unwind_case_init(&c, FZ_CPU_ARM64);
    unwind_case_set(&c, "pc", 0x200100);
    unwind_case_set(&c, "sp", S);
    unwind_case_set(&c, "fp", S + 0x40);
    unwind_case_put(&c, ucontext + 40, 816);
    unwind_case_put(&c, ucontext + 48, mcontext);
    unwind_case_put(&c, mcontext + 16 + 8 * 29, S + 0x40);
    unwind_case_put(&c, mcontext + 16 + 8 * 31, S);
    unwind_case_put(&c, mcontext + 16 + 8 * 32, 0x200100);
    unwind_case_run(&c, 100);
    assert_true(c.chain.n <= 10);
    unwind_case_end(&c);
}

static void
test_errors(void **state)
{
    (void)state;
    struct unwind_case c;
    struct sym_unwind_chain chain;
    unwind_case_init(&c, FZ_CPU_ARM64);
    struct sym_process_source source = {.cpu = FZ_CPU_ARM64};
    assert_int_equal(sym_process_create(&source, &c.arena, &c.process, NULL), FZ_OK);
    assert_int_equal(sym_unwind(c.process, &c.registers, 9, &c.arena, &chain, NULL),
                     FZ_E_MALFORMED);
    unwind_case_set(&c, "pc", 1);
    c.arena.fail_after = 0;
    assert_int_equal(sym_unwind(c.process, &c.registers, 9, &c.arena, &chain, NULL),
                     FZ_E_NO_MEMORY);
    unwind_case_end(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_records_beside_sp),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_nowhere_x86),
        cmocka_unit_test(test_link_register),
        cmocka_unit_test(test_signal_arm64),
        cmocka_unit_test(test_signal_x86_64),
        cmocka_unit_test(test_signal_cycle),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
