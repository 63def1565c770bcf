/* A column out of a database that may be damaged: every number can be read, or it is refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_block.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_block block;
    int64_t sum = 0;
    if (store_block_open(fz_span_make(data, size), &block, NULL) != FZ_OK)
        return 0;
    int64_t *numbers = calloc(block.n + 1, sizeof(*numbers));
    if (!numbers)
        return 0;
    for (size_t i = 0; i < block.n; i++) {
        numbers[i] = store_block_get(&block, i);
        sum ^= numbers[i];
    }
    /* Encoded again, they are the same numbers. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer again = fz_buffer_make(0);
    store_block_encode(numbers, block.n, &again);
    if (store_block_open(fz_buffer_span(&again), &block, NULL) != FZ_OK)
        abort();
    for (size_t i = 0; i < block.n; i++) {
        if (store_block_get(&block, i) != numbers[i])
            abort();
    }
    free(numbers);
    return (int)(sum & 0);
}
