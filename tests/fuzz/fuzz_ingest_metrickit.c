/* MetricKit payloads: taken apart, and each diagnostic read. */
#include "ingest_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct limits limits = limits_default();
    struct ingest_item *items;
    struct fz_arena arena;
    struct fz_error err;
    size_t n, n_cut;
    fuzz_ingest_body(fz_span_make(data, size));
    fz_arena_init(&arena, 1 << 22);
    if (ingest_split(fz_span_make(data, size), &limits, &arena, &items, &n, &n_cut, &err) ==
        FZ_OK) {
        for (size_t i = 0; i < n && i < 16; i++)
            fuzz_ingest_body(items[i].body);
    }
    fz_arena_deinit(&arena);
    return 0;
}
