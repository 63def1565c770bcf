/* A stored report is read or refused; what was read renders to JSON that reads and renders the
 * same. */
#include <stdlib.h>

#include "server/report/render.h"

static void
render(const struct report *report, const struct report_envelope *envelope, struct fz_buffer *out)
{
    fz_buffer_init(out, 0);
    if (report_render_json(report, envelope, out, NULL) != FZ_OK)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_arena arena;
    struct report report;
    struct report_envelope envelope;
    fz_arena_init(&arena, 1 << 24);
    if (report_load_json(fz_span_make(data, size), &arena, &report, &envelope, NULL) == FZ_OK) {
        struct fz_buffer first, second, text;
        render(&report, &envelope, &first);
        if (report_load_json(fz_buffer_span(&first), &arena, &report, &envelope, NULL) != FZ_OK)
            abort();
        render(&report, &envelope, &second);
        if (!fz_span_equal(fz_buffer_span(&first), fz_buffer_span(&second)))
            abort();
        fz_buffer_init(&text, 0);
        if (report_render_crash(&report, &envelope, &text, NULL) != FZ_OK ||
            report_render_variables(&report, &envelope, &text, NULL) != FZ_OK ||
            report_render_ips(&report, &envelope, &text, NULL) != FZ_OK)
            abort();
        fz_buffer_deinit(&first);
        fz_buffer_deinit(&second);
        fz_buffer_deinit(&text);
    }
    fz_arena_deinit(&arena);
    return 0;
}
