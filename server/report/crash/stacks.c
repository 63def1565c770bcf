/*
 * Stacks of Apple's crash text.
 *
 *   Thread 0 name:   Dispatch queue: com.apple.main-thread                         iOS
 *   Thread 0 Crashed:
 *   Thread 0 Crashed:: main Dispatch queue: com.apple.main-thread                  macOS
 *   0   Demo                          <tab>       0x104004068 main + 8 (work.c:5)
 */
#include "server/report/crash/parts.h"

#include <stdio.h>

#include "base/text.h"

enum { IMAGE_COLUMNS = 30, CUT_COLUMNS = 27 };

/* Padded to 30 columns by bytes. A longer name is written out on macOS; elsewhere its end is. */
static void
put_image_name(struct fz_buffer *out, const struct report_image *image, bool is_mac)
{
    struct fz_span name = fz_span_cstr(image && image->name ? image->name : "???"), end = name;
    if (name.len <= IMAGE_COLUMNS) {
        report_crash_span(out, name);
        fz_buffer_printf(out, "%*s", (int)(IMAGE_COLUMNS - name.len), "");
        return;
    }
    if (!is_mac) {
        /* The end of a long name says more than its start. */
        size_t at = name.len - CUT_COLUMNS;
        while (at < name.len && (name.data[at] & 0xc0) == 0x80) /* inside a character */
            at++;
        fz_buffer_text(out, "...");
        end = fz_span_make(name.data + at, name.len - at);
    }
    report_crash_span(out, end);
}

/* Number, image and address of one line; the caller writes what is known of it. */
static void
put_frame_head(struct fz_buffer *out, size_t number, const struct report_image *image, bool is_mac,
               uint64_t addr)
{
    char text[24];
    fz_buffer_printf(out, "%-3zu ", number);
    put_image_name(out, image, is_mac);
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)addr);
    fz_buffer_printf(out, "\t%18s ", text);
}

void
report_crash_symbol(struct fz_buffer *out, const struct report_symbol *symbol)
{
    const char *name = report_apple_function(symbol);
    report_crash_text(out, name ? name : "???");
    if (symbol->has_offset || symbol->inlined)
        fz_buffer_printf(out, " + %llu",
                         (unsigned long long)(symbol->has_offset ? symbol->offset : 0));
    if (symbol->file) {
        fz_buffer_text(out, " (");
        report_crash_text(out, fz_text_base_name(symbol->file));
        fz_buffer_printf(out, ":%u)", symbol->line); /* 0 where Apple's tools know none, too */
    }
    if (symbol->inlined)
        fz_buffer_text(out, " [inlined]");
}

static void
put_samples(struct fz_buffer *out, uint32_t samples)
{
    if (samples)
        fz_buffer_printf(out, " [%u samples]", samples);
}

static void
put_frames(struct report_crash_out *c, const struct report_frame *frames, size_t n, size_t n_cut,
           bool is_mac)
{
    size_t number = 0;
    for (size_t i = 0; i < n; i++) {
        const struct report_frame *frame = &frames[i];
        const struct report_image *image = report_apple_frame_image(c->r, frame);
        /* Inlined calls have lines and numbers of their own, as in Xcode. */
        for (size_t k = 0; k < frame->n_symbols; k++) {
            put_frame_head(c->out, number++, image, is_mac, frame->addr);
            report_crash_symbol(c->out, &frame->symbols[k]);
            put_samples(c->out, k + 1 == frame->n_symbols ? frame->samples : 0);
            fz_buffer_char(c->out, '\n');
            if (c->with_variables)
                report_crash_variables(c->out, &frame->symbols[k]);
        }
        if (frame->n_symbols)
            continue;
        put_frame_head(c->out, number++, image, is_mac, frame->addr);
        /* Apple's form for a frame without a name; tools symbolicate from it. */
        if (image && image->addr)
            fz_buffer_printf(c->out, "0x%llx + %llu", (unsigned long long)image->addr,
                             (unsigned long long)report_apple_frame_offset(image, frame));
        else
            fz_buffer_text(c->out, "???");
        put_samples(c->out, frame->samples);
        fz_buffer_char(c->out, '\n');
    }
    if (n_cut)
        fz_buffer_printf(c->out, "(%zu further frames are left out)\n", n_cut);
}

void
report_crash_exception_stack(struct report_crash_out *c)
{
    const struct report *r = c->r;
    if (!r->n_exception_frames)
        return;
    fz_buffer_text(c->out, "Last Exception Backtrace:\n");
    put_frames(c, r->exception_frames, r->n_exception_frames, r->n_exception_frames_cut, false);
    fz_buffer_char(c->out, '\n');
}

static void
put_names(struct fz_buffer *out, const struct report_thread *thread)
{
    report_crash_text(out, thread->name ? thread->name : "");
    if (thread->queue) {
        fz_buffer_text(out, " Dispatch queue: ");
        report_crash_text(out, thread->queue);
    }
}

static void
put_heading(struct report_crash_out *c, const struct report_thread *thread, const char *crashed)
{
    long long index = (long long)report_apple_index(c->r, thread);
    bool has_names = thread->name || thread->queue;
    if (c->mac_stacks) {
        fz_buffer_printf(c->out, "Thread %lld%s:%s", index, crashed, has_names ? ": " : "");
        put_names(c->out, thread);
    } else {
        if (has_names) {
            fz_buffer_printf(c->out, "Thread %lld name:  ", index);
            put_names(c->out, thread);
            fz_buffer_char(c->out, '\n');
        }
        fz_buffer_printf(c->out, "Thread %lld%s:", index, crashed);
    }
    put_samples(c->out, thread->samples);
    fz_buffer_char(c->out, '\n');
}

void
report_crash_stacks(struct report_crash_out *c)
{
    const struct report *r = c->r;
    const struct report_thread *crashed = c->is_crash ? report_apple_crashed(r) : NULL;
    for (size_t i = 0; i < r->n_threads; i++) {
        const struct report_thread *thread = &r->threads[i];
        put_heading(c, thread, thread == crashed ? " Crashed" : "");
        put_frames(c, thread->frames, thread->n_frames, thread->n_frames_cut, c->mac_stacks);
        fz_buffer_char(c->out, '\n');
    }
}
