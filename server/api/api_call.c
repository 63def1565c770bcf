/* What every handler does alike: a connection and an arena, its query, its answer. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/api/api_private.h"
#include "server/api/api_usage.h"

void
api_run(void *app, struct http_request *request, api_work_fn work)
{
    struct api *api = app;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(api->config.limits->report_memory);
    struct api_call call = {
        .api = api,
        .request = request,
        .arena = &arena,
        .project_id = http_project_id(request),
    };
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    enum fz_code code = api_store_get(api, &call.store, &err);
    if (code == FZ_OK)
        code = work(&call, &err);
    api_store_put(api, call.store);
    api_gate_leave(&call);
    if (code != FZ_OK)
        http_respond_error_status(request, fz_code_http_status(code), &err, call.detail);
}

bool
api_token_may(struct api *api, const struct http_request *request, unsigned scope)
{
    unsigned scopes = api_tokens_scopes(api->tokens, http_token_id(request));
    return (scopes & (scope | STORE_SCOPE_ADMIN)) != 0;
}

static bool
is_known(const char *name, const char *const *known)
{
    for (; *known; known++) {
        if (strcmp(name, *known) == 0)
            return true;
    }
    return strcmp(name, "project") == 0 || strcmp(name, "key") == 0;
}

enum fz_code
api_check_query(const struct http_request *request, const char *const *known, struct fz_error *err)
{
    const char *name;
    for (size_t i = 0; (name = http_query_name(request, i)) != NULL; i++) {
        if (is_known(name, known))
            continue;
        char list[160] = "";
        size_t used = 0;
        for (; *known && used < sizeof(list); known++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s, ", *known);
        if (used >= sizeof(list))
            return fz_fail(err, FZ_E_MALFORMED,
                           "unknown parameter '%.40s'; /api/v1/openapi.json lists the known ones",
                           name);
        return fz_fail(err, FZ_E_MALFORMED, "unknown parameter '%.40s'; known are %sproject", name,
                       list);
    }
    return FZ_OK;
}

enum fz_code
api_query_limit(const struct http_request *request, size_t fallback, size_t max, size_t *ret,
                struct fz_error *err)
{
    const char *text = http_query(request, "limit");
    uint64_t value = fallback;
    if (text && (!fz_text_u64(fz_span_cstr(text), &value) || value < 1 || value > max))
        return fz_fail(err, FZ_E_MALFORMED, "limit: '%.40s' is not a number from 1 to %zu", text,
                       max);
    *ret = (size_t)value;
    return FZ_OK;
}

enum fz_code
api_query_format(const struct http_request *request, enum api_format *ret, struct fz_error *err)
{
    static const char *const names[] = {"json", "crash", "ips", "raw"};
    const char *text = http_query(request, "format");
    if (!text) {
        *ret = API_FORMAT_JSON;
        return FZ_OK;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum api_format)i;
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_E_MALFORMED, "format: '%.40s' is none of json, crash, ips, raw", text);
}

enum fz_code
api_query_flag(const struct http_request *request, const char *name, bool *ret,
               struct fz_error *err)
{
    const char *text = http_query(request, name);
    *ret = text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
    if (!text || *ret || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not 1 or 0", name, text);
}

enum fz_code
api_param_uuid(const struct http_request *request, const char *name, const char *what,
               char ret[FZ_UUID_TEXT], struct fz_error *err)
{
    const char *text = http_param(request, name);
    struct fz_uuid uuid;
    if (!text || !fz_uuid_parse(fz_span_cstr(text), &uuid))
        return fz_fail(err, FZ_E_NOT_FOUND, "no %s '%.64s'", what, text ? text : "");
    fz_uuid_format(&uuid, ret);
    return FZ_OK;
}

enum fz_code
api_answer(struct api_call *call, int status, const struct fz_buffer *json, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(json, err);
    if (code == FZ_OK)
        http_respond_json(call->request, status, fz_buffer_span(json));
    return code;
}

const char *
api_stored_error(const char *text)
{
    /* A job that failed on our side has left in the database what its worker was told. */
    if (text &&
        (strstr(text, "database") || strstr(text, " /") || *text == '/' || strstr(text, "blob")))
        return "an internal error; the log of the workers has it";
    return text;
}

enum fz_code
api_count_upload(struct api_call *call, uint64_t bytes, struct fz_error *err)
{
    enum fz_code code =
        store_usage_add(call->store, call->project_id, STORE_USAGE_SYMBOLS, bytes, err);
    if (code == FZ_OK)
        api_usage_add(call->api->usage, call->project_id, STORE_USAGE_SYMBOLS, bytes);
    return code;
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

void
api_cors_options(void *app, struct http_request *request)
{
    (void)app;
    http_add_header(request, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    http_add_header(request, "Access-Control-Allow-Headers",
                    "x-sentry-auth, x-requested-with, x-forwarded-for, origin, referer, accept, "
                    "content-type, authentication, authorization, content-encoding, "
                    "transfer-encoding, user-agent");
    http_add_header(request, "Access-Control-Max-Age", "3600");
    http_add_header(request, "Access-Control-Expose-Headers",
                    "x-sentry-error, x-sentry-rate-limits, retry-after");
    http_respond(request, 200, "text/plain", (struct fz_span){NULL, 0});
}
