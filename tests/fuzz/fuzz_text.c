/* Numbers, base64, UTF-8, UUIDs and times out of any bytes. */
#include <stdlib.h>

#include "base/text.h"
#include "base/time.h"
#include "base/uuid.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span in = fz_span_make(data, size), bytes = {NULL, 0}, again = {NULL, 0};
    struct fz_arena arena;
    struct fz_buffer out;
    uint64_t number;
    int64_t signed_number;
    struct fz_uuid uuid, uuid_again;
    char text[64];
    fz_arena_init(&arena, 1 << 22);
    fz_buffer_init(&out, 0);
    (void)(fz_text_u64(in, &number) || fz_text_hex_u64(in, &number) ||
           fz_text_i64(in, &signed_number));
    const char *clean = fz_text_clean_utf8(&arena, in);
    if (!clean || !fz_text_is_utf8(fz_span_cstr(clean)))
        abort();
    fz_text_json_append(&out, in);
    if (!fz_text_is_utf8(fz_buffer_span(&out)))
        abort();
    if (fz_text_base64_decode(in, &arena, &bytes, NULL) == FZ_OK) {
        fz_buffer_clear(&out);
        fz_text_base64_append(&out, bytes);
        if (fz_text_base64_decode(fz_buffer_span(&out), &arena, &again, NULL) != FZ_OK ||
            !fz_span_equal(bytes, again))
            abort();
    }
    if (fz_uuid_parse(in, &uuid)) {
        fz_uuid_format_dashed(&uuid, text);
        if (!fz_uuid_parse(fz_span_cstr(text), &uuid_again) || !fz_uuid_equal(&uuid, &uuid_again))
            abort();
    }
    if (fz_time_parse(in, &signed_number)) {
        fz_time_format(signed_number, text);
        if (!fz_time_parse(fz_span_cstr(text), &signed_number))
            abort();
    }
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
    return 0;
}
