#include "server/ingest/common/builder.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arch/registers.h"
#include "base/text.h"
#include "server/ingest/common/exception_names.h"

enum { FIRST_ROOM = 8 };

struct ingest_builder
ingest_builder_make(struct report *report, struct fz_arena *arena, const struct limits *limits)
{
    return (struct ingest_builder){
        .report = report, .arena = arena, .limits = limits, .memory_left = limits->memory_bytes};
}

/* ---- memory, texts, notes ------------------------------------------------------------------- */

void *
ingest_alloc(struct ingest_builder *b, size_t n, size_t size)
{
    void *array = b->failed ? NULL : fz_arena_array(b->arena, n, size);
    if (!array)
        b->failed = true;
    return array;
}

void *
ingest_grow(struct ingest_builder *b, void *items, size_t n, size_t *room, size_t size)
{
    if (n < *room || b->failed)
        return b->failed ? NULL : items;
    size_t more = *room ? *room * 2 : FIRST_ROOM;
    void *grown = ingest_alloc(b, more, size);
    if (!grown)
        return NULL;
    /* An arena frees nothing early: all smaller copies together cost as much as the last one. */
    if (n)
        memcpy(grown, items, n * size);
    *room = more;
    return grown;
}

/* The room of a list that only ever grew from nothing by ingest_grow(), for lists of the model that
 * have no place to store it. */
static size_t
room_of(size_t n)
{
    size_t room = n ? FIRST_ROOM : 0;
    while (room < n)
        room *= 2;
    return room;
}

const char *
ingest_text(struct ingest_builder *b, struct fz_span text)
{
    if (b->failed || text.len == 0)
        return NULL;
    const char *copy = fz_arena_text(b->arena, text);
    b->failed = !copy;
    return copy;
}

const char *
ingest_clean_text(struct ingest_builder *b, struct fz_span text)
{
    if (b->failed || text.len == 0)
        return NULL;
    const char *copy = fz_text_clean_utf8(b->arena, text);
    b->failed = !copy;
    return copy;
}

bool
ingest_is_one_of(struct fz_span text, const char *const *words)
{
    while (words && *words && !fz_span_is(text, *words))
        words++;
    return words && *words;
}

bool
ingest_set_id(struct fz_span text, char ret[FZ_UUID_TEXT])
{
    struct fz_uuid uuid;
    /* Some tools write an id of zeros: as an id it would make all such reports one. */
    if (!fz_uuid_parse(text, &uuid) || fz_uuid_is_nil(&uuid))
        return false;
    fz_uuid_format(&uuid, ret);
    return true;
}

const char *
ingest_uuid_text(struct ingest_builder *b, const struct fz_uuid *uuid)
{
    char text[FZ_UUID_DASHED];
    fz_uuid_format_dashed(uuid, text);
    return ingest_text(b, fz_span_cstr(text));
}

const char *
ingest_printf(struct ingest_builder *b, const char *fmt, ...)
{
    if (b->failed)
        return NULL;
    /* Measured first, since the arena gives memory of an exact size. */
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = len < 0 ? NULL : fz_arena_alloc(b->arena, (size_t)len + 1);
    if (text)
        (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    b->failed = !text;
    return text;
}

void
ingest_note(struct ingest_builder *b, const char *fmt, ...)
{
    char text[256]; /* as much as report_note() keeps */
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    report_note(b->report, b->arena, "%s", text);
}

size_t
ingest_limit(struct ingest_builder *b, const char *where, size_t n, size_t max)
{
    if (n <= max)
        return n;
    ingest_note(b, "%s: %zu, of which %zu are kept", where, n, max);
    return max;
}

/* ---- threads -------------------------------------------------------------------------------- */

struct report_thread *
ingest_add_thread(struct ingest_builder *b)
{
    struct report *r = b->report;
    if (r->n_threads == b->limits->threads) {
        /* Counted and not noted: most formats note the sum once, some find threads one by one. */
        b->n_threads_cut++;
        return NULL;
    }
    struct report_thread *threads =
        ingest_grow(b, r->threads, r->n_threads, &b->room_threads, sizeof(*threads));
    if (!threads)
        return NULL;
    r->threads = threads;
    return &threads[r->n_threads++];
}

int64_t
ingest_free_index(const struct report *report)
{
    int64_t index = 0;
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->threads[i].index >= index && report->threads[i].index < INT64_MAX)
            /* Indexes come from the report, and the largest one has no successor. */
            index = report->threads[i].index + 1;
    }
    return index;
}

void
ingest_mark_crashed(struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->crash.thread < 0 && report->threads[i].crashed)
            report->crash.thread = report->threads[i].index;
    }
    /* Several threads may have the index: formats that sample write one thread for each stack. */
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->crash.thread >= 0 && report->threads[i].index == report->crash.thread)
            report->threads[i].crashed = true;
    }
}

struct ingest_stack
ingest_stack_make(struct ingest_builder *b, const char *where, size_t n)
{
    /* The number of frames comes from the report, so it must not decide how much is allocated. */
    struct ingest_stack stack = {.room = n < b->limits->frames ? n : b->limits->frames};
    stack.n_cut = n - stack.room;
    if (where)
        (void)ingest_limit(b, where, n, stack.room);
    stack.frames = ingest_alloc(b, stack.room, sizeof(*stack.frames));
    return stack;
}

struct report_frame *
ingest_stack_add(struct ingest_builder *b, struct ingest_stack *stack,
                 const struct report_frame *frame)
{
    if (stack->n == b->limits->frames) {
        stack->n_cut++;
        return NULL;
    }
    struct report_frame *frames =
        ingest_grow(b, stack->frames, stack->n, &stack->room, sizeof(*frames));
    if (!frames)
        return NULL;
    stack->frames = frames;
    frames[stack->n] = *frame;
    /* Only the newest frame of a stopped thread is a pc; what called it is a return address. */
    if (stack->n == 0 && stack->has_gap)
        ingest_first_is_return(frames, 1);
    return &frames[stack->n++];
}

void
ingest_first_is_return(struct report_frame *frames, size_t n)
{
    if (n && frames[0].adjust == REPORT_ADJUST_AUTO)
        /* Only where its reader has not decided: some clients have subtracted already. */
        frames[0].adjust = REPORT_ADJUST_RETURN;
}

bool
ingest_same_stack(const struct report_frame *a, size_t n_a, const struct report_frame *b,
                  size_t n_b)
{
    for (size_t i = 0; n_a == n_b && i < n_a; i++) {
        if (a[i].addr != b[i].addr)
            return false;
    }
    return n_a == n_b;
}

void
ingest_set_stack(struct report_thread *thread, const struct ingest_stack *stack)
{
    thread->frames = stack->frames;
    thread->n_frames = stack->n;
    thread->n_frames_cut = stack->n_cut;
}

void
ingest_set_exception_stack(struct report *report, const struct ingest_stack *stack)
{
    report->exception_frames = stack->frames;
    report->n_exception_frames = stack->n;
    report->n_exception_frames_cut = stack->n_cut;
}

void
ingest_add_client_symbol(struct ingest_builder *b, struct report_frame *frame,
                         const struct report_symbol *symbol)
{
    const char *name = symbol->function;
    /* Stripped system code has "<redacted>" for each name, and sample writes "???" without one. */
    if (b->failed || !name || strcmp(name, "<redacted>") == 0 || strcmp(name, "???") == 0)
        return;
    if (!report_add_client_symbol(frame, b->arena, symbol))
        b->failed = true;
}

void
ingest_set_start(struct report_frame *frame, struct report_symbol *symbol, uint64_t start)
{
    /* 0 is what clients write without a symbol; a start above the address would make an offset
     * that wraps. */
    if (start == 0 || start > frame->addr)
        return;
    frame->has_client_start = symbol->has_offset = true;
    frame->client_start = start;
    symbol->offset = frame->addr - start;
}

void
ingest_add_register(struct ingest_builder *b, struct report_thread *thread, struct fz_span name,
                    uint64_t value)
{
    size_t n = thread->n_registers, room = room_of(n);
    /* The copy comes first: without memory for the name there is no register. */
    const char *copy = n < INGEST_REGISTERS_MAX ? ingest_text(b, name) : NULL;
    struct report_register *registers =
        copy ? ingest_grow(b, thread->registers, n, &room, sizeof(*registers)) : NULL;
    if (!registers)
        return;
    registers[n] = (struct report_register){.value = value, .number = FZ_NO_REGISTER, .name = copy};
    thread->registers = registers;
    thread->n_registers++;
}

void
ingest_add_vector(struct ingest_builder *b, struct report_thread *thread, struct fz_span name,
                  const uint8_t bytes[16])
{
    size_t n = thread->n_vectors, room = room_of(n);
    const char *copy = n < INGEST_REGISTERS_MAX ? ingest_text(b, name) : NULL;
    struct report_vector *vectors =
        copy ? ingest_grow(b, thread->vectors, n, &room, sizeof(*vectors)) : NULL;
    if (!vectors)
        return;
    vectors[n] = (struct report_vector){.name = copy, .size = 16};
    memcpy(vectors[n].bytes, bytes, sizeof(vectors[n].bytes));
    thread->vectors = vectors;
    thread->n_vectors++;
}

bool
ingest_starts_elsewhere(const struct report_thread *thread)
{
    for (size_t i = 0; i < thread->n_registers && thread->n_frames; i++) {
        /* Formats name the pc "pc", "rip" or "eip"; on 32-bit ARM one of both values may have
         * the bit that says Thumb. */
        const char *name = thread->registers[i].name;
        if (name && fz_arch_register_has_role(name, FZ_REGISTER_PC))
            return (thread->registers[i].value ^ thread->frames[0].addr) > 1;
    }
    return false;
}

/* ---- images --------------------------------------------------------------------------------- */

int
ingest_add_image(struct ingest_builder *b, const struct report_image *image)
{
    struct report *r = b->report;
    if (r->n_images == b->limits->images) {
        /* Frames can name images without end; the sum is noted once. */
        b->n_images_cut++;
        return -1;
    }
    struct report_image *images =
        ingest_grow(b, r->images, r->n_images, &b->room_images, sizeof(*images));
    if (!images)
        return -1;
    r->images = images;
    images[r->n_images] = *image;
    if (image->has_uuid && fz_uuid_is_nil(&image->uuid))
        /* As a UUID, zeros would make all such binaries one. */
        images[r->n_images].has_uuid = false;
    return (int)r->n_images++;
}

void
ingest_clip_size(struct ingest_builder *b, struct report_image *image, const char *where,
                 const char *key)
{
    if (image->size <= UINT64_MAX - image->addr)
        return;
    image->size = UINT64_MAX - image->addr;
    ingest_note(b, "%s.%s: reaches beyond 2^64", where, key);
}

void
ingest_set_uuid(struct ingest_builder *b, struct report_image *image, const char *text,
                bool required, const char *where, const char *key)
{
    /* Writers spell the same UUID with and without dashes, in either case. */
    image->has_uuid = fz_uuid_parse(fz_span_cstr(text), &image->uuid);
    bool is_nil = image->has_uuid && fz_uuid_is_nil(&image->uuid);
    image->has_uuid = image->has_uuid && !is_nil;
    if (!image->has_uuid && !is_nil && (text || required))
        ingest_note(b, "%s.%s: %s", where, key, text ? "not a UUID" : "missing");
}

void
ingest_set_path(struct report_image *image, const char *path)
{
    image->path = path;
    image->name = path ? fz_text_base_name(path) : NULL;
}

void
ingest_note_cut(struct ingest_builder *b)
{
    const struct report *r = b->report;
    (void)ingest_limit(b, "threads", r->n_threads + b->n_threads_cut, r->n_threads);
    (void)ingest_limit(b, "images", r->n_images + b->n_images_cut, r->n_images);
}

/* ---- the crash, memory ---------------------------------------------------------------------- */

void
ingest_set_mach(struct ingest_builder *b, uint64_t type)
{
    const char *name = ingest_mach_exception(type);
    b->report->crash.mach = name ? name : ingest_printf(b, "EXC_%llu", (unsigned long long)type);
}

void
ingest_set_mach_codes(struct ingest_builder *b, const uint64_t *codes, size_t n)
{
    struct report_crash *crash = &b->report->crash;
    uint64_t *copy = n ? ingest_alloc(b, n, sizeof(*copy)) : NULL;
    if (!copy)
        return;
    memcpy(copy, codes, n * sizeof(*copy));
    crash->mach_codes = copy;
    crash->n_mach_codes = n;
}

void
ingest_set_address_of_codes(struct report_crash *crash)
{
    bool is_access = crash->mach && strcmp(crash->mach, "EXC_BAD_ACCESS") == 0;
    if (!is_access || crash->has_address || crash->n_mach_codes < 2)
        return;
    crash->has_address = true;
    /* code[0] of EXC_BAD_ACCESS is a kern_return_t, code[1] the address (xnu,
     * exception_types.h). */
    crash->address = crash->mach_codes[1];
}

bool
ingest_add_message(struct ingest_builder *b, const char *text)
{
    struct report_crash *crash = &b->report->crash;
    if (!text || b->failed)
        return true;
    /* A report can repeat one message for each of its images. */
    if (crash->n_messages == INGEST_MESSAGES_MAX)
        return false;
    size_t room = room_of(crash->n_messages);
    const char **messages =
        ingest_grow(b, crash->messages, crash->n_messages, &room, sizeof(*messages));
    if (!messages)
        return true;
    messages[crash->n_messages++] = text;
    crash->messages = messages;
    return true;
}

/* How many of `len` captured bytes the report may still carry. */
static size_t
memory_limit(struct ingest_builder *b, const char *where, size_t len)
{
    size_t kept = len < b->memory_left ? len : b->memory_left;
    if (kept < len)
        ingest_note(b, "%s: cut, the report may carry %zu bytes of memory", where,
                    b->limits->memory_bytes);
    b->memory_left -= kept;
    return kept;
}

void
ingest_add_memory(struct ingest_builder *b, const struct report_memory *memory)
{
    struct report *r = b->report;
    size_t room = room_of(r->n_memory);
    struct report_memory *grown = ingest_grow(b, r->memory, r->n_memory, &room, sizeof(*grown));
    if (!grown)
        return;
    b->memory_left -= memory->bytes.len;
    grown[r->n_memory++] = *memory;
    r->memory = grown;
}

bool
ingest_hex_memory(struct ingest_builder *b, const char *where, uint64_t addr, struct fz_span hex,
                  struct report_memory *ret)
{
    /* Before the digits are checked: the limit bounds the work as well. */
    size_t len = memory_limit(b, where, hex.len / 2);
    uint8_t *bytes = len ? ingest_alloc(b, len, 1) : NULL;
    if (!bytes)
        return false;
    if (!fz_text_unhex(fz_span_make(hex.data, len * 2), bytes)) {
        ingest_note(b, "%s: not hex digits, left out", where);
        /* Nothing of it was kept, so other regions may have this room. */
        b->memory_left += len;
        return false;
    }
    *ret = (struct report_memory){
        .addr = addr, .bytes = fz_span_make(bytes, len), .truncated = len < hex.len / 2};
    return true;
}
