/*
 * A table of days, in which a day's place is found by hashing its project and number; each has its columns. One lock for all: a
 * list takes it a few hundred times for some 50 ns each.
 */
#include "storage/store_fact_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_fact_days.h"

enum {
    ROOM_MIN = 256,
    KEPT_BYTES = 64, /* of a column besides its block */
};

struct store_fact_kept {
    atomic_uint n_holders;
    size_t bytes;
    struct store_block block;
    uint8_t data[];
};

struct day {
    struct store_fact_key key; /* project_id 0: the slot is free */
    struct store_fact_kept *columns[STORE_FACT_COLUMNS];
};

struct store_fact_cache {
    pthread_mutex_t lock;
    size_t most, bytes;
    struct day **days; /* open addressing; NULL: free */
    size_t room, n;    /* room: a power of two */
    uint64_t random;
};

/* ---- columns ---- */

const struct store_block *
store_fact_kept_block(const struct store_fact_kept *kept)
{
    return &kept->block;
}

void
store_fact_kept_drop(struct store_fact_kept *kept)
{
    if (kept && atomic_fetch_sub(&kept->n_holders, 1) == 1)
        free(kept);
}

static struct store_fact_kept *
make_kept(struct fz_span bytes)
{
    struct store_fact_kept *kept = malloc(sizeof(*kept) + bytes.len);
    if (!kept)
        return NULL;
    atomic_init(&kept->n_holders, 1);
    kept->bytes = bytes.len + KEPT_BYTES;
    memcpy(kept->data, bytes.data, bytes.len);
    if (store_block_open(fz_span_make(kept->data, bytes.len), &kept->block, NULL) == FZ_OK)
        return kept;
    free(kept);
    return NULL;
}

/* ---- days ---- */

static size_t
place_of(const struct store_fact_cache *cache, int64_t project_id, int64_t day)
{
    uint64_t hash =
        ((uint64_t)project_id * 0x9e3779b97f4a7c15 + (uint64_t)day) * 0x9e3779b97f4a7c15;
    size_t at = (size_t)(hash >> 32) & (cache->room - 1);
    while (cache->days[at] &&
           (cache->days[at]->key.project_id != project_id || cache->days[at]->key.day != day))
        at = (at + 1) & (cache->room - 1);
    return at;
}

static void
drop_columns(struct store_fact_cache *cache, struct day *day)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++) {
        cache->bytes -= day->columns[i] ? day->columns[i]->bytes : 0;
        store_fact_kept_drop(day->columns[i]);
        day->columns[i] = NULL;
    }
}

/* Those that follow it in the table move up, or they would not be found any more. */
static void
remove_day(struct store_fact_cache *cache, size_t at)
{
    drop_columns(cache, cache->days[at]);
    free(cache->days[at]);
    cache->days[at] = NULL;
    cache->n--;
    for (size_t next = (at + 1) & (cache->room - 1); cache->days[next];
         next = (next + 1) & (cache->room - 1)) {
        struct day *day = cache->days[next];
        cache->days[next] = NULL;
        cache->days[place_of(cache, day->key.project_id, day->key.day)] = day;
    }
}

static bool
grow(struct store_fact_cache *cache)
{
    struct store_fact_cache larger = *cache;
    larger.room = cache->room * 2;
    larger.days = calloc(larger.room, sizeof(struct day *));
    if (!larger.days)
        return false;
    for (size_t i = 0; i < cache->room; i++) {
        struct day *day = cache->days[i];
        if (day)
            larger.days[place_of(&larger, day->key.project_id, day->key.day)] = day;
    }
    free(cache->days);
    cache->days = larger.days;
    cache->room = larger.room;
    return true;
}

/* The day, with no column of another sealing; NULL: no memory. */
static struct day *
put_day(struct store_fact_cache *cache, const struct store_fact_key *key)
{
    if (cache->n * 2 >= cache->room && !grow(cache))
        return NULL;
    size_t at = place_of(cache, key->project_id, key->day);
    if (!cache->days[at]) {
        cache->days[at] = calloc(1, sizeof(struct day));
        cache->n += cache->days[at] != NULL;
    }
    struct day *day = cache->days[at];
    if (day && day->key.sealing != key->sealing)
        drop_columns(cache, day);
    if (day)
        day->key = *key;
    return day;
}

/* Room for so many bytes: other days go. */
static bool
make_room(struct store_fact_cache *cache, size_t bytes, const struct store_fact_key *key)
{
    while (cache->bytes + bytes > cache->most && cache->n > 0) {
        cache->random = cache->random * 6364136223846793005 + 1442695040888963407;
        size_t at = (size_t)(cache->random >> 33) & (cache->room - 1);
        while (!cache->days[at])
            at = (at + 1) & (cache->room - 1);
        bool is_own = cache->days[at]->key.project_id == key->project_id &&
                      cache->days[at]->key.day == key->day;
        if (is_own && cache->n == 1)
            return false;
        if (!is_own)
            remove_day(cache, at);
    }
    return cache->bytes + bytes <= cache->most;
}

/* ---- all ---- */

enum fz_code
store_fact_cache_create(size_t most, struct store_fact_cache **ret, struct fz_error *err)
{
    struct store_fact_cache *cache = calloc(1, sizeof(*cache));
    struct day **days = calloc(ROOM_MIN, sizeof(*days));
    if (!cache || !days) {
        free(cache);
        free(days);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    *cache = (struct store_fact_cache){.most = most, .days = days, .room = ROOM_MIN, .random = 1};
    pthread_mutex_init(&cache->lock, NULL);
    *ret = cache;
    return FZ_OK;
}

void
store_fact_cache_destroy(struct store_fact_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->room; i++) {
        if (cache->days[i])
            drop_columns(cache, cache->days[i]);
        free(cache->days[i]);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache->days);
    free(cache);
}

void
store_set_fact_cache(struct store *store, struct store_fact_cache *cache)
{
    store->fact_cache = cache;
}

size_t
store_fact_cache_bytes(struct store_fact_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    size_t bytes = cache->bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}

struct store_fact_kept *
store_fact_cache_get(struct store_fact_cache *cache, const struct store_fact_key *key, int column)
{
    pthread_mutex_lock(&cache->lock);
    const struct day *day = cache->days[place_of(cache, key->project_id, key->day)];
    struct store_fact_kept *kept =
        day && day->key.sealing == key->sealing ? day->columns[column] : NULL;
    if (kept)
        atomic_fetch_add(&kept->n_holders, 1);
    pthread_mutex_unlock(&cache->lock);
    return kept;
}

void
store_fact_cache_put(struct store_fact_cache *cache, const struct store_fact_key *key, int column,
                     struct fz_span bytes)
{
    /* Copied outside of the lock. */
    struct store_fact_kept *kept = make_kept(bytes);
    if (!kept)
        return;
    pthread_mutex_lock(&cache->lock);
    struct day *day = make_room(cache, kept->bytes, key) ? put_day(cache, key) : NULL;
    if (day && !day->columns[column]) {
        cache->bytes += kept->bytes;
        day->columns[column] = kept;
        kept = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    store_fact_kept_drop(kept);
}
