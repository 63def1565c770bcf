#include "server/alert/alert.h"

#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "base/time.h"

enum { DEPTH_MAX = 8, JSON_MAX = 256 * 1024, TREE_MAX = 4 * 1024 * 1024 };

struct reader {
    struct fz_arena *arena;
    bool failed; /* the arena is exhausted */
};

static const char *
text(struct reader *r, const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    char *copy = value ? fz_arena_strdup(r->arena, value) : NULL;
    r->failed |= value && !copy;
    return copy;
}

static uint64_t
number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static int64_t
time_of(const json_t *object, const char *key)
{
    int64_t ms = 0;
    const char *value = json_string_value(json_object_get(object, key));
    return value && fz_time_parse(fz_span_cstr(value), &ms) ? ms : 0;
}

/* An array of zeroed elements for a JSON array, NULL for none. */
static void *
array_for(struct reader *r, const json_t *list, size_t elem, size_t max, size_t *ret_n)
{
    size_t n = json_array_size(list);
    n = n < max ? n : max;
    void *array = n ? fz_arena_array(r->arena, n, elem) : NULL;
    r->failed |= n > 0 && !array;
    *ret_n = array ? n : 0;
    return array;
}

static void
read_issue(struct reader *r, const json_t *object, struct alert_issue *ret)
{
    const json_t *list = json_object_get(object, "frames");
    struct alert_frame *frames =
        array_for(r, list, sizeof(*frames), ALERT_FRAMES_MAX, &ret->n_frames);
    ret->number = number(object, "number");
    ret->title = text(r, object, "title");
    ret->culprit = text(r, object, "culprit");
    ret->n_reports = number(object, "reports");
    ret->n_users = number(object, "users");
    ret->first_seen_ms = time_of(object, "first_seen");
    ret->last_seen_ms = time_of(object, "last_seen");
    ret->first_version = text(r, object, "first_version");
    ret->last_version = text(r, object, "last_version");
    ret->resolved_in = text(r, object, "resolved_in");
    ret->reason = text(r, object, "reason");
    for (size_t i = 0; i < ret->n_frames; i++) {
        const json_t *frame = json_array_get(list, i);
        frames[i] = (struct alert_frame){.function = text(r, frame, "function"),
                                         .module = text(r, frame, "module"),
                                         .file = text(r, frame, "file"),
                                         .line = number(frame, "line")};
    }
    ret->frames = frames;
}

static void
read_missing(struct reader *r, const json_t *object, struct alert_event *ret)
{
    const json_t *list = json_object_get(object, "symbols");
    struct alert_symbol *symbols =
        array_for(r, list, sizeof(*symbols), ALERT_SYMBOLS_MAX, &ret->n_symbols);
    for (size_t i = 0; i < ret->n_symbols; i++) {
        const json_t *symbol = json_array_get(list, i);
        symbols[i] = (struct alert_symbol){.name = text(r, symbol, "name"),
                                           .uuid = text(r, symbol, "uuid"),
                                           .arch = text(r, symbol, "arch")};
    }
    ret->symbols = symbols;
    ret->n_waiting = number(object, "reports");
    ret->since_ms = time_of(object, "since");
    /* All of them, of which the first are listed. */
    if (number(object, "total") > ret->n_symbols)
        ret->n_unlisted = number(object, "total") - ret->n_symbols;
}

static void
read_digest(struct reader *r, const json_t *object, struct alert_event *ret)
{
    const json_t *list = json_object_get(object, "items");
    struct alert_item *items = array_for(r, list, sizeof(*items), ALERT_ITEMS_MAX, &ret->n_items);
    for (size_t i = 0; i < ret->n_items; i++) {
        const json_t *item = json_array_get(list, i);
        const char *type = json_string_value(json_object_get(item, "type"));
        items[i] = (struct alert_item){.time_ms = time_of(item, "timestamp"),
                                       .number = number(item, "number"),
                                       .title = text(r, item, "title"),
                                       .version = text(r, item, "version")};
        if (!alert_kind_parse(fz_span_cstr(type), &items[i].kind))
            items[i].kind = ALERT_TEST;
    }
    const json_t *counts = json_object_get(object, "counts");
    for (size_t kind = 0; kind < ALERT_N_KINDS; kind++)
        ret->n_by_kind[kind] = number(counts, alert_kind_name((enum alert_kind)kind));
    ret->items = items;
    ret->n_events = number(object, "events");
    ret->since_ms = time_of(object, "since");
}

static void
read_numbers(struct reader *r, const json_t *data, struct alert_event *ret)
{
    const json_t *urgent = json_object_get(data, "urgent");
    const json_t *release = json_object_get(data, "release");
    const json_t *limit = json_object_get(data, "limit");
    const json_t *channel = json_object_get(data, "channel");
    uint64_t ppm = number(release, "threshold_ppm"), window_s = number(urgent, "window_s");
    ret->burst = (struct alert_burst){.window_s = window_s < INT64_MAX ? (int64_t)window_s : 0,
                                      .n_reports = number(urgent, "reports"),
                                      .n_users = number(urgent, "users"),
                                      .n_sessions = number(urgent, "sessions"),
                                      .n_crashed = number(urgent, "crashed_sessions")};
    ret->release = (struct alert_release){.since_ms = time_of(release, "since"),
                                          .n_sessions = number(release, "sessions"),
                                          .n_crashed = number(release, "crashed_sessions"),
                                          .threshold_ppm = ppm < 1000000 ? (unsigned)ppm : 1000000};
    ret->limit = (struct alert_limit){.name = text(r, limit, "name"),
                                      .value = number(limit, "value"),
                                      .since_ms = time_of(limit, "since"),
                                      .until_ms = time_of(limit, "until")};
    ret->trouble =
        (struct alert_trouble){.channel = text(r, channel, "name"),
                               .error = text(r, channel, "error"),
                               .n_attempts = number(channel, "attempts"),
                               .since_ms = time_of(channel, "since"),
                               .is_disabled = json_is_true(json_object_get(channel, "disabled"))};
}

enum fz_code
alert_event_read(struct fz_span json, const char *id, struct fz_arena *arena,
                 struct alert_event *ret, struct fz_error *err)
{
    static const struct json_scan_limits limits = {
        .depth = DEPTH_MAX, .output_bytes = JSON_MAX, .tree_bytes = TREE_MAX};
    struct reader r = {.arena = arena};
    struct alert_event event = {.id = id};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(json, &limits, NULL, &root, err);
    if (code != FZ_OK)
        return fz_wrap(err, "event");
    const char *type = json_string_value(json_object_get(root, "type"));
    const json_t *data = json_object_get(root, "data");
    if (!alert_kind_parse(fz_span_cstr(type), &event.kind))
        return fz_fail(err, FZ_E_MALFORMED, "event: there is no type '%.40s'", type ? type : "");
    event.time_ms = time_of(root, "timestamp");
    event.project = text(&r, data, "project");
    event.version = text(&r, data, "version");
    event.path = text(&r, data, "path");
    event.by = text(&r, data, "by");
    read_issue(&r, json_object_get(data, "issue"), &event.issue);
    read_missing(&r, json_object_get(data, "missing"), &event);
    if (event.kind == ALERT_DIGEST)
        read_digest(&r, json_object_get(data, "digest"), &event);
    read_numbers(&r, data, &event);
    if (r.failed)
        return fz_arena_fail(arena, err);
    *ret = event;
    return FZ_OK;
}
