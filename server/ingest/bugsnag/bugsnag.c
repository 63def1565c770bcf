/*
 * Bugsnag's error reports (payload version 4): what the notifier POSTs, or one event of it.
 *
 *   {"apiKey":"...","payloadVersion":"4.0","notifier":{...},"events":[
 *     {"exceptions":[{"errorClass":"EXC_BAD_ACCESS","message":"...","stacktrace":[
 *        {"frameAddress":"0x104004068","machoLoadAddress":"0x104000000","machoUUID":"4C4C...",
 *         "machoFile":"/.../Demo","symbolAddress":"0x104004000","method":"f","isPC":true}]}],
 *      "threads":[{"id":"0","errorReportingThread":true,"stacktrace":[...]}],
 *      "app":{...},"device":{...},"metaData":{"error":{"type":"mach",...}},...}]}
 *
 * metaData.error is what KSCrash (which Bugsnag's notifier is made from) calls crash.error.
 */
#include "server/ingest/bugsnag/bugsnag.h"

#include "base/arch/arch.h"
#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_repair.h"
#include "server/ingest/kscrash/kscrash.h"

/* An array of exceptions in Bugsnag's words. */
static bool
is_exceptions(struct fz_span value)
{
    struct json_walk items = json_walk_items(value);
    struct json_member item, member;
    if (!json_walk_next_item(&items, &item))
        return false;
    struct json_walk walk = json_walk_start(item.value);
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "errorClass"))
            return true;
        /* The class may follow a stack that is longer than the head. */
        if (fz_span_is(member.key, "stacktrace") && !member.complete)
            return true;
    }
    return false;
}

static bool
is_event(struct fz_span object)
{
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "exceptions"))
            return is_exceptions(member.value);
    }
    return false;
}

static bool
bugsnag_detect(struct fz_span head)
{
    bool events = false, payload = false;
    struct json_walk walk = json_walk_start(head);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "exceptions"))
            return is_exceptions(member.value);
        if (fz_span_is(member.key, "notifier") || fz_span_is(member.key, "payloadVersion"))
            payload = true;
        if (fz_span_is(member.key, "events") && ingest_json_begins(member.value, '[')) {
            struct json_walk items = json_walk_items(member.value);
            struct json_member item;
            /* An event with all its stacks is longer than the head; then the payload's other
             * keys decide. */
            events = json_walk_next_item(&items, &item) &&
                     (is_event(item.value) || (payload && !item.complete));
        }
    }
    return events;
}

/* The first event, or the object itself; one answer for the check and for the parse. */
static enum fz_code
need_event(struct fz_span body, struct fz_error *err)
{
    struct fz_span event = body;
    struct json_walk walk = json_walk_start(body);
    struct json_member member, item;
    while (json_walk_next(&walk, &member)) {
        struct json_walk items = json_walk_items(member.value);
        if (fz_span_is(member.key, "events") && json_walk_next_item(&items, &item))
            event = item.value;
    }
    /* One event of a payload is accepted alone, too. */
    if (is_event(event))
        return FZ_OK;
    return fz_fail_at(err, FZ_E_MALFORMED, (uint64_t)(event.data - body.data),
                      "Bugsnag report: no event with 'exceptions' in it");
}

static enum fz_code
bugsnag_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
              struct fz_error *err)
{
    (void)ret_id; /* an event has no id */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct fz_span text;
    struct ingest_repair repair;
    return ingest_json_check(body, in->limits, need_event, &buffer, &text, &repair, err);
}

/* ---- several events ----------------------------------------------------------------------- */

static enum fz_code
bugsnag_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    struct fz_span events = {NULL, 0};
    struct json_scan_limits scan = {found->in->limits->json_depth, SIZE_MAX, 0};
    struct fz_error ignored;
    (void)err;
    if (json_scan(body, &scan, NULL, NULL, &ignored) != FZ_OK)
        return FZ_OK; /* what can be repaired of it is one report */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer shared = fz_buffer_make(0);
    struct json_walk walk = json_walk_start(body);
    struct json_member member, item;
    fz_buffer_char(&shared, '{');
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "events"))
            events = member.value;
        else
            ingest_json_append(&shared, &member);
    }
    if (ingest_json_count(events) < 2) /* the whole body is the report */
        return FZ_OK;
    /* The payload with one event: {"apiKey":...,"notifier":...,"events":[EVENT]}. */
    fz_buffer_text(&shared, "\"events\":[");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct json_walk items = json_walk_items(events);
    found->failed = found->failed || shared.failed;
    while (!found->failed && json_walk_next_item(&items, &item)) {
        fz_buffer_clear(&text);
        fz_buffer_append(&text, shared.data, shared.len);
        fz_buffer_append(&text, item.value.data, item.value.len);
        fz_buffer_text(&text, "]}");
        ingest_found_copy(found, &text);
    }
    return FZ_OK;
}

/* ---- one event ---------------------------------------------------------------------------- */

static void
read_origin(struct ingest_builder *b, const json_t *event)
{
    static const char *const known_app[] = {
        "id", "name", "version", "bundleVersion", "binaryArch", "releaseStage", NULL};
    static const char *const known_device[] = {"osName", "osVersion", "model", "time", NULL};
    struct report *r = b->report;
    const json_t *app = ingest_json_member(b, event, "", "app", JSON_OBJECT);
    const json_t *device = ingest_json_member(b, event, "", "device", JSON_OBJECT);
    const json_t *versions =
        ingest_json_member(b, device, "device", "runtimeVersions", JSON_OBJECT);
    const json_t *meta = ingest_json_member(b, event, "", "metaData", JSON_OBJECT);
    r->app_id = ingest_json_text(b, app, "app", "id");
    r->app_name = ingest_json_text(b, app, "app", "name");
    if (!r->app_name)
        r->app_name = ingest_json_text(b, json_object_get(meta, "app"), "metaData.app", "name");
    r->app_version = ingest_json_text(b, app, "app", "version");
    r->app_build = ingest_json_text(b, app, "app", "bundleVersion");
    r->environment = ingest_json_text(b, app, "app", "releaseStage");
    const char *arch = ingest_json_text(b, app, "app", "binaryArch");
    r->arch = fz_arch_canonical(arch); /* the images get it as it is here */
    r->arch = r->arch ? r->arch : arch;
    r->os_name = ingest_json_text(b, device, "device", "osName");
    r->os_version = ingest_json_text(b, device, "device", "osVersion");
    r->os_build = ingest_json_text(b, versions, "device.runtimeVersions", "osBuild");
    r->device_model = ingest_json_text(b, device, "device", "model");
    r->timestamp_ms = ingest_json_time(b, device, "device", "time");
    ingest_add_extra(b, "app", app, known_app);
    ingest_add_extra(b, "device", device, known_device);
}

static const char *
kind_of(const char *error_class, bool unhandled)
{
    static const struct {
        const char *name, *kind;
    } kinds[] = {{"App Hang", "hang"}, {"ANR", "hang"}, {"Out Of Memory", "memory"}};
    for (size_t i = 0; error_class && i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(error_class, kinds[i].name) == 0)
            return kinds[i].kind;
    }
    return unhandled ? NULL : "error";
}

/* Returns whether a signal or Mach exception was caught. */
static bool
read_error(struct ingest_builder *b, const json_t *event)
{
    struct report *r = b->report;
    struct report_crash *crash = &r->crash;
    const json_t *exceptions = ingest_json_member(b, event, "", "exceptions", JSON_ARRAY);
    const json_t *first = json_array_get(exceptions, 0);
    const json_t *meta = json_object_get(event, "metaData");
    const json_t *type = json_object_get(json_object_get(meta, "error"), "type");
    /* The notifier is made from KSCrash and keeps its names here. */
    struct ingest_kscrash k = {.b = b, .report = meta, .error = json_object_get(meta, "error")};
    k.type = json_is_string(type) ? json_string_value(type) : "";
    if (json_is_object(k.error))
        ingest_kscrash_read_error(&k);
    const char *class = ingest_json_text(b, first, "exceptions[0]", "errorClass");
    const char *message = ingest_json_text(b, first, "exceptions[0]", "message");
    bool mach = class && fz_text_has_prefix(class, "EXC_");
    bool signal = class && fz_text_has_prefix(class, "SIG");
    /* The class repeats what KSCrash found, or is the only word about it. */
    if (mach && !crash->mach)
        crash->mach = class;
    else if (signal && !crash->signal)
        crash->signal = class;
    else if (class && !mach && !signal)
        crash->exception = class;
    if (message)
        crash->reason = message;
    bool unhandled = ingest_json_bool(b, event, "", "unhandled", true);
    const char *kind = kind_of(class, unhandled);
    if (kind)
        r->kind = kind;
    return mach || signal || strcmp(k.type, "mach") == 0 || strcmp(k.type, "signal") == 0;
}

/* What else the first exception says, and its causes as they came; only the first one's stack is
 * read. */
static void
read_causes(struct ingest_builder *b, const json_t *event)
{
    static const char *const known[] = {"errorClass", "message", "stacktrace", NULL};
    const json_t *list = json_object_get(event, "exceptions");
    ingest_add_extra(b, "exception", json_array_get(list, 0), known);
    json_auto_t *causes = json_object();
    json_auto_t *array = json_array();
    if (!causes || !array) {
        b->failed = true;
        return;
    }
    for (size_t i = 1; i < json_array_size(list); i++) {
        /* The array takes a reference; nothing in the item is changed. */
        if (json_array_append(array, json_array_get(list, i)) != 0)
            b->failed = true;
    }
    if (json_array_size(array) && json_object_set(causes, "causes", array) != 0)
        b->failed = true;
    ingest_add_extra(b, NULL, causes, NULL);
}

static void
read_event(struct ingest_builder *b, const json_t *root, const json_t *event)
{
    static const char *const known[] = {"apiKey",   "app",  "device",      "exceptions", "threads",
                                        "metaData", "user", "breadcrumbs", "unhandled",  NULL};
    static const char *const known_root[] = {"apiKey", "events", NULL};
    static const char *const known_meta[] = {"error", NULL};
    struct report *r = b->report;
    read_origin(b, event);
    /* Before the stacks: it decides whether frame 0 is a pc. */
    bool caught = read_error(b, event);
    read_causes(b, event);
    r->user_json = ingest_json_dump(b, event, "user");
    r->breadcrumbs_json = ingest_json_dump(b, event, "breadcrumbs");
    ingest_bugsnag_read_stacks(b, event, caught);
    const json_t *meta = json_object_get(event, "metaData");
    ingest_add_extra(b, "metaData", meta,
                     json_is_object(json_object_get(meta, "error")) ? known_meta : NULL);
    ingest_add_extra(b, NULL, event, known);
    if (root != event)
        ingest_add_extra(b, NULL, root, known_root);
    ingest_mark_crashed(r);
}

static enum fz_code
bugsnag_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
              struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    json_auto_t *root = NULL;
    enum fz_code code = ingest_json_load_repaired(&b, body, "the payload", need_event, &root, err);
    if (code != FZ_OK)
        return code;
    const json_t *events = json_object_get(root, "events"), *event = json_array_get(events, 0);
    /* Only a body that was not split has several. */
    if (json_array_size(events) > 1)
        ingest_note(&b, "events: %zu, of which only the first is read", json_array_size(events));
    read_event(&b, root, json_is_object(event) ? event : root);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_bugsnag = {
    .name = "bugsnag",
    .detect = bugsnag_detect,
    .check = bugsnag_check,
    .parse = bugsnag_parse,
    .split = bugsnag_split,
};
