/*
 * A table of days, in which a day's place is found by hashing its project and number; each has its columns. One lock for all: a
 * list takes it a few hundred times for some 50 ns each.
 */
#include "storage/store_fact_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/platform.h"
#include "storage/store_fact_days.h"
#include "storage/store_fact_slab.h"

enum { ROOM_MIN = 256, SPARE = 16, RECENT = 8 /* scans */ };

/* At the start of its memory in the slab. */
struct store_fact_kept {
    atomic_uint n_holders;
    struct store_fact_slab *slab; /* held */
    size_t bytes;                 /* with this */
    /* Under the lock. */
    bool is_listed; /* its day has it */
    struct store_fact_key key;
    int column;
    struct store_block block;
    uint8_t data[];
};

struct day {
    struct store_fact_key key; /* project_id 0: the slot is free */
    struct store_fact_kept *columns[STORE_FACT_COLUMNS];
};

struct store_fact_cache {
    pthread_mutex_t lock;
    size_t most, bytes;             /* bytes: of the slabs, and of what is spare */
    struct day **days;              /* open addressing; NULL: free */
    size_t room, n;                 /* room: a power of two */
    struct store_fact_slab **slabs; /* each held; the last one is being filled */
    size_t n_slabs, room_slabs;
    void *spare[SPARE]; /* FZ_PLATFORM_LARGE bytes each; owned */
    size_t n_spare;
    uint64_t random, n_scans;
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
        store_fact_slab_drop(kept->slab);
}

struct store_fact_kept *
store_fact_kept_hold(struct store_fact_kept *kept)
{
    atomic_fetch_add(&kept->n_holders, 1);
    return kept;
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
drop_slab(struct store_fact_cache *cache, size_t at)
{
    struct store_fact_slab *slab = cache->slabs[at];
    cache->bytes -= slab->size;
    cache->n_slabs--;
    memmove(cache->slabs + at, cache->slabs + at + 1,
            (cache->n_slabs - at) * sizeof(struct store_fact_slab *));
    store_fact_slab_drop(slab);
}

/* It cannot be found any more. A slab without such columns goes. */
static void
drop_column(struct store_fact_cache *cache, struct day *day, int column)
{
    struct store_fact_kept *kept = day->columns[column];
    if (!kept)
        return;
    struct store_fact_slab *slab = kept->slab;
    day->columns[column] = NULL;
    kept->is_listed = false;
    store_fact_kept_drop(kept);
    if (--slab->n_listed)
        return;
    for (size_t i = 0; i < cache->n_slabs; i++) {
        if (cache->slabs[i] == slab) {
            drop_slab(cache, i);
            return;
        }
    }
}

static void
drop_columns(struct store_fact_cache *cache, struct day *day)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++)
        drop_column(cache, day, i);
}

/* Those that follow it in the table move up, or they would not be found any more. */
static void
remove_day(struct store_fact_cache *cache, size_t at)
{
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
is_empty(const struct day *day)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++) {
        if (day->columns[i])
            return false;
    }
    return true;
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

/* ---- room ---- */

static bool
has_slab(const struct store_fact_cache *cache, const struct store_fact_slab *slab)
{
    for (size_t i = 0; i < cache->n_slabs; i++) {
        if (cache->slabs[i] == slab)
            return true;
    }
    return false;
}

/* All columns of the slab, and the slab, go. */
static void
empty_slab(struct store_fact_cache *cache, size_t at)
{
    struct store_fact_slab *slab = cache->slabs[at];
    store_fact_slab_hold(slab);
    for (size_t from = 0; from < slab->used;) {
        struct store_fact_kept *kept = (void *)(slab->memory + from);
        from += kept->bytes;
        if (!kept->is_listed)
            continue;
        size_t place = place_of(cache, kept->key.project_id, kept->key.day);
        drop_column(cache, cache->days[place], kept->column);
        if (is_empty(cache->days[place]))
            remove_day(cache, place);
    }
    /* One without columns that can be found was still here. */
    if (at < cache->n_slabs && cache->slabs[at] == slab)
        drop_slab(cache, at);
    store_fact_slab_drop(slab);
}

static bool
has_day(const struct store_fact_slab *slab, const struct store_fact_key *key)
{
    const struct store_fact_kept *kept;
    for (size_t from = 0; from < slab->used; from += kept->bytes) {
        kept = (const void *)(slab->memory + from);
        if (kept->is_listed && kept->key.project_id == key->project_id && kept->key.day == key->day)
            return true;
    }
    return false;
}

/* Drop what was not used lately, or what is chosen at random, but nothing of this day; false: there is nothing else. */
static bool
make_room(struct store_fact_cache *cache, const struct store_fact_key *key)
{
    size_t found = cache->n_slabs;
    cache->random = cache->random * 6364136223846793005 + 1442695040888963407;
    for (size_t i = 0; i < cache->n_slabs; i++) {
        size_t at = (size_t)((cache->random >> 33) + i) % cache->n_slabs;
        bool is_old = cache->slabs[at]->used_at + RECENT < cache->n_scans;
        if ((!is_old && found < cache->n_slabs) || has_day(cache->slabs[at], key))
            continue;
        found = at;
        if (is_old)
            break;
    }
    if (found == cache->n_slabs)
        return false;
    empty_slab(cache, found);
    return true;
}

/* A slab with so much room for this day, after the others; false: there is none. */
static bool
add_slab(struct store_fact_cache *cache, const struct store_fact_key *key, size_t bytes)
{
    size_t size = store_fact_slab_size(cache->most, cache->bytes, bytes);
    struct store_fact_slab **slabs = size > cache->most
                                         ? NULL
                                         : fz_list_grow(NULL, cache->slabs, &cache->room_slabs,
                                                        cache->n_slabs + 1, sizeof(*slabs));
    if (!slabs)
        return false;
    cache->slabs = slabs;
    while (cache->n_spare && cache->bytes + size > cache->most) {
        fz_platform_large_drop(cache->spare[--cache->n_spare], FZ_PLATFORM_LARGE);
        cache->bytes -= FZ_PLATFORM_LARGE;
    }
    bool has_room = true;
    while (has_room && cache->bytes + size > cache->most)
        has_room = make_room(cache, key);
    struct store_fact_slab *slab = has_room ? store_fact_slab_make(size) : NULL;
    if (!slab)
        return false;
    slabs[cache->n_slabs++] = slab;
    cache->bytes += slab->size;
    return true;
}

/* Memory for a column, which is not listed yet. NULL: there is no room. */
static struct store_fact_kept *
make_kept(struct store_fact_cache *cache, const struct store_fact_key *key, int column, size_t len)
{
    size_t bytes = sizeof(struct store_fact_kept) + len;
    struct store_fact_slab *slab = cache->n_slabs ? cache->slabs[cache->n_slabs - 1] : NULL;
    struct store_fact_kept *kept = slab ? store_fact_slab_take(slab, bytes) : NULL;
    if (!kept && add_slab(cache, key, store_fact_slab_round(bytes))) {
        slab = cache->slabs[cache->n_slabs - 1];
        kept = store_fact_slab_take(slab, bytes);
    }
    if (!kept)
        return NULL;
    *kept = (struct store_fact_kept){
        .slab = slab, .bytes = store_fact_slab_round(bytes), .key = *key, .column = column};
    atomic_init(&kept->n_holders, 1);
    store_fact_slab_hold(slab);
    slab->used_at = cache->n_scans;
    return kept;
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
    while (cache->n_slabs)
        drop_slab(cache, cache->n_slabs - 1);
    while (cache->n_spare)
        fz_platform_large_drop(cache->spare[--cache->n_spare], FZ_PLATFORM_LARGE);
    pthread_mutex_destroy(&cache->lock);
    free(cache->slabs);
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

void
store_fact_cache_begin(struct store_fact_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->n_scans++;
    pthread_mutex_unlock(&cache->lock);
}

struct store_fact_kept *
store_fact_cache_get(struct store_fact_cache *cache, const struct store_fact_key *key, int column)
{
    pthread_mutex_lock(&cache->lock);
    const struct day *day = cache->days[place_of(cache, key->project_id, key->day)];
    struct store_fact_kept *kept =
        day && day->key.sealing == key->sealing ? day->columns[column] : NULL;
    if (kept) {
        store_fact_kept_hold(kept);
        kept->slab->used_at = cache->n_scans;
    }
    pthread_mutex_unlock(&cache->lock);
    return kept;
}

void
store_fact_cache_put(struct store_fact_cache *cache, const struct store_fact_key *key, int column,
                     struct fz_span bytes, const struct store_block *block)
{
    pthread_mutex_lock(&cache->lock);
    struct store_fact_kept *kept = make_kept(cache, key, column, bytes.len);
    pthread_mutex_unlock(&cache->lock);
    if (!kept)
        return;
    /* Outside of the lock, as it is not listed: no list reads it. */
    memcpy(kept->data, bytes.data, bytes.len);
    kept->block = *block;
    kept->block.data = kept->data + (block->data - bytes.data);
    pthread_mutex_lock(&cache->lock);
    struct day *day = put_day(cache, key);
    /* Its slab may have gone in the meantime, to make room. */
    if (day && !day->columns[column] && has_slab(cache, kept->slab)) {
        day->columns[column] = kept;
        kept->is_listed = true;
        kept->slab->n_listed++;
        kept = NULL;
    } else if (day && is_empty(day)) {
        remove_day(cache, place_of(cache, key->project_id, key->day));
    }
    pthread_mutex_unlock(&cache->lock);
    store_fact_kept_drop(kept);
}

/* ---- working memory ---- */

void *
store_fact_cache_borrow(struct store_fact_cache *cache)
{
    void *memory = NULL;
    if (cache) {
        pthread_mutex_lock(&cache->lock);
        if (cache->n_spare) {
            memory = cache->spare[--cache->n_spare];
            cache->bytes -= FZ_PLATFORM_LARGE;
        }
        pthread_mutex_unlock(&cache->lock);
    }
    return memory ? memory : fz_platform_large(FZ_PLATFORM_LARGE);
}

void
store_fact_cache_give_back(struct store_fact_cache *cache, void *memory)
{
    if (cache && memory) {
        pthread_mutex_lock(&cache->lock);
        if (cache->n_spare < SPARE && cache->bytes + FZ_PLATFORM_LARGE <= cache->most) {
            cache->spare[cache->n_spare++] = memory;
            cache->bytes += FZ_PLATFORM_LARGE;
            memory = NULL;
        }
        pthread_mutex_unlock(&cache->lock);
    }
    fz_platform_large_drop(memory, FZ_PLATFORM_LARGE);
}
