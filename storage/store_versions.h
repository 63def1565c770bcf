/*
 * Versions of an app in their order: how much each is used, how often it crashes, what is new in it.
 *
 * The order is that of the numbers (base/version.h), never that of time. A version is known from reports
 * and from sessions, which meet by version and build. All numbers come from sums that are kept by
 * version and day, so they do not depend on how many reports there are. Users are estimated (1.6 %).
 * Conventions as in store.h.
 */
#ifndef STORE_VERSIONS_H
#define STORE_VERSIONS_H

#include "storage/store.h"

struct store_version_use { /* runs of the app, and who had them */
    uint64_t n_sessions, n_crashed;
    uint64_t n_users, n_crashed_users; /* of sessions whose user is known */
};

struct store_version {
    const char *version, *build; /* "" = unknown */
    bool is_ordered;  /* false: not a version ("main"); it is after all others in the list */
    bool is_invented; /* far above what anyone has (store_newest.h) */
    const char *previous, *previous_build; /* the next lower real one; NULL = none */
    int64_t first_ms, last_ms;             /* seen, of all time and in all environments */
    uint64_t n_reports, n_users;           /* in the range */
    struct store_version_use use;          /* in the range */
    struct store_version_use day;          /* the last 24 hours; without crashes */
    /* Of all time: issues that no lower version has; that came back in it; that are marked as fixed
     * in it and have not come back. */
    uint64_t n_new, n_regressed, n_fixed;
};

struct store_version_range {
    int64_t since_ms, until_ms; /* whole days (UTC) */
    const char *environment;    /* NULL = all */
    size_t limit;
    size_t n_parts; /* into so many equal parts it is cut at most, to 31; 0 = no parts are wanted */
};

enum { STORE_VERSION_PARTS = 31, STORE_VERSION_MOST = 10 };

struct store_version_part { /* whole days; the first may have fewer than the others */
    int64_t since_ms, until_ms;
    struct store_version_use use;                      /* of all versions together */
    struct store_version_use most[STORE_VERSION_MOST]; /* of those in list.most */
};

struct store_version_list {
    struct store_version *versions; /* real ones first, the highest first; then the invented ones */
    size_t n, n_all;
    struct store_version_use use, day; /* of all versions together */
    struct store_version_part *parts;  /* the oldest first */
    size_t n_parts;
    size_t most[STORE_VERSION_MOST]; /* indexes of those listed that have most runs in the range */
    size_t n_most;
};
FZ_MUST_CHECK enum fz_code store_version_list(struct store *store, int64_t project_id,
                                              const struct store_version_range *range,
                                              struct fz_arena *arena,
                                              struct store_version_list *ret, struct fz_error *err);

/* The two highest real versions that are known, with all their builds. */
struct store_newest_versions {
    int64_t *ids; /* in the dictionary; arena */
    size_t n;
    const char *texts[2]; /* the highest first; NULL = there are not so many */
};
FZ_MUST_CHECK enum fz_code store_versions_newest(struct store *store, int64_t project_id,
                                                 struct fz_arena *arena,
                                                 struct store_newest_versions *ret,
                                                 struct fz_error *err);

#endif
