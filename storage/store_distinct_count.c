/*
 * Users, counted one group at a time.
 *
 * The table of a group has a bit for each user that any list may have; or it is a hash table where its lists have few of them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "storage/store_distinct.h"

enum {
    BITS_MIN = 1 << 16, /* words that are worth it for any group: half a megabyte */
    BITS_EACH = 1,      /* the same for each user of it */
    LARGE_FROM = 128 * 1024,
    SLOTS_MIN = 64,
    FETCHED = 4,  /* lines of 64 bytes */
    AT_ONCE = 16, /* groups, if there are many */
    MANY = 512,
    SHARE_FROM = 100 * 1000 /* users: fewer are counted while a thread starts */
};

struct table {
    uint64_t *words; /* owned; zeros between groups */
    size_t room;     /* bytes */
    bool is_dense;
    uint32_t first; /* dense: what is written down of the first user */
    size_t n;       /* words; or 4-byte slots of the hash table, a power of two */
};

struct range {
    uint32_t first, last; /* as written down */
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

static size_t
n_words(const struct range *range)
{
    return (range->last - range->first) / 64 + 1;
}

/* Is it a table of bits for so many users, of which some are the same? */
static bool
is_dense(const struct range *range, uint64_t n)
{
    return n_words(range) <= BITS_MIN || n_words(range) <= BITS_EACH * n;
}

/* Choose the table for them. */
static bool
start(struct table *table, const struct range *range, uint64_t n)
{
    table->is_dense = is_dense(range, n);
    table->first = range->first;
    table->n = n_words(range);
    if (table->is_dense)
        return make_room(table, table->n * sizeof(uint64_t));
    for (table->n = SLOTS_MIN; table->n < n + n / 2;)
        table->n *= 2;
    return make_room(table, table->n * sizeof(uint32_t));
}

static uint64_t
put_dense(const struct table *table, const struct store_distinct_chunk *chunk)
{
    uint64_t *words = table->words, n_users = 0;
    uint32_t first = table->first, n = chunk->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = chunk->users[i] - first;
        uint64_t word = words[at / 64], bit = UINT64_C(1) << at % 64;
        words[at / 64] = word | bit;
        n_users += !(word & bit);
    }
    return n_users;
}

static uint64_t
put_sparse(const struct table *table, const struct store_distinct_chunk *chunk)
{
    uint32_t *slots = (uint32_t *)table->words, n = chunk->n;
    uint64_t n_users = 0;
    size_t mask = table->n - 1;
    for (uint32_t i = 0; i < n; i++) {
        /* Fibonacci hashing: ids are consecutive, their products are not. What is written down is never 0. */
        uint32_t user = chunk->users[i];
        size_t at = (size_t)((user * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
        while (slots[at] && slots[at] != user)
            at = (at + 1) & mask;
        n_users += !slots[at];
        slots[at] = user;
    }
    return n_users;
}

/* Begin to load the first users: lists are not in the caches any more. */
static void
fetch(const struct store_distinct_chunk *chunk)
{
    for (int line = 0; chunk && line < FETCHED; line++)
        __builtin_prefetch((const uint8_t *)chunk + line * 64);
}

/* Put all users of a list into the table; returns how many were not in it. */
static uint64_t
put_list(const struct table *table, const struct store_distinct_list *list)
{
    uint64_t n = 0;
    for (const struct store_distinct_chunk *chunk = list->last; chunk; chunk = chunk->before) {
        fetch(chunk->before);
        n += table->is_dense ? put_dense(table, chunk) : put_sparse(table, chunk);
    }
    return n;
}

/* Zeros again, of `n` lists with so many users. Through short ones it is faster to go once more. */
static void
clear(const struct table *table, const struct store_distinct_list *lists, size_t n,
      uint64_t n_users)
{
    if (!table->is_dense || n_users > table->n / 4) {
        memset(table->words, 0, table->n * (table->is_dense ? sizeof(uint64_t) : sizeof(uint32_t)));
        return;
    }
    for (size_t list = 0; list < n; list++) {
        for (const struct store_distinct_chunk *chunk = lists[list].last; chunk;
             chunk = chunk->before) {
            for (uint32_t i = 0; i < chunk->n; i++)
                table->words[(chunk->users[i] - table->first) / 64] = 0;
        }
    }
}

/* What may be written down of the users of this plane. */
static struct range
range_of(const struct store_distinct *distinct, uint64_t high)
{
    uint64_t from = high << STORE_DISTINCT_PLANE_BITS, most = (1 << STORE_DISTINCT_PLANE_BITS) - 1;
    uint64_t first = distinct->first > from ? distinct->first - from : 0;
    uint64_t last = distinct->last - from < most ? distinct->last - from : most;
    return (struct range){(uint32_t)first + 1, (uint32_t)last + 1};
}

/* ---- squeeze ---- */

/* What is in this place of the table, or 0. */
static uint32_t
user_at(const struct table *table, size_t at)
{
    if (!table->is_dense)
        return ((const uint32_t *)table->words)[at];
    return table->words[at / 64] >> at % 64 & 1 ? table->first + (uint32_t)at : 0;
}

enum fz_code
store_distinct_squeeze(struct store_distinct *distinct, uint32_t which,
                       struct store_distinct_chunk **ret_free, struct fz_error *err)
{
    struct store_distinct_list *list = &distinct->plane.lists[which];
    struct store_distinct_chunk *chunk = list->last;
    struct table table = {.words = NULL};
    const struct range range = range_of(distinct, distinct->plane.high);
    if (!start(&table, &range, list->n)) {
        drop_table(&table);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    list->n = put_list(&table, list);
    size_t n = table.is_dense ? table.n * 64 : table.n;
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
    drop_table(&table);
    return FZ_OK;
}

/* ---- groups ---- */

enum { THREADS = 2 };

struct counting {
    const struct store_distinct *distinct;
    const struct store_distinct_wanted *wanted;
    bool is_split;                /* the largest group is counted by both threads */
    struct table halves[THREADS]; /* its users, of each thread */
    atomic_size_t next_half;
    size_t largest; /* the place of the group with the most users, which comes first */
    uint64_t most;  /* those */
    size_t at_once;
    atomic_size_t next;
    uint64_t *ret;
    atomic_bool has_failed;
};

static uint32_t
group_at(const struct store_distinct_wanted *wanted, size_t at)
{
    return wanted->groups ? wanted->groups[at] : (uint32_t)at;
}

/* How many lists of each group are wanted. */
static size_t
n_lists(const struct store_distinct_wanted *wanted)
{
    return wanted->marked_only ? 1 : 2;
}

/* The first one. */
static const struct store_distinct_list *
lists_of(const struct store_distinct_plane *plane, const struct store_distinct_wanted *wanted,
         size_t at)
{
    return &plane->lists[store_distinct_list(group_at(wanted, at), wanted->marked_only)];
}

/* How many users they have, of which some are the same. */
static uint64_t
sum_of(const struct store_distinct_list *lists, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += lists[i].last ? lists[i].n + lists[i].last->n : 0;
    return sum;
}

static bool
count_group(struct counting *counting, struct table *table, size_t at)
{
    const struct store_distinct *distinct = counting->distinct;
    const size_t n = n_lists(counting->wanted);
    uint64_t found = 0;
    for (size_t i = 0; i < distinct->n_planes; i++) {
        const struct store_distinct_plane *plane = &distinct->planes[i];
        const struct range range = range_of(distinct, plane->high);
        const struct store_distinct_list *lists = lists_of(plane, counting->wanted, at);
        uint64_t n_users = sum_of(lists, n);
        if (at + 1 < counting->wanted->n)
            fetch(lists_of(plane, counting->wanted, at + 1)->last);
        if (!n_users)
            continue;
        if (!start(table, &range, n_users))
            return false;
        for (size_t list = 0; list < n; list++)
            found += put_list(table, &lists[list]);
        clear(table, lists, n, n_users);
    }
    counting->ret[at] = found;
    return true;
}

/* Every other chunk of the largest group, to a table of this thread's own. */
static bool
put_half(struct counting *counting)
{
    const struct store_distinct_plane *plane = &counting->distinct->planes[0];
    const struct range range = range_of(counting->distinct, plane->high);
    const struct store_distinct_list *lists = lists_of(plane, counting->wanted, counting->largest);
    size_t n = n_lists(counting->wanted), half = atomic_fetch_add(&counting->next_half, 1), at = 0;
    struct table *table = &counting->halves[half];
    if (!start(table, &range, sum_of(lists, n)))
        return false;
    for (size_t list = 0; list < n; list++) {
        for (const struct store_distinct_chunk *chunk = lists[list].last; chunk;
             chunk = chunk->before) {
            if (at++ % THREADS == half)
                (void)put_dense(table, chunk);
            else
                fetch(chunk->before);
        }
    }
    return true;
}

static uint64_t
join_halves(struct counting *counting)
{
    const struct table *one = &counting->halves[0], *other = &counting->halves[1];
    uint64_t n_users = 0;
    for (size_t i = 0; i < one->n; i++)
        n_users += (uint64_t)__builtin_popcountll(one->words[i] | other->words[i]);
    return n_users;
}

static void *
count_groups(void *user)
{
    struct counting *counting = user;
    size_t n = counting->wanted->n, at_once = counting->at_once;
    struct table table = {.words = NULL};
    bool is_done = !counting->is_split || put_half(counting);
    for (size_t from; is_done && (from = atomic_fetch_add(&counting->next, at_once)) < n;) {
        if (from == 0 && !counting->is_split)
            is_done = count_group(counting, &table, counting->largest);
        for (size_t i = from; is_done && i < n && i < from + at_once; i++) {
            if (i != counting->largest)
                is_done = count_group(counting, &table, i);
        }
    }
    if (!is_done)
        atomic_store(&counting->has_failed, true);
    drop_table(&table);
    return NULL;
}

/* Say of all lists where they end. */
static void
close_lists(const struct store_distinct *distinct)
{
    for (size_t i = 0; i < distinct->n_planes; i++) {
        const struct store_distinct_plane *plane = &distinct->planes[i];
        for (uint32_t list = 0; list < 2 * distinct->n_groups; list++) {
            struct store_distinct_chunk *last = plane->lists[list].last;
            if (last)
                last->n = (uint32_t)(plane->tails[list].next - last->users);
        }
    }
}

/* Find the largest group; returns how many users all have together, of which some are the same. */
static uint64_t
find_largest(struct counting *counting)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < counting->wanted->n; at++) {
        uint64_t n_users = 0;
        for (size_t i = 0; i < counting->distinct->n_planes; i++)
            n_users += sum_of(lists_of(&counting->distinct->planes[i], counting->wanted, at),
                              n_lists(counting->wanted));
        counting->largest = n_users > counting->most ? at : counting->largest;
        counting->most = n_users > counting->most ? n_users : counting->most;
        sum += n_users;
    }
    return sum;
}

/* Would one thread still count the largest group when the other one is done with all the others? */
static bool
is_too_large(const struct counting *counting, uint64_t sum)
{
    const struct store_distinct *distinct = counting->distinct;
    if (distinct->n_planes != 1 || counting->most <= sum / THREADS / 2)
        return false;
    const struct range range = range_of(distinct, distinct->planes[0].high);
    return is_dense(&range, counting->most);
}

enum fz_code
store_distinct_count(struct store_distinct *distinct, const struct store_distinct_wanted *wanted,
                     uint64_t *ret, struct fz_error *err)
{
    struct counting counting = {.distinct = distinct,
                                .wanted = wanted,
                                .at_once = wanted->n < MANY ? 1 : AT_ONCE,
                                .ret = ret};
    uint64_t share_from = distinct->share_from ? distinct->share_from : SHARE_FROM;
    struct fz_platform_cores cores = {.are_split = false};
    pthread_t thread;
    close_lists(distinct);
    uint64_t sum = find_largest(&counting);
    bool is_worth_it = distinct->is_shared && sum >= share_from;
    counting.is_split = is_worth_it && is_too_large(&counting, sum);
    bool has_thread =
        is_worth_it && fz_platform_thread_beside(&thread, count_groups, &counting, &cores) == 0;
    count_groups(&counting);
    if (has_thread)
        pthread_join(thread, NULL);
    else if (is_worth_it)
        /* Without a thread it is slower, and right: this is the other half. */
        count_groups(&counting);
    fz_platform_cores_back(&cores);
    bool is_done = !atomic_load(&counting.has_failed);
    if (is_done && counting.is_split)
        ret[counting.largest] = join_halves(&counting);
    for (int i = 0; i < THREADS; i++)
        drop_table(&counting.halves[i]);
    return is_done ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}
