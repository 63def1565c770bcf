/* Binary images, and those that only frames know of. */
#include "base/json/scan.h"
#include "server/ingest/common/image_map.h"
#include "server/ingest/kscrash/kscrash.h"

/* What the image's code left for whoever finds it dead: __crash_info of the image. */
static void
read_messages(struct ingest_builder *b, const json_t *object, const char *where)
{
    static const char *const keys[] = {"crash_info_message", "crash_info_message2",
                                       "crash_info_signature", "crash_info_backtrace"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++)
        ingest_add_message(b, ingest_json_text(b, object, where, keys[i]));
}

static void
read_image(struct ingest_builder *b, const json_t *object, const char *where)
{
    struct report_image image = {0};
    if (!ingest_json_u64(b, object, where, "image_addr", &image.addr)) {
        ingest_note(b, "%s: no image_addr, left out", where);
        return;
    }
    ingest_json_u64(b, object, where, "image_size", &image.size);
    ingest_clip_size(b, &image, where, "image_size");
    ingest_set_path(&image, ingest_json_text(b, object, where, "name"));
    if (image.name == image.path) /* a bare name */
        image.path = NULL;
    ingest_set_uuid(b, &image, ingest_json_text(b, object, where, "uuid"), true, where, "uuid");
    image.arch = ingest_json_cpu(b, object, where, "cpu_type", "cpu_subtype");
    image.version = ingest_json_dylib_version(b, object, where);
    read_messages(b, object, where);
    ingest_add_image(b, &image);
}

void
ingest_kscrash_read_images(struct ingest_builder *b, const json_t *images)
{
    if (!json_is_array(images))
        /* Minimal reports have none: the reporter had crashed before. */
        ingest_note(b, "binary_images: missing");
    struct ingest_json_list list =
        ingest_json_list_start(b, images, "binary_images", b->limits->images);
    while (ingest_json_list_next(&list))
        read_image(b, list.item, list.where);
}

/* ---- images that only frames know of ------------------------------------------------------ */

static void
add_named(struct ingest_image_map *map, const json_t *frames)
{
    struct ingest_builder *b = map->b;
    struct ingest_kscrash_places places = ingest_kscrash_places_start(frames);
    struct ingest_kscrash_place at;
    while (!b->failed && ingest_kscrash_places_next(&places, &at)) {
        struct ingest_image_key key = {.addr = at.object_addr};
        if (key.addr == 0)
            continue;
        /* Nearly all are in a listed image, which has its own size. */
        int known = ingest_image_map_find(map, &key);
        if (known >= 0 && known < (int)map->n_listed)
            continue;
        struct fz_uuid uuid;
        bool has_uuid = at.uuid.data && fz_uuid_parse(at.uuid, &uuid) && !fz_uuid_is_nil(&uuid);
        if (!at.has_addr || (!at.name.data && !has_uuid) || at.addr < key.addr)
            continue;
        int number = ingest_image_map_add(map, &key);
        if (number < (int)map->n_listed)
            continue;
        /* It reaches at least to the highest address that a frame has in it. */
        struct report_image *image = &b->report->images[number];
        /* Without a size it would reach to the next image, and frames without an image would be
         * in it. */
        uint64_t size = at.addr - key.addr < UINT64_MAX ? at.addr - key.addr + 1 : 0;
        if (!image->name && at.name.data)
            image->name = ingest_text(b, at.name);
        if (has_uuid && !image->has_uuid) {
            image->uuid = uuid;
            image->has_uuid = true;
        }
        if (image->size < size)
            image->size = size;
    }
    ingest_kscrash_places_end(&places);
}

static void
add_backtrace(struct ingest_image_map *map, const json_t *holder, const char *key)
{
    add_named(map, json_object_get(json_object_get(holder, key), "contents"));
}

static const json_t *
contents_of(const json_t *thread)
{
    return json_object_get(json_object_get(thread, "backtrace"), "contents");
}

/* Are all frames that were read from their text, and no others, in images that the report lists? */
static bool
are_listed(const struct ingest_image_map *map, const struct ingest_kscrash_objects *objects,
           const json_t *threads)
{
    size_t n_lists = 0;
    bool are = !objects->is_partial;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        struct json_rows rows;
        n_lists += json_rows_of(contents_of(json_array_get(threads, i)), &rows);
    }
    for (size_t i = 0; i < objects->n && are; i++) {
        const struct ingest_image_key key = {.addr = objects->addrs[i]};
        int known = ingest_image_map_find(map, &key);
        are = known >= 0 && known < (int)map->n_listed;
    }
    /* A limit may have cut threads. */
    return are && n_lists == objects->n_lists;
}

void
ingest_kscrash_images_of_frames(const struct ingest_kscrash *k)
{
    struct ingest_builder *b = k->b;
    const json_t *report = k->report;
    struct ingest_image_map map = ingest_image_map_make(b, true);
    const json_t *crash = json_object_get(report, "crash");
    const json_t *threads = json_object_get(crash, "threads");
    bool is_done = are_listed(&map, k->objects, threads);
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = contents_of(json_array_get(threads, i));
        if (!is_done || json_is_array(frames))
            add_named(&map, frames);
    }
    add_backtrace(&map, json_object_get(crash, "crashed_thread"), "backtrace");
    add_backtrace(&map, crash, "last_exception_backtrace");
    const json_t *profile = json_object_get(json_object_get(crash, "error"), "profile");
    add_named(&map, json_object_get(profile, "frames"));
    ingest_image_map_sort(&map);
    /* Without UUIDs no symbol file can be found for them. */
    size_t n_unknown = 0;
    for (size_t i = map.n_listed; i < b->report->n_images; i++)
        n_unknown += !b->report->images[i].has_uuid;
    if (n_unknown)
        ingest_note(b, "%zu images are known from frames only, without their UUIDs", n_unknown);
}
