#include "server/ingest/apple/ips.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/common/apple_text.h"

/* A placeholder has no base and no UUID: it stands for addresses in no image. */
static bool
take_image(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_image *ret)
{
    struct report_image image = {.name = NULL};
    if (!json_is_object(object)) {
        report_note(b->report, b->arena, "%s: not an object, left out", where);
        return false;
    }
    const char *uuid = json_string_value(json_object_get(object, "uuid"));
    image.has_uuid = uuid && fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    if (uuid && !image.has_uuid)
        report_note(b->report, b->arena, "%s.uuid: not a UUID", where);
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    bool has_base = ingest_json_u64(b, object, where, "base", &image.addr);
    ingest_json_u64(b, object, where, "size", &image.size);
    bool has_name = json_is_string(json_object_get(object, "name")) ||
                    json_is_string(json_object_get(object, "path"));
    if (image.addr == 0 && !image.has_uuid && !has_name)
        return false;
    if (!has_base)
        report_note(b->report, b->arena, "%s: no base, read as 0", where);
    if (image.size > UINT64_MAX - image.addr)
        image.size = 0;
    image.arch = ingest_json_text(b, object, where, "arch");
    image.path = ingest_json_text(b, object, where, "path");
    image.name = ingest_json_text(b, object, where, "name");
    if (!image.name && image.path)
        image.name = fz_text_base_name(image.path);
    image.bundle_id = ingest_json_text(b, object, where, "CFBundleIdentifier");
    image.version =
        ingest_apple_version(b, ingest_json_text(b, object, where, "CFBundleShortVersionString"),
                             ingest_json_text(b, object, where, "CFBundleVersion"));
    *ret = image;
    return true;
}

/* What item `number` of a list has beside what the model holds: {"3":{"id":1002,...}}. Returns the
 * item's object there, borrowed; NULL if it has nothing else. */
static json_t *
take_rest(struct ingest_builder *b, const json_t *object, size_t number, const char *const *known,
          json_t *extras)
{
    char key[24];
    const char *name;
    json_t *value, *rest = json_object();
    bool ok = rest != NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        bool is_known = false;
        for (size_t i = 0; known[i]; i++)
            is_known = is_known || strcmp(known[i], name) == 0;
        if (!is_known)
            ok = ok && json_object_set(rest, name, value) == 0;
    }
    snprintf(key, sizeof(key), "%zu", number);
    if (ok && json_object_size(rest))
        ok = json_object_set(extras, key, rest) == 0;
    json_decref(rest);
    b->failed = b->failed || !ok;
    return json_object_get(extras, key);
}

/* A placeholder is kept whole, with a "base" that no other image has here: images that follow it
 * keep their numbers when the report is written again. */
static void
take_image_rest(struct ingest_builder *b, const json_t *object, size_t number, bool is_placeholder,
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
    static const char *const none[] = {NULL};
    const char *source = json_string_value(json_object_get(object, "source"));
    json_t *rest = take_rest(b, object, number, is_placeholder ? none : known, extras);
    char key[24];
    snprintf(key, sizeof(key), "%zu", number);
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
ips_take_images(struct ingest_builder *b, const json_t *body, struct ips_images *ret)
{
    json_auto_t *extras = json_object();
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, body, "", "usedImages", JSON_ARRAY);
    if (!list)
        report_note(r, b->arena, "usedImages: missing, so no address can be named");
    size_t max = ingest_limit(b, "usedImages", json_array_size(list), b->limits->images);
    *ret = (struct ips_images){ingest_alloc(b, max, sizeof(*ret->numbers)), max};
    r->images = ingest_alloc(b, max, sizeof(*r->images));
    b->failed = b->failed || !extras;
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "usedImages[%zu]", i);
        ret->numbers[i] = -1;
        const json_t *object = json_array_get(list, i);
        if (take_image(b, object, where, &r->images[r->n_images]))
            ret->numbers[i] = (int)r->n_images++;
        take_image_rest(b, object, i, ret->numbers[i] < 0, extras);
    }
    if (!b->failed)
        ingest_add_extra(b, "usedImages", extras, NULL);
}

static void
take_thread(struct ingest_builder *b, const json_t *object, size_t number,
            const struct ips_images *images, struct report_thread *thread)
{
    char where[INGEST_WHERE], at[INGEST_WHERE];
    snprintf(where, sizeof(where), "threads[%zu]", number);
    /* Apple numbers threads by their place; faultingThread counts so. `id` is the kernel's. */
    thread->index = (int64_t)number;
    thread->name = ingest_json_text(b, object, where, "name");
    thread->queue = ingest_json_text(b, object, where, "queue");
    thread->crashed = ingest_json_bool(b, object, where, "triggered", false);
    snprintf(at, sizeof(at), "%s.threadState", where);
    const json_t *state = ingest_json_member(b, object, where, "threadState", JSON_OBJECT);
    if (state)
        ips_take_registers(b, state, at, thread);
    snprintf(at, sizeof(at), "%s.frames", where);
    thread->frames = ips_take_frames(b, ingest_json_member(b, object, where, "frames", JSON_ARRAY),
                                     at, images, false, &thread->n_frames, &thread->n_frames_cut);
}

/* The place of the thread that crashed: the limit must not cut it off. */
static size_t
crashed_position(const struct report *r, const json_t *list)
{
    size_t n = json_array_size(list);
    if (r->crash.thread >= 0 && (uint64_t)r->crash.thread < n)
        return (size_t)r->crash.thread;
    for (size_t i = 0; i < n; i++) {
        if (json_is_true(json_object_get(json_array_get(list, i), "triggered")))
            return i;
    }
    return 0;
}

static void
take_exception_frames(struct ingest_builder *b, const json_t *body, const struct ips_images *images)
{
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, body, "", "lastExceptionBacktrace", JSON_ARRAY);
    if (list) {
        r->exception_frames = ips_take_frames(b, list, "lastExceptionBacktrace", images, true,
                                              &r->n_exception_frames, &r->n_exception_frames_cut);
        return;
    }
    /* The same as text: where the exception was thrown. */
    const json_t *texts = json_object_get(body, "asiBacktraces");
    const char *text = json_string_value(json_array_get(texts, 0));
    if (text)
        r->exception_frames = ips_take_backtrace(b, text, &r->n_exception_frames);
}

void
ips_take_threads(struct ingest_builder *b, const json_t *body, const struct ips_images *images)
{
    static const char *const known[] = {"name",   "queue",       "triggered",
                                        "frames", "threadState", NULL};
    struct report *r = b->report;
    const json_t *list = json_object_get(body, "threads");
    size_t max = ingest_limit(b, "threads", json_array_size(list), b->limits->threads);
    size_t crashed = crashed_position(r, list);
    json_t *extras = json_object();
    b->failed = b->failed || !extras;
    r->threads = ingest_alloc(b, max, sizeof(*r->threads));
    for (size_t i = 0; i < max && !b->failed; i++) {
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        const json_t *object = json_array_get(list, number);
        if (!json_is_object(object)) {
            report_note(r, b->arena, "threads[%zu]: not an object, left out", number);
            continue;
        }
        take_thread(b, object, number, images, &r->threads[r->n_threads++]);
        take_rest(b, object, number, known, extras);
    }
    if (!b->failed)
        ingest_add_extra(b, "threads", extras, NULL);
    json_decref(extras);
    take_exception_frames(b, body, images);
}
