/*
 * The paths of Sentry's SDKs (DSN "http://KEY@host/1" means project 1 at host):
 *
 *   POST /api/1/envelope/   events, attachments, sessions: all SDKs of today
 *   POST /api/1/store/      one event; raven sends base64 of zlib
 *   POST /api/store/        the same, the key names the project: very old SDKs
 *   POST /api/1/minidump/   sdk_minidump.c
 *
 * An SDK drops a body once it is answered, with any status: so a body is read as leniently as its
 * format allows, and stored before the answer.
 */
#include "server/clients/sentry/sdk.h"

#include <string.h>

#include "base/text.h"
#include "server/http/inflate.h"

/* ---- envelopes ----------------------------------------------------------------------------- */

/* One envelope on its way. */
struct envelope {
    struct api *api;
    struct http_request *request;
    struct sentry_sender sender;
    struct fz_arena arena; /* of the result */
    struct children_result result;
};

/* The key may be in the envelope alone. False: the request was answered. */
static bool
find_sender(struct envelope *e)
{
    struct api_grant grant;
    struct fz_error err;
    char room[API_TOKEN_ROOM];
    int status = 0;
    e->sender = (struct sentry_sender){http_project_id(e->request), http_token_id(e->request)};
    /* The header or the query had the key already. */
    if (e->sender.token_id != 0)
        return true;
    const char *key = sentry_dsn_key(http_body(e->request), room);
    if (api_authorize_token(e->api, e->request, key, STORE_SCOPE_INGEST, &grant, &status, &err) !=
        FZ_OK) {
        sentry_fail(e->request, status, &err);
        return false;
    }
    e->sender = (struct sentry_sender){grant.project_id, grant.token_id};
    return true;
}

/* False: the request was answered with 429. */
static bool
is_admitted(const struct envelope *e, enum api_takes takes)
{
    /* Scopes were checked with the key. */
    const struct api_grant grant = {.project_id = e->sender.project_id,
                                    .token_id = e->sender.token_id};
    struct fz_error err;
    int status = 0;
    if (api_admit(e->api, e->request, &grant, takes, &status, &err) == FZ_OK)
        return true;
    sentry_fail(e->request, status, &err);
    return false;
}

static struct api_intake
intake_of(struct envelope *e)
{
    return (struct api_intake){
        .api = e->api,
        .request = e->request,
        .project_id = e->sender.project_id,
        .kind = {.kind = PROTO_INTAKE_ENVELOPE},
        .body = http_body(e->request),
        .arena = &e->arena,
        .answer = sentry_answer_accepted,
    };
}

/* The report, after the sessions were counted. */
static void
submit_report(struct envelope *e)
{
    struct fz_error err = {.offset = -1};
    struct api_intake intake = intake_of(e);
    /* Already read, so no child is asked again. */
    intake.result = &e->result;
    /* Sessions, attachments or an SDK's client report alone are an envelope too. */
    if (!e->result.found.has_report && !e->result.is_unchecked)
        sentry_answer_id(e->request, e->result.found.id);
    else if (is_admitted(e, API_TAKES_REPORTS) && api_intake(&intake, &err) != FZ_OK)
        sentry_fail(e->request, 0, &err);
}

static enum fz_code
count_and_submit(struct api_call *call, struct fz_error *err)
{
    struct envelope *e = call->user;
    /* A refused request is answered; nothing more may be done with it. */
    if (!is_admitted(e,
                     e->result.found.has_sessions ? API_TAKES_SESSIONS : API_TAKES_CLIENT_REPORTS))
        return FZ_OK;
    /* Before the report, whose commit answers the request. */
    enum fz_code code =
        api_count_found(call->store, e->sender.project_id, &e->result.found, call->arena, err);
    if (code == FZ_OK)
        submit_report(e);
    return code;
}

static void
envelope_post(void *app, struct http_request *request)
{
    struct envelope e = {.api = app, .request = request};
    struct fz_error err = {.offset = -1};
    /* A client without a key learns nothing about the body. */
    if (!find_sender(&e))
        return;
    fz_arena_init(&e.arena, api_limits(e.api)->report_memory);
    /* Read once: the result serves the sessions and the report. */
    const struct api_intake intake = intake_of(&e);
    if (api_intake_read(&intake, &e.result, &err) != FZ_OK)
        sentry_fail(request, 0, &err);
    else if (e.result.found.has_counted)
        api_run(app, request, count_and_submit, &e);
    else
        submit_report(&e);
    fz_arena_deinit(&e.arena);
}

/* ---- store --------------------------------------------------------------------------------- */

/* raven's base64 of zlib. The result is in the arena. */
static enum fz_code
unpack(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
       struct fz_span *ret, struct fz_error *err)
{
    struct fz_span packed;
    enum fz_code code = fz_text_base64_decode(body, arena, &packed, err);
    /* Neither form: the message names both. */
    if (code == FZ_E_MALFORMED)
        return fz_fail_at(err, code, 0, "neither JSON nor base64 of zlib");
    return code != FZ_OK ? code
                         : http_inflate_whole(HTTP_CODING_DEFLATE, packed,
                                              limits->report_inflated_bytes, arena, ret, err);
}

/* The event as it was before it was packed; *ret stays the body where that is JSON. */
static enum fz_code
event_of(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
         struct fz_span *ret, struct fz_error *err)
{
    /* JSON may have white space before it; base64 cannot begin with a brace. */
    size_t at = 0;
    while (at < body.len && strchr(" \t\r\n", body.data[at]) && body.data[at])
        at++;
    *ret = body;
    if (at == body.len)
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "the body is empty");
    return body.data[at] == '{' ? FZ_OK : unpack(body, limits, arena, ret, err);
}

static void
store_post(void *app, struct http_request *request)
{
    struct api *api = app;
    struct fz_error err = {.offset = -1};
    struct fz_span event;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(api_limits(api)->report_memory);
    enum fz_code code = event_of(http_body(request), api_limits(api), &arena, &event, &err);
    const struct api_intake intake = {.api = api,
                                      .request = request,
                                      .project_id = http_project_id(request),
                                      .kind = {.kind = PROTO_INTAKE_EVENT},
                                      .body = event,
                                      .arena = &arena,
                                      .answer = sentry_answer_accepted};
    if (code == FZ_OK)
        code = api_intake(&intake, &err);
    if (code != FZ_OK)
        sentry_fail(request, 0, &err);
}

/* ---- routes -------------------------------------------------------------------------------- */

/* clang-format off */
static const struct api_route rows[] = {
    {"POST", "/api/{project}/envelope", "sentry_envelope", .scope = STORE_SCOPE_INGEST, .body = API_BODY_ENVELOPE, .takes = API_TAKES_ENVELOPES, .token_may_come_late = true, .handle = envelope_post},
    {"POST", "/api/{project}/store", "sentry_store", .scope = STORE_SCOPE_INGEST, .body = API_BODY_REPORT, .handle = store_post},
    {"POST", "/api/store", "sentry_store_old", .scope = STORE_SCOPE_INGEST, .body = API_BODY_REPORT, .handle = store_post},
    {"POST", "/api/{project}/minidump", "sentry_minidump", .scope = STORE_SCOPE_INGEST, .body = API_BODY_ENVELOPE, .handle = sentry_minidump_post},
    {"OPTIONS", "/api/{project}/envelope", "sentry_cors", .handle = api_cors_options},
    {"OPTIONS", "/api/{project}/store", "sentry_cors", .handle = api_cors_options},
    {"OPTIONS", "/api/store", "sentry_cors", .handle = api_cors_options},
};
/* clang-format on */
const struct api_routes clients_sentry_sdk = {
    .rows = rows,
    .n = FZ_ARRAY_LEN(rows),
    .defaults =
        {
            .flags = HTTP_ROUTE_CORS | HTTP_ROUTE_ANYWHERE,
            .find_token = sentry_find_key,
            .write_error = sentry_write_error,
            .limited = sentry_limited,
        },
};
