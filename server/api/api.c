#include "server/api/api.h"

#include <stdlib.h>
#include <string.h>

#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_usage.h"
#include "server/api/api_watch.h"

static const struct api_route own_rows[] = {
    {.method = "POST",
     .pattern = "/api/v1/reports",
     .body = API_BODY_REPORT,
     .scope = STORE_SCOPE_INGEST,
     .takes = API_TAKES_REPORTS,
     .name = "report_post",
     .handle = api_report_post},
    {.method = "GET",
     .pattern = "/api/v1/reports",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "report_list",
     .handle = api_report_list},
    {.method = "GET",
     .pattern = "/api/v1/reports/{id}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "report_get",
     .handle = api_report_get},
    {.method = "POST",
     .pattern = "/api/v1/reports/{id}/reprocess",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_ADMIN,
     .name = "report_reprocess",
     .handle = api_report_reprocess},
    {.method = "DELETE",
     .pattern = "/api/v1/reports/{id}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_ADMIN,
     .name = "report_delete",
     .handle = api_report_delete},
    {.method = "GET",
     .pattern = "/api/v1/reports/{id}/attachments/{n}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "attachment_get",
     .handle = api_attachment_get},
    {.method = "GET",
     .pattern = "/api/v1/sessions",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "session_list",
     .handle = api_session_list},
    {.method = "POST",
     .pattern = "/api/v1/symbols",
     .body = API_BODY_SYMBOLS,
     .scope = STORE_SCOPE_UPLOAD,
     .takes = API_TAKES_SYMBOLS,
     .name = "symbol_post",
     .handle = api_symbol_post},
    {.method = "GET",
     .pattern = "/api/v1/symbols",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "symbol_list",
     .handle = api_symbol_list},
    {.method = "POST",
     .pattern = "/api/v1/symbols/known",
     .body = API_BODY_JSON,
     .scope = STORE_SCOPE_UPLOAD,
     .name = "symbol_known",
     .handle = api_symbol_known},
    {.method = "GET",
     .pattern = "/api/v1/symbols/missing",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "symbol_missing",
     .handle = api_symbol_missing},
    {.method = "GET",
     .pattern = "/api/v1/symbols/{uuid}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "symbol_get",
     .handle = api_symbol_get},
    {.method = "DELETE",
     .pattern = "/api/v1/symbols/{uuid}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_ADMIN,
     .name = "symbol_delete",
     .handle = api_symbol_delete},
    {.method = "GET",
     .pattern = "/api/v1/uploads/{id}",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_UPLOAD,
     .name = "upload_get",
     .handle = api_upload_get},
    {.method = "POST",
     .pattern = "/api/v1/symbolicate",
     .body = API_BODY_REPORT,
     .scope = STORE_SCOPE_READ,
     .takes = API_TAKES_PASSING,
     .name = "symbolicate",
     .handle = api_symbolicate},
    {.method = "GET",
     .pattern = "/api/v1/project",
     .body = API_BODY_NONE,
     .scope = STORE_SCOPE_READ,
     .name = "project_get",
     .handle = api_project_get},
    {.method = "PUT",
     .pattern = "/api/v1/project",
     .body = API_BODY_JSON,
     .scope = STORE_SCOPE_ADMIN,
     .name = "project_put",
     .handle = api_project_put},
    {.method = "GET",
     .pattern = "/api/v1/openapi.json",
     .body = API_BODY_NONE,
     .scope = 0,
     .name = "openapi",
     .handle = api_openapi,
     .flags = HTTP_ROUTE_QUICK},
    {.method = "GET",
     .pattern = "/",
     .body = API_BODY_NONE,
     .scope = 0,
     .name = "page",
     .handle = api_page},
    {.method = "GET",
     .pattern = "/healthz",
     .body = API_BODY_NONE,
     .scope = 0,
     .name = "healthz",
     .handle = api_healthz,
     .flags = HTTP_ROUTE_QUICK},
    {.method = "GET",
     .pattern = "/readyz",
     .body = API_BODY_NONE,
     .scope = 0,
     .name = "readyz",
     .handle = api_readyz},
    {.method = "GET",
     .pattern = "/metrics",
     .body = API_BODY_NONE,
     .scope = 0,
     .name = "metrics",
     .handle = api_metrics},
};
enum { CHUNK_FORM_BYTES = 1024 * 1024 };

static const struct api_routes own_routes = {own_rows, FZ_ARRAY_LEN(own_rows)};

/* The bodies a route takes; which limits they have is known at run time. */
static void
set_body(struct http_route *route, enum api_body body, const struct limits *limits)
{
    switch (body) {
    case API_BODY_NONE:
        break;
    case API_BODY_REPORT:
        route->body = HTTP_BODY_MEMORY;
        route->max_bytes = limits->report_bytes;
        route->max_inflated_bytes = limits->report_inflated_bytes;
        route->max_body_s = limits->body_s;
        break;
    case API_BODY_ENVELOPE:
        route->body = HTTP_BODY_MEMORY;
        route->max_bytes = limits->envelope_bytes;
        route->max_inflated_bytes = limits->envelope_inflated_bytes;
        route->max_body_s = limits->body_s;
        break;
    case API_BODY_SYMBOLS: /* hours on a slow line are fine as long as bytes come */
        route->body = HTTP_BODY_FILE;
        route->max_bytes = route->max_inflated_bytes = limits->symbol_bytes;
        break;
    case API_BODY_CHUNKS: /* what does not compress grows a little, and each part has a header */
        route->body = HTTP_BODY_FILE;
        route->max_bytes = limits->chunk_request_bytes;
        route->max_bytes += route->max_bytes / 16 + CHUNK_FORM_BYTES;
        route->max_inflated_bytes = route->max_bytes;
        break;
    case API_BODY_JSON:
        route->body = HTTP_BODY_MEMORY;
        route->max_bytes = route->max_inflated_bytes = limits->json_bytes;
        route->max_body_s = limits->body_s;
        break;
    }
}

/* Who may read the answers from a page of another origin, and which answers stay the same. */
static unsigned
route_flags(const struct api_route *row)
{
    unsigned flags = row->flags;
    bool is_own = strncmp(row->pattern, "/api/v1/", strlen("/api/v1/")) == 0;
    if (row->scope == STORE_SCOPE_INGEST)
        flags |= HTTP_ROUTE_CORS;
    else if (is_own)
        flags |= HTTP_ROUTE_ORIGINS;
    if (is_own && strcmp(row->method, "GET") == 0)
        flags |= HTTP_ROUTE_ETAG;
    return flags;
}

static void
add_routes(struct api *api, const struct api_routes *routes)
{
    for (size_t i = 0; i < routes->n && api->n_routes < API_ROUTES_MAX; i++) {
        const struct api_route *row = &routes->rows[i];
        struct http_route *route = &api->routes[api->n_routes++];
        *route = (struct http_route){
            .method = row->method,
            .pattern = row->pattern,
            .scope = row->scope,
            .name = row->name,
            .handle = row->handle,
            .flags = route_flags(row),
            .write_error = row->write_error,
            .user = row,
        };
        set_body(route, row->body, api->config.limits);
    }
}

static void
make_routes(struct api *api)
{
    add_routes(api, &own_routes);
    for (size_t i = 0; i < api->config.n_clients; i++)
        add_routes(api, api->config.clients[i]);
    api_add_preflights(api);
}

enum fz_code
api_create(const struct api_config *config, struct api **ret, struct fz_error *err)
{
    FZ_CLEANUP(api_destroyp) struct api *api = calloc(1, sizeof(*api));
    if (!api)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    api->config = *config;
    pthread_mutex_init(&api->pool_lock, NULL);
    pthread_mutex_init(&api->counts.lock, NULL);
    api_gate_init(&api->gate);
    make_routes(api);
    enum fz_code code = blob_open(config->blobs_url, &api->blobs, err);
    if (code == FZ_OK)
        code = store_committer_start(config->database_url, &api->committer, err);
    if (code == FZ_OK)
        code = api_auth_create(config->limits->auth_failures, &api->auth, err);
    if (code == FZ_OK)
        code = api_tokens_start(config->database_url, &api->tokens, err);
    if (code == FZ_OK)
        code = api_rate_create(config->limits->events_per_minute, &api->rate, err);
    if (code == FZ_OK)
        code = api_rate_create(config->limits->events_per_minute_address, &api->address_rate, err);
    if (code == FZ_OK)
        code = api_usage_start(api, &api->usage, err);
    if (code == FZ_OK)
        code = api_watcher_start(api, &api->watcher, err);
    if (code == FZ_OK)
        *ret = fz_take(&api);
    return code;
}

void
api_destroy(struct api *api)
{
    if (!api)
        return;
    if (api->committer)
        store_committer_stop(api->committer);
    api_watcher_stop(api->watcher);
    api_tokens_stop(api->tokens);
    api_auth_destroy(api->auth);
    api_usage_stop(api->usage);
    api_rate_destroy(api->rate);
    api_rate_destroy(api->address_rate);
    for (size_t i = 0; i < api->n_pool; i++)
        store_close(api->pool[i]);
    if (api->blobs)
        blob_close(api->blobs);
    pthread_mutex_destroy(&api->pool_lock);
    pthread_mutex_destroy(&api->counts.lock);
    api_gate_deinit(&api->gate);
    free(api);
}

void
api_destroyp(struct api **api)
{
    api_destroy(*api);
}

const struct http_route *
api_routes(const struct api *api, size_t *ret_n)
{
    *ret_n = api->n_routes;
    return api->routes;
}

void
api_stop_waiting(struct api *api)
{
    api_watcher_hurry(api->watcher);
}

bool
api_is_stuck(void *app)
{
    struct api *api = app;
    return api_tokens_is_stuck(api->tokens);
}
