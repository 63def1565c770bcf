/*
 * Items of an envelope that are counted:
 *
 *   session        {"sid","did","status":"ok|exited|crashed|abnormal|errored","errors":1,"started",
 *                   "attrs":{"release","environment"}}
 *   sessions       {"attrs":{...},"aggregates":[{"started","did","exited":9,"errored":1,"crashed":0,
 *                   "abnormal":0}]}
 *   client_report  {"discarded_events":[{"reason","category","quantity"}]}
 *
 * They are statistics: what cannot be read is skipped, never rejected.
 */
#include <jansson.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/time.h"
#include "server/ingest/sentry/intake.h"

enum { JSON_DEPTH = 16, QUANTITY_MAX = 1000 * 1000 };

struct counting {
    struct fz_arena *arena;
    struct ingest_counted *found;
};

static bool
is_session(const struct sentry_item *item)
{
    return fz_span_is(item->type, "session") || fz_span_is(item->type, "sessions");
}

bool
sentry_is_counted(const struct sentry_item *item)
{
    return is_session(item) || fz_span_is(item->type, "client_report");
}

static const char *
text_of(const struct counting *c, const json_t *object, const char *key)
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
    /* Some SDKs send seconds with a fraction, others a text. */
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
    /* The client's number goes into sums: one report must not spoil them for good. */
    return n < 0 ? 0 : n > QUANTITY_MAX ? QUANTITY_MAX : (uint32_t)n;
}

static enum ingest_outcome
outcome_of(const json_t *session)
{
    static const struct {
        const char *status;
        enum ingest_outcome outcome;
    } rows[] = {
        {"crashed", INGEST_CRASHED},
        {"abnormal", INGEST_ABNORMAL},
        {"errored", INGEST_ERRORED},
    };
    const char *status = json_string_value(json_object_get(session, "status"));
    for (size_t i = 0; status && i < FZ_ARRAY_LEN(rows); i++) {
        if (strcmp(status, rows[i].status) == 0)
            return rows[i].outcome;
    }
    /* SDKs send "ok" and "exited" with a count of errors: such a run is an errored one. */
    return quantity_of(session, "errors", 0) ? INGEST_ERRORED : INGEST_HEALTHY;
}

static struct ingest_session *
add_session(struct counting *c, const json_t *object, const json_t *attrs)
{
    /* 100 sessions in an envelope are Relay's limit, too; SDKs stay below it. */
    if (c->found->n_sessions == INGEST_COUNTED_MAX)
        return NULL;
    struct ingest_session *session = &c->found->sessions[c->found->n_sessions++];
    *session = (struct ingest_session){.release = text_of(c, attrs, "release"),
                                       .environment = text_of(c, attrs, "environment"),
                                       /* "distinct id": of the user, else of the installation */
                                       .user = text_of(c, object, "did"),
                                       .started_ms = time_of(object, "started")};
    return session;
}

static void
add_run(struct counting *c, const json_t *object)
{
    struct fz_uuid sid;
    const json_t *text = json_object_get(object, "sid");
    /* Without an id, updates of one run could not be distinguished from other runs. */
    if (!json_is_string(text) ||
        !fz_uuid_parse(fz_span_make(json_string_value(text), json_string_length(text)), &sid))
        return;
    struct ingest_session *session = add_session(c, object, json_object_get(object, "attrs"));
    if (!session)
        return;
    fz_uuid_format(&sid, session->sid);
    session->outcome = outcome_of(object);
}

static void
add_aggregates(struct counting *c, const json_t *object)
{
    static const char *const keys[INGEST_OUTCOMES] = {"exited", "errored", "abnormal", "crashed"};
    const json_t *list = json_object_get(object, "aggregates");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct ingest_session *session = add_session(c, one, json_object_get(object, "attrs"));
        if (!session)
            return;
        for (size_t k = 0; k < INGEST_OUTCOMES; k++)
            /* "exited" is what is healthy: runs that ended without an error. */
            session->n[k] = quantity_of(one, keys[k], 0);
    }
}

static void
add_discarded(struct counting *c, const json_t *object)
{
    const json_t *list = json_object_get(object, "discarded_events");
    for (size_t i = 0; i < json_array_size(list) && c->found->n_discarded < INGEST_COUNTED_MAX;
         i++) {
        const json_t *one = json_array_get(list, i);
        struct ingest_discarded discarded = {.reason = text_of(c, one, "reason"),
                                             .category = text_of(c, one, "category"),
                                             .n = quantity_of(one, "quantity", 1)};
        /* Without a reason it would be counted with those of other reasons. */
        if (discarded.reason && discarded.n)
            c->found->discarded[c->found->n_discarded++] = discarded;
    }
}

static void
add_item(struct counting *c, const struct sentry_item *item, const struct limits *limits)
{
    struct json_scan_limits scan = {JSON_DEPTH, limits->json_bytes, limits->report_memory};
    struct fz_error err;
    json_auto_t *value = NULL;
    /* Statistics that cannot be read must not cost the report in the same envelope. */
    if (json_scan_load(item->payload, &scan, NULL, &value, &err) != FZ_OK)
        return;
    if (fz_span_is(item->type, "session"))
        add_run(c, value);
    else if (fz_span_is(item->type, "sessions"))
        add_aggregates(c, value);
    else
        add_discarded(c, value);
}

void
sentry_count(const struct sentry_items *items, const struct limits *limits, struct fz_arena *arena,
             struct ingest_counted *ret)
{
    struct counting c = {.arena = arena, .found = ret};
    for (size_t i = 0; i < items->n; i++) {
        const struct sentry_item *item = &items->list[i];
        ret->has_sessions = ret->has_sessions || is_session(item);
        ret->has_counted = ret->has_counted || sentry_is_counted(item);
        if (sentry_is_counted(item))
            add_item(&c, item, limits);
    }
}
