/*
 * The native report (docs/api): framezero's own format for an app's own reporter.
 *
 *   {"framezero":1,"addresses":["0x1045f8a10"],"images":[{"uuid":"4c4c445b-...","name":"Shop",
 *    "address":"0x1045f0000","size":262144}]}
 *
 * `threads` or `addresses` make it a report; everything else may be missing or odd.
 */
#include <stdio.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_member.h"

/* Top-level members that the model has a place for; others are kept as they came. */
static const char *const known_keys[] = {
    "framezero", "id",          "timestamp",  "app",    "os",        "device",
    "arch",      "crash",       "threads",    "images", "addresses", "user",
    "tags",      "breadcrumbs", "memory",     "run_id", "capture",   "environment",
    "kind",      "started",     "session_id", NULL};

static const char *const known_crash[] = {"thread",    "signal",  "mach",        "code",
                                          "exception", "reason",  "address",     "codes",
                                          "throw",     "hang_ms", "exit_reason", NULL};

/* What a report is about; others are crashes. */
static const char *const kinds[] = {"hang",   "cpu",   "disk_write", "launch",
                                    "memory", "error", "message",    NULL};

enum { TRUNCATED_MAX = 16, CODES_MAX = 4 };

/* Many reports have `threads`; without `framezero`, `images` must be there too. */
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
        /* Where the head ends inside the threads, images may still follow. */
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
    uint64_t odd =
        0; /* where one of them is something else; 0, the object itself, if neither is there */
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
read_origin(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    int64_t version = 1;
    r->environment = ingest_json_text(b, root, "", "environment");
    /* A later version may add members; what is known is still right. */
    if (ingest_json_i64(b, root, "", "framezero", &version) && version != 1)
        ingest_note(b, "framezero: version %lld, read as version 1", (long long)version);
    r->id = ingest_json_text(b, root, "", "id");
    r->run_id = ingest_json_text(b, root, "", "run_id");
    r->session_id = ingest_json_text(b, root, "", "session_id");
    r->process.launched_ms = ingest_json_time(b, root, "", "started");
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
    const json_t *kind = json_object_get(root, "kind");
    for (size_t i = 0; json_is_string(kind) && kinds[i]; i++) {
        if (strcmp(json_string_value(kind), kinds[i]) == 0)
            r->kind = kinds[i];
    }
}

/* How the client captured the process. */
static void
read_capture(struct ingest_builder *b, const json_t *root)
{
    static const char at[] = "capture";
    struct report_capture *capture = &b->report->capture;
    const json_t *object = ingest_json_member(b, root, "", at, JSON_OBJECT);
    capture->client = ingest_json_text(b, object, at, "client");
    capture->way = ingest_json_text(b, object, at, "way");
    capture->privacy = ingest_json_text(b, object, at, "privacy");
    capture->handler_crashed = ingest_json_bool(b, object, at, "handler_crashed", false);
    const json_t *list = ingest_json_member(b, object, at, "truncated", JSON_ARRAY);
    size_t n = ingest_limit(b, "capture.truncated", json_array_size(list), TRUNCATED_MAX);
    const char **texts = n ? ingest_alloc(b, n, sizeof(*texts)) : NULL;
    for (size_t i = 0; texts && i < n; i++) {
        const json_t *value = json_array_get(list, i);
        struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
        const char *copy = ingest_text(b, text);
        if (copy)
            texts[capture->n_truncated++] = copy;
    }
    capture->truncated = texts;
}

/* One frame: an address, or {"address", "adjusted", "function", "file", "line"}. */
static bool
read_frame(void *user, const json_t *value, const char *where, struct report_frame *ret)
{
    struct ingest_builder *b = user;
    const json_t *addr = json_is_object(value) ? json_object_get(value, "address") : value;
    if (!json_scan_u64(addr, &ret->addr)) {
        ingest_note(b, "%s: not an address", where);
        return false;
    }
    if (!json_is_object(value))
        return true;
    if (ingest_json_bool(b, value, where, "adjusted", false))
        /* The reporter has subtracted already; to do it twice would show the line before the
         * call. */
        ret->adjust = REPORT_ADJUST_EXACT;
    struct report_symbol symbol = {.function = ingest_json_text(b, value, where, "function"),
                                   .file = ingest_json_text(b, value, where, "file"),
                                   .line = ingest_json_u32(b, value, where, "line")};
    ingest_add_client_symbol(b, ret, &symbol);
    return true;
}

static void
read_codes(struct ingest_builder *b, const json_t *crash)
{
    uint64_t codes[CODES_MAX];
    size_t n = 0;
    const json_t *list = ingest_json_member(b, crash, "crash", "codes", JSON_ARRAY);
    for (size_t i = 0; i < json_array_size(list) && n < CODES_MAX; i++, n++) {
        /* A code keeps its place: the second one is the address. */
        if (!json_scan_u64(json_array_get(list, i), &codes[n]))
            codes[n] = 0;
    }
    if (n)
        ingest_set_mach_codes(b, codes, n);
}

/* The addresses from where an exception was thrown, and why the system ended the process. */
static void
read_causes(struct ingest_builder *b, const json_t *crash)
{
    uint64_t hang_ms = 0;
    const json_t *thrown = ingest_json_member(b, crash, "crash", "throw", JSON_ARRAY);
    if (json_array_size(thrown)) {
        struct ingest_stack stack =
            ingest_json_stack(b, thrown, "crash.throw", false, read_frame, b);
        ingest_set_exception_stack(b->report, &stack);
    }
    ingest_json_exit_reason(b, ingest_json_member(b, crash, "crash", "exit_reason", JSON_OBJECT),
                            "crash.exit_reason");
    /* A main thread that did not answer is not a crash. */
    if (ingest_json_u64(b, crash, "crash", "hang_ms", &hang_ms) && hang_ms && !b->report->kind)
        b->report->kind = "hang";
}

static void
read_crash(struct ingest_builder *b, const json_t *root)
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
    /* 0 is an address like others: a null pointer. */
    crash->has_address = ingest_json_u64(b, object, "crash", "address", &crash->address);
    read_codes(b, object);
    read_causes(b, object);
}

/* ---- threads, images, memory ----------------------------------------------------------------- */

static const char *const index_keys[] = {"index", NULL};

static void
read_thread(struct ingest_builder *b, const struct ingest_json_list *list)
{
    struct report_thread *thread = ingest_add_thread(b);
    const json_t *object = list->item;
    const char *where = list->where;
    char at[INGEST_WHERE];
    if (!thread)
        return;
    thread->index = (int64_t)list->number;
    ingest_json_i64(b, object, where, "index", &thread->index);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->queue = ingest_json_text(b, object, where, "queue");
    /* A reporter may mark the thread, name it in `crash`, or both. */
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    ingest_json_registers(b, ingest_json_member(b, object, where, "registers", JSON_OBJECT), where,
                          thread);
    snprintf(at, sizeof(at), "%s.frames", where);
    const json_t *frames = ingest_json_member(b, object, where, "frames", JSON_ARRAY);
    struct ingest_stack stack = ingest_json_stack(b, frames, at, false, read_frame, b);
    ingest_set_stack(thread, &stack);
    thread->frames_truncated = ingest_json_bool(b, object, where, "frames_truncated", false);
    const json_t *memory = ingest_json_member(b, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (memory)
        ingest_json_memory(b, memory, at, &thread->stack);
}

static void
read_threads(struct ingest_builder *b, const json_t *root)
{
    struct ingest_json_list list =
        ingest_json_list_start(b, json_object_get(root, "threads"), "threads", b->limits->threads);
    list.must = ingest_json_crashed(list.list, index_keys, "crashed", b->report->crash.thread);
    while (ingest_json_list_next_object(&list))
        read_thread(b, &list);
}

static void
read_addresses(struct ingest_builder *b, const json_t *root)
{
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    thread->crashed = true;
    /* A plain list of addresses is the stack of the thread that the report says crashed. */
    thread->index = b->report->crash.thread > 0 ? b->report->crash.thread : 0;
    struct ingest_stack stack =
        ingest_json_stack(b, json_object_get(root, "addresses"), "addresses", false, read_frame, b);
    ingest_set_stack(thread, &stack);
}

static void
read_image(struct ingest_builder *b, const json_t *object, const char *where)
{
    struct report_image image = {0};
    if (!ingest_json_u64(b, object, where, "address", &image.addr)) {
        ingest_note(b, "%s: no address, left out", where);
        return;
    }
    ingest_json_u64(b, object, where, "size", &image.size);
    ingest_clip_size(b, &image, where, "size");
    ingest_set_path(&image, ingest_json_text(b, object, where, "path"));
    const char *name = ingest_json_text(b, object, where, "name");
    /* A reporter may send the path only, or a name of its own choice. */
    image.name = name ? name : image.name;
    image.arch = ingest_json_text(b, object, where, "arch");
    ingest_set_uuid(b, &image, ingest_json_text(b, object, where, "uuid"), true, where, "uuid");
    ingest_add_image(b, &image);
}

static void
read_images(struct ingest_builder *b, const json_t *root)
{
    const json_t *images = ingest_json_member(b, root, "", "images", JSON_ARRAY);
    if (!images)
        ingest_note(b, "images: missing, so no address can be named");
    struct ingest_json_list list = ingest_json_list_start(b, images, "images", b->limits->images);
    while (ingest_json_list_next(&list))
        read_image(b, list.item, list.where);
}

static void
read_memory(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    const json_t *memory = ingest_json_member(b, root, "", "memory", JSON_ARRAY);
    /* Each region costs a report at least a byte, so this limit also bounds their number. */
    struct ingest_json_list list = ingest_json_list_start(b, memory, "memory", b->limits->images);
    r->memory = list.n ? ingest_alloc(b, list.n, sizeof(*r->memory)) : NULL;
    while (ingest_json_list_next(&list))
        r->n_memory += ingest_json_memory(b, list.item, list.where, &r->memory[r->n_memory]);
}

/* ---- what is kept as it came ---------------------------------------------------------------- */

/* `text` is JSON; it is kept as it came, on one line. null is the same as absent. */
static const char *
read_verbatim(struct ingest_builder *b, struct fz_span text)
{
    if (text.len == 0 || fz_span_is(text, "null") || b->failed)
        return NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
    json_walk_compact(text, &line);
    b->failed = line.failed;
    return ingest_text(b, fz_buffer_span(&line));
}

static void
read_free_form(struct ingest_builder *b, struct fz_span text)
{
    /* From the text and not from the tree: numbers and the order of members stay as they came. */
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
        else if (!ingest_is_one_of(member.key, known_keys)) {
            if (!extra.len)
                fz_buffer_char(&extra, '{');
            ingest_json_append(&extra, &member);
        }
    }
    if (extra.len) /* in place of the last comma */
        extra.data[extra.len - 1] = '}';
    b->failed = b->failed || extra.failed;
    b->report->user_json = read_verbatim(b, user);
    b->report->tags_json = read_verbatim(b, tags);
    b->report->breadcrumbs_json = read_verbatim(b, breadcrumbs);
    b->report->extra_json = read_verbatim(b, fz_buffer_span(&extra));
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
    /* A parse may come without a check. */
    code = need_frames(fz_buffer_span(&text), err);
    if (code != FZ_OK)
        return code;
    bool has_threads = json_is_array(json_object_get(root, "threads"));
    bool has_addresses = json_is_array(json_object_get(root, "addresses"));
    read_origin(&b, root);
    read_crash(&b, root);
    read_capture(&b, root);
    if (has_threads)
        read_threads(&b, root);
    else
        read_addresses(&b, root);
    if (has_threads && has_addresses)
        ingest_note(&b, "addresses: not used, there are threads");
    ingest_mark_crashed(ret);
    read_images(&b, root);
    read_memory(&b, root);
    read_free_form(&b, fz_buffer_span(&text));
    ingest_add_extra(&b, "crash", json_object_get(root, "crash"), known_crash);
    /* The first image is the app's own, as in Apple's lists. */
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
