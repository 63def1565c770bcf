#include "server/report/ips/parts.h"

#include <stdio.h>

#include "base/text.h"

/* x0 to x28 are 0 to 28. */
static bool
is_x(const struct report_register *reg)
{
    return reg->number >= 0 && reg->number < FZ_ARM64_FP;
}

/* x0 to x28 are an array in Apple's arm64 state. How many from x0 on the thread has; registers
 * after a gap are written by name, since zeros in the gap would be invented. */
static size_t
leading_x(const struct report_thread *thread)
{
    uint32_t seen = 0;
    size_t n = 0;
    for (size_t i = 0; i < thread->n_registers; i++) {
        if (is_x(&thread->registers[i]))
            seen |= (uint32_t)1 << thread->registers[i].number;
    }
    while (seen >> n & 1)
        n++;
    return n;
}

static void
write_register(struct json_write *w, const struct report_thread *thread, const char *key,
               uint64_t value)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    json_write_open(w, key, '{');
    json_write_u64(w, "value", value);
    if (key && report_apple_text_in(thread->notable_json, key, "description", &text))
        json_write_text(w, "description", fz_buffer_cstr(&text));
    json_write_close(w, '}');
}

static void
write_registers(struct json_write *w, const struct report *r, const struct report_thread *thread)
{
    enum fz_arch_cpu cpu = report_cpu(r);
    if (thread->n_registers == 0)
        return;
    /* Other architectures have no array of registers in Apple's state. */
    bool is_arm64 = cpu == FZ_CPU_ARM64;
    size_t n_x = is_arm64 ? leading_x(thread) : 0;
    uint64_t x[29] = {0};
    for (size_t i = 0; n_x && i < thread->n_registers; i++) {
        if (is_x(&thread->registers[i]))
            x[thread->registers[i].number] = thread->registers[i].value;
    }
    /* Written for each thread that has registers, though Apple has them for one only. */
    json_write_open(w, "threadState", '{');
    if (n_x) {
        json_write_open(w, "x", '[');
        for (size_t i = 0; i < n_x; i++)
            write_register(w, thread, NULL, x[i]);
        json_write_close(w, ']');
    }
    if (cpu != FZ_CPU_UNKNOWN)
        json_write_text(w, "flavor",
                        is_arm64            ? "ARM_THREAD_STATE64"
                        : cpu == FZ_CPU_ARM ? "ARM_THREAD_STATE"
                                            : "x86_THREAD_STATE");
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        if (!is_x(reg) || (size_t)reg->number >= n_x)
            write_register(w, thread, report_register_name(r, reg), reg->value);
    }
    json_write_close(w, '}');
}

/* An image from which the frame has no valid offset counts as none. */
static const struct report_image *
image_of(const struct report *r, const struct report_frame *frame)
{
    const struct report_image *image = report_apple_frame_image(r, frame);
    return image && (frame->has_image_offset || frame->addr >= image->addr) ? image : NULL;
}

static void
write_frame(struct report_ips *ips, const struct report_frame *frame,
            const struct report_symbol *symbol)
{
    struct json_write *w = &ips->w;
    const struct report_image *image = image_of(ips->r, frame);
    /* usedImages, which follows, then needs a placeholder. */
    ips->outside = ips->outside || !image;
    json_write_open(w, NULL, '{');
    json_write_u64(w, "imageOffset", image ? report_apple_frame_offset(image, frame) : frame->addr);
    json_write_u64(w, "imageIndex", image ? ips->places[image - ips->r->images] : ips->nowhere);
    if (symbol) {
        json_write_text(w, "symbol", report_apple_function(symbol));
        if (symbol->has_offset || symbol->inlined)
            json_write_u64(w, "symbolLocation", symbol->has_offset ? symbol->offset : 0);
        json_write_text(w, "sourceFile", symbol->file ? fz_text_base_name(symbol->file) : NULL);
        /* 0 means unknown, and Apple leaves the member out. */
        if (symbol->line)
            json_write_u64(w, "sourceLine", symbol->line);
        if (symbol->inlined)
            json_write_bool(w, "inline", true);
    }
    json_write_close(w, '}');
}

static void
write_frames(struct report_ips *ips, const char *key, const struct report_frame *frames, size_t n)
{
    json_write_open(&ips->w, key, '[');
    for (size_t i = 0; i < n; i++) {
        const struct report_frame *frame = &frames[i];
        for (size_t k = 0; k < frame->n_symbols; k++)
            write_frame(ips, frame, &frame->symbols[k]);
        /* A frame without a name keeps its place by its offset. */
        if (frame->n_symbols == 0)
            write_frame(ips, frame, NULL);
    }
    json_write_close(&ips->w, ']');
}

static void
write_thread(struct report_ips *ips, const struct report_thread *thread, bool crashed)
{
    static const char *const written[] = {"name",   "queue",       "triggered",
                                          "frames", "threadState", NULL};
    struct json_write *w = &ips->w;
    char key[24];
    snprintf(key, sizeof(key), "%lld", (long long)thread->index);
    const json_t *rest = json_object_get(json_object_get(ips->extra, "threads"), key);
    json_write_open(w, NULL, '{');
    if (crashed)
        json_write_bool(w, "triggered", true);
    if (!json_object_get(rest, "id")) /* the kernel's, where the report has it */
        json_write_i64(w, "id", thread->index);
    report_extra_write(w, rest, written);
    json_write_text(w, "name", thread->name);
    json_write_text(w, "queue", thread->queue);
    write_registers(w, ips->r, thread);
    write_frames(ips, "frames", thread->frames, thread->n_frames);
    json_write_close(w, '}');
}

void
report_ips_stacks(struct report_ips *ips)
{
    const struct report *r = ips->r;
    const struct report_thread *crashed = report_apple_crashed(r);
    if (crashed)
        /* The place in the list, not the index: readers of .ips count threads so. */
        json_write_u64(&ips->w, "faultingThread", (uint64_t)(crashed - r->threads));
    json_write_open(&ips->w, "threads", '[');
    for (size_t i = 0; i < r->n_threads; i++)
        write_thread(ips, &r->threads[i], &r->threads[i] == crashed);
    json_write_close(&ips->w, ']');
    if (r->n_exception_frames)
        write_frames(ips, "lastExceptionBacktrace", r->exception_frames, r->n_exception_frames);
}
