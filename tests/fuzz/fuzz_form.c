/* The first line is a Content-Type, the rest a body in multipart form. */
#include <stdint.h>
#include <stdlib.h>

#include "base/form.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    if (!newline)
        return 0;
    struct fz_arena arena;
    fz_arena_init(&arena, 8 * 1024 * 1024);
    size_t type_len = (size_t)(newline - data), at = type_len + 1;
    char boundary[FZ_FORM_BOUNDARY];
    char *type = fz_arena_text(&arena, fz_span_make(data, type_len));
    struct fz_span body = fz_span_make(data + at, size - at);
    struct fz_form_part *parts;
    size_t n;
    if (type && fz_form_boundary(type, boundary, NULL) == FZ_OK &&
        fz_form_parse(body, boundary, &arena, &parts, &n, NULL) == FZ_OK) {
        for (size_t i = 0; i < n; i++) {
            struct fz_span content;
            if (!fz_span_sub(body, parts[i].offset, parts[i].len, &content))
                abort();
            if (i && parts[i].offset < parts[i - 1].offset + parts[i - 1].len)
                abort();
        }
    }
    fz_arena_deinit(&arena);
    return 0;
}
