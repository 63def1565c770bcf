#include "server/ingest/common/exception_names.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"

static void
assert_name(const char *got, const char *want)
{
    if (!want)
        assert_null(got);
    else if (!got)
        fail_msg("no name, %s is wanted", want);
    else
        assert_string_equal(got, want);
}

static void
test_names(void **state)
{
    (void)state;
    static const struct {
        uint64_t type, code;
        bool arm;
        const char *exception, *code_name;
    } cases[] = {
        {1, 1, true, "EXC_BAD_ACCESS", "KERN_INVALID_ADDRESS"},
        {1, 2, false, "EXC_BAD_ACCESS", "KERN_PROTECTION_FAILURE"},
        {1, 13, false, "EXC_BAD_ACCESS", "EXC_I386_GPFLT"},
        {1, 13, true, "EXC_BAD_ACCESS", NULL},
        {6, 1, true, "EXC_BREAKPOINT", "EXC_ARM_BREAKPOINT"},
        {6, 1, false, "EXC_BREAKPOINT", "EXC_I386_SGL"},
        {5, 0x10003, true, "EXC_SOFTWARE", "EXC_SOFT_SIGNAL"},
        {2, 12, false, "EXC_BAD_INSTRUCTION", "EXC_I386_STKFLT"},
        {11, 0x2000000000000000, true, "EXC_RESOURCE", "CPU"},
        {11, 0x2800000000000000, true, "EXC_RESOURCE", "CPU_FATAL"},
        {11, 0x4400000000000000, true, "EXC_RESOURCE", "WAKEUPS"},
        {11, 0xe000000000000000, true, "EXC_RESOURCE", NULL},
        {12, 0x2000000100000203, true, "EXC_GUARD", "GUARD_TYPE_MACH_PORT"},
        {12, 0x8000000400000000, true, "EXC_GUARD", "GUARD_TYPE_VN"},
        {12, 0, true, "EXC_GUARD", NULL},
        {13, 0, true, "EXC_CORPSE_NOTIFY", NULL},
        {0, 0, true, NULL, NULL},
        {14, 1, true, NULL, NULL},
        {UINT64_MAX, UINT64_MAX, true, NULL, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_name(ingest_mach_exception(cases[i].type), cases[i].exception);
        assert_name(ingest_mach_code(cases[i].type, cases[i].code, cases[i].arm),
                    cases[i].code_name);
    }
    assert_int_equal(ingest_mach_type("EXC_GUARD"), 12);
    assert_int_equal(ingest_mach_type("EXC_"), 0);
    assert_int_equal(ingest_mach_type(NULL), 0);
    assert_name(ingest_signal_name(6), "SIGABRT");
    assert_name(ingest_signal_name(11), "SIGSEGV");
    assert_name(ingest_signal_name(31), "SIGUSR2");
    assert_name(ingest_signal_name(0), NULL);
    assert_name(ingest_signal_name(32), NULL);
    assert_name(ingest_signal_name(-1), NULL);
    assert_name(ingest_signal_code(11, 2), "SEGV_ACCERR");
    assert_name(ingest_signal_code(4, 8), "ILL_BADSTK");
    assert_name(ingest_signal_code(11, 3), NULL);
    assert_name(ingest_signal_code(11, 0), NULL);
    assert_name(ingest_signal_code(8, 9), NULL);
    assert_name(ingest_signal_code(10, -1), NULL);
    assert_name(ingest_signal_code(6, 1), NULL);
}

static void
test_signals(void **state)
{
    (void)state;
    static const struct {
        uint64_t type, code, subcode;
        const char *signal;
    } cases[] = {
        {1, 1, 0x10, "SIGSEGV"},    {1, 2, 0x10, "SIGBUS"},    {2, 1, 0, "SIGILL"},
        {3, 1, 0, "SIGFPE"},        {6, 1, 0, "SIGTRAP"},      {5, 0x10003, 6, "SIGABRT"},
        {5, 0x10003, 99, NULL},     {5, 0x10000, 0, "SIGSYS"}, {5, 0x10001, 0, "SIGPIPE"},
        {5, 0x10002, 0, "SIGABRT"}, {11, 0, 0, NULL},          {5, 0xdeadc0de, 0, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_name(
            ingest_signal_name(ingest_mach_signal(cases[i].type, cases[i].code, cases[i].subcode)),
            cases[i].signal);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
