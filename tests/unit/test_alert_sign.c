#include "server/alert/sign.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const char body[] = "{\"test\": 2432232314}";
static const struct alert_signed what = {.id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
                                         .time_s = 1614265330,
                                         .body = {(const uint8_t *)body, sizeof(body) - 1}};
static const char secret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/* The example that libraries of Standard Webhooks test with. */
static void
test_known(void **state)
{
    (void)state;
    const char *secrets[] = {secret};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(alert_sign(&what, secrets, 1, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static void
test_rotation(void **state)
{
    (void)state;
    char fresh[ALERT_SECRET_TEXT];
    alert_secret_make(fresh);
    const char *secrets[] = {fresh, secret};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(alert_sign(&what, secrets, 2, &out, NULL), FZ_OK);
    const char *second = strchr(fz_buffer_cstr(&out), ' ');
    assert_non_null(second);
    assert_string_equal(second, " v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_int_equal(out.len, 2 * strlen("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=") + 1);
}

static void
test_secrets(void **state)
{
    (void)state;
    /* 65 bytes */
    static const char too_long[] =
        "whsec_"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    static const char *const bad[] = {
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa", /* 22 bytes */
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa*w",
        too_long,
    };
    uint8_t bytes[ALERT_SECRET_MAX];
    size_t len = 0;
    struct fz_error err;
    assert_int_equal(alert_secret_parse(secret, bytes, &len, NULL), FZ_OK);
    assert_int_equal(len, 24);
    assert_int_equal(bytes[0], 0x31);
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        const char *secrets[] = {secret, bad[i]};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        assert_int_equal(alert_secret_parse(bad[i], bytes, &len, &err), FZ_E_MALFORMED);
        assert_non_null(strstr(err.text, "the secret is not whsec_ followed by"));
        assert_null(strstr(err.text, "MfKQ9r8G"));
        assert_int_equal(alert_sign(&what, secrets, 2, &out, NULL), FZ_E_MALFORMED);
    }
    char a[ALERT_SECRET_TEXT], b[ALERT_SECRET_TEXT];
    alert_secret_make(a);
    alert_secret_make(b);
    assert_string_not_equal(a, b);
    assert_int_equal(alert_secret_parse(a, bytes, &len, NULL), FZ_OK);
    assert_int_equal(len, 32);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_rotation),
                                       cmocka_unit_test(test_secrets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
