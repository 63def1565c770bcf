/*
 * Releases of an app as builds announce them (sentry-cli releases, deploys). They are kept, but not
 * yet used to judge reports.
 */
#ifndef STORE_RELEASES_H
#define STORE_RELEASES_H

#include "storage/store.h"

enum { STORE_VERSION_MAX = 250, STORE_RELEASES_PAGE = 100 };

struct store_release {
    const char *version;             /* 1 to STORE_VERSION_MAX bytes of UTF-8 */
    const char *status;              /* "open", "archived" */
    const char *ref, *url;           /* may be NULL */
    const char *commits;             /* JSON array; may be NULL */
    int64_t created_ms;              /* out */
    int64_t started_ms, released_ms; /* 0 = unknown */
};

/* Create a release, or change what is set here (not NULL, not 0) of the one that is there.
 * *ret_created says which. MALFORMED: the version. */
FZ_MUST_CHECK enum fz_code store_release_put(struct store *store, int64_t project_id,
                                             const struct store_release *release,
                                             struct fz_arena *arena, struct store_release *ret,
                                             bool *ret_created, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_release_get(struct store *store, int64_t project_id,
                                             const char *version, struct fz_arena *arena,
                                             struct store_release *ret, struct fz_error *err);
/* At most STORE_RELEASES_PAGE, newest first, without their commits; skips `offset` of them. */
FZ_MUST_CHECK enum fz_code store_release_list(struct store *store, int64_t project_id,
                                              size_t offset, struct fz_arena *arena,
                                              struct store_release **ret, size_t *ret_n,
                                              struct fz_error *err);
/* With its deploys. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_release_delete(struct store *store, int64_t project_id,
                                                const char *version, struct fz_error *err);

struct store_deploy {
    int64_t id; /* out of store_deploy_list() */
    const char *environment;
    const char *name, *url;          /* may be NULL */
    int64_t started_ms, finished_ms; /* started 0 = unknown; finished 0 becomes now */
};
/* NOT_FOUND: the release. */
FZ_MUST_CHECK enum fz_code store_deploy_insert(struct store *store, int64_t project_id,
                                               const char *version, struct store_deploy *deploy,
                                               struct fz_error *err);
/* Newest first, at most 100. NOT_FOUND: the release. */
FZ_MUST_CHECK enum fz_code store_deploy_list(struct store *store, int64_t project_id,
                                             const char *version, struct fz_arena *arena,
                                             struct store_deploy **ret, size_t *ret_n,
                                             struct fz_error *err);

#endif
