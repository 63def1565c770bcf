/*
 * Places of reports in a list, of which the first ones after a cursor are wanted. Private to storage.
 */
#ifndef STORE_REPORT_HITS_H
#define STORE_REPORT_HITS_H

#include "storage/store_private.h"

/* A report's place: of two with the same time the one with the smaller key is the older one. */
struct store_hit {
    int64_t time_ms, key;
};

struct store_hits {
    struct fz_arena *arena;
    bool is_rising;         /* the oldest one comes first */
    struct store_hit after; /* the list goes on after this one */
    bool has_after;
    size_t most; /* so many are wanted */
    struct store_hit *list;
    size_t n, room;
    /* Of store_hits_offer(): as many as are wanted are before this one. */
    struct store_hit last;
    bool has_last;
};

/* Append it, whatever its place is. */
FZ_MUST_CHECK enum fz_code store_hits_put(struct store_hits *hits, struct store_hit hit,
                                          struct fz_error *err);
void store_hits_sort(struct store_hits *hits);

/* For hits in any order: append it if it is after the cursor and may be wanted; at times those that are not wanted are dropped. */
FZ_MUST_CHECK enum fz_code store_hits_offer(struct store_hits *hits, struct store_hit hit,
                                            struct fz_error *err);
/* Then: sort what is wanted, and drop the others. */
void store_hits_settle(struct store_hits *hits);
/* Would all hits with this time be refused? */
static inline bool
store_hits_are_far(const struct store_hits *hits, int64_t time_ms)
{
    int64_t after = hits->after.time_ms, last = hits->last.time_ms;
    if (hits->is_rising)
        return (hits->has_after && time_ms < after) || (hits->has_last && time_ms > last);
    return (hits->has_after && time_ms > after) || (hits->has_last && time_ms < last);
}

#endif
