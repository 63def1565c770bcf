/*
 * Stacks, newest frame first. Addresses are texts; a frame of JavaScript has none. There is no list
 * of images: each frame names its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/bugsnag/bugsnag.h"

static void
take_name(struct ingest_builder *b, const json_t *object, const char *where,
          struct report_frame *frame)
{
    struct report_symbol symbol = {.function = ingest_json_text(b, object, where, "method")};
    uint64_t line = 0, column = 0, start;
    if (ingest_json_u64(b, object, where, "symbolAddress", &start) && start &&
        start <= frame->addr) {
        frame->has_client_start = true;
        frame->client_start = start;
    }
    /* What stands in for a name that is not known: the address, or the image's header. */
    if (!symbol.function || fz_text_has_prefix(symbol.function, "0x") ||
        strcmp(symbol.function, "_mh_execute_header") == 0)
        return;
    symbol.file = ingest_json_text(b, object, where, "file");
    ingest_json_u64(b, object, where, "lineNumber", &line);
    ingest_json_u64(b, object, where, "columnNumber", &column);
    symbol.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    symbol.column = column <= UINT32_MAX ? (uint32_t)column : 0;
    symbol.has_offset = frame->has_client_start;
    symbol.offset = symbol.has_offset ? frame->addr - frame->client_start : 0;
    ingest_add_client_symbol(b, frame, &symbol);
}

static void
take_frame(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_frame *ret)
{
    struct report_frame frame = {.image = -1};
    if (!ingest_json_u64(b, object, where, "frameAddress", &frame.addr))
        frame.adjust = REPORT_ADJUST_EXACT; /* another language's: no address at all */
    take_name(b, object, where, &frame);
    *ret = frame;
}

static struct report_frame *
take_frames(struct ingest_builder *b, const json_t *list, const char *where, size_t *ret_n,
            size_t *ret_n_cut)
{
    size_t n = json_array_size(list);
    size_t max = ingest_limit(b, where, n, b->limits->frames);
    struct report_frame *frames = ingest_alloc(b, max, sizeof(*frames));
    *ret_n = 0;
    *ret_n_cut = n - max;
    for (size_t i = 0; i < max && !b->failed; i++) {
        char at[INGEST_WHERE];
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        const json_t *object = json_array_get(list, i);
        if (json_is_object(object))
            take_frame(b, object, at, &frames[(*ret_n)++]);
        else
            report_note(b->report, b->arena, "%s: not an object, left out", at);
    }
    return frames;
}

/* The notifier marks the pc of a thread that was caught; where something was thrown, the mark
 * stands on what is a return address. */
static void
settle_first(struct report_thread *thread, const json_t *list, bool caught)
{
    if (thread->n_frames == 0 || thread->frames[0].adjust == REPORT_ADJUST_EXACT)
        return;
    bool is_pc = json_is_true(json_object_get(json_array_get(list, 0), "isPC"));
    if (thread->crashed && !(caught && is_pc))
        thread->frames[0].adjust = REPORT_ADJUST_RETURN;
}

static void
take_thread(struct ingest_builder *b, const json_t *object, size_t number, bool caught,
            struct report_thread *thread)
{
    char where[INGEST_WHERE], at[INGEST_WHERE];
    snprintf(where, sizeof(where), "threads[%zu]", number);
    thread->index = (int64_t)number;
    ingest_json_i64(b, object, where, "id", &thread->index);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->state = ingest_json_text(b, object, where, "state");
    thread->crashed = ingest_json_bool(b, object, where, "errorReportingThread", false);
    const json_t *list = ingest_json_member(b, object, where, "stacktrace", JSON_ARRAY);
    snprintf(at, sizeof(at), "%s.frames", where);
    thread->frames = take_frames(b, list, at, &thread->n_frames, &thread->n_frames_cut);
    settle_first(thread, list, caught);
}

/* The place of the reporting thread: the limit must not cut it off. */
static size_t
reporting_position(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_is_true(json_object_get(json_array_get(list, i), "errorReportingThread")))
            return i;
    }
    return 0;
}

static bool
is_same_stack(const struct report_thread *thread, const struct report_frame *frames, size_t n)
{
    if (!thread || thread->n_frames != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (thread->frames[i].addr != frames[i].addr)
            return false;
    }
    return true;
}

/* The exception's stack: mostly that of the reporting thread once more; without threads the only
 * one there is. */
static void
take_exception(struct ingest_builder *b, const json_t *event, bool caught)
{
    struct report *r = b->report;
    const json_t *first = json_array_get(json_object_get(event, "exceptions"), 0);
    const json_t *list = ingest_json_member(b, first, "exceptions[0]", "stacktrace", JSON_ARRAY);
    struct report_thread thread = {.crashed = true};
    thread.frames =
        take_frames(b, list, "exceptions[0].stacktrace", &thread.n_frames, &thread.n_frames_cut);
    if (b->failed || thread.n_frames == 0)
        return;
    struct report_thread *reporting = NULL;
    for (size_t i = 0; i < r->n_threads && !reporting; i++) {
        if (r->threads[i].crashed)
            reporting = &r->threads[i];
    }
    if (is_same_stack(reporting, thread.frames, thread.n_frames))
        return;
    if (r->n_threads) {
        r->exception_frames = thread.frames;
        r->n_exception_frames = thread.n_frames;
        r->n_exception_frames_cut = thread.n_frames_cut;
        return;
    }
    settle_first(&thread, list, caught);
    r->threads = ingest_alloc(b, 1, sizeof(*r->threads));
    if (!r->threads)
        return;
    r->threads[0] = thread;
    r->n_threads = 1;
}

/* ---- images ------------------------------------------------------------------------------- */

struct named {
    uint64_t addr;
    const json_t *frame;
    size_t order;
};

/* With NULL items it only counts. */
struct named_list {
    struct named *items;
    size_t n;
};

static void
add_named(struct named_list *list, const json_t *holder)
{
    const json_t *frames = json_object_get(holder, "stacktrace");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        uint64_t addr;
        const json_t *frame = json_array_get(frames, i);
        if (!json_scan_u64(json_object_get(frame, "machoLoadAddress"), &addr))
            continue;
        if (list->items)
            list->items[list->n] = (struct named){addr, frame, list->n};
        list->n++;
    }
}

static void
find_named(struct named_list *list, const json_t *event)
{
    const json_t *exceptions = json_object_get(event, "exceptions");
    const json_t *threads = json_object_get(event, "threads");
    for (size_t i = 0; i < json_array_size(exceptions); i++)
        add_named(list, json_array_get(exceptions, i));
    for (size_t i = 0; i < json_array_size(threads); i++)
        add_named(list, json_array_get(threads, i));
}

static int
by_addr(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    if (left->addr != right->addr)
        return left->addr < right->addr ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static void
take_image(struct ingest_builder *b, const json_t *frame, uint64_t addr)
{
    struct report *r = b->report;
    struct report_image *image = &r->images[r->n_images++];
    char where[INGEST_WHERE];
    snprintf(where, sizeof(where), "the image at 0x%llx", (unsigned long long)addr);
    *image = (struct report_image){.addr = addr, .arch = r->arch};
    image->path = ingest_json_text(b, frame, where, "machoFile");
    image->name = image->path ? fz_text_base_name(image->path) : NULL;
    const char *uuid = ingest_json_text(b, frame, where, "machoUUID");
    image->has_uuid =
        fz_uuid_parse(fz_span_cstr(uuid), &image->uuid) && !fz_uuid_is_nil(&image->uuid);
    if (!image->has_uuid)
        report_note(r, b->arena, "%s.machoUUID: %s", where, uuid ? "not a UUID" : "missing");
}

static void
take_images(struct ingest_builder *b, const json_t *event)
{
    struct report *r = b->report;
    struct named_list list = {NULL, 0};
    find_named(&list, event);
    if (list.n == 0)
        return;
    list.items = ingest_alloc(b, list.n, sizeof(*list.items));
    if (!list.items)
        return;
    list.n = 0;
    find_named(&list, event);
    qsort(list.items, list.n, sizeof(*list.items), by_addr);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (i == 0 || list.items[i].addr != list.items[i - 1].addr)
            list.items[n++] = list.items[i];
    }
    n = ingest_limit(b, "images", n, b->limits->images);
    r->images = ingest_alloc(b, n, sizeof(*r->images));
    for (size_t i = 0; i < n && !b->failed; i++)
        take_image(b, list.items[i].frame, list.items[i].addr);
}

void
bugsnag_take_stacks(struct ingest_builder *b, const json_t *event, bool caught)
{
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, event, "", "threads", JSON_ARRAY);
    size_t max = ingest_limit(b, "threads", json_array_size(list), b->limits->threads);
    size_t reporting = reporting_position(list);
    r->threads = ingest_alloc(b, max, sizeof(*r->threads));
    for (size_t i = 0; i < max && !b->failed; i++) {
        size_t number = i + 1 == max && reporting > i ? reporting : i;
        const json_t *object = json_array_get(list, number);
        if (json_is_object(object))
            take_thread(b, object, number, caught, &r->threads[r->n_threads++]);
        else
            report_note(r, b->arena, "threads[%zu]: not an object, left out", number);
    }
    take_exception(b, event, caught);
    take_images(b, event);
}
