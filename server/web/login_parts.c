/* What the handlers of the login share: the threads of passwords, reading requests, waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "server/web/login.h"

enum { DEPTH = 8 };

const char web_sees_all[] = "people, their sessions and roles are in no project";

/* ---- life ----------------------------------------------------------------------------------- */

/* Logins through a provider: at once, and waiting. */
enum { OIDC_THREADS = 2, OIDC_WAITING = 64 };

static const char callback_path[] = "/api/v1/session/oidc/callback";

struct web {
    struct web_passwords *passwords;
    struct web_oidc_parts oidc; /* empty: no provider is configured */
    char redirect_uri[640];
};

static void
destroyp(struct web **web)
{
    web_destroy(*web);
}

static enum fz_code
start_oidc(struct web *web, const struct api_login *login, struct fz_error *err)
{
    int len = (int)strlen(login->public_url);
    const struct oidc_config config = {.issuer = login->oidc_issuer,
                                       .client_id = login->oidc_client_id,
                                       .client_secret = login->oidc_client_secret,
                                       .redirect_uri = web->redirect_uri,
                                       .internal = login->oidc_internal,
                                       .ca_file = login->oidc_ca};
    if (!*login->oidc_issuer)
        return FZ_OK;
    while (len > 0 && login->public_url[len - 1] == '/')
        len--;
    snprintf(web->redirect_uri, sizeof(web->redirect_uri), "%.*s%s", len, login->public_url,
             callback_path);
    enum fz_code code = oidc_create(&config, &web->oidc.oidc, err);
    if (code == FZ_OK)
        code = web_queue_start(OIDC_THREADS, OIDC_WAITING, &web->oidc.queue, err);
    return code;
}

enum fz_code
web_create(const struct limits *limits, const struct api_login *login, struct metrics *metrics,
           struct web **ret, struct fz_error *err)
{
    FZ_CLEANUP(destroyp) struct web *web = calloc(1, sizeof(*web));
    if (!web)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    const struct web_passwords_config config = {limits->passwords, limits->passwords_waiting,
                                                metrics};
    enum fz_code code = web_passwords_start(&config, &web->passwords, err);
    if (code == FZ_OK)
        code = start_oidc(web, login, err);
    if (code == FZ_OK)
        *ret = fz_take(&web);
    return code;
}

void
web_stop_waiting(struct web *web)
{
    if (web)
        oidc_stop(web->oidc.oidc);
}

void
web_destroy(struct web *web)
{
    if (!web)
        return;
    web_stop_waiting(web);
    web_queue_stop(web->oidc.queue);
    oidc_destroy(web->oidc.oidc);
    web_passwords_stop(web->passwords);
    free(web);
}

struct web_passwords *
web_passwords_of(const struct web *web)
{
    return web->passwords;
}

const struct web_oidc_parts *
web_oidc_of(const struct web *web)
{
    return &web->oidc;
}

/* ---- reading -------------------------------------------------------------------------------- */

void
web_blame(struct api_call *call, const char *path)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "path", path);
    json_write_close(&w, '}');
    call->detail = out.failed ? NULL : fz_arena_text(call->arena, fz_buffer_span(&out));
}

enum fz_code
web_read(struct api_call *call, json_t **ret, struct fz_error *err)
{
    const struct fz_span body = http_body(call->request);
    struct json_scan_limits scan = {.depth = DEPTH, .output_bytes = 2 * body.len};
    struct json_scan_notes notes = {0};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(body, &scan, &notes, &root, err);
    if (code != FZ_OK)
        return code;
    if (notes.n_bad_utf8 || notes.n_bad_escapes)
        return fz_fail(err, FZ_E_MALFORMED, "the text at byte %zu is not UTF-8",
                       notes.first_offset);
    if (!json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "the body must be an object");
    *ret = fz_take(&root);
    return FZ_OK;
}

enum fz_code
web_read_text(struct api_call *call, const json_t *root, const char *key, size_t max,
              const char **ret, struct fz_error *err)
{
    const char *text = json_string_value(json_object_get(root, key));
    size_t len = text ? strlen(text) : 0;
    if (len == 0 || len > max) {
        web_blame(call, key);
        return fz_fail(err, FZ_E_MALFORMED, "%s: must be a text of 1 to %zu bytes", key, max);
    }
    *ret = text;
    return FZ_OK;
}

/* ---- answering ------------------------------------------------------------------------------ */

void
web_set_cookie(struct api_call *call, const char *name, const char *value, int64_t max_s)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text, "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Lax%s", name, value,
                     (long long)max_s, api_is_https(call->api, call->request) ? "; Secure" : "");
    if (!text.failed)
        http_add_header(call->request, "Set-Cookie", fz_buffer_cstr(&text));
}

/* ---- waiting -------------------------------------------------------------------------------- */

void
web_wait_destroy(struct web_wait *wait)
{
    if (!wait)
        return;
    web_job_deinit(&wait->job);
    for (size_t i = 0; i < FZ_ARRAY_LEN(wait->text); i++)
        free(wait->text[i]);
    free(wait);
}

/* On a thread of the passwords, which may use the database like one of the handlers. */
static void
on_done(struct web_job *job)
{
    struct web_wait *wait = (struct web_wait *)job;
    api_run(wait->api, wait->request, wait->finish, wait);
    web_wait_destroy(wait);
}

struct web_wait *
web_wait_create(struct api_call *call, api_work_fn finish)
{
    struct web_wait *wait = calloc(1, sizeof(*wait));
    if (!wait)
        return NULL;
    wait->job.done = on_done;
    wait->api = call->api;
    wait->request = call->request;
    wait->finish = finish;
    return wait;
}

enum fz_code
web_wait_push(struct api_call *call, struct web_wait *wait, struct fz_error *err)
{
    struct fz_error full;
    /* The password is in the body, too, and is not needed there any more. */
    http_drop_body(call->request);
    if (web_passwords_push(web_passwords_of(api_web(call->api)), &wait->job, &full) == FZ_OK)
        return FZ_OK;
    web_wait_destroy(wait);
    /* Written for the client, unlike other failures of this kind. */
    http_respond_public(call->request, 503, &full, NULL);
    (void)err;
    return FZ_OK;
}
