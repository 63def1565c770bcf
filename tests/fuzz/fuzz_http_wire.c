/* The framing of requests, read at once, byte by byte, and in two parts: the verdict and the place must be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/wire.h"

/* How many bytes are sound if they come in parts: the first of `first` bytes, then of `step`. */
static size_t
feed(struct http_wire *wire, struct fz_span bytes, size_t first, size_t step, size_t *ret_ended)
{
    size_t at = 0;
    memset(wire, 0, sizeof(*wire));
    *ret_ended = 0;
    for (size_t n = first; at < bytes.len && wire->fault == HTTP_WIRE_SOUND; n = step) {
        size_t ended, len = n < bytes.len - at ? n : bytes.len - at;
        size_t n_sound = http_wire_feed(wire, fz_span_make(bytes.data + at, len), &ended);
        if (n_sound > len || ended > n_sound ||
            (wire->fault == HTTP_WIRE_SOUND) != (n_sound == len))
            abort();
        if (ended)
            *ret_ended = at + ended;
        at += n_sound;
    }
    return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_wire whole, other;
    size_t ended, other_ended;
    struct fz_span bytes = fz_span_make(data, size);
    if (size == 0)
        return 0;
    size_t n_sound = feed(&whole, bytes, size, size, &ended);
    if (whole.n_messages > whole.n_headers || whole.n_headers > whole.n_messages + 1)
        abort();
    /* Every split of short input; of longer one those near its start. */
    for (size_t first = 1; first <= size && first < 300; first++) {
        if (feed(&other, bytes, first, first == 1 ? 1 : size, &other_ended) != n_sound ||
            other.fault != whole.fault || other_ended != ended ||
            other.n_messages != whole.n_messages || other.n_headers != whole.n_headers)
            abort();
    }
    return 0;
}
