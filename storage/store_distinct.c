#include "storage/store_distinct.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/list.h"

/* A pair is the group, then the user, then one bit for the mark. */
enum { USER_BITS = 40, GROUP_SHIFT = USER_BITS + 1, GROUPS_MAX = 1 << (64 - GROUP_SHIFT) };
enum {
    ROOM_MIN = 1 << 12,
    PAIRS_MAX = 1 << 25,    /* half a gigabyte with what is sorted */
    SQUEEZE_FROM = 1 << 22, /* before there is more room, each pair is kept once */
    PAGES_MAX = 1 << 16     /* of a set: its table is half a megabyte then */
};

/* Users of one group, each once: bits where they are dense, else a hash table. */
struct table {
    uint64_t *slots;
    size_t room; /* slots */
};

static void
drop_bits(struct store_distinct_bits *set)
{
    for (size_t page = 0; page < set->n_pages; page++)
        free(set->pages[page]);
    free(set->pages);
}

void
store_distinct_deinit(struct store_distinct *distinct)
{
    if (!distinct)
        return;
    free(distinct->pairs);
    free(distinct->sorted);
    distinct->pairs = distinct->sorted = NULL;
    distinct->n = distinct->room = 0;
    for (size_t i = 0; i < distinct->n_sets; i++) {
        drop_bits(&distinct->sets[i].seen);
        drop_bits(&distinct->sets[i].marked);
    }
    free(distinct->sets);
    free(distinct->set_of);
    distinct->sets = NULL;
    distinct->set_of = NULL;
    distinct->n_sets = distinct->room_sets = 0;
}

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

/* Sort by group, and keep each pair once. */
static enum fz_code
squeeze(struct store_distinct *distinct, struct fz_error *err)
{
    size_t *ends = calloc((size_t)distinct->n_groups + 1, sizeof(*ends)), n = 0;
    struct table table = {NULL, 0};
    bool is_done = ends != NULL;
    for (size_t i = 0; is_done && i < distinct->n; i++)
        ends[(distinct->pairs[i] >> GROUP_SHIFT) + 1]++;
    for (size_t i = 0; is_done && i < distinct->n_groups; i++)
        ends[i + 1] += ends[i];
    /* ends[i] is where group i starts; it moves to where it ends. */
    for (size_t i = 0; is_done && i < distinct->n; i++)
        distinct->sorted[ends[distinct->pairs[i] >> GROUP_SHIFT]++] = distinct->pairs[i];
    for (size_t group = 0, start = 0; is_done && group < distinct->n_groups; group++) {
        size_t kept = 0, end = ends[group];
        /* A sparse group reads its table and writes at most as many pairs as there were. */
        is_done = start == end || keep_once(&table, distinct->sorted + start, end - start,
                                            distinct->pairs + n, &kept);
        n += kept;
        start = end;
    }
    free(ends);
    free(table.slots);
    if (!is_done)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    distinct->n = n;
    return FZ_OK;
}

static enum fz_code
grow(struct store_distinct *distinct, struct fz_error *err)
{
    enum fz_code code = distinct->n >= SQUEEZE_FROM ? squeeze(distinct, err) : FZ_OK;
    if (code != FZ_OK || distinct->n < distinct->room / 2)
        return code;
    size_t room = distinct->room ? distinct->room * 2 : ROOM_MIN;
    if (room > PAIRS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "too many reports to count; give a range of time (since=)");
    uint64_t *pairs = realloc(distinct->pairs, (room + 1) * sizeof(*pairs));
    if (pairs)
        distinct->pairs = pairs;
    free(distinct->sorted);
    distinct->sorted = pairs ? malloc((room + 1) * sizeof(*pairs)) : NULL;
    if (!distinct->sorted)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    distinct->room = room;
    return FZ_OK;
}

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
make_page(struct store_distinct_bits *set, uint64_t page, struct fz_error *err)
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
    set->pages[page] = calloc(STORE_DISTINCT_PAGE_WORDS, sizeof(uint64_t));
    return set->pages[page] ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
put_bit(struct store_distinct_bits *set, int64_t user, struct fz_error *err)
{
    if (store_distinct_bits_put(set, user))
        return FZ_OK;
    enum fz_code code = make_page(set, (uint64_t)user >> STORE_DISTINCT_PAGE_BITS, err);
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
        code = put_bit(&set->seen, user, err);
        return code == FZ_OK && is_marked ? put_bit(&set->marked, user, err) : code;
    }
    code = distinct->n == distinct->room ? grow(distinct, err) : FZ_OK;
    if (code == FZ_OK)
        distinct->pairs[distinct->n++] =
            (uint64_t)group << GROUP_SHIFT | (uint64_t)user << 1 | is_marked;
    return code;
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
merge_bits(struct store_distinct_bits *to, struct store_distinct_bits *from, struct fz_error *err)
{
    for (size_t page = 0; page < from->n_pages; page++) {
        uint64_t *more = from->pages[page];
        enum fz_code code = FZ_OK;
        if (!more)
            continue;
        if (page >= to->n_pages || !to->pages[page])
            code = make_page(to, page, err);
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

enum fz_code
store_distinct_merge(struct store_distinct *distinct, struct store_distinct *from,
                     struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < from->n_sets; i++) {
        code = merge_bits(&distinct->sets[i].seen, &from->sets[i].seen, err);
        if (code == FZ_OK)
            code = merge_bits(&distinct->sets[i].marked, &from->sets[i].marked, err);
    }
    for (size_t i = 0; code == FZ_OK && i < from->n; i++) {
        code = distinct->n == distinct->room ? grow(distinct, err) : FZ_OK;
        if (code == FZ_OK)
            distinct->pairs[distinct->n++] = from->pairs[i];
    }
    return code;
}

enum fz_code
store_distinct_count(struct store_distinct *distinct, uint64_t *ret_users, uint64_t *ret_marked,
                     struct fz_error *err)
{
    enum fz_code code = distinct->n ? squeeze(distinct, err) : FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < distinct->n; i++) {
        uint64_t group = distinct->pairs[i] >> GROUP_SHIFT;
        ret_users[group]++;
        ret_marked[group] += distinct->pairs[i] & 1;
    }
    for (uint32_t i = 0; code == FZ_OK && distinct->set_of && i < distinct->n_groups; i++) {
        uint32_t place = distinct->set_of[i];
        ret_users[i] += place ? distinct->sets[place - 1].seen.n : 0;
        ret_marked[i] += place ? distinct->sets[place - 1].marked.n : 0;
    }
    return code;
}
