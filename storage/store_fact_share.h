/*
 * Facts that meet a query, counted by two threads where there are many.
 *
 * The caller's thread reads. A sealed day goes to the other one if that has few to do, which looks through it itself, and is counted
 * here if not. Each has counts of its own, which are added at the end. Private to storage.
 */
#ifndef STORE_FACT_SHARE_H
#define STORE_FACT_SHARE_H

#include "storage/store_fact_scan.h"

/* What counts: `own` is the caller's, `other` a second one for the other thread, which only reads what both have. */
struct store_counter {
    void *own;
    enum fz_code (*count)(void *counts, const struct store_fact_batch *batch, struct fz_error *err);
    enum fz_code (*make)(void *own, void **ret_other, struct fz_error *err);
    enum fz_code (*add)(void *own, void *other, struct fz_error *err);
    void (*drop)(void *other);
};
FZ_MUST_CHECK enum fz_code store_facts_count(const struct store_fact_query *facts,
                                             const struct store_fact_want *want,
                                             const struct store_counter *counter,
                                             struct fz_error *err);
/* From so many facts on there are two threads, even on one core; 0 = the default. */
void store_set_share_from(struct store *store, uint64_t facts);

#endif
