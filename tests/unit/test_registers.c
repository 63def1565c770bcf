#include "base/arch/registers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_cpu_of_arch(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        enum fz_arch_cpu cpu;
        unsigned bits;
    } cases[] = {
        {"arm64", FZ_CPU_ARM64, 64},   {"arm64e", FZ_CPU_ARM64, 64},   {"armv7s", FZ_CPU_ARM, 32},
        {"x86_64", FZ_CPU_X86_64, 64}, {"x86_64h", FZ_CPU_X86_64, 64}, {"i386", FZ_CPU_X86, 32},
        {"ppc", FZ_CPU_UNKNOWN, 64},   {NULL, FZ_CPU_UNKNOWN, 64},     {"", FZ_CPU_UNKNOWN, 64},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_int_equal(fz_arch_cpu(cases[i].arch), cases[i].cpu);
        assert_int_equal(fz_arch_pointer_bits(cases[i].cpu), cases[i].bits);
    }
}

/* The numbers are DWARF's: a sample of each processor. */
static void
test_numbers(void **state)
{
    (void)state;
    static const struct {
        enum fz_arch_cpu cpu;
        unsigned number;
        const char *name, *other;
    } cases[] = {
        {FZ_CPU_ARM64, 0, "x0", "x0"},        {FZ_CPU_ARM64, 29, "fp", "x29"},
        {FZ_CPU_ARM64, 30, "lr", "x30"},      {FZ_CPU_ARM64, 31, "sp", "sp"},
        {FZ_CPU_ARM64, 32, "pc", "pc"},       {FZ_CPU_ARM, 13, "sp", "r13"},
        {FZ_CPU_ARM, 15, "pc", "r15"},        {FZ_CPU_X86_64, 1, "rdx", "rdx"},
        {FZ_CPU_X86_64, 15, "r15", "r15"},    {FZ_CPU_X86_64, 16, "rip", "rip"},
        {FZ_CPU_X86_64, 49, "rflags", "rfl"}, {FZ_CPU_X86, 4, "esp", "esp"},
        {FZ_CPU_X86, 9, "eflags", "efl"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_string_equal(fz_arch_register_name(cases[i].cpu, cases[i].number), cases[i].name);
        assert_int_equal(fz_arch_register_number(cases[i].cpu, cases[i].name), cases[i].number);
        assert_int_equal(fz_arch_register_number(cases[i].cpu, cases[i].other), cases[i].number);
    }
    assert_null(fz_arch_register_name(FZ_CPU_ARM, 63));
    assert_null(fz_arch_register_name(FZ_CPU_UNKNOWN, 0));
    assert_int_equal(fz_arch_register_number(FZ_CPU_ARM64, "rax"), FZ_NO_REGISTER);
    assert_int_equal(fz_arch_register_number(FZ_CPU_UNKNOWN, "pc"), FZ_NO_REGISTER);
}

/* Each name has one number and each number one name. */
static void
test_tables_are_sound(void **state)
{
    (void)state;
    for (unsigned cpu = FZ_CPU_ARM64; cpu <= FZ_CPU_X86; cpu++) {
        size_t n = 0;
        for (unsigned number = 0; number < 256; number++) {
            const char *name = fz_arch_register_name((enum fz_arch_cpu)cpu, number);
            n += name != NULL;
            if (name)
                assert_int_equal(fz_arch_register_number((enum fz_arch_cpu)cpu, name), number);
            if (name)
                assert_true(number < FZ_REGISTER_NUMBERS);
        }
        assert_true(n >= 17);
    }
}

static void
test_roles(void **state)
{
    (void)state;
    assert_int_equal(fz_arch_register_of_role(FZ_CPU_ARM64, FZ_REGISTER_PC), FZ_ARM64_PC);
    assert_int_equal(fz_arch_register_of_role(FZ_CPU_ARM, FZ_REGISTER_FP), FZ_ARM_R7);
    assert_int_equal(fz_arch_register_of_role(FZ_CPU_X86_64, FZ_REGISTER_SP), FZ_X86_64_RSP);
    assert_int_equal(fz_arch_register_of_role(FZ_CPU_X86, FZ_REGISTER_LR), FZ_NO_REGISTER);
    assert_int_equal(fz_arch_register_of_role(FZ_CPU_UNKNOWN, FZ_REGISTER_PC), FZ_NO_REGISTER);
    assert_true(fz_arch_register_has_role("pc", FZ_REGISTER_PC));
    assert_true(fz_arch_register_has_role("rip", FZ_REGISTER_PC));
    assert_true(fz_arch_register_has_role("eip", FZ_REGISTER_PC));
    assert_true(fz_arch_register_has_role("lr", FZ_REGISTER_LR));
    /* The pc of ARM has this name too, but it is another register of x86_64. */
    assert_false(fz_arch_register_has_role("r15", FZ_REGISTER_PC));
    assert_false(fz_arch_register_has_role("rsp", FZ_REGISTER_LR));
}

static void
test_cpu_of_register(void **state)
{
    (void)state;
    assert_int_equal(fz_arch_cpu_of_register("x5"), FZ_CPU_ARM64);
    assert_int_equal(fz_arch_cpu_of_register("r0"), FZ_CPU_ARM);
    assert_int_equal(fz_arch_cpu_of_register("rip"), FZ_CPU_X86_64);
    assert_int_equal(fz_arch_cpu_of_register("eip"), FZ_CPU_X86);
    assert_int_equal(fz_arch_cpu_of_register("pc"), FZ_CPU_UNKNOWN); /* both ARM ones have it */
    assert_int_equal(fz_arch_cpu_of_register("zero"), FZ_CPU_UNKNOWN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_of_arch),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_tables_are_sound), cmocka_unit_test(test_roles),
        cmocka_unit_test(test_cpu_of_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
