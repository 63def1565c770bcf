/*
 * The conditions of a query, applied to columns of facts instead of rows.
 *
 * Each part of a condition is a set of numbers; as a rule one bit for each number between the smallest and the largest. Private to
 * storage.
 */
#ifndef STORE_FACT_FILTER_H
#define STORE_FACT_FILTER_H

#include "storage/store_block.h"
#include "storage/store_fact_days.h"
#include "storage/store_fact_query.h"

struct store_fact_filter_part;

struct store_fact_filter {
    struct store_fact_filter_part *parts; /* of all conditions, in their order; owned */
    size_t n_parts;
    const struct store_fact_query *facts; /* borrowed */
    bool needs[STORE_FACT_COLUMNS];       /* the columns that the conditions look at */
};

/* Can its conditions be applied to columns? Not those about a report's row. */
bool store_fact_filter_can(const struct store_fact_query *facts);
FZ_MUST_CHECK enum fz_code store_fact_filter_init(struct store_fact_filter *filter,
                                                  const struct store_fact_query *facts,
                                                  struct fz_error *err);
void store_fact_filter_deinit(struct store_fact_filter *filter);

/*
 * Of the `n` facts in `at` (places in the columns, rising) keep those that meet the conditions; returns how many.
 * `columns` has what filter->needs says; tag_starts[i] is the place of the first tag of fact i, and has one more element.
 */
size_t store_fact_filter_apply(const struct store_fact_filter *filter,
                               const struct store_block columns[STORE_FACT_COLUMNS],
                               const uint32_t *tag_starts, uint32_t *at, size_t n);
/* Are there n_tags of them, so that their places can be found? */
bool store_fact_tags_fit(const struct store_block *counts, size_t n_tags);
/* Where the tags of each fact start, and where the last ones end: one more than counts->n. The tags fit. */
void store_fact_tag_starts(const struct store_block *counts, uint32_t *ret);
/* As store_fact_filter_apply(), for facts that have more than 0 in a column. */
size_t store_fact_filter_flagged(const struct store_block *column, uint32_t *at, size_t n);

#endif
