/*
 * The symbolicated report read back from its JSON, the inverse of render_json.c.
 *
 * What it finds in another shape than it was written is taken as absent; only JSON that is no
 * object, and memory, are errors.
 */
#include "server/report/render.h"

#include <stdlib.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "base/time.h"

struct load {
    struct report *report;
    struct fz_arena *arena;
    bool failed; /* memory is out */
};

static const char *
keep(struct load *l, struct fz_span text)
{
    const char *copy = l->failed ? NULL : fz_arena_text(l->arena, text);
    if (!copy)
        l->failed = true;
    return copy;
}

static const char *
load_text(struct load *l, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return NULL;
    return keep(l, fz_span_make(json_string_value(value), json_string_length(value)));
}

/* A member that is JSON in the model, written anew on one line. */
static const char *
load_dump(struct load *l, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    char *text = value && !l->failed ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (!text) {
        l->failed = l->failed || value;
        return NULL;
    }
    const char *copy = keep(l, fz_span_cstr(text));
    free(text);
    return copy;
}

static int64_t
load_int(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* Numbers above 2^63 - 1 come out of the scanner as texts. */
static uint64_t
load_u64(const json_t *object, const char *key)
{
    uint64_t number;
    return json_scan_u64(json_object_get(object, key), &number) ? number : 0;
}

static uint32_t
load_u32(const json_t *object, const char *key)
{
    uint64_t number = load_u64(object, key);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static bool
load_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static int64_t
load_time(const json_t *object, const char *key)
{
    int64_t ms;
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value) ||
        !fz_time_parse(fz_span_make(json_string_value(value), json_string_length(value)), &ms))
        return 0;
    return ms;
}

static bool
load_uuid(const json_t *object, const char *key, struct fz_uuid *ret)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) && fz_uuid_parse(fz_span_cstr(json_string_value(value)), ret);
}

/* The number whose name the text is; names[0] is number `first`. */
static int
number_of(const char *text, const char *(*name_of)(int), int first, int last)
{
    for (int i = first; text && i <= last; i++) {
        if (strcmp(name_of(i), text) == 0)
            return i;
    }
    return -1;
}

static const char *
status_name(int number)
{
    return report_frame_status_name((enum report_frame_status)number);
}

static const char *
trust_name(int number)
{
    return report_trust_name((enum report_trust)number);
}

static const char *
image_state_name(int number)
{
    return report_image_state_name((enum report_image_state)number);
}

static void *
load_array(struct load *l, const json_t *list, size_t size, size_t *ret_n)
{
    size_t n = json_array_size(list);
    void *array = n && !l->failed ? fz_arena_array(l->arena, n, size) : NULL;
    if (n && !array)
        l->failed = true;
    *ret_n = array ? n : 0;
    return array;
}

static const char **
load_text_list(struct load *l, const json_t *list, size_t *ret_n)
{
    size_t n, kept = 0;
    const char **texts = load_array(l, list, sizeof(*texts), &n);
    for (size_t i = 0; i < n && !l->failed; i++) {
        const json_t *value = json_array_get(list, i);
        if (json_is_string(value))
            texts[kept++] = keep(l, fz_span_cstr(json_string_value(value)));
    }
    *ret_n = kept;
    return texts;
}

static void
load_symbol_files(struct load *l, const json_t *list, struct report_image *image)
{
    image->files = load_array(l, list, sizeof(*image->files), &image->n_files);
    for (size_t i = 0; i < image->n_files && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        image->files[i] = (struct report_symbol_file){.kind = load_text(l, object, "kind"),
                                                      .name = load_text(l, object, "name"),
                                                      .sha256 = load_text(l, object, "sha256")};
    }
}

static void
load_images(struct load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "images");
    struct report *r = l->report;
    r->images = load_array(l, list, sizeof(*r->images), &r->n_images);
    for (size_t i = 0; i < r->n_images; i++) {
        const json_t *object = json_array_get(list, i);
        struct report_image *image = &r->images[i];
        image->has_uuid = load_uuid(object, "uuid", &image->uuid);
        image->name = load_text(l, object, "name");
        image->path = load_text(l, object, "path");
        image->arch = load_text(l, object, "arch");
        image->bundle_id = load_text(l, object, "bundle_id");
        image->version = load_text(l, object, "version");
        image->addr = load_u64(object, "address");
        image->size = load_u64(object, "size");
        const char *state = json_string_value(json_object_get(object, "symbols"));
        int number = number_of(state, image_state_name, REPORT_IMAGE_UNUSED, REPORT_IMAGE_FAILED);
        image->state = number < 0 ? REPORT_IMAGE_UNUSED : (enum report_image_state)number;
        load_symbol_files(l, json_object_get(object, "symbol_files"), image);
    }
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

struct image_name {
    struct fz_uuid uuid;
    bool has_uuid;
    const char *name;
};

static bool
is_named(const struct report_image *image, const struct image_name *wanted)
{
    return image->has_uuid == wanted->has_uuid &&
           (!wanted->has_uuid || fz_uuid_equal(&image->uuid, &wanted->uuid)) &&
           same_text(image->name, wanted->name);
}

/* The image that a frame names by its UUID and name. Where several bear the same (a report may list
 * one twice), the one that the offset was counted from; starts are compared first, being cheapest.
 */
static int
find_image(const struct report *r, const json_t *object, const struct report_frame *frame)
{
    struct image_name wanted = {.name = json_string_value(json_object_get(object, "image"))};
    wanted.has_uuid = load_uuid(object, "image_uuid", &wanted.uuid);
    bool named = wanted.has_uuid || wanted.name;
    uint64_t start = frame->addr - frame->image_offset;
    if (!frame->has_image_offset || (!named && frame->status == REPORT_FRAME_UNKNOWN_IMAGE))
        start = UINT64_MAX;
    for (size_t i = 0; i < r->n_images && start != UINT64_MAX; i++) {
        if (r->images[i].addr == start && is_named(&r->images[i], &wanted))
            return (int)i;
    }
    for (size_t i = 0; i < r->n_images && named; i++) {
        if (is_named(&r->images[i], &wanted))
            return (int)i;
    }
    return -1;
}

static void
load_symbol(struct load *l, const json_t *object, struct report_symbol *symbol)
{
    symbol->function = load_text(l, object, "function");
    symbol->mangled = load_text(l, object, "mangled");
    symbol->file = load_text(l, object, "file");
    symbol->line = load_u32(object, "line");
    symbol->column = load_u32(object, "column");
    symbol->has_offset = json_scan_u64(json_object_get(object, "offset"), &symbol->offset);
    symbol->inlined = load_bool(object, "inlined");
    symbol->source = load_text(l, object, "source");
    symbol->also = load_text_list(l, json_object_get(object, "also"), &symbol->n_also);
}

static void
load_frame(struct load *l, const json_t *object, struct report_frame *frame)
{
    frame->addr = load_u64(object, "address");
    frame->lookup_addr = load_u64(object, "lookup_address");
    frame->adjust = frame->lookup_addr == frame->addr ? REPORT_ADJUST_EXACT : REPORT_ADJUST_RETURN;
    const char *status = json_string_value(json_object_get(object, "status"));
    int number = number_of(status, status_name, REPORT_FRAME_SYMBOLICATED,
                           REPORT_FRAME_MALFORMED_SYMBOL_FILE);
    frame->status = number < 0 ? REPORT_FRAME_UNRESOLVED : (enum report_frame_status)number;
    if (frame->status == REPORT_FRAME_UNRESOLVED)
        frame->adjust = REPORT_ADJUST_AUTO;
    const char *trust = json_string_value(json_object_get(object, "trust"));
    number = number_of(trust, trust_name, REPORT_TRUST_GIVEN, REPORT_TRUST_UNWIND);
    frame->trust = number < 0 ? REPORT_TRUST_GIVEN : (enum report_trust)number;
    frame->has_image_offset =
        json_scan_u64(json_object_get(object, "image_offset"), &frame->image_offset);
    frame->has_client_start =
        json_scan_u64(json_object_get(object, "symbol_address"), &frame->client_start);
    frame->image = find_image(l->report, object, frame);
    frame->samples = load_u32(object, "samples");
    frame->in_app = load_bool(object, "in_app");
    const json_t *list = json_object_get(object, "symbols");
    frame->symbols = load_array(l, list, sizeof(*frame->symbols), &frame->n_symbols);
    for (size_t i = 0; i < frame->n_symbols && !l->failed; i++)
        load_symbol(l, json_array_get(list, i), &frame->symbols[i]);
}

static void
load_registers(struct load *l, const json_t *object, struct report_thread *thread)
{
    size_t n = json_object_size(object);
    thread->registers =
        n && !l->failed ? fz_arena_array(l->arena, n, sizeof(*thread->registers)) : NULL;
    if (n && !thread->registers)
        l->failed = true;
    const char *name;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct report_register reg = {.name = NULL};
        if (l->failed)
            break;
        if (!json_scan_u64(value, &reg.value))
            continue;
        reg.name = keep(l, fz_span_cstr(name));
        thread->registers[thread->n_registers++] = reg;
    }
}

static struct report_frame *
load_frames(struct load *l, const json_t *object, size_t *ret_n, size_t *ret_n_cut)
{
    const json_t *list = json_object_get(object, "frames");
    struct report_frame *frames = load_array(l, list, sizeof(*frames), ret_n);
    for (size_t i = 0; i < *ret_n && !l->failed; i++)
        load_frame(l, json_array_get(list, i), &frames[i]);
    *ret_n_cut = (size_t)load_u64(object, "frames_cut");
    return frames;
}

static struct report_memory
load_memory(struct load *l, const json_t *object)
{
    struct report_memory memory = {.addr = load_u64(object, "address"),
                                   .size = load_u64(object, "size")};
    const char *bytes = json_string_value(json_object_get(object, "bytes"));
    /* What cannot be read is as good as left out. */
    if (bytes)
        fz_ignore(fz_text_base64_decode(fz_span_cstr(bytes), l->arena, &memory.bytes, NULL));
    return memory;
}

static void
load_threads(struct load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "threads");
    struct report *r = l->report;
    r->threads = load_array(l, list, sizeof(*r->threads), &r->n_threads);
    for (size_t i = 0; i < r->n_threads && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        struct report_thread *thread = &r->threads[i];
        thread->index = load_int(object, "index", (int64_t)i);
        thread->name = load_text(l, object, "name");
        thread->queue = load_text(l, object, "queue");
        thread->state = load_text(l, object, "state");
        thread->crashed = load_bool(object, "crashed");
        thread->samples = load_u32(object, "samples");
        load_registers(l, json_object_get(object, "registers"), thread);
        thread->stack = load_memory(l, json_object_get(object, "stack"));
        thread->notable_json = load_dump(l, object, "notable_addresses");
        thread->frames = load_frames(l, object, &thread->n_frames, &thread->n_frames_cut);
    }
    list = json_object_get(root, "memory");
    r->memory = load_array(l, list, sizeof(*r->memory), &r->n_memory);
    for (size_t i = 0; i < r->n_memory && !l->failed; i++)
        r->memory[i] = load_memory(l, json_array_get(list, i));
    r->exception_frames = load_frames(l, json_object_get(root, "exception_backtrace"),
                                      &r->n_exception_frames, &r->n_exception_frames_cut);
}

static void
load_attachments(struct load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "attachments");
    struct report *r = l->report;
    r->attachments = load_array(l, list, sizeof(*r->attachments), &r->n_attachments);
    for (size_t i = 0; i < r->n_attachments && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        r->attachments[i] = (struct report_attachment){
            .name = load_text(l, object, "name"),
            .type = load_text(l, object, "type"),
            .kind = load_text(l, object, "kind"),
            .offset = load_u64(object, "offset"),
            .size = load_u64(object, "size"),
        };
    }
}

static void
load_crash(struct load *l, const json_t *object, struct report_crash *crash)
{
    crash->thread = load_int(object, "thread", -1);
    crash->signal = load_text(l, object, "signal");
    crash->mach = load_text(l, object, "mach");
    crash->code = load_text(l, object, "code");
    crash->exception = load_text(l, object, "exception");
    crash->exception_mangled = load_text(l, object, "exception_mangled");
    crash->reason = load_text(l, object, "reason");
    crash->has_address = json_scan_u64(json_object_get(object, "address"), &crash->address);
    crash->signal_code = load_text(l, object, "signal_code");
    crash->subtype = load_text(l, object, "subtype");
    const json_t *codes = json_object_get(object, "mach_codes");
    crash->mach_codes = load_array(l, codes, sizeof(*crash->mach_codes), &crash->n_mach_codes);
    for (size_t i = 0; i < crash->n_mach_codes; i++) {
        if (!json_scan_u64(json_array_get(codes, i), &crash->mach_codes[i]))
            crash->mach_codes[i] = 0;
    }
    crash->termination = load_text(l, object, "termination");
    crash->diagnosis = load_text(l, object, "diagnosis");
    crash->messages = load_text_list(l, json_object_get(object, "messages"), &crash->n_messages);
}

static void
load_origin(struct load *l, const json_t *root, struct report_envelope *envelope)
{
    struct report *r = l->report;
    envelope->id = load_text(l, root, "id");
    envelope->project = load_text(l, root, "project");
    envelope->status = load_text(l, root, "status");
    envelope->received_ms = load_time(root, "received");
    r->id = load_text(l, root, "client_id");
    if (!r->id)
        r->id = envelope->id;
    r->format = load_text(l, root, "format");
    r->kind = load_text(l, root, "kind");
    r->timestamp_ms = load_time(root, "timestamp");
    const json_t *app = json_object_get(root, "app"), *os = json_object_get(root, "os");
    r->app_id = load_text(l, app, "id");
    r->app_name = load_text(l, app, "name");
    r->app_version = load_text(l, app, "version");
    r->app_build = load_text(l, app, "build");
    r->os_name = load_text(l, os, "name");
    r->os_version = load_text(l, os, "version");
    r->os_build = load_text(l, os, "build");
    r->device_model = load_text(l, json_object_get(root, "device"), "model");
    r->arch = load_text(l, root, "arch");
    r->environment = load_text(l, root, "environment");
    const json_t *process = json_object_get(root, "process");
    r->process = (struct report_process){
        .name = load_text(l, process, "name"),
        .path = load_text(l, process, "path"),
        .parent = load_text(l, process, "parent"),
        .pid = load_int(process, "pid", 0),
        .parent_pid = load_int(process, "parent_pid", 0),
        .launched_ms = load_time(process, "launched"),
    };
    load_crash(l, json_object_get(root, "crash"), &r->crash);
}

/* The members that are JSON texts in the model, cut out of the repaired text. */
static void
load_verbatim(struct load *l, struct fz_span text)
{
    struct report *r = l->report;
    const struct {
        const char *key, **at;
    } members[] = {{"user", &r->user_json},
                   {"tags", &r->tags_json},
                   {"breadcrumbs", &r->breadcrumbs_json},
                   {"extra", &r->extra_json}};
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        for (size_t i = 0; i < FZ_ARRAY_LEN(members); i++) {
            if (fz_span_is(member.key, members[i].key))
                *members[i].at = keep(l, member.value);
        }
    }
}

/* The list has room for more, since report_note() appends to it. */
static void
load_notes(struct load *l, const json_t *root)
{
    struct report *r = l->report;
    const json_t *list = json_object_get(root, "notes");
    size_t n = json_array_size(list);
    if (n)
        r->notes = fz_arena_array(l->arena, REPORT_NOTES_MAX, sizeof(*r->notes));
    if (n && !r->notes)
        l->failed = true;
    for (size_t i = 0; i < n && r->n_notes < REPORT_NOTES_MAX && !l->failed; i++) {
        const json_t *value = json_array_get(list, i);
        if (json_is_string(value))
            r->notes[r->n_notes++] = keep(l, fz_span_cstr(json_string_value(value)));
    }
}

static void
decref(json_t **value)
{
    json_decref(*value);
}

enum fz_code
report_load_json(struct fz_span json, struct fz_arena *arena, struct report *ret,
                 struct report_envelope *ret_envelope, struct fz_error *err)
{
    struct json_scan_limits limits = {JSON_SCAN_DEPTH_MAX, SIZE_MAX, arena->cap};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(decref) json_t *root = NULL;
    enum fz_code code = json_scan_load_text(json, &limits, &text, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    if (!json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "stored report: not a JSON object");
    struct report report = {0};
    struct report_envelope envelope = {0};
    struct load load = {.report = &report, .arena = arena};
    load_origin(&load, root, &envelope);
    load_images(&load, root);
    load_threads(&load, root);
    load_attachments(&load, root);
    load_verbatim(&load, fz_buffer_span(&text));
    load_notes(&load, root);
    if (load.failed)
        return fz_arena_fail(arena, err);
    *ret = report;
    *ret_envelope = envelope;
    return FZ_OK;
}
