/* Any text and any bytes in a report are valid JSON. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json/scan.h"
#include "client/src/write.h"

enum { INPUT_MAX = 4000, OUTPUT_MAX = 65536 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct framezero_writer w;
    static uint8_t out[OUTPUT_MAX];
    int fds[2];
    /* A pipe holds all of it. */
    if (size > INPUT_MAX || pipe(fds) != 0)
        return 0;
    framezero_write_start(&w, fds[1]);
    framezero_write_open(&w, NULL, '{');
    framezero_write_text(&w, "text", (const char *)data, size);
    framezero_write_bytes_begin(&w, "bytes");
    size_t half = size ? data[0] % size : 0;
    framezero_write_bytes(&w, data, half);
    framezero_write_bytes(&w, data + half, size - half);
    framezero_write_bytes_end(&w);
    framezero_write_open(&w, "list", '[');
    for (size_t i = 0; i + 8 <= size && i < 64; i += 8) {
        uint64_t value = 0;
        for (size_t k = 0; k < 8; k++)
            value = value << 8 | data[i + k];
        framezero_write_hex(&w, NULL, value);
        framezero_write_number(&w, NULL, (int64_t)value);
        framezero_write_date(&w, NULL, value % 253402300800000u);
    }
    framezero_write_close(&w, ']');
    framezero_write_close(&w, '}');
    if (!framezero_write_finish(&w))
        abort();
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], out + len, sizeof(out) - len)) > 0;)
        len += (size_t)n;
    close(fds[0]);
    struct json_scan_limits limits = {16, SIZE_MAX, 0};
    if (json_scan(fz_span_make(out, len), &limits, NULL, NULL, NULL) != FZ_OK)
        abort();
    return 0;
}
