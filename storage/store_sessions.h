/*
 * Sessions: how many runs of an app there were, and how they ended, by day, release and
 * environment.
 *
 * A run is reported in several updates, which may come in any order or twice; the worst outcome
 * stays. Updates of one run are merged for STORE_SESSION_LIFE_MS; the counts stay. Users are counted
 * by HyperLogLog (base/hll.h); store_versions.h has them by version.
 */
#ifndef STORE_SESSIONS_H
#define STORE_SESSIONS_H

#include "storage/store.h"

static const int64_t STORE_SESSION_LIFE_MS = INT64_C(30) * 24 * 3600 * 1000;

enum store_session_outcome { /* the worse, the higher */
                             STORE_SESSION_HEALTHY,
                             STORE_SESSION_ERRORED,
                             STORE_SESSION_ABNORMAL, /* ended, but neither by itself nor by a crash
                                                      */
                             STORE_SESSION_CRASHED,
                             STORE_SESSION_OUTCOMES,
};

/* One update: of one run if sid is set, else of as many as n says. */
struct store_session {
    char sid[FZ_UUID_TEXT];             /* "" = counted by the client */
    const char *release, *environment;  /* NULL = unknown */
    const char *user;                   /* or device; NULL = unknown */
    int64_t started_ms;                 /* 0 or unlikely ones count as now */
    enum store_session_outcome outcome; /* of a single run */
    uint32_t n[STORE_SESSION_OUTCOMES]; /* of those that the client counted */
};

struct store_discarded { /* reports that the client did not send */
    const char *reason, *category;
    uint32_t n;
};

struct store_session_update {
    const struct store_session *sessions;
    size_t n_sessions;
    const struct store_discarded *discarded;
    size_t n_discarded;
};
/* All or nothing. */
FZ_MUST_CHECK enum fz_code store_session_put(struct store *store, int64_t project_id,
                                             const struct store_session_update *update,
                                             struct fz_arena *arena, struct fz_error *err);

struct store_session_count {
    const char *release, *environment; /* "" = unknown */
    uint64_t n[STORE_SESSION_OUTCOMES];
    uint64_t n_users, n_crashed_users; /* of sessions whose user is known; estimated */
    int64_t first_day_ms, last_day_ms;
};

struct store_session_range {
    int64_t since_ms, until_ms; /* the whole day of since_ms */
    const char *release;        /* NULL = all; only for store_session_counts() */
    size_t limit;               /* of the list */
};
/* Of runs that began in the range. The releases seen last come first. */
FZ_MUST_CHECK enum fz_code store_session_counts(struct store *store, int64_t project_id,
                                                const struct store_session_range *range,
                                                struct fz_arena *arena,
                                                struct store_session_count **ret, size_t *ret_n,
                                                struct fz_error *err);
/* The same for what clients threw away: sums by reason and category, the largest first. */
struct store_discarded_count {
    const char *reason, *category;
    uint64_t n;
};
FZ_MUST_CHECK enum fz_code store_discarded_counts(struct store *store, int64_t project_id,
                                                  const struct store_session_range *range,
                                                  struct fz_arena *arena,
                                                  struct store_discarded_count **ret, size_t *ret_n,
                                                  struct fz_error *err);

#endif
