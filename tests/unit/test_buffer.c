#include "base/buffer.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_append(void **state)
{
    (void)state;
    struct fz_buffer b;
    fz_buffer_init(&b, 0);
    assert_string_equal(fz_buffer_cstr(&b), "");
    assert_int_equal(fz_buffer_span(&b).len, 0);
    fz_buffer_append(&b, NULL, 0);
    fz_buffer_text(&b, "ab");
    fz_buffer_char(&b, 'c');
    fz_buffer_printf(&b, "-%05d-%s", 42, "x");
    fz_buffer_append(&b, "\0z", 2);
    assert_int_equal(b.len, 13);
    assert_memory_equal(b.data, "abc-00042-x\0z", 14);
    char longer[5000];
    memset(longer, 'l', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    fz_buffer_printf(&b, "%s", longer);
    assert_int_equal(b.len, 13 + 4999);
    assert_int_equal(b.data[b.len], '\0');
    assert_int_equal(fz_buffer_done(&b, NULL), FZ_OK);
    fz_buffer_clear(&b);
    assert_string_equal(fz_buffer_cstr(&b), "");
    fz_buffer_deinit(&b);
    fz_buffer_deinit(&b);
    fz_buffer_deinit(NULL);
}

static void
test_cap(void **state)
{
    (void)state;
    struct fz_buffer b;
    struct fz_error err;
    fz_buffer_init(&b, 10);
    fz_buffer_text(&b, "0123456789"); /* just fits */
    assert_int_equal(fz_buffer_done(&b, &err), FZ_OK);
    fz_buffer_char(&b, 'x');
    assert_int_equal(fz_buffer_done(&b, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "output is larger than its limit of 10 bytes");
    assert_string_equal(fz_buffer_cstr(&b), "0123456789");
    fz_buffer_clear(&b);
    assert_int_equal(fz_buffer_done(&b, &err), FZ_OK);
    fz_buffer_deinit(&b);

    /* One append far above the cap is the cap's fault too; later ones that would fit are dropped.
     */
    fz_buffer_init(&b, 100);
    char big[500] = {0};
    fz_buffer_append(&b, big, sizeof(big));
    fz_buffer_char(&b, 'x');
    assert_int_equal(b.len, 0);
    assert_int_equal(fz_buffer_done(&b, &err), FZ_E_LIMIT);
    fz_buffer_deinit(&b);

    fz_buffer_init(&b, 4);
    fz_buffer_printf(&b, "%s", "12345");
    assert_int_equal(fz_buffer_done(&b, &err), FZ_E_LIMIT);
    fz_buffer_deinit(&b);
}

/* A buffer of zeros is an empty one without a cap. */
static void
test_zeroed(void **state)
{
    (void)state;
    struct fz_buffer b = {0};
    fz_buffer_text(&b, "x");
    assert_int_equal(fz_buffer_done(&b, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&b), "x");
    fz_buffer_deinit(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_zeroed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
