/*
 * How many different users each issue has, from one pair of issue and user for each fact.
 *
 * A hash table of all pairs of a million facts does not fit into the CPU's caches: each look-up waits for memory. Here pairs are
 * appended, sorted by issue in one pass, and the users of each issue are counted in a table that is small. Issues of which many
 * reports are expected have a set of bits from the start, in pages.
 *
 * All of it is memory that is fresh, and written to once or twice, so a fault for each 4 KB would take longer than the counting: it
 * comes in large pages (fz_platform_large()). Private to storage.
 */
#ifndef STORE_DISTINCT_H
#define STORE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* One bit for each user, in pages. */
enum {
    STORE_DISTINCT_PAGE_BITS = 15,
    STORE_DISTINCT_PAGE_WORDS = (1 << STORE_DISTINCT_PAGE_BITS) / 64
};
struct store_distinct_bits {
    uint64_t **pages; /* of a slab; NULL: no user was seen there */
    size_t n_pages;
    uint64_t n; /* users */
};
struct store_distinct_set {
    struct store_distinct_bits seen, marked;
};

/* A part of the pairs. */
struct store_distinct_chunk {
    uint64_t *pairs; /* owned */
    size_t n, room;
};

struct store_distinct {
    struct store_distinct_set *sets; /* owned; NULL: no group has one */
    uint32_t *set_of;                /* by group: the place of its set, from 1; owned */
    size_t n_sets, room_sets;
    uint64_t **slabs;                    /* the memory of pages of bits: many each; owned */
    size_t n_slabs, room_slabs, n_free;  /* n_free: pages that are left in the last one */
    struct store_distinct_chunk *chunks; /* owned */
    size_t n_chunks, room_chunks;
    size_t n, n_squeezed; /* pairs; how many the last squeeze left */
    uint32_t n_groups;    /* set by the caller: groups are numbers below it */
};
void store_distinct_deinit(struct store_distinct *distinct);
/* Many users of this group are to come. Before the first is added; once for a group. */
FZ_MUST_CHECK enum fz_code store_distinct_expect(struct store_distinct *distinct, uint32_t group,
                                                 struct fz_error *err);
/* As store_distinct_add(), which does what is most frequent. */
FZ_MUST_CHECK enum fz_code store_distinct_add_new(struct store_distinct *distinct, uint32_t group,
                                                  int64_t user, bool is_marked,
                                                  struct fz_error *err);

/* False: there is no page for the user. */
static inline bool
store_distinct_bits_put(struct store_distinct_bits *set, int64_t user)
{
    uint64_t page = (uint64_t)user >> STORE_DISTINCT_PAGE_BITS;
    if (page >= set->n_pages || !set->pages[page])
        return false;
    uint64_t at = (uint64_t)user % (1 << STORE_DISTINCT_PAGE_BITS);
    uint64_t *word = &set->pages[page][at / 64], bit = UINT64_C(1) << at % 64;
    set->n += (*word & bit) == 0;
    *word |= bit;
    return true;
}

/*
 * Where the bit of this user is, so that it can be fetched ahead of store_distinct_has(); NULL: there is none. It stays where it is
 * until the end.
 */
static inline const uint64_t *
store_distinct_word(const struct store_distinct *distinct, uint32_t group, int64_t user)
{
    uint32_t place = distinct->set_of ? distinct->set_of[group] : 0;
    const struct store_distinct_bits *set = place ? &distinct->sets[place - 1].seen : NULL;
    uint64_t page = (uint64_t)user >> STORE_DISTINCT_PAGE_BITS;
    if (!set || page >= set->n_pages || !set->pages[page])
        return NULL;
    return &set->pages[page][(uint64_t)user % (1 << STORE_DISTINCT_PAGE_BITS) / 64];
}

/* Was this user added already? Of store_distinct_word(); false if that is not known. */
static inline bool
store_distinct_has(const uint64_t *word, int64_t user)
{
    return word && *word >> ((uint64_t)user % 64) & 1;
}

/* Users beyond 2^40 are not counted. `is_marked`: count the user among the marked ones, too. LIMIT: too many pairs. */
FZ_MUST_CHECK static inline enum fz_code
store_distinct_add(struct store_distinct *distinct, uint32_t group, int64_t user, bool is_marked,
                   struct fz_error *err)
{
    uint32_t place = distinct->set_of ? distinct->set_of[group] : 0;
    /* 0, an unknown user, may have a page. */
    if (!place || user <= 0 || is_marked ||
        !store_distinct_bits_put(&distinct->sets[place - 1].seen, user))
        return store_distinct_add_new(distinct, group, user, is_marked, err);
    return FZ_OK;
}
/* An empty one for another thread: the same groups, of which the same have many users. */
FZ_MUST_CHECK enum fz_code store_distinct_like(const struct store_distinct *distinct,
                                               struct store_distinct *ret, struct fz_error *err);
/* Add all users of `from`, made by store_distinct_like(), which keeps none. */
FZ_MUST_CHECK enum fz_code store_distinct_merge(struct store_distinct *distinct,
                                                struct store_distinct *from, struct fz_error *err);
/* Add to ret_users[group], and those that were marked at least once to ret_marked[group]. */
FZ_MUST_CHECK enum fz_code store_distinct_count(struct store_distinct *distinct,
                                                uint64_t *ret_users, uint64_t *ret_marked,
                                                struct fz_error *err);

#endif
