/*
 * Images made of the frames of a MetricKit diagnostic.
 *
 *   {"binaryUUID":"4C4C445B-...","binaryName":"Demo","offsetIntoBinaryTextSegment":16488,
 *    "address":4362092648}
 *
 * The image begins at address - offset. iOS 14 wrote the image's address where the offset belongs:
 * a value on a page boundary above 4 GiB and not above the address is taken for that.
 */
#include "server/ingest/apple/metrickit.h"

#include "base/json/scan.h"

static const uint64_t PAGE = 0x1000, BASE_MIN = UINT64_C(1) << 32;

enum { NO_IMAGE = -1 };

const json_t *
ingest_metrickit_below(const json_t *frame)
{
    const json_t *below = json_object_get(frame, "subFrames");
    return json_array_size(below) ? below : NULL;
}

bool
ingest_metrickit_is_thread_start(const json_t *frame)
{
    static const char *const names[] = {"dyld", "libdyld.dylib", "libsystem_pthread.dylib", NULL};
    const char *name = json_string_value(json_object_get(frame, "binaryName"));
    return ingest_is_one_of(fz_span_cstr(name), names);
}

/* Where the image begins, and the offset of the frame in it. */
static bool
split_address(const json_t *frame, uint64_t *ret_base, uint64_t *ret_offset)
{
    uint64_t addr, offset;
    if (!json_scan_u64(json_object_get(frame, "offsetIntoBinaryTextSegment"), &offset))
        return false;
    if (!json_scan_u64(json_object_get(frame, "address"), &addr)) {
        /* Without an address the offset alone still finds the function. */
        *ret_base = 0;
        *ret_offset = offset;
        return true;
    }
    if (offset > addr)
        return false;
    /* Real text segments are far smaller than 4 GiB, so a true offset is not taken for a base. */
    bool is_base = offset >= BASE_MIN && offset % PAGE == 0;
    *ret_base = is_base ? offset : addr - offset;
    *ret_offset = is_base ? addr - offset : offset;
    return true;
}

static bool
uuid_of(const json_t *frame, struct fz_uuid *ret)
{
    const char *text = json_string_value(json_object_get(frame, "binaryUUID"));
    return text && fz_uuid_parse(fz_span_cstr(text), ret) && !fz_uuid_is_nil(ret);
}

int
ingest_metrickit_image_of(const struct ingest_image_map *images, const json_t *frame,
                          uint64_t *ret_offset)
{
    struct ingest_image_key key = {.addr = 0};
    uint64_t base;
    if (!uuid_of(frame, &key.uuid) || !split_address(frame, &base, ret_offset))
        return NO_IMAGE;
    return ingest_image_map_find(images, &key);
}

static void
add(struct ingest_image_map *images, const json_t *frame)
{
    struct ingest_image_key key = {.addr = 0};
    uint64_t base, offset;
    if (!uuid_of(frame, &key.uuid) || !split_address(frame, &base, &offset))
        return;
    int number = ingest_image_map_add(images, &key);
    if (number == NO_IMAGE)
        return;
    struct report_image *image = &images->b->report->images[number];
    /* A frame without an address does not know where its image begins; a later one may. */
    if (image->addr == 0)
        image->addr = base;
    if (!image->name)
        image->name = ingest_json_text(images->b, frame, "binaryName", "binaryName");
}

/* All frames of all trees, iteratively: `path` holds the lists on the way down. */
static void
add_all(struct ingest_image_map *images, const json_t *roots)
{
    struct {
        const json_t *list;
        size_t next;
    } path[JSON_SCAN_DEPTH_MAX];
    size_t depth = 0;
    path[depth].list = roots;
    path[depth++].next = 0;
    while (depth > 0 && !images->b->failed) {
        const json_t *frame = json_array_get(path[depth - 1].list, path[depth - 1].next++);
        if (!frame) {
            depth--;
            continue;
        }
        add(images, frame);
        const json_t *below = ingest_metrickit_below(frame);
        /* Not by recursion: stacks have hundreds of frames, each of which is a level. */
        if (below && depth < FZ_ARRAY_LEN(path)) {
            path[depth].list = below;
            path[depth++].next = 0;
        }
    }
}

static bool
is_dyld(const json_t *frame)
{
    const char *name = json_string_value(json_object_get(frame, "binaryName"));
    return name && (strcmp(name, "dyld") == 0 || strcmp(name, "libdyld.dylib") == 0);
}

/* The frame next to where a process begins, in dyld: it is in the app's main(). NULL for a
 * thread that begins elsewhere. */
static const json_t *
frame_of_main(const json_t *root)
{
    const json_t *frame = root, *before = NULL;
    if (is_dyld(root))
        return json_array_get(ingest_metrickit_below(root), 0);
    for (const json_t *below; (below = ingest_metrickit_below(frame));) {
        before = frame;
        frame = json_array_get(below, 0);
    }
    return is_dyld(frame) ? before : NULL;
}

/* Without paths, the first image counts as the app's own. */
static void
put_app_first(struct ingest_image_map *images, const json_t *stacks)
{
    struct report *r = images->b->report;
    uint64_t offset;
    int number = NO_IMAGE;
    for (size_t i = 0; i < json_array_size(stacks) && number == NO_IMAGE; i++) {
        const json_t *roots = json_object_get(json_array_get(stacks, i), "callStackRootFrames");
        /* The main thread is not always the first of the list. */
        const json_t *frame = frame_of_main(json_array_get(roots, 0));
        if (frame && !ingest_metrickit_is_thread_start(frame))
            number = ingest_metrickit_image_of(images, frame, &offset);
    }
    if (number == NO_IMAGE)
        return;
    if (!r->app_name &&
        !report_executable_name(r->images[number].name, images->b->arena, &r->app_name))
        images->b->failed = true;
    /* A swap, since the frames' numbers are looked up by the map later. */
    ingest_image_map_swap(images, 0, number);
}

struct ingest_image_map
ingest_metrickit_images_make(struct ingest_builder *b, const json_t *stacks)
{
    struct ingest_image_map images = ingest_image_map_make(b, false);
    for (size_t i = 0; i < json_array_size(stacks); i++)
        add_all(&images, json_object_get(json_array_get(stacks, i), "callStackRootFrames"));
    if (!b->failed)
        put_app_first(&images, stacks);
    return images;
}
