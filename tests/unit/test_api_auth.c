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

static void
make_key(const char *text, char ret[FZ_SHA256_TEXT])
{
    fz_sha256_hex(fz_span_cstr(text), ret);
}

static void
test_trust(void **state)
{
    (void)state;
    struct api_auth *auth = make();
    struct api_grant grant = {.token_id = 7, .project_id = 3, .scopes = 4}, got = {0};
    char key[FZ_SHA256_TEXT], other[FZ_SHA256_TEXT];
    make_key("a", key);
    make_key("b", other);
    assert_int_equal(api_auth_find(auth, key, 1000, &got), API_AUTH_UNKNOWN);
    api_auth_remember(auth, key, 1000, &grant);
    assert_int_equal(api_auth_find(auth, key, 1000 + API_AUTH_TRUST_MS, &got), API_AUTH_FRESH);
    assert_int_equal(got.token_id, 7);
    assert_int_equal(got.project_id, 3);
    assert_int_equal(got.scopes, 4);
    assert_int_equal(api_auth_find(auth, key, 1001 + API_AUTH_TRUST_MS, &got), API_AUTH_STALE);
    assert_int_equal(api_auth_find(auth, other, 1000, &got), API_AUTH_UNKNOWN);
    api_auth_forget(auth, key);
    assert_int_equal(api_auth_find(auth, key, 1000, &got), API_AUTH_UNKNOWN);
    api_auth_destroy(auth);
}

/* More tokens and addresses than there is room for: nothing is mixed up. */
static void
test_flood(void **state)
{
    (void)state;
    struct api_auth *auth = make();
    int n_found = 0;
    for (int i = 1; i <= FLOOD; i++) {
        char key[FZ_SHA256_TEXT], text[16];
        struct api_grant grant = {.token_id = i};
        snprintf(text, sizeof(text), "%d", i);
        make_key(text, key);
        api_auth_remember(auth, key, i, &grant);
        api_auth_failed(auth, text, i);
    }
    for (int i = 1; i <= FLOOD; i++) {
        char key[FZ_SHA256_TEXT], text[16];
        struct api_grant got = {0};
        snprintf(text, sizeof(text), "%d", i);
        make_key(text, key);
        if (api_auth_find(auth, key, FLOOD, &got) == API_AUTH_UNKNOWN)
            continue;
        assert_int_equal(got.token_id, i);
        n_found++;
    }
    assert_in_range(n_found, 512, 1024);
    api_auth_destroy(auth);
}

static void
test_brake(void **state)
{
    (void)state;
    struct api_auth *auth = make();
    for (int i = 0; i < FAILURES; i++) {
        assert_int_equal(api_auth_braked_s(auth, "192.0.2.1", 500 + i), 0);
        api_auth_failed(auth, "192.0.2.1", 500 + i);
    }
    assert_int_equal(api_auth_braked_s(auth, "192.0.2.1", 600), 60);
    assert_int_equal(api_auth_braked_s(auth, "192.0.2.1", 499 + MINUTE_MS), 1);
    assert_int_equal(api_auth_braked_s(auth, "192.0.2.2", 600), 0);
    /* A minute after the first failure it counts anew. */
    assert_int_equal(api_auth_braked_s(auth, "192.0.2.1", 500 + MINUTE_MS), 0);
    api_auth_failed(auth, "192.0.2.1", 500 + MINUTE_MS);
    assert_int_equal(api_auth_braked_s(auth, "192.0.2.1", 501 + MINUTE_MS), 0);
    api_auth_destroy(auth);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_brake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
