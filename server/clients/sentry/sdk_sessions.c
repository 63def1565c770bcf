/*
 * Items of an envelope that are counted:
 *
 *   session        {"sid","status":"ok|exited|crashed|abnormal|errored","errors":1,"started",
 *                   "attrs":{"release","environment"}}
 *   sessions       {"attrs":{...},"aggregates":[{"started","exited":9,"errored":1,"crashed":0,
 *                   "abnormal":0}]}
 *   client_report  {"discarded_events":[{"reason","category","quantity"}]}
 *
 * They are statistics: what cannot be read is skipped, never refused.
 */
#include <jansson.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/time.h"
#include "server/clients/sentry/sdk.h"

enum { JSON_DEPTH = 16, QUANTITY_MAX = 1000 * 1000 };

bool
sentry_is_session(const struct sentry_item *item)
{
    return fz_span_is(item->type, "session") || fz_span_is(item->type, "sessions");
}

bool
sentry_is_counted(const struct sentry_item *item)
{
    return sentry_is_session(item) || fz_span_is(item->type, "client_report");
}

static const char *
text_of(const struct sentry_counted *c, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? fz_arena_strdup(c->arena, text) : NULL;
}

static int64_t
time_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    int64_t ms = 0;
    if (json_is_string(value) &&
        fz_time_parse(fz_span_make(json_string_value(value), json_string_length(value)), &ms))
        return ms;
    double seconds = json_number_value(value);
    return seconds > 0 && seconds < 1e11 ? (int64_t)(seconds * 1000) : 0;
}

static uint32_t
quantity_of(const json_t *object, const char *key, uint32_t fallback)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return fallback;
    json_int_t n = json_integer_value(value);
    return n < 0 ? 0 : n > QUANTITY_MAX ? QUANTITY_MAX : (uint32_t)n;
}

static enum store_session_outcome
outcome_of(const json_t *session)
{
    static const struct {
        const char *status;
        enum store_session_outcome outcome;
    } rows[] = {
        {"crashed", STORE_SESSION_CRASHED},
        {"abnormal", STORE_SESSION_ABNORMAL},
        {"errored", STORE_SESSION_ERRORED},
    };
    const char *status = json_string_value(json_object_get(session, "status"));
    for (size_t i = 0; status && i < FZ_ARRAY_LEN(rows); i++) {
        if (strcmp(status, rows[i].status) == 0)
            return rows[i].outcome;
    }
    return quantity_of(session, "errors", 0) ? STORE_SESSION_ERRORED : STORE_SESSION_HEALTHY;
}

static struct store_session *
add_session(struct sentry_counted *c, const json_t *object, const json_t *attrs)
{
    if (c->n_sessions == SENTRY_COUNTED_MAX)
        return NULL;
    struct store_session *session = &c->sessions[c->n_sessions++];
    *session = (struct store_session){.release = text_of(c, attrs, "release"),
                                      .environment = text_of(c, attrs, "environment"),
                                      .started_ms = time_of(object, "started")};
    return session;
}

static void
add_run(struct sentry_counted *c, const json_t *object)
{
    struct fz_uuid sid;
    const json_t *text = json_object_get(object, "sid");
    if (!json_is_string(text) ||
        !fz_uuid_parse(fz_span_make(json_string_value(text), json_string_length(text)), &sid))
        return;
    struct store_session *session = add_session(c, object, json_object_get(object, "attrs"));
    if (!session)
        return;
    fz_uuid_format(&sid, session->sid);
    session->outcome = outcome_of(object);
}

static void
add_aggregates(struct sentry_counted *c, const json_t *object)
{
    static const char *const keys[STORE_SESSION_OUTCOMES] = {"exited", "errored", "abnormal",
                                                             "crashed"};
    const json_t *list = json_object_get(object, "aggregates");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct store_session *session = add_session(c, one, json_object_get(object, "attrs"));
        if (!session)
            return;
        for (size_t k = 0; k < STORE_SESSION_OUTCOMES; k++)
            session->n[k] = quantity_of(one, keys[k], 0);
    }
}

static void
add_discarded(struct sentry_counted *c, const json_t *object)
{
    const json_t *list = json_object_get(object, "discarded_events");
    for (size_t i = 0; i < json_array_size(list) && c->n_discarded < SENTRY_COUNTED_MAX; i++) {
        const json_t *one = json_array_get(list, i);
        struct store_discarded discarded = {.reason = text_of(c, one, "reason"),
                                            .category = text_of(c, one, "category"),
                                            .n = quantity_of(one, "quantity", 1)};
        if (discarded.reason && discarded.n)
            c->discarded[c->n_discarded++] = discarded;
    }
}

static void
add_item(struct sentry_counted *c, const struct sentry_item *item, const struct limits *limits)
{
    struct json_scan_limits scan = {JSON_DEPTH, limits->json_bytes, limits->report_memory};
    struct fz_error err;
    json_auto_t *value = NULL;
    if (json_scan_load(item->payload, &scan, NULL, &value, &err) != FZ_OK)
        return;
    if (fz_span_is(item->type, "session"))
        add_run(c, value);
    else if (fz_span_is(item->type, "sessions"))
        add_aggregates(c, value);
    else
        add_discarded(c, value);
}

enum fz_code
sentry_read_counted(struct fz_span envelope, const struct limits *limits, struct fz_arena *arena,
                    struct sentry_counted **ret, struct fz_error *err)
{
    struct sentry_items items;
    struct sentry_item item;
    bool any = true;
    struct sentry_counted *c = fz_arena_alloc(arena, sizeof(*c));
    if (!c)
        return fz_arena_fail(arena, err);
    c->arena = arena;
    enum fz_code code = sentry_items_start(envelope, &items, err);
    while (code == FZ_OK && any) {
        code = sentry_items_next(&items, &item, &any, err);
        if (code == FZ_OK && any && sentry_is_counted(&item))
            add_item(c, &item, limits);
    }
    if (code == FZ_OK)
        *ret = c;
    return code;
}
