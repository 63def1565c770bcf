#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storage/store_private.h"

static void
test_round_trip(void **state)
{
    (void)state;
    static const struct {
        int64_t time_ms;
        const char *id;
    } cases[] = {
        {0, "0"},
        {1700000000000, "0123456789abcdef0123456789abcdef"},
        {INT64_MAX, "ffffffffffffffffffffffffffffffff"},
        {INT64_MIN, "1.2"}, /* only the first dot counts */
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        int64_t time_ms = 0;
        char id[STORE_ID_TEXT];
        const char *cursor = store_cursor_make(&arena, cases[i].time_ms, cases[i].id);
        assert_non_null(cursor);
        assert_null(strpbrk(cursor, "+/=%& "));
        assert_int_equal(store_cursor_parse(cursor, &arena, &time_ms, id, NULL), FZ_OK);
        assert_int_equal(time_ms, cases[i].time_ms);
        assert_string_equal(id, cases[i].id);
    }
}

static void
test_malformed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",                                                /* nothing */
        "A",                                               /* ends inside a byte */
        "*",                                               /* not base64 */
        "MQ",                                              /* "1" */
        "MS4",                                             /* "1." */
        "LmE",                                             /* ".a" */
        "eC5h",                                            /* "x.a" */
        "MS5hAGI",                                         /* "1.a\0b" */
        "OTk5OTk5OTk5OTk5OTk5OTk5OTkuYQ",                  /* a time above 2^63 */
        "MS4wMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjA", /* an id of 33 digits */
    };
    char longer[200];
    memset(longer, 'A', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    for (size_t i = 0; i <= FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        struct fz_error err;
        int64_t time_ms = 42;
        char id[STORE_ID_TEXT] = "untouched";
        const char *cursor = i < FZ_ARRAY_LEN(cases) ? cases[i] : longer;
        if (store_cursor_parse(cursor, &arena, &time_ms, id, &err) != FZ_E_MALFORMED)
            fail_msg("accepted: %s", cursor);
        assert_string_equal(err.text, "the cursor is not one of this list's");
        assert_int_equal(time_ms, 42);
        assert_string_equal(id, "untouched");
    }
}

static void
test_ids(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_id;
    } cases[] = {
        {"0123456789abcdef0123456789abcdef", true},
        {"0123456789abcdef0123456789abcdeF", false},
        {"0123456789abcdef0123456789abcde", false},
        {"0123456789abcdef0123456789abcdef0", false},
        {"0123456789abcdef0123456789abcde ", false},
        {"", false},
        {NULL, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_int_equal(store_is_id(cases[i].text), cases[i].is_id);
        assert_false(store_is_sha256(cases[i].text));
    }
    assert_true(
        store_is_sha256("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
