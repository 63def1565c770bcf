/* Libraries that are loaded when they are first needed. */
#include "base/lazy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <archive.h>
#include <cmocka.h>

static void
test_library(void **state)
{
    (void)state;
    struct fz_error err;
    for (int i = 0; i < 2; i++)
        assert_int_equal(fz_lazy_load(&fz_lazy_archive, &err), FZ_OK);
    struct archive *archive = archive_read_new();
    assert_non_null(archive);
    assert_int_equal(archive_read_support_format_zip(archive), ARCHIVE_OK);
    assert_int_equal(archive_errno(archive), 0);
    assert_int_equal(archive_read_free(archive), ARCHIVE_OK);
}

static void
test_missing(void **state)
{
    (void)state;
    static const char *const names[] = {"malloc", "fz_there_is_no_such_function"};
    static const struct {
        const char *library, *text;
    } cases[] = {
        {"libfz-there-is-none.so.0", "libfz-there-is-none.so.0"},
        {"libc.so.6", "has no fz_there_is_no_such_function"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        fz_lazy_fn functions[] = {fz_lazy_unloaded, fz_lazy_unloaded};
        struct fz_lazy lazy = {cases[i].library, names, functions, FZ_ARRAY_LEN(names)};
        struct fz_error err;
        /* What failed is tried again, not taken for loaded. */
        for (int k = 0; k < 2; k++) {
            assert_int_equal(fz_lazy_load(&lazy, &err), FZ_E_INTERNAL);
            assert_non_null(strstr(err.text, cases[i].text));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
