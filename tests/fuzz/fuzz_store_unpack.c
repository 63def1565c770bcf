/* A packed body out of a database that may be damaged: unpacked within the limit, or refused. */
#include <stdint.h>
#include <stdlib.h>

#include "storage/store_private.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct fz_span body;
    unsigned sum = 0;
    if (store_unpack(fz_span_make(data, size), &arena, &body, NULL) == FZ_OK) {
        for (size_t i = 0; i < body.len; i++)
            sum += body.data[i];
        if (body.len > arena.cap)
            abort();
    }
    fz_arena_deinit(&arena);
    return (int)(sum & 0);
}
