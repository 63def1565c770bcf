#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_fail(void **state)
{
    (void)state;
    struct fz_error err = {.offset = 5};
    assert_int_equal(fz_fail(&err, FZ_E_LIMIT, "threads: %d, at most %d", 9, 8), FZ_E_LIMIT);
    assert_int_equal(err.code, FZ_E_LIMIT);
    assert_string_equal(err.text, "threads: 9, at most 8");
    assert_int_equal(err.offset, -1);
    assert_int_equal(fz_fail_at(&err, FZ_E_MALFORMED, 17, "bad"), FZ_E_MALFORMED);
    assert_int_equal(err.offset, 17);
    fz_fail_at(&err, FZ_E_MALFORMED, UINT64_MAX, "bad");
    assert_true(err.offset == INT64_MAX);
    assert_int_equal(fz_fail(NULL, FZ_E_DENIED, "x"), FZ_E_DENIED);
    assert_int_equal(fz_fail_at(NULL, FZ_E_DENIED, 1, "x"), FZ_E_DENIED);
    /* Its own text as an argument. */
    fz_fail(&err, FZ_E_CONFLICT, "inner");
    fz_fail(&err, FZ_E_CONFLICT, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
    char longer[1000];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    fz_fail(&err, FZ_E_CONFLICT, "%s", longer);
    assert_int_equal(strlen(err.text), 255);
    fz_wrap(&err, "%s", longer);
    assert_int_equal(strlen(err.text), 255);
}

static void
test_errno(void **state)
{
    (void)state;
    static const struct {
        int number;
        enum fz_code code;
    } cases[] = {
        {ENOMEM, FZ_E_NO_MEMORY},   {ENOENT, FZ_E_NOT_FOUND},   {ENOSPC, FZ_E_UNAVAILABLE},
        {EDQUOT, FZ_E_UNAVAILABLE}, {EMFILE, FZ_E_UNAVAILABLE}, {EACCES, FZ_E_INTERNAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fz_error err;
        errno = cases[i].number;
        assert_int_equal(fz_fail_errno(&err, "open %s", "x"), cases[i].code);
        assert_non_null(strstr(err.text, "open x: "));
        assert_true(strlen(err.text) > strlen("open x: "));
        assert_int_equal(err.code, cases[i].code);
        errno = cases[i].number;
        assert_int_equal(fz_fail_errno(NULL, "open"), cases[i].code);
    }
}

static void
test_wrap(void **state)
{
    (void)state;
    struct fz_error err;
    fz_fail_at(&err, FZ_E_MALFORMED, 3, "bad");
    assert_int_equal(fz_wrap(&err, "report %d", 7), FZ_E_MALFORMED);
    assert_string_equal(err.text, "report 7: bad");
    assert_int_equal(err.offset, 3);
    assert_int_equal(fz_wrap(NULL, "report"), FZ_E_INTERNAL);
}

static void
test_names(void **state)
{
    (void)state;
    static const struct {
        enum fz_code code;
        const char *name;
        int status;
    } cases[] = {
        {FZ_OK, "ok", 200},
        {FZ_E_MALFORMED, "malformed", 400},
        {FZ_E_UNSUPPORTED, "unsupported", 415},
        {FZ_E_LIMIT, "limit", 413},
        {FZ_E_DENIED, "denied", 403},
        {FZ_E_NOT_FOUND, "not_found", 404},
        {FZ_E_CONFLICT, "conflict", 409},
        {FZ_E_UNAVAILABLE, "unavailable", 503},
        {FZ_E_NO_MEMORY, "no_memory", 503},
        {FZ_E_INTERNAL, "internal", 500},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(fz_code_name(cases[i].code), cases[i].name);
        assert_int_equal(fz_code_http_status(cases[i].code), cases[i].status);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
