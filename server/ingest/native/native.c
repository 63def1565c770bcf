/*
 * The native report (docs/api): framezero's own format for an app's own reporter.
 *
 *   {"framezero":1,"addresses":["0x1045f8a10"],"images":[{"uuid":"4c4c445b-...","name":"Shop",
 *    "address":"0x1045f0000","size":262144}]}
 *
 * `threads` or `addresses` make it a report; everything else may be missing or odd.
 */
#include "server/ingest/native/native.h"

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "server/ingest/common/format.h"

/* Top-level members that the model has a place for; others are kept as they came. */
static const char *const known_keys[] = {
    "framezero", "id",     "timestamp", "app",  "os",   "device",      "arch",   "crash",
    "threads",   "images", "addresses", "user", "tags", "breadcrumbs", "memory", "environment"};

/* `threads` alone is in the reports of many; without `framezero`, `images` must stand beside it. */
static bool
native_detect(struct fz_span head)
{
    bool threads = false, images = false;
    struct json_walk walk = json_walk_start(head);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "framezero"))
            return true;
        if (!ingest_json_begins(member.value, '['))
            continue;
        if (fz_span_is(member.key, "addresses"))
            return true;
        /* Where the head ends inside the threads, nothing speaks against images behind them. */
        if (fz_span_is(member.key, "threads"))
            threads = true;
        else if (fz_span_is(member.key, "images"))
            images = true;
        if (threads && (images || !member.complete))
            return true;
    }
    return false;
}

/* Has the object an array of threads or addresses? One answer for the check and for the parse. */
static enum fz_code
need_frames(struct fz_span text, struct fz_error *err)
{
    bool threads = false, addresses = false;
    uint64_t odd = 0; /* where one of them is something else; the object itself if there is none */
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        bool is_threads = fz_span_is(member.key, "threads");
        if (!is_threads && !fz_span_is(member.key, "addresses"))
            continue;
        *(is_threads ? &threads : &addresses) = ingest_json_begins(member.value, '[');
        odd = (uint64_t)(member.value.data - text.data);
    }
    if (threads || addresses)
        return FZ_OK;
    return fz_fail_at(err, FZ_E_MALFORMED, odd,
                      "framezero report: no 'threads' and no 'addresses' (an array of one of them "
                      "is needed)");
}

static enum fz_code
native_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
             struct fz_error *err)
{
    struct json_scan_limits scan = {in->limits->json_depth, SIZE_MAX, 0};
    enum fz_code code = json_scan(body, &scan, NULL, NULL, err);
    if (code == FZ_OK)
        code = need_frames(body, err);
    if (code != FZ_OK)
        return code;
    ingest_json_id(ingest_json_find(body, "id"), ret_id);
    return FZ_OK;
}

static void
take_origin(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    int64_t version = 1;
    r->environment = ingest_json_text(b, root, "", "environment");
    if (ingest_json_i64(b, root, "", "framezero", &version) && version != 1)
        ingest_note(b, "framezero: version %lld, read as version 1", (long long)version);
    r->id = ingest_json_text(b, root, "", "id");
    r->timestamp_ms = ingest_json_time(b, root, "", "timestamp");
    const json_t *app = ingest_json_member(b, root, "", "app", JSON_OBJECT);
    r->app_id = ingest_json_text(b, app, "app", "id");
    r->app_name = ingest_json_text(b, app, "app", "name");
    r->app_version = ingest_json_text(b, app, "app", "version");
    r->app_build = ingest_json_text(b, app, "app", "build");
    const json_t *os = ingest_json_member(b, root, "", "os", JSON_OBJECT);
    r->os_name = ingest_json_text(b, os, "os", "name");
    r->os_version = ingest_json_text(b, os, "os", "version");
    r->os_build = ingest_json_text(b, os, "os", "build");
    const json_t *device = ingest_json_member(b, root, "", "device", JSON_OBJECT);
    r->device_model = ingest_json_text(b, device, "device", "model");
    r->arch = ingest_json_text(b, root, "", "arch");
}

static void
take_crash(struct ingest_builder *b, const json_t *root)
{
    struct report_crash *crash = &b->report->crash;
    const json_t *object = ingest_json_member(b, root, "", "crash", JSON_OBJECT);
    int64_t thread;
    if (ingest_json_i64(b, object, "crash", "thread", &thread) && thread >= 0)
        crash->thread = thread;
    crash->signal = ingest_json_text(b, object, "crash", "signal");
    crash->mach = ingest_json_text(b, object, "crash", "mach");
    crash->code = ingest_json_text(b, object, "crash", "code");
    crash->exception = ingest_json_text(b, object, "crash", "exception");
    crash->reason = ingest_json_text(b, object, "crash", "reason");
    crash->has_address = ingest_json_u64(b, object, "crash", "address", &crash->address);
}

/* `text` is JSON; it is kept as it came, on one line. null is as good as absent. */
static const char *
take_verbatim(struct ingest_builder *b, struct fz_span text)
{
    if (text.len == 0 || fz_span_is(text, "null") || b->failed)
        return NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
    json_walk_compact(text, &line);
    const char *copy = line.failed ? NULL : fz_arena_text(b->arena, fz_buffer_span(&line));
    if (!copy)
        b->failed = true;
    return copy;
}

static bool
is_known(struct fz_span key)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(known_keys); i++) {
        if (fz_span_is(key, known_keys[i]))
            return true;
    }
    return false;
}

static void
take_free_form(struct ingest_builder *b, struct fz_span text)
{
    struct fz_span user = {NULL, 0}, tags = {NULL, 0}, breadcrumbs = {NULL, 0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer extra = fz_buffer_make(0);
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "user"))
            user = member.value;
        else if (fz_span_is(member.key, "tags"))
            tags = member.value;
        else if (fz_span_is(member.key, "breadcrumbs"))
            breadcrumbs = member.value;
        else if (!is_known(member.key)) {
            fz_buffer_text(&extra, extra.len ? ",\"" : "{\"");
            fz_buffer_append(&extra, member.key.data, member.key.len);
            fz_buffer_text(&extra, "\":");
            fz_buffer_append(&extra, member.value.data, member.value.len);
        }
    }
    if (extra.len)
        fz_buffer_char(&extra, '}');
    b->failed = b->failed || extra.failed;
    b->report->user_json = take_verbatim(b, user);
    b->report->tags_json = take_verbatim(b, tags);
    b->report->breadcrumbs_json = take_verbatim(b, breadcrumbs);
    b->report->extra_json = take_verbatim(b, fz_buffer_span(&extra));
}

static enum fz_code
native_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
             struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    json_auto_t *root = NULL;
    enum fz_code code = ingest_json_load(&b, body, &text, &root, err);
    if (code != FZ_OK)
        return code;
    code = need_frames(fz_buffer_span(&text), err);
    if (code != FZ_OK)
        return code;
    bool has_threads = json_is_array(json_object_get(root, "threads"));
    bool has_addresses = json_is_array(json_object_get(root, "addresses"));
    take_origin(&b, root);
    take_crash(&b, root);
    if (has_threads)
        native_take_threads(&b, root);
    else
        native_take_addresses(&b, root);
    if (has_threads && has_addresses)
        ingest_note(&b, "addresses: not used, there are threads");
    ingest_mark_crashed(ret);
    native_take_images(&b, root);
    native_take_memory(&b, root);
    take_free_form(&b, fz_buffer_span(&text));
    if (!ret->arch && ret->n_images)
        ret->arch = ret->images[0].arch;
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_native = {
    .name = "framezero",
    .detect = native_detect,
    .check = native_check,
    .parse = native_parse,
};
