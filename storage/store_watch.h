/*
 * What is looked at from time to time for alerts: rules of a project, bursts of issues, sessions.
 *
 * Conventions as in store.h.
 */
#ifndef STORE_WATCH_H
#define STORE_WATCH_H

#include "storage/store.h"

enum { STORE_WATCH_HOURS = 7 * 24, STORE_PPM = 1000000 };

/* When an issue of a project is urgent, and a release unhealthy. */
struct store_watch_rules {
    unsigned urgent_ppm;   /* reports of a million sessions within the window, at least */
    unsigned urgent_users; /* and users */
    unsigned window_s;
    unsigned healthy_ppm;      /* crash-free sessions of a million, at least */
    unsigned healthy_sessions; /* below so many a release is not judged */
};
FZ_MUST_CHECK enum fz_code store_watch_rules_get(struct store *store, int64_t project_id,
                                                 struct store_watch_rules *ret,
                                                 struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_watch_rules_set(struct store *store, int64_t project_id,
                                                 const struct store_watch_rules *rules,
                                                 struct fz_error *err);

/* An issue's counted reports within the window. */
struct store_burst {
    int64_t issue_id;
    uint64_t n_reports, n_users; /* n_users 0: none has a user */
    const char *version;         /* "4.2 (421)" with most of them; "" = unknown */
};
struct store_burst_range {
    int64_t since_ms;
    uint64_t least; /* reports */
    size_t max;     /* bursts */
};
/* Of the issues that are open and were seen in the range. */
FZ_MUST_CHECK enum fz_code store_burst_list(struct store *store, int64_t project_id,
                                            const struct store_burst_range *range,
                                            struct fz_arena *arena, struct store_burst **ret,
                                            size_t *ret_n, struct fz_error *err);
/* Its reports of each of the STORE_WATCH_HOURS hours before the current one, the oldest first.
 * *ret_n: how many of them (the last ones) are since its first report. */
FZ_MUST_CHECK enum fz_code store_burst_hours(struct store *store, int64_t issue_id,
                                             uint64_t ret[STORE_WATCH_HOURS], size_t *ret_n,
                                             struct fz_error *err);

/* Sessions that were counted within the window, as far as samples of the sums say. Takes a sample if
 * the last one is old enough. */
struct store_recent_sessions {
    uint64_t n, n_crashed;
    bool has_any; /* the app sends sessions at all */
};
FZ_MUST_CHECK enum fz_code store_session_sample(struct store *store, int64_t project_id,
                                                int64_t window_ms,
                                                struct store_recent_sessions *ret,
                                                struct fz_error *err);

#endif
