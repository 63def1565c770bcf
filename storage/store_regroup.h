/*
 * Reports that were processed before there were issues: they get theirs one by one, without being
 * processed again. What is done stays done, so this may stop and go on at any time. Conventions as
 * in store.h.
 */
#ifndef STORE_REGROUP_H
#define STORE_REGROUP_H

#include "storage/store_jobs.h"

/* A report that has a result and no issue. */
struct store_ungrouped {
    struct store_report report; /* as store_report_get() */
    int64_t key;
};
/* The newest ones of a project, at most `max`; *ret_n 0: all have their issue. */
FZ_MUST_CHECK enum fz_code store_ungrouped_list(struct store *store, int64_t project_id, size_t max,
                                                struct fz_arena *arena,
                                                struct store_ungrouped **ret, size_t *ret_n,
                                                struct fz_error *err);
/* How many there are, of all projects; counting stops at `most`. For /readyz. */
FZ_MUST_CHECK enum fz_code store_ungrouped_count(struct store *store, uint64_t most, uint64_t *ret,
                                                 struct fz_error *err);
/* A project that has some; 0 = none has. */
FZ_MUST_CHECK enum fz_code store_ungrouped_project(struct store *store, int64_t *ret,
                                                   struct fz_error *err);

struct store_regrouped {
    const struct store_ungrouped *ungrouped;
    /* NULL: nothing can be said of it; it is not looked at again. */
    const struct store_grouping *grouping;
};
/* Count these reports of one project, in one transaction. Those that another worker has grouped
 * meanwhile, or that were deleted, are left out. */
FZ_MUST_CHECK enum fz_code store_regroup(struct store *store, int64_t project_id,
                                         const struct store_regrouped *list, size_t n,
                                         struct fz_error *err);

#endif
