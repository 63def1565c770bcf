#include "base/arch/arch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_names_of_cpu_types(void **state)
{
    (void)state;
    static const struct {
        uint32_t cputype, cpusubtype;
        const char *name;
        unsigned pointer_size;
    } cases[] = {
        {SYM_CPU_ARM64, 0, "arm64", 8},
        {SYM_CPU_ARM64, 2, "arm64e", 8},
        {SYM_CPU_ARM64, 0x80000002, "arm64e", 8}, /* capability bits */
        {SYM_CPU_ARM64_32, 1, "arm64_32", 4},
        {SYM_CPU_ARM, 6, "armv6", 4},
        {SYM_CPU_ARM, 9, "armv7", 4},
        {SYM_CPU_ARM, 11, "armv7s", 4},
        {SYM_CPU_ARM, 12, "armv7k", 4},
        {SYM_CPU_I386, 3, "i386", 4},
        {SYM_CPU_X86_64, 3, "x86_64", 8},
        {SYM_CPU_X86_64, 0x80000003, "x86_64", 8},
        {SYM_CPU_X86_64, 8, "x86_64h", 8},
        {SYM_CPU_PPC, 0, "ppc", 4},
        {99, 0, "unknown", 4},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_string_equal(sym_arch_name(cases[i].cputype, cases[i].cpusubtype), cases[i].name);
        assert_int_equal(sym_arch_pointer_size(cases[i].cputype), cases[i].pointer_size);
        assert_int_equal(sym_arch_has_thumb(cases[i].cputype), cases[i].cputype == SYM_CPU_ARM);
    }
}

static void
test_names_parse_to_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *spelling, *name;
    } cases[] = {
        {"arm64", "arm64"},       {"ARM-64", "arm64"},  {"aarch64", "arm64"},
        {"arm64e", "arm64e"},     {"armv7s", "armv7s"}, {"armv7k", "armv7k"},
        {"armv6", "armv6"},       {"x86_64", "x86_64"}, {"X86-64", "x86_64"},
        {"x86_64h", "x86_64h"},   {"i386", "i386"},     {"ppc", "ppc"},
        {"arm64_32", "arm64_32"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint32_t cputype = 0, cpusubtype = 0;
        assert_true(sym_arch_parse(cases[i].spelling, &cputype, &cpusubtype));
        assert_string_equal(sym_arch_name(cputype, cpusubtype), cases[i].name);
    }
    uint32_t untouched = 7, other = 8;
    assert_false(sym_arch_parse("m68k", &untouched, &other));
    assert_false(sym_arch_parse("", &untouched, &other));
    assert_int_equal(untouched, 7);
    assert_int_equal(other, 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_cpu_types),
        cmocka_unit_test(test_names_parse_to_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
