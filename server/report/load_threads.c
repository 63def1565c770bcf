/* Threads with their frames and registers, memory, and images, read back from JSON. */
#include "server/report/load.h"

#include "base/json/walk.h"
#include "base/text.h"
#include "server/report/variables.h"

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void
load_symbol_files(struct report_load *l, const json_t *list, struct report_image *image)
{
    image->files = report_load_array(l, list, sizeof(*image->files), &image->n_files);
    for (size_t i = 0; i < image->n_files && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        image->files[i] =
            (struct report_symbol_file){.kind = report_load_text(l, object, "kind"),
                                        .name = report_load_text(l, object, "name"),
                                        .sha256 = report_load_text(l, object, "sha256")};
    }
}

/* Names of a symbol table alone. An image of which no file named anything is not known to be one. */
static bool
lacks_dsym(const struct report_image *image)
{
    bool has_dsym = false;
    for (size_t i = 0; i < image->n_files; i++)
        has_dsym = has_dsym || same_text(image->files[i].kind, "dsym");
    return image->state == REPORT_IMAGE_FOUND && image->n_files && !has_dsym;
}

void
report_load_images(struct report_load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "images");
    struct report *r = l->report;
    r->images = report_load_array(l, list, sizeof(*r->images), &r->n_images);
    for (size_t i = 0; i < r->n_images; i++) {
        const json_t *object = json_array_get(list, i);
        struct report_image *image = &r->images[i];
        image->has_uuid = report_load_uuid(object, "uuid", &image->uuid);
        image->name = report_load_text(l, object, "name");
        image->path = report_load_text(l, object, "path");
        image->arch = report_load_text(l, object, "arch");
        image->bundle_id = report_load_text(l, object, "bundle_id");
        image->version = report_load_text(l, object, "version");
        image->addr = report_load_u64(object, "address");
        image->size = report_load_u64(object, "size");
        image->state = (enum report_image_state)report_load_choice(
            object, "symbols", report_image_state_names, FZ_ARRAY_LEN(report_image_state_names));
        load_symbol_files(l, json_object_get(object, "symbol_files"), image);
        image->wants_better = lacks_dsym(image);
    }
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
    /* Frames name their image; they have no number, since readers of the JSON need none. */
    wanted.has_uuid = report_load_uuid(object, "image_uuid", &wanted.uuid);
    bool named = wanted.has_uuid || wanted.name;
    uint64_t start = frame->addr - frame->image_offset;
    /* Without an offset, or in no image, no start can be searched for. */
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
load_symbol(struct report_load *l, const json_t *object, struct report_symbol *symbol)
{
    symbol->function = report_load_text(l, object, "function");
    symbol->mangled = report_load_text(l, object, "mangled");
    symbol->file = report_load_text(l, object, "file");
    symbol->line = report_load_u32(object, "line");
    symbol->column = report_load_u32(object, "column");
    symbol->has_offset = json_scan_u64(json_object_get(object, "offset"), &symbol->offset);
    symbol->inlined = report_load_bool(object, "inlined");
    symbol->source = report_load_text(l, object, "source");
    symbol->also = report_load_text_list(l, json_object_get(object, "also"), &symbol->n_also);
    report_load_variables(l, object, symbol);
}

/* The offset that names were looked up by: that of the call, where image_offset is that of where it
 * returns to. Bits of Thumb and of pointer authentication are in some of the addresses only. */
static uint64_t
lookup_offset(const struct report *r, const struct report_frame *frame)
{
    uint64_t load = frame->image >= 0 ? r->images[frame->image].addr : 0;
    uint64_t offset = frame->lookup_addr - load;
    if (load && frame->lookup_addr >= load && frame->image_offset - offset <= 2)
        return offset;
    return frame->image_offset - (frame->image_offset && frame->lookup_addr != frame->addr);
}

static enum report_trust
load_trust(const json_t *object)
{
    const char *text = json_string_value(json_object_get(object, "trust"));
    /* Reports of earlier versions have one word for all unwind data. */
    if (text && strcmp(text, "unwind") == 0)
        return REPORT_TRUST_CFI;
    return (enum report_trust)report_load_choice(object, "trust", report_trust_names,
                                                 FZ_ARRAY_LEN(report_trust_names));
}

static void
load_frame(struct report_load *l, const json_t *object, struct report_frame *frame)
{
    frame->addr = report_load_u64(object, "address");
    frame->lookup_addr = report_load_u64(object, "lookup_address");
    /* The JSON has the result of the adjustment only, which is enough to write the report again. */
    frame->adjust = frame->lookup_addr == frame->addr ? REPORT_ADJUST_EXACT : REPORT_ADJUST_RETURN;
    frame->status = (enum report_frame_status)report_load_choice(
        object, "status", report_frame_status_names, FZ_ARRAY_LEN(report_frame_status_names));
    /* Not resolved yet, so no address was adjusted. */
    if (frame->status == REPORT_FRAME_UNRESOLVED)
        frame->adjust = REPORT_ADJUST_AUTO;
    frame->trust = load_trust(object);
    frame->has_image_offset =
        json_scan_u64(json_object_get(object, "image_offset"), &frame->image_offset);
    frame->has_client_start =
        json_scan_u64(json_object_get(object, "symbol_address"), &frame->client_start);
    frame->image = find_image(l->report, object, frame);
    if (frame->has_image_offset && frame->status != REPORT_FRAME_UNRESOLVED)
        frame->lookup_offset = lookup_offset(l->report, frame);
    frame->samples = report_load_u32(object, "samples");
    frame->in_app = report_load_bool(object, "in_app");
    frame->rule = report_load_text(l, object, "rule");
    frame->is_anchor = report_load_bool(object, "anchor");
    /* All symbols, whoever named them: which were the client's is in `source`. */
    const json_t *list = json_object_get(object, "symbols");
    frame->symbols = report_load_array(l, list, sizeof(*frame->symbols), &frame->n_symbols);
    for (size_t i = 0; i < frame->n_symbols && !l->failed; i++)
        load_symbol(l, json_array_get(list, i), &frame->symbols[i]);
}

/* Registers and vectors are one object; report_number_registers() finds out which is which. */
static void
load_registers(struct report_load *l, const json_t *object, struct report_thread *thread)
{
    size_t n = json_object_size(object);
    bool has_room = n && !l->failed;
    thread->registers = has_room ? fz_arena_array(l->arena, n, sizeof(*thread->registers)) : NULL;
    thread->vectors = has_room ? fz_arena_array(l->arena, n, sizeof(*thread->vectors)) : NULL;
    if (n && (!thread->registers || !thread->vectors))
        l->failed = true;
    const char *name;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct report_register reg = {.number = FZ_NO_REGISTER};
        struct report_vector vector = {.size = 16};
        struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
        if (l->failed)
            break;
        bool is_vector = report_is_vector_name(name);
        /* A number, or more bits than one has. */
        if (json_scan_u64(value, &reg.value))
            report_vector_set(reg.value, vector.bytes);
        else if (!is_vector || !report_vector_parse(text, vector.bytes))
            continue;
        vector.name = reg.name = report_load_keep(l, fz_span_cstr(name));
        if (is_vector)
            thread->vectors[thread->n_vectors++] = vector;
        else
            thread->registers[thread->n_registers++] = reg;
    }
}

static struct report_frame *
load_frames(struct report_load *l, const json_t *object, size_t *ret_n, size_t *ret_n_cut)
{
    const json_t *list = json_object_get(object, "frames");
    struct report_frame *frames = report_load_array(l, list, sizeof(*frames), ret_n);
    for (size_t i = 0; i < *ret_n && !l->failed; i++)
        load_frame(l, json_array_get(list, i), &frames[i]);
    *ret_n_cut = (size_t)report_load_u64(object, "frames_cut");
    return frames;
}

static struct report_memory
load_memory(struct report_load *l, const json_t *object)
{
    struct report_memory memory = {.addr = report_load_u64(object, "address"),
                                   .size = report_load_u64(object, "size"),
                                   .why = report_load_text(l, object, "why"),
                                   .truncated = report_load_bool(object, "truncated")};
    const char *bytes = json_string_value(json_object_get(object, "bytes"));
    /* What cannot be read is as good as left out. */
    if (bytes)
        fz_ignore(fz_text_base64_decode(fz_span_cstr(bytes), l->arena, &memory.bytes, NULL));
    return memory;
}

void
report_load_threads(struct report_load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "threads");
    struct report *r = l->report;
    r->threads = report_load_array(l, list, sizeof(*r->threads), &r->n_threads);
    for (size_t i = 0; i < r->n_threads && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        struct report_thread *thread = &r->threads[i];
        thread->index = report_load_int(object, "index", (int64_t)i);
        thread->name = report_load_text(l, object, "name");
        thread->queue = report_load_text(l, object, "queue");
        thread->state = report_load_text(l, object, "state");
        thread->crashed = report_load_bool(object, "crashed");
        thread->samples = report_load_u32(object, "samples");
        load_registers(l, json_object_get(object, "registers"), thread);
        thread->stack = load_memory(l, json_object_get(object, "stack"));
        thread->notable_json = report_load_dump(l, object, "notable_addresses");
        thread->frames_truncated = report_load_bool(object, "frames_truncated");
        thread->frames = load_frames(l, object, &thread->n_frames, &thread->n_frames_cut);
    }
    list = json_object_get(root, "memory");
    r->memory = report_load_array(l, list, sizeof(*r->memory), &r->n_memory);
    for (size_t i = 0; i < r->n_memory && !l->failed; i++)
        r->memory[i] = load_memory(l, json_array_get(list, i));
    r->exception_frames = load_frames(l, json_object_get(root, "exception_backtrace"),
                                      &r->n_exception_frames, &r->n_exception_frames_cut);
}
