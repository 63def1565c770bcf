/*
 * Columns of sealed days in memory, which all connections of a process share.
 *
 * A sealed day has a random number for each time that it was sealed (fact_days.sealing). A list reads those numbers of all days in
 * one statement and uses the columns that were kept under the same number, so a day that has changed since is never answered
 * from memory, whichever process changed it. When there is no room, columns are dropped that the last scans have not used; or, if
 * there are none, others, chosen at random: of a range that does not fit, a part stays, where the least recently used ones would all
 * be dropped before they are used again.
 */
#ifndef STORE_FACT_CACHE_H
#define STORE_FACT_CACHE_H

#include "storage/store_block.h"

struct store;
struct store_fact_cache; /* opaque; any thread */

/* `most`: bytes of columns. The caller ends it with store_fact_cache_destroy(), after all stores that use it. */
FZ_MUST_CHECK enum fz_code store_fact_cache_create(size_t most, struct store_fact_cache **ret,
                                                   struct fz_error *err);
void store_fact_cache_destroy(struct store_fact_cache *cache);
/* From now on lists of this store use it; borrowed. NULL: none, as at the start. */
void store_set_fact_cache(struct store *store, struct store_fact_cache *cache);
/* Bytes of memory that it has. */
size_t store_fact_cache_bytes(struct store_fact_cache *cache);

/* ---- private to storage ---- */

/*
 * Working memory of a list, FZ_PLATFORM_LARGE bytes of any content; NULL: out of memory. It is given back to the same cache, which
 * keeps some of it while there is room: to clear fresh memory takes longer than most of what is done with it. `cache` may be NULL.
 */
FZ_MUST_CHECK void *store_fact_cache_borrow(struct store_fact_cache *cache);
void store_fact_cache_give_back(struct store_fact_cache *cache, void *memory);

struct store_fact_key {
    int64_t project_id, day, sealing;
};

/* A column, until all who hold it have let go of it. */
struct store_fact_kept;
const struct store_block *store_fact_kept_block(const struct store_fact_kept *kept);
void store_fact_kept_drop(struct store_fact_kept *kept);
/* Hold it once more; returns it. */
struct store_fact_kept *store_fact_kept_hold(struct store_fact_kept *kept);

/* A scan begins: what is used from now on was used by it. */
void store_fact_cache_begin(struct store_fact_cache *cache);
/* NULL: it is not there. `column` is an enum store_fact_column. */
struct store_fact_kept *store_fact_cache_get(struct store_fact_cache *cache,
                                             const struct store_fact_key *key, int column);
/* Keep a copy of a column: `block` is what store_block_open() made of `bytes`. Without memory or room it is not kept. */
void store_fact_cache_put(struct store_fact_cache *cache, const struct store_fact_key *key,
                          int column, struct fz_span bytes, const struct store_block *block);

#endif
