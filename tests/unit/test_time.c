#include "base/time.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01 00:00:00", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"2026-11-20T10:11:12.345Z", 1795169472345},
        {"2026-11-20T10:11:12.3456789Z", 1795169472345},
        {"2026-11-20T10:11:12.3Z", 1795169472300},
        {"2026-11-20t10:11:12z", 1795169472000},
        {"2026-11-20T11:11:12+01:00", 1795169472000},
        {"2026-11-20T09:41:12-00:30", 1795169472000},
        {"2026-11-20 10:11:12.00 +0000", 1795169472000},
        {"2026-11-20 15:41:12 +0530", 1795169472000},
        {"2026-11-20T11:11:12+01", 1795169472000},
        {"2026-11-20T10:11", 1795169460000},
        {"2024-02-29T00:00:00Z", 1709164800000},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"2016-12-31T23:59:60Z", 1483228800000},
        {"0000-01-01T00:00:00Z", -62167219200000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(good); i++) {
        int64_t ms = 7;
        if (!fz_time_parse(fz_span_cstr(good[i].text), &ms) || ms != good[i].want)
            fail_msg("%s: %lld", good[i].text, (long long)ms);
    }
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11-20",
        "2026-11-20T",
        "2026-11-20T10",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T10:60:00Z",
        "2026-11-20T10:11:61Z",
        "2026-11-20T10:11:12X",
        "2026-11-20T10:11:12+24:00",
        "2026-11-20T10:11:12+01:60",
        "2026-11-20T10:11:12Z ",
        "2026-11-20T10:11:12ZZ",
        "26-11-20T10:11:12Z",
        "2026-1-20T10:11:12Z",
        "-2026-11-20T10:11:12Z",
        "2026/11/20T10:11:12Z",
        "2026-11-20T10:11:12.345+01:00:00",
        "2026-11-20T10:11:12.00000000000000000000000000000000000000000000000000000000000Z",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        int64_t ms = 7;
        if (fz_time_parse(fz_span_cstr(bad[i]), &ms) || ms != 7)
            fail_msg("'%s': %lld", bad[i], (long long)ms);
    }
}

static void
test_format(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1795169472345, "2026-11-20T10:11:12.345Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[FZ_TIME_TEXT];
        fz_time_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].want);
    }
    /* Every day of 30 years there and back. */
    for (int64_t ms = 0; ms < INT64_C(86400000) * 11000; ms += 86400000) {
        char text[FZ_TIME_TEXT];
        int64_t back = -1;
        fz_time_format(ms, text);
        if (!fz_time_parse(fz_span_cstr(text), &back) || back != ms)
            fail_msg("%s", text);
    }
}

static void
test_clocks(void **state)
{
    (void)state;
    int64_t start = fz_time_monotonic_ms();
    fz_time_sleep_ms(20);
    assert_true(fz_time_monotonic_ms() - start >= 20);
    fz_time_sleep_ms(0);
    fz_time_sleep_ms(-5);
    assert_true(fz_time_now_ms() > INT64_C(1600000000000));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
