/* Who a request is from, after authorisation, and the limits of logins. */
#include <stdio.h>

#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"

/* What api_rate_of_client() counts beside wrong tokens. */
enum { RATE_PASSWORDS = 1 };

/* How long a change waits until it counts on this server. */
enum { CHANGED_WAIT_MS = 1000 };

int64_t
api_user_id(const struct http_request *request)
{
    int64_t sender = http_token_id(request);
    return sender < 0 ? -sender : 0;
}

bool
api_is_admin_of(struct api *api, const struct http_request *request, int64_t project_id)
{
    int64_t sender = http_token_id(request);
    return sender && (api_tokens_scopes(api->tokens, sender, project_id) & STORE_SCOPE_ADMIN);
}

bool
api_is_admin_of_all(struct api *api, const struct http_request *request)
{
    return api_is_admin_of(api, request, 0);
}

enum fz_code
api_need_admin_of_all(struct api_call *call, struct fz_error *err)
{
    if (api_is_admin_of_all(call->api, call->request))
        return FZ_OK;
    return fz_fail(err, FZ_E_DENIED, "only an admin of all projects may do this");
}

enum fz_code
api_sender_name(struct api_call *call, const char **ret, struct fz_error *err)
{
    int64_t user_id = api_user_id(call->request);
    struct store_user user = {0};
    struct store *store = NULL;
    /* Tokens and users are of no project. */
    enum fz_code code = api_store_get_all(call->api, &store, err);
    if (code == FZ_OK && !user_id)
        code = store_token_label(store, http_token_id(call->request), call->arena, ret, err);
    else if (code == FZ_OK)
        code = store_user_by_id(store, user_id, call->arena, &user, err);
    if (code == FZ_OK && user_id)
        *ret = user.name;
    api_store_put(call->api, store);
    return code;
}

void
api_senders_changed(struct api *api)
{
    /* Other servers read them twice a second, and so does this one if the database is slow. */
    fz_ignore(api_tokens_read_now(api->tokens, CHANGED_WAIT_MS, NULL));
}

const struct api_login *
api_login_of(const struct api *api)
{
    return api->config.login;
}

enum fz_code
api_login_may(struct api *api, struct http_request *request, struct fz_error *err)
{
    const struct api_rate_key key = api_rate_of_client(request, RATE_PASSWORDS);
    unsigned wait_s = api_rate_wait_s(api->wrong_tokens, &key, fz_time_monotonic_ms());
    if (!wait_s)
        return FZ_OK;
    char seconds[16];
    snprintf(seconds, sizeof(seconds), "%u", wait_s);
    http_add_header(request, "Retry-After", seconds);
    return fz_fail(err, FZ_E_LIMIT,
                   "too many failed logins from %s: at most %u a minute (limit auth_failures); try "
                   "again in %u s",
                   http_client_ip(request), api->config.limits->auth_failures, wait_s);
}

void
api_login_failed(struct api *api, struct http_request *request)
{
    const struct api_rate_key key = api_rate_of_client(request, RATE_PASSWORDS);
    api_rate_count(api->wrong_tokens, &key, fz_time_monotonic_ms());
}
