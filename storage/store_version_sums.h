/*
 * The sums of which a list of versions consists, read into rows by version. Private to storage.
 */
#ifndef STORE_VERSION_SUMS_H
#define STORE_VERSION_SUMS_H

#include "base/hll.h"
#include "storage/store_private.h"
#include "storage/store_versions.h"

enum store_version_users { /* what counters of users there are */
                           STORE_USERS_REPORTS,
                           STORE_USERS_SESSIONS,
                           STORE_USERS_CRASHED,
                           STORE_USERS_DAY,
                           STORE_USERS_KINDS
};

struct store_version_row {
    struct store_version v;
    int64_t id;  /* in the dictionary; 0 = of sessions of an older program only */
    size_t most; /* its place in list.most, from 1 on; 0 = none */
    struct fz_hll *users[STORE_USERS_KINDS]; /* NULL: none */
};

struct store_version_sums {
    struct sql *sql;
    int64_t project_id;
    const struct store_version_range *range;
    struct fz_arena *arena;
    struct store_version_row *rows; /* in the order of versions, the lowest first */
    size_t n;
    struct store_version_row **by_id, **by_text; /* the same, to search in */
    struct store_version_row all;                /* sessions of all versions */
};

/* Read the rows, without sums. */
FZ_MUST_CHECK enum fz_code store_version_sums_start(struct store_version_sums *sums,
                                                    struct fz_error *err);
/* Reports, sessions and users into the rows. */
FZ_MUST_CHECK enum fz_code store_version_sums_read(struct store_version_sums *sums,
                                                   struct fz_error *err);
/* The parts of the range into `list`, whose versions are there; the parts are of `arena`. */
FZ_MUST_CHECK enum fz_code store_version_sums_parts(struct store_version_sums *sums,
                                                    struct fz_arena *arena,
                                                    struct store_version_list *list,
                                                    struct fz_error *err);
/* NULL: there is none. */
struct store_version_row *store_version_sums_find(const struct store_version_sums *sums,
                                                  struct fz_span version, struct fz_span build);
struct store_version_row *store_version_sums_find_id(const struct store_version_sums *sums,
                                                     int64_t id);

#endif
