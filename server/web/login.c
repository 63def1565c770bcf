/* Logging in and out: POST, GET and DELETE /api/v1/session. */
#include "server/web/login.h"

#include <string.h>

#include "server/api/api_audit.h"
#include "server/api/api_client.h"
#include "storage/store.h"

enum { TOKEN_MAX = API_TOKEN_ROOM - 1 };

static const char wrong[] = "wrong address or password";

/* ---- in, with a password -------------------------------------------------------------------- */

/* One answer, whatever was wrong: who has an account here is a secret. */
static enum fz_code
refuse_login(struct api_call *call, int64_t user_id, struct fz_error *err)
{
    api_audit_login(call, "login_failed", user_id, 0);
    api_login_failed(call->api, call->request);
    http_log_note(call->request, "login", "failed");
    call->status = 401;
    return fz_fail(err, FZ_E_DENIED, "%s", wrong);
}

static enum fz_code
finish_password(struct api_call *call, struct fz_error *err)
{
    struct web_wait *wait = call->user;
    struct store_web_session session = {.user_id = wait->user_id, .via = STORE_VIA_PASSWORD};
    struct store_user user;
    /* Again: others may have failed from this address while it waited, and beyond the limit the
     * answer says nothing of the result. */
    enum fz_code code = api_login_may(call->api, call->request, err);
    if (code != FZ_OK) {
        call->status = 429;
        return code;
    }
    if (!wait->job.matches)
        return refuse_login(call, wait->user_id, err);
    code = store_user_by_id(call->store, wait->user_id, call->arena, &user, err);
    /* Disabled, deleted, or with another password since. */
    if (code == FZ_E_NOT_FOUND || (code == FZ_OK && (user.is_disabled || !user.password ||
                                                     strcmp(user.password, wait->job.hash) != 0)))
        return refuse_login(call, wait->user_id, err);
    return code == FZ_OK ? web_begin_session(call, &session, 200, err) : code;
}

static enum fz_code
login_with_password(struct api_call *call, const json_t *root, struct fz_error *err)
{
    const char *email = NULL, *password = NULL;
    char folded[STORE_EMAIL_MAX + 1] = "";
    struct store_user user = {0};
    enum fz_code code = web_read_text(call, root, "email", 4 * STORE_EMAIL_MAX, &email, err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "password", WEB_PASSWORD_MAX, &password, err);
    if (code == FZ_OK)
        code = api_login_may(call->api, call->request, err);
    if (code == FZ_E_LIMIT)
        call->status = 429;
    if (code != FZ_OK)
        return code;
    /* An address that no user can have is wrong like any other. */
    bool may_exist = store_email_fold(email, false, folded, NULL) == FZ_OK;
    code =
        may_exist ? store_user_find(call->store, folded, call->arena, &user, err) : FZ_E_NOT_FOUND;
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    struct web_wait *wait = web_wait_create(call, finish_password);
    if (!wait)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    wait->user_id = user.id;
    wait->job.is_known = user.password && strlen(user.password) < WEB_HASH_TEXT;
    if (wait->job.is_known)
        memcpy(wait->job.hash, user.password, strlen(user.password) + 1);
    wait->job.password = web_password_copy(password);
    if (!wait->job.password) {
        web_wait_destroy(wait);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    return web_wait_push(call, wait, err);
}

/* ---- in, with a token ----------------------------------------------------------------------- */

static enum fz_code
login_with_token(struct api_call *call, const json_t *root, struct fz_error *err)
{
    const char *token = NULL;
    struct api_grant grant = {0};
    enum fz_code code = web_read_text(call, root, "token", TOKEN_MAX, &token, err);
    if (code == FZ_OK)
        code = api_authorize_token(call->api, call->request, token, API_ANY_SCOPE, &grant,
                                   &call->status, err);
    struct store_web_session session = {.token_id = grant.token_id, .via = STORE_VIA_TOKEN};
    return code == FZ_OK ? web_begin_session(call, &session, 200, err) : code;
}

static enum fz_code
session_post(struct api_call *call, struct fz_error *err)
{
    json_auto_t *root = NULL;
    /* Otherwise another site could log a browser in as somebody else, unnoticed. */
    enum fz_code code = api_check_origin(call->api, call->request, false, err);
    if (code == FZ_OK)
        code = web_read(call, &root, err);
    if (code != FZ_OK)
        return code;
    return json_object_get(root, "token") ? login_with_token(call, root, err)
                                          : login_with_password(call, root, err);
}

/* ---- out ------------------------------------------------------------------------------------ */

static enum fz_code
session_delete(struct api_call *call, struct fz_error *err)
{
    char cookie[API_COOKIE_ROOM];
    struct store_web_session session = {0};
    const struct api_login *login = api_login_of(call->api);
    const struct store_web_limits limits = {login->idle_ms, login->max_ms};
    bool has_cookie = api_cookie(call->api, call->request, cookie);
    enum fz_code code = api_check_origin(call->api, call->request, has_cookie, err);
    if (code != FZ_OK)
        return code;
    if (has_cookie) {
        code = store_web_session_find(call->store, &limits, cookie, call->arena, &session, err);
        if (code == FZ_OK)
            code = store_web_session_end(call->store, 0, session.id, err);
        /* It has ended already, which is all that was asked for. */
        if (code != FZ_OK && code != FZ_E_DENIED && code != FZ_E_NOT_FOUND)
            return code;
        api_senders_changed(call->api);
    }
    web_clear_cookie(call);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/api/v1/session", "session_get", .run = web_session_get, .query = ""},
    {"POST", "/api/v1/session", "session_post", .body = API_BODY_LOGIN, .run = session_post, .query = ""},
    {"DELETE", "/api/v1/session", "session_delete", .run = session_delete, .query = ""},
};
/* clang-format on */

const struct api_routes web_login = {rows, FZ_ARRAY_LEN(rows), {.sees_all = web_sees_all}};
