/* From the names of registers to their numbers. */
#include "server/report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/text.h"

enum { REGISTERS_MAX = 8 };

/* The report's processor, and what becomes of the names: numbers, or -1. */
static void
test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *image_arch, *names[REGISTERS_MAX];
        enum fz_arch_cpu cpu;
        int want[REGISTERS_MAX];
    } cases[] = {
        {"arm64e",
         NULL,
         {"x0", "x1", "fp", "x30", "pc", "far", "odd"},
         FZ_CPU_ARM64,
         {0, 1, FZ_ARM64_FP, FZ_ARM64_LR, FZ_ARM64_PC, FZ_ARM64_FAR, FZ_NO_REGISTER}},
        {NULL, "x86_64", {"rip", "rsp"}, FZ_CPU_X86_64, {FZ_X86_64_RIP, FZ_X86_64_RSP}},
        /* The device's architecture where a simulator ran. */
        {"arm64", NULL, {"rax", "rip"}, FZ_CPU_X86_64, {FZ_X86_64_RAX, FZ_X86_64_RIP}},
        {NULL, NULL, {"pc", "r0", "r1"}, FZ_CPU_ARM, {FZ_ARM_PC, 0, 1}},
        {"mips", NULL, {"pc"}, FZ_CPU_UNKNOWN, {FZ_NO_REGISTER}},
        {"mips", NULL, {"a0"}, FZ_CPU_UNKNOWN, {FZ_NO_REGISTER}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_register registers[REGISTERS_MAX];
        struct report_thread thread = {.registers = registers};
        struct report_image image = {.arch = cases[i].image_arch};
        while (cases[i].names[thread.n_registers]) {
            size_t k = thread.n_registers++;
            registers[k] = (struct report_register){k, FZ_NO_REGISTER, cases[i].names[k]};
        }
        struct report report = {.arch = cases[i].arch,
                                .crash.thread = -1,
                                .threads = &thread,
                                .n_threads = 1,
                                .images = &image,
                                .n_images = 1};
        assert_true(report_number_registers(&report, NULL));
        assert_int_equal(report_cpu(&report), cases[i].cpu);
        for (size_t k = 0; k < thread.n_registers; k++) {
            assert_int_equal(registers[k].number, cases[i].want[k]);
            assert_int_equal(registers[k].value, k);
            /* Every spelling is shown as it came. */
            assert_string_equal(report_register_name(&report, &registers[k]), cases[i].names[k]);
        }
        /* Once more: nothing changes. */
        assert_true(report_number_registers(&report, NULL));
        assert_int_equal(registers[0].number, cases[i].want[0]);
    }
}

static void
test_roles(void **state)
{
    (void)state;
    struct report_register registers[] = {{.value = 1, .number = FZ_ARM64_PC},
                                          {.value = 2, .number = FZ_ARM64_FP}};
    struct report_thread thread = {.registers = registers, .n_registers = 2};
    struct report report = {.arch = "arm64"};
    assert_int_equal(report_find_register(&report, &thread, FZ_REGISTER_PC)->value, 1);
    assert_int_equal(report_find_register(&report, &thread, FZ_REGISTER_FP)->value, 2);
    assert_null(report_find_register(&report, &thread, FZ_REGISTER_LR));
    report.arch = "x86_64"; /* has no link register */
    assert_null(report_find_register(&report, &thread, FZ_REGISTER_LR));
    report.arch = NULL;
    assert_null(report_find_register(&report, &thread, FZ_REGISTER_PC));
}

/* One list of names and values, and what the thread has after it: "NAME:BYTES" of each vector, then
 * "NAME=VALUE" of each register. */
static void
test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        const char *texts[6]; /* name, value... */
        const char *want, *note;
    } cases[] = {
        {"arm64",
         {"v1", "0x100f0e0d0c0b0a090807060504030201", "d0", "0x3ff0000000000000"},
         "d0:000000000000f03f v1:0102030405060708090a0b0c0d0e0f10",
         NULL},
        /* The wider name has the rest; of the same bytes the first counts. */
        {"arm64",
         {"s3", "0x7", "v3", "0x1000000000000000000000000000008"},
         "v3:07000000000000000000000000000001",
         NULL},
        {"arm64", {"h2", "0x1"}, "", NULL}, /* too few bytes to be of use */
        {"arm64",
         {"d2", "0x10000000000000000"},
         "",
         "register d2: value is wider than it, left out"},
        {"armv7", {"s1", "0x2", "s0", "0x1", "s4", "0x5"}, "d0:0100000002000000 s4:05000000", NULL},
        {"armv7", {"q1", "0x20000000000000001"}, "d2:0100000000000000 d3:0200000000000000", NULL},
        {"x86_64", {"xmm15", "0x1"}, "xmm15:01000000000000000000000000000000", NULL},
        {"i386", {"xmm8", "0x1"}, "xmm8=1", NULL}, /* not one of its eight */
        {"i386",
         {"v0", "0x10000000000000000"},
         "",
         "register v0: not one of the processor's, left out"},
        {NULL, {"v0", "0x10"}, "v0=16", NULL},
    };
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_vector vectors[3] = {{.size = 16}, {.size = 16}, {.size = 16}};
        struct report_thread thread = {.vectors = vectors};
        struct report report = {.arch = cases[i].arch, .threads = &thread, .n_threads = 1};
        for (size_t k = 0; k < 6 && cases[i].texts[k]; k += 2) {
            assert_true(report_is_vector_name(cases[i].texts[k]));
            vectors[thread.n_vectors].name = cases[i].texts[k];
            assert_true(report_vector_parse(fz_span_cstr(cases[i].texts[k + 1]),
                                            vectors[thread.n_vectors++].bytes));
        }
        assert_true(report_number_registers(&report, &arena));
        char text[256] = "";
        for (size_t k = 0; k < thread.n_vectors; k++) {
            char hex[33], name[REPORT_VECTOR_NAME];
            assert_null(thread.vectors[k].name);
            fz_text_hex(fz_span_make(thread.vectors[k].bytes, thread.vectors[k].size), hex);
            report_vector_name(report_cpu(&report), &thread.vectors[k], name);
            size_t len = strlen(text);
            snprintf(text + len, sizeof(text) - len, "%s%s:%s", k ? " " : "", name, hex);
        }
        for (size_t k = 0; k < thread.n_registers; k++) {
            size_t len = strlen(text);
            snprintf(text + len, sizeof(text) - len, "%s=%llu",
                     report_register_name(&report, &thread.registers[k]),
                     (unsigned long long)thread.registers[k].value);
        }
        assert_string_equal(text, cases[i].want);
        assert_int_equal(report.n_notes, cases[i].note != NULL);
        if (cases[i].note)
            assert_string_equal(report.notes[0], cases[i].note);
        /* Once more: nothing changes. */
        size_t n = thread.n_vectors;
        assert_true(report_number_registers(&report, &arena));
        assert_int_equal(thread.n_vectors, n);
    }
    fz_arena_deinit(&arena);
}

static void
test_texts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "0x", "10", "0x1g", "x1", "0x123456789012345678901234567890123", "1x1"};
    uint8_t bytes[16] = {9};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++)
        assert_false(report_vector_parse(fz_span_cstr(bad[i]), bytes));
    assert_int_equal(bytes[0], 9);
    assert_true(report_vector_parse(fz_span_cstr("0XaBc"), bytes));
    assert_memory_equal(bytes, "\xbc\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    static const char *const not_vectors[] = {"x0", "sp", "d", "v32", "d01", "eax", "v", ""};
    for (size_t i = 0; i < FZ_ARRAY_LEN(not_vectors); i++)
        assert_false(report_is_vector_name(not_vectors[i]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
