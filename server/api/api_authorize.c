/* Authorisation: the token or the login of a request, and what it allows in the requested project. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"

/* How long a handler's thread waits for the tokens to be read. */
enum { READ_WAIT_MS = 1500, TOKEN_MAX = API_TOKEN_ROOM };

const char *
api_bearer(const struct http_request *request)
{
    const char *header = http_header(request, "Authorization");
    if (!header || strncasecmp(header, "Bearer ", 7) != 0) /* RFC 9110, 11.1: any case */
        return NULL;
    header += 7;
    return header + strspn(header, " ");
}

/* Where our own clients put their token. */
static const char *
find_token(const struct http_request *request, unsigned scope)
{
    const char *token = api_bearer(request);
    /* Some tools and proxies use Authorization for a login of their own. */
    if (!token)
        token = http_header(request, "X-Framezero-Key");
    /* Query strings end up in logs of proxies, so only ingest keys, which are public, may be there.
     */
    if (!token && scope == STORE_SCOPE_INGEST)
        token = http_query(request, "key");
    return token;
}

/* A project by its name or its number. */
static enum fz_code
find_project(struct store *store, const char *name, struct fz_arena *arena,
             struct store_project *ret, struct fz_error *err)
{
    uint64_t number;
    enum fz_code code = store_project_find(store, name, arena, ret, err);
    /* By its name first: a project may be named "42". */
    if (code != FZ_E_NOT_FOUND && code != FZ_E_MALFORMED)
        return code;
    if (!fz_text_u64(fz_span_cstr(name), &number) || number > INT64_MAX)
        return code;
    return store_project_by_id(store, (int64_t)number, arena, ret, err);
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
    /* The path wins: in a client's protocol the query has other meanings. */
    const char *project = http_param(request, "project");
    return project ? project : http_query(request, "project");
}

static const char *
scope_name(unsigned scope)
{
    return scope == STORE_SCOPE_INGEST      ? "ingest"
           : scope == STORE_SCOPE_UPLOAD    ? "upload"
           : scope == STORE_SCOPE_READ      ? "read"
           : scope == STORE_SCOPE_VARIABLES ? "variables"
           : scope == STORE_SCOPE_WRITE     ? "write"
                                            : "admin";
}

/* The token is not in the current set. */
static enum fz_code
refuse_unknown(struct api *api, struct http_request *request, int *ret_status, struct fz_error *err)
{
    const struct api_rate_key key = api_rate_of_client(request, 0);
    unsigned wait_s = api_rate_count(api->wrong_tokens, &key, fz_time_monotonic_ms());
    if (!wait_s)
        return deny(401, ret_status, err, "the token is unknown or was revoked");
    char seconds[16];
    snprintf(seconds, sizeof(seconds), "%u", wait_s);
    http_add_header(request, "Retry-After", seconds);
    *ret_status = 429;
    return fz_fail(err, FZ_E_LIMIT,
                   "too many wrong tokens from %s: at most %u a minute (limit auth_failures); try "
                   "again in %u s",
                   http_client_ip(request), api->config.limits->auth_failures, wait_s);
}

/* What is to be decided: may the request with this proof do what needs `scope`? */
struct question {
    struct api *api;
    struct http_request *request;
    struct api_proof proof;
    unsigned scope;
};

/* Has the proxy given the user another role since the page asked who is logged in? GET
 * /api/v1/session stores it. */
static bool
has_other_role(const struct question *q, int64_t sender)
{
    enum store_role role = STORE_ROLE_NONE;
    return api_proxy_role(q->api, q->request, &role) &&
           api_tokens_scopes(q->api->tokens, sender, 0) != store_role_scopes(role);
}

/* `is_final`: the set of tokens was read after the token came, so one that is not in it is unknown.
 */
static enum fz_code
decide(const struct question *q, bool is_final, struct api_grant *ret, int *ret_status,
       struct fz_error *err)
{
    struct api_grant grant = {0};
    enum fz_code code =
        api_tokens_find(q->api->tokens, &q->proof, asked_project(q->request), &grant, err);
    /* Only then is it counted as wrong: before, the token may be newer than the set. Sessions end
     * by themselves, so an unknown one is not an attack. */
    if (code == FZ_E_DENIED && is_final && q->proof.kind == API_PROOF_TOKEN)
        return refuse_unknown(q->api, q->request, ret_status, err);
    if (code != FZ_OK) {
        *ret_status = code == FZ_E_DENIED ? 401 : fz_code_http_status(code);
        return code;
    }
    if (q->proof.kind == API_PROOF_USER && has_other_role(q, grant.token_id))
        return deny(401, ret_status, err, "the groups of the user have changed: reload the page");
    /* An admin may do everything. */
    if (!(grant.scopes & (q->scope | STORE_SCOPE_ADMIN))) {
        char text[96];
        snprintf(text, sizeof(text), "this %s lacks the scope '%s'",
                 grant.token_id < 0 ? "user" : "token", scope_name(q->scope));
        return deny(403, ret_status, err, text);
    }
    *ret = grant;
    const struct api_route *route = api_route_of(q->request);
    return api_admit(q->api, q->request, ret, route ? route->takes : API_TAKES_NOTHING, ret_status,
                     err);
}

/* The cause may name the database's host, so only the log has it. */
static enum fz_code
fail_unread(struct fz_error *err)
{
    return fz_fail(err, FZ_E_UNAVAILABLE, "the database does not answer; try again");
}

/* By the set in memory. *ret_settled: reading the tokens again would not change the answer. */
static enum fz_code
decide_now(const struct question *q, struct api_grant *ret, bool *ret_settled, int *ret_status,
           struct fz_error *err)
{
    enum fz_code code = decide(q, false, ret, ret_status, err);
    *ret_settled = code == FZ_OK || code == FZ_E_LIMIT || *ret_status == 403;
    if (*ret_settled || !api_tokens_is_stuck(q->api->tokens))
        return code;
    /* While the database hangs, the set is old, so a refusal by it is not final. */
    *ret_settled = true;
    *ret_status = 503;
    return fail_unread(err);
}

static enum fz_code
need_token(const char *token, int *ret_status, struct fz_error *err)
{
    if (!token || !*token)
        return deny(401, ret_status, err, "a token is needed: Authorization: Bearer TOKEN");
    return FZ_OK;
}

enum fz_code
api_authorize_token(struct api *api, struct http_request *request, const char *token,
                    unsigned scope, struct api_grant *ret, int *ret_status, struct fz_error *err)
{
    enum fz_code code = need_token(token, ret_status, err);
    if (code != FZ_OK)
        return code;
    const struct question question = {api, request, {API_PROOF_TOKEN, token}, scope};
    bool is_settled;
    code = decide_now(&question, ret, &is_settled, ret_status, err);
    if (is_settled)
        return code;
    /* This is a handler's thread, which may wait. */
    if (api_tokens_read_now(api->tokens, READ_WAIT_MS, err) != FZ_OK) {
        *ret_status = 503;
        return fail_unread(err);
    }
    return decide(&question, true, ret, ret_status, err);
}

/* ---- on the HTTP thread, which must not wait ------------------------------------------------ */

struct pending {
    struct api_tokens_waiter waiter; /* the first member */
    struct question question;        /* about `text` below */
    char text[TOKEN_MAX];
};

static void
on_read(struct api_tokens_waiter *waiter, enum fz_code code, const struct fz_error *why)
{
    struct pending *pending = (struct pending *)waiter;
    /* A copy: all requests that wait share `why`. */
    struct fz_error err = *why;
    struct api_grant grant = {0};
    int status = 503;
    if (code != FZ_OK)
        code = fail_unread(&err);
    else
        code = decide(&pending->question, true, &grant, &status, &err);
    http_authorize_end(pending->question.request, code, status, grant.project_id, grant.token_id,
                       &err);
    free(pending);
}

/* Decide when the tokens have been read again. A client that has sent many wrong ones waits for the
 * next regular reading, so that it cannot keep the database busy. */
static enum fz_code
decide_later(const struct question *q, struct fz_error *err)
{
    const struct api_rate_key key = api_rate_of_client(q->request, 0);
    struct pending *pending = calloc(1, sizeof(*pending));
    if (!pending)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *pending = (struct pending){.waiter.done = on_read, .question = *q};
    snprintf(pending->text, sizeof(pending->text), "%s", q->proof.text);
    pending->question.proof.text = pending->text; /* that may be on the caller's stack */
    /* A new session is in the set before its browser knows of it (api_senders_changed()), unless
     * another server has made it. */
    bool hurry = q->proof.kind == API_PROOF_TOKEN &&
                 api_rate_wait_s(q->api->wrong_tokens, &key, fz_time_monotonic_ms()) == 0;
    /* Before the wait begins: `done` may run before api_tokens_wait() returns. */
    http_authorize_later(q->request);
    api_tokens_wait(q->api->tokens, hurry, &pending->waiter);
    return FZ_OK;
}

enum fz_code
api_find_project(struct api_call *call, const char *name, int64_t *ret, struct fz_error *err)
{
    struct store_project project;
    struct store *store = NULL;
    /* The request may be of another one. */
    enum fz_code code = api_store_get_all(call->api, &store, err);
    if (code == FZ_OK)
        code = find_project(store, name, call->arena, &project, err);
    api_store_put(call->api, store);
    bool is_own = code == FZ_OK && api_tokens_scopes(call->api->tokens,
                                                     http_token_id(call->request), project.id) != 0;
    /* Another team's project looks like one that does not exist, so that names cannot be tried. */
    if (code == FZ_E_NOT_FOUND || code == FZ_E_MALFORMED || (code == FZ_OK && !is_own))
        return fz_fail(err, FZ_E_NOT_FOUND, "no project '%.64s'", name);
    if (code == FZ_OK)
        *ret = project.id;
    return code;
}

enum fz_code
api_open_project(struct api_call *call, const char *name, struct store_project *ret,
                 struct fz_error *err)
{
    struct store *store = NULL;
    enum fz_code code = api_store_get_all(call->api, &store, err);
    if (code == FZ_OK)
        code = store_project_find(store, name, call->arena, ret, err);
    api_store_put(call->api, store);
    return code;
}

/* Texts of a proof that are not in the request as they are. */
struct proof_room {
    char token[API_TOKEN_ROOM];
    char cookie[API_COOKIE_ROOM];
    char user[STORE_EMAIL_MAX + 1];
};

/* A token wins, since it was sent on purpose. Then the proxy's word: a cookie may be left from
 * somebody else. proof->text is NULL if there is none. */
static void
find_proof(const struct api *api, const struct http_request *request, unsigned scope,
           struct proof_room *room, struct api_proof *ret)
{
    const struct api_route *route = api_route_of(request);
    const char *token = route && route->find_token ? route->find_token(request, room->token) : NULL;
    if (!token)
        token = find_token(request, scope);
    *ret = (struct api_proof){API_PROOF_TOKEN, token};
    /* The page uses the API alone; under other clients' paths a browser's login means nothing. */
    if (token || !route || !fz_text_has_prefix(route->pattern, "/api/v1/"))
        return;
    if (api_proxy_user(api, request, room->user))
        *ret = (struct api_proof){API_PROOF_USER, room->user};
    else if (api_cookie(api, request, room->cookie))
        *ret = (struct api_proof){API_PROOF_SESSION, room->cookie};
}

enum fz_code
api_authorize(void *app, struct http_request *request, unsigned scope, int64_t *ret_project_id,
              int64_t *ret_token_id, int *ret_status, struct fz_error *err)
{
    struct api *api = app;
    const struct api_route *route = api_route_of(request);
    struct proof_room room;
    struct api_proof proof;
    find_proof(api, request, scope, &room, &proof);
    /* An envelope may have the DSN in its own header, so its start must be read before the
     * sender is known. */
    if (!proof.text && route && route->token_may_come_late) {
        http_limit_body(request, api->config.limits->late_token_bytes);
        *ret_project_id = *ret_token_id = 0;
        return FZ_OK;
    }
    struct api_grant grant = {0};
    enum fz_code code = need_token(proof.text, ret_status, err);
    /* Before anything is known of the login, so that another site learns nothing of it. */
    if (code == FZ_OK && proof.kind != API_PROOF_TOKEN) {
        code = api_check_origin(api, request, true, err);
        *ret_status = 403;
    }
    if (code != FZ_OK)
        return code;
    const struct question question = {api, request, proof, scope};
    bool is_settled;
    code = decide_now(&question, &grant, &is_settled, ret_status, err);
    if (!is_settled) {
        *ret_status = 503;
        return decide_later(&question, err);
    }
    *ret_project_id = grant.project_id;
    *ret_token_id = grant.token_id;
    return code;
}

bool
api_still_may(struct api *api, const struct http_request *request, unsigned scope)
{
    struct proof_room room;
    struct api_proof proof;
    struct api_grant grant = {0};
    find_proof(api, request, scope, &room, &proof);
    /* Not by the sender's id alone: of a user's sessions each ends by itself. */
    enum fz_code code =
        proof.text ? api_tokens_find(api->tokens, &proof, asked_project(request), &grant, NULL)
                   : FZ_E_DENIED;
    if (code != FZ_OK)
        return code == FZ_E_UNAVAILABLE;
    return grant.project_id == http_project_id(request) &&
           (grant.scopes & (scope | STORE_SCOPE_ADMIN));
}
