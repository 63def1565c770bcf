#include "server/process/limits.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_defaults(void **state)
{
    (void)state;
    struct limits l = limits_default();
    assert_int_equal(l.report_bytes, 4 << 20);
    assert_int_equal(l.report_inflated_bytes, 32 << 20);
    assert_true(l.symbol_bytes == UINT64_C(4) << 30);
    assert_int_equal(l.threads, 512);
    assert_int_equal(l.frames, 1024);
    assert_int_equal(l.images, 4096);
}

static void
test_set(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        int want;
    } cases[] = {
        {"threads", "7", 0},
        {"report_bytes", "2M", 0},
        {"report_bytes", "2m", 0},
        {"symbol_bytes", "8G", 0},
        {"json_bytes", "16k", 0},
        {"child_cpu_s", "4294967295", 0},
        {"child_cpu_s", "4294967296", -2},
        {"connections", "4G", -2},
        {"symbol_bytes", "17179869184G", -2},
        {"threads", "0", -2},
        {"auth_failures", "0", -2},
        {"events_per_minute", "0", 0}, /* no limit */
        {"events_per_minute_address", "0", 0},
        {"report_bytes_per_day", "0", 0},
        {"symbol_bytes_per_day", "0", 0},
        {"threads", "0K", -2},
        {"threads", "", -2},
        {"threads", "K", -2},
        {"threads", "1KK", -2},
        {"threads", "-1", -2},
        {"threads", "1.5", -2},
        {"threads", "7 ", -2},
        {"thread", "7", -1},
        {"", "7", -1},
        {"THREADS", "7", -1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct limits l = limits_default();
        if (limits_set(&l, cases[i].name, cases[i].value) != cases[i].want)
            fail_msg("%s=%s", cases[i].name, cases[i].value);
    }
    struct limits l = limits_default();
    assert_int_equal(limits_set(&l, "threads", "7"), 0);
    assert_int_equal(limits_set(&l, "report_bytes", "2M"), 0);
    assert_int_equal(limits_set(&l, "symbol_bytes", "8G"), 0);
    assert_int_equal(limits_set(&l, "child_cpu_s", "90"), 0);
    assert_int_equal(l.threads, 7);
    assert_int_equal(l.frames, 1024); /* its neighbour */
    assert_int_equal(l.report_bytes, 2 << 20);
    assert_true(l.symbol_bytes == UINT64_C(8) << 30);
    assert_int_equal(l.child_cpu_s, 90);
    assert_int_equal(l.child_wall_s, 120);
}

/* Each limit has a configuration name: setting all that are listed here leaves nothing unset. */
static void
test_every_limit(void **state)
{
    (void)state;
    static const char *const names[] = {
        "report_bytes",
        "report_inflated_bytes",
        "symbol_bytes",
        "json_bytes",
        "envelope_bytes",
        "envelope_inflated_bytes",
        "json_depth",
        "threads",
        "frames",
        "images",
        "memory_bytes",
        "report_memory",
        "archive_bytes",
        "archive_entries",
        "archive_ratio",
        "slices",
        "child_memory",
        "child_cpu_s",
        "child_wall_s",
        "connections",
        "header_s",
        "body_s",
        "min_body_rate",
        "auth_failures",
        "passwords",
        "passwords_waiting",
        "sweep_s",
        "orphan_s",
        "verify_s",
        "reports_waiting",
        "disk_free_symbols",
        "disk_free_reports",
        "blob_cache_bytes",
        "disk_reserve",
        "per_address",
        "body_memory",
        "unknown_memory",
        "unknown_disk",
        "answer_memory",
        "answer_disk",
        "answer_s",
        "late_token_bytes",
        "chunk_bytes",
        "chunk_request_bytes",
        "event_streams",
        "event_streams_project",
        "events_per_minute",
        "events_per_minute_address",
        "report_bytes_per_day",
        "symbol_bytes_per_day",
        "reports_per_day",
        "query_s",
        "retention_s",
        "replica_lag_s",
        "list_memory",
        "streams",
    };
    struct limits a, b;
    memset(&a, 0, sizeof(a));
    memset(&b, 0xff, sizeof(b));
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        assert_int_equal(limits_set(&a, names[i], "1077952576"), 0); /* 0x40404040 */
        assert_int_equal(limits_set(&b, names[i], "1077952576"), 0);
    }
    size_t n_differ = 0;
    for (size_t i = 0; i < sizeof(a); i++)
        n_differ += ((const uint8_t *)&a)[i] != ((const uint8_t *)&b)[i];
    /* Padding stays as it was: at most 4 bytes before each 8-byte field that follows a 4-byte one.
     */
    if (n_differ > 16)
        fail_msg("%zu bytes unset: a new limit must be in limits_set() and in this list", n_differ);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_every_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
