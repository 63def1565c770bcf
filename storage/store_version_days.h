/*
 * Reports of each version by day and environment, and their users. Private to storage.
 *
 * Written from the deltas of a batch (store_deltas.h), once for each row that it touches.
 */
#ifndef STORE_VERSION_DAYS_H
#define STORE_VERSION_DAYS_H

#include "storage/store_private.h"

/* Reports of a version: more, or with n < 0 fewer. */
struct store_version_delta {
    int64_t version_id;
    int64_t n;
    int64_t first_ms, last_ms; /* of reports that were added; 0 = none were */
};
FZ_MUST_CHECK enum fz_code
store_version_write(struct sql *tx, const struct store_version_delta *delta, struct fz_error *err);

struct store_version_day_delta {
    int64_t version_id, environment_id, day;
    int64_t n;
    const int64_t *users; /* terms.id of those whose reports were added */
    size_t n_users;
};
FZ_MUST_CHECK enum fz_code store_version_day_write(struct sql *tx,
                                                   const struct store_version_day_delta *delta,
                                                   struct fz_error *err);

#endif
