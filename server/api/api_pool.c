/*
 * Database connections for requests. Opening one costs more than most queries, and on PostgreSQL a process, so those that are
 * not in use are kept.
 */
#include "server/api/api_object.h"
#include "server/report/columns.h"
#include "storage/store_blobs.h"
#include "storage/store_request.h"

enum fz_code
api_store_open(struct api *api, const char *database_url, struct store **ret, struct fz_error *err)
{
    struct store *store = NULL;
    enum fz_code code = store_open(database_url, &store, err);
    /* On each new connection: the store does not know the report's columns or its blobs. */
    if (code == FZ_OK)
        code = store_set_columns(store, &report_columns, err);
    if (code == FZ_OK)
        code = store_serve_requests(store, err);
    if (code != FZ_OK) {
        store_close(store);
        return code;
    }
    store_set_blobs(store, api->blobs);
    store_set_fact_cache(store, api->fact_cache);
    *ret = store;
    return FZ_OK;
}

enum fz_code
api_store_get(struct api *api, struct store **ret, struct fz_error *err)
{
    struct store *store = NULL;
    /* Opening costs more than most queries, and on PostgreSQL a process. */
    pthread_mutex_lock(&api->pool_lock);
    if (api->n_pool > 0)
        store = api->pool[--api->n_pool];
    pthread_mutex_unlock(&api->pool_lock);
    if (store) {
        *ret = store;
        return FZ_OK;
    }
    return api_store_open(api, api->config.database_url, ret, err);
}

void
api_store_put(struct api *api, struct store *store)
{
    if (!store)
        return;
    store_limit_time(store, 0);
    pthread_mutex_lock(&api->pool_lock);
    /* A burst opens many connections; only so many are worth keeping. */
    bool kept = api->n_pool < API_POOL_MAX;
    if (kept)
        api->pool[api->n_pool++] = store;
    pthread_mutex_unlock(&api->pool_lock);
    /* Closed outside of the lock: on PostgreSQL that sends a message. */
    if (!kept)
        store_close(store);
}
