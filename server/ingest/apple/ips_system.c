/*
 * The .ips that tell of the whole system.
 *
 * Stackshot (bug type 288), with a frame as [number of the image, offset], newest first:
 *
 *   {"processByPid":{"4242":{"pid":4242,"procname":"Demo","threadById":{"1001":{"id":1001,
 *      "state":["TH_WAIT"],"kernelFrames":[[0,4096]],"userFrames":[[1,16488]]}}}},
 *    "binaryImages":[["4c4c445b-...",4362076160,"P"]],"frontmostPids":[4242]}
 *
 * Jetsam event (bug type 298):
 *
 *   {"largestProcess":"Demo","processes":[{"name":"Demo","pid":4242,"rpages":90000,
 *      "reason":"per-process-limit","states":["frontmost"]}],"memoryStatus":{"pageSize":16384}}
 */
#include "server/ingest/apple/ips.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"

/* ["4c4c445b-...", 4362076160, "P"] */
static bool
take_image(struct ingest_builder *b, const json_t *list, size_t number, struct report_image *ret)
{
    struct report_image image = {.name = NULL};
    const char *uuid = json_string_value(json_array_get(list, 0));
    if (!uuid || !json_scan_u64(json_array_get(list, 1), &image.addr)) {
        report_note(b->report, b->arena, "binaryImages[%zu]: no UUID or no base, left out", number);
        return false;
    }
    image.has_uuid = fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    *ret = image;
    return image.addr != 0;
}

static void
take_images(struct ingest_builder *b, const json_t *body, struct ips_images *ret)
{
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, body, "", "binaryImages", JSON_ARRAY);
    size_t max = ingest_limit(b, "binaryImages", json_array_size(list), b->limits->images);
    *ret = (struct ips_images){ingest_alloc(b, max, sizeof(*ret->numbers)), max};
    r->images = ingest_alloc(b, max, sizeof(*r->images));
    for (size_t i = 0; i < max && !b->failed; i++) {
        bool ok = take_image(b, json_array_get(list, i), i, &r->images[r->n_images]);
        ret->numbers[i] = ok ? (int)r->n_images++ : -1;
    }
}

static bool
take_frame(struct ingest_builder *b, const json_t *pair, const struct ips_images *images,
           struct report_frame *ret)
{
    struct report_frame frame = {.image = -1};
    uint64_t number;
    if (!json_scan_u64(json_array_get(pair, 0), &number) ||
        !json_scan_u64(json_array_get(pair, 1), &frame.addr))
        return false;
    int image = number < images->n ? images->numbers[number] : -1;
    uint64_t base = image < 0 ? 0 : b->report->images[image].addr;
    if (image >= 0 && !__builtin_add_overflow(base, frame.addr, &frame.addr)) {
        frame.image = image;
        frame.has_image_offset = true;
        frame.image_offset = frame.addr - base;
    }
    *ret = frame;
    return true;
}

static void
take_frames(struct ingest_builder *b, const json_t *list, const char *where,
            const struct ips_images *images, struct report_thread *thread)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (thread->n_frames == b->limits->frames) {
            thread->n_frames_cut++;
            continue;
        }
        struct report_frame *frame = &thread->frames[thread->n_frames];
        if (!take_frame(b, json_array_get(list, i), images, frame)) {
            report_note(b->report, b->arena, "%s[%zu]: not an image and an offset", where, i);
            continue;
        }
        frame->adjust = i == 0 ? REPORT_ADJUST_EXACT : REPORT_ADJUST_RETURN;
        thread->n_frames++;
    }
}

/* "Demo [4242]: com.apple.uikit.eventfetch-thread" */
static const char *
thread_name(struct ingest_builder *b, const json_t *process, const char *pid, const json_t *object)
{
    const char *name = json_string_value(json_object_get(process, "procname"));
    const char *own = json_string_value(json_object_get(object, "name"));
    const char *text = b->failed ? NULL
                                 : fz_arena_printf(b->arena, "%s [%s]%s%s", name ? name : "???",
                                                   pid, own ? ": " : "", own ? own : "");
    b->failed = b->failed || !text;
    return text;
}

static const char *
thread_state(struct ingest_builder *b, const json_t *object)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
    const json_t *list = json_object_get(object, "state");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (word)
            fz_buffer_printf(&line, "%s%s", line.len ? " " : "", word);
    }
    const char *text =
        line.len && !b->failed ? fz_arena_text(b->arena, fz_buffer_span(&line)) : NULL;
    b->failed = b->failed || line.failed || (line.len && !text);
    return text;
}

static void
take_process(struct ingest_builder *b, const char *pid, const json_t *process,
             const struct ips_images *images, size_t *n_cut)
{
    struct report *r = b->report;
    const json_t *threads = json_object_get(process, "threadById");
    const char *id;
    json_t *object;
    json_object_foreach((json_t *)(uintptr_t)threads, id, object)
    {
        char where[INGEST_WHERE];
        if (b->failed)
            return;
        if (r->n_threads == b->limits->threads) {
            ++*n_cut;
            continue;
        }
        const json_t *kernel = json_object_get(object, "kernelFrames");
        const json_t *user = json_object_get(object, "userFrames");
        size_t n = json_array_size(kernel) + json_array_size(user);
        struct report_thread *thread = &r->threads[r->n_threads];
        thread->index = (int64_t)r->n_threads++;
        thread->name = thread_name(b, process, pid, object);
        thread->state = thread_state(b, object);
        thread->frames =
            ingest_alloc(b, n < b->limits->frames ? n : b->limits->frames, sizeof(*thread->frames));
        if (!thread->frames)
            return;
        snprintf(where, sizeof(where), "thread %.20s", id);
        take_frames(b, kernel, where, images, thread);
        take_frames(b, user, where, images, thread);
    }
}

/* What a process has beside its threads: how much memory it used, its flags. */
static void
take_process_extra(struct ingest_builder *b, const char *pid, const json_t *process, json_t *extras)
{
    const char *name;
    json_t *value, *rest = json_object();
    bool ok = rest != NULL;
    json_object_foreach((json_t *)(uintptr_t)process, name, value)
    {
        if (strcmp(name, "threadById") != 0)
            ok = ok && json_object_set(rest, name, value) == 0;
    }
    ok = ok && json_object_set(extras, pid, rest) == 0;
    json_decref(rest);
    b->failed = b->failed || !ok;
}

/* The process that the stackshot is about: the frontmost one, else the header's. */
static const char *
main_pid(const json_t *body, const json_t *processes, const char *app, char ret[24])
{
    const json_t *front = json_array_get(json_object_get(body, "frontmostPids"), 0);
    const char *pid;
    json_t *process;
    ret[0] = '\0';
    if (json_is_integer(front)) {
        snprintf(ret, 24, "%lld", (long long)json_integer_value(front));
        if (json_object_get(processes, ret))
            return ret;
    }
    json_object_foreach((json_t *)(uintptr_t)processes, pid, process)
    {
        const char *name = json_string_value(json_object_get(process, "procname"));
        if (name && app && strcmp(name, app) == 0)
            return pid;
    }
    return "";
}

void
ips_take_stackshot(struct ingest_builder *b, const json_t *body)
{
    struct report *r = b->report;
    const json_t *processes = json_object_get(body, "processByPid");
    struct ips_images images;
    char room[24];
    const char *pid, *first = main_pid(body, processes, r->app_name, room);
    json_t *process, *extras = json_object();
    size_t n_cut = 0;
    r->kind = "hang";
    take_images(b, body, &images);
    r->threads = ingest_alloc(b, b->limits->threads, sizeof(*r->threads));
    b->failed = b->failed || !extras;
    if (*first && !b->failed) {
        process = json_object_get(processes, first);
        if (!r->app_name)
            r->app_name = ingest_json_text(b, process, first, "procname");
        take_process(b, first, process, &images, &n_cut);
    }
    json_object_foreach((json_t *)(uintptr_t)processes, pid, process)
    {
        if (b->failed)
            break;
        if (strcmp(pid, first) != 0)
            take_process(b, pid, process, &images, &n_cut);
        take_process_extra(b, pid, process, extras);
    }
    if (n_cut)
        report_note(r, b->arena, "threads: %zu, of which %zu are kept", r->n_threads + n_cut,
                    r->n_threads);
    if (!b->failed)
        ingest_add_extra(b, "processes", extras, NULL);
    json_decref(extras);
}

/* The one that was ended has a reason. */
static const json_t *
killed_process(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *process = json_array_get(list, i);
        if (json_is_string(json_object_get(process, "reason")))
            return process;
    }
    return NULL;
}

void
ips_take_jetsam(struct ingest_builder *b, const json_t *body)
{
    struct report *r = b->report;
    const json_t *process = killed_process(json_object_get(body, "processes"));
    uint64_t page = 0, pages = 0;
    r->kind = "memory";
    if (process) {
        r->process.name = ingest_json_text(b, process, "processes", "name");
        ingest_json_i64(b, process, "processes", "pid", &r->process.pid);
        const char *reason = ingest_json_text(b, process, "processes", "reason");
        if (reason && !b->failed)
            r->crash.termination = fz_arena_printf(b->arena, "JETSAM %s", reason);
        ingest_json_u64(b, process, "processes", "rpages", &pages);
    }
    ingest_json_u64(b, json_object_get(body, "memoryStatus"), "memoryStatus", "pageSize", &page);
    if (process && r->process.name && page <= UINT32_MAX && pages <= UINT32_MAX && !b->failed)
        r->crash.reason =
            fz_arena_printf(b->arena, "%s used %llu MB of memory when it was ended",
                            r->process.name, (unsigned long long)(page * pages / 1000000));
    if (!r->app_name)
        r->app_name = r->process.name;
    if (!r->app_name)
        r->app_name = ingest_json_text(b, body, "", "largestProcess");
    report_note(r, b->arena, "a jetsam event: it tells of memory and has no stacks");
}
