/*
 * A column of numbers as a block of bytes: each number is its distance from the smallest one, in as few bytes as the largest
 * distance needs.
 *
 * Reading a number is one load and one mask, so a condition over a million numbers takes milliseconds. A block is checked once,
 * by store_block_open(); numbers are then read unchecked. Private to storage.
 */
#ifndef STORE_BLOCK_H
#define STORE_BLOCK_H

#include "base/buffer.h"

enum {
    STORE_BLOCK_FORMAT = 1,
    STORE_BLOCK_HEADER = 16,
    STORE_BLOCK_PADDING = 8, /* a load of 8 bytes may begin at any number */
    STORE_BLOCK_MAX = 1 << 26
};

struct store_block {
    const uint8_t *data; /* borrowed */
    uint64_t mask;
    int64_t base, most; /* the smallest and the largest number */
    int64_t first_id;   /* the smallest one above 0; INT64_MAX: there is none */
    uint64_t sum;       /* of the numbers, which wraps around */
    size_t width;       /* bytes of a number: 0 to 8 */
    size_t n;
};

/* Append the block of `n` numbers, at most STORE_BLOCK_MAX. */
void store_block_encode(const int64_t *numbers, size_t n, struct fz_buffer *out);
/* Check `bytes`, which the block borrows. MALFORMED: they are not a block. */
FZ_MUST_CHECK enum fz_code store_block_open(struct fz_span bytes, struct store_block *ret,
                                            struct fz_error *err);

/* The numbers at these `n` places to `ret`, which is several times as fast as one by one. */
void store_block_read(const struct store_block *block, const uint32_t *at, size_t n, int64_t *ret);

/* The same, of a table of values for all numbers from block->base to block->most: values[number - base] of each. */
void store_block_translate(const struct store_block *block, const uint32_t *at, size_t n,
                           const uint32_t *values, uint32_t *ret);

static inline int64_t
store_block_get(const struct store_block *block, size_t at)
{
    const uint8_t *from = block->data + at * block->width;
    /* Compilers make one load of it. */
    uint64_t raw = (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 |
                   (uint64_t)from[3] << 24 | (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 |
                   (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
    return (int64_t)((uint64_t)block->base + (raw & block->mask));
}

#endif
