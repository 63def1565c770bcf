#include "server/clients/sentry/sdk.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static struct fz_arena arena;
static struct limits limits;

static int
set_up(void **state)
{
    (void)state;
    limits = limits_default();
    fz_arena_init(&arena, limits.report_memory);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fz_arena_deinit(&arena);
    return 0;
}

static void
expect_key(const char *what, const char *key, const char *want)
{
    if ((key == NULL) != (want == NULL) || (key && strcmp(key, want) != 0))
        fail_msg("%s: %s", what, key ? key : "none");
}

static void
test_header_key(void **state)
{
    static const struct {
        const char *header, *key;
    } rows[] = {
        {"Sentry sentry_version=7, sentry_key=abc", "abc"},
        {"Sentry sentry_version=7,sentry_key=abc,sentry_client=x", "abc"},
        {"sentry  ,\tSENTRY_KEY=abc \t", "abc"},
        {"Sentry sentry_key=a%62%63", "abc"},
        {"Sentry sentry_key=a%6", "a%6"},
        {"Sentry sentry_key=a%zz", "a%zz"},
        {"Sentry sentry_key=a%00b", NULL},
        {"Sentry sentry_key=", NULL},
        {"Sentry sentry_secret=x", NULL},
        {"Sentry xsentry_key=abc", NULL},
        {"Sentry", NULL},
        {"Bearer sentry_key=abc", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    char room[API_TOKEN_ROOM];
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++)
        expect_key(rows[i].header, sentry_header_key(rows[i].header, room), rows[i].key);
    char text[2 * API_TOKEN_ROOM] = "Sentry sentry_key=";
    memset(text + strlen(text), 'k', API_TOKEN_ROOM - 1);
    assert_int_equal(strlen(sentry_header_key(text, room)), API_TOKEN_ROOM - 1);
    text[strlen(text)] = 'k';
    assert_null(sentry_header_key(text, room));
}

static void
test_dsn_key(void **state)
{
    static const struct {
        const char *header, *key;
    } rows[] = {
        {"{\"dsn\":\"http://abc@host/1\"}", "abc"},
        {"{\"dsn\":\"https:\\/\\/abc@host\\/1\"}", "abc"},
        {"{\"dsn\":\"https://abc:secret@host:80/a/1\"}", "abc"},
        {"{\"dsn\":\"http://a%62c@host/1\"}", "abc"},
        {"{\"dsn\":\"http://host/1\"}", NULL},
        {"{\"dsn\":\"http://@host/1\"}", NULL},
        {"{\"dsn\":\"abc@host\"}", NULL},
        {"{\"dsn\":5}", NULL},
        {"{\"dsn\":\"\"}", NULL},
        {"{}", NULL},
    };
    char room[API_TOKEN_ROOM];
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++)
        expect_key(rows[i].header, sentry_dsn_key(fz_span_cstr(rows[i].header), room), rows[i].key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dsn_key, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
