#include "storage/store_distinct.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/list.h"
#include "base/platform.h"

/* A pair is the group, then the user, then one bit for the mark. */
enum { USER_BITS = 40, GROUP_SHIFT = USER_BITS + 1, GROUPS_MAX = 1 << (64 - GROUP_SHIFT) };
enum {
    FIRST_CHUNK = 1 << 12, /* pairs */
    CHUNK = FZ_PLATFORM_LARGE / 8,
    PAIRS_MAX = 1 << 25,    /* half a gigabyte with what is sorted */
    SQUEEZE_FROM = 1 << 22, /* before there are twice as many, each pair is kept once */
    SLAB_PAGES = FZ_PLATFORM_LARGE / (STORE_DISTINCT_PAGE_WORDS * 8),
    PAGES_MAX = 1 << 16 /* of a set: its table is half a megabyte then */
};

/* Users of one group, each once: bits where they are dense, else a hash table. */
struct table {
    uint64_t *slots;
    size_t room; /* slots */
};

/* ---- memory ---- */

static void
drop_chunk(struct store_distinct_chunk *chunk)
{
    if (chunk->room == CHUNK)
        fz_platform_large_drop(chunk->pairs, FZ_PLATFORM_LARGE);
    else
        free(chunk->pairs);
    *chunk = (struct store_distinct_chunk){.pairs = NULL};
}

void
store_distinct_deinit(struct store_distinct *distinct)
{
    if (!distinct)
        return;
    for (size_t i = 0; i < distinct->n_chunks; i++)
        drop_chunk(&distinct->chunks[i]);
    free(distinct->chunks);
    for (size_t i = 0; i < distinct->n_sets; i++) {
        free(distinct->sets[i].seen.pages);
        free(distinct->sets[i].marked.pages);
    }
    free(distinct->sets);
    free(distinct->set_of);
    for (size_t i = 0; i < distinct->n_slabs; i++)
        fz_platform_large_drop(distinct->slabs[i], FZ_PLATFORM_LARGE);
    free(distinct->slabs);
    *distinct = (struct store_distinct){.n_groups = distinct->n_groups};
}

/* Zeros. */
static uint64_t *
make_bits(struct store_distinct *distinct)
{
    if (distinct->n_free == 0) {
        uint64_t **slabs = fz_list_grow(NULL, distinct->slabs, &distinct->room_slabs,
                                        distinct->n_slabs + 1, sizeof(uint64_t *));
        if (!slabs)
            return NULL;
        distinct->slabs = slabs;
        slabs[distinct->n_slabs] = fz_platform_large(FZ_PLATFORM_LARGE);
        if (!slabs[distinct->n_slabs])
            return NULL;
        distinct->n_slabs++;
        distinct->n_free = SLAB_PAGES;
    }
    size_t page = SLAB_PAGES - distinct->n_free--;
    return distinct->slabs[distinct->n_slabs - 1] + page * STORE_DISTINCT_PAGE_WORDS;
}

/* Room for one more pair, in a chunk after those that there are. */
static bool
add_chunk(struct store_distinct *distinct)
{
    struct store_distinct_chunk *chunks = fz_list_grow(
        NULL, distinct->chunks, &distinct->room_chunks, distinct->n_chunks + 1, sizeof(*chunks));
    if (!chunks)
        return false;
    distinct->chunks = chunks;
    struct store_distinct_chunk chunk = {.room = distinct->n_chunks ? CHUNK : FIRST_CHUNK};
    chunk.pairs = chunk.room == CHUNK ? fz_platform_large(FZ_PLATFORM_LARGE)
                                      : malloc(FIRST_CHUNK * sizeof(*chunk.pairs));
    if (!chunk.pairs)
        return false;
    chunks[distinct->n_chunks++] = chunk;
    return true;
}

/* ---- pairs ---- */

static uint64_t
user_of(uint64_t pair)
{
    return pair >> 1 & ((UINT64_C(1) << USER_BITS) - 1);
}

/* Zeros for at least `n` slots. */
static bool
clear(struct table *table, size_t n)
{
    if (n > table->room) {
        free(table->slots);
        table->room = n * 2;
        table->slots = calloc(table->room, sizeof(*table->slots));
        return table->slots != NULL;
    }
    memset(table->slots, 0, n * sizeof(*table->slots));
    return true;
}

/* Two bits for each user between the first and the last. */
static size_t
keep_dense(struct table *table, uint64_t *pairs, size_t n, uint64_t first, uint64_t *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (user_of(pairs[i]) - first) * 2;
        table->slots[at / 64] |= (1 + ((pairs[i] & 1) << 1)) << at % 64;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t pair = pairs[i], at = (user_of(pair) - first) * 2;
        uint64_t bits = table->slots[at / 64] >> at % 64 & 3;
        to[kept] = (pair & ~UINT64_C(1)) | bits >> 1;
        kept += bits & 1;
        table->slots[at / 64] &= ~(UINT64_C(3) << at % 64);
    }
    return kept;
}

/* `room` is a power of two and above 2n. */
static size_t
keep_sparse(struct table *table, uint64_t *pairs, size_t n, size_t room, uint64_t *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        /* Fibonacci hashing: ids are consecutive, their products are not. A group's pairs are never 0. */
        uint64_t user = user_of(pairs[i]);
        size_t at = (size_t)((user * 0x9e3779b97f4a7c15) >> 20) & (room - 1);
        while (table->slots[at] && user_of(table->slots[at]) != user)
            at = (at + 1) & (room - 1);
        table->slots[at] |= pairs[i];
    }
    for (size_t i = 0; i < room; i++) {
        to[kept] = table->slots[i];
        kept += table->slots[i] != 0;
    }
    return kept;
}

/* The pairs of one group, each user once, to `to`, which may be where they are; returns how many. */
static bool
keep_once(struct table *table, uint64_t *pairs, size_t n, uint64_t *to, size_t *ret)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t user = user_of(pairs[i]);
        first = user < first ? user : first;
        last = user > last ? user : last;
    }
    size_t room = 8;
    while (room <= 2 * n)
        room *= 2;
    /* Of bits there are 32 users in a slot. */
    bool is_dense = n && (last - first) / 32 < room;
    if (!clear(table, is_dense ? (size_t)((last - first) / 32 + 1) : room))
        return false;
    *ret =
        is_dense ? keep_dense(table, pairs, n, first, to) : keep_sparse(table, pairs, n, room, to);
    return true;
}

/* All pairs by group, to `to`; ends[group] is where the group ends, which there are n_groups + 1 of. */
static void
sort(const struct store_distinct *distinct, size_t *ends, uint64_t *to)
{
    for (size_t i = 0; i < distinct->n_chunks; i++) {
        const struct store_distinct_chunk *chunk = &distinct->chunks[i];
        for (size_t k = 0; k < chunk->n; k++)
            ends[(chunk->pairs[k] >> GROUP_SHIFT) + 1]++;
    }
    for (size_t i = 0; i < distinct->n_groups; i++)
        ends[i + 1] += ends[i];
    /* ends[i] is where group i starts; it moves to where it ends. */
    for (size_t i = 0; i < distinct->n_chunks; i++) {
        const struct store_distinct_chunk *chunk = &distinct->chunks[i];
        for (size_t k = 0; k < chunk->n; k++)
            to[ends[chunk->pairs[k] >> GROUP_SHIFT]++] = chunk->pairs[k];
    }
}

/* Put `n` pairs in the place of all. */
static void
replace(struct store_distinct *distinct, const uint64_t *pairs, size_t n)
{
    size_t i = 0;
    distinct->n = n;
    for (; n; i++) {
        struct store_distinct_chunk *chunk = &distinct->chunks[i];
        chunk->n = n < chunk->room ? n : chunk->room;
        memcpy(chunk->pairs, pairs, chunk->n * sizeof(*pairs));
        pairs += chunk->n;
        n -= chunk->n;
    }
    /* One without pairs is not the last: add() looks at that alone. */
    for (size_t k = i ? i : 1; k < distinct->n_chunks; k++)
        drop_chunk(&distinct->chunks[k]);
    if (distinct->n_chunks) {
        distinct->n_chunks = i ? i : 1;
        distinct->chunks[0].n = i ? distinct->chunks[0].n : 0;
    }
}

/* Sort by group, and keep each pair once. */
static enum fz_code
squeeze(struct store_distinct *distinct, struct fz_error *err)
{
    size_t *ends = calloc((size_t)distinct->n_groups + 1, sizeof(*ends)), n = 0;
    size_t bytes = (distinct->n + 1) * sizeof(uint64_t);
    bool is_large = bytes >= FZ_PLATFORM_LARGE / 4;
    uint64_t *sorted = is_large ? fz_platform_large(bytes) : malloc(bytes);
    struct table table = {NULL, 0};
    bool is_done = ends && sorted;
    if (is_done)
        sort(distinct, ends, sorted);
    for (size_t group = 0, start = 0; is_done && group < distinct->n_groups; group++) {
        size_t kept = 0, end = ends[group];
        /* A group reads its table and writes at most as many pairs as there were. */
        is_done = start == end || keep_once(&table, sorted + start, end - start, sorted + n, &kept);
        n += kept;
        start = end;
    }
    if (is_done)
        replace(distinct, sorted, n);
    if (is_large)
        fz_platform_large_drop(sorted, bytes);
    else
        free(sorted);
    free(ends);
    free(table.slots);
    return is_done ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

/* Room for a pair. */
static enum fz_code
grow(struct store_distinct *distinct, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    /* Each time when there are twice as many as the last time: 2^22, 2^23, 2^24 pairs. */
    bool is_time = distinct->n >= SQUEEZE_FROM && distinct->n >= 2 * distinct->n_squeezed;
    if (is_time) {
        code = squeeze(distinct, err);
        distinct->n_squeezed = distinct->n;
    }
    if (code != FZ_OK)
        return code;
    if (distinct->n >= PAIRS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "too many reports to count; give a range of time (since=)");
    const struct store_distinct_chunk *last =
        distinct->n_chunks ? &distinct->chunks[distinct->n_chunks - 1] : NULL;
    if ((!last || last->n == last->room) && !add_chunk(distinct))
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    return FZ_OK;
}

/* ---- sets ---- */

enum fz_code
store_distinct_expect(struct store_distinct *distinct, uint32_t group, struct fz_error *err)
{
    if (!distinct->set_of)
        distinct->set_of = calloc((size_t)distinct->n_groups + 1, sizeof(*distinct->set_of));
    struct store_distinct_set *sets = distinct->set_of
                                          ? fz_list_grow(NULL, distinct->sets, &distinct->room_sets,
                                                         distinct->n_sets + 1, sizeof(*sets))
                                          : NULL;
    if (!sets)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    distinct->sets = sets;
    sets[distinct->n_sets++] = (struct store_distinct_set){.seen.pages = NULL};
    distinct->set_of[group] = (uint32_t)distinct->n_sets;
    return FZ_OK;
}

static enum fz_code
make_page(struct store_distinct *distinct, struct store_distinct_bits *set, uint64_t page,
          struct fz_error *err)
{
    if (page >= set->n_pages) {
        size_t n = page + 1 > 2 * set->n_pages ? page + 1 : 2 * set->n_pages;
        uint64_t **pages = realloc(set->pages, n * sizeof(uint64_t *));
        if (!pages)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        memset(pages + set->n_pages, 0, (n - set->n_pages) * sizeof(uint64_t *));
        set->pages = pages;
        set->n_pages = n;
    }
    set->pages[page] = make_bits(distinct);
    return set->pages[page] ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
put_bit(struct store_distinct *distinct, struct store_distinct_bits *set, int64_t user,
        struct fz_error *err)
{
    if (store_distinct_bits_put(set, user))
        return FZ_OK;
    enum fz_code code = make_page(distinct, set, (uint64_t)user >> STORE_DISTINCT_PAGE_BITS, err);
    if (code == FZ_OK)
        store_distinct_bits_put(set, user);
    return code;
}

enum fz_code
store_distinct_add_new(struct store_distinct *distinct, uint32_t group, int64_t user,
                       bool is_marked, struct fz_error *err)
{
    if (user <= 0 || user >> USER_BITS || group >= GROUPS_MAX)
        return FZ_OK;
    uint32_t place = distinct->set_of ? distinct->set_of[group] : 0;
    enum fz_code code = FZ_OK;
    /* Of users that are too far away there are pairs. */
    if (place && user >> STORE_DISTINCT_PAGE_BITS < PAGES_MAX) {
        struct store_distinct_set *set = &distinct->sets[place - 1];
        code = put_bit(distinct, &set->seen, user, err);
        return code == FZ_OK && is_marked ? put_bit(distinct, &set->marked, user, err) : code;
    }
    struct store_distinct_chunk *last =
        distinct->n_chunks ? &distinct->chunks[distinct->n_chunks - 1] : NULL;
    if (!last || last->n == last->room) {
        code = grow(distinct, err);
        last = distinct->n_chunks ? &distinct->chunks[distinct->n_chunks - 1] : NULL;
    }
    if (code != FZ_OK || !last)
        return code;
    last->pairs[last->n++] = (uint64_t)group << GROUP_SHIFT | (uint64_t)user << 1 | is_marked;
    distinct->n++;
    return FZ_OK;
}

enum fz_code
store_distinct_like(const struct store_distinct *distinct, struct store_distinct *ret,
                    struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    *ret = (struct store_distinct){.n_groups = distinct->n_groups};
    for (uint32_t i = 0; code == FZ_OK && distinct->set_of && i < distinct->n_groups; i++)
        code = distinct->set_of[i] ? store_distinct_expect(ret, i, err) : FZ_OK;
    return code;
}

static enum fz_code
merge_bits(struct store_distinct *distinct, struct store_distinct_bits *to,
           const struct store_distinct_bits *from, struct fz_error *err)
{
    for (size_t page = 0; page < from->n_pages; page++) {
        uint64_t *more = from->pages[page];
        enum fz_code code = FZ_OK;
        if (!more)
            continue;
        if (page >= to->n_pages || !to->pages[page])
            code = make_page(distinct, to, page, err);
        if (code != FZ_OK)
            return code;
        uint64_t *bits = to->pages[page];
        for (size_t i = 0; i < STORE_DISTINCT_PAGE_WORDS; i++) {
            to->n += (uint64_t)__builtin_popcountll(more[i] & ~bits[i]);
            bits[i] |= more[i];
        }
    }
    return FZ_OK;
}

/* Before the others, as only the last one has room that is used. */
static enum fz_code
take_chunks(struct store_distinct *distinct, struct store_distinct *from, struct fz_error *err)
{
    size_t n = distinct->n_chunks + from->n_chunks;
    if (from->n_chunks == 0)
        return FZ_OK;
    if (distinct->n + from->n > PAIRS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "too many reports to count; give a range of time (since=)");
    struct store_distinct_chunk *chunks =
        fz_list_grow(NULL, distinct->chunks, &distinct->room_chunks, n, sizeof(*chunks));
    if (!chunks)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    memmove(chunks + from->n_chunks, chunks, distinct->n_chunks * sizeof(*chunks));
    memcpy(chunks, from->chunks, from->n_chunks * sizeof(*chunks));
    distinct->chunks = chunks;
    distinct->n_chunks = n;
    distinct->n += from->n;
    from->n_chunks = from->n = 0;
    return FZ_OK;
}

enum fz_code
store_distinct_merge(struct store_distinct *distinct, struct store_distinct *from,
                     struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < from->n_sets; i++) {
        code = merge_bits(distinct, &distinct->sets[i].seen, &from->sets[i].seen, err);
        if (code == FZ_OK)
            code = merge_bits(distinct, &distinct->sets[i].marked, &from->sets[i].marked, err);
    }
    return code == FZ_OK ? take_chunks(distinct, from, err) : code;
}

enum fz_code
store_distinct_count(struct store_distinct *distinct, uint64_t *ret_users, uint64_t *ret_marked,
                     struct fz_error *err)
{
    enum fz_code code = distinct->n ? squeeze(distinct, err) : FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < distinct->n_chunks; i++) {
        const struct store_distinct_chunk *chunk = &distinct->chunks[i];
        for (size_t k = 0; k < chunk->n; k++) {
            uint64_t group = chunk->pairs[k] >> GROUP_SHIFT;
            ret_users[group]++;
            ret_marked[group] += chunk->pairs[k] & 1;
        }
    }
    for (uint32_t i = 0; code == FZ_OK && distinct->set_of && i < distinct->n_groups; i++) {
        uint32_t place = distinct->set_of[i];
        ret_users[i] += place ? distinct->sets[place - 1].seen.n : 0;
        ret_marked[i] += place ? distinct->sets[place - 1].marked.n : 0;
    }
    return code;
}
