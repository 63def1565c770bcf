#include "server/api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/api/api_private.h"
#include "server/api/api_watch.h"

/* The bodies a route takes; which limits they have is known at run time. */
enum body { NO_BODY, REPORT_BODY, SYMBOL_BODY, JSON_BODY };

static const struct {
    const char *method, *pattern;
    enum body body;
    unsigned scope;
    const char *name;
    http_handler_fn handle;
} table[] = {
    {"POST", "/api/v1/reports", REPORT_BODY, STORE_SCOPE_INGEST, "report_post", api_report_post},
    {"GET", "/api/v1/reports", NO_BODY, STORE_SCOPE_READ, "report_list", api_report_list},
    {"GET", "/api/v1/reports/{id}", NO_BODY, STORE_SCOPE_READ, "report_get", api_report_get},
    {"POST", "/api/v1/reports/{id}/reprocess", NO_BODY, STORE_SCOPE_ADMIN, "report_reprocess",
     api_report_reprocess},
    {"DELETE", "/api/v1/reports/{id}", NO_BODY, STORE_SCOPE_ADMIN, "report_delete",
     api_report_delete},
    {"POST", "/api/v1/symbols", SYMBOL_BODY, STORE_SCOPE_UPLOAD, "symbol_post", api_symbol_post},
    {"GET", "/api/v1/symbols", NO_BODY, STORE_SCOPE_READ, "symbol_list", api_symbol_list},
    {"POST", "/api/v1/symbols/known", JSON_BODY, STORE_SCOPE_UPLOAD, "symbol_known",
     api_symbol_known},
    {"GET", "/api/v1/symbols/missing", NO_BODY, STORE_SCOPE_READ, "symbol_missing",
     api_symbol_missing},
    {"GET", "/api/v1/symbols/{uuid}", NO_BODY, STORE_SCOPE_READ, "symbol_get", api_symbol_get},
    {"DELETE", "/api/v1/symbols/{uuid}", NO_BODY, STORE_SCOPE_ADMIN, "symbol_delete",
     api_symbol_delete},
    {"GET", "/api/v1/uploads/{id}", NO_BODY, STORE_SCOPE_UPLOAD, "upload_get", api_upload_get},
    {"POST", "/api/v1/symbolicate", REPORT_BODY, STORE_SCOPE_READ, "symbolicate", api_symbolicate},
    {"GET", "/api/v1/openapi.json", NO_BODY, 0, "openapi", api_openapi},
    {"GET", "/healthz", NO_BODY, 0, "healthz", api_healthz},
    {"GET", "/readyz", NO_BODY, 0, "readyz", api_readyz},
    {"GET", "/metrics", NO_BODY, 0, "metrics", api_metrics},
};

static void
make_routes(struct api *api)
{
    const struct limits *limits = api->config.limits;
    for (size_t i = 0; i < FZ_ARRAY_LEN(table) && i < API_ROUTES_MAX; i++) {
        struct http_route *route = &api->routes[i];
        *route = (struct http_route){
            .method = table[i].method,
            .pattern = table[i].pattern,
            .scope = table[i].scope,
            .name = table[i].name,
            .handle = table[i].handle,
        };
        switch (table[i].body) {
        case NO_BODY:
            break;
        case REPORT_BODY:
            route->body = HTTP_BODY_MEMORY;
            route->max_bytes = limits->report_bytes;
            route->max_inflated_bytes = limits->report_inflated_bytes;
            route->max_body_s = limits->body_s;
            break;
        case SYMBOL_BODY: /* hours on a slow line are fine as long as bytes come */
            route->body = HTTP_BODY_FILE;
            route->max_bytes = route->max_inflated_bytes = limits->symbol_bytes;
            break;
        case JSON_BODY:
            route->body = HTTP_BODY_MEMORY;
            route->max_bytes = route->max_inflated_bytes = limits->json_bytes;
            route->max_body_s = limits->body_s;
            break;
        }
        api->n_routes = i + 1;
    }
}

enum fz_code
api_create(const struct api_config *config, struct api **ret, struct fz_error *err)
{
    struct api *api FZ_CLEANUP(api_destroyp) = calloc(1, sizeof(*api));
    if (!api)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    api->config = *config;
    pthread_mutex_init(&api->pool_lock, NULL);
    make_routes(api);
    enum fz_code code = blob_open(config->blobs_url, &api->blobs, err);
    if (!code)
        code = store_committer_start(config->database_url, &api->committer, err);
    if (!code)
        code = api_auth_create(config->limits->auth_failures, &api->auth, err);
    if (!code)
        code = api_watcher_start(api, &api->watcher, err);
    if (!code)
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
    api_auth_destroy(api->auth);
    for (size_t i = 0; i < api->n_pool; i++)
        store_close(api->pool[i]);
    if (api->blobs)
        blob_close(api->blobs);
    pthread_mutex_destroy(&api->pool_lock);
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

/* ---- connections ------------------------------------------------------------------------- */

enum fz_code
api_store_get(struct api *api, struct store **ret, struct fz_error *err)
{
    struct store *store = NULL;
    pthread_mutex_lock(&api->pool_lock);
    if (api->n_pool > 0)
        store = api->pool[--api->n_pool];
    pthread_mutex_unlock(&api->pool_lock);
    if (store) {
        *ret = store;
        return FZ_OK;
    }
    return store_open(api->config.database_url, ret, err);
}

void
api_store_put(struct api *api, struct store *store)
{
    if (!store)
        return;
    pthread_mutex_lock(&api->pool_lock);
    bool kept = api->n_pool < API_POOL_MAX;
    if (kept)
        api->pool[api->n_pool++] = store;
    pthread_mutex_unlock(&api->pool_lock);
    if (!kept)
        store_close(store);
}

/* ---- who may come in --------------------------------------------------------------------- */

/* The token of a request in `ret`, hashed with the project it asks for; false if there is none. */
static const char *
find_token(const struct http_request *request, unsigned scope)
{
    const char *header = http_header(request, "Authorization"), *token = NULL;
    if (header && strncmp(header, "Bearer ", 7) == 0)
        token = header + 7;
    if (!token)
        token = http_header(request, "X-Framezero-Key");
    /* A query string ends up in other people's logs: only keys that are public anyway go there. */
    if (!token && scope == STORE_SCOPE_INGEST)
        token = http_query(request, "key");
    return token;
}

static void
cache_key(const char *token, const char *project, char ret[FZ_SHA256_TEXT])
{
    char text[512];
    int n = snprintf(text, sizeof(text), "%.300s\n%.200s", token, project ? project : "");
    fz_sha256_hex(fz_span_make(text, (size_t)n), ret);
}

/* Ask the database what the token allows in the project that the request names. */
static enum fz_code
ask_store(struct store *store, const char *token, const char *project_name, struct api_grant *ret,
          struct fz_error *err)
{
    struct store_token found;
    enum fz_code code = store_token_check(store, token, &found, err);
    if (code)
        return code;
    ret->token_id = found.id;
    ret->scopes = found.scopes;
    ret->project_id = found.project_id;
    if (found.project_id != 0 && !project_name)
        return FZ_OK;
    struct fz_arena arena FZ_CLEANUP(fz_arena_deinit);
    fz_arena_init(&arena, 64 * 1024);
    struct store_project project;
    const char *name = project_name ? project_name : "default";
    code = store_project_find(store, name, &arena, &project, err);
    /* A project that is not this token's looks like one that does not exist. */
    if (code == FZ_E_NOT_FOUND || code == FZ_E_MALFORMED ||
        (!code && found.project_id != 0 && found.project_id != project.id))
        return fz_fail(err, FZ_E_NOT_FOUND, "no project '%.64s'", name);
    if (!code)
        ret->project_id = project.id;
    return code;
}

static enum fz_code
deny(int status, int *ret_status, struct fz_error *err, const char *text)
{
    *ret_status = status;
    return fz_fail(err, FZ_E_DENIED, "%s", text);
}

static enum fz_code
check_token(struct api *api, struct http_request *request, const char *token,
            struct api_grant *grant, int *ret_status, struct fz_error *err)
{
    const char *ip = http_client_ip(request), *project = http_query(request, "project");
    int64_t now_ms = fz_time_monotonic_ms();
    char key[FZ_SHA256_TEXT];
    cache_key(token, project, key);
    enum api_auth_found found = api_auth_find(api->auth, key, now_ms, grant);
    if (found == API_AUTH_FRESH)
        return FZ_OK;
    unsigned wait_s = api_auth_braked_s(api->auth, ip, now_ms);
    if (found == API_AUTH_UNKNOWN && wait_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof(seconds), "%u", wait_s);
        http_add_header(request, "Retry-After", seconds);
        *ret_status = 429;
        return fz_fail(err, FZ_E_LIMIT,
                       "too many wrong tokens from %s: at most %u a minute; try again in %u s", ip,
                       api->config.limits->auth_failures, wait_s);
    }
    struct store *store = NULL;
    enum fz_code code = api_store_get(api, &store, err);
    if (!code)
        code = ask_store(store, token, project, grant, err);
    api_store_put(api, store);
    if (code == FZ_E_DENIED) {
        api_auth_forget(api->auth, key);
        api_auth_failed(api->auth, ip, now_ms);
        return deny(401, ret_status, err, "the token is unknown or was revoked");
    }
    if (code) {
        *ret_status = fz_code_http_status(code);
        return code;
    }
    api_auth_remember(api->auth, key, now_ms, grant);
    return FZ_OK;
}

static const char *
scope_name(unsigned scope)
{
    return scope == STORE_SCOPE_INGEST   ? "ingest"
           : scope == STORE_SCOPE_UPLOAD ? "upload"
           : scope == STORE_SCOPE_READ   ? "read"
                                         : "admin";
}

enum fz_code
api_authorize(void *app, struct http_request *request, unsigned scope, int64_t *ret_project_id,
              int64_t *ret_token_id, int *ret_status, struct fz_error *err)
{
    struct api *api = app;
    const char *token = find_token(request, scope);
    if (!token || !*token)
        return deny(401, ret_status, err, "a token is needed: Authorization: Bearer TOKEN");
    struct api_grant grant = {0};
    enum fz_code code = check_token(api, request, token, &grant, ret_status, err);
    if (code)
        return code;
    if (!(grant.scopes & (scope | STORE_SCOPE_ADMIN))) {
        char text[96];
        snprintf(text, sizeof(text), "this token lacks the scope '%s'", scope_name(scope));
        return deny(403, ret_status, err, text);
    }
    *ret_project_id = grant.project_id;
    *ret_token_id = grant.token_id;
    return FZ_OK;
}
