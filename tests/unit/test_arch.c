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
        {FZ_ARCH_ARM64, 0, "arm64", 8},
        {FZ_ARCH_ARM64, 2, "arm64e", 8},
        {FZ_ARCH_ARM64, 0x80000002, "arm64e", 8}, /* capability bits */
        {FZ_ARCH_ARM64_32, 1, "arm64_32", 4},
        {FZ_ARCH_ARM, 6, "armv6", 4},
        {FZ_ARCH_ARM, 9, "armv7", 4},
        {FZ_ARCH_ARM, 11, "armv7s", 4},
        {FZ_ARCH_ARM, 12, "armv7k", 4},
        {FZ_ARCH_I386, 3, "i386", 4},
        {FZ_ARCH_X86_64, 3, "x86_64", 8},
        {FZ_ARCH_X86_64, 0x80000003, "x86_64", 8},
        {FZ_ARCH_X86_64, 8, "x86_64h", 8},
        {FZ_ARCH_ARM, 13, "armv8", 4},
        {FZ_ARCH_ARM, 99, "arm", 4},
        {FZ_ARCH_PPC, 0, "ppc", 4},
        {0, 0, "unknown", 4},
        {0xffffffff, 0xffffffff, "unknown", 8},
        {99, 0, "unknown", 4},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *name = cases[i].name;
        bool is_known = strcmp(name, "unknown") != 0;
        assert_string_equal(fz_arch_name(cases[i].cputype, cases[i].cpusubtype), name);
        assert_ptr_equal(fz_arch_known_name(cases[i].cputype, cases[i].cpusubtype),
                         is_known ? fz_arch_name(cases[i].cputype, cases[i].cpusubtype) : NULL);
        assert_int_equal(fz_arch_is_name(fz_span_cstr(name)), is_known);
        assert_int_equal(fz_arch_pointer_size(cases[i].cputype), cases[i].pointer_size);
        assert_int_equal(fz_arch_has_thumb(cases[i].cputype), cases[i].cputype == FZ_ARCH_ARM);
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
        {"arm64_32", "arm64_32"}, {"AMD64", "x86_64"},  {"arm64-v8a", "arm64"},
        {"i686", "i386"},         {"x86", "i386"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint32_t cputype = 0, cpusubtype = 0;
        assert_true(fz_arch_parse(cases[i].spelling, &cputype, &cpusubtype));
        assert_string_equal(fz_arch_name(cputype, cpusubtype), cases[i].name);
        assert_string_equal(fz_arch_canonical(cases[i].spelling), cases[i].name);
    }
    assert_null(fz_arch_canonical("m68k"));
    assert_null(fz_arch_canonical(NULL));
    uint32_t untouched = 7, other = 8;
    assert_false(fz_arch_parse("m68k", &untouched, &other));
    assert_false(fz_arch_parse("", &untouched, &other));
    assert_int_equal(untouched, 7);
    assert_int_equal(other, 8);
}

static void
test_code_types(void **state)
{
    (void)state;
    static const struct {
        const char *code_type, *name;
    } cases[] = {
        {"ARM-64 (Native)", "arm64"},
        {"ARM-64", "arm64"},
        {"ARM (Native)", "armv7"},
        {"ARM-32", "armv7"},
        {"X86-64", "x86_64"},
        {"X86-64 (Translated)", "x86_64"},
        {"x86_64", "x86_64"},
        {"X86 (Native)", "i386"},
        {"PPC-64", "ppc64"},
        {"PPC", "ppc"},
        {"68k", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *name = fz_arch_of_code_type(fz_span_cstr(cases[i].code_type));
        assert_string_equal(name ? name : "none", cases[i].name ? cases[i].name : "none");
    }
    assert_true(fz_arch_is_arm("arm64e"));
    assert_true(fz_arch_is_arm("armv7"));
    assert_false(fz_arch_is_arm("x86_64"));
    assert_false(fz_arch_is_arm(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_cpu_types),
        cmocka_unit_test(test_names_parse_to_themselves),
        cmocka_unit_test(test_code_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
