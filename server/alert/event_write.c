#include "server/alert/alert.h"

#include <string.h>

#include "base/json/write.h"
#include "server/alert/doc.h"
#include "server/alert/escape.h"

enum {
    BODY_MAX = 20000, /* bytes; Standard Webhooks: "under 20kb" */
    TITLE_MAX = 300,
    NAME_MAX_UNITS = 200,
    SHORT_MAX = 100,
    ARENA_CAP = 1024 * 1024,
};

struct writer {
    struct json_write w;
    const struct alert_event *event;
    struct fz_arena *arena;
    size_t lists_max; /* entries of a list, at most */
};

/* Cleaned and cut; NULL and "" are left out. */
static void
text(struct writer *x, const char *key, const char *value, size_t max)
{
    if (value && *value)
        json_write_text(&x->w, key, alert_plain(x->arena, value, max));
}

/* 0 is left out: it is not known, or does not belong to the event. */
static void
number(struct writer *x, const char *key, uint64_t value)
{
    if (value)
        json_write_u64(&x->w, key, value);
}

static size_t
at_most(const struct writer *x, size_t n, size_t max)
{
    size_t limit = max < x->lists_max ? max : x->lists_max;
    return n < limit ? n : limit;
}

static void
write_issue(struct writer *x)
{
    const struct alert_issue *issue = &x->event->issue;
    if (!issue->number)
        return;
    json_write_open(&x->w, "issue", '{');
    json_write_u64(&x->w, "number", issue->number);
    text(x, "title", issue->title, TITLE_MAX);
    text(x, "culprit", issue->culprit, NAME_MAX_UNITS);
    json_write_u64(&x->w, "reports", issue->n_reports);
    number(x, "users", issue->n_users);
    json_write_time(&x->w, "first_seen", issue->first_seen_ms);
    json_write_time(&x->w, "last_seen", issue->last_seen_ms);
    text(x, "first_version", issue->first_version, SHORT_MAX);
    text(x, "last_version", issue->last_version, SHORT_MAX);
    text(x, "resolved_in", issue->resolved_in, SHORT_MAX);
    text(x, "reason", issue->reason, NAME_MAX_UNITS);
    json_write_open(&x->w, "frames", '[');
    for (size_t i = 0; i < at_most(x, issue->n_frames, ALERT_FRAMES_MAX); i++) {
        const struct alert_frame *frame = &issue->frames[i];
        json_write_open(&x->w, NULL, '{');
        text(x, "function", frame->function, NAME_MAX_UNITS);
        text(x, "module", frame->module, SHORT_MAX);
        text(x, "file", frame->file, NAME_MAX_UNITS);
        number(x, "line", frame->line);
        json_write_close(&x->w, '}');
    }
    json_write_close(&x->w, ']');
    json_write_close(&x->w, '}');
}

static void
write_missing(struct writer *x)
{
    const struct alert_event *event = x->event;
    if (!event->n_symbols)
        return;
    json_write_open(&x->w, "missing", '{');
    json_write_u64(&x->w, "total", event->n_symbols + event->n_unlisted);
    number(x, "reports", event->n_waiting);
    json_write_time(&x->w, "since", event->since_ms);
    json_write_open(&x->w, "symbols", '[');
    for (size_t i = 0; i < at_most(x, event->n_symbols, ALERT_SYMBOLS_MAX); i++) {
        json_write_open(&x->w, NULL, '{');
        text(x, "name", event->symbols[i].name, SHORT_MAX);
        text(x, "uuid", event->symbols[i].uuid, 36);
        text(x, "arch", event->symbols[i].arch, 20);
        json_write_close(&x->w, '}');
    }
    json_write_close(&x->w, ']');
    json_write_close(&x->w, '}');
}

static void
write_numbers(struct writer *x)
{
    const struct alert_event *event = x->event;
    if (event->kind == ALERT_ISSUE_URGENT) {
        json_write_open(&x->w, "urgent", '{');
        json_write_i64(&x->w, "window_s", event->burst.window_s);
        json_write_u64(&x->w, "reports", event->burst.n_reports);
        number(x, "users", event->burst.n_users);
        number(x, "sessions", event->burst.n_sessions);
        number(x, "crashed_sessions", event->burst.n_crashed);
        json_write_close(&x->w, '}');
    }
    if (event->kind == ALERT_RELEASE_UNHEALTHY) {
        json_write_open(&x->w, "release", '{');
        json_write_time(&x->w, "since", event->release.since_ms);
        json_write_u64(&x->w, "sessions", event->release.n_sessions);
        json_write_u64(&x->w, "crashed_sessions", event->release.n_crashed);
        json_write_u64(&x->w, "threshold_ppm", event->release.threshold_ppm);
        json_write_close(&x->w, '}');
    }
    if (event->kind == ALERT_INGEST_LIMITED) {
        json_write_open(&x->w, "limit", '{');
        text(x, "name", event->limit.name, SHORT_MAX);
        json_write_u64(&x->w, "value", event->limit.value);
        json_write_time(&x->w, "since", event->limit.since_ms);
        json_write_time(&x->w, "until", event->limit.until_ms);
        json_write_close(&x->w, '}');
    }
    if (event->kind == ALERT_CHANNEL_FAILING) {
        json_write_open(&x->w, "channel", '{');
        text(x, "name", event->trouble.channel, SHORT_MAX);
        text(x, "error", event->trouble.error, TITLE_MAX);
        json_write_u64(&x->w, "attempts", event->trouble.n_attempts);
        json_write_time(&x->w, "since", event->trouble.since_ms);
        json_write_bool(&x->w, "disabled", event->trouble.is_disabled);
        json_write_close(&x->w, '}');
    }
}

static void
write_digest(struct writer *x)
{
    const struct alert_event *event = x->event;
    json_write_open(&x->w, "digest", '{');
    json_write_time(&x->w, "since", event->since_ms);
    json_write_u64(&x->w, "events", event->n_events);
    json_write_open(&x->w, "counts", '{');
    for (size_t kind = 0; kind < ALERT_N_KINDS; kind++)
        number(x, alert_kind_name((enum alert_kind)kind), event->n_by_kind[kind]);
    json_write_close(&x->w, '}');
    json_write_open(&x->w, "items", '[');
    for (size_t i = 0; i < at_most(x, event->n_items, ALERT_ITEMS_MAX); i++) {
        const struct alert_item *item = &event->items[i];
        json_write_open(&x->w, NULL, '{');
        json_write_text(&x->w, "type", alert_kind_name(item->kind));
        json_write_time(&x->w, "timestamp", item->time_ms);
        number(x, "number", item->number);
        text(x, "title", item->title, NAME_MAX_UNITS);
        text(x, "version", item->version, SHORT_MAX);
        json_write_close(&x->w, '}');
    }
    json_write_close(&x->w, ']');
    json_write_close(&x->w, '}');
}

static void
write_event(struct writer *x, const struct alert_doc *doc)
{
    const struct alert_event *event = x->event;
    json_write_open(&x->w, NULL, '{');
    json_write_text(&x->w, "type", alert_kind_name(event->kind));
    json_write_time(&x->w, "timestamp", event->time_ms);
    json_write_open(&x->w, "data", '{');
    text(x, "project", event->project, SHORT_MAX);
    text(x, "version", event->version, SHORT_MAX);
    /* Stored; a receiver gets the link. */
    text(x, "path", doc ? NULL : event->path, 500);
    if (doc) {
        json_write_text(&x->w, "link", doc->link);
        json_write_text(&x->w, "title", doc->headline);
        json_write_text(&x->w, "text", doc->summary);
    }
    text(x, "by", event->by, SHORT_MAX);
    write_issue(x);
    write_missing(x);
    write_numbers(x);
    if (event->kind == ALERT_DIGEST)
        write_digest(x);
    json_write_close(&x->w, '}');
    json_write_close(&x->w, '}');
}

enum fz_code
alert_event_write(const struct alert_event *event, const char *server, struct fz_buffer *out,
                  struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    struct alert_doc doc;
    enum fz_code code = FZ_OK;
    if (server)
        code = alert_doc_make(event, server, &arena, &doc, err);
    /* Texts of few bytes each fit with all entries; only quotes, backslashes and other alphabets
     * make an event as long as this. */
    for (size_t lists_max = ALERT_ITEMS_MAX; code == FZ_OK; lists_max /= 2) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer json = fz_buffer_make(0);
        struct writer x = {
            .w = json_write_start(&json), .event = event, .arena = &arena, .lists_max = lists_max};
        write_event(&x, server ? &doc : NULL);
        code = fz_buffer_done(&json, err);
        if (code == FZ_OK && (json.len < BODY_MAX || lists_max == 0)) {
            fz_buffer_append(out, json.data, json.len);
            return fz_buffer_done(out, err);
        }
    }
    return code;
}
