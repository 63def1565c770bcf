/*
 * How much the reports of a project need: counted, or estimated from some of them. Private to storage; store_retention.h has the
 * numbers.
 *
 * A sweep looks at all reports. It keeps the keys of those with the lowest hashes, which are a random sample of any number of
 * reports, and notes what they need for requests, which have no time to count millions.
 */
#ifndef STORE_RETENTION_USE_H
#define STORE_RETENTION_USE_H

#include "storage/store_private.h"
#include "storage/store_retention.h"

enum { STORE_USE_SAMPLE = 2000 /* up to so many reports nothing is estimated */ };

struct store_use_pick {
    uint64_t hash;
    int64_t key; /* of a report */
};

/* Zeros at first. */
struct store_use_sample {
    struct store_use_pick
        *picks; /* malloc'ed; the highest hash is the first, each above its two children */
    size_t n;
};
/* Look at a report, once. */
FZ_MUST_CHECK enum fz_code store_use_offer(struct store_use_sample *sample, int64_t key,
                                           struct fz_error *err);
void store_use_sample_deinit(struct store_use_sample *sample);

/* What the project's `n_reports` reports need, of which these are a sample, and its symbol files. */
FZ_MUST_CHECK enum fz_code store_use_read(struct store *store, int64_t project_id,
                                          const struct store_use_sample *sample, uint64_t n_reports,
                                          struct store_retention_use *ret, struct fz_error *err);
/* Without `n_reports` of the reports, and without the bodies of `n_bodies` others. */
void store_use_less(struct store_retention_use *use, uint64_t n_reports, uint64_t n_bodies);
FZ_MUST_CHECK enum fz_code store_use_note(struct sql *sql, int64_t project_id,
                                          const struct store_retention_use *use, int64_t now_ms,
                                          struct fz_error *err);
/* What a sweep has noted last, with the symbol files of now; *ret_found = false: none has yet. */
FZ_MUST_CHECK enum fz_code store_use_noted(struct store *store, int64_t project_id,
                                           struct store_retention_use *ret, bool *ret_found,
                                           struct fz_error *err);

#endif
