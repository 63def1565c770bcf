/*
 * Sealing in tests: whole days at once, or parts of days, and what lists say then.
 */
#ifndef SEAL_CASE_H
#define SEAL_CASE_H

#include "issue_case.h"
#include "storage/store_fact_cache.h"
#include "storage/store_seal.h"

/* Each day that is over, however few facts it has. */
extern const struct store_seal_rules seal_case_days;

/* Until nothing is left to seal; returns how many days are sealed then. */
int64_t seal_case(struct contract *c, const struct store_seal_rules *rules);
/* For FZ_CLEANUP. */
void seal_case_drop_cache(struct store_fact_cache **cache);
/* All reports came three days ago. */
void seal_case_make_older(struct contract *c);
/* Reports of the only issue that meet this query, of which the list of reports has as many. */
int seal_case_count(struct contract *c, const char *query);

#endif
