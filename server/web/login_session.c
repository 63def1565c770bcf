/* Sessions: whose a request's is, how one begins, and GET /api/v1/session. */
#include <string.h>

#include "base/json/write.h"
#include "server/api/api_audit.h"
#include "server/web/login_oidc.h"
#include "storage/store.h"

/* ---- finding -------------------------------------------------------------------------------- */

static struct store_web_limits
limits_of(const struct api_call *call)
{
    const struct api_login *login = api_login_of(call->api);
    return (struct store_web_limits){login->idle_ms, login->max_ms};
}

static enum fz_code
deny(struct api_call *call, const char *text, struct fz_error *err)
{
    call->status = 401;
    return fz_fail(err, FZ_E_DENIED, "%s", text);
}

/* What the user may do in all projects follows the groups that the proxy names. */
static enum fz_code
follow_groups(struct api_call *call, const struct store_user *user, struct fz_error *err)
{
    struct store_user_role role = {0}, *roles = NULL;
    const struct store_user_change change = {.roles = &role, .n_roles = 1};
    size_t n = 0;
    if (!api_proxy_role(call->api, call->request, &role.role))
        return FZ_OK;
    enum fz_code code = store_user_roles(call->store, user->id, call->arena, &roles, &n, err);
    /* Ordered by project. */
    enum store_role now = n && roles[0].project_id == 0 ? roles[0].role : STORE_ROLE_NONE;
    if (code != FZ_OK || now == role.role)
        return code;
    code = store_user_change(call->store, user->id, &change, err);
    if (code == FZ_OK)
        api_senders_changed(call->api);
    return code;
}

/* A user that the proxy names for the first time is added if the configuration gives such users a
 * role. */
static enum fz_code
find_proxy_user(struct api_call *call, const char *email, struct store_user *ret,
                struct fz_error *err)
{
    const char *role_name = api_login_of(call->api)->proxy_role;
    struct store_user_role role = {0};
    const struct store_user user = {.email = email, .name = email};
    int64_t id = 0;
    enum fz_code code = store_user_find(call->store, email, call->arena, ret, err);
    if (code == FZ_OK && ret->is_disabled)
        return fz_fail(err, FZ_E_DENIED, "the user %s is disabled", email);
    if (code == FZ_OK)
        return follow_groups(call, ret, err);
    if (code != FZ_E_NOT_FOUND)
        return code;
    if (!api_proxy_role(call->api, call->request, &role.role))
        fz_ignore(store_role_parse(role_name, &role.role)); /* "none" leaves it */
    if (role.role == STORE_ROLE_NONE)
        return fz_fail(err, FZ_E_DENIED,
                       "'%s' is not a user of this server: ask an admin for an invitation", email);
    code = store_user_add(call->store, &user, &role, &id, err);
    if (code == FZ_OK)
        api_senders_changed(call->api);
    /* CONFLICT: two requests at once. */
    if (code == FZ_OK || code == FZ_E_CONFLICT)
        code = store_user_find(call->store, email, call->arena, ret, err);
    return code;
}

enum fz_code
web_find_session(struct api_call *call, struct store_web_session *ret, struct fz_error *err)
{
    char cookie[API_COOKIE_ROOM], email[STORE_EMAIL_MAX + 1];
    const struct store_web_limits limits = limits_of(call);
    struct store_user user = {0};
    bool is_proxy = api_proxy_user(call->api, call->request, email);
    bool has_cookie = !is_proxy && api_cookie(call->api, call->request, cookie);
    if (!is_proxy && !has_cookie)
        return deny(call, "no one is logged in", err);
    enum fz_code code = api_check_origin(call->api, call->request, true, err);
    if (code != FZ_OK)
        return code;
    if (has_cookie) {
        code = store_web_session_find(call->store, &limits, cookie, call->arena, ret, err);
        call->status = code == FZ_E_DENIED ? 401 : 0;
        return code;
    }
    code = find_proxy_user(call, email, &user, err);
    if (code == FZ_OK)
        *ret = (struct store_web_session){.user_id = user.id, .via = STORE_VIA_PROXY};
    return code;
}

enum fz_code
web_need_user(struct api_call *call, struct store_web_session *ret, struct fz_error *err)
{
    if (api_bearer(call->request))
        return fz_fail(err, FZ_E_DENIED, "this is for users who log in; a token has no account");
    enum fz_code code = web_find_session(call, ret, err);
    if (code == FZ_OK && ret->user_id == 0)
        return fz_fail(err, FZ_E_DENIED, "this is for users who log in; a token has no account");
    return code;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static const char *
role_of_scopes(unsigned scopes)
{
    enum store_role role = scopes & STORE_SCOPE_ADMIN   ? STORE_ROLE_ADMIN
                           : scopes & STORE_SCOPE_WRITE ? STORE_ROLE_MEMBER
                                                        : STORE_ROLE_VIEWER;
    return store_role_name(role);
}

struct projects {
    const struct store_user_role *roles; /* of a user */
    size_t n_roles;
    bool is_user;
    int64_t own;      /* of a token; 0 = all */
    const char *role; /* of a token */
};

/* NULL: none. */
static const char *
role_in(const struct projects *p, int64_t project_id)
{
    enum store_role role = STORE_ROLE_NONE;
    if (!p->is_user)
        return p->own == 0 || p->own == project_id ? p->role : NULL;
    for (size_t i = 0; i < p->n_roles; i++) {
        bool counts = p->roles[i].project_id == 0 || p->roles[i].project_id == project_id;
        if (counts && p->roles[i].role > role)
            role = p->roles[i].role;
    }
    return role == STORE_ROLE_NONE ? NULL : store_role_name(role);
}

static enum fz_code
write_projects(struct api_call *call, const struct projects *p, struct json_write *w,
               struct fz_error *err)
{
    struct store_project *projects = NULL;
    size_t n = 0;
    enum fz_code code = store_project_list(call->store, call->arena, &projects, &n, err);
    json_write_open(w, "projects", '[');
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const char *role = role_in(p, projects[i].id);
        if (!role)
            continue;
        json_write_open(w, NULL, '{');
        json_write_i64(w, "id", projects[i].id);
        json_write_text(w, "name", projects[i].name);
        json_write_text(w, "role", role);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    return code;
}

static enum fz_code
write_user(struct api_call *call, int64_t user_id, struct json_write *w, struct fz_error *err)
{
    struct store_user user;
    struct store_user_role *roles = NULL;
    struct projects projects = {.is_user = true};
    enum fz_code code = store_user_by_id(call->store, user_id, call->arena, &user, err);
    if (code == FZ_OK)
        code = store_user_roles(call->store, user_id, call->arena, &roles, &projects.n_roles, err);
    if (code != FZ_OK)
        return code;
    bool is_admin = projects.n_roles && roles[0].project_id == 0 &&
                    roles[0].role == STORE_ROLE_ADMIN; /* ordered by project */
    json_write_open(w, "user", '{');
    json_write_i64(w, "id", user.id);
    json_write_text(w, "email", user.email);
    json_write_text(w, "name", user.name);
    json_write_bool(w, "admin", is_admin);
    json_write_close(w, '}');
    projects.roles = roles;
    return write_projects(call, &projects, w, err);
}

static enum fz_code
write_token(struct api_call *call, int64_t token_id, unsigned scopes, struct json_write *w,
            struct fz_error *err)
{
    const char *label = NULL;
    struct projects projects = {.role = role_of_scopes(scopes)};
    enum fz_code code = store_token_label(call->store, token_id, call->arena, &label, err);
    if (code == FZ_OK)
        code = store_token_project(call->store, token_id, &projects.own, err);
    if (code != FZ_OK)
        return code;
    json_write_open(w, "token", '{');
    json_write_text(w, "label", label);
    json_write_close(w, '}');
    return write_projects(call, &projects, w, err);
}

/* `session` is as the database has it, or made up for a proxy or a token. */
static enum fz_code
answer_session(struct api_call *call, const struct store_web_session *session, int status,
               struct fz_error *err)
{
    const struct store_web_limits limits = limits_of(call);
    struct json_write w = api_begin(call, '{');
    unsigned scopes = 0;
    enum fz_code code = FZ_OK;
    if (session->token_id)
        code = store_token_scopes(call->store, session->token_id, &scopes, err);
    if (code == FZ_OK)
        code = session->token_id ? write_token(call, session->token_id, scopes, &w, err)
                                 : write_user(call, session->user_id, &w, err);
    if (code != FZ_OK)
        return code;
    if (session->id) {
        int64_t idle = session->used_ms + limits.idle_ms, end = session->created_ms + limits.max_ms;
        json_write_time(&w, "expires", idle < end ? idle : end);
    }
    json_write_text(&w, "via", store_via_name(session->via));
    return api_answer(call, status, &w, '}', err);
}

/* ---- who is logged in ----------------------------------------------------------------------- */

/* For call->detail: how one may log in. */
static void
tell_ways(struct api_call *call)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write w = json_write_start(&detail);
    bool exist = true;
    /* Without an answer of the database it is better to ask for a login. */
    fz_ignore(store_users_exist(call->store, &exist, NULL));
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "login", '[');
    json_write_text(&w, NULL, "password");
    json_write_text(&w, NULL, "token");
    if (web_oidc_of(api_web(call->api))->oidc)
        json_write_text(&w, NULL, "oidc");
    json_write_close(&w, ']');
    web_oidc_tell(call, &w);
    json_write_bool(&w, "setup", !exist);
    json_write_close(&w, '}');
    call->detail = detail.failed ? NULL : fz_arena_text(call->arena, fz_buffer_span(&detail));
}

enum fz_code
web_session_get(struct api_call *call, struct fz_error *err)
{
    const char *token = api_bearer(call->request);
    struct store_web_session session = {0};
    struct api_grant grant = {0};
    enum fz_code code = FZ_OK;
    if (token) {
        code = api_authorize_token(call->api, call->request, token, API_ANY_SCOPE, &grant,
                                   &call->status, err);
        session = (struct store_web_session){.token_id = grant.token_id, .via = STORE_VIA_TOKEN};
    } else {
        code = web_find_session(call, &session, err);
    }
    if (code == FZ_OK)
        return answer_session(call, &session, 200, err);
    if (call->status == 401) {
        /* RFC 9110, 15.5.2: a 401 must name a scheme. */
        http_add_header(call->request, "WWW-Authenticate", "Bearer");
        tell_ways(call);
    }
    return code;
}

/* ---- beginning and ending ------------------------------------------------------------------- */

void
web_clear_cookie(struct api_call *call)
{
    web_set_cookie(call, api_cookie_name(call->api, call->request), "", 0);
}

/* A browser that logs in again leaves its old session. */
static void
end_earlier(struct api_call *call)
{
    char cookie[API_COOKIE_ROOM];
    struct store_web_session old;
    const struct store_web_limits limits = limits_of(call);
    if (api_cookie(call->api, call->request, cookie) &&
        store_web_session_find(call->store, &limits, cookie, call->arena, &old, NULL) == FZ_OK)
        fz_ignore(store_web_session_end(call->store, 0, old.id, NULL)); /* it expires */
}

enum fz_code
web_open_session(struct api_call *call, struct store_web_session *session, struct fz_error *err)
{
    char secret[STORE_SECRET_TEXT];
    const struct store_web_limits limits = limits_of(call);
    session->address = http_client_ip(call->request);
    session->agent = http_header(call->request, "User-Agent");
    /* Always a new one: whoever has planted a cookie in the browser does not know it. */
    store_secret_make(secret);
    end_earlier(call);
    enum fz_code code =
        store_web_session_add(call->store, session, &limits, secret, &session->id, err);
    if (code == FZ_OK)
        code = store_web_session_find(call->store, &limits, secret, call->arena, session, err);
    if (code != FZ_OK)
        return code;
    api_audit_login(call, "login", session->user_id, session->token_id);
    api_senders_changed(call->api);
    web_set_cookie(call, api_cookie_name(call->api, call->request), secret, limits.max_ms / 1000);
    http_add_header(call->request, "Cache-Control", "no-store");
    return FZ_OK;
}

enum fz_code
web_begin_session(struct api_call *call, struct store_web_session *session, int status,
                  struct fz_error *err)
{
    enum fz_code code = web_open_session(call, session, err);
    return code == FZ_OK ? answer_session(call, session, status, err) : code;
}
