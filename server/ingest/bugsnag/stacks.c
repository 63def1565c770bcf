/*
 * Stacks, newest frame first. Addresses are texts; a frame of JavaScript has none. The report
 * has no list of images: each frame names its own.
 */
#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/bugsnag/bugsnag.h"
#include "server/ingest/common/image_map.h"

static void
read_name(struct ingest_builder *b, const json_t *object, const char *where,
          struct report_frame *frame)
{
    struct report_symbol symbol = {.function = ingest_json_text(b, object, where, "method")};
    uint64_t start = 0;
    ingest_json_u64(b, object, where, "symbolAddress", &start);
    ingest_set_start(frame, &symbol, start);
    /* Where the name is not known, the client sends the address or the image's header instead. */
    if (!symbol.function || fz_text_has_prefix(symbol.function, "0x") ||
        strcmp(symbol.function, "_mh_execute_header") == 0)
        return;
    symbol.file = ingest_json_text(b, object, where, "file");
    symbol.line = ingest_json_u32(b, object, where, "lineNumber");
    symbol.column = ingest_json_u32(b, object, where, "columnNumber");
    ingest_add_client_symbol(b, frame, &symbol);
}

static bool
read_frame(void *user, const json_t *object, const char *where, struct report_frame *ret)
{
    struct ingest_builder *b = user;
    if (!json_is_object(object)) {
        ingest_note(b, "%s: not an object, left out", where);
        return false;
    }
    if (!ingest_json_u64(b, object, where, "frameAddress", &ret->addr))
        ret->adjust = REPORT_ADJUST_EXACT; /* another language's: no address at all */
    read_name(b, object, where, ret);
    return true;
}

/* The notifier marks the pc of a thread that was caught; where something was thrown, it marks what
 * is a return address. */
static void
adjust_first(struct report_thread *thread, const json_t *list, bool caught)
{
    bool is_pc = json_is_true(json_object_get(json_array_get(list, 0), "isPC"));
    if (thread->crashed && !(caught && is_pc))
        ingest_first_is_return(thread->frames, thread->n_frames);
}

static void
read_thread(struct ingest_builder *b, const struct ingest_json_list *list, bool caught)
{
    struct report_thread *thread = ingest_add_thread(b);
    const json_t *object = list->item;
    char at[INGEST_WHERE];
    if (!thread)
        return;
    /* Ids are texts; where one is missing, the place counts. */
    thread->index = (int64_t)list->number;
    ingest_json_i64(b, object, list->where, "id", &thread->index);
    thread->name = ingest_json_text(b, object, list->where, "name");
    thread->state = ingest_json_text(b, object, list->where, "state");
    thread->crashed = ingest_json_bool(b, object, list->where, "errorReportingThread", false);
    const json_t *frames = ingest_json_member(b, object, list->where, "stacktrace", JSON_ARRAY);
    snprintf(at, sizeof(at), "%s.frames", list->where);
    struct ingest_stack stack = ingest_json_stack(b, frames, at, false, read_frame, b);
    ingest_set_stack(thread, &stack);
    adjust_first(thread, frames, caught);
}

/* The exception's stack: mostly that of the reporting thread once more; without threads the only
 * one there is. */
static void
read_exception(struct ingest_builder *b, const json_t *event, bool caught)
{
    static const char where[] = "exceptions[0]";
    struct report *r = b->report;
    const json_t *first = json_array_get(json_object_get(event, "exceptions"), 0);
    const json_t *list = ingest_json_member(b, first, where, "stacktrace", JSON_ARRAY);
    struct ingest_stack stack =
        ingest_json_stack(b, list, "exceptions[0].stacktrace", false, read_frame, b);
    const struct report_thread *reporting = NULL;
    for (size_t i = r->n_threads; i-- > 0;) {
        if (r->threads[i].crashed)
            reporting = &r->threads[i];
    }
    /* The notifier sends the reporting thread's stack twice; shown once it is enough. */
    if (stack.n == 0 || (reporting && ingest_same_stack(reporting->frames, reporting->n_frames,
                                                        stack.frames, stack.n)))
        return;
    if (r->n_threads) {
        ingest_set_exception_stack(r, &stack);
        return;
    }
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    thread->crashed = true;
    ingest_set_stack(thread, &stack);
    adjust_first(thread, list, caught);
}

/* ---- images ------------------------------------------------------------------------------- */

/* The images that the frames of a stack name, each as its first frame describes it. */
static void
read_images(struct ingest_builder *b, struct ingest_image_map *map, const json_t *owner)
{
    const json_t *frames = json_object_get(owner, "stacktrace");
    for (size_t i = 0; i < json_array_size(frames) && !b->failed; i++) {
        const json_t *frame = json_array_get(frames, i);
        struct ingest_image_key key = {.addr = 0};
        size_t before = b->report->n_images;
        char where[INGEST_WHERE];
        if (!json_scan_u64(json_object_get(frame, "machoLoadAddress"), &key.addr) ||
            ingest_image_map_add(map, &key) < (int)before)
            continue;
        struct report_image *image = &b->report->images[before];
        snprintf(where, sizeof(where), "the image at 0x%llx", (unsigned long long)key.addr);
        /* Frames do not say it; all images of a process have one that it can run. */
        image->arch = b->report->arch;
        ingest_set_path(image, ingest_json_text(b, frame, where, "machoFile"));
        ingest_set_uuid(b, image, ingest_json_text(b, frame, where, "machoUUID"), true, where,
                        "machoUUID");
    }
}

void
ingest_bugsnag_read_stacks(struct ingest_builder *b, const json_t *event, bool caught)
{
    const json_t *threads = ingest_json_member(b, event, "", "threads", JSON_ARRAY);
    const json_t *exceptions = json_object_get(event, "exceptions");
    struct ingest_json_list list =
        ingest_json_list_start(b, threads, "threads", b->limits->threads);
    /* The notifier sends all threads, and the reporting one may be any of them. */
    list.must = ingest_json_crashed(threads, NULL, "errorReportingThread", -1);
    while (ingest_json_list_next_object(&list))
        read_thread(b, &list, caught);
    read_exception(b, event, caught);
    struct ingest_image_map map = ingest_image_map_make(b, true);
    for (size_t i = 0; i < json_array_size(exceptions); i++)
        read_images(b, &map, json_array_get(exceptions, i));
    for (size_t i = 0; i < json_array_size(threads); i++)
        read_images(b, &map, json_array_get(threads, i));
    /* In the order of addresses, as Apple lists images: the frames' order is of no meaning. */
    ingest_image_map_sort(&map);
}
