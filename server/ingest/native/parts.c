#include "server/ingest/native/native.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"

enum { REGISTERS_MAX = 256 };

/* One frame: an address, or {"address", "adjusted", "function", "file", "line"}. */
static bool
take_frame(struct ingest_builder *b, const json_t *value, const char *where,
           struct report_frame *ret)
{
    struct report_frame frame = {.image = -1};
    if (json_is_object(value)) {
        if (!json_scan_u64(json_object_get(value, "address"), &frame.addr))
            return false;
        if (ingest_json_bool(b, value, where, "adjusted", false))
            frame.adjust = REPORT_ADJUST_EXACT;
        struct report_symbol symbol = {.function = ingest_json_text(b, value, where, "function"),
                                       .file = ingest_json_text(b, value, where, "file")};
        uint64_t line = 0;
        if (ingest_json_u64(b, value, where, "line", &line) && line <= UINT32_MAX)
            symbol.line = (uint32_t)line;
        if (!report_add_client_symbol(&frame, b->arena, &symbol))
            b->failed = true;
    } else if (!json_scan_u64(value, &frame.addr)) {
        return false;
    }
    *ret = frame;
    return true;
}

static void
take_frames(struct ingest_builder *b, const json_t *list, const char *where,
            struct report_thread *thread)
{
    size_t n = json_array_size(list);
    size_t max = ingest_limit(b, where, n, b->limits->frames);
    thread->n_frames_cut = n - max;
    thread->frames = ingest_alloc(b, max, sizeof(*thread->frames));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char at[INGEST_WHERE];
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        struct report_frame *frame = &thread->frames[thread->n_frames];
        if (!take_frame(b, json_array_get(list, i), at, frame)) {
            report_note(b->report, b->arena, "%s: not an address", at);
            continue;
        }
        /* When frames before it are left out, this one is still a return address. */
        if (i > 0 && thread->n_frames == 0 && frame->adjust == REPORT_ADJUST_AUTO)
            frame->adjust = REPORT_ADJUST_RETURN;
        thread->n_frames++;
    }
}

static void
take_registers(struct ingest_builder *b, const json_t *object, const char *where,
               struct report_thread *thread)
{
    size_t max = ingest_limit(b, where, json_object_size(object), REGISTERS_MAX);
    if (!object || max == 0)
        return;
    thread->registers = ingest_alloc(b, max, sizeof(*thread->registers));
    const char *name;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        uint64_t number;
        if (b->failed || thread->n_registers == max)
            break;
        if (!json_scan_u64(value, &number)) {
            report_note(b->report, b->arena, "%s.%s: not a register's value", where, name);
            continue;
        }
        const char *copy = fz_arena_strdup(b->arena, name);
        b->failed = !copy;
        thread->registers[thread->n_registers++] = (struct report_register){copy, number};
    }
}

static void
take_thread(struct ingest_builder *b, const json_t *object, size_t number,
            struct report_thread *thread)
{
    char where[INGEST_WHERE], at[INGEST_WHERE];
    snprintf(where, sizeof(where), "threads[%zu]", number);
    thread->index = (int64_t)number;
    ingest_json_i64(b, object, where, "index", &thread->index);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->queue = ingest_json_text(b, object, where, "queue");
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    snprintf(at, sizeof(at), "%s.registers", where);
    take_registers(b, ingest_json_member(b, object, where, "registers", JSON_OBJECT), at, thread);
    snprintf(at, sizeof(at), "%s.frames", where);
    take_frames(b, ingest_json_member(b, object, where, "frames", JSON_ARRAY), at, thread);
    const json_t *stack = ingest_json_member(b, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (stack)
        ingest_json_memory(b, stack, at, &thread->stack);
}

/* The place of the thread that crashed in the list: the limit must not cut it off. */
static size_t
crashed_position(const struct report *report, const json_t *list)
{
    size_t n = json_array_size(list), marked = 0;
    for (size_t i = n; i-- > 0;) {
        const json_t *thread = json_array_get(list, i);
        const json_t *index = json_object_get(thread, "index");
        int64_t number = json_is_integer(index) ? json_integer_value(index) : (int64_t)i;
        if (report->crash.thread >= 0 && number == report->crash.thread)
            return i;
        if (json_is_true(json_object_get(thread, "crashed")))
            marked = i;
    }
    return marked;
}

void
native_take_threads(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    const json_t *list = json_object_get(root, "threads");
    size_t max = ingest_limit(b, "threads", json_array_size(list), b->limits->threads);
    size_t crashed = crashed_position(r, list);
    r->threads = ingest_alloc(b, max, sizeof(*r->threads));
    for (size_t i = 0; i < max && !b->failed; i++) {
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        const json_t *object = json_array_get(list, number);
        if (json_is_object(object))
            take_thread(b, object, number, &r->threads[r->n_threads++]);
        else
            report_note(r, b->arena, "threads[%zu]: not an object, left out", number);
    }
}

void
native_take_addresses(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    r->threads = ingest_alloc(b, 1, sizeof(*r->threads));
    if (!r->threads)
        return;
    r->n_threads = 1;
    r->threads[0].crashed = true;
    r->threads[0].index = r->crash.thread > 0 ? r->crash.thread : 0;
    take_frames(b, json_object_get(root, "addresses"), "addresses", &r->threads[0]);
}

static bool
take_image(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_image *ret)
{
    struct report_image image = {0};
    if (!ingest_json_u64(b, object, where, "address", &image.addr)) {
        report_note(b->report, b->arena, "%s: no address, left out", where);
        return false;
    }
    if (ingest_json_u64(b, object, where, "size", &image.size) &&
        image.size > UINT64_MAX - image.addr) {
        report_note(b->report, b->arena, "%s.size: reaches beyond 2^64", where);
        image.size = UINT64_MAX - image.addr;
    }
    image.name = ingest_json_text(b, object, where, "name");
    image.path = ingest_json_text(b, object, where, "path");
    image.arch = ingest_json_text(b, object, where, "arch");
    if (!image.name && image.path)
        image.name = fz_text_base_name(image.path);
    const char *uuid = ingest_json_text(b, object, where, "uuid");
    image.has_uuid = fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    if (!image.has_uuid)
        report_note(b->report, b->arena, "%s.uuid: %s", where, uuid ? "not a UUID" : "missing");
    /* All zeros is how binaries without one are written down. */
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    *ret = image;
    return true;
}

void
native_take_images(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, root, "", "images", JSON_ARRAY);
    if (!list) {
        report_note(r, b->arena, "images: missing, so no address can be named");
        return;
    }
    size_t max = ingest_limit(b, "images", json_array_size(list), b->limits->images);
    r->images = ingest_alloc(b, max, sizeof(*r->images));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "images[%zu]", i);
        if (take_image(b, json_array_get(list, i), where, &r->images[r->n_images]))
            r->n_images++;
    }
}

void
native_take_memory(struct ingest_builder *b, const json_t *root)
{
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, root, "", "memory", JSON_ARRAY);
    if (!list)
        return;
    /* Each region costs a report at least a byte, so this limit also bounds their number. */
    size_t n = json_array_size(list);
    size_t max = ingest_limit(b, "memory", n, b->limits->images);
    r->memory = ingest_alloc(b, max, sizeof(*r->memory));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "memory[%zu]", i);
        if (ingest_json_memory(b, json_array_get(list, i), where, &r->memory[r->n_memory]))
            r->n_memory++;
    }
}
