#include "server/alert/alert.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { CAP = 1 << 20 };

static enum fz_code
read_text(const char *json, struct fz_arena *arena, struct alert_event *ret, struct fz_error *err)
{
    return alert_event_read(fz_span_cstr(json), "msg_1", arena, ret, err);
}

static void
test_odd(void **state)
{
    (void)state;
    static const struct {
        const char *json, *error; /* NULL: good, and empty */
    } rows[] = {
        {"{\"type\":\"test\"}", NULL},
        {"{\"type\":\"test\",\"data\":[],\"timestamp\":5}", NULL},
        {"{\"type\":\"digest\",\"data\":{\"digest\":{\"items\":{}},\"issue\":1,\"missing\":\"x\"}}",
         NULL},
        {"{\"type\":\"issue.created\",\"data\":{\"issue\":{\"number\":-5,\"title\":7}}}", NULL},
        {"{\"type\":\"nonsense\"}", "there is no type 'nonsense'"},
        {"{\"type\":5}", "there is no type ''"},
        {"{}", "there is no type ''"},
        {"[]", "there is no type ''"},
        {"{", "event: json:"},
        {"", "event: json:"},
        {"[[[[[[[[[[1]]]]]]]]]]", "event: json:"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
        struct alert_event event;
        struct fz_error err = {.text = ""};
        enum fz_code code = read_text(rows[i].json, &arena, &event, &err);
        if (rows[i].error ? code == FZ_OK || !strstr(err.text, rows[i].error) : code != FZ_OK)
            fail_msg("%s: %s", rows[i].json, err.text);
        if (code != FZ_OK)
            continue;
        assert_int_equal(event.time_ms, 0);
        assert_int_equal(event.issue.number, 0);
        assert_null(event.issue.title);
        assert_int_equal(event.n_items, 0);
    }
}

/* Each kind of event and channel with nothing in it, and each allocation failing in turn. */
static void
test_empty(void **state)
{
    (void)state;
    static const char *const to[] = {"a@b.c"};
    const struct alert_sender sender = {.from = "d@e.f", .server = NULL, .now_ms = 1};
    for (int kind = 0; kind < ALERT_N_KINDS; kind++) {
        for (int channel_kind = 0; channel_kind < ALERT_CHANNEL_N_KINDS; channel_kind++) {
            const struct alert_event event = {.kind = (enum alert_kind)kind, .id = "msg_1"};
            const struct alert_channel channel = {
                .kind = (enum alert_channel_kind)channel_kind,
                .url = "https://a/",
                .secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
                .n_secrets = 1,
                .to = to,
                .n_to = 1};
            enum fz_code code = FZ_E_NO_MEMORY;
            for (int64_t n = 0; code != FZ_OK; n++) {
                FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
                struct alert_message message;
                struct fz_error err;
                arena.fail_after = n;
                code = alert_render(&event, &channel, &sender, &arena, &message, &err);
                if (code != FZ_OK)
                    assert_int_equal(code, FZ_E_NO_MEMORY);
                else if (!message.is_mail)
                    assert_null(strstr((const char *)message.request.body.data, "(null)"));
                assert_true(n < 200);
            }
        }
    }
}

/* A link has only the server that was configured, and nothing that ends it in Markdown. */
static void
test_links(void **state)
{
    (void)state;
    static const struct {
        const char *server, *path, *want; /* NULL: no link */
    } rows[] = {
        {"https://c.example.com", "/issues/1?project=a%20b",
         "https://c.example.com/issues/1?project=a%20b"},
        {"https://c.example.com/", "/x", "https://c.example.com/x"},
        {"https://c.example.com/base", "/x", "https://c.example.com/base/x"},
        {"https://c.example.com", "//evil.example/", "https://c.example.com//evil.example/"},
        {"https://c.example.com", "https://evil.example/", NULL},
        {"https://c.example.com", ".evil.example/", NULL},
        {"https://c.example.com", "@evil.example/", NULL},
        {"https://c.example.com", "/x) [y](http://z", NULL},
        {"https://c.example.com", "/x|y", NULL},
        {"https://c.example.com", "/x>", NULL},
        {"https://c.example.com", "/\n", NULL},
        {"https://c.example.com", NULL, NULL},
        {"", "/x", NULL},
        {NULL, "/x", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
        const struct alert_event event = {.kind = ALERT_TEST, .id = "m", .path = rows[i].path};
        const struct alert_channel channel = {.kind = ALERT_CHANNEL_MATTERMOST,
                                              .url = "https://a/"};
        const struct alert_sender sender = {.server = rows[i].server};
        struct alert_message message;
        assert_int_equal(alert_render(&event, &channel, &sender, &arena, &message, NULL), FZ_OK);
        fz_buffer_printf(&want, "](%s)", rows[i].want ? rows[i].want : "");
        const char *body = (const char *)message.request.body.data;
        if ((strstr(body, rows[i].want ? fz_buffer_cstr(&want) : "](") != NULL) != !!rows[i].want)
            fail_msg("%zu: %s", i, body);
    }
}

static void
test_channels(void **state)
{
    (void)state;
    static const char *const to[] = {"a@b.c", "bad"};
    static const struct {
        struct alert_channel channel;
        const char *error; /* NULL: good */
    } rows[] = {
        {{.kind = ALERT_CHANNEL_SLACK, .url = "https://hooks.slack.com/services/x"}, NULL},
        {{.kind = ALERT_CHANNEL_SLACK, .url = "http://10.0.0.1/"}, "a private address"},
        {{.kind = ALERT_CHANNEL_SLACK}, "has a URL"},
        {{.kind = ALERT_CHANNEL_WEBHOOK, .url = "https://a/"}, "1 to 4 secrets"},
        {{.kind = ALERT_CHANNEL_WEBHOOK, .url = "https://a/", .secrets = {"x"}, .n_secrets = 1},
         "the secret is not"},
        {{.kind = ALERT_CHANNEL_WEBHOOK,
          .url = "https://a/",
          .secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
          .n_secrets = 1},
         NULL},
        {{.kind = ALERT_CHANNEL_MAIL, .to = to, .n_to = 1}, NULL},
        {{.kind = ALERT_CHANNEL_MAIL, .to = to, .n_to = 2}, "'bad' is not a mail address"},
        {{.kind = ALERT_CHANNEL_MAIL}, "1 to 50 addresses"},
    };
    static const struct net_guard none;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = alert_channel_check(&rows[i].channel, &none, &err);
        if (rows[i].error ? code == FZ_OK || !strstr(err.text, rows[i].error) : code != FZ_OK)
            fail_msg("%zu: %s", i, err.text);
    }
    for (int kind = 0; kind < ALERT_CHANNEL_N_KINDS; kind++) {
        enum alert_channel_kind found;
        const char *name = alert_channel_kind_name((enum alert_channel_kind)kind);
        assert_true(alert_channel_kind_parse(fz_span_cstr(name), &found));
        assert_int_equal(found, kind);
        assert_false(alert_channel_kind_parse(fz_span_make(name, strlen(name) - 1), &found));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_odd), cmocka_unit_test(test_empty),
                                       cmocka_unit_test(test_links),
                                       cmocka_unit_test(test_channels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
