/*
 * Database connections for requests. Opening one costs more than most queries, and on PostgreSQL a process, so those that are
 * not in use are kept.
 *
 * There are two kinds: nearly all see one project (storage/store_row_security.h), the others all.
 */
#include "base/log.h"
#include "base/time.h"
#include "server/api/api_object.h"
#include "server/report/columns.h"
#include "storage/store_blobs.h"
#include "storage/store_request.h"
#include "storage/store_row_security.h"

enum { OPEN_PAUSE_MS = 250 };

enum fz_code
api_store_open(struct api *api, const char *database_url, bool is_confined, struct store **ret,
               struct fz_error *err)
{
    struct store *store = NULL;
    enum fz_code code = store_open(database_url, &store, err);
    /* On each new connection: the store does not know the report's columns or its blobs. */
    if (code == FZ_OK)
        code = store_set_columns(store, &report_columns, err);
    if (code == FZ_OK)
        code = store_serve_requests(store, err);
    if (code == FZ_OK && is_confined)
        code = store_confine(store, err);
    if (code != FZ_OK) {
        store_close(store);
        return code;
    }
    store_set_blobs(store, api->blobs);
    store_set_fact_cache(store, api->fact_cache);
    *ret = store;
    return FZ_OK;
}

bool
api_store_is_right(const struct api *api, const struct store *store)
{
    return !store_wants_confined(store) || store_is_confined(store) == api->has_row_security;
}

/* NULL: there is none. */
static struct store *
take(struct api *api, struct api_pool *pool)
{
    struct store *store = NULL;
    pthread_mutex_lock(&api->pool_lock);
    if (pool->n > 0)
        store = pool->stores[--pool->n];
    pthread_mutex_unlock(&api->pool_lock);
    return store;
}

/* A connection that was lost has a pause of its own; one that could never be made must not be tried for each request either. */
static enum fz_code
open_new(struct api *api, bool is_confined, struct store **ret, struct fz_error *err)
{
    if (fz_time_monotonic_ms() < atomic_load(&api->open_after_ms))
        return fz_fail(
            err, FZ_E_UNAVAILABLE,
            "database: it could not be connected to a moment ago, and is tried again soon");
    enum fz_code code = api_store_open(api, api->config.database_url, is_confined, ret, err);
    if (code == FZ_E_UNAVAILABLE)
        atomic_store(&api->open_after_ms, fz_time_monotonic_ms() + OPEN_PAUSE_MS);
    return code;
}

static enum fz_code
get(struct api *api, struct api_pool *pool, struct store **ret, struct fz_error *err)
{
    struct store *store = take(api, pool);
    for (int n = 0; store && !api_store_is_right(api, store) && n < API_POOL_MAX; n++) {
        store_close(store);
        store = take(api, pool);
    }
    if (store) {
        *ret = store;
        return FZ_OK;
    }
    return open_new(api, pool == &api->pool, ret, err);
}

enum fz_code
api_store_get(struct api *api, int64_t project_id, struct store **ret, struct fz_error *err)
{
    struct store *store = NULL;
    enum fz_code code = get(api, &api->pool, &store, err);
    if (code != FZ_OK)
        return code;
    store_see_project(store, project_id);
    *ret = store;
    return FZ_OK;
}

enum fz_code
api_store_get_all(struct api *api, struct store **ret, struct fz_error *err)
{
    return get(api, &api->pool_of_all, ret, err);
}

void
api_store_put(struct api *api, struct store *store)
{
    if (!store)
        return;
    store_limit_time(store, 0);
    store_see_project(store, 0);
    struct api_pool *pool = store_wants_confined(store) ? &api->pool : &api->pool_of_all;
    pthread_mutex_lock(&api->pool_lock);
    /* A burst opens many connections; only so many are worth keeping. */
    bool kept = pool->n < API_POOL_MAX;
    if (kept)
        pool->stores[pool->n++] = store;
    pthread_mutex_unlock(&api->pool_lock);
    /* Closed outside of the lock: on PostgreSQL that sends a message. */
    if (!kept)
        store_close(store);
}

void
api_store_close_all(struct api *api)
{
    for (size_t i = 0; i < api->pool.n; i++)
        store_close(api->pool.stores[i]);
    for (size_t i = 0; i < api->pool_of_all.n; i++)
        store_close(api->pool_of_all.stores[i]);
}

void
api_store_renew(struct api *api, struct store *store)
{
    struct store_row_security state;
    if (store_row_security_get(store, &state, NULL) != FZ_OK ||
        api->has_row_security == state.is_on)
        return;
    api->has_row_security = state.is_on;
    fz_log(FZ_LOG_INFO, "row security", "state=%s role=%s tables=%zu", state.is_on ? "on" : "off",
           state.role, state.n_tables);
}
