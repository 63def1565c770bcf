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
#include "server/ingest/ingest.h"

/* ---- envelopes ----------------------------------------------------------------------------- */

/* What an envelope contains. */
struct contents {
    struct sentry_sender sender;
    char id[FZ_UUID_TEXT];
    bool has_event, has_counted, has_sessions; /* counted: sessions or client reports */
};

/* Items that make a report, see server/ingest/sentry/envelope.c. */
static bool
is_report(const struct sentry_item *item)
{
    static const char *const types[] = {"event", "feedback", "user_report"};
    static const char *const kinds[] = {"event.minidump", "event.applecrashreport"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(types); i++) {
        if (fz_span_is(item->type, types[i]))
            return true;
    }
    struct fz_span kind = sentry_header_text(item->header, "attachment_type");
    return fz_span_is(kind, kinds[0]) || fz_span_is(kind, kinds[1]);
}

/* Reads all items first: an envelope with broken framing is not taken in half. */
static enum fz_code
look_through(struct fz_span body, struct contents *ret, struct fz_error *err)
{
    struct contents found = {.id = ""};
    struct sentry_items items;
    struct sentry_item item;
    struct fz_uuid id;
    bool any = true;
    enum fz_code code = sentry_items_start(body, &items, err);
    if (code == FZ_OK && fz_uuid_parse(sentry_header_text(items.header, "event_id"), &id))
        fz_uuid_format(&id, found.id);
    while (code == FZ_OK && any) {
        code = sentry_items_next(&items, &item, &any, err);
        if (code == FZ_OK && any) {
            found.has_event = found.has_event || is_report(&item);
            found.has_counted = found.has_counted || sentry_is_counted(&item);
            found.has_sessions = found.has_sessions || sentry_is_session(&item);
        }
    }
    if (code == FZ_OK)
        *ret = found;
    return code;
}

/* The key may be only in the envelope. False: the request was answered. */
static bool
find_sender(struct api *api, struct http_request *request, struct sentry_sender *ret)
{
    struct sentry_items items;
    struct api_grant grant;
    struct fz_error err;
    char room[API_TOKEN_ROOM];
    int status = 0;
    *ret = (struct sentry_sender){http_project_id(request), http_token_id(request)};
    if (ret->token_id != 0)
        return true;
    const char *key = NULL;
    if (sentry_items_start(http_body(request), &items, &err) == FZ_OK)
        key = sentry_dsn_key(items.header, room);
    if (api_authorize_token(api, request, key, STORE_SCOPE_INGEST, &grant, &status, &err) !=
        FZ_OK) {
        sentry_fail(request, status, &err);
        return false;
    }
    *ret = (struct sentry_sender){grant.project_id, grant.token_id};
    return true;
}

/* False: the request was answered with 429. */
static bool
is_admitted(struct api *api, struct http_request *request, const struct sentry_sender *sender,
            enum api_takes takes)
{
    const struct api_grant grant = {.project_id = sender->project_id, .token_id = sender->token_id};
    struct fz_error err;
    int status = 0;
    if (api_admit(api, request, &grant, takes, &status, &err) == FZ_OK)
        return true;
    sentry_fail(request, status, &err);
    return false;
}

/* The event, once the sessions are counted. */
static void
take_event(struct api *api, struct http_request *request, const struct contents *found)
{
    struct fz_error err = {.offset = -1};
    if (!found->has_event)
        sentry_answer_id(request, found->id);
    else if (is_admitted(api, request, &found->sender, API_TAKES_REPORTS) &&
             sentry_intake(api, request, &found->sender, http_body(request), NULL, &err) != FZ_OK)
        sentry_fail(request, 0, &err);
}

static enum fz_code
count_sessions(struct api_call *call, struct fz_error *err)
{
    const struct contents *found = call->user;
    struct sentry_counted *counted;
    if (!is_admitted(call->api, call->request, &found->sender,
                     found->has_sessions ? API_TAKES_SESSIONS : API_TAKES_CLIENT_REPORTS))
        return FZ_OK;
    enum fz_code code = sentry_read_counted(http_body(call->request), api_limits(call->api),
                                            call->arena, &counted, err);
    if (code == FZ_OK)
        code = store_session_put(call->store, found->sender.project_id, counted->sessions,
                                 counted->n_sessions, counted->discarded, counted->n_discarded,
                                 call->arena, err);
    if (code == FZ_OK)
        take_event(call->api, call->request, found);
    return code;
}

static void
envelope_post(void *app, struct http_request *request)
{
    struct sentry_sender sender;
    struct contents found;
    struct fz_error err = {.offset = -1};
    /* Without a key, the answer must not depend on the body. */
    if (!find_sender(app, request, &sender))
        return;
    if (look_through(http_body(request), &found, &err) != FZ_OK) {
        sentry_fail(request, 0, &err);
        return;
    }
    found.sender = sender;
    if (found.has_counted)
        api_run(app, request, count_sessions, &found);
    else
        take_event(app, request, &found);
}

/* ---- store --------------------------------------------------------------------------------- */

/* For http_inflate_feed(). */
static enum fz_code
append(void *sink, struct fz_span bytes, struct fz_error *err)
{
    fz_buffer_append(sink, bytes.data, bytes.len);
    return fz_buffer_done(sink, err);
}

/* raven's base64 of zlib. The result is in the arena. */
static enum fz_code
unpack(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
       struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct fz_span packed;
    enum fz_code code = fz_text_base64_decode(body, arena, &packed, err);
    if (code == FZ_E_MALFORMED)
        return fz_fail_at(err, code, 0, "neither JSON nor base64 of zlib");
    if (code == FZ_OK)
        code =
            http_inflate_create(HTTP_CODING_DEFLATE, limits->report_inflated_bytes, &inflate, err);
    if (code == FZ_OK)
        code = http_inflate_feed(inflate, packed, append, &out, err);
    if (code == FZ_OK)
        code = http_inflate_finish(inflate, err);
    if (code != FZ_OK)
        return code;
    char *copy = fz_arena_text(arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(arena, err);
    *ret = fz_span_make(copy, out.len);
    return FZ_OK;
}

/* A body that only its path marks as an event ({"message":"hi"}) is put into an envelope. */
static enum fz_code
as_event(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
         struct fz_span *ret, struct fz_error *err)
{
    size_t at = 0;
    while (at < body.len && strchr(" \t\r\n", body.data[at]) && body.data[at])
        at++;
    struct fz_span event = body;
    enum fz_code code = FZ_OK;
    if (at == body.len)
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "the body is empty");
    if (body.data[at] != '{')
        code = unpack(body, limits, arena, &event, err);
    if (code != FZ_OK)
        return code;
    const char *format = ingest_detect(event);
    if (format && strcmp(format, "sentry") == 0) {
        *ret = event;
        return FZ_OK;
    }
    return sentry_make_envelope(event, NULL, 0, arena, ret, err);
}

static void
store_post(void *app, struct http_request *request)
{
    struct api *api = app;
    const struct sentry_sender sender = {http_project_id(request), http_token_id(request)};
    struct fz_error err = {.offset = -1};
    struct fz_span event;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(api_limits(api)->report_memory);
    enum fz_code code = as_event(http_body(request), api_limits(api), &arena, &event, &err);
    if (code == FZ_OK)
        code = sentry_intake(api, request, &sender, event, &arena, &err);
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
