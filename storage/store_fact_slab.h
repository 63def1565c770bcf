/*
 * Memory of columns that lists keep: slabs, each for many columns.
 *
 * Lists go through tens of megabytes of columns. With a page of memory for each 4 KB, a processor in a virtual machine waits for the
 * page tables: on the one that this was made on, five million facts were counted in 76 ms, and in 66 of large pages. So large slabs
 * are large pages (fz_platform_large()). Private to storage.
 */
#ifndef STORE_FACT_SLAB_H
#define STORE_FACT_SLAB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

enum { STORE_FACT_SLAB_ALIGN = 64 };

struct store_fact_slab {
    atomic_uint n_holders;
    size_t size, used; /* bytes */
    size_t n_listed;   /* columns in it that can be found; the owner's */
    uint64_t used_at;  /* the number of the last scan that used one; the owner's */
    uint8_t *memory;   /* owned */
};

/* Room for `bytes` or more, held once; NULL: out of memory. */
FZ_MUST_CHECK struct store_fact_slab *store_fact_slab_make(size_t bytes);
void store_fact_slab_hold(struct store_fact_slab *slab);
/* The last one frees it. NULL is nothing. */
void store_fact_slab_drop(struct store_fact_slab *slab);
/* The next `bytes`, aligned; NULL: there is no room. By one thread at a time. */
FZ_MUST_CHECK void *store_fact_slab_take(struct store_fact_slab *slab, size_t bytes);
/* How large the next one is, with a column of `bytes`, where there may be `most` bytes of slabs and are `n_bytes`. */
size_t store_fact_slab_size(size_t most, size_t n_bytes, size_t bytes);
/* Bytes that are taken for so many. */
size_t store_fact_slab_round(size_t bytes);

#endif
