/*
 * Sends one alert as a worker does: for tests, before an outbox exists.
 *
 * Reads a JSON document from standard input:
 *   {"event": {...}, "id": "msg_1", "server": "https://...", "from": "...", "attempt": 1,
 *    "channel": {"kind": "webhook", "url": "...", "secrets": [...], "to": [...]},
 *    "internal": "10.0.0.0/8", "resolve": ["HOST:PORT:ADDRESS"], "ca": "FILE", "timeout_ms": 3000,
 *    "smtp": {"url": "...", "user": "...", "password": "...", "tls": "required|offered|off"}}
 * and prints what became of it as another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/time.h"
#include "server/alert/alert.h"
#include "server/alert/schedule.h"

enum { INPUT_MAX = 1 << 20, TREE_MAX = 16 << 20, LIST_MAX = 16 };

static void
die(const char *what, const char *why)
{
    fprintf(stderr, "alert_send: %s: %s\n", what, why);
    exit(2);
}

static const char *
text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static size_t
texts(const json_t *list, const char **ret, size_t max)
{
    size_t n = json_array_size(list) < max ? json_array_size(list) : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = json_string_value(json_array_get(list, i));
    return n;
}

static json_t *
read_input(void)
{
    static const struct json_scan_limits limits = {
        .depth = 32, .output_bytes = INPUT_MAX, .tree_bytes = TREE_MAX};
    static char input[INPUT_MAX];
    struct fz_error err;
    json_t *root = NULL;
    size_t len = fread(input, 1, sizeof(input), stdin);
    if (json_scan_load(fz_span_make(input, len), &limits, NULL, &root, &err) != FZ_OK)
        die("standard input", err.text);
    return root;
}

static void
read_event(const json_t *root, struct fz_arena *arena, struct alert_event *ret)
{
    struct fz_error err;
    char *json = json_dumps(json_object_get(root, "event"), JSON_COMPACT);
    if (!json || alert_event_read(fz_span_cstr(json), text(root, "id"), arena, ret, &err) != FZ_OK)
        die("event", err.text);
    free(json);
}

static void
read_channel(const json_t *root, const char **to, struct alert_channel *ret)
{
    const json_t *channel = json_object_get(root, "channel");
    *ret = (struct alert_channel){.url = text(channel, "url"), .to = to};
    if (!alert_channel_kind_parse(fz_span_cstr(text(channel, "kind")), &ret->kind))
        die("channel", "there is no such kind");
    ret->n_to = texts(json_object_get(channel, "to"), to, LIST_MAX);
    ret->n_secrets = texts(json_object_get(channel, "secrets"), ret->secrets, ALERT_SECRETS_MAX);
}

static void
read_rules(const json_t *root, const char **resolve, struct net_rules *ret)
{
    struct fz_error err;
    const char *internal = text(root, "internal");
    size_t n = texts(json_object_get(root, "resolve"), resolve, LIST_MAX);
    resolve[n] = NULL;
    *ret = (struct net_rules){.ca_file = text(root, "ca"),
                              .timeout_ms = json_integer_value(json_object_get(root, "timeout_ms")),
                              .resolve = resolve};
    if (net_guard_parse(internal ? internal : "", &ret->guard, &err) != FZ_OK)
        die("internal", err.text);
}

static struct net_mail_server
read_smtp(const json_t *root)
{
    const json_t *smtp = json_object_get(root, "smtp");
    const char *tls = text(smtp, "tls");
    struct net_mail_server server = {
        .url = text(smtp, "url"), .user = text(smtp, "user"), .password = text(smtp, "password")};
    if (tls && !net_mail_tls_parse(tls, &server.tls))
        die("smtp", "there is no such word for tls");
    return server;
}

static void
print(const struct net_outcome *outcome, const struct alert_next *next, int64_t now_ms)
{
    static const char *const results[] = {"answered", "invalid", "refused", "failed"};
    static const char *const verdicts[] = {"delivered", "again", "give_up", "disable"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "result", results[outcome->result]);
    json_write_i64(&w, "status", outcome->status);
    json_write_i64(&w, "retry_after_s", outcome->retry_after_s);
    json_write_i64(&w, "took_ms", outcome->took_ms);
    json_write_text(&w, "text", outcome->text);
    json_write_span(&w, "answer", fz_span_make(outcome->answer, outcome->answer_len));
    json_write_text(&w, "verdict", verdicts[next->verdict]);
    json_write_i64(&w, "wait_ms", next->when_ms ? next->when_ms - now_ms : 0);
    json_write_close(&w, '}');
    puts(fz_buffer_cstr(&out));
}

int
main(void)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 22);
    json_t *root = read_input();
    const char *to[LIST_MAX], *resolve[LIST_MAX + 1];
    struct alert_event event;
    struct alert_channel channel;
    struct alert_message message;
    struct net_rules rules;
    struct net_outcome outcome;
    struct alert_next next;
    struct fz_error err;
    read_event(root, &arena, &event);
    read_channel(root, to, &channel);
    read_rules(root, resolve, &rules);
    struct net_mail_server smtp = read_smtp(root);
    const struct alert_sender sender = {
        .server = text(root, "server"), .from = text(root, "from"), .now_ms = fz_time_now_ms()};
    if (alert_render(&event, &channel, &sender, &arena, &message, &err) != FZ_OK)
        die("render", err.text);
    alert_send(&message, &smtp, &rules, &outcome);
    const struct alert_attempt attempt = {
        .number = (unsigned)json_integer_value(json_object_get(root, "attempt")),
        .is_mail = message.is_mail,
        .outcome = &outcome,
        .now_ms = sender.now_ms};
    alert_next_attempt(&attempt, &next);
    print(&outcome, &next, sender.now_ms);
    json_decref(root);
    return 0;
}
