/* What Sentry's SDKs send, on its way in, and run summaries of KSCrash. */
#include "tests/unit/ingest_case.h"

#include "base/buffer.h"
#include "server/ingest/sentry/intake.h"

static struct ingest_intake
intake(enum ingest_kind kind, struct fz_span body)
{
    struct ingest_request request = {.kind = kind, .body = body, .boundary = "B"};
    struct ingest_intake found;
    struct fz_error err;
    if (ingest_intake(&request, &limits, &arena, &found, &err) != FZ_OK)
        fail_msg("%s", err.text);
    return found;
}

static struct ingest_counted *
read_envelope(struct fz_span body)
{
    struct ingest_intake found = intake(INGEST_ENVELOPE, body);
    assert_non_null(found.counted);
    return found.counted;
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
    static const struct {
        const char *item, *user;
    } users[] = {
        {"{\"type\":\"session\"}\n{\"sid\":\"7c7b6585f9014351bf8d02711b721929\",\"did\":\"u1\"}",
         "u1"},
        {"{\"type\":\"session\"}\n{\"sid\":\"7c7b6585f9014351bf8d02711b721929\",\"did\":7}", NULL},
        {"{\"type\":\"sessions\"}\n{\"aggregates\":[{\"did\":\"u2\",\"exited\":1}]}", "u2"},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(users); i++) {
        const char *body = fz_arena_printf(&arena, "{}\n%s", users[i].item);
        const struct ingest_counted *c = read_envelope(fz_span_cstr(body));
        assert_int_equal(c->n_sessions, 1);
        if (users[i].user)
            assert_string_equal(c->sessions[0].user, users[i].user);
        else
            assert_null(c->sessions[0].user);
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct ingest_counted *c;
        const char *body =
            fz_arena_printf(&arena, "{}\n%s\n{\"type\":\"event\"}\n{}", rows[i].item);
        c = read_envelope(fz_span_cstr(body));
        const struct ingest_session *s = c->sessions;
        const char *got = "";
        if (c->n_sessions)
            got = fz_arena_printf(&arena, "%s %s %s %d", s->sid, s->release ? s->release : "-",
                                  s->environment ? s->environment : "-", (int)s->outcome);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: '%s'", rows[i].item, got);
        if (c->n_sessions && !s->sid[0]) {
            assert_int_equal(s->n[INGEST_HEALTHY], 3);
            assert_int_equal(s->n[INGEST_ERRORED], 2);
            assert_int_equal(s->n[INGEST_ABNORMAL], 0);
            assert_int_equal(s->n[INGEST_CRASHED], 1000000);
        }
    }
}

static void
test_at_most_so_many(void **state)
{
    struct ingest_counted *c;
    struct fz_buffer body;
    (void)state;
    fz_buffer_init(&body, 0);
    fz_buffer_text(&body, "{}\n");
    for (int i = 0; i < 150; i++)
        fz_buffer_printf(&body,
                         "{\"type\":\"session\"}\n{\"sid\":\"%032d\"}\n{\"type\":\"client_report\"}"
                         "\n{\"discarded_events\":[{\"reason\":\"r\",\"category\":\"c\"}]}\n",
                         i + 1);
    c = read_envelope(fz_buffer_span(&body));
    assert_int_equal(c->n_sessions, INGEST_COUNTED_MAX);
    assert_int_equal(c->n_discarded, INGEST_COUNTED_MAX);
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

/* An event that has no key of one is put into an envelope; one that has stays as it is. */
static void
test_event(void **state)
{
    (void)state;
    static const char plain[] = "{\"event_id\":\"1\",\"level\":\"fatal\"}";
    struct ingest_intake found = intake(INGEST_EVENT, fz_span_cstr(plain));
    assert_int_equal(found.n, 1);
    assert_ptr_equal(found.items[0].body.data, plain);
    assert_string_equal(found.items[0].reader, "sentry_event");
    found = intake(INGEST_EVENT, fz_span_cstr("{\"message\":\"hi\"}"));
    assert_int_equal(found.n, 1);
    assert_int_equal(found.items[0].code, FZ_OK);
    assert_string_equal(found.items[0].reader, "sentry");
    assert_true(fz_span_is(found.items[0].body,
                           "{}\n{\"type\":\"event\",\"length\":16}\n{\"message\":\"hi\"}\n"));
}

#define FIELD(name, more, text) \
    "--B\r\nContent-Disposition: form-data; name=\"" name "\"" more "\r\n\r\n" text "\r\n"
#define A "{\"framezero\":1,\"addresses\":[1],\"images\":[]}"

/* A form becomes an envelope only if it has the fields of an event, or if its dump was packed. */
static void
test_minidump(void **state)
{
    (void)state;
    static const char plain[] =
        FIELD("upload_file_minidump", "; filename=\"a\"", A) FIELD("ver", "", "2") "--B--\r\n";
    static const char fields[] =
        FIELD("sentry", "", "{\"level\":\"fatal\"}") FIELD("sentry[tags][a]", "", "b")
            FIELD("ver", "", "2") FIELD("file", "; filename=\"x\"", "y") "--B--\r\n";
    struct ingest_intake found = intake(INGEST_MINIDUMP, fz_span_cstr(plain));
    assert_ptr_equal(found.items[0].body.data, plain);
    assert_string_equal(found.items[0].reader, "multipart/0/framezero");
    found = intake(INGEST_MINIDUMP, fz_span_cstr(fields));
    assert_true(
        fz_span_is(found.items[0].body,
                   "{}\n{\"type\":\"event\",\"length\":54}\n"
                   "{\"level\":\"fatal\",\"tags\":{\"a\":\"b\"},\"extra\":{\"ver\":\"2\"}}\n"
                   "{\"type\":\"attachment\",\"length\":1,\"filename\":\"x\"}\ny\n"));
    const struct ingest_request packed = {
        .kind = INGEST_MINIDUMP, .body = fz_span_cstr(plain), .boundary = "B", .was_packed = true};
    assert_int_equal(ingest_intake(&packed, &limits, &arena, &found, NULL), FZ_OK);
    assert_string_equal(found.items[0].reader, "sentry");
}

/* A report that is not valid does not hide what is counted. */
static void
test_bad_report(void **state)
{
    (void)state;
    struct ingest_intake found = intake(
        INGEST_ENVELOPE, fz_span_cstr("{\"event_id\":\"0FDFF9A94C274A3D9F265A4B2F0B6C11\"}\n"
                                      "{\"type\":\"event\"}\n[\n{\"type\":\"session\"}\n{}"));
    assert_string_equal(found.counted->id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
    assert_true(found.counted->has_report && found.counted->has_sessions);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.items[0].code, FZ_E_MALFORMED);
    found = intake(INGEST_ENVELOPE, fz_span_cstr("{}\n{\"type\":\"session\"}\n{}"));
    assert_int_equal(found.n, 0);
    assert_false(found.counted->has_report);
}

/* ---- run summaries ---- */

#define RUN "\"schema_version\":1,\"run_id\":\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\""
#define APP "\"app\":{\"bundle_id\":\"a.b\",\"short_version\":\"4.2\",\"version\":\"4201\"}"
#define RUN_ID "0fdff9a94c274a3d9f265a4b2f0b6c11"

static void
test_run_summaries(void **state)
{
    static const struct {
        const char *body;
        const char *want; /* "sid release environment outcome started", or the error */
    } rows[] = {
        {"{" RUN ",\"started_at_ms\":1795169472345,\"outcome\":{\"termination_reason\":\"crash\"},"
         "\"app\":{\"bundle_id\":\"a.b\",\"short_version\":\"4.2\",\"version\":\"4201\","
         "\"build_type\":\"app store\"}}",
         RUN_ID " a.b@4.2+4201 app store 3 1795169472345"},
        {"{" RUN "," APP
         ",\"outcome\":{\"termination_reason\":\"clean\",\"user_perceptible\":true}}",
         RUN_ID " a.b@4.2+4201 - 0 0"},
        {"{" RUN ",\"device_id\":\"d\"," APP ",\"outcome\":{}}", RUN_ID " a.b@4.2+4201 - 0 0 d"},
        {"{" RUN ",\"device_id\":\"d\",\"user_id\":\"u\"," APP ",\"outcome\":{}}",
         RUN_ID " a.b@4.2+4201 - 0 0 u"},
        {"{" RUN "," APP
         ",\"outcome\":{\"termination_reason\":\"reboot\",\"user_perceptible\":true}}",
         RUN_ID " a.b@4.2+4201 - 0 0"},
        {"{" RUN "," APP
         ",\"outcome\":{\"termination_reason\":\"memory_limit\",\"user_perceptible\":true}}",
         RUN_ID " a.b@4.2+4201 - 2 0"},
        /* The system ends apps in the background as it likes. */
        {"{" RUN "," APP
         ",\"outcome\":{\"termination_reason\":\"unexplained\",\"user_perceptible\":false}}",
         RUN_ID " a.b@4.2+4201 - 0 0"},
        {"{" RUN "," APP ",\"outcome\":{\"termination_reason\":\"a new word\"}}",
         RUN_ID " a.b@4.2+4201 - 2 0"},
        {"{" RUN "," APP ",\"outcome\":7,\"started_at_ms\":\"x\"}", RUN_ID " a.b@4.2+4201 - 0 0"},
        {"{" RUN ",\"sessions\":{},\"app\":{\"version\":\"4201\"}}", RUN_ID " 4201 - 0 0"},
        {"{" RUN ",\"outcome\":{},\"app\":{\"bundle_id\":\"a.b\"}}",
         "KSCrash run summary: neither app.short_version nor app.version is there, so there is no "
         "release to count the run for"},
        {"{" RUN ",\"outcome\":{},\"app\":[]}",
         "KSCrash run summary: neither app.short_version nor app.version is there, so there is no "
         "release to count the run for"},
        {"{\"schema_version\":1,\"run_id\":\"r\",\"outcome\":{}," APP "}",
         "KSCrash run summary: run_id is not a UUID, by which a run is counted once"},
        {"{\"schema_version\":1,\"run_id\":{},\"outcome\":{}," APP "}",
         "KSCrash run summary: run_id is not a UUID, by which a run is counted once"},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        const struct ingest_request request = {.kind = INGEST_REPORTS,
                                               .body = fz_span_cstr(rows[i].body)};
        struct ingest_intake found;
        struct fz_error err;
        const char *got = err.text;
        enum fz_code code = ingest_intake(&request, &limits, &arena, &found, &err);
        if (code == FZ_OK) {
            const struct ingest_session *s = found.counted->sessions;
            assert_int_equal(found.n, 0);
            assert_int_equal(found.counted->n_sessions, 1);
            got = fz_arena_printf(&arena, "%s %s %s %d %lld%s%s", s->sid, s->release,
                                  s->environment ? s->environment : "-", (int)s->outcome,
                                  (long long)s->started_ms, s->user ? " " : "",
                                  s->user ? s->user : "");
        } else {
            assert_int_equal(code, FZ_E_UNSUPPORTED);
        }
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: '%s'", rows[i].body, got);
    }
}

#define SUMMARY "{" RUN "," APP ",\"outcome\":{}}"

/* Among reports and in forms, as KSCrash's sinks send what has piled up. */
static void
test_summaries_among_reports(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t n_sessions, n, n_good;
    } rows[] = {
        {"[" SUMMARY "," A "," SUMMARY "]", 2, 1, 1},
        {"[" SUMMARY ",7]", 1, 1, 0},
        {"[" SUMMARY ",{" RUN ",\"outcome\":{}}]", 1, 1, 0},
        {FIELD("reports", "; filename=\"reports.json\"", "[" SUMMARY "," A "]") "--B--\r\n", 1, 1,
         1},
        {FIELD("reports", "", SUMMARY) "--B--\r\n", 1, 0, 0},
        {FIELD("reports", "", SUMMARY) FIELD("user", "", "x") "--B--\r\n", 1, 0, 0},
        {FIELD("reports", "", "[" SUMMARY "]") FIELD("user", "", "x") "--B--\r\n", 1, 0, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct ingest_intake found = intake(INGEST_REPORTS, fz_span_cstr(rows[i].body));
        size_t n_good = 0;
        for (size_t k = 0; k < found.n; k++)
            n_good += found.items[k].code == FZ_OK;
        if (!found.counted || found.counted->n_sessions != rows[i].n_sessions ||
            found.n != rows[i].n || n_good != rows[i].n_good)
            fail_msg("%s: %zu items, %zu good", rows[i].body, found.n, n_good);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    for (int i = 0; i <= INGEST_COUNTED_MAX; i++)
        fz_buffer_printf(&body, "%s" SUMMARY, i ? "," : "[");
    fz_buffer_char(&body, ']');
    struct ingest_intake found = intake(INGEST_REPORTS, fz_buffer_span(&body));
    assert_int_equal(found.counted->n_sessions, INGEST_COUNTED_MAX);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.items[0].err.text, "more than 100 run summaries in one body");
}

/* Each allocation fails once. */
static void
test_summaries_out_of_memory(void **state)
{
    (void)state;
    static const char body[] = "[" SUMMARY "," A "]";
    const struct ingest_request request = {.kind = INGEST_REPORTS, .body = fz_span_cstr(body)};
    enum fz_code code = FZ_E_NO_MEMORY;
    for (int64_t n = 0; code != FZ_OK; n++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena small = fz_arena_make(limits.report_memory);
        struct ingest_intake found;
        struct fz_error err;
        small.fail_after = n;
        code = ingest_intake(&request, &limits, &small, &found, &err);
        if (code == FZ_OK)
            assert_int_equal(found.counted->n_sessions, 1);
        else
            assert_int_equal(code, FZ_E_NO_MEMORY);
        assert_true(n < 1000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_at_most_so_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_envelope, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_event, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_minidump, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_report, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_run_summaries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_summaries_among_reports, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_summaries_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
