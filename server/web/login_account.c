/* What users do with their own account: see and end sessions, change the name and the password. */
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "server/web/login.h"

/* ---- sessions ------------------------------------------------------------------------------- */

static enum fz_code
session_list(struct api_call *call, struct fz_error *err)
{
    const struct api_login *login = api_login_of(call->api);
    const struct store_web_limits limits = {login->idle_ms, login->max_ms};
    struct store_web_session own, *list = NULL;
    size_t n = 0;
    enum fz_code code = web_need_user(call, &own, err);
    if (code == FZ_OK)
        code =
            store_web_session_list(call->store, &limits, own.user_id, call->arena, &list, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "sessions", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(&w, NULL, '{');
        json_write_i64(&w, "id", list[i].id);
        json_write_bool(&w, "current", list[i].id == own.id);
        json_write_text(&w, "via", store_via_name(list[i].via));
        json_write_time(&w, "created", list[i].created_ms);
        json_write_time(&w, "last_used", list[i].used_ms);
        json_write_text(&w, "address", list[i].address);
        json_write_text(&w, "agent", list[i].agent);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

static enum fz_code
session_end(struct api_call *call, struct fz_error *err)
{
    const char *text = http_param(call->request, "id");
    struct store_web_session own;
    int64_t id = 0;
    enum fz_code code = web_need_user(call, &own, err);
    if (code != FZ_OK)
        return code;
    if (!fz_text_i64(fz_span_cstr(text), &id))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no session %.40s", text);
    code = store_web_session_end(call->store, own.user_id, id, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    if (id == own.id)
        web_clear_cookie(call);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}

/* ---- the name -------------------------------------------------------------------------------- */

static enum fz_code
account_patch(struct api_call *call, struct fz_error *err)
{
    struct store_web_session own;
    struct store_user_change change = {0};
    json_auto_t *root = NULL;
    enum fz_code code = web_need_user(call, &own, err);
    if (code == FZ_OK)
        code = web_read(call, &root, err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "name", STORE_USER_NAME_MAX, &change.name, err);
    if (code == FZ_OK && (code = store_user_name_check(change.name, err)) != FZ_OK)
        web_blame(call, "name");
    if (code == FZ_OK)
        code = store_user_change(call->store, own.user_id, &change, err);
    if (code == FZ_OK)
        http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return code;
}

/* ---- the password --------------------------------------------------------------------------- */

static enum fz_code
finish_password(struct api_call *call, struct fz_error *err)
{
    const struct web_wait *wait = call->user;
    enum fz_code code = api_login_may(call->api, call->request, err);
    call->status = code == FZ_E_LIMIT ? 429 : 0;
    if (code != FZ_OK)
        return code;
    if (!wait->job.matches) {
        api_login_failed(call->api, call->request);
        web_blame(call, "old");
        return fz_fail(err, FZ_E_DENIED, "old: this is not the password");
    }
    if (wait->job.code != FZ_OK)
        return fz_fail(err, wait->job.code, "no memory for the password");
    code = store_user_set_password(call->store, wait->user_id, wait->job.hash, wait->number, err);
    if (code != FZ_OK)
        return code;
    api_senders_changed(call->api);
    http_respond(call->request, 204, NULL, fz_span_make(NULL, 0));
    return FZ_OK;
}

static enum fz_code
wait_for_both(struct api_call *call, const struct store_web_session *session,
              const struct store_user *user, const char *const passwords[2], struct fz_error *err)
{
    struct web_wait *wait = web_wait_create(call, finish_password);
    if (!wait)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    wait->user_id = user->id;
    wait->number = session->id;
    wait->job.is_known = strlen(user->password) < WEB_HASH_TEXT;
    if (wait->job.is_known)
        memcpy(wait->job.hash, user->password, strlen(user->password) + 1);
    wait->job.password = web_password_copy(passwords[0]);
    wait->job.new_password = web_password_copy(passwords[1]);
    if (wait->job.password && wait->job.new_password)
        return web_wait_push(call, wait, err);
    web_wait_destroy(wait);
    return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
password_put(struct api_call *call, struct fz_error *err)
{
    const char *passwords[2] = {NULL, NULL};
    struct store_web_session own;
    struct store_user user;
    json_auto_t *root = NULL;
    enum fz_code code = web_need_user(call, &own, err);
    if (code == FZ_OK)
        code = web_read(call, &root, err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "old", WEB_PASSWORD_MAX, &passwords[0], err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "new", WEB_PASSWORD_MAX, &passwords[1], err);
    if (code == FZ_OK)
        code = store_user_by_id(call->store, own.user_id, call->arena, &user, err);
    if (code != FZ_OK)
        return code;
    if (!user.password)
        return fz_fail(err, FZ_E_CONFLICT,
                       "this user has no password: log in as before, or ask an admin for a link");
    code = web_password_check(passwords[1], user.email, user.name, err);
    if (code != FZ_OK) {
        web_blame(call, "new");
        return code;
    }
    code = api_login_may(call->api, call->request, err);
    call->status = code == FZ_E_LIMIT ? 429 : 0;
    return code == FZ_OK ? wait_for_both(call, &own, &user, passwords, err) : code;
}

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/api/v1/account/sessions", "account_sessions", .run = session_list, .query = ""},
    {"DELETE", "/api/v1/account/sessions/{id}", "account_session_end", .run = session_end, .query = ""},
    {"PATCH", "/api/v1/account", "account_patch", .body = API_BODY_LOGIN, .run = account_patch, .query = ""},
    {"PUT", "/api/v1/account/password", "account_password", .body = API_BODY_LOGIN, .run = password_put, .query = ""},
};
/* clang-format on */

const struct api_routes web_account = {rows, FZ_ARRAY_LEN(rows), {.sees_all = web_sees_all}};
