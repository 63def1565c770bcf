/* Any event or envelope is refused with a reason or becomes a report that can be shown in every
 * form. */
#include <stdlib.h>

#include "server/ingest/ingest.h"
#include "server/report/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span body = fz_span_make(data, size);
    struct limits limits = limits_default();
    struct fz_error err = {.code = FZ_OK};
    struct fz_arena arena;
    struct report report;
    const char *format = NULL;
    char id[FZ_UUID_TEXT];
    limits.threads = 8;
    limits.frames = 16;
    limits.images = 8;
    limits.memory_bytes = 64;
    fz_arena_init(&arena, 1 << 22);
    (void)ingest_detect(body);
    enum fz_code checked = ingest_check(body, &limits, &format, id, &err);
    enum fz_code parsed = ingest_parse(body, &limits, &arena, &report, &err);
    if (checked != FZ_OK && parsed == FZ_OK)
        abort(); /* what HTTP refuses, the worker refuses too */
    if (parsed != FZ_OK && err.text[0] == '\0')
        abort();
    if (parsed == FZ_OK) {
        struct report_envelope envelope = {.id = "1"};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        if (report_render_json(&report, &envelope, &out, NULL) != FZ_OK ||
            report_render_crash(&report, &envelope, &out, NULL) != FZ_OK ||
            report_render_ips(&report, &envelope, &out, NULL) != FZ_OK)
            abort();
        fz_buffer_deinit(&out);
    }
    fz_arena_deinit(&arena);
    return 0;
}
