#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/api/api_auth.h"

enum { FAILURES = 10, MINUTE_MS = 60000, FLOOD = 5000 };

static struct api_auth *
make(void)
{
    struct api_auth *auth = NULL;
    struct fz_error err;
    assert_int_equal(api_auth_create(FAILURES, &auth, &err), FZ_OK);
    return auth;
}

static struct http_address
address(const char *text)
{
    struct http_address found;
    assert_true(http_address_parse(fz_span_cstr(text), &found));
    return found;
}

/* More addresses than there is room for: nothing is mixed up. */
static void
test_flood(void **state)
{
    (void)state;
    struct api_auth *auth = make();
    int n_delayed = 0;
    for (int i = 0; i < FLOOD; i++) {
        struct http_address client = {{0}};
        memcpy(client.bytes, &i, sizeof(i));
        for (int k = 0; k < (i % 2 ? FAILURES : FAILURES - 1); k++)
            api_auth_failed(auth, &client, 1000);
    }
    for (int i = 0; i < FLOOD; i++) {
        struct http_address client = {{0}};
        memcpy(client.bytes, &i, sizeof(i));
        bool is_delayed = api_auth_wait_s(auth, &client, 1001) != 0;
        assert_true(i % 2 || !is_delayed);
        n_delayed += is_delayed;
    }
    assert_in_range(n_delayed, 256, 1024);
    api_auth_destroy(auth);
}

static void
test_brake(void **state)
{
    (void)state;
    struct api_auth *auth = make();
    const struct http_address one = address("192.0.2.1"), two = address("192.0.2.2");
    for (int i = 0; i < FAILURES; i++) {
        assert_int_equal(api_auth_wait_s(auth, &one, 500 + i), 0);
        api_auth_failed(auth, &one, 500 + i);
    }
    assert_int_equal(api_auth_wait_s(auth, &one, 600), 60);
    assert_int_equal(api_auth_wait_s(auth, &one, 499 + MINUTE_MS), 1);
    assert_int_equal(api_auth_wait_s(auth, &two, 600), 0);
    /* A minute after the first failure it counts anew. */
    assert_int_equal(api_auth_wait_s(auth, &one, 500 + MINUTE_MS), 0);
    api_auth_failed(auth, &one, 500 + MINUTE_MS);
    assert_int_equal(api_auth_wait_s(auth, &one, 501 + MINUTE_MS), 0);
    api_auth_destroy(auth);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_brake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
