/* A PLCrashReporter report's threads, frames, registers and images. */
#include <stdio.h>

#include "base/text.h"
#include "server/ingest/plcrash/plcrash.h"

enum { REGISTERS_MAX = 256 };

enum root_field { THREADS = 3, BINARY_IMAGES = 4 };

struct frame_taken {
    struct report_frame frame;
    struct report_symbol symbol;
    bool has_pc, has_start;
};

static size_t
count_field(struct protobuf message, uint32_t number)
{
    struct protobuf_field field;
    size_t n = 0;
    while (protobuf_next(&message, &field))
        n += field.number == number && field.is_bytes;
    return n;
}

/* The client's name as the symbol table spells it: C's leading underscore is not part of it. */
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
        taken->has_start =
            plcrash_number(p, field, where, "start_address", &taken->frame.client_start);
        return true;
    case 3: /* the end of the symbol tells nothing more about this frame */
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

struct plcrash_frames
plcrash_frames(struct plcrash *p, struct protobuf message, uint32_t number, const char *where)
{
    struct plcrash_frames ret = {0};
    struct protobuf_field field;
    size_t n = count_field(message, number), i = 0;
    size_t max = ingest_limit(&p->b, where, n, p->b.limits->frames);
    ret.n_cut = n - max;
    ret.frames = max ? ingest_alloc(&p->b, max, sizeof(*ret.frames)) : NULL;
    while (i < max && !p->b.failed && protobuf_next(&message, &field)) {
        char at[INGEST_WHERE];
        struct frame_taken taken = {.frame.image = -1};
        if (field.number != number || !field.is_bytes)
            continue;
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        plcrash_message(p, &field, at, take_frame, &taken);
        if (!taken.has_pc) {
            /* Where the file is cut there may be no more than the frame's head. */
            if (!field.cut)
                report_note(p->b.report, p->b.arena, "%s: no pc", at);
            i++;
            continue;
        }
        taken.frame.has_client_start = taken.has_start && taken.symbol.function;
        if (taken.has_start && taken.frame.client_start <= taken.frame.addr) {
            taken.symbol.has_offset = true;
            taken.symbol.offset = taken.frame.addr - taken.frame.client_start;
        }
        /* When frames before it are left out, this one is still a return address. */
        if (i > 0 && ret.n == 0)
            taken.frame.adjust = REPORT_ADJUST_RETURN;
        ingest_add_client_symbol(&p->b, &taken.frame, &taken.symbol);
        ret.frames[ret.n++] = taken.frame;
        i++;
    }
    return ret;
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
    size_t n = count_field(message, 4);
    size_t max = ingest_limit(&p->b, where, n, REGISTERS_MAX);
    thread->registers = max ? ingest_alloc(&p->b, max, sizeof(*thread->registers)) : NULL;
    while (thread->n_registers < max && !p->b.failed && protobuf_next(&message, &field)) {
        struct report_register reg = {0};
        if (field.number != 4 || !field.is_bytes)
            continue;
        plcrash_message(p, &field, where, take_register, &reg);
        if (!reg.name) {
            report_note(p->b.report, p->b.arena, "%s: a register without a name", where);
            max--;
        } else if (!field.cut) {
            thread->registers[thread->n_registers++] = reg;
        }
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
    case 3:
        if (plcrash_number(p, field, where, "crashed", &number))
            thread->crashed = number != 0;
        return true;
    default: /* frames and registers are taken by themselves */
        return field->number == 2 || field->number == 4;
    }
}

void
plcrash_threads(struct plcrash *p)
{
    struct report *r = p->b.report;
    struct protobuf message = protobuf_start(p->body, p->offset);
    struct protobuf_field field;
    size_t max = ingest_limit(&p->b, "threads", p->n_threads, p->b.limits->threads), i = 0;
    r->threads = max ? ingest_alloc(&p->b, max, sizeof(*r->threads)) : NULL;
    for (; r->n_threads < max && !p->b.failed && protobuf_next(&message, &field);) {
        char where[INGEST_WHERE], at[INGEST_WHERE];
        if (field.number != THREADS || !field.is_bytes)
            continue;
        size_t number = i++;
        /* The last place is for the crashed thread, if it is still to come. */
        if (r->n_threads + 1 == max && p->crashed < p->n_threads && number < p->crashed &&
            max < p->n_threads)
            continue;
        struct report_thread *thread = &r->threads[r->n_threads++];
        thread->index = (int64_t)number;
        snprintf(where, sizeof(where), "threads[%zu]", number);
        plcrash_message(p, &field, where, take_thread, thread);
        snprintf(at, sizeof(at), "%s.frames", where);
        struct plcrash_frames frames = plcrash_frames(p, protobuf_inner(&field), 2, at);
        thread->frames = frames.frames;
        thread->n_frames = frames.n;
        thread->n_frames_cut = frames.n_cut;
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
    struct report *r = p->b.report;
    struct protobuf message = protobuf_start(p->body, p->offset);
    struct protobuf_field field;
    size_t max = ingest_limit(&p->b, "images", p->n_images, p->b.limits->images), i = 0;
    r->images = max ? ingest_alloc(&p->b, max, sizeof(*r->images)) : NULL;
    while (i < max && !p->b.failed && protobuf_next(&message, &field)) {
        char where[INGEST_WHERE];
        struct image_taken taken = {0};
        if (field.number != BINARY_IMAGES || !field.is_bytes)
            continue;
        snprintf(where, sizeof(where), "images[%zu]", i++);
        plcrash_message(p, &field, where, take_image, &taken);
        if (!taken.has_addr) {
            report_note(r, p->b.arena, "%s: no base address, left out", where);
            continue;
        }
        struct report_image *image = &taken.image;
        if (image->size > UINT64_MAX - image->addr) {
            report_note(r, p->b.arena, "%s.size: reaches beyond 2^64", where);
            image->size = UINT64_MAX - image->addr;
        }
        image->name = image->path ? fz_text_base_name(image->path) : NULL;
        image->arch = plcrash_cpu_name(&taken.cpu);
        r->images[r->n_images++] = *image;
    }
}
