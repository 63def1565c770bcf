#include "storage/store_fact_slab.h"

#include <stdlib.h>

#include "base/platform.h"

enum {
    SLABS = 8, /* that there may be at least */
    SIZE_MIN = 1024,
    SIZE_MAX_SHARED = FZ_PLATFORM_LARGE, /* a larger column has its own */
    GROWTH = 32
};

size_t
store_fact_slab_round(size_t bytes)
{
    return (bytes + STORE_FACT_SLAB_ALIGN - 1) / STORE_FACT_SLAB_ALIGN * STORE_FACT_SLAB_ALIGN;
}

/* What a slab of so many bytes takes: of large ones, whole pages. */
static size_t
size_for(size_t bytes)
{
    const size_t large = FZ_PLATFORM_LARGE, rounded = store_fact_slab_round(bytes);
    return rounded < large ? rounded : (bytes + large - 1) / large * large;
}

size_t
store_fact_slab_size(size_t most, size_t n_bytes, size_t bytes)
{
    size_t size = most / SLABS < SIZE_MAX_SHARED ? most / SLABS : SIZE_MAX_SHARED;
    /* The first ones are small: as much as there is already. */
    size_t small = n_bytes > size / GROWTH ? n_bytes : size / GROWTH;
    size = size > small ? small : size;
    size = size > SIZE_MIN ? size : SIZE_MIN;
    size = size > bytes ? size : bytes;
    return size_for(size);
}

struct store_fact_slab *
store_fact_slab_make(size_t bytes)
{
    struct store_fact_slab *slab = calloc(1, sizeof(*slab));
    if (!slab)
        return NULL;
    slab->size = size_for(bytes);
    slab->memory = slab->size < FZ_PLATFORM_LARGE ? aligned_alloc(STORE_FACT_SLAB_ALIGN, slab->size)
                                                  : fz_platform_large(slab->size);
    atomic_init(&slab->n_holders, 1);
    if (slab->memory)
        return slab;
    free(slab);
    return NULL;
}

void
store_fact_slab_hold(struct store_fact_slab *slab)
{
    atomic_fetch_add(&slab->n_holders, 1);
}

void
store_fact_slab_drop(struct store_fact_slab *slab)
{
    if (!slab || atomic_fetch_sub(&slab->n_holders, 1) != 1)
        return;
    if (slab->size < FZ_PLATFORM_LARGE)
        free(slab->memory);
    else
        fz_platform_large_drop(slab->memory, slab->size);
    free(slab);
}

void *
store_fact_slab_take(struct store_fact_slab *slab, size_t bytes)
{
    size_t rounded = store_fact_slab_round(bytes);
    if (rounded < bytes || slab->size - slab->used < rounded)
        return NULL;
    slab->used += rounded;
    return slab->memory + slab->used - rounded;
}
