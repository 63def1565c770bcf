#include "server/ingest/native/native.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"

static const char *const index_keys[] = {"index", NULL};

/* One frame: an address, or {"address", "adjusted", "function", "file", "line"}. */
static bool
take_frame(void *user, const json_t *value, const char *where, struct report_frame *ret)
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
        ret->adjust = REPORT_ADJUST_EXACT;
    struct report_symbol symbol = {.function = ingest_json_text(b, value, where, "function"),
                                   .file = ingest_json_text(b, value, where, "file"),
                                   .line = ingest_json_u32(b, value, where, "line")};
    ingest_add_client_symbol(b, ret, &symbol);
    return true;
}

static void
take_thread(struct ingest_builder *b, const struct ingest_json_list *list)
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
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    snprintf(at, sizeof(at), "%s.registers", where);
    ingest_json_registers(b, ingest_json_member(b, object, where, "registers", JSON_OBJECT), at,
                          thread);
    snprintf(at, sizeof(at), "%s.frames", where);
    const json_t *frames = ingest_json_member(b, object, where, "frames", JSON_ARRAY);
    struct ingest_stack stack = ingest_json_stack(b, frames, at, false, take_frame, b);
    ingest_set_stack(thread, &stack);
    const json_t *memory = ingest_json_member(b, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (memory)
        ingest_json_memory(b, memory, at, &thread->stack);
}

void
native_take_threads(struct ingest_builder *b, const json_t *root)
{
    struct ingest_json_list list =
        ingest_json_list_start(b, json_object_get(root, "threads"), "threads", b->limits->threads);
    list.must = ingest_json_crashed(list.list, index_keys, "crashed", b->report->crash.thread);
    while (ingest_json_list_next_object(&list))
        take_thread(b, &list);
}

void
native_take_addresses(struct ingest_builder *b, const json_t *root)
{
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    thread->crashed = true;
    thread->index = b->report->crash.thread > 0 ? b->report->crash.thread : 0;
    struct ingest_stack stack =
        ingest_json_stack(b, json_object_get(root, "addresses"), "addresses", false, take_frame, b);
    ingest_set_stack(thread, &stack);
}

static void
take_image(struct ingest_builder *b, const json_t *object, const char *where)
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
    image.name = name ? name : image.name;
    image.arch = ingest_json_text(b, object, where, "arch");
    ingest_set_uuid(b, &image, ingest_json_text(b, object, where, "uuid"), true, where, "uuid");
    ingest_add_image(b, &image);
}

void
native_take_images(struct ingest_builder *b, const json_t *root)
{
    const json_t *images = ingest_json_member(b, root, "", "images", JSON_ARRAY);
    if (!images)
        ingest_note(b, "images: missing, so no address can be named");
    struct ingest_json_list list = ingest_json_list_start(b, images, "images", b->limits->images);
    while (ingest_json_list_next(&list))
        take_image(b, list.item, list.where);
}

void
native_take_memory(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    const json_t *memory = ingest_json_member(b, root, "", "memory", JSON_ARRAY);
    /* Each region costs a report at least a byte, so this limit also bounds their number. */
    struct ingest_json_list list = ingest_json_list_start(b, memory, "memory", b->limits->images);
    r->memory = list.n ? ingest_alloc(b, list.n, sizeof(*r->memory)) : NULL;
    while (ingest_json_list_next(&list))
        r->n_memory += ingest_json_memory(b, list.item, list.where, &r->memory[r->n_memory]);
}
