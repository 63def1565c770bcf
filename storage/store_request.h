/*
 * What only those need who answer requests: connections that do not wait long, all tokens at once,
 * and how large an answer will be.
 */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "storage/store.h"

/* From now on calls give up after a short wait for others (UNAVAILABLE, 1.5 s rather than 10 s or
 * more), and the connection keeps little memory. */
FZ_MUST_CHECK enum fz_code store_serve_requests(struct store *store, struct fz_error *err);

/* Calls of the next `ms` may take so long together; then they fail with LIMIT, and their text is for who asked. 0: no limit.
 * For reading: a transaction that is cut off is taken back. */
void store_limit_time(struct store *store, int64_t ms);
/* Is that time over? */
bool store_is_late(const struct store *store);

/* Every token that was not revoked. */
struct store_token_known {
    char sha256[FZ_SHA256_TEXT];
    int64_t id, project_id; /* project 0 = all */
    unsigned scopes;
};
FZ_MUST_CHECK enum fz_code store_token_known(struct store *store, struct fz_arena *arena,
                                             struct store_token_known **ret, size_t *ret_n,
                                             struct fz_error *err);

/* Which of a project's reports, given by their ids, have the status queued; one statement for all of
 * them. Those that are not there have not. */
enum { STORE_QUEUED_MAX = 32 };
FZ_MUST_CHECK enum fz_code store_reports_queued(struct store *store, int64_t project_id,
                                                const char *const *ids, size_t n, bool *ret_queued,
                                                struct fz_error *err);

/* How long a report's result or body is when it is unpacked; 0: there is none. The full body is
 * that of store_report_full_body(). */
enum store_report_part { STORE_REPORT_RESULT, STORE_REPORT_BODY, STORE_REPORT_FULL_BODY };
FZ_MUST_CHECK enum fz_code store_report_size(struct store *store, int64_t project_id,
                                             const char *id, enum store_report_part part,
                                             uint64_t *ret, struct fz_error *err);

#endif
