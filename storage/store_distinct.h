/*
 * How many different users each issue has, from one pair of issue and user for each fact.
 *
 * A hash table of all pairs of a million facts does not fit into the CPU's caches: each look-up waits for memory. Here pairs are
 * appended, sorted by issue in one pass, and the users of each issue are counted in a table that is small. Private to storage.
 */
#ifndef STORE_DISTINCT_H
#define STORE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store_distinct {
    uint64_t *pairs, *sorted; /* owned; sorted: room for as many */
    size_t n, room;
    uint32_t n_groups; /* set by the caller: groups are numbers below it */
};
void store_distinct_deinit(struct store_distinct *distinct);
/* Users beyond 2^40 are not counted. `is_marked`: count the user among the marked ones, too. LIMIT: too many pairs. */
FZ_MUST_CHECK enum fz_code store_distinct_add(struct store_distinct *distinct, uint32_t group,
                                              int64_t user, bool is_marked, struct fz_error *err);
/* Add to ret_users[group], and those that were marked at least once to ret_marked[group]. */
FZ_MUST_CHECK enum fz_code store_distinct_count(struct store_distinct *distinct,
                                                uint64_t *ret_users, uint64_t *ret_marked,
                                                struct fz_error *err);

#endif
