/* A PLCrashReporter report's threads, frames, registers and images. */
#include <stdio.h>

#include "server/ingest/plcrash/plcrash.h"

enum { THREADS = 3, BINARY_IMAGES = 4 };                              /* fields of the report */
enum { THREAD_FRAMES = 2, THREAD_CRASHED = 3, THREAD_REGISTERS = 4 }; /* of a thread */

struct frame_read {
    struct report_symbol symbol;
    uint64_t start;
    bool has_pc;
};

/* The next message in a field of that number; false at the end and when memory is out. */
static bool
next_of(struct plcrash *p, struct protobuf *message, uint32_t number, struct protobuf_field *ret)
{
    /* The order of fields is free, so other fields may be between two threads. */
    while (!p->b.failed && protobuf_next(message, ret)) {
        if (ret->number == number && ret->is_bytes)
            return true;
    }
    return false;
}

static size_t
count_field(struct plcrash *p, struct protobuf message, uint32_t number)
{
    struct protobuf_field field;
    size_t n = 0;
    while (next_of(p, &message, number, &field))
        n++;
    return n;
}

static void
read_symbol(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct frame_read *frame = target;
    const struct plcrash_row rows[] = {
        {1, "name", .text = &frame->symbol.function},
        {2, "start_address", .value = &frame->start},
        {.number = 3}, /* where it ends: of no use for this frame */
    };
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    /* The name comes from the symbol table, where C's names have a leading underscore. */
    if (frame->symbol.function && frame->symbol.function[0] == '_')
        frame->symbol.function++;
}

/* One frame; false, with a note, if it has no pc. */
static bool
read_frame(struct plcrash *p, const struct protobuf_field *field, const char *where,
           struct report_frame *ret)
{
    struct frame_read frame = {.has_pc = false};
    const struct plcrash_row rows[] = {
        {3, "pc", .value = &ret->addr, .has = &frame.has_pc},
        {6, "symbol", .read = read_symbol, .target = &frame},
    };
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    /* In a file that is cut, the last frame may lack its fields. */
    if (!frame.has_pc && !field->cut)
        ingest_note(&p->b, "%s: no pc", where);
    if (frame.symbol.function)
        ingest_set_start(ret, &frame.symbol, frame.start);
    if (frame.has_pc)
        ingest_add_client_symbol(&p->b, ret, &frame.symbol);
    return frame.has_pc;
}

struct ingest_stack
plcrash_stack(struct plcrash *p, struct protobuf message, uint32_t number, const char *where)
{
    struct ingest_stack stack = ingest_stack_make(&p->b, where, count_field(p, message, number));
    struct protobuf_field field;
    /* Counted first, so that a cut is noted with the full number. */
    for (size_t i = 0, n = stack.room; i < n && next_of(p, &message, number, &field); i++) {
        char at[INGEST_WHERE];
        struct report_frame frame = {.image = -1};
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        if (read_frame(p, &field, at, &frame))
            (void)ingest_stack_add(&p->b, &stack, &frame);
        else
            stack.has_gap = true;
    }
    return stack;
}

static void
read_registers(struct plcrash *p, struct protobuf message, const char *where,
               struct report_thread *thread)
{
    struct protobuf_field field;
    (void)ingest_limit(&p->b, where, count_field(p, message, THREAD_REGISTERS),
                       INGEST_REGISTERS_MAX);
    while (next_of(p, &message, THREAD_REGISTERS, &field)) {
        struct report_register reg = {.number = FZ_NO_REGISTER};
        const struct plcrash_row rows[] = {
            {1, "name", .text = &reg.name},
            {2, "value", .value = &reg.value},
        };
        plcrash_message(p, &field, where, rows, FZ_ARRAY_LEN(rows));
        if (!reg.name)
            ingest_note(&p->b, "%s: a register without a name", where);
        /* The last register of a file that is cut has a part of its value only. */
        else if (!field.cut)
            ingest_add_register(&p->b, thread, fz_span_cstr(reg.name), reg.value);
    }
}

static void
read_thread(struct plcrash *p, const struct protobuf_field *field, size_t place,
            struct report_thread *thread)
{
    /* Not all writers set thread_number. */
    uint64_t number = place, crashed = 0;
    char where[INGEST_WHERE], at[INGEST_WHERE];
    const struct plcrash_row rows[] = {
        {1, "thread_number", .value = &number},
        {.number = THREAD_FRAMES},
        {THREAD_CRASHED, "crashed", .value = &crashed},
        {.number = THREAD_REGISTERS},
    };
    snprintf(where, sizeof(where), "threads[%zu]", place);
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    /* The field has 32 bits; damaged varints have more. */
    thread->index = (int64_t)(uint32_t)number;
    thread->crashed = crashed != 0;
    snprintf(at, sizeof(at), "%s.frames", where);
    struct ingest_stack stack = plcrash_stack(p, protobuf_inner(field), THREAD_FRAMES, at);
    ingest_set_stack(thread, &stack);
    snprintf(at, sizeof(at), "%s.registers", where);
    read_registers(p, protobuf_inner(field), at, thread);
}

/* The place of the crashed thread, so that the limit does not cut it off; 0 without one. */
static size_t
crashed_position(struct plcrash *p, struct protobuf message)
{
    struct protobuf_field field, inner;
    for (size_t i = 0; next_of(p, &message, THREADS, &field); i++) {
        struct protobuf thread = protobuf_inner(&field);
        while (protobuf_next(&thread, &inner)) {
            /* Without reading the frames: there may be far more threads than the limit lets in. */
            if (inner.number == THREAD_CRASHED && !inner.is_bytes && inner.value)
                return i;
        }
    }
    return 0;
}

void
plcrash_threads(struct plcrash *p)
{
    struct protobuf message = protobuf_start(p->body, p->offset);
    struct protobuf_field field;
    size_t all = count_field(p, message, THREADS), crashed = crashed_position(p, message), n = 0;
    size_t max = ingest_limit(&p->b, "threads", all, p->b.limits->threads);
    for (size_t number = 0; n < max && next_of(p, &message, THREADS, &field); number++) {
        /* Reserve the last place for the crashed thread, if it is still to come. */
        if (n + 1 == max && number < crashed)
            continue;
        struct report_thread *thread = ingest_add_thread(&p->b);
        if (!thread)
            return;
        n++;
        read_thread(p, &field, number, thread);
    }
}

static void
read_image(struct plcrash *p, const struct protobuf_field *field, const char *where)
{
    struct report_image image = {0};
    struct plcrash_cpu cpu = {0};
    bool has_addr = false;
    const struct plcrash_row rows[] = {
        {1, "base_address", .value = &image.addr, .has = &has_addr},
        {2, "size", .value = &image.size},
        {3, "name", .text = &image.path},
        {4, "uuid", .uuid = &image.uuid, .has = &image.has_uuid},
        {5, "code_type", .read = plcrash_read_cpu, .target = &cpu},
    };
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    if (!has_addr) {
        ingest_note(&p->b, "%s: no base address, left out", where);
        return;
    }
    ingest_clip_size(&p->b, &image, where, "size");
    /* PLCrashReporter calls the path "name". */
    ingest_set_path(&image, image.path);
    image.arch = plcrash_cpu_name(&cpu);
    (void)ingest_add_image(&p->b, &image);
}

void
plcrash_images(struct plcrash *p)
{
    struct protobuf message = protobuf_start(p->body, p->offset);
    struct protobuf_field field;
    size_t max =
        ingest_limit(&p->b, "images", count_field(p, message, BINARY_IMAGES), p->b.limits->images);
    for (size_t i = 0; i < max && next_of(p, &message, BINARY_IMAGES, &field); i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "images[%zu]", i);
        read_image(p, &field, where);
    }
}
