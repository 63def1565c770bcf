/*
 * Counting what a transaction changes (store_changes.h). Private to storage.
 */
#ifndef STORE_CHANGED_H
#define STORE_CHANGED_H

#include "storage/store_changes.h"
#include "storage/store_private.h"

struct store_changed {
    int64_t project_id;
    uint64_t n[STORE_CHANGES_N];
    const char *received, *report, *upload; /* the last one's id; NULL = none */
    int64_t issue_id, new_issue_id;         /* issues.id; 0 = none */
};

/* Count it, and wake those who wait for changes. The last statement of a transaction, so that two which
 * count in one row do not wait for each other's other rows. */
FZ_MUST_CHECK enum fz_code
store_changed_count(struct store *store, const struct store_changed *changed, struct fz_error *err);
/* The same for one issue, of which 1 was changed. */
FZ_MUST_CHECK enum fz_code store_changed_issue(struct store *store, int64_t project_id,
                                               int64_t issue_id, struct fz_error *err);

#endif
