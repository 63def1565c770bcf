/*
 * Logins through an OpenID provider, as the browser sees them: it is sent there, and comes back.
 *
 * What keeps a login together is a cookie: the login's secret, a dot, and the path to go to in the
 * end, in base64url.
 */
#include "server/web/login_oidc.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/api/api_audit.h"

enum {
    LOGIN_S = 15 * 60, /* to log in at the provider */
    NEXT_MAX = WEB_OIDC_NEXT_MAX,
    COOKIE_ROOM = OIDC_SECRET_TEXT + 2 * NEXT_MAX,
    ISSUER_MAX = 1024,
    ARENA_BYTES = 1024 * 1024
};

/* ---- waiting for the provider ---------------------------------------------------------------- */

struct login {
    struct web_task task; /* the first member */
    struct api *api;
    struct http_request *request;
    char secret[OIDC_SECRET_TEXT];
    char next[NEXT_MAX + 1];
    char code[OIDC_CODE_MAX + 2]; /* one more than it may have, so that a longer one is refused */
    char issuer[ISSUER_MAX + 1];
    bool has_issuer;
    /* The result. */
    struct fz_arena arena;
    struct fz_buffer url;
    struct oidc_identity identity;
    enum fz_code result;
    struct fz_error err;
};

static void
destroy(struct login *login)
{
    /* The code and the secret are of no use to anybody else any more. */
    fz_arena_deinit(&login->arena);
    fz_buffer_deinit(&login->url);
    free(login);
}

static struct login *
create(struct api_call *call, void (*run)(struct web_task *task))
{
    struct login *login = calloc(1, sizeof(*login));
    if (!login)
        return NULL;
    login->task.run = run;
    login->api = call->api;
    login->request = call->request;
    fz_arena_init(&login->arena, ARENA_BYTES);
    fz_buffer_init(&login->url, 0);
    return login;
}

static enum fz_code
push(struct api_call *call, struct login *login)
{
    if (web_queue_push(web_oidc_of(api_web(call->api))->queue, &login->task))
        return FZ_OK;
    destroy(login);
    return web_oidc_refuse(call, WEB_OIDC_BUSY, NULL, web_oidc_login_page);
}

static enum fz_code
need_provider(struct api_call *call, struct fz_error *err)
{
    if (web_oidc_of(api_web(call->api))->oidc)
        return FZ_OK;
    return fz_fail(err, FZ_E_NOT_FOUND, "this server has no OpenID provider (setting oidc-issuer)");
}

static enum web_oidc_reason
reason_of(enum fz_code code)
{
    return code == FZ_E_DENIED ? WEB_OIDC_INVALID : WEB_OIDC_DOWN;
}

/* ---- there ----------------------------------------------------------------------------------- */

static enum fz_code
answer_begin(struct api_call *call, struct fz_error *err)
{
    struct login *login = call->user;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer cookie = fz_buffer_make(0);
    if (login->result != FZ_OK)
        return web_oidc_refuse(call, reason_of(login->result), login->err.text,
                               web_oidc_login_page);
    fz_buffer_printf(&cookie, "%s.", login->secret);
    fz_text_base64url_append(&cookie, fz_span_cstr(login->next));
    enum fz_code code = fz_buffer_done(&cookie, err);
    if (code != FZ_OK)
        return code;
    web_set_cookie(call, web_oidc_cookie_name(call, WEB_OIDC_COOKIE_LOGIN), fz_buffer_cstr(&cookie),
                   LOGIN_S);
    web_oidc_redirect(call, fz_buffer_cstr(&login->url));
    return FZ_OK;
}

static void
run_begin(struct web_task *task)
{
    struct login *login = (struct login *)task;
    struct oidc *oidc = web_oidc_of(api_web(login->api))->oidc;
    login->result = oidc_begin(oidc, login->secret, &login->url, &login->err);
    api_run(login->api, login->request, answer_begin, login);
    destroy(login);
}

static enum fz_code
oidc_get(struct api_call *call, struct fz_error *err)
{
    const char *next = http_query(call->request, "next");
    enum fz_code code = need_provider(call, err);
    if (code != FZ_OK)
        return code;
    struct login *login = create(call, run_begin);
    if (!login)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    bool is_good = next && web_oidc_next_is_good(next);
    memcpy(login->next, is_good ? next : "/", is_good ? strlen(next) + 1 : 2);
    oidc_secret_make(login->secret);
    return push(call, login);
}

/* ---- and back -------------------------------------------------------------------------------- */

static enum fz_code
answer_end(struct api_call *call, struct fz_error *err)
{
    struct login *login = call->user;
    struct store_web_session session = {.via = STORE_VIA_OIDC};
    enum web_oidc_reason reason = WEB_OIDC_FINE;
    /* Again: others may have failed from this address meanwhile. */
    if (api_login_may(call->api, call->request, NULL) != FZ_OK)
        return web_oidc_refuse(call, WEB_OIDC_MANY, NULL, web_oidc_login_page);
    if (login->result == FZ_E_DENIED) {
        api_login_failed(call->api, call->request);
        api_audit_login(call, "login_failed", 0, 0);
    }
    if (login->result != FZ_OK)
        return web_oidc_refuse(call, reason_of(login->result), login->err.text, login->next);
    enum fz_code code = web_oidc_find_user(call, &login->identity, &session.user_id, &reason, err);
    if (code == FZ_OK && reason != WEB_OIDC_FINE) {
        api_login_failed(call->api, call->request);
        api_audit_login(call, "login_failed", session.user_id, 0);
        return web_oidc_refuse(call, reason, NULL, login->next);
    }
    if (code == FZ_OK)
        code = web_open_session(call, &session, err);
    if (code != FZ_OK)
        return code;
    web_set_cookie(call, web_oidc_cookie_name(call, WEB_OIDC_COOKIE_LOGIN), "", 0);
    web_oidc_redirect(call, login->next);
    return FZ_OK;
}

static void
run_end(struct web_task *task)
{
    struct login *login = (struct login *)task;
    struct oidc *oidc = web_oidc_of(api_web(login->api))->oidc;
    login->result =
        oidc_finish(oidc, login->secret, login->code, login->has_issuer ? login->issuer : NULL,
                    &login->arena, &login->identity, &login->err);
    api_run(login->api, login->request, answer_end, login);
    destroy(login);
}

/* The login that the browser has begun; false: not this one. The cookie may be made up, so the path
 * is judged again. */
static bool
read_login(struct api_call *call, const char *state, struct login *login)
{
    char cookie[COOKIE_ROOM];
    struct fz_span next = {0};
    if (!state || !web_oidc_cookie(call, WEB_OIDC_COOKIE_LOGIN, cookie, sizeof(cookie)))
        return false;
    char *dot = strchr(cookie, '.');
    if (!dot || dot - cookie != OIDC_SECRET_TEXT - 1)
        return false;
    *dot = '\0';
    memcpy(login->secret, cookie, OIDC_SECRET_TEXT);
    if (!oidc_state_is(login->secret, state))
        return false;
    memcpy(login->next, "/", 2);
    if (fz_text_base64_decode(fz_span_cstr(dot + 1), call->arena, &next, NULL) == FZ_OK &&
        next.len <= NEXT_MAX) {
        const char *text = fz_arena_text(call->arena, next);
        if (text && web_oidc_next_is_good(text))
            memcpy(login->next, text, strlen(text) + 1);
    }
    return true;
}

static void
copy(char *ret, size_t room, const char *text)
{
    size_t len = text ? strnlen(text, room - 1) : 0;
    if (len)
        memcpy(ret, text, len);
    ret[len] = '\0';
}

static enum fz_code
oidc_callback(struct api_call *call, struct fz_error *err)
{
    const char *code_text = http_query(call->request, "code");
    const char *issuer = http_query(call->request, "iss");
    enum fz_code code = need_provider(call, err);
    if (code != FZ_OK)
        return code;
    struct login *login = create(call, run_end);
    if (!login)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum web_oidc_reason reason = WEB_OIDC_FINE;
    /* This does not count as a failed login: any site can have a browser ask for this address. */
    if (!read_login(call, http_query(call->request, "state"), login))
        reason = WEB_OIDC_STATE;
    else if (http_query(call->request, "error"))
        reason = WEB_OIDC_REFUSED;
    else if (api_login_may(call->api, call->request, NULL) != FZ_OK)
        reason = WEB_OIDC_MANY;
    if (reason != WEB_OIDC_FINE) {
        destroy(login);
        return web_oidc_refuse(call, reason, NULL, web_oidc_login_page);
    }
    copy(login->code, sizeof(login->code), code_text);
    copy(login->issuer, sizeof(login->issuer), issuer);
    login->has_issuer = issuer != NULL;
    return push(call, login);
}

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/api/v1/session/oidc", "session_oidc", .run = oidc_get, .query = "next"},
    /* Providers add parameters of their own. */
    {"GET", "/api/v1/session/oidc/callback", "session_oidc_callback", .run = oidc_callback},
};
/* clang-format on */

const struct api_routes web_oidc = {rows, FZ_ARRAY_LEN(rows), {.sees_all = web_sees_all}};
