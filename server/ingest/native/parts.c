#include "server/ingest/native/native.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"

enum { REGISTERS_MAX = 256 };

/* One frame: an address, or {"address", "adjusted", "function", "file", "line"}. */
static bool
take_frame(struct ingest_take *t, const json_t *value, const char *where, struct report_frame *ret)
{
    struct report_frame frame = {.image = -1};
    if (json_is_object(value)) {
        if (!json_scan_u64(json_object_get(value, "address"), &frame.addr))
            return false;
        if (ingest_take_bool(t, value, where, "adjusted", false))
            frame.adjust = REPORT_ADJUST_EXACT;
        struct report_symbol symbol = {.function = ingest_take_text(t, value, where, "function"),
                                       .file = ingest_take_text(t, value, where, "file")};
        uint64_t line = 0;
        if (ingest_take_u64(t, value, where, "line", &line) && line <= UINT32_MAX)
            symbol.line = (uint32_t)line;
        if (!report_add_client_symbol(&frame, t->arena, &symbol))
            t->failed = true;
    } else if (!json_scan_u64(value, &frame.addr)) {
        return false;
    }
    *ret = frame;
    return true;
}

static void
take_frames(struct ingest_take *t, const json_t *list, const char *where,
            struct report_thread *thread)
{
    size_t n = json_array_size(list);
    size_t max = ingest_take_limit(t, where, n, t->limits->frames);
    thread->n_frames_cut = n - max;
    thread->frames = ingest_take_array(t, max, sizeof(*thread->frames));
    for (size_t i = 0; i < max && !t->failed; i++) {
        char at[INGEST_WHERE];
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        struct report_frame *frame = &thread->frames[thread->n_frames];
        if (!take_frame(t, json_array_get(list, i), at, frame)) {
            report_note(t->report, t->arena, "%s: not an address", at);
            continue;
        }
        /* When frames before it are left out, this one is still a return address. */
        if (i > 0 && thread->n_frames == 0 && frame->adjust == REPORT_ADJUST_AUTO)
            frame->adjust = REPORT_ADJUST_RETURN;
        thread->n_frames++;
    }
}

static void
take_registers(struct ingest_take *t, const json_t *object, const char *where,
               struct report_thread *thread)
{
    size_t max = ingest_take_limit(t, where, json_object_size(object), REGISTERS_MAX);
    if (!object || max == 0)
        return;
    thread->registers = ingest_take_array(t, max, sizeof(*thread->registers));
    const char *name;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        uint64_t number;
        if (t->failed || thread->n_registers == max)
            break;
        if (!json_scan_u64(value, &number)) {
            report_note(t->report, t->arena, "%s.%s: not a register's value", where, name);
            continue;
        }
        const char *copy = fz_arena_strdup(t->arena, name);
        t->failed = !copy;
        thread->registers[thread->n_registers++] = (struct report_register){copy, number};
    }
}

static void
take_thread(struct ingest_take *t, const json_t *object, size_t number,
            struct report_thread *thread)
{
    char where[INGEST_WHERE], at[INGEST_WHERE];
    snprintf(where, sizeof(where), "threads[%zu]", number);
    thread->index = (int64_t)number;
    ingest_take_i64(t, object, where, "index", &thread->index);
    thread->name = ingest_take_text(t, object, where, "name");
    thread->queue = ingest_take_text(t, object, where, "queue");
    thread->crashed = ingest_take_bool(t, object, where, "crashed", false);
    snprintf(at, sizeof(at), "%s.registers", where);
    take_registers(t, ingest_take_json(t, object, where, "registers", JSON_OBJECT), at, thread);
    snprintf(at, sizeof(at), "%s.frames", where);
    take_frames(t, ingest_take_json(t, object, where, "frames", JSON_ARRAY), at, thread);
    const json_t *stack = ingest_take_json(t, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (stack)
        ingest_take_memory(t, stack, at, &thread->stack);
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
native_take_threads(struct ingest_take *t, const json_t *root)
{
    struct report *r = t->report;
    const json_t *list = json_object_get(root, "threads");
    size_t max = ingest_take_limit(t, "threads", json_array_size(list), t->limits->threads);
    size_t crashed = crashed_position(r, list);
    r->threads = ingest_take_array(t, max, sizeof(*r->threads));
    for (size_t i = 0; i < max && !t->failed; i++) {
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        const json_t *object = json_array_get(list, number);
        if (json_is_object(object))
            take_thread(t, object, number, &r->threads[r->n_threads++]);
        else
            report_note(r, t->arena, "threads[%zu]: not an object, left out", number);
    }
}

void
native_take_addresses(struct ingest_take *t, const json_t *root)
{
    struct report *r = t->report;
    r->threads = ingest_take_array(t, 1, sizeof(*r->threads));
    if (!r->threads)
        return;
    r->n_threads = 1;
    r->threads[0].crashed = true;
    r->threads[0].index = r->crash.thread > 0 ? r->crash.thread : 0;
    take_frames(t, json_object_get(root, "addresses"), "addresses", &r->threads[0]);
}

static bool
take_image(struct ingest_take *t, const json_t *object, const char *where, struct report_image *ret)
{
    struct report_image image = {0};
    if (!ingest_take_u64(t, object, where, "address", &image.addr)) {
        report_note(t->report, t->arena, "%s: no address, left out", where);
        return false;
    }
    if (ingest_take_u64(t, object, where, "size", &image.size) &&
        image.size > UINT64_MAX - image.addr) {
        report_note(t->report, t->arena, "%s.size: reaches beyond 2^64", where);
        image.size = UINT64_MAX - image.addr;
    }
    image.name = ingest_take_text(t, object, where, "name");
    image.path = ingest_take_text(t, object, where, "path");
    image.arch = ingest_take_text(t, object, where, "arch");
    if (!image.name && image.path)
        image.name = fz_text_base_name(image.path);
    const char *uuid = ingest_take_text(t, object, where, "uuid");
    image.has_uuid = fz_uuid_parse(fz_span_cstr(uuid), &image.uuid);
    if (!image.has_uuid)
        report_note(t->report, t->arena, "%s.uuid: %s", where, uuid ? "not a UUID" : "missing");
    /* All zeros is how binaries without one are written down. */
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    *ret = image;
    return true;
}

void
native_take_images(struct ingest_take *t, const json_t *root)
{
    struct report *r = t->report;
    const json_t *list = ingest_take_json(t, root, "", "images", JSON_ARRAY);
    if (!list) {
        report_note(r, t->arena, "images: missing, so no address can be named");
        return;
    }
    size_t max = ingest_take_limit(t, "images", json_array_size(list), t->limits->images);
    r->images = ingest_take_array(t, max, sizeof(*r->images));
    for (size_t i = 0; i < max && !t->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "images[%zu]", i);
        if (take_image(t, json_array_get(list, i), where, &r->images[r->n_images]))
            r->n_images++;
    }
}

void
native_take_memory(struct ingest_take *t, const json_t *root)
{
    struct report *r = t->report;
    const json_t *list = ingest_take_json(t, root, "", "memory", JSON_ARRAY);
    if (!list)
        return;
    /* Each region costs a report at least a byte, so this limit also bounds their number. */
    size_t n = json_array_size(list);
    size_t max = ingest_take_limit(t, "memory", n, t->limits->images);
    r->memory = ingest_take_array(t, max, sizeof(*r->memory));
    for (size_t i = 0; i < max && !t->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "memory[%zu]", i);
        if (ingest_take_memory(t, json_array_get(list, i), where, &r->memory[r->n_memory]))
            r->n_memory++;
    }
}
