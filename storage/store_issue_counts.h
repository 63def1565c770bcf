/*
 * The facts of one issue that meet a query: counted by variant, and by value of what their reports have in common. Private to storage.
 */
#ifndef STORE_ISSUE_COUNTS_H
#define STORE_ISSUE_COUNTS_H

#include "storage/store_tally.h"

/* Of which terms, and where facts have them, in the order of enum store_distribution. */
struct store_distributed {
    enum store_term term;
    enum store_fact_column column;
};
extern const struct store_distributed store_distributed[STORE_DISTRIBUTIONS];

struct store_issue_counts {
    struct store_tally *tally; /* of the issue's variants (store_tally_one()); borrowed */
    struct store_map
        values[STORE_DISTRIBUTIONS]; /* by ids of terms; -1 stands for an unknown text */
};
void store_issue_counts_deinit(struct store_issue_counts *counts);
/* `n` more facts have this term; 0 = unknown. */
FZ_MUST_CHECK enum fz_code store_issue_counts_put(struct store_issue_counts *counts, int by,
                                                  int64_t term, uint64_t n, struct fz_error *err);
/* Count the facts, whose issue is the tally's. */
FZ_MUST_CHECK enum fz_code store_issue_counts_facts(struct store_issue_counts *counts,
                                                    const struct store_fact_query *facts,
                                                    struct fz_error *err);

#endif
