/* Who may come in: the token of a request, and what it allows in the project that is asked for. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/api/api_private.h"

/* Where our own clients put their token. */
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

/* A project by its name or its number. */
static enum fz_code
find_project(struct store *store, const char *name, struct fz_arena *arena,
             struct store_project *ret, struct fz_error *err)
{
    uint64_t number;
    enum fz_code code = store_project_find(store, name, arena, ret, err);
    if (code != FZ_E_NOT_FOUND && code != FZ_E_MALFORMED)
        return code;
    if (!fz_text_u64(fz_span_cstr(name), &number) || number > INT64_MAX)
        return code;
    return store_project_by_id(store, (int64_t)number, arena, ret, err);
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
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    struct store_project project;
    const char *name = project_name ? project_name : "default";
    code = find_project(store, name, &arena, &project, err);
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

/* The project that a request is about, by its name or number; NULL: the token's own. */
static const char *
asked_project(const struct http_request *request)
{
    const char *project = http_param(request, "project");
    return project ? project : http_query(request, "project");
}

static enum fz_code
check_token(struct api *api, struct http_request *request, const char *token,
            struct api_grant *grant, int *ret_status, struct fz_error *err)
{
    const char *ip = http_client_ip(request), *project = asked_project(request);
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
api_authorize_token(struct api *api, struct http_request *request, const char *token,
                    unsigned scope, struct api_grant *ret, int *ret_status, struct fz_error *err)
{
    struct api_grant grant = {0};
    if (!token || !*token)
        return deny(401, ret_status, err, "a token is needed: Authorization: Bearer TOKEN");
    enum fz_code code = check_token(api, request, token, &grant, ret_status, err);
    if (code)
        return code;
    if (!(grant.scopes & (scope | STORE_SCOPE_ADMIN))) {
        char text[96];
        snprintf(text, sizeof(text), "this token lacks the scope '%s'", scope_name(scope));
        return deny(403, ret_status, err, text);
    }
    *ret = grant;
    return FZ_OK;
}

enum fz_code
api_find_project(struct api_call *call, const char *name, int64_t *ret, struct fz_error *err)
{
    struct store_project project;
    int64_t own = 0;
    enum fz_code code = store_token_project(call->store, http_token_id(call->request), &own, err);
    if (code)
        return code;
    code = find_project(call->store, name, call->arena, &project, err);
    if (code == FZ_E_NOT_FOUND || code == FZ_E_MALFORMED ||
        (!code && own != 0 && own != project.id))
        return fz_fail(err, FZ_E_NOT_FOUND, "no project '%.64s'", name);
    if (!code)
        *ret = project.id;
    return code;
}

enum fz_code
api_authorize(void *app, struct http_request *request, unsigned scope, int64_t *ret_project_id,
              int64_t *ret_token_id, int *ret_status, struct fz_error *err)
{
    const struct api_route *route = http_route_user(request);
    char room[API_TOKEN_ROOM];
    const char *token = route && route->find_token ? route->find_token(request, room) : NULL;
    if (!token)
        token = find_token(request, scope);
    if (!token && route && route->token_may_come_late) {
        http_limit_body(request, ((struct api *)app)->config.limits->late_token_bytes);
        *ret_project_id = *ret_token_id = 0;
        return FZ_OK;
    }
    struct api_grant grant;
    enum fz_code code = api_authorize_token(app, request, token, scope, &grant, ret_status, err);
    if (code)
        return code;
    *ret_project_id = grant.project_id;
    *ret_token_id = grant.token_id;
    return FZ_OK;
}
