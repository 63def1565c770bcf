/*
 * Saved filters: what the users of a project have saved of the list of issues, for all of them.
 *
 * Storage does not read them; the API decides what may be in them. Conventions as in store.h.
 */
#ifndef STORE_FILTERS_H
#define STORE_FILTERS_H

#include "storage/store.h"

enum { STORE_FILTERS_MAX = 100 }; /* of a project */

struct store_filter {
    int64_t id, project_id;
    const char *name, *query;
    const char *since, *until, *sort; /* NULL = none */
    const char *actor;                /* who has saved it first */
    int64_t created_ms;
};

/* By name. */
FZ_MUST_CHECK enum fz_code store_filter_list(struct store *store, int64_t project_id,
                                             struct fz_arena *arena, struct store_filter **ret,
                                             size_t *ret_n, struct fz_error *err);
/* NOT_FOUND: the project has no such filter. */
FZ_MUST_CHECK enum fz_code store_filter_get(struct store *store, int64_t project_id, int64_t id,
                                            struct fz_arena *arena, struct store_filter *ret,
                                            struct fz_error *err);
/* All but id and created_ms count. CONFLICT: the project has one of this name; LIMIT: it has
 * STORE_FILTERS_MAX. */
FZ_MUST_CHECK enum fz_code store_filter_add(struct store *store, const struct store_filter *filter,
                                            int64_t *ret_id, struct fz_error *err);
/* Store its name, query, since, until and sort. NOT_FOUND; CONFLICT as above. */
FZ_MUST_CHECK enum fz_code
store_filter_change(struct store *store, const struct store_filter *filter, struct fz_error *err);
/* NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_filter_delete(struct store *store, int64_t project_id, int64_t id,
                                               struct fz_error *err);

#endif
