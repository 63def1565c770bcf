/*
 * Who had a session, by day, and which versions are in use, by hour and version. Private to storage.
 *
 * Inside the transaction that counts sessions, and under its lock.
 */
#ifndef STORE_SESSION_USERS_H
#define STORE_SESSION_USERS_H

#include "storage/store_private.h"
#include "storage/store_sessions.h"

/* Sessions of one user, or of which the user is not known. */
struct store_session_seen {
    int64_t project_id;
    int64_t day_ms;
    int64_t hour_ms; /* 0 = they were counted before */
    int64_t now_ms;
    struct sql_value release, environment;
    int64_t n;
    uint64_t user; /* fz_hll_hash() */
    bool has_user, has_crashed;
};
FZ_MUST_CHECK enum fz_code store_session_seen(struct sql *tx, const struct store_session_seen *seen,
                                              struct fz_error *err);
/* Hours that are no longer part of the last day. */
FZ_MUST_CHECK enum fz_code store_session_hours_forget(struct sql *tx, int64_t project_id,
                                                      int64_t now_ms, struct fz_error *err);

/*
 * The last moment of the days whose counters are read at once, from from_ms on, which is the first of a day. A day of 60 releases has
 * 200 KB of them: at a time, so many that a server keeps the memory (server/process/trim.h). A range of any length has some steps.
 */
int64_t store_session_users_step(int64_t since_ms, int64_t until_ms, int64_t from_ms);

/* Fill in the users of these rows of store_session_counts(). */
FZ_MUST_CHECK enum fz_code store_session_users_count(struct sql *sql, int64_t project_id,
                                                     const struct store_session_range *range,
                                                     struct store_session_count *counts, size_t n,
                                                     struct fz_error *err);

/* Someone has this version (terms.id) now. */
FZ_MUST_CHECK enum fz_code store_version_seen(struct sql *tx, int64_t version_id, int64_t now_ms,
                                              struct fz_error *err);

#endif
