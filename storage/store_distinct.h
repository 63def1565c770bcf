/*
 * How many different users each group has, from one pair of group and user for each fact. Groups are issues.
 *
 * Each group has a list, to which its users are appended, four bytes each: while facts are read, the ends of all lists are in the
 * CPU's caches, and so is the table of the one list that is counted, at the end. A table for each group, or one of all pairs, would
 * wait for memory at each fact. When the lists take much memory, long ones are squeezed: each of their users is kept once.
 *
 * Lists are memory that is written to once, so a fault for each 4 KB would take longer than the counting: it comes in large pages,
 * and is used again (store_fact_cache_borrow()). Private to storage.
 */
#ifndef STORE_DISTINCT_H
#define STORE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * What is written down: the user's number from 0 on, of which the low bits; then a bit for the mark, then 1, so that it is never 0.
 * Lists with the same high bits are a plane.
 */
enum { STORE_DISTINCT_PLANE_BITS = 30, STORE_DISTINCT_USER_BITS = 40 };

enum { STORE_DISTINCT_SIZES = 6 /* of chunks */ };
struct store_distinct_chunk {
    struct store_distinct_chunk *before;
    uint32_t n, room; /* users; of the last chunk of a list n is not known, see its tail */
    uint32_t users[];
};

/* Where a list goes on: in its last chunk. */
struct store_distinct_tail {
    uint32_t *next, *end;
};

struct store_distinct_list {
    struct store_distinct_chunk *first, *last;
    uint64_t n, n_squeezed; /* users in full chunks; how many the last squeeze left */
};

struct store_distinct_plane {
    uint64_t high;
    struct store_distinct_tail *tails; /* by group, as the lists; owned */
    struct store_distinct_list *lists;
};

struct store_distinct_slab {
    uint8_t *memory; /* owned */
    size_t size;
};

struct store_fact_cache;
struct store_distinct {
    uint32_t n_groups;               /* set by the caller: groups are numbers below it */
    struct store_fact_cache *memory; /* the same: which lends memory; borrowed, may be NULL */
    /* The plane of the last user; before the first one it has no lists. */
    struct store_distinct_plane plane;
    struct store_distinct_plane *planes; /* owned */
    size_t n_planes, room_planes;
    struct store_distinct_slab *slabs;  /* the memory of chunks; owned */
    size_t n_slabs, room_slabs, n_used; /* n_used: bytes of the last one */
    struct store_distinct_chunk *free_chunks[STORE_DISTINCT_SIZES]; /* that a squeeze left */
    size_t n_bytes;                                                 /* of chunks that lists have */
    size_t most, squeeze_from; /* bytes; set by the caller; 0 = the default */
    bool has_range;
    uint64_t first, last; /* numbers of users, from 0 on, that may be in lists */
};
void store_distinct_deinit(struct store_distinct *distinct);

/*
 * One pair. No user (0 or less), and users beyond 2^40, are not counted. `is_marked`: count the user among the marked ones, too.
 * LIMIT: there are too many.
 */
FZ_MUST_CHECK enum fz_code store_distinct_add(struct store_distinct *distinct, uint32_t group,
                                              int64_t user, bool is_marked, struct fz_error *err);
/* Users from `first` to `last` are to come, besides those that came. */
void store_distinct_expect(struct store_distinct *distinct, int64_t first, int64_t last);
/* The same for `n` pairs of expected users, in a few nanoseconds each. */
FZ_MUST_CHECK enum fz_code store_distinct_add_some(struct store_distinct *distinct,
                                                   const uint32_t *groups, const int64_t *users,
                                                   const bool *are_marked, size_t n,
                                                   struct fz_error *err);

/* Take all users of `from`, which has as many groups and is empty after that, also after a failure. */
FZ_MUST_CHECK enum fz_code store_distinct_merge(struct store_distinct *distinct,
                                                struct store_distinct *from, struct fz_error *err);

/* Keep each user of this list once. Its chunks are full before; *ret_free: those that it does not need any more, linked
 * (store_distinct_count.c). */
FZ_MUST_CHECK enum fz_code store_distinct_squeeze(struct store_distinct *distinct, uint32_t group,
                                                  struct store_distinct_chunk **ret_free,
                                                  struct fz_error *err);

/*
 * Add to ret_users[group] how many different ones there are, and those that were marked at least once to ret_marked[group]; with
 * two threads if `is_shared`.
 */
FZ_MUST_CHECK enum fz_code store_distinct_count(struct store_distinct *distinct, bool is_shared,
                                                uint64_t *ret_users, uint64_t *ret_marked,
                                                struct fz_error *err);

#endif
