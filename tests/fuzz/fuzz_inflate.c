/* The first byte picks the coding and the step, the rest is a compressed body. */
#include <stdint.h>
#include <stdlib.h>

#include "server/http/inflate.h"

enum { MAX_OUT = 4 * 1024 * 1024 };

static enum fz_code
count(void *arg, struct fz_span bytes, struct fz_error *err)
{
    (void)err;
    *(uint64_t *)arg += bytes.len;
    return FZ_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    static const size_t steps[] = {1, 3, 1000, SIZE_MAX / 2};
    enum http_coding coding = data[0] % 4;
    size_t step = steps[data[0] / 4 % 4];
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
    if (http_inflate_create(coding, MAX_OUT, &inflate, NULL))
        return 0;
    uint64_t n = 0;
    enum fz_code code = FZ_OK;
    for (size_t at = 1; !code && at < size;) {
        size_t len = size - at < step ? size - at : step;
        code = http_inflate_feed(inflate, fz_span_make(data + at, len), count, &n, NULL);
        at += len;
    }
    if (!code)
        fz_ignore(http_inflate_finish(inflate, NULL)); /* only its safety matters */
    if (n > MAX_OUT)
        abort();
    return 0;
}
