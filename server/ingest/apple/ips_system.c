/*
 * The .ips reports about all processes of the system.
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

/* ["4c4c445b-...", 4362076160, "P"] */
static int
read_image(struct ingest_builder *b, const json_t *item, const char *where)
{
    struct report_image image = {.name = NULL};
    const char *uuid = json_string_value(json_array_get(item, 0));
    if (!uuid || !json_scan_u64(json_array_get(item, 1), &image.addr)) {
        ingest_note(b, "%s: no UUID or no base, left out", where);
        return -1;
    }
    image.has_uuid = fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    /* An image at 0 is the placeholder of frames that belong to no image. */
    return image.addr ? ingest_add_image(b, &image) : -1;
}

static void
read_images(struct ingest_builder *b, const json_t *body, struct ingest_ips_images *ret)
{
    struct ingest_json_list list =
        ingest_json_list_start(b, ingest_json_member(b, body, "", "binaryImages", JSON_ARRAY),
                               "binaryImages", b->limits->images);
    *ret = (struct ingest_ips_images){ingest_alloc(b, list.n, sizeof(*ret->numbers)), list.n};
    while (ingest_json_list_next(&list))
        ret->numbers[list.number] = read_image(b, list.item, list.where);
}

static bool
read_frame(struct ingest_builder *b, const json_t *pair, const struct ingest_ips_images *images,
           struct report_frame *ret)
{
    uint64_t number;
    if (!json_scan_u64(json_array_get(pair, 0), &number) ||
        !json_scan_u64(json_array_get(pair, 1), &ret->addr))
        return false;
    /* The limit on images may have cut it; then the offset is shown as the address. */
    int image = number < images->n ? images->numbers[number] : -1;
    uint64_t base = image < 0 ? 0 : b->report->images[image].addr;
    if (image >= 0 && !__builtin_add_overflow(base, ret->addr, &ret->addr)) {
        ret->image = image;
        ret->has_image_offset = true;
        ret->image_offset = ret->addr - base;
    }
    return true;
}

/* Kernel and user part of a stack have each a newest frame that is the exact pc. */
static void
read_frames(struct ingest_builder *b, const json_t *list, const char *where,
            const struct ingest_ips_images *images, struct ingest_stack *stack)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct report_frame frame = {.image = -1};
        frame.adjust = i == 0 ? REPORT_ADJUST_EXACT : REPORT_ADJUST_RETURN;
        /* Both parts share one limit: they are one stack. */
        if (stack->n == b->limits->frames)
            stack->n_cut++;
        else if (read_frame(b, json_array_get(list, i), images, &frame))
            ingest_stack_add(b, stack, &frame);
        else
            ingest_note(b, "%s[%zu]: not an image and an offset", where, i);
    }
}

/* "Demo [4242]: com.apple.uikit.eventfetch-thread" */
static const char *
thread_name(struct ingest_builder *b, const json_t *process, const char *pid, const json_t *object)
{
    const char *name = json_string_value(json_object_get(process, "procname"));
    const char *own = json_string_value(json_object_get(object, "name"));
    return ingest_printf(b, "%s [%s]%s%s", name ? name : "???", pid, own ? ": " : "",
                         own ? own : "");
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
    b->failed = b->failed || line.failed;
    return ingest_text(b, fz_buffer_span(&line));
}

static void
read_process(struct ingest_builder *b, const char *pid, const json_t *process,
             const struct ingest_ips_images *images)
{
    const json_t *threads = json_object_get(process, "threadById");
    const char *id;
    json_t *object;
    json_object_foreach((json_t *)(uintptr_t)threads, id, object)
    {
        char where[INGEST_WHERE];
        struct ingest_stack stack = {.n = 0};
        struct report_thread *thread = ingest_add_thread(b);
        if (!thread)
            continue;
        /* Ids are large numbers that the whole system shares; the model counts from 0. */
        thread->index = (int64_t)b->report->n_threads - 1;
        thread->name = thread_name(b, process, pid, object);
        thread->state = thread_state(b, object);
        snprintf(where, sizeof(where), "thread %.20s", id);
        read_frames(b, json_object_get(object, "kernelFrames"), where, images, &stack);
        read_frames(b, json_object_get(object, "userFrames"), where, images, &stack);
        ingest_set_stack(thread, &stack);
    }
}

/* The process that the stackshot is about: the frontmost one, else the header's. */
static const char *
main_pid(const json_t *body, const json_t *processes, const char *app, char ret[24])
{
    const json_t *front = json_array_get(json_object_get(body, "frontmostPids"), 0);
    const char *pid;
    json_t *process;
    ret[0] = '\0';
    /* Without a frontmost process the name in the header decides. */
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
ingest_ips_read_stackshot(struct ingest_builder *b, const json_t *body)
{
    /* What a process has beside its threads: how much memory it used, its flags. */
    static const char *const known[] = {"threadById", NULL};
    struct report *r = b->report;
    const json_t *processes = json_object_get(body, "processByPid");
    struct ingest_ips_images images;
    char room[24];
    const char *pid, *first = main_pid(body, processes, r->app_name, room);
    json_t *process;
    json_auto_t *extras = json_object();
    /* A stackshot has no exception: it shows where processes were, mostly since an app did not
     * respond. */
    r->kind = "hang";
    read_images(b, body, &images);
    b->failed = b->failed || !extras;
    /* First, so that the limit on threads cuts other processes and not the one of interest. */
    if (*first && !b->failed) {
        process = json_object_get(processes, first);
        if (!r->app_name)
            r->app_name = ingest_json_text(b, process, first, "procname");
        read_process(b, first, process, &images);
    }
    json_object_foreach((json_t *)(uintptr_t)processes, pid, process)
    {
        if (b->failed)
            break;
        if (strcmp(pid, first) != 0)
            read_process(b, pid, process, &images);
        ingest_json_rest(b, process, known, extras, pid);
    }
    ingest_note_cut(b);
    if (!b->failed)
        ingest_add_extra(b, "processes", extras, NULL);
}

/* Only the process that the system ended has a reason. */
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
ingest_ips_read_jetsam(struct ingest_builder *b, const json_t *body)
{
    struct report *r = b->report;
    const json_t *process = killed_process(json_object_get(body, "processes"));
    uint64_t page = 0, pages = 0;
    /* No process crashed: the kernel ended one to get its memory. */
    r->kind = "memory";
    if (process) {
        r->process.name = ingest_json_text(b, process, "processes", "name");
        ingest_json_i64(b, process, "processes", "pid", &r->process.pid);
        const char *reason = ingest_json_text(b, process, "processes", "reason");
        if (reason)
            r->crash.termination = ingest_printf(b, "JETSAM %s", reason);
        ingest_json_u64(b, process, "processes", "rpages", &pages);
    }
    ingest_json_u64(b, json_object_get(body, "memoryStatus"), "memoryStatus", "pageSize", &page);
    /* Both come from the report: a product of larger values could wrap. */
    if (process && r->process.name && page <= UINT32_MAX && pages <= UINT32_MAX)
        r->crash.reason =
            ingest_printf(b, "%s used %llu MB of memory when it was ended", r->process.name,
                          (unsigned long long)(page * pages / 1000000));
    if (!r->app_name)
        r->app_name = r->process.name;
    if (!r->app_name)
        r->app_name = ingest_json_text(b, body, "", "largestProcess");
    ingest_note(b, "a jetsam event: it lists the memory of processes and has no stacks");
}
