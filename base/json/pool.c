/*
 * Chunks, each twice as large as the one before; a value is the next bytes of the last chunk. The first ones are kept for the
 * next document: memory that is new costs a page fault for every 4 KB.
 */
#include "base/json/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BYTES = 1024 * 1024, CHUNKS = 6, CHUNKS_KEPT = 3, ALIGN = 16 };

struct chunk {
    char *bytes;
    size_t size;
};

static struct {
    struct chunk chunks[CHUNKS];
    size_t n, at; /* allocated; the one in use */
    size_t used;  /* of chunks[at] */
    bool is_on, is_full;
} pool;

/* Move on to the next chunk. False: there is none, and the heap goes on. */
static bool
next_chunk(size_t size)
{
    size_t at = pool.n == 0 ? 0 : pool.at + 1;
    if (at == CHUNKS)
        return false;
    if (at == pool.n) {
        size_t room = (size_t)FIRST_BYTES << at;
        char *bytes = size <= room ? malloc(room) : NULL;
        if (!bytes)
            return false;
        pool.chunks[pool.n++] = (struct chunk){bytes, room};
    }
    pool.at = at;
    pool.used = 0;
    return size <= pool.chunks[at].size;
}

static void *
pool_malloc(size_t size)
{
    if (!pool.is_on || pool.is_full || size > JSON_POOL_BYTES)
        return malloc(size);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if ((pool.n == 0 || size > pool.chunks[pool.at].size - pool.used) && !next_chunk(size)) {
        pool.is_full = true;
        return malloc(size);
    }
    void *made = pool.chunks[pool.at].bytes + pool.used;
    pool.used += size;
    return made;
}

static bool
is_in_pool(const void *value)
{
    for (size_t i = 0; i < pool.n; i++) {
        /* As numbers: to compare pointers into different objects is undefined in C. */
        if ((uintptr_t)value - (uintptr_t)pool.chunks[i].bytes < pool.chunks[i].size)
            return true;
    }
    return false;
}

static void
pool_free(void *value)
{
    if (!is_in_pool(value))
        free(value);
}

void
json_pool_install(void)
{
    json_set_alloc_funcs(pool_malloc, pool_free);
}

void
json_pool_start(void)
{
    pool.is_on = true;
}

void
json_pool_end(void)
{
    while (pool.n > CHUNKS_KEPT)
        free(pool.chunks[--pool.n].bytes);
    pool.at = pool.used = 0;
    pool.is_on = pool.is_full = false;
}

void
json_pool_keep(json_t *tree)
{
    /* One reference more than anybody gives back. */
    if (pool.is_on && !pool.is_full)
        json_incref(tree);
}
