#include "server/report/render_crash.h"

#include <stdio.h>

#include "base/text.h"

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
    render_crash_text(out, shown);
    fz_buffer_printf(out, "\t0x%016llx ", (unsigned long long)addr);
}

static void
put_symbol(struct fz_buffer *out, const struct report_symbol *symbol)
{
    render_crash_text(out, symbol->function ? symbol->function : "???");
    if (symbol->inlined)
        fz_buffer_text(out, " [inlined]");
    else if (symbol->has_offset)
        fz_buffer_printf(out, " + %llu", (unsigned long long)symbol->offset);
    if (symbol->file) {
        fz_buffer_text(out, " (");
        render_crash_text(out, fz_text_base_name(symbol->file));
        fz_buffer_printf(out, ":%u)", symbol->line); /* 0 where Apple's tools know none, too */
    }
    fz_buffer_char(out, '\n');
}

static void
put_frames(struct fz_buffer *out, const struct report *r, const struct report_frame *frames,
           size_t n, size_t n_cut)
{
    size_t number = 0;
    for (size_t i = 0; i < n; i++) {
        const struct report_frame *frame = &frames[i];
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
    if (n_cut)
        fz_buffer_printf(out, "(%zu further frames are left out)\n", n_cut);
}

void
render_crash_stacks(struct fz_buffer *out, const struct report *r)
{
    if (r->n_exception_frames) {
        fz_buffer_text(out, "\nLast Exception Backtrace:\n");
        put_frames(out, r, r->exception_frames, r->n_exception_frames, r->n_exception_frames_cut);
    }
    const struct report_thread *crashed = report_apple_crashed(r);
    for (size_t i = 0; i < r->n_threads; i++) {
        const struct report_thread *thread = &r->threads[i];
        long long index = (long long)report_apple_index(r, thread);
        fz_buffer_char(out, '\n');
        if (thread->name || thread->queue) {
            fz_buffer_printf(out, "Thread %lld name:  ", index);
            render_crash_text(out, thread->name ? thread->name : "");
            if (thread->queue) {
                fz_buffer_text(out, " Dispatch queue: ");
                render_crash_text(out, thread->queue);
            }
            fz_buffer_char(out, '\n');
        }
        fz_buffer_printf(out, "Thread %lld%s:\n", index, thread == crashed ? " Crashed" : "");
        put_frames(out, r, thread->frames, thread->n_frames, thread->n_frames_cut);
    }
}
