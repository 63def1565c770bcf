/*
 * How many different users each group has, from one pair of group and user for each fact. Groups are issues.
 *
 * Each group has two lists, to which its users are appended, four bytes each: one of marked users, which are few, and one of
 * the others. While facts are read, the ends of all lists are in the CPU's caches, and so is the table of the one group that is
 * counted, at the end. A table for each group, or one of all pairs, would wait for memory at each fact. A group that is not asked for
 * is not counted. When the lists take much memory, long ones are squeezed: each of their users is kept once.
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
#include "storage/store_block.h"

/*
 * What is written down: the low bits of the user's number from 0 on, and 1, so that it is never 0. Lists with the same high bits are
 * a plane.
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
    struct store_distinct_tail *tails; /* by list; owned */
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
    bool is_shared;            /* set by the caller: two threads count */
    uint64_t share_from;       /* users that are worth it; the same */
    bool has_range;
    uint64_t first, last; /* numbers of users, from 0 on, that may be in lists */
};
void store_distinct_deinit(struct store_distinct *distinct);

/* The list of a group's users: of those that are marked, or of the others. A user may be in both. */
static inline uint32_t
store_distinct_list(uint32_t group, bool is_marked)
{
    return group * 2 + is_marked;
}
/* One pair. No user (0 or less), and users beyond 2^40, are not counted. LIMIT: there are too many. */
FZ_MUST_CHECK enum fz_code store_distinct_add(struct store_distinct *distinct, uint32_t list,
                                              int64_t user, struct fz_error *err);
/* Users from `first` to `last` are to come, besides those that came. */
void store_distinct_expect(struct store_distinct *distinct, int64_t first, int64_t last);
/* The same for `n` pairs, whose users are in these places of a column of expected users; in a few nanoseconds each. */
FZ_MUST_CHECK enum fz_code store_distinct_add_some(struct store_distinct *distinct,
                                                   const uint32_t *lists,
                                                   const struct store_block *users,
                                                   const uint32_t *at, size_t n,
                                                   struct fz_error *err);

/* Take all users of `from`, which has as many groups and is empty after that, also after a failure. */
FZ_MUST_CHECK enum fz_code store_distinct_merge(struct store_distinct *distinct,
                                                struct store_distinct *from, struct fz_error *err);

/* Keep each user of this list once. Its chunks are full before; *ret_free: those that it does not need any more, linked
 * (store_distinct_count.c). */
FZ_MUST_CHECK enum fz_code store_distinct_squeeze(struct store_distinct *distinct, uint32_t list,
                                                  struct store_distinct_chunk **ret_free,
                                                  struct fz_error *err);

/* Which users of which groups; groups == NULL: of all, in their order. */
struct store_distinct_wanted {
    const uint32_t *groups;
    size_t n;
    bool marked_only;
};
/* How many different ones each of them has, to ret[0]... */
FZ_MUST_CHECK enum fz_code store_distinct_count(struct store_distinct *distinct,
                                                const struct store_distinct_wanted *wanted,
                                                uint64_t *ret, struct fz_error *err);

#endif
