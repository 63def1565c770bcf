/* What every handler does alike: a connection and an arena, its query, its answer; from a replica where that is possible. */

#include <string.h>

#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_replica.h"
#include "server/api/api_session.h"
#include "storage/store_request.h"
#include "storage/store_row_security.h"

/* The session whose cookie the request carries, if its use is to be noted again; else 0. */
static int64_t
find_session(const struct api *api, const struct http_request *request)
{
    char cookie[API_COOKIE_ROOM];
    if (http_token_id(request) == 0 || !api_cookie(api, request, cookie))
        return 0;
    const struct api_set_session session = api_tokens_session(api->tokens, cookie);
    return fz_time_now_ms() - session.used_ms > STORE_WEB_TOUCH_MS ? session.id : 0;
}

/* After the answer, so that no request waits for it. */
static void
touch(struct api *api, int64_t session)
{
    struct store *store = NULL;
    if (api_store_get_all(api, &store, NULL) == FZ_OK)
        fz_ignore(store_web_session_touch(store, session, NULL)); /* the next request tries again */
    api_store_put(api, store);
}

void
api_limit_time(struct api_call *call)
{
    const struct api_route *route = api_route_of(call->request);
    /* A change is not cut off: its statements are small, and half of one is worth nothing. */
    if (route && strcmp(route->method, "GET") == 0)
        store_limit_time(call->store, (int64_t)call->api->config.limits->query_s * 1000);
}

/* False: the replica may not or could not be asked, and nothing has been answered. */
static bool
run_on_replica(struct api_call *call, api_work_fn work, enum fz_code *code, struct fz_error *err)
{
    struct api_replica *replica = call->api->replica;
    const struct api_route *route = api_route_of(call->request);
    struct store *store = NULL;
    if (replica && route && route->reads_replica)
        store = api_replica_get(replica, call->request);
    if (!store)
        return false;
    call->store = store;
    store_see_project(store, call->project_id);
    api_limit_time(call);
    *code = work(call, err);
    call->store = NULL;
    /* Only the replica is away, or has stopped a query that was in the way of what it has to apply. */
    bool failed = *code == FZ_E_UNAVAILABLE;
    if (*code == FZ_E_LIMIT && store_is_late(store))
        call->status = 503;
    api_replica_put(replica, store, failed);
    if (!failed)
        return true;
    api_gate_leave(call);
    fz_buffer_deinit(&call->out);
    call->out = fz_buffer_make(0);
    call->status = 0;
    call->detail = NULL;
    return false;
}

/* The one place where a request gets its connection, by its route and its project: a handler cannot forget to. */
static enum fz_code
get_store(struct api_call *call, struct fz_error *err)
{
    const struct api_route *route = api_route_of(call->request);
    return route && route->sees_all ? api_store_get_all(call->api, &call->store, err)
                                    : api_store_get(call->api, call->project_id, &call->store, err);
}

void
api_call_enter(struct api_call *call, int64_t project_id)
{
    call->project_id = project_id;
    store_see_project(call->store, project_id);
}

void
api_run(void *app, struct http_request *request, api_work_fn work, void *user)
{
    struct api *api = app;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(api->config.limits->report_memory);
    struct api_call call = {
        .api = api,
        .request = request,
        .arena = &arena,
        .out = fz_buffer_make(0),
        .project_id = http_project_id(request),
        .user = user,
    };
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    int64_t session = find_session(api, request); /* before it is answered, and gone */
    enum fz_code code = FZ_OK;
    if (!run_on_replica(&call, work, &code, &err)) {
        code = get_store(&call, &err);
        if (code == FZ_OK) {
            api_limit_time(&call);
            code = work(&call, &err);
        }
    }
    /* Not 413: the request is right, and the same may be fast another time. */
    if (code == FZ_E_LIMIT && !call.status && call.store && store_is_late(call.store))
        call.status = 503;
    api_store_put(api, call.store);
    /* The bodies are in the arena, which ends with this function. */
    api_gate_leave(&call);
    fz_buffer_deinit(&call.out);
    if (code != FZ_OK)
        http_respond_error_status(request, call.status ? call.status : fz_code_http_status(code),
                                  &err, call.detail);
    if (session)
        touch(api, session);
}

const struct api_route *
api_route_of(const struct http_request *request)
{
    return http_route_user(request);
}

bool
api_token_may(struct api *api, const struct http_request *request, unsigned scope)
{
    unsigned scopes =
        api_tokens_scopes(api->tokens, http_token_id(request), http_project_id(request));
    return (scopes & (scope | STORE_SCOPE_ADMIN)) != 0;
}

const struct limits *
api_limits(const struct api *api)
{
    return api->config.limits;
}

const char *
api_open_symbols_project(const struct api *api)
{
    const char *name = api->config.symbolicate_v5_project;
    return name && *name ? name : NULL;
}

struct web *
api_web(const struct api *api)
{
    return api->config.web;
}

struct blob_store *
api_blobs(const struct api *api)
{
    return api->blobs;
}

struct metrics *
api_metrics_of(const struct api *api)
{
    return api->config.metrics;
}
