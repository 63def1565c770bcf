/* Header lines "name:value\n": what they say of the body. */
#include <stdint.h>
#include <stdlib.h>

#include "server/http/framing.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_field fields[HTTP_MAX_HEADERS];
    struct http_framing framing;
    enum http_coding coding;
    size_t n = 0;
    for (size_t at = 0; at < size && n < HTTP_MAX_HEADERS;) {
        const uint8_t *newline = memchr(data + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - data) : size;
        const uint8_t *colon = memchr(data + at, ':', end - at);
        size_t name_end = colon ? (size_t)(colon - data) : end;
        size_t value_at = colon ? name_end + 1 : end;
        fields[n++] = (struct http_field){.name = fz_span_make(data + at, name_end - at),
                                          .value = fz_span_make(data + value_at, end - value_at)};
        at = end + 1;
    }
    if (http_framing_check(true, fields, n, &framing, NULL) == FZ_OK && framing.chunked &&
        framing.has_length)
        abort();
    fz_ignore(http_framing_coding(fields, n, &coding, NULL)); /* only its safety matters */
    return 0;
}
