/*
 * Symbol uploaders of other products: each posts one form with a file, which may be a zip, a Mach-O
 * or anything else that POST /api/v1/symbols takes. They differ in the place of the token (one of
 * this server with the scope upload), the name of the file's part, and the answer that means
 * success.
 *
 * Two of them put the token in the form. The sender is then unknown until the whole body has
 * arrived, so it may have late_token_bytes at most, unless the URL has ?key=TOKEN too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/form.h"
#include "server/api/api_client.h"
#include "server/clients/clients.h"

struct uploader {
    const char *header, *query, *field; /* where the token is; NULL: not there */
    const char *file;                   /* the file's part */
    int status;                         /* the answer that means success */
    const char *type, *body;
};

static const char json[] = "application/json", text[] = "text/plain";

enum { DATADOG, BUGSNAG, COUNTLY, BUGFENDER, NEW_RELIC, INSTABUG, RAYGUN, SPLUNK, UPLOADERS };

static const struct uploader uploaders[UPLOADERS] = {
    [DATADOG] = {"DD-API-KEY", NULL, NULL, "symbols_archive", 202, json, "{}"},
    [BUGSNAG] = {NULL, "key", "apiKey", "dsym", 200, text, "OK"},
    /* The client compares it byte by byte, so no line break follows. */
    [COUNTLY] = {NULL, "app_key", NULL, "symbols", 200, json, "{\"result\":\"Success\"}"},
    [BUGFENDER] = {NULL, NULL, NULL, "file", 200, json, "{}"}, /* Authorization: Bearer */
    [NEW_RELIC] = {"X-APP-LICENSE-KEY", NULL, NULL, "dsym", 201, json, "{}"},
    [INSTABUG] = {NULL, "key", "application_token", "symbols_file", 200, json, "{}"},
    [RAYGUN] = {NULL, "authToken", NULL, "DsymFile", 200, json, "{}"},
    [SPLUNK] = {"X-Splunk-Mint-Auth-Token", NULL, NULL, "file", 200, json, "{}"},
};

static const struct uploader *
uploader_of(const struct http_request *request)
{
    return api_route_of(request)->user;
}

static const char *
find_token(const struct http_request *request, char room[API_TOKEN_ROOM])
{
    const struct uploader *uploader = uploader_of(request);
    const char *token = uploader->header ? http_header(request, uploader->header) : NULL;
    (void)room;
    while (token && *token == ' ')
        token++;
    if (!token && uploader->query)
        token = http_query(request, uploader->query);
    return token && *token ? token : NULL;
}

/* ---- the form ------------------------------------------------------------------------------- */

static const struct fz_form_part *
find_part(const struct fz_form_part *parts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    return NULL;
}

/* The file: the part of that name, or else the first that has a file's name. */
static const struct fz_form_part *
find_file(const struct fz_form_part *parts, size_t n, const char *name)
{
    const struct fz_form_part *found = find_part(parts, n, name);
    /* datadog-ci sends its metadata as a part "event", with a file name too. */
    for (size_t i = 0; !found && i < n; i++)
        if (parts[i].filename && strcmp(parts[i].name, "event") != 0)
            found = &parts[i];
    return found;
}

/* Authorise a request by the token in its form. *ret_status: the status of a refusal. */
static enum fz_code
authorize_late(struct api_call *call, const struct uploader *uploader, int body,
               const struct fz_form_part *parts, size_t n, int *ret_status, struct fz_error *err)
{
    const struct fz_form_part *part = uploader->field ? find_part(parts, n, uploader->field) : NULL;
    char token[API_TOKEN_ROOM] = "";
    /* A longer one is not a token of this server: it is refused as an empty one is. */
    if (part && part->len < sizeof(token)) {
        ssize_t len = pread(body, token, (size_t)part->len, (off_t)part->offset);
        token[len > 0 ? len : 0] = '\0';
    }
    struct api_grant grant;
    enum fz_code code = api_authorize_token(call->api, call->request, token, STORE_SCOPE_UPLOAD,
                                            &grant, ret_status, err);
    if (code == FZ_OK)
        api_call_enter(call, grant.project_id);
    return code;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* Some clients send a file up to five times more unless the answer is 400. */
static enum fz_code
refuse(const struct store_upload *upload, struct fz_error *err)
{
    /* The number comes from the database, where another version may have written it. */
    enum fz_code code = upload->error_code > FZ_OK && upload->error_code <= FZ_E_INTERNAL
                            ? (enum fz_code)upload->error_code
                            : FZ_E_INTERNAL;
    if (code == FZ_E_UNSUPPORTED) /* its status is 415 */
        code = FZ_E_MALFORMED;
    return fz_fail(err, code, "%s",
                   upload->error ? api_stored_error(upload->error) : "the upload failed");
}

static enum fz_code
check(struct api_call *call, void *user, bool is_late, bool *ret_done, struct fz_error *err)
{
    const struct uploader *uploader = uploader_of(call->request);
    struct store_upload upload;
    enum fz_code code =
        store_upload_get(call->store, call->project_id, user, call->arena, &upload, err);
    if (code != FZ_OK || (upload.state == STORE_UPLOAD_QUEUED && !is_late))
        return code;
    if (upload.state == STORE_UPLOAD_FAILED)
        return refuse(&upload, err);
    http_respond(call->request, uploader->status, uploader->type, fz_span_cstr(uploader->body));
    *ret_done = true;
    return FZ_OK;
}

static enum fz_code
upload_part(struct api_call *call, int body, const struct fz_form_part *file, struct fz_error *err)
{
    struct store_upload upload;
    /* An empty file is what a build script sends when its path was wrong. */
    if (!file || file->len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the form holds no file '%s', or an empty one",
                       uploader_of(call->request)->file);
    enum fz_code code =
        api_upload_add(call, body, file->offset, file->len, file->filename, &upload, err);
    if (code != FZ_OK)
        return code;
    char *id = strdup(upload.id);
    if (!id)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* The upload has a copy of its own in the blob store. */
    http_drop_body(call->request);
    return api_wait(call, check, id, -1, err);
}

static enum fz_code
post_form(struct api_call *call, struct fz_error *err)
{
    const struct uploader *uploader = uploader_of(call->request);
    const char *type = http_header(call->request, "Content-Type");
    char boundary[FZ_FORM_BOUNDARY];
    struct fz_form_part *parts = NULL;
    size_t n = 0;
    uint64_t size = 0;
    int status = 0, body = http_body_fd(call->request, &size);
    enum fz_code code = fz_form_boundary(type ? type : "", boundary, err);
    if (code == FZ_OK && size == 0)
        code = fz_fail(err, FZ_E_MALFORMED, "the body is empty");
    if (code == FZ_OK)
        code = fz_form_parse_fd(body, boundary, call->arena, &parts, &n, err);
    /* Without a token, the answer must not depend on whether the form can be read. */
    if (http_token_id(call->request) == 0) {
        code = authorize_late(call, uploader, body, parts, code != FZ_OK ? 0 : n, &status, err);
        if (code != FZ_OK) {
            /* Answered here, since the status of a refusal is not that of its code. */
            http_respond_error_status(call->request, status, err, NULL);
            return FZ_OK;
        }
    }
    return code != FZ_OK ? code : upload_part(call, body, find_file(parts, n, uploader->file), err);
}

/* ---- routes --------------------------------------------------------------------------------- */

/* clang-format off */
static const struct api_route rows[] = {
    {"POST", "/api/v2/srcmap", "uploader_datadog", .user = &uploaders[DATADOG]},
    {"POST", "/dsym", "uploader_bugsnag", .user = &uploaders[BUGSNAG], .token_may_come_late = true},
    {"POST", "/i/crash_symbols/upload_symbol", "uploader_countly", .user = &uploaders[COUNTLY]},
    {"POST", "/api/upload-symbols", "uploader_bugfender", .user = &uploaders[BUGFENDER]},
    {"POST", "/symbol", "uploader_new_relic", .user = &uploaders[NEW_RELIC]},
    {"POST", "/api/sdk/v3/symbols_files", "uploader_instabug", .user = &uploaders[INSTABUG], .token_may_come_late = true},
    {"POST", "/dashboard/{app}/settings/symbols", "uploader_raygun", .user = &uploaders[RAYGUN]},
    {"POST", "/api/v1/dsyms/upload", "uploader_splunk", .user = &uploaders[SPLUNK]},
};
/* clang-format on */
const struct api_routes clients_uploaders = {
    .rows = rows,
    .n = FZ_ARRAY_LEN(rows),
    .defaults =
        {
            .scope = STORE_SCOPE_UPLOAD,
            .body = API_BODY_SYMBOLS,
            .flags = HTTP_ROUTE_LOOSE,
            .run = post_form,
            .find_token = find_token,
        },
};
