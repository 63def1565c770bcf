/* A PLCrashReporter report's threads, frames, registers and images. */
#include <stdio.h>

#include "server/ingest/plcrash/plcrash.h"

enum { THREADS = 3, BINARY_IMAGES = 4 };                              /* fields of the report */
enum { THREAD_FRAMES = 2, THREAD_CRASHED = 3, THREAD_REGISTERS = 4 }; /* of a thread */

struct frame_taken {
    struct report_frame frame;
    struct report_symbol symbol;
    uint64_t start;
    bool has_pc;
};

/* The next message in a field of that number; false at the end and when memory is out. */
static bool
next_of(struct plcrash *p, struct protobuf *message, uint32_t number, struct protobuf_field *ret)
{
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

/* The client's name comes from the symbol table, where C's names have a leading underscore. */
static bool
take_symbol(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct frame_taken *taken = target;
    switch (field->number) {
    case 1:
        taken->symbol.function = plcrash_text(p, field, where, "name");
        if (taken->symbol.function && taken->symbol.function[0] == '_')
            taken->symbol.function++;
        return true;
    case 2:
        plcrash_number(p, field, where, "start_address", &taken->start);
        return true;
    case 3: /* the end of the symbol; of no use for this frame */
        return true;
    default:
        return false;
    }
}

static bool
take_frame(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct frame_taken *taken = target;
    char at[INGEST_WHERE];
    switch (field->number) {
    case 3:
        taken->has_pc = plcrash_number(p, field, where, "pc", &taken->frame.addr);
        return true;
    case 6:
        snprintf(at, sizeof(at), "%s.symbol", where);
        plcrash_message(p, field, at, take_symbol, taken);
        return true;
    default:
        return false;
    }
}

struct ingest_stack
plcrash_stack(struct plcrash *p, struct protobuf message, uint32_t number, const char *where)
{
    struct ingest_stack stack = ingest_stack_make(&p->b, where, count_field(p, message, number));
    struct protobuf_field field;
    for (size_t i = 0, n = stack.room; i < n && next_of(p, &message, number, &field); i++) {
        char at[INGEST_WHERE];
        struct frame_taken taken = {.frame.image = -1};
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        plcrash_message(p, &field, at, take_frame, &taken);
        if (!taken.has_pc) {
            stack.has_gap = true;
            /* In a file that is cut, the last frame may lack its fields. */
            if (!field.cut)
                ingest_note(&p->b, "%s: no pc", at);
            continue;
        }
        if (taken.symbol.function)
            ingest_set_start(&taken.frame, &taken.symbol, taken.start);
        ingest_add_client_symbol(&p->b, &taken.frame, &taken.symbol);
        (void)ingest_stack_add(&p->b, &stack, &taken.frame);
    }
    return stack;
}

static bool
take_register(struct plcrash *p, const struct protobuf_field *field, const char *where,
              void *target)
{
    struct report_register *reg = target;
    switch (field->number) {
    case 1:
        reg->name = plcrash_text(p, field, where, "name");
        return true;
    case 2:
        plcrash_number(p, field, where, "value", &reg->value);
        return true;
    default:
        return false;
    }
}

static void
take_registers(struct plcrash *p, struct protobuf message, const char *where,
               struct report_thread *thread)
{
    struct protobuf_field field;
    (void)ingest_limit(&p->b, where, count_field(p, message, THREAD_REGISTERS),
                       INGEST_REGISTERS_MAX);
    while (next_of(p, &message, THREAD_REGISTERS, &field)) {
        struct report_register reg = {0};
        plcrash_message(p, &field, where, take_register, &reg);
        if (!reg.name)
            ingest_note(&p->b, "%s: a register without a name", where);
        else if (!field.cut)
            ingest_add_register(&p->b, thread, fz_span_cstr(reg.name), reg.value);
    }
}

static bool
take_thread(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct report_thread *thread = target;
    uint64_t number;
    switch (field->number) {
    case 1:
        if (plcrash_number(p, field, where, "thread_number", &number))
            thread->index = (int64_t)(uint32_t)number;
        return true;
    case THREAD_CRASHED:
        if (plcrash_number(p, field, where, "crashed", &number))
            thread->crashed = number != 0;
        return true;
    default: /* frames and registers are taken by themselves */
        return field->number == THREAD_FRAMES || field->number == THREAD_REGISTERS;
    }
}

/* The place of the crashed thread, so that the limit does not cut it off; 0 without one. */
static size_t
crashed_position(struct plcrash *p, struct protobuf message)
{
    struct protobuf_field field, inner;
    for (size_t i = 0; next_of(p, &message, THREADS, &field); i++) {
        struct protobuf thread = protobuf_inner(&field);
        while (protobuf_next(&thread, &inner)) {
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
        char where[INGEST_WHERE], at[INGEST_WHERE];
        /* Reserve the last place for the crashed thread, if it is still to come. */
        if (n + 1 == max && number < crashed)
            continue;
        struct report_thread *thread = ingest_add_thread(&p->b);
        if (!thread)
            return;
        n++;
        /* Until thread_number, which not all writers set, replaces it. */
        thread->index = (int64_t)number;
        snprintf(where, sizeof(where), "threads[%zu]", number);
        plcrash_message(p, &field, where, take_thread, thread);
        snprintf(at, sizeof(at), "%s.frames", where);
        struct ingest_stack stack = plcrash_stack(p, protobuf_inner(&field), THREAD_FRAMES, at);
        ingest_set_stack(thread, &stack);
        snprintf(at, sizeof(at), "%s.registers", where);
        take_registers(p, protobuf_inner(&field), at, thread);
    }
}

struct image_taken {
    struct report_image image;
    struct plcrash_cpu cpu;
    bool has_addr;
};

static bool
take_image(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct image_taken *taken = target;
    char at[INGEST_WHERE];
    switch (field->number) {
    case 1:
        taken->has_addr = plcrash_number(p, field, where, "base_address", &taken->image.addr);
        return true;
    case 2:
        plcrash_number(p, field, where, "size", &taken->image.size);
        return true;
    case 3:
        taken->image.path = plcrash_text(p, field, where, "name");
        return true;
    case 4:
        taken->image.has_uuid = plcrash_uuid(p, field, where, &taken->image.uuid);
        return true;
    case 5:
        snprintf(at, sizeof(at), "%s.code_type", where);
        plcrash_message(p, field, at, plcrash_cpu_field, &taken->cpu);
        return true;
    default:
        return false;
    }
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
        struct image_taken taken = {0};
        snprintf(where, sizeof(where), "images[%zu]", i);
        plcrash_message(p, &field, where, take_image, &taken);
        if (!taken.has_addr) {
            ingest_note(&p->b, "%s: no base address, left out", where);
            continue;
        }
        ingest_clip_size(&p->b, &taken.image, where, "size");
        ingest_set_path(&taken.image, taken.image.path);
        taken.image.arch = plcrash_cpu_name(&taken.cpu);
        (void)ingest_add_image(&p->b, &taken.image);
    }
}
