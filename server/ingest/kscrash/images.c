/* Binary images, and those that only frames know of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch/arch.h"
#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/kscrash/kscrash.h"

enum { MESSAGES_MAX = 64 };

/* What the image's code left for whoever finds it dead: __crash_info of the image. */
static void
take_messages(struct ingest_builder *b, const json_t *object, const char *where)
{
    static const char *const keys[] = {"crash_info_message", "crash_info_message2",
                                       "crash_info_signature", "crash_info_backtrace"};
    struct report_crash *crash = &b->report->crash;
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        const char *text = ingest_json_text(b, object, where, keys[i]);
        if (!text || crash->n_messages == MESSAGES_MAX)
            continue;
        if (!crash->messages)
            crash->messages = ingest_alloc(b, MESSAGES_MAX, sizeof(*crash->messages));
        if (crash->messages)
            crash->messages[crash->n_messages++] = text;
    }
}

static void
take_version(struct ingest_builder *b, const json_t *object, const char *where,
             struct report_image *image)
{
    uint64_t major = 0, minor = 0, revision = 0;
    ingest_json_u64(b, object, where, "major_version", &major);
    ingest_json_u64(b, object, where, "minor_version", &minor);
    ingest_json_u64(b, object, where, "revision_version", &revision);
    if (!major && !minor && !revision)
        return;
    image->version = fz_arena_printf(b->arena, "%llu.%llu.%llu", (unsigned long long)major,
                                     (unsigned long long)minor, (unsigned long long)revision);
    b->failed = b->failed || !image->version;
}

static bool
take_image(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_image *ret)
{
    struct report_image image = {0};
    uint64_t type = 0, subtype = 0;
    if (!ingest_json_u64(b, object, where, "image_addr", &image.addr)) {
        report_note(b->report, b->arena, "%s: no image_addr, left out", where);
        return false;
    }
    ingest_json_u64(b, object, where, "image_size", &image.size);
    if (image.size > UINT64_MAX - image.addr) {
        report_note(b->report, b->arena, "%s.image_size: reaches beyond 2^64", where);
        image.size = UINT64_MAX - image.addr;
    }
    image.path = ingest_json_text(b, object, where, "name");
    image.name = image.path ? fz_text_base_name(image.path) : NULL;
    if (image.name == image.path)
        image.path = NULL;
    const char *uuid = ingest_json_text(b, object, where, "uuid");
    image.has_uuid = fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    if (!image.has_uuid)
        report_note(b->report, b->arena, "%s.uuid: %s", where, uuid ? "not a UUID" : "missing");
    /* All zeros is how binaries without one are written down. */
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    if (ingest_json_u64(b, object, where, "cpu_type", &type)) {
        ingest_json_u64(b, object, where, "cpu_subtype", &subtype);
        image.arch = fz_arch_known_name((uint32_t)type, (uint32_t)subtype);
    }
    take_version(b, object, where, &image);
    take_messages(b, object, where);
    *ret = image;
    return true;
}

void
kscrash_take_images(struct ingest_builder *b, const json_t *images)
{
    struct report *r = b->report;
    if (!json_is_array(images)) {
        report_note(r, b->arena, "binary_images: missing");
        return;
    }
    size_t max = ingest_limit(b, "binary_images", json_array_size(images), b->limits->images);
    r->images = ingest_alloc(b, max, sizeof(*r->images));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "binary_images[%zu]", i);
        if (take_image(b, json_array_get(images, i), where, &r->images[r->n_images]))
            r->n_images++;
    }
}

/* ---- images that only frames know of ------------------------------------------------------ */

/* An object that a frame names; its name is borrowed from the JSON. */
struct named {
    uint64_t addr, last; /* last: the highest address that a frame has in it */
    const char *name;
};

/* With NULL items it only counts. */
struct named_list {
    struct named *items;
    size_t n;
};

static void
add_named(struct named_list *list, const json_t *frames)
{
    for (size_t i = 0; i < json_array_size(frames); i++) {
        uint64_t addr, last;
        const json_t *frame = json_array_get(frames, i);
        const json_t *name = json_object_get(frame, "object_name");
        if (!json_scan_u64(json_object_get(frame, "object_addr"), &addr) ||
            !json_scan_u64(json_object_get(frame, "instruction_addr"), &last) ||
            !json_is_string(name) || addr == 0 || last < addr)
            continue;
        if (list->items)
            list->items[list->n] = (struct named){addr, last, json_string_value(name)};
        list->n++;
    }
}

static void
add_backtrace(struct named_list *list, const json_t *holder, const char *key)
{
    add_named(list, json_object_get(json_object_get(holder, key), "contents"));
}

static void
find_named(struct named_list *list, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *threads = json_object_get(crash, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++)
        add_backtrace(list, json_array_get(threads, i), "backtrace");
    add_backtrace(list, json_object_get(crash, "crashed_thread"), "backtrace");
    add_backtrace(list, crash, "last_exception_backtrace");
    const json_t *profile = json_object_get(json_object_get(crash, "error"), "profile");
    add_named(list, json_object_get(profile, "frames"));
}

static int
by_addr(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    if (left->addr != right->addr)
        return left->addr < right->addr ? -1 : 1;
    return left->last < right->last ? -1 : left->last > right->last;
}

static int
image_by_addr(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* Append what is named and not there, as images without a UUID that end behind the last frame. */
static void
append_images(struct ingest_builder *b, const struct named_list *list, size_t n_max)
{
    struct report *r = b->report;
    uint64_t *known = ingest_alloc(b, r->n_images, sizeof(*known));
    struct report_image *images = ingest_alloc(b, r->n_images + n_max, sizeof(*images));
    size_t n = r->n_images;
    if (!known || !images)
        return;
    for (size_t i = 0; i < n; i++) {
        known[i] = r->images[i].addr;
        images[i] = r->images[i];
    }
    if (n)
        qsort(known, n, sizeof(*known), image_by_addr);
    for (size_t i = 0; i < list->n && n < r->n_images + n_max; i++) {
        const struct named *named = &list->items[i];
        bool last = i + 1 == list->n || list->items[i + 1].addr != named->addr;
        if (!last || (r->n_images &&
                      bsearch(&named->addr, known, r->n_images, sizeof(*known), image_by_addr)))
            continue;
        const char *name = fz_arena_strdup(b->arena, named->name);
        b->failed = b->failed || !name;
        images[n++] = (struct report_image){
            .name = name,
            .addr = named->addr,
            .size = named->last - named->addr < UINT64_MAX ? named->last - named->addr + 1 : 0};
    }
    if (n > r->n_images)
        report_note(r, b->arena, "%zu images are known from frames only, without their UUIDs",
                    n - r->n_images);
    r->images = images;
    r->n_images = n;
}

void
kscrash_images_of_frames(struct ingest_builder *b, const json_t *report)
{
    struct named_list list = {NULL, 0};
    size_t n = b->report->n_images, room = b->limits->images > n ? b->limits->images - n : 0;
    find_named(&list, report);
    if (list.n == 0 || room == 0)
        return;
    list.items = ingest_alloc(b, list.n, sizeof(*list.items));
    if (!list.items)
        return;
    list.n = 0;
    find_named(&list, report);
    qsort(list.items, list.n, sizeof(*list.items), by_addr);
    append_images(b, &list, room < list.n ? room : list.n);
}
