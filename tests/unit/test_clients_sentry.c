#include "server/clients/sentry/sdk.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "server/ingest/ingest.h"

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

static void
test_counted(void **state)
{
    static const struct {
        const char *item;
        const char *want; /* "release environment outcome errors...", "" = left out */
    } rows[] = {
        {"{\"type\":\"session\"}\n{\"sid\":\"7C7B6585-F901-4351-BF8D-02711B721929\",\"status\":"
         "\"crashed\",\"errors\":1,\"attrs\":{\"release\":\"a@1\",\"environment\":\"b\"}}",
         "7c7b6585f9014351bf8d02711b721929 a@1 b 3"},
        {"{\"type\":\"session\"}\n{\"sid\":\"7c7b6585f9014351bf8d02711b721929\",\"status\":"
         "\"exited\",\"errors\":2}",
         "7c7b6585f9014351bf8d02711b721929 - - 1"},
        {"{\"type\":\"session\"}\n{\"sid\":\"7c7b6585f9014351bf8d02711b721929\",\"status\":"
         "\"exited\",\"errors\":\"2\"}",
         "7c7b6585f9014351bf8d02711b721929 - - 0"},
        {"{\"type\":\"session\"}\n{\"sid\":\"x\",\"status\":\"ok\"}", ""},
        {"{\"type\":\"session\"}\nnonsense", ""},
        {"{\"type\":\"sessions\"}\n{\"attrs\":{\"release\":\"a\"},\"aggregates\":[{\"exited\":3,"
         "\"errored\":2,\"abnormal\":-1,\"crashed\":99999999999}]}",
         " a - 0"},
        {"{\"type\":\"sessions\"}\n{\"aggregates\":{}}", ""},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct sentry_counted *c = NULL;
        struct fz_error err;
        const char *body =
            fz_arena_printf(&arena, "{}\n%s\n{\"type\":\"event\"}\n{}", rows[i].item);
        assert_int_equal(sentry_read_counted(fz_span_cstr(body), &limits, &arena, &c, &err), FZ_OK);
        const struct store_session *s = c->sessions;
        const char *got = "";
        if (c->n_sessions)
            got = fz_arena_printf(&arena, "%s %s %s %d", s->sid, s->release ? s->release : "-",
                                  s->environment ? s->environment : "-", (int)s->outcome);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: '%s'", rows[i].item, got);
        if (c->n_sessions && !s->sid[0]) {
            assert_int_equal(s->n[STORE_SESSION_HEALTHY], 3);
            assert_int_equal(s->n[STORE_SESSION_ERRORED], 2);
            assert_int_equal(s->n[STORE_SESSION_ABNORMAL], 0);
            assert_int_equal(s->n[STORE_SESSION_CRASHED], 1000000);
        }
    }
}

static void
test_at_most_so_many(void **state)
{
    struct sentry_counted *c = NULL;
    struct fz_error err;
    struct fz_buffer body;
    (void)state;
    fz_buffer_init(&body, 0);
    fz_buffer_text(&body, "{}\n");
    for (int i = 0; i < 150; i++)
        fz_buffer_printf(&body,
                         "{\"type\":\"session\"}\n{\"sid\":\"%032d\"}\n{\"type\":\"client_report\"}"
                         "\n{\"discarded_events\":[{\"reason\":\"r\",\"category\":\"c\"}]}\n",
                         i + 1);
    assert_int_equal(sentry_read_counted(fz_buffer_span(&body), &limits, &arena, &c, &err), FZ_OK);
    assert_int_equal(c->n_sessions, SENTRY_COUNTED_MAX);
    assert_int_equal(c->n_discarded, SENTRY_COUNTED_MAX);
    assert_int_equal(c->discarded[0].n, 1);
    fz_buffer_deinit(&body);
}

/* What is put together is taken apart again as it was. */
static void
test_envelope(void **state)
{
    static const struct sentry_file files[] = {
        {"a \"b\"\n.dmp", "text/plain", "event.minidump", {(const uint8_t *)"\n{}\n", 4}},
        {NULL, NULL, NULL, {NULL, 0}},
    };
    struct fz_span body;
    struct fz_error err;
    struct report report;
    (void)state;
    assert_int_equal(
        sentry_make_envelope(fz_span_cstr("{\"message\":\"hi\"}"), files, 2, &arena, &body, &err),
        FZ_OK);
    assert_int_equal(ingest_parse(body, &limits, &arena, &report, &err), FZ_OK);
    assert_string_equal(report.crash.reason, "hi");
    assert_int_equal(report.n_attachments, 2);
    assert_string_equal(report.attachments[0].name, "a \"b\"\n.dmp");
    assert_memory_equal(body.data + report.attachments[0].offset, "\n{}\n", 4);
    assert_int_equal(report.attachments[1].size, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dsn_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_at_most_so_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_envelope, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
