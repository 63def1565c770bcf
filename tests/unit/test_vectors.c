#include "base/arch/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/attr.h"

/* Numbers and names of the standards that vectors.h cites; size 0: there is no such register. */
static void
test_numbers_and_names(void **state)
{
    (void)state;
    static const struct {
        enum fz_arch_cpu cpu;
        unsigned number; /* 0 = none for this name */
        const char *name;
        struct fz_arch_vector want;
    } cases[] = {
        {FZ_CPU_ARM64, 64, "v0", {0, 0, 16}},    {FZ_CPU_ARM64, 95, "q31", {31, 0, 16}},
        {FZ_CPU_ARM64, 0, "d8", {8, 0, 8}},      {FZ_CPU_ARM64, 0, "s9", {9, 0, 4}},
        {FZ_CPU_ARM64, 0, "h2", {2, 0, 2}},      {FZ_CPU_ARM64, 0, "b3", {3, 0, 1}},
        {FZ_CPU_ARM64, 96, "v32", {0, 0, 0}},    {FZ_CPU_ARM64, 63, "xmm0", {0, 0, 0}},
        {FZ_CPU_ARM, 64, "s0", {0, 0, 4}},       {FZ_CPU_ARM, 65, "s1", {0, 4, 4}},
        {FZ_CPU_ARM, 95, "s31", {15, 4, 4}},     {FZ_CPU_ARM, 256, "d0", {0, 0, 8}},
        {FZ_CPU_ARM, 287, "d31", {31, 0, 8}},    {FZ_CPU_ARM, 0, "q1", {2, 0, 16}},
        {FZ_CPU_ARM, 288, "q16", {0, 0, 0}},     {FZ_CPU_ARM, 96, "d32", {0, 0, 0}},
        {FZ_CPU_X86_64, 17, "xmm0", {0, 0, 16}}, {FZ_CPU_X86_64, 32, "xmm15", {15, 0, 16}},
        {FZ_CPU_X86_64, 33, "xmm16", {0, 0, 0}}, {FZ_CPU_X86_64, 16, "xmm01", {0, 0, 0}},
        {FZ_CPU_X86, 21, "xmm0", {0, 0, 16}},    {FZ_CPU_X86, 28, "xmm7", {7, 0, 16}},
        {FZ_CPU_X86, 29, "xmm8", {0, 0, 0}},     {FZ_CPU_UNKNOWN, 64, "v0", {0, 0, 0}},
        {FZ_CPU_ARM64, 0, "v", {0, 0, 0}},       {FZ_CPU_ARM64, 0, "v1x", {0, 0, 0}},
        {FZ_CPU_ARM64, 0, "v111", {0, 0, 0}},    {FZ_CPU_ARM64, 0, "", {0, 0, 0}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_arch_vector got = {0};
        bool want = cases[i].want.size != 0;
        if (fz_arch_vector_of_name(cases[i].cpu, cases[i].name, &got) != want)
            fail_msg("%s", cases[i].name);
        assert_memory_equal(&got, &cases[i].want, sizeof(got));
        if (cases[i].number == 0)
            continue;
        got = (struct fz_arch_vector){0};
        if (fz_arch_vector_of_number(cases[i].cpu, cases[i].number, &got) != want)
            fail_msg("%u", cases[i].number);
        assert_memory_equal(&got, &cases[i].want, sizeof(got));
    }
}

/* Every register's own name leads back to all of its bytes. */
static void
test_names_are_sound(void **state)
{
    (void)state;
    for (unsigned cpu = FZ_CPU_ARM64; cpu <= FZ_CPU_X86; cpu++) {
        unsigned n = fz_arch_vectors((enum fz_arch_cpu)cpu);
        assert_in_range(n, 8, FZ_VECTORS);
        for (unsigned i = 0; i < n; i++) {
            struct fz_arch_vector got;
            const char *name = fz_arch_vector_name((enum fz_arch_cpu)cpu, i);
            assert_non_null(name);
            assert_true(fz_arch_vector_of_name((enum fz_arch_cpu)cpu, name, &got));
            assert_int_equal(got.index, i);
            assert_int_equal(got.size, fz_arch_vector_size((enum fz_arch_cpu)cpu));
        }
        assert_null(fz_arch_vector_name((enum fz_arch_cpu)cpu, n));
    }
    assert_int_equal(fz_arch_vectors(FZ_CPU_UNKNOWN), 0);
    assert_null(fz_arch_vector_name(FZ_CPU_UNKNOWN, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_names),
        cmocka_unit_test(test_names_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
