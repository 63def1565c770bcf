/*
 * Lists of users, counted one at a time.
 *
 * The table of a list has two bits for each user that any list may have, the two low ones of what is written down; or it is a hash
 * table where the list has few of them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "storage/store_distinct.h"

enum {
    BITS_MIN = 1 << 16, /* words that are worth it for any list: half a megabyte */
    BITS_EACH = 1,      /* the same for each user of it */
    LARGE_FROM = 128 * 1024,
    SLOTS_MIN = 64,
    FETCHED = 4, /* lines of 64 bytes */
    AT_ONCE = 16 /* groups */
};

struct table {
    uint64_t *words; /* owned; zeros between lists */
    size_t room;     /* bytes */
    bool is_dense;
    uint32_t first; /* dense: what is written down of the first user, without the low bits */
    size_t n;       /* words; or 4-byte slots of the hash table, a power of two */
};

struct range {
    uint32_t first, last;
};

struct found {
    uint64_t users, marked;
};

static void
drop_table(struct table *table)
{
    if (table->room >= LARGE_FROM)
        fz_platform_large_drop(table->words, table->room);
    else
        free(table->words);
    table->words = NULL;
    table->room = 0;
}

/* At least so many bytes. */
static bool
make_room(struct table *table, size_t bytes)
{
    if (bytes <= table->room)
        return true;
    drop_table(table);
    size_t room = bytes < LARGE_FROM ? 2 * bytes : bytes;
    table->words = room >= LARGE_FROM ? fz_platform_large(room) : calloc(1, room);
    table->room = table->words ? room : 0;
    return table->words != NULL;
}

/* Choose the table for this list. */
static bool
start(struct table *table, const struct range *range, uint64_t n)
{
    size_t words = (range->last - range->first) / 32 + 1;
    table->is_dense = words <= BITS_MIN || words <= BITS_EACH * n;
    table->first = range->first << 2;
    table->n = words;
    if (table->is_dense)
        return make_room(table, words * sizeof(uint64_t));
    for (table->n = SLOTS_MIN; table->n < n + n / 2;)
        table->n *= 2;
    return make_room(table, table->n * sizeof(uint32_t));
}

/* Zeros again. Of a short list it is faster to go through it once more. */
static void
clear(struct table *table, const struct store_distinct_chunk *last, uint64_t n)
{
    if (!table->is_dense || n > table->n / 4) {
        memset(table->words, 0, table->n * (table->is_dense ? sizeof(uint64_t) : sizeof(uint32_t)));
        return;
    }
    for (const struct store_distinct_chunk *chunk = last; chunk; chunk = chunk->before) {
        for (uint32_t i = 0; i < chunk->n; i++)
            table->words[(chunk->users[i] - table->first) >> 7] = 0;
    }
}

static struct found
put_dense(const struct table *table, const struct store_distinct_chunk *chunk)
{
    uint64_t *words = table->words, n_users = 0, n_marked = 0;
    uint32_t first = table->first, n = chunk->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t user = chunk->users[i], at = (user - first) >> 1 & ~UINT32_C(1);
        uint64_t word = words[at / 64], bits = user & 3, is_new = bits & ~(word >> at % 64);
        words[at / 64] = word | bits << at % 64;
        n_users += is_new & 1;
        n_marked += is_new >> 1;
    }
    return (struct found){n_users, n_marked};
}

static struct found
put_sparse(const struct table *table, const struct store_distinct_chunk *chunk)
{
    uint32_t *slots = (uint32_t *)table->words, n = chunk->n;
    uint64_t n_users = 0, n_marked = 0;
    size_t mask = table->n - 1;
    for (uint32_t i = 0; i < n; i++) {
        /* Fibonacci hashing: ids are consecutive, their products are not. What is written down is never 0. */
        uint32_t user = chunk->users[i];
        size_t at = (size_t)(((user >> 2) * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
        while (slots[at] && slots[at] >> 2 != user >> 2)
            at = (at + 1) & mask;
        uint32_t is_new = (user & ~slots[at]) & 3;
        slots[at] |= user;
        n_users += is_new & 1;
        n_marked += is_new >> 1;
    }
    return (struct found){n_users, n_marked};
}

/* The numbers that users of this plane have, without the high bits. */
static struct range
range_of(const struct store_distinct *distinct, uint64_t high)
{
    uint64_t from = high << STORE_DISTINCT_PLANE_BITS, most = (1 << STORE_DISTINCT_PLANE_BITS) - 1;
    uint64_t first = distinct->first > from ? distinct->first - from : 0;
    uint64_t last = distinct->last - from < most ? distinct->last - from : most;
    return (struct range){(uint32_t)first, (uint32_t)last};
}

/* Begin to load the first users: lists are not in the caches any more. */
static void
fetch(const struct store_distinct_chunk *chunk)
{
    for (int line = 0; chunk && line < FETCHED; line++)
        __builtin_prefetch((const uint8_t *)chunk + line * 64);
}

/* Add to `found`. `n`: of all its chunks. */
static bool
count(struct table *table, const struct range *range, const struct store_distinct_chunk *last,
      uint64_t n, struct found *found)
{
    if (!start(table, range, n))
        return false;
    for (const struct store_distinct_chunk *chunk = last; chunk; chunk = chunk->before) {
        fetch(chunk->before);
        struct found more = table->is_dense ? put_dense(table, chunk) : put_sparse(table, chunk);
        found->users += more.users;
        found->marked += more.marked;
    }
    return true;
}

/* ---- squeeze ---- */

/* The n-th user of the table, or 0. */
static uint32_t
user_at(const struct table *table, size_t at)
{
    if (!table->is_dense)
        return ((const uint32_t *)table->words)[at];
    uint32_t bits = (uint32_t)(table->words[at / 32] >> at % 32 * 2) & 3;
    return bits ? table->first + (uint32_t)at * 4 + bits : 0;
}

enum fz_code
store_distinct_squeeze(struct store_distinct *distinct, uint32_t group,
                       struct store_distinct_chunk **ret_free, struct fz_error *err)
{
    struct store_distinct_list *list = &distinct->plane.lists[group];
    struct store_distinct_chunk *chunk = list->last;
    struct table table = {.words = NULL};
    struct found found = {0, 0};
    const struct range range = range_of(distinct, distinct->plane.high);
    if (!count(&table, &range, chunk, list->n, &found)) {
        drop_table(&table);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    size_t n = table.is_dense ? table.n * 32 : table.n;
    uint32_t in_chunk = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t user = user_at(&table, i);
        if (user && in_chunk == chunk->room) {
            chunk->n = in_chunk;
            chunk = chunk->before;
            in_chunk = 0;
        }
        if (user)
            chunk->users[in_chunk++] = user;
    }
    chunk->n = in_chunk;
    *ret_free = chunk->before;
    chunk->before = NULL;
    list->first = chunk;
    list->n = found.users;
    drop_table(&table);
    return FZ_OK;
}

/* ---- all groups ---- */

struct counting {
    const struct store_distinct *distinct;
    uint32_t
        largest; /* the group with the longest list, which comes first: so the others end together */
    atomic_uint_fast32_t next;
    uint64_t *users, *marked;
    atomic_bool has_failed;
};

static bool
count_group(struct counting *counting, struct table *table, uint32_t group)
{
    struct found found = {0, 0};
    for (size_t i = 0; i < counting->distinct->n_planes; i++) {
        const struct store_distinct_plane *plane = &counting->distinct->planes[i];
        const struct range range = range_of(counting->distinct, plane->high);
        const struct store_distinct_list *list = &plane->lists[group];
        if (group + 1 < counting->distinct->n_groups)
            fetch(list[1].last);
        uint64_t n = list->last ? list->n + list->last->n : 0;
        if (n && !count(table, &range, list->last, n, &found))
            return false;
        if (n)
            clear(table, list->last, n);
    }
    counting->users[group] += found.users;
    counting->marked[group] += found.marked;
    return true;
}

static void *
count_groups(void *user)
{
    struct counting *counting = user;
    uint32_t n = counting->distinct->n_groups;
    struct table table = {.words = NULL};
    bool is_done = true;
    for (uint_fast32_t from; is_done && (from = atomic_fetch_add(&counting->next, AT_ONCE)) < n;) {
        if (from == 0)
            is_done = count_group(counting, &table, counting->largest);
        for (uint_fast32_t i = from; is_done && i < n && i < from + AT_ONCE; i++) {
            if (i != counting->largest)
                is_done = count_group(counting, &table, (uint32_t)i);
        }
    }
    if (!is_done)
        atomic_store(&counting->has_failed, true);
    drop_table(&table);
    return NULL;
}

/* Say of all lists where they end; returns the group that has the longest one. */
static uint32_t
close_lists(struct store_distinct *distinct)
{
    uint32_t largest = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < distinct->n_planes; i++) {
        const struct store_distinct_plane *plane = &distinct->planes[i];
        for (uint32_t group = 0; group < distinct->n_groups; group++) {
            struct store_distinct_chunk *last = plane->lists[group].last;
            if (!last)
                continue;
            last->n = (uint32_t)(plane->tails[group].next - last->users);
            if (plane->lists[group].n + last->n > most) {
                most = plane->lists[group].n + last->n;
                largest = group;
            }
        }
    }
    return largest;
}

enum fz_code
store_distinct_count(struct store_distinct *distinct, bool is_shared, uint64_t *ret_users,
                     uint64_t *ret_marked, struct fz_error *err)
{
    struct counting counting = {.distinct = distinct, .users = ret_users, .marked = ret_marked};
    pthread_t thread;
    counting.largest = close_lists(distinct);
    /* Without a thread it is slower, and right. */
    bool has_thread = is_shared && fz_platform_thread(&thread, count_groups, &counting) == 0;
    count_groups(&counting);
    if (has_thread)
        pthread_join(thread, NULL);
    return atomic_load(&counting.has_failed) ? fz_fail(err, FZ_E_NO_MEMORY, "out of memory")
                                             : FZ_OK;
}
