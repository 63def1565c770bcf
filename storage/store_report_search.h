/*
 * The list of reports that meet a query.
 *
 * Reports that belong to an issue are found through their facts; all others (queued, failed, not grouped yet) by what their rows
 * say, so the list has every report that meets the query. `function` and `file` then mean any frame of the stack, or the top
 * frame of a report without an issue. Conventions as in store.h.
 */
#ifndef STORE_REPORT_SEARCH_H
#define STORE_REPORT_SEARCH_H

#include "storage/store.h"
#include "storage/store_query.h"

enum store_report_order {
    STORE_NEWEST_FIRST, /* by received_ms */
    STORE_OLDEST_FIRST,
    STORE_CRASHED_LAST_FIRST, /* by timestamp_ms; reports without one are the oldest */
    STORE_CRASHED_FIRST_FIRST
};

struct store_report_search {
    const struct store_query *query;
    enum store_report_order order;
};

/* A page of them; at most 1000. MALFORMED: the cursor. LIMIT: too many values. */
FZ_MUST_CHECK enum fz_code store_report_search(struct store *store, int64_t project_id,
                                               const struct store_report_search *search,
                                               struct store_page *page, struct fz_arena *arena,
                                               struct store_report **ret, struct fz_error *err);
/* How many there are; counting stops at `most`. Errors as above. */
FZ_MUST_CHECK enum fz_code store_report_search_count(struct store *store, int64_t project_id,
                                                     const struct store_query *query, uint64_t most,
                                                     struct fz_arena *arena, uint64_t *ret,
                                                     struct fz_error *err);

/* From so many reports on whose crash has no known time, lists in the order of these times look at facts; 0 = the default. */
void store_set_unknown_from(struct store *store, int64_t reports);

#endif
