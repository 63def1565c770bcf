/*
 * Apple's crash text, report version 104, as Xcode and Console show it:
 *
 *   Incident Identifier: 0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11
 *   Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
 *   Thread 0 Crashed:
 *   0   Demo                          <tab>0x0000000104004068 inner(int) [inlined] (work.c:2)
 *   1   Demo                          <tab>0x0000000104004068 work_step + 8 (work.c:5)
 *   2   dyld                          <tab>0x00000001a0004e28 0x1a0000000 + 20008
 *   Binary Images:
 *   0x104000000 - 0x10400bfff Demo arm64  <4c4c445b...> /private/.../Demo.app/Demo
 *
 * An inlined call is a line of its own with a number of its own and the address of its frame. What
 * is not known has no line. Names come from outside: control characters in them become '?', so none
 * can forge a line or steer a terminal.
 */
#include "server/report/render_apple.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

enum { PER_LINE = 4 };

/* Characters that a terminal acts upon (C0, DEL, C1), that turn the reading direction, and bytes of
 * a text that was cut inside a character. */
static bool
is_unsafe(const uint8_t *c, size_t len)
{
    if (len <= 1)
        return len == 0 || c[0] < 0x20 || c[0] == 0x7f;
    if (len == 2)
        return c[0] == 0xc2 && c[1] < 0xa0;
    if (len != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

static void
put_text(struct fz_buffer *out, const char *text)
{
    struct fz_span all = fz_span_cstr(text), rest;
    size_t start = 0, i = 0;
    while (fz_span_sub(all, i, all.len - i, &rest) && rest.len) {
        size_t len = fz_text_utf8_len(rest);
        if (is_unsafe(rest.data, len)) {
            fz_buffer_append(out, text + start, i - start);
            fz_buffer_char(out, '?');
            start = i + (len ? len : 1);
        }
        i += len ? len : 1;
    }
    fz_buffer_append(out, text + start, i - start);
}

/* "<key>: <value>" with the value in column 21; nothing without a value. */
static void
put_field(struct fz_buffer *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    char label[32];
    snprintf(label, sizeof(label), "%s:", key);
    fz_buffer_printf(out, "%-21s", label);
    put_text(out, value);
    fz_buffer_char(out, '\n');
}

static void
put_pair(struct fz_buffer *out, const char *key, const char *value, const char *in_brackets)
{
    char text[256];
    if (!value && !in_brackets)
        return;
    if (value && in_brackets)
        snprintf(text, sizeof(text), "%s (%s)", value, in_brackets);
    else
        snprintf(text, sizeof(text), "%s", value ? value : in_brackets);
    put_field(out, key, text);
}

static void
put_header(struct fz_buffer *out, const struct report *r, const struct report_envelope *envelope)
{
    char id[64], when[40];
    const struct report_image *app = report_apple_main_image(r);
    report_apple_id(r, envelope, id);
    put_field(out, "Incident Identifier", id);
    put_field(out, "Hardware Model", r->device_model);
    put_field(out, "Process", r->app_name ? r->app_name : app ? app->name : NULL);
    put_field(out, "Path", app ? app->path : NULL);
    put_field(out, "Identifier", r->app_id);
    put_pair(out, "Version", r->app_version, r->app_build);
    put_field(out, "Code Type", report_apple_cpu_name(report_apple_cpu(r)));
    fz_buffer_char(out, '\n');
    if (r->timestamp_ms) {
        report_apple_time(r->timestamp_ms, 4, when);
        put_field(out, "Date/Time", when);
    }
    char os[160] = "";
    if (r->os_name || r->os_version)
        snprintf(os, sizeof(os), "%s%s%s", r->os_name ? r->os_name : "",
                 r->os_name && r->os_version ? " " : "", r->os_version ? r->os_version : "");
    put_pair(out, "OS Version", *os ? os : NULL, r->os_build);
    put_field(out, "Report Version", "104");
    fz_buffer_char(out, '\n');
}

static void
put_line(struct fz_buffer *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    fz_buffer_text(out, key);
    put_text(out, value);
    fz_buffer_char(out, '\n');
}

static void
put_exception(struct fz_buffer *out, const struct report *r)
{
    const struct report_crash *crash = &r->crash;
    const struct report_thread *thread = report_crashed_thread(r);
    char text[256] = "";
    if (crash->mach && crash->signal)
        snprintf(text, sizeof(text), "%s (%s)", crash->mach, crash->signal);
    else if (crash->mach || crash->signal || crash->exception)
        snprintf(text, sizeof(text), "%s",
                 crash->mach     ? crash->mach
                 : crash->signal ? crash->signal
                                 : crash->exception);
    put_line(out, "Exception Type:  ", text);
    report_apple_subtype(crash, text, sizeof(text));
    put_line(out, "Exception Subtype: ", text);
    if (thread)
        fz_buffer_printf(out, "Triggered by Thread:  %lld\n", (long long)thread->index);
    if (!crash->exception && !crash->reason)
        return;
    fz_buffer_text(out, "\nApplication Specific Information:\n");
    if (crash->exception) {
        fz_buffer_text(out, "*** Terminating app due to uncaught exception '");
        put_text(out, crash->exception);
        fz_buffer_text(out, crash->reason ? "', reason: '" : "'");
    }
    if (crash->reason)
        put_text(out, crash->reason);
    fz_buffer_text(out, crash->exception && crash->reason ? "'\n" : "\n");
}

/* Number, image and address of one line; the caller writes what is known of it. */
static void
put_frame_head(struct fz_buffer *out, size_t number, const struct report_image *image,
               uint64_t addr)
{
    char name[31];
    const char *shown = image && image->name ? image->name : "???";
    fz_buffer_printf(out, "%-3zu ", number);
    /* Padded to 30 columns by bytes; a longer name is written out. */
    if (strlen(shown) < sizeof(name)) {
        snprintf(name, sizeof(name), "%-30s", shown);
        shown = name;
    }
    put_text(out, shown);
    fz_buffer_printf(out, "\t0x%016llx ", (unsigned long long)addr);
}

static void
put_symbol(struct fz_buffer *out, const struct report_symbol *symbol)
{
    put_text(out, symbol->function ? symbol->function : "???");
    if (symbol->inlined)
        fz_buffer_text(out, " [inlined]");
    else if (symbol->has_offset)
        fz_buffer_printf(out, " + %llu", (unsigned long long)symbol->offset);
    if (symbol->file) {
        fz_buffer_text(out, " (");
        put_text(out, fz_text_base_name(symbol->file));
        if (symbol->line)
            fz_buffer_printf(out, ":%u", symbol->line);
        fz_buffer_char(out, ')');
    }
    fz_buffer_char(out, '\n');
}

static void
put_frames(struct fz_buffer *out, const struct report *r, const struct report_thread *thread)
{
    size_t number = 0;
    for (size_t i = 0; i < thread->n_frames; i++) {
        const struct report_frame *frame = &thread->frames[i];
        const struct report_image *image = report_apple_frame_image(r, frame);
        for (size_t k = 0; k < frame->n_symbols; k++) {
            put_frame_head(out, number++, image, frame->addr);
            put_symbol(out, &frame->symbols[k]);
        }
        if (frame->n_symbols)
            continue;
        uint64_t base = image ? image->addr : 0;
        put_frame_head(out, number++, image, frame->addr);
        fz_buffer_printf(out, "0x%llx + %llu\n", (unsigned long long)base,
                         (unsigned long long)(frame->has_image_offset ? frame->image_offset
                                                                      : frame->addr - base));
    }
    if (thread->n_frames_cut)
        fz_buffer_printf(out, "(%zu further frames are left out)\n", thread->n_frames_cut);
}

static void
put_threads(struct fz_buffer *out, const struct report *r)
{
    const struct report_thread *crashed = report_crashed_thread(r);
    for (size_t i = 0; i < r->n_threads; i++) {
        const struct report_thread *thread = &r->threads[i];
        long long index = (long long)thread->index;
        fz_buffer_char(out, '\n');
        if (thread->name || thread->queue) {
            fz_buffer_printf(out, "Thread %lld name:  ", index);
            put_text(out, thread->name ? thread->name : "");
            if (thread->queue) {
                fz_buffer_text(out, " Dispatch queue: ");
                put_text(out, thread->queue);
            }
            fz_buffer_char(out, '\n');
        }
        fz_buffer_printf(out, "Thread %lld%s:\n", index, thread == crashed ? " Crashed" : "");
        put_frames(out, r, thread);
    }
}

static void
put_registers(struct fz_buffer *out, const struct report *r)
{
    static const char *const states[] = {
        [REPORT_CPU_UNKNOWN] = "Thread State",
        [REPORT_CPU_ARM64] = "ARM Thread State (64-bit)",
        [REPORT_CPU_ARM] = "ARM Thread State (32-bit)",
        [REPORT_CPU_X86_64] = "X86 Thread State (64-bit)",
        [REPORT_CPU_X86] = "X86 Thread State (32-bit)",
    };
    const struct report_thread *thread = report_crashed_thread(r);
    if (!thread || thread->n_registers == 0)
        return;
    enum report_cpu cpu = report_apple_cpu(r);
    int digits = cpu == REPORT_CPU_ARM || cpu == REPORT_CPU_X86 ? 8 : 16;
    fz_buffer_printf(out, "\nThread %lld crashed with %s:\n", (long long)thread->index,
                     states[cpu]);
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        size_t len = strlen(reg->name);
        fz_buffer_printf(out, "%*s", len < 6 ? (int)(6 - len) : 0, "");
        put_text(out, reg->name);
        fz_buffer_printf(out, ": 0x%0*llx ", digits, (unsigned long long)reg->value);
        if (i % PER_LINE == PER_LINE - 1 || i + 1 == thread->n_registers)
            fz_buffer_char(out, '\n');
    }
}

static int
compare_images(const void *a, const void *b)
{
    const struct report_image *const *x = a, *const *y = b;
    if ((*x)->addr != (*y)->addr)
        return (*x)->addr < (*y)->addr ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static enum fz_code
put_images(struct fz_buffer *out, const struct report *r, struct fz_error *err)
{
    fz_buffer_text(out, "\nBinary Images:\n");
    if (r->n_images == 0)
        return FZ_OK;
    const struct report_image **sorted = calloc(r->n_images, sizeof(*sorted));
    if (!sorted)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < r->n_images; i++)
        sorted[i] = &r->images[i];
    qsort(sorted, r->n_images, sizeof(*sorted), compare_images);
    for (size_t i = 0; i < r->n_images; i++) {
        const struct report_image *image = sorted[i];
        char uuid[FZ_UUID_TEXT];
        fz_uuid_format(&image->uuid, uuid); /* zeros if it has none, as Apple writes it */
        fz_buffer_printf(out, "0x%llx - 0x%llx ", (unsigned long long)image->addr,
                         (unsigned long long)report_apple_image_end(r, image));
        put_text(out, image->name ? image->name : "???");
        fz_buffer_char(out, ' ');
        put_text(out, image->arch ? image->arch : r->arch ? r->arch : "unknown");
        fz_buffer_printf(out, "  <%s>", uuid);
        if (image->path) {
            fz_buffer_char(out, ' ');
            put_text(out, image->path);
        }
        fz_buffer_char(out, '\n');
    }
    free(sorted);
    return FZ_OK;
}

enum fz_code
report_render_crash(const struct report *report, const struct report_envelope *envelope,
                    struct fz_buffer *out, struct fz_error *err)
{
    put_header(out, report, envelope);
    put_exception(out, report);
    put_threads(out, report);
    put_registers(out, report);
    enum fz_code code = put_images(out, report, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_text(out, "\nEOF\n");
    return fz_buffer_done(out, err);
}
