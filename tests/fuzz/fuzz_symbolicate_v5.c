/* A request of the Symbolication API and, after the first NUL, the report made from it: the
 * answer is JSON, whatever the two say. */
#include <stdlib.h>

#include "base/json/scan.h"
#include "server/clients/symbolicate_v5/symbolicate_v5.h"

static void
must_be_json(const struct fz_buffer *text)
{
    struct json_scan_limits limits = {.depth = 64, .output_bytes = SIZE_MAX};
    if (json_scan(fz_buffer_span(text), &limits, NULL, NULL, NULL) != FZ_OK)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t len = end ? (size_t)(end - data) : size;
    struct fz_span report = end ? fz_span_make(end + 1, size - len - 1) : (struct fz_span){0};
    struct json_scan_limits scan = {.depth = 64, .output_bytes = SIZE_MAX};
    struct limits limits = limits_default();
    struct v5_batch batch = {0};
    struct fz_error err = {.code = FZ_OK};
    struct fz_arena arena;
    struct fz_buffer out;
    limits.frames = 4;
    fz_arena_init(&arena, 1 << 22);
    fz_buffer_init(&out, 0);
    enum fz_code code = clients_v5_read(fz_span_make(data, len), &limits, &arena, &batch, &err);
    if (code && err.text[0] == '\0')
        abort();
    if (!code) {
        clients_v5_report(&batch, &limits, &out);
        must_be_json(&out);
        fz_buffer_clear(&out);
        /* What a worker wrote is JSON; what is copied from anything else need not be. */
        bool sound = json_scan(report, &scan, NULL, NULL, NULL) == FZ_OK;
        if (clients_v5_answer(&batch, report, &arena, &out, &err) == FZ_OK &&
            (sound || !report.len))
            must_be_json(&out);
    }
    clients_v5_end(&batch);
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
    return 0;
}
