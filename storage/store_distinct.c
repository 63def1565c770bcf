#include "storage/store_distinct.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/platform.h"
#include "storage/store_fact_cache.h"

enum {
    FIRST_SLAB = 256 * 1024,
    CHUNK_MIN = 64, /* bytes; each size is four times the one before */
    MOST = 128 * 1024 * 1024,
    SQUEEZE_FROM = 32 * 1024 * 1024,
    SQUEEZED_MIN = 4096, /* users of a list that is worth it */
    AHEAD = 1024         /* bytes of a column, which is not in the caches either */
};

/* ---- memory ---- */

static size_t
chunk_bytes(unsigned size)
{
    return (size_t)CHUNK_MIN << 2 * size;
}

static uint32_t
chunk_room(unsigned size)
{
    return (uint32_t)((chunk_bytes(size) - sizeof(struct store_distinct_chunk)) / sizeof(uint32_t));
}

/* At most twice as much as the list has. */
static unsigned
size_for(const struct store_distinct_list *list)
{
    unsigned size = 0;
    while (size + 1 < STORE_DISTINCT_SIZES && chunk_room(size + 1) <= 2 * list->n)
        size++;
    return size;
}

static void
drop_slab(const struct store_distinct *distinct, struct store_distinct_slab *slab)
{
    if (slab->size == FIRST_SLAB)
        free(slab->memory);
    else
        store_fact_cache_give_back(distinct->memory, slab->memory);
}

static bool
add_slab(struct store_distinct *distinct)
{
    struct store_distinct_slab *slabs = fz_list_grow(NULL, distinct->slabs, &distinct->room_slabs,
                                                     distinct->n_slabs + 1, sizeof(*slabs));
    if (!slabs)
        return false;
    distinct->slabs = slabs;
    struct store_distinct_slab slab = {.size = distinct->n_slabs ? (size_t)FZ_PLATFORM_LARGE
                                                                 : (size_t)FIRST_SLAB};
    slab.memory = distinct->n_slabs ? store_fact_cache_borrow(distinct->memory)
                                    : aligned_alloc(CHUNK_MIN, slab.size);
    if (!slab.memory)
        return false;
    slabs[distinct->n_slabs++] = slab;
    distinct->n_used = 0;
    return true;
}

static struct store_distinct_chunk *
make_chunk(struct store_distinct *distinct, unsigned size)
{
    size_t bytes = chunk_bytes(size);
    struct store_distinct_chunk *chunk = distinct->free_chunks[size];
    if (chunk) {
        distinct->free_chunks[size] = chunk->before;
    } else {
        bool has_room = distinct->n_slabs &&
                        distinct->slabs[distinct->n_slabs - 1].size - distinct->n_used >= bytes;
        if (!has_room && !add_slab(distinct))
            return NULL;
        chunk = (void *)(distinct->slabs[distinct->n_slabs - 1].memory + distinct->n_used);
        distinct->n_used += bytes;
    }
    distinct->n_bytes += bytes;
    *chunk = (struct store_distinct_chunk){.room = chunk_room(size)};
    return chunk;
}

static void
drop_chunk(struct store_distinct *distinct, struct store_distinct_chunk *chunk)
{
    unsigned size = 0;
    while (size + 1 < STORE_DISTINCT_SIZES && chunk_room(size) < chunk->room)
        size++;
    chunk->before = distinct->free_chunks[size];
    distinct->free_chunks[size] = chunk;
    distinct->n_bytes -= chunk_bytes(size);
}

void
store_distinct_deinit(struct store_distinct *distinct)
{
    if (!distinct)
        return;
    for (size_t i = 0; i < distinct->n_planes; i++) {
        free(distinct->planes[i].tails);
        free(distinct->planes[i].lists);
    }
    free(distinct->planes);
    for (size_t i = 0; i < distinct->n_slabs; i++)
        drop_slab(distinct, &distinct->slabs[i]);
    free(distinct->slabs);
    *distinct = (struct store_distinct){.n_groups = distinct->n_groups, .memory = distinct->memory};
}

/* ---- users ---- */

/* Have the lists of these users at hand. */
static bool
turn_to(struct store_distinct *distinct, uint64_t high)
{
    size_t at = 0;
    while (at < distinct->n_planes && distinct->planes[at].high != high)
        at++;
    if (at == distinct->n_planes) {
        struct store_distinct_plane *planes =
            fz_list_grow(NULL, distinct->planes, &distinct->room_planes, at + 1, sizeof(*planes));
        if (!planes)
            return false;
        distinct->planes = planes;
        planes[at] = (struct store_distinct_plane){
            .high = high,
            .tails = calloc(2 * (size_t)distinct->n_groups + 1, sizeof(*planes[at].tails)),
            .lists = calloc(2 * (size_t)distinct->n_groups + 1, sizeof(*planes[at].lists))};
        if (!planes[at].tails || !planes[at].lists) {
            free(planes[at].tails);
            free(planes[at].lists);
            return false;
        }
        distinct->n_planes++;
    }
    distinct->plane = distinct->planes[at];
    return true;
}

/* Room for a user in a list whose last chunk is full. */
static enum fz_code
grow(struct store_distinct *distinct, uint32_t which, struct fz_error *err)
{
    struct store_distinct_list *list = &distinct->plane.lists[which];
    struct store_distinct_tail *tail = &distinct->plane.tails[which];
    size_t most = distinct->most ? distinct->most : MOST;
    size_t squeeze_from = distinct->squeeze_from ? distinct->squeeze_from : SQUEEZE_FROM;
    if (list->last) {
        list->last->n = list->last->room;
        list->n += list->last->n;
    }
    /* Each time when there are twice as many as the last time. */
    if (distinct->n_bytes >= squeeze_from && list->n >= SQUEEZED_MIN &&
        list->n >= 2 * list->n_squeezed) {
        struct store_distinct_chunk *old = NULL;
        enum fz_code code = store_distinct_squeeze(distinct, which, &old, err);
        for (struct store_distinct_chunk *next; old; old = next) {
            next = old->before;
            drop_chunk(distinct, old);
        }
        list->n_squeezed = list->n;
        if (code != FZ_OK)
            return code;
    }
    if (distinct->n_bytes >= most)
        return fz_fail(err, FZ_E_LIMIT, "too many reports to count; give a range of time (since=)");
    struct store_distinct_chunk *chunk = make_chunk(distinct, size_for(list));
    if (!chunk)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    chunk->before = list->last;
    list->first = list->last ? list->first : chunk;
    list->last = chunk;
    *tail = (struct store_distinct_tail){chunk->users, chunk->users + chunk->room};
    return FZ_OK;
}

static inline uint32_t
written(uint64_t number)
{
    return ((uint32_t)number & ((UINT32_C(1) << STORE_DISTINCT_PLANE_BITS) - 1)) + 1;
}

/* A user of another plane, or whose list is full, or not a user at all. */
static enum fz_code
add(struct store_distinct *distinct, uint32_t list, uint64_t number, struct fz_error *err)
{
    uint64_t high = number >> STORE_DISTINCT_PLANE_BITS;
    if (number >> STORE_DISTINCT_USER_BITS)
        return FZ_OK;
    bool is_here = distinct->plane.tails && distinct->plane.high == high;
    if (!is_here && !turn_to(distinct, high))
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    struct store_distinct_tail *tail = &distinct->plane.tails[list];
    enum fz_code code = tail->next == tail->end ? grow(distinct, list, err) : FZ_OK;
    if (code == FZ_OK)
        *tail->next++ = written(number);
    return code;
}

void
store_distinct_expect(struct store_distinct *distinct, int64_t first, int64_t last)
{
    const int64_t end = INT64_C(1) << STORE_DISTINCT_USER_BITS;
    if (last <= 0 || first > end)
        return;
    uint64_t least = first > 0 ? (uint64_t)first - 1 : 0;
    uint64_t most = (uint64_t)(last < end ? last : end) - 1;
    bool is_known = distinct->has_range;
    distinct->first = is_known && distinct->first < least ? distinct->first : least;
    distinct->last = is_known && distinct->last > most ? distinct->last : most;
    distinct->has_range = true;
}

/*
 * Users of the plane at hand, in a column of a width that the compiler knows; some may be no user. Returns how many were added, up to
 * one whose list is full.
 */
static inline size_t
add_all(const struct store_distinct *distinct, const uint32_t *lists, struct store_block users,
        size_t width, const uint32_t *at, size_t n)
{
    struct store_distinct_tail *tails = distinct->plane.tails;
    const bool has_others = users.base == 0;
    size_t i = 0;
    users.width = width;
    users.mask = (UINT64_C(1) << 8 * width) - 1;
    users.base = has_others ? 0 : written((uint64_t)users.base - 1);
    for (; i < n; i++) {
        struct store_distinct_tail *tail = &tails[lists[i]];
        uint32_t *next = tail->next, user = (uint32_t)store_block_get(&users, at[i]);
        __builtin_prefetch(users.data + at[i] * width + AHEAD, 0);
        if (has_others && user == 0)
            continue;
        if (next == tail->end)
            break;
        /* The memory of a list is not in the caches before it is written to. */
        __builtin_prefetch(next + 16, 1);
        *next = user;
        tail->next = next + 1;
    }
    return i;
}

/* Are all of them users of the plane at hand, or 0? */
static bool
are_here(const struct store_distinct *distinct, const struct store_block *users)
{
    uint64_t first = users->base > 0 ? (uint64_t)users->base - 1 : 0;
    return distinct->plane.tails && users->base >= 0 && users->most > 0 && users->width <= 4 &&
           first >> STORE_DISTINCT_PLANE_BITS == distinct->plane.high &&
           (uint64_t)(users->most - 1) >> STORE_DISTINCT_PLANE_BITS == distinct->plane.high;
}

enum fz_code
store_distinct_add_some(struct store_distinct *distinct, const uint32_t *lists,
                        const struct store_block *users, const uint32_t *at, size_t n,
                        struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (are_here(distinct, users) && users->width == 3)
            i += add_all(distinct, lists + i, *users, 3, at + i, n - i);
        else if (are_here(distinct, users))
            i += add_all(distinct, lists + i, *users, users->width, at + i, n - i);
        /* Its list is full, or the first of its plane. */
        if (i < n)
            code = add(distinct, lists[i], (uint64_t)store_block_get(users, at[i]) - 1, err);
    }
    return code;
}

enum fz_code
store_distinct_add(struct store_distinct *distinct, uint32_t list, int64_t user,
                   struct fz_error *err)
{
    store_distinct_expect(distinct, user, user);
    return add(distinct, list, (uint64_t)user - 1, err);
}

/* ---- merge ---- */

/* Append what this list has in `from`. */
static void
take_list(struct store_distinct_plane *to, const struct store_distinct_plane *from, uint32_t which)
{
    struct store_distinct_list *list = &to->lists[which];
    const struct store_distinct_list *more = &from->lists[which];
    if (!more->last)
        return;
    if (list->last) {
        list->last->n = (uint32_t)(to->tails[which].next - list->last->users);
        list->n += list->last->n;
    }
    more->first->before = list->last;
    list->first = list->last ? list->first : more->first;
    list->last = more->last;
    list->n += more->n;
    to->tails[which] = from->tails[which];
}

/* The memory of chunks, before that of this one, whose last slab has room. */
static bool
take_slabs(struct store_distinct *distinct, struct store_distinct *from)
{
    size_t n = distinct->n_slabs, more = from->n_slabs;
    struct store_distinct_slab *slabs =
        fz_list_grow(NULL, distinct->slabs, &distinct->room_slabs, n + more + 1, sizeof(*slabs));
    if (!slabs)
        return false;
    memmove(slabs + more, slabs, n * sizeof(*slabs));
    if (more)
        memcpy(slabs, from->slabs, more * sizeof(*slabs));
    distinct->n_used = n ? distinct->n_used : from->n_used;
    distinct->slabs = slabs;
    distinct->n_slabs = n + more;
    distinct->n_bytes += from->n_bytes;
    from->n_slabs = 0;
    return true;
}

enum fz_code
store_distinct_merge(struct store_distinct *distinct, struct store_distinct *from,
                     struct fz_error *err)
{
    bool is_done = take_slabs(distinct, from);
    if (from->has_range)
        store_distinct_expect(distinct, (int64_t)from->first + 1, (int64_t)from->last + 1);
    for (size_t i = 0; is_done && i < from->n_planes; i++) {
        const struct store_distinct_plane *plane = &from->planes[i];
        is_done = turn_to(distinct, plane->high);
        for (uint32_t list = 0; is_done && list < 2 * distinct->n_groups; list++)
            take_list(&distinct->plane, plane, list);
    }
    store_distinct_deinit(from);
    return is_done ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}
