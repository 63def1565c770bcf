/* The class of a crash, from what the formats say of it. */
#include "group_case.h"

static void
test_class(void **state)
{
    static const struct {
        struct report_crash crash;
        const char *kind, *want;
    } cases[] = {
        {{.signal = "SIGSEGV", .mach = "EXC_BAD_ACCESS"}, NULL, "crash"},
        {{.exception = "NSRangeException"}, NULL, "NSRangeException"},
        {{.exception = "NSGenericException"}, NULL, "crash"},
        {{.exception = "SIGABRT"}, NULL, "crash"},
        {{.exception = "std::out_of_range"}, NULL, "std::out_of_range"},
        {{.exception = "Cart.Problem"}, "error", "error Cart.Problem"},
        {{.exception = "App Hanging"}, "hang", "hang"},
        {{.reason = "Fatal error: Division by zero"}, NULL, "Swift: division by zero"},
        {{.reason = "Shop/Cart.swift:3: Fatal error: Unexpectedly found nil while implicitly "
                    "unwrapping an Optional value"},
         NULL,
         "Swift: nil unwrapped"},
        {{.reason = "fatal error: Index out of range"}, NULL, "Swift: index out of range"},
        {{.reason = "Fatal error: 'try!' expression unexpectedly raised an error: Cart.lost"},
         NULL,
         "Swift: try! failed"},
        {{.reason = "Fatal error: no cart\nIndex out of range"}, NULL, "crash"},
        {{.diagnosis = "fatal error: Index out of range"}, NULL, "crash"},
        {{.termination = "SPRINGBOARD 0x8badf00d ..."}, "hang", "hang 0x8badf00d"},
        {{.termination = "FRONTBOARD 2343432205 <x>"}, "hang", "hang 0x8badf00d"},
        {{.termination = "Namespace DYLD, Code 1 Library missing"}, NULL, "DYLD 1"},
        {{.termination = "DYLD 1 Library missing"}, NULL, "DYLD 1"},
        {{.termination = "Namespace CODESIGNING, Code 2 Invalid Page"}, NULL, "CODESIGNING 2"},
        {{.termination = "JETSAM per-process-limit"}, "memory", "memory use JETSAM"},
        {{.termination = "SIGNAL 6 Abort trap: 6"}, NULL, "crash"},
        {{.termination = "LIBSYSTEM 1 Application Triggered Fault"}, NULL, "crash"},
        {{.termination = "ended"}, NULL, "crash"},
        {{.signal = "SIGKILL"}, "cpu", "CPU use"},
        {{.reason = NULL}, "disk_write", "disk writes"},
        {{.reason = NULL}, "launch", "slow launch"},
    };
    static struct group_case c;
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct group_result result;
        case_init(&c);
        c.report.crash = cases[i].crash;
        c.report.kind = cases[i].kind;
        case_add(&c, "Shop|Cart_run");
        case_group(&c, NULL, &result);
        if (strcmp(result.key.class_text, cases[i].want) != 0)
            fail_msg("row %zu: %s, not %s", i, result.key.class_text, cases[i].want);
        case_deinit(&c);
    }
}

/* A name of one megabyte is cut, at a character. */
static void
test_long_name(void **state)
{
    enum { SIZE = 1 << 20 };
    static struct group_case c;
    struct group_result result;
    char *name = malloc(SIZE + 1);
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        name[i] = i % 2 ? '\251' : '\303';
    name[SIZE] = '\0';
    case_init(&c);
    c.report.crash.exception = name;
    case_group(&c, NULL, &result);
    assert_int_equal(strlen(result.stack.exception), 256);
    c.report.crash.exception = "x";
    c.report.crash.termination = name;
    case_group(&c, NULL, &result);
    assert_null(result.stack.termination);
    case_deinit(&c);
    free(name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_class),
                                       cmocka_unit_test(test_long_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
