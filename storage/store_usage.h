/*
 * Usage: how much each project has sent on a day (UTC, by the database's clock), for quotas.
 *
 * Reports are counted in the commit that stores them, uploads when they are taken in. Every
 * connection counts in a row of its own, so that writers do not wait for each other.
 */
#ifndef STORE_USAGE_H
#define STORE_USAGE_H

#include "storage/store.h"

enum store_usage_kind { STORE_USAGE_REPORTS = 1, STORE_USAGE_SYMBOLS = 2 };

enum { STORE_USAGE_DAYS = 90 }; /* how long a day's numbers are kept */

struct store_usage {
    int64_t project_id;
    enum store_usage_kind kind;
    uint64_t bytes, n;
};

/* Count one upload of `bytes`. */
FZ_MUST_CHECK enum fz_code store_usage_add(struct store *store, int64_t project_id,
                                           enum store_usage_kind kind, uint64_t bytes,
                                           struct fz_error *err);

/* What all projects have sent today, by project and kind. *ret_day: days since 1970-01-01;
 * *ret_left_ms: until the day is over. */
FZ_MUST_CHECK enum fz_code store_usage_today(struct store *store, struct fz_arena *arena,
                                             struct store_usage **ret, size_t *ret_n,
                                             int64_t *ret_day, int64_t *ret_left_ms,
                                             struct fz_error *err);

/* What a project may send a day in the place of the server's limits; 0 = the server's. */
struct store_quota {
    int64_t project_id;
    uint64_t reports, report_bytes, symbol_bytes;
};
enum { STORE_QUOTA_BITS = 60 }; /* each is below 2 to this */

/* NOT_FOUND: no such project. */
FZ_MUST_CHECK enum fz_code store_quota_get(struct store *store, int64_t project_id,
                                           struct store_quota *ret, struct fz_error *err);
/* All three. NOT_FOUND; MALFORMED: too large. Servers follow within a second. */
FZ_MUST_CHECK enum fz_code store_quota_set(struct store *store, const struct store_quota *quota,
                                           struct fz_error *err);
/* Those of projects that have one, by project. */
FZ_MUST_CHECK enum fz_code store_quota_list(struct store *store, struct fz_arena *arena,
                                            struct store_quota **ret, size_t *ret_n,
                                            struct fz_error *err);

/* A field of which a project has sent more distinct texts than are kept. Reports with further ones
 * are counted under "(other)". */
struct store_full_field {
    const char *name; /* "version", "user", "tag"... */
    uint64_t limit;
    uint64_t n_dropped; /* how often a report had one */
};
/* By the order of fields; nearly always empty. */
FZ_MUST_CHECK enum fz_code store_usage_full(struct store *store, int64_t project_id,
                                            struct fz_arena *arena, struct store_full_field **ret,
                                            size_t *ret_n, struct fz_error *err);

/* Delete what is older than STORE_USAGE_DAYS. */
FZ_MUST_CHECK enum fz_code store_usage_forget(struct store *store, struct fz_error *err);

#endif
