/*
 * Sentry's event JSON: sentry-cocoa since 2017 (KSCrash-based and later), and the events of other
 * SDKs, which have names of functions but mostly no addresses.
 *
 *   {"event_id":"d3b07384d113edec49eaa6238ad5ff00","platform":"cocoa","level":"fatal",
 *    "exception":{"values":[{"type":"EXC_BAD_ACCESS","mechanism":{"type":"mach","meta":{...}},
 *     "stacktrace":{"frames":[{"instruction_addr":"0x...","image_addr":"0x..."}]}}]},
 *    "threads":{"values":[...]},"debug_meta":{"images":[...]},"contexts":{...}}
 *
 * Frames are listed oldest first; every {"values":[...]} may be a bare array, every member null.
 * What the report model has no place for stays in its `extra` under the event's own names.
 */
#include <string.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/version.h"
#include "server/ingest/common/format.h"
#include "server/ingest/sentry/sentry.h"

/* Members that the model has a place for; others are kept as they came. */
static const char *const known_keys[] = {
    "event_id", "timestamp", "environment", "user",     "tags",       "breadcrumbs", "exception",
    "threads",  "type",      "message",     "logentry", "stacktrace", "debug_meta",  NULL};

static const char *const known_meta[] = {"images", NULL};

enum { EVENT_ID, EVENT_BODY, EVENT_SURE, EVENT_FOREIGN };

/* What a member contributes to the detection of an event. */
static int
key_kind(struct fz_span key)
{
    static const struct {
        const char *key;
        int kind;
    } rows[] = {
        {"event_id", EVENT_ID},
        {"exception", EVENT_BODY},
        {"threads", EVENT_BODY},
        {"message", EVENT_BODY},
        {"logentry", EVENT_BODY},
        {"platform", EVENT_BODY},
        {"contexts", EVENT_BODY},
        {"breadcrumbs", EVENT_BODY},
        {"sdk", EVENT_BODY},
        {"level", EVENT_BODY},
        {"timestamp", EVENT_BODY},
        {"debug_meta", EVENT_SURE},
        {"framezero", EVENT_FOREIGN},
        {"apiKey", EVENT_FOREIGN},
        {"binary_images", EVENT_FOREIGN},
        {"usedImages", EVENT_FOREIGN},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        /* Members of other formats rule an event out: Bugsnag and KSCrash have `threads` as
         * well. */
        if (fz_span_is(key, rows[i].key))
            return rows[i].kind;
    }
    return -1;
}

/* An id and a member that events have, or debug_meta, which only events have. */
static bool
event_detect(struct fz_span head)
{
    bool seen[4] = {false};
    struct json_walk walk = json_walk_start(head);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* All keys are read: the order of members differs between SDKs. */
        int kind = key_kind(member.key);
        if (kind >= 0)
            seen[kind] = true;
    }
    return !seen[EVENT_FOREIGN] && (seen[EVENT_SURE] || (seen[EVENT_ID] && seen[EVENT_BODY]));
}

static enum fz_code
refuse_transaction(struct fz_error *err)
{
    return fz_fail(err, FZ_E_UNSUPPORTED, "sentry event: a transaction, which holds no crash");
}

enum fz_code
sentry_check_event(struct fz_span body, const struct limits *limits, char ret_id[FZ_UUID_TEXT],
                   struct fz_error *err)
{
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    struct json_scan_notes found;
    enum fz_code code = json_scan(body, &scan, NULL, &found, err);
    if (code != FZ_OK)
        return code;
    /* Any JSON is valid, but an event has members. */
    if (found.n_objects == 0)
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "sentry event: not a JSON object");
    struct json_walk walk = json_walk_start(body);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* Performance data that SDKs send to the same path; there is nothing to symbolicate. */
        if (fz_span_is(member.key, "type") && fz_span_is(member.value, "\"transaction\""))
            return refuse_transaction(err);
        if (fz_span_is(member.key, "event_id"))
            ingest_json_id(member.value, ret_id);
    }
    return FZ_OK;
}

/* The list of an interface: {"values": [...]}, a bare array; NULL if there is none. */
static const json_t *
values(struct sentry *s, const char *key)
{
    const json_t *value = json_object_get(s->root, key);
    /* sentry-cocoa sends breadcrumbs as a bare array, other SDKs {"values":[...]}. */
    if (json_is_array(value))
        return value;
    const json_t *object = ingest_json_member(&s->b, s->root, "", key, JSON_OBJECT);
    return ingest_json_member(&s->b, object, key, "values", JSON_ARRAY);
}

/* "com.example.demo@1.2+34", or whatever the app chose to call its version. */
static void
read_release(struct ingest_builder *b, const char *release)
{
    struct report *r = b->report;
    struct fz_release parts;
    fz_release_split(release, &parts);
    if (parts.app.len && !r->app_id)
        r->app_id = fz_arena_text(b->arena, parts.app);
    if (parts.version.len && !r->app_version)
        r->app_version = fz_arena_text(b->arena, parts.version);
    if (parts.build.len && !r->app_build)
        r->app_build = fz_arena_text(b->arena, parts.build);
    b->failed = b->failed || (parts.app.len && !r->app_id) ||
                (parts.version.len && !r->app_version) || (parts.build.len && !r->app_build);
}

static void
read_origin(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct report *r = b->report;
    const json_t *contexts = ingest_json_member(b, s->root, "", "contexts", JSON_OBJECT);
    const json_t *app = ingest_json_member(b, contexts, "contexts", "app", JSON_OBJECT);
    const json_t *os = ingest_json_member(b, contexts, "contexts", "os", JSON_OBJECT);
    const json_t *device = ingest_json_member(b, contexts, "contexts", "device", JSON_OBJECT);
    r->id = ingest_json_text(b, s->root, "", "event_id");
    r->timestamp_ms = ingest_json_time(b, s->root, "", "timestamp");
    r->environment = ingest_json_text(b, s->root, "", "environment");
    r->app_id = ingest_json_text(b, app, "contexts.app", "app_identifier");
    r->app_name = ingest_json_text(b, app, "contexts.app", "app_name");
    r->app_version = ingest_json_text(b, app, "contexts.app", "app_version");
    r->app_build = ingest_json_text(b, app, "contexts.app", "app_build");
    r->process.launched_ms = ingest_json_time(b, app, "contexts.app", "app_start_time");
    read_release(b, ingest_json_text(b, s->root, "", "release"));
    if (!r->app_build)
        /* sentry-cocoa's `dist` is the build number. */
        r->app_build = ingest_json_text(b, s->root, "", "dist");
    r->os_name = ingest_json_text(b, os, "contexts.os", "name");
    r->os_version = ingest_json_text(b, os, "contexts.os", "version");
    r->os_build = ingest_json_text(b, os, "contexts.os", "build");
    r->device_model = ingest_json_text(b, device, "contexts.device", "model");
    r->arch = ingest_json_text(b, device, "contexts.device", "arch");
    /* Images have no architecture in events of sentry-cocoa, so the device's is all there is. */
    s->is_arm64 = r->arch && strncmp(r->arch, "arm64", 5) == 0;
}

/* An object, or an array of pairs [["key","value"]] as old SDKs wrote them. */
static void
read_tags(struct sentry *s)
{
    const json_t *tags = json_object_get(s->root, "tags");
    if (!json_is_array(tags)) {
        s->b.report->tags_json = ingest_json_dump(&s->b, s->root, "tags");
        return;
    }
    json_auto_t *object = json_object();
    for (size_t i = 0; object && i < json_array_size(tags); i++) {
        const json_t *pair = json_array_get(tags, i);
        const char *key = json_string_value(json_array_get(pair, 0));
        if (key && json_object_set(object, key, json_array_get(pair, 1)) != 0)
            s->b.failed = true;
        if (!key)
            ingest_note(&s->b, "tags[%zu]: not a pair", i);
    }
    s->b.failed = s->b.failed || !object;
    s->b.report->tags_json = ingest_json_dump(&s->b, object, NULL);
}

/* A text, {"formatted", "message", "params"}, or the same under "logentry". */
static const char *
read_message(struct sentry *s)
{
    static const char *const keys[] = {"logentry", "message"};
    static const char *const members[] = {"formatted", "message"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        const json_t *value = json_object_get(s->root, keys[i]);
        const char *text = NULL;
        if (!json_is_object(value))
            text = ingest_json_text(&s->b, s->root, "", keys[i]);
        for (size_t k = 0; !text && json_is_object(value) && k < FZ_ARRAY_LEN(members); k++)
            text = ingest_json_text(&s->b, value, keys[i], members[k]);
        /* The template and its values are worth more than the text to people who group messages. */
        if (json_object_get(value, "params"))
            ingest_add_extra(&s->b, keys[i], value, NULL);
        if (text)
            return text;
    }
    /* A user's text from the app's feedback form. */
    const json_t *contexts = json_object_get(s->root, "contexts");
    return ingest_json_text(&s->b, json_object_get(contexts, "feedback"), "contexts.feedback",
                            "message");
}

/* Beside an exception the message is additional information, else it is the reason. */
static void
place_message(struct sentry *s, const char *text)
{
    struct report_crash *crash = &s->b.report->crash;
    if (!text)
        return;
    if (!crash->reason)
        crash->reason = text;
    else if (strcmp(crash->reason, text) != 0)
        (void)ingest_add_message(&s->b, text);
}

static void
read_free_form(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    b->report->user_json = ingest_json_dump(b, s->root, "user");
    read_tags(s);
    const json_t *breadcrumbs = values(s, "breadcrumbs");
    if (breadcrumbs)
        b->report->breadcrumbs_json = ingest_json_dump(b, breadcrumbs, NULL);
    ingest_add_extra(b, NULL, s->root, known_keys);
    /* sdk_info and the like, beside the images. */
    const json_t *meta = json_object_get(s->root, "debug_meta");
    ingest_add_extra(b, "debug_meta", json_is_object(meta) ? meta : NULL, known_meta);
}

enum fz_code
sentry_read_event(struct ingest_builder *b, struct fz_span body, struct fz_error *err)
{
    json_auto_t *root = NULL;
    enum fz_code code = ingest_json_load(b, body, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    if (!json_is_object(root))
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "sentry event: not a JSON object");
    const char *type = json_string_value(json_object_get(root, "type"));
    if (type && strcmp(type, "transaction") == 0)
        return refuse_transaction(err);
    struct sentry s = {.b = *b, .root = root, .current = -1, .thread_id = -1};
    /* Looked up once: the forms of a list are many. */
    s.exceptions = values(&s, "exception");
    s.threads = values(&s, "threads");
    read_origin(&s);
    /* Before the frames, which may name images that the list lacks. */
    sentry_read_images(&s);
    sentry_read_crash(&s);
    /* After the exception: only then it is known whether the message is the reason. */
    place_message(&s, read_message(&s));
    sentry_read_threads(&s);
    sentry_note_packages(&s);
    read_free_form(&s);
    *b = s.b;
    return b->failed ? fz_arena_fail(b->arena, err) : FZ_OK;
}

static enum fz_code
event_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
            struct fz_error *err)
{
    return sentry_check_event(body, in->limits, ret_id, err);
}

static enum fz_code
event_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
            struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    return sentry_read_event(&b, body, err);
}

const struct ingest_format ingest_sentry_event = {
    .name = "sentry",
    .reader = "sentry_event",
    .detect = event_detect,
    .check = event_check,
    .parse = event_parse,
};
