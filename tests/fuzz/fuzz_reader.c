/* The first bytes say which reads to do on the rest; no sequence of them leaves the input. */
#include <stdlib.h>

#include "base/reader.h"

static void
read_one(struct fz_reader *r, uint8_t what)
{
    struct fz_span span = {NULL, 0};
    switch (what % 10) {
    case 0:
        fz_read_u8(r);
        break;
    case 1:
        fz_read_u16(r);
        break;
    case 2:
        fz_read_u64(r);
        break;
    case 3:
        fz_read_uint(r, what / 16);
        break;
    case 4:
        fz_read_uleb(r);
        break;
    case 5:
        fz_read_sleb(r);
        break;
    case 6:
        span = fz_read_cstr(r);
        break;
    case 7:
        span = fz_read_bytes(r, fz_read_uleb(r));
        break;
    case 8:
        fz_read_skip(r, fz_read_uleb(r));
        break;
    default:
        fz_read_fits(r, fz_read_uleb(r), what);
        break;
    }
    if (span.len && (span.data < r->data || span.len > r->len))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_ops = size / 4;
    struct fz_reader r = fz_reader_make(fz_span_make(data + n_ops, size - n_ops), "fuzz");
    for (size_t i = 0; i < n_ops; i++) {
        r.big_endian = data[i] & 128;
        read_one(&r, data[i]);
        if (r.pos > r.len)
            abort();
    }
    return fz_read_done(&r, NULL) == (r.failed ? FZ_E_MALFORMED : FZ_OK) ? 0 : (abort(), 0);
}
