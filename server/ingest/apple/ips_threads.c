#include "server/ingest/apple/ips.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "server/ingest/common/apple_text.h"

enum { NUMBER_ROOM = 24 };

/* A placeholder has no base and no UUID: its frames are in no image. */
static int
read_image(struct ingest_builder *b, const json_t *object, const char *where)
{
    struct report_image image = {.name = NULL};
    if (!json_is_object(object)) {
        ingest_note(b, "%s: not an object, left out", where);
        return -1;
    }
    ingest_set_uuid(b, &image, json_string_value(json_object_get(object, "uuid")), false, where,
                    "uuid");
    bool has_base = ingest_json_u64(b, object, where, "base", &image.addr);
    bool has_name = json_is_string(json_object_get(object, "name")) ||
                    json_is_string(json_object_get(object, "path"));
    if (image.addr == 0 && !image.has_uuid && !has_name)
        return -1;
    if (!has_base)
        ingest_note(b, "%s: no base, read as 0", where);
    ingest_json_u64(b, object, where, "size", &image.size);
    if (image.size > UINT64_MAX - image.addr)
        /* Unknown is better than wrong: it then reaches to the next image. */
        image.size = 0;
    image.arch = ingest_json_text(b, object, where, "arch");
    ingest_set_path(&image, ingest_json_text(b, object, where, "path"));
    const char *name = ingest_json_text(b, object, where, "name");
    image.name = name ? name : image.name;
    image.bundle_id = ingest_json_text(b, object, where, "CFBundleIdentifier");
    image.version =
        ingest_apple_version(b, ingest_json_text(b, object, where, "CFBundleShortVersionString"),
                             ingest_json_text(b, object, where, "CFBundleVersion"));
    return ingest_add_image(b, &image);
}

/* A placeholder is kept whole, with a "base" that no other image has here: images that follow it
 * keep their numbers when the report is written again. */
static void
read_image_rest(struct ingest_builder *b, const json_t *object, size_t number, bool is_placeholder,
                json_t *extras)
{
    static const char *const known[] = {"base",
                                        "size",
                                        "uuid",
                                        "name",
                                        "path",
                                        "arch",
                                        "CFBundleIdentifier",
                                        "CFBundleShortVersionString",
                                        "CFBundleVersion",
                                        NULL};
    const char *source = json_string_value(json_object_get(object, "source"));
    char key[NUMBER_ROOM];
    snprintf(key, sizeof(key), "%zu", number);
    json_t *rest = ingest_json_rest(b, object, is_placeholder ? NULL : known, extras, key);
    if (b->failed)
        return;
    if (is_placeholder && !rest)
        b->failed = json_object_set_new(extras, key, json_pack("{s:i}", "base", 0)) != 0;
    else if (is_placeholder && !json_object_get(rest, "base"))
        b->failed = json_object_set_new(rest, "base", json_integer(0)) != 0;
    else if (!is_placeholder && rest && json_object_size(rest) == 1 && source &&
             strcmp(source, "P") == 0)
        json_object_del(extras, key); /* what nearly every image has */
}

void
ingest_ips_read_images(struct ingest_builder *b, const json_t *body, struct ingest_ips_images *ret)
{
    json_auto_t *extras = json_object();
    const json_t *used = ingest_json_member(b, body, "", "usedImages", JSON_ARRAY);
    if (!used)
        ingest_note(b, "usedImages: missing, so no address can be named");
    struct ingest_json_list list = ingest_json_list_start(b, used, "usedImages", b->limits->images);
    *ret = (struct ingest_ips_images){ingest_alloc(b, list.n, sizeof(*ret->numbers)), list.n};
    b->failed = b->failed || !extras;
    while (ingest_json_list_next(&list)) {
        int number = read_image(b, list.item, list.where);
        /* Frames count in usedImages, where placeholders have numbers too. */
        ret->numbers[list.number] = number;
        read_image_rest(b, list.item, list.number, number < 0, extras);
    }
    if (!b->failed)
        ingest_add_extra(b, "usedImages", extras, NULL);
}

static void
read_thread(struct ingest_builder *b, const struct ingest_json_list *list,
            const struct ingest_ips_images *images)
{
    struct report_thread *thread = ingest_add_thread(b);
    const json_t *object = list->item;
    char at[INGEST_WHERE];
    if (!thread)
        return;
    /* Apple numbers threads by their place; faultingThread counts so. `id` is the kernel's. */
    thread->index = (int64_t)list->number;
    thread->name = ingest_json_text(b, object, list->where, "name");
    thread->queue = ingest_json_text(b, object, list->where, "queue");
    thread->crashed = ingest_json_bool(b, object, list->where, "triggered", false);
    snprintf(at, sizeof(at), "%s.threadState", list->where);
    const json_t *state = ingest_json_member(b, object, list->where, "threadState", JSON_OBJECT);
    if (state)
        ingest_ips_read_registers(b, state, at, thread);
    snprintf(at, sizeof(at), "%s.frames", list->where);
    const json_t *frames = ingest_json_member(b, object, list->where, "frames", JSON_ARRAY);
    struct ingest_stack stack = ingest_ips_read_frames(b, frames, at, images);
    ingest_set_stack(thread, &stack);
}

static void
read_exception_frames(struct ingest_builder *b, const json_t *body,
                      const struct ingest_ips_images *images)
{
    const json_t *list = ingest_json_member(b, body, "", "lastExceptionBacktrace", JSON_ARRAY);
    /* The same as text: where the exception was thrown. */
    const char *text = json_string_value(json_array_get(json_object_get(body, "asiBacktraces"), 0));
    struct ingest_stack stack = {.n = 0};
    if (list)
        stack = ingest_ips_read_frames(b, list, "lastExceptionBacktrace", images);
    else if (text)
        stack = ingest_ips_read_backtrace(b, text);
    /* The innermost frame is __exceptionPreprocess, which called the throwing function. */
    ingest_first_is_return(stack.frames, stack.n);
    ingest_set_exception_stack(b->report, &stack);
}

void
ingest_ips_read_threads(struct ingest_builder *b, const json_t *body,
                        const struct ingest_ips_images *images)
{
    static const char *const known[] = {"name",   "queue",       "triggered",
                                        "frames", "threadState", NULL};
    json_auto_t *extras = json_object();
    struct ingest_json_list list =
        ingest_json_list_start(b, json_object_get(body, "threads"), "threads", b->limits->threads);
    /* A process can have more threads than the limit, and the crashed one is mostly not the
     * first. */
    list.must = ingest_json_crashed(list.list, NULL, "triggered", b->report->crash.thread);
    b->failed = b->failed || !extras;
    while (ingest_json_list_next_object(&list)) {
        char key[NUMBER_ROOM];
        snprintf(key, sizeof(key), "%zu", list.number);
        read_thread(b, &list, images);
        ingest_json_rest(b, list.item, known, extras, key);
    }
    if (!b->failed)
        ingest_add_extra(b, "threads", extras, NULL);
    read_exception_frames(b, body, images);
}
