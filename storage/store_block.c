/*
 * The format, all numbers little-endian:
 *
 *   offset  bytes
 *   0       1      STORE_BLOCK_FORMAT
 *   1       1      bytes of each distance, 0 to 8
 *   2       2      0
 *   4       4      how many numbers
 *   8       8      the smallest number
 *   16      n * w  the distances from it
 *           8      0
 *
 * 1000, 1258, 1000 is 01 02 0000 03000000 e803000000000000 0000 0201 0000 and eight zeros.
 */
#include "storage/store_block.h"

#include <string.h>

#include "base/reader.h"

enum { AHEAD = 1024 /* bytes */ };

static void
put(struct fz_buffer *out, uint64_t number, size_t width)
{
    for (size_t i = 0; i < width; i++)
        fz_buffer_char(out, (char)(uint8_t)(number >> (8 * i)));
}

static uint64_t
mask_of(size_t width)
{
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
}

void
store_block_encode(const int64_t *numbers, size_t n, struct fz_buffer *out)
{
    int64_t least = n ? numbers[0] : 0, most = least;
    size_t width = 0;
    for (size_t i = 1; i < n; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    while (((uint64_t)most - (uint64_t)least) & ~mask_of(width))
        width++;
    put(out, STORE_BLOCK_FORMAT, 1);
    put(out, width, 1);
    put(out, 0, 2);
    put(out, n, 4);
    put(out, (uint64_t)least, 8);
    for (size_t i = 0; i < n; i++)
        put(out, (uint64_t)numbers[i] - (uint64_t)least, width);
    put(out, 0, STORE_BLOCK_PADDING);
}

/* The largest number, the smallest one above 0 and the sum; `width` is known to the compiler. */
static inline void
find_limits(struct store_block *block, size_t width)
{
    struct store_block local = *block;
    int64_t most = block->base, first_id = INT64_MAX;
    uint64_t sum = 0;
    local.width = width;
    for (size_t i = 0; i < local.n; i++) {
        int64_t number = store_block_get(&local, i);
        most = number > most ? number : most;
        first_id = number > 0 && number < first_id ? number : first_id;
        sum += (uint64_t)number;
    }
    block->sum = sum;
    block->most = most;
    block->first_id = first_id;
}

static void
measure(struct store_block *block)
{
    switch (block->width) {
    case 0:
        block->most = block->base;
        block->first_id = block->n && block->base > 0 ? block->base : INT64_MAX;
        block->sum = block->n * (uint64_t)block->base;
        break;
    case 1:
        find_limits(block, 1);
        break;
    case 2:
        find_limits(block, 2);
        break;
    case 3:
        find_limits(block, 3);
        break;
    default:
        find_limits(block, block->width);
        break;
    }
}

enum fz_code
store_block_open(struct fz_span bytes, struct store_block *ret, struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(bytes, "column");
    uint8_t format = fz_read_u8(&in), width = fz_read_u8(&in);
    uint8_t zeros = fz_read_u8(&in) | fz_read_u8(&in);
    uint32_t n = fz_read_u32(&in);
    uint64_t least = fz_read_u64(&in);
    enum fz_code code = fz_read_done(&in, err);
    if (code != FZ_OK)
        return code;
    if (format != STORE_BLOCK_FORMAT || width > 8 || zeros || n > STORE_BLOCK_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a column of format %u with %u numbers of %u bytes",
                       format, n, width);
    if (bytes.len != STORE_BLOCK_HEADER + (size_t)n * width + STORE_BLOCK_PADDING)
        return fz_fail(err, FZ_E_MALFORMED, "a column of %zu bytes with %u numbers of %u bytes",
                       bytes.len, n, width);
    *ret = (struct store_block){.data = fz_span_from(bytes, STORE_BLOCK_HEADER).data,
                                .mask = mask_of(width),
                                .base = (int64_t)least,
                                .width = width,
                                .n = n};
    measure(ret);
    return FZ_OK;
}

/*
 * Of a width that the compiler knows. Columns of many days do not stay in the CPU's caches, and the CPU itself fetches ahead within
 * a page only.
 */
static inline void
read_all(struct store_block block, size_t width, const uint32_t *restrict at, size_t n,
         int64_t *restrict ret)
{
    block.width = width;
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(block.data + at[i] * width + AHEAD, 0);
        ret[i] = store_block_get(&block, at[i]);
    }
}

void
store_block_read(const struct store_block *block, const uint32_t *at, size_t n, int64_t *ret)
{
    switch (block->width) {
    case 0:
        for (size_t i = 0; i < n; i++)
            ret[i] = block->base;
        break;
    case 1:
        read_all(*block, 1, at, n, ret);
        break;
    case 2:
        read_all(*block, 2, at, n, ret);
        break;
    case 3:
        read_all(*block, 3, at, n, ret);
        break;
    case 4:
        read_all(*block, 4, at, n, ret);
        break;
    default:
        read_all(*block, block->width, at, n, ret);
        break;
    }
}

/* As read_all(): the distance itself is the place in the table. */
static inline void
translate_all(const struct store_block *block, size_t width, const uint32_t *restrict at, size_t n,
              const uint32_t *restrict values, uint32_t *restrict ret)
{
    struct store_block distances = {
        .data = block->data, .mask = mask_of(width), .width = width, .base = 0};
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(distances.data + at[i] * width + AHEAD, 0);
        ret[i] = values[store_block_get(&distances, at[i])];
    }
}

void
store_block_translate(const struct store_block *block, const uint32_t *at, size_t n,
                      const uint32_t *values, uint32_t *ret)
{
    switch (block->width) {
    case 0:
        for (size_t i = 0; i < n; i++)
            ret[i] = values[0];
        break;
    case 1:
        translate_all(block, 1, at, n, values, ret);
        break;
    case 2:
        translate_all(block, 2, at, n, values, ret);
        break;
    case 3:
        translate_all(block, 3, at, n, values, ret);
        break;
    default:
        translate_all(block, block->width, at, n, values, ret);
        break;
    }
}
