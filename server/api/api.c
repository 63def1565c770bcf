#include "server/api/api.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/api_audit.h"
#include "server/api/api_events.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_replica.h"
#include "server/api/api_usage.h"
#include "server/api/api_watch.h"

/* Why a route sees the rows of all projects. */
static const char projects[] = "projects themselves are in no project",
                  tokens[] = "tokens are of several projects";

/* clang-format off */
static const struct api_route own_rows[] = {
    {"POST", "/api/v1/reports", "report_post", .scope = STORE_SCOPE_INGEST, .body = API_BODY_REPORT, .handle = api_report_post},
    {"GET", "/api/v1/reports", "report_list", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_report_list},
    {"GET", "/api/v1/reports/{id}", "report_get", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_report_get, .query = "format, rebuild, variables"},
    {"POST", "/api/v1/reports/{id}/reprocess", "report_reprocess", .scope = STORE_SCOPE_ADMIN, .run = api_report_reprocess},
    {"DELETE", "/api/v1/reports/{id}", "report_delete", .scope = STORE_SCOPE_ADMIN, .run = api_report_delete},
    {"GET", "/api/v1/reports/{id}/attachments/{n}", "attachment_get", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_attachment_get, .query = ""},
    {"GET", "/api/v1/issues", "issue_list", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_issue_list},
    {"GET", "/api/v1/issues/{number}", "issue_get", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_issue_get},
    {"GET", "/api/v1/issues/{number}/reports", "issue_reports", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_issue_reports},
    {"GET", "/api/v1/issues/{number}/variants", "issue_variants", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_issue_variants},
    {"GET", "/api/v1/issues/{number}/similar", "issue_similar", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_issue_similar, .query = "limit"},
    {"GET", "/api/v1/events", "events_get", .scope = STORE_SCOPE_READ, .run = api_events_get, .query = "seconds"},
    {"GET", "/api/v1/values", "value_list", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_value_list, .query = "field, prefix, limit"},
    {"GET", "/api/v1/query/complete", "query_complete", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_query_complete, .query = "text, at"},
    {"GET", "/api/v1/sessions", "session_list", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_session_list, .query = "limit, since, until, release"},
    {"GET", "/api/v1/versions", "version_list", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_version_list, .query = "since, until, environment, limit, parts"},
    {"GET", "/api/v1/export/reports", "export_reports", .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_export_reports},
    {"GET", "/api/v1/export/issues", "export_issues", .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_export_issues},
    {"GET", "/api/v1/export/versions", "export_versions", .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_export_versions, .query = "since, until, environment, limit"},
    {"POST", "/api/v1/symbols", "symbol_post", .scope = STORE_SCOPE_UPLOAD, .body = API_BODY_SYMBOLS, .run = api_symbol_post, .query = "name"},
    {"GET", "/api/v1/symbols", "symbol_list", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_symbol_list, .query = "limit, cursor"},
    {"POST", "/api/v1/symbols/known", "symbol_known", .scope = STORE_SCOPE_UPLOAD, .body = API_BODY_JSON, .run = api_symbol_known, .query = ""},
    {"GET", "/api/v1/symbols/missing", "symbol_missing", .reads_replica = true, .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_READ, .run = api_symbol_missing, .query = "limit"},
    {"GET", "/api/v1/symbols/{uuid}", "symbol_get", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_symbol_get, .query = "limit, cursor"},
    {"DELETE", "/api/v1/symbols/{uuid}", "symbol_delete", .scope = STORE_SCOPE_ADMIN, .run = api_symbol_delete},
    {"GET", "/api/v1/uploads", "upload_list", .scope = STORE_SCOPE_UPLOAD, .run = api_upload_list, .query = "status, limit, cursor"},
    {"POST", "/api/v1/uploads/{id}/reprocess", "upload_reprocess", .scope = STORE_SCOPE_UPLOAD, .run = api_upload_reprocess, .query = ""},
    {"GET", "/api/v1/uploads/{id}", "upload_get", .scope = STORE_SCOPE_UPLOAD, .run = api_upload_get, .query = ""},
    {"PATCH", "/api/v1/issues/{number}", "issue_patch", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_issue_patch, .query = ""},
    {"GET", "/api/v1/issues/{number}/activity", "issue_activity", .reads_replica = true, .scope = STORE_SCOPE_READ, .run = api_issue_activity, .query = "limit, cursor"},
    {"POST", "/api/v1/issues/{number}/comments", "issue_comment", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_issue_comment, .query = ""},
    {"POST", "/api/v1/issues/{number}/merge", "issue_merge", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_issue_merge, .query = ""},
    {"POST", "/api/v1/issues/{number}/split", "issue_split", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_issue_split, .query = ""},
    {"GET", "/api/v1/grouping", "grouping_get", .scope = STORE_SCOPE_READ, .run = api_grouping_get, .query = ""},
    {"PUT", "/api/v1/grouping", "grouping_put", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_grouping_put, .query = ""},
    {"POST", "/api/v1/grouping/dry-run", "grouping_try", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_grouping_try, .query = ""},
    {"POST", "/api/v1/grouping/undo", "grouping_undo", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_grouping_undo, .query = ""},
    {"POST", "/api/v1/symbolicate", "symbolicate", .scope = STORE_SCOPE_READ, .body = API_BODY_REPORT, .takes = API_TAKES_PASSING, .handle = api_symbolicate},
    {"GET", "/api/v1/project", "project_get", .scope = STORE_SCOPE_READ, .run = api_project_get, .query = ""},
    {"PUT", "/api/v1/project", "project_put", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_project_put, .query = ""},
    {"GET", "/api/v1/people/{person}", "person_get", .scope = STORE_SCOPE_ADMIN, .run = api_person_get, .query = ""},
    {"DELETE", "/api/v1/people/{person}", "person_delete", .scope = STORE_SCOPE_ADMIN, .run = api_person_delete, .query = ""},
    {"GET", "/api/v1/people/{person}/export", "person_export", .scope = STORE_SCOPE_ADMIN, .run = api_person_export, .query = "limit, cursor"},
    {"GET", "/api/v1/erasures/{id}", "erasure_get", .scope = STORE_SCOPE_ADMIN, .run = api_erasure_get, .query = ""},
    {"GET", "/api/v1/audit", "audit_list", .scope = STORE_SCOPE_ADMIN, .run = api_audit_list, .query = "action, actor, since, until, limit, cursor"},
    {"POST", "/api/v1/scrubbing/preview", "scrubbing_preview", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_scrub_preview, .query = ""},
    {"GET", "/api/v1/project/retention", "retention_get", .flags = HTTP_ROUTE_SEARCH, .scope = STORE_SCOPE_ADMIN, .run = api_retention_get, .query = "keep_reports_days, keep_reports, keep_samples, keep_bodies_days, keep_symbols_days, keep_bytes"},
    {"POST", "/api/v1/project/retention/confirm", "retention_confirm", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_retention_confirm, .query = ""},
    {"GET", "/api/v1/filters", "filter_list", .scope = STORE_SCOPE_READ, .run = api_filter_list, .query = ""},
    {"POST", "/api/v1/filters", "filter_post", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_filter_post, .query = ""},
    {"PATCH", "/api/v1/filters/{id}", "filter_patch", .scope = STORE_SCOPE_WRITE, .body = API_BODY_JSON, .run = api_filter_patch, .query = ""},
    {"DELETE", "/api/v1/filters/{id}", "filter_delete", .scope = STORE_SCOPE_WRITE, .run = api_filter_delete, .query = ""},
    {"GET", "/api/v1/projects", "project_list", .sees_all = projects, .scope = STORE_SCOPE_READ, .run = api_access_projects, .query = ""},
    {"POST", "/api/v1/projects", "project_post", .sees_all = projects, .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_access_project_add, .query = ""},
    {"GET", "/api/v1/tokens", "token_list", .sees_all = tokens, .scope = STORE_SCOPE_ADMIN, .run = api_access_tokens, .query = ""},
    {"POST", "/api/v1/tokens", "token_post", .sees_all = tokens, .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_access_token_add, .query = ""},
    {"DELETE", "/api/v1/tokens/{id}", "token_revoke", .sees_all = tokens, .scope = STORE_SCOPE_ADMIN, .run = api_access_token_revoke, .query = ""},
    {"GET", "/api/v1/channels", "channel_list", .scope = STORE_SCOPE_ADMIN, .run = api_channel_list, .query = ""},
    {"POST", "/api/v1/channels", "channel_post", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_channel_post, .query = ""},
    {"PATCH", "/api/v1/channels/{id}", "channel_patch", .scope = STORE_SCOPE_ADMIN, .body = API_BODY_JSON, .run = api_channel_patch, .query = ""},
    {"DELETE", "/api/v1/channels/{id}", "channel_delete", .scope = STORE_SCOPE_ADMIN, .run = api_channel_delete, .query = ""},
    {"POST", "/api/v1/channels/{id}/rotate", "channel_rotate", .scope = STORE_SCOPE_ADMIN, .run = api_channel_rotate, .query = ""},
    {"POST", "/api/v1/channels/{id}/test", "channel_test", .scope = STORE_SCOPE_ADMIN, .run = api_channel_test, .query = ""},
    {"GET", "/api/v1/channels/{id}/deliveries", "delivery_list", .scope = STORE_SCOPE_ADMIN, .run = api_delivery_list, .query = "limit, cursor"},
    {"POST", "/api/v1/channels/{id}/deliveries/{delivery}/resend", "delivery_resend", .scope = STORE_SCOPE_ADMIN, .run = api_delivery_resend, .query = ""},
    {"GET", "/api/v1/openapi.json", "openapi", .flags = HTTP_ROUTE_QUICK, .handle = api_openapi},
    {"GET", "/healthz", "healthz", .flags = HTTP_ROUTE_QUICK, .handle = api_healthz},
    {"GET", "/readyz", "readyz", .handle = api_readyz},
    {"GET", "/metrics", "metrics", .handle = api_metrics},
};
/* clang-format on */

enum { CHUNK_FORM_BYTES = 1024 * 1024, LOGIN_BYTES = 8 * 1024 };

static const struct api_routes own_routes = {own_rows, FZ_ARRAY_LEN(own_rows), {0}};

/* The body that a route takes; its limits are part of the configuration. */
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
    case API_BODY_SYMBOLS: /* hours on a slow line are allowed as long as bytes arrive */
        route->body = HTTP_BODY_FILE;
        route->max_bytes = route->max_inflated_bytes = limits->symbol_bytes;
        break;
    case API_BODY_CHUNKS: /* incompressible data grows a little, and each part has a header */
        route->body = HTTP_BODY_FILE;
        route->max_bytes = limits->chunk_request_bytes;
        route->max_bytes += route->max_bytes / 16 + CHUNK_FORM_BYTES;
        route->max_inflated_bytes = route->max_bytes;
        break;
    case API_BODY_LOGIN:
        route->body = HTTP_BODY_MEMORY;
        route->max_bytes = route->max_inflated_bytes = LOGIN_BYTES;
        route->max_body_s = limits->body_s;
        break;
    case API_BODY_JSON:
        route->body = HTTP_BODY_MEMORY;
        route->max_bytes = route->max_inflated_bytes = limits->json_bytes;
        route->max_body_s = limits->body_s;
        break;
    }
}

/* Which origins' pages may read the answers, and which answers carry an ETag. */
static unsigned
route_flags(const struct api_route *row)
{
    unsigned flags = row->flags;
    bool is_own = strncmp(row->pattern, "/api/v1/", strlen("/api/v1/")) == 0;
    /* Ingest keys are public and SDKs run in pages of any origin. */
    if (row->scope == STORE_SCOPE_INGEST)
        flags |= HTTP_ROUTE_CORS;
    else if (is_own)
        flags |= HTTP_ROUTE_ORIGINS;
    /* These end in the committer. */
    if (row->takes != API_TAKES_NOTHING && row->takes != API_TAKES_SYMBOLS &&
        row->body != API_BODY_JSON)
        flags |= HTTP_ROUTE_QUEUES;
    /* For dashboards, which ask for the same lists again and again. */
    if (is_own && strcmp(row->method, "GET") == 0)
        flags |= HTTP_ROUTE_ETAG;
    return flags;
}

/* What a body of this kind counts as where the row does not say. */
static enum api_takes
takes_of(enum api_body body)
{
    switch (body) {
    case API_BODY_REPORT:
    case API_BODY_ENVELOPE:
        return API_TAKES_REPORTS;
    case API_BODY_SYMBOLS:
    case API_BODY_CHUNKS:
        return API_TAKES_SYMBOLS;
    case API_BODY_NONE:
    case API_BODY_JSON:
    case API_BODY_LOGIN:
        break;
    }
    return API_TAKES_NOTHING;
}

static struct api_route
with_defaults(const struct api_route *row, const struct api_route *defaults)
{
    struct api_route route = *row;
    route.scope = route.scope ? route.scope : defaults->scope;
    route.body = route.body ? route.body : defaults->body;
    route.takes = route.takes ? route.takes : takes_of(route.body);
    route.flags |= defaults->flags;
    /* Both together, since a default `run` must not win over a row's own `handle`. */
    if (!route.handle && !route.run) {
        route.handle = defaults->handle;
        route.run = defaults->run;
    }
    route.find_token = route.find_token ? route.find_token : defaults->find_token;
    route.write_error = route.write_error ? route.write_error : defaults->write_error;
    route.limited = route.limited ? route.limited : defaults->limited;
    route.sees_all = route.sees_all ? route.sees_all : defaults->sees_all;
    assert(!route.sees_all || !route.reads_replica);
    return route;
}

static enum fz_code
run_checked(struct api_call *call, struct fz_error *err)
{
    const struct api_route *route = api_route_of(call->request);
    /* A misspelt filter would otherwise list what the client did not ask for. */
    enum fz_code code = route->query ? api_check_query(call->request, route->query, err) : FZ_OK;
    struct store_audit entry;
    bool is_recorded = api_audit_wants(route);
    if (code == FZ_OK && is_recorded)
        code = api_audit_read(call, route, &entry, err);
    if (code == FZ_OK)
        code = route->run(call, err);
    if (code == FZ_OK && is_recorded)
        api_audit_store(call, &entry);
    return code;
}

static void
run_route(void *app, struct http_request *request)
{
    api_run(app, request, run_checked, NULL);
}

static void
add_routes(struct api *api, const struct api_routes *routes)
{
    for (size_t i = 0; i < routes->n && api->n_routes < API_ROUTES_MAX; i++) {
        struct api_route *row = &api->rows[api->n_routes];
        struct http_route *route = &api->routes[api->n_routes++];
        *row = with_defaults(&routes->rows[i], &routes->defaults);
        *route = (struct http_route){
            .method = row->method,
            .pattern = row->pattern,
            .scope = row->scope,
            .name = row->name,
            .handle = row->run ? run_route : row->handle,
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
    /* Last, since it reads the routes of all tables. */
    api_add_preflights(api);
}

enum fz_code
api_create(const struct api_config *config, struct api **ret, struct fz_error *err)
{
    FZ_CLEANUP(api_destroyp) struct api *api = calloc(1, sizeof(*api));
    if (!api)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    api->config = *config;
    /* First what api_destroy() ends unconditionally, since any step below may fail. */
    pthread_mutex_init(&api->pool_lock, NULL);
    pthread_mutex_init(&api->counts.lock, NULL);
    api_gate_init(&api->gate);
    make_routes(api);
    const struct store_web_limits sessions = {config->login->idle_ms, config->login->max_ms};
    enum fz_code code = blob_open(&config->blobs, &api->blobs, err);
    if (code == FZ_OK)
        code = store_fact_cache_create(config->limits->list_memory, &api->fact_cache, err);
    if (code == FZ_OK)
        code = store_committer_start(config->database_url, &api->committer, err);
    if (code == FZ_OK)
        code = children_intake_create(config->limits, config->metrics, &api->intake, err);
    if (code == FZ_OK)
        /* 0 means no limit there; here the first wrong token would be the last. */
        code = api_rate_create(config->limits->auth_failures ? config->limits->auth_failures : 1,
                               &api->wrong_tokens, err);
    if (code == FZ_OK)
        code = api_tokens_start(config->database_url, &sessions, &api->tokens, err);
    if (code == FZ_OK)
        code = api_rate_create(config->limits->events_per_minute, &api->rate, err);
    if (code == FZ_OK)
        code = api_rate_create(config->limits->events_per_minute_address, &api->address_rate, err);
    if (code == FZ_OK)
        code = api_usage_start(api, &api->usage, err);
    if (code == FZ_OK && config->replica_url && *config->replica_url)
        code = api_replica_start(api, &api->replica, err);
    if (code == FZ_OK)
        code = api_events_create(api, &api->events, err);
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
    children_intake_destroy(api->intake);
    /* The committer first: its callbacks use the watcher, tokens and usage. */
    if (api->committer)
        store_committer_stop(api->committer);
    api_watcher_stop(api->watcher);
    api_events_destroy(api->events);
    api_tokens_stop(api->tokens);
    api_rate_destroy(api->wrong_tokens);
    api_usage_stop(api->usage);
    api_rate_destroy(api->rate);
    api_rate_destroy(api->address_rate);
    api_replica_stop(api->replica);
    api_store_close_all(api);
    store_fact_cache_destroy(api->fact_cache);
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
    /* Reading the tokens is the one query that is always under way, so it shows first that the
     * database hangs. */
    return api_tokens_is_stuck(api->tokens);
}

void
api_changed(void *app, const struct http_request *request)
{
    struct api *api = app;
    api_replica_changed_by(api->replica, http_token_id(request));
}
