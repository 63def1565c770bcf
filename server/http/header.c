/*
 * Decides from the header alone, before any of the body is read, whether a request is taken:
 * framing, target, route, token, coding, size, in that order.
 */
#include "server/http/header.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/pending.h"
#include "server/http/request.h"
#include "server/http/server.h"

enum { AUTHORIZE_MS = 1500 }; /* how long authorisation may take */

struct collection {
    struct http_request *request;
    size_t room;
};

static enum MHD_Result
collect_field(void *arg, enum MHD_ValueKind kind FZ_UNUSED, const char *name, size_t name_len,
              const char *value, size_t value_len)
{
    struct collection *c = arg;
    struct http_request *request = c->request;
    if (request->n_headers == c->room)
        return MHD_NO;
    /* Not fz_text_trim(): a control character must stay visible to http_framing_check(). */
    while (value_len && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
        value_len--;
    request->fields[request->n_headers++] = (struct http_field){
        .name = fz_span_make(name, name_len), .value = fz_span_make(value, value_len)};
    return MHD_YES;
}

/* libmicrohttpd frees its memory with the connection; a handler may run longer. */
static bool
copy_fields(struct http_request *request, size_t n)
{
    struct collection collection = {request, n < HTTP_MAX_HEADERS ? n : HTTP_MAX_HEADERS};
    request->fields = calloc(collection.room + 1, sizeof(*request->fields));
    if (!request->fields)
        return false;
    MHD_get_connection_values_n(request->mhd, MHD_HEADER_KIND, collect_field, &collection);
    size_t text_len = 0;
    for (size_t i = 0; i < request->n_headers; i++)
        text_len += request->fields[i].name.len + request->fields[i].value.len + 2;
    char *at = calloc(1, text_len + 1); /* zeroed: each text ends with a NUL */
    request->header_text = at;
    if (!at)
        request->n_headers = 0; /* they would point into what libmicrohttpd frees */
    for (size_t i = 0; at && i < request->n_headers; i++) {
        struct fz_span *spans[] = {&request->fields[i].name, &request->fields[i].value};
        for (size_t k = 0; k < FZ_ARRAY_LEN(spans); k++) {
            if (spans[k]->len)
                memcpy(at, spans[k]->data, spans[k]->len);
            spans[k]->data = (const uint8_t *)at;
            at += spans[k]->len + 1;
        }
    }
    return request->header_text != NULL;
}

#if MHD_VERSION < 0x00097701
static enum MHD_Result
measure_field(void *arg, enum MHD_ValueKind kind FZ_UNUSED, const char *name, size_t name_len,
              const char *value, size_t value_len)
{
    size_t *size = arg;
    /* Name and value are in one line of the connection's buffer: "name: value\r\n". */
    uintptr_t start = (uintptr_t)name, end = (uintptr_t)value + value_len;
    *size += end >= start + name_len && end - start <= HTTP_HEADER_MEMORY ? end - start + 2
                                                                          : HTTP_HEADER_MEMORY;
    return MHD_YES;
}

/*
 * libmicrohttpd 0.9 accepts lines that end in a bare LF, folded lines, NULs and runs of spaces,
 * which a proxy may read in another way. It does not report them, but it reports the length of the
 * header: that must be the sum of well-formed lines. (Version 1 refuses such headers itself.)
 */
static bool
is_well_formed(struct http_request *request, const char *method, const char *version)
{
    size_t want = strlen(method) + 1 + request->raw_uri_len + 1 + strlen(version) + 2 + 2;
    MHD_get_connection_values_n(request->mhd, MHD_HEADER_KIND, measure_field, &want);
    return want == request->header_size;
}
#else
static bool
is_well_formed(struct http_request *request, const char *method, const char *version)
{
    (void)request, (void)method, (void)version;
    return true;
}
#endif

static enum fz_code
check_header(struct http_request *request, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    /* For the log and the counters of bytes, and for the check of its lines. */
    request->header_size = info ? info->header_size : 0;
    /* Without a function it only counts the fields. */
    int n = MHD_get_connection_values_n(request->mhd, MHD_HEADER_KIND, NULL, NULL);
    bool is_copied = copy_fields(request, n > 0 ? (size_t)n : 0);
    request->answer.close = true; /* until the framing is known to be sound */
    if (n > HTTP_MAX_HEADERS)
        return http_body_refuse(request, 431, FZ_E_LIMIT, HTTP_MAX_HEADERS,
                                "the request has more than %d header fields",
                                (int)HTTP_MAX_HEADERS);
    if (!is_copied)
        return http_body_refuse(request, 503, FZ_E_NO_MEMORY, 0, "out of memory");
    /* Before any refusal below, so that its line in the log names the client and has the
     * client's id. */
    http_client_find(&request->server->proxies, &request->conn->address, request->fields,
                     request->n_headers, &request->client);
    http_request_id_take(request);
    if (!http_filter_has_seen(request->conn))
        return http_body_refuse(request, 500, FZ_E_INTERNAL, 0,
                                "the header has passed by the filter of this program (filter.h)");
    if (!is_well_formed(request, method, version))
        return http_body_refuse(request, 400, FZ_E_MALFORMED, 0,
                                "the header has a folded line, a bare LF, a NUL or stray spaces");
    struct fz_error err;
    enum fz_code code = http_framing_check(strcmp(version, "HTTP/1.0") != 0, request->fields,
                                           request->n_headers, &request->framing, &err);
    if (code != FZ_OK)
        return http_body_refuse(request, code == FZ_E_UNSUPPORTED ? 417 : 400, code, 0, "%s",
                                err.text);
    request->answer.close = false;
    return FZ_OK;
}

/* What a page of another origin needs to read an answer (the Fetch standard's CORS protocol). */
static void
answer_cors(struct http_request *request)
{
    static const char exposed[] = "ETag, X-Request-Id, Retry-After, Content-Disposition, Location, "
                                  "X-Sentry-Error, X-Sentry-Rate-Limits";
    const char *origin = http_header(request, "Origin"), *origins = request->server->cors_origins;
    unsigned flags = request->route->flags;
    if (flags & HTTP_ROUTE_CORS) {
        http_add_header(request, "Access-Control-Allow-Origin", "*");
    } else if ((flags & HTTP_ROUTE_ORIGINS) && origins) {
        /* Caches must not give one origin's answer to another, or to a request without one. */
        http_add_header(request, "Vary", "Origin");
        if (!http_origins_allows(origins, origin))
            return;
        http_add_header(request, "Access-Control-Allow-Origin", origin);
    } else {
        return;
    }
    http_add_header(request, "Access-Control-Expose-Headers", exposed);
}

/* "GET" routes answer HEAD too. */
static bool
method_fits(const struct http_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

static enum fz_code
find_route(struct http_request *request, const char *method)
{
    struct http_server *server = request->server;
    char allow[128] = "";
    for (size_t i = 0; i < server->n_routes; i++) {
        const struct http_route *route = &server->routes[i];
        enum http_match how = route->flags & HTTP_ROUTE_ANYWHERE ? HTTP_MATCH_ANYWHERE
                              : route->flags & HTTP_ROUTE_LOOSE  ? HTTP_MATCH_LOOSE
                                                                 : HTTP_MATCH_EXACT;
        if (!http_uri_match(&request->uri, route->pattern, how, &request->params))
            continue;
        if (method_fits(route, method)) {
            request->route = route;
            request->metrics = server->route_metrics[i];
            answer_cors(request);
            return FZ_OK;
        }
        /* Go on: another row may have the same pattern with this method. */
        size_t len = strlen(allow);
        snprintf(allow + len, sizeof(allow) - len, "%s%s%s", len ? ", " : "", route->method,
                 strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
    }
    if (!*allow)
        return http_body_refuse(request, 404, FZ_E_NOT_FOUND, 0, "there is nothing at this path");
    /* RFC 9110, 15.5.6: a 405 must name them. */
    http_add_header(request, "Allow", allow);
    return http_body_refuse(request, 405, FZ_E_UNSUPPORTED, 0,
                            "this path does not answer to that method; allowed are %s", allow);
}

static enum fz_code
refuse_token(struct http_request *request, enum fz_code code, int status, const char *text)
{
    /* 0: the code says it all. */
    if (status < 400 || status > 599)
        status = fz_code_http_status(code);
    /* RFC 9110, 15.5.2: a 401 must name a scheme. */
    if (status == 401)
        http_add_header(request, "WWW-Authenticate", "Bearer");
    return http_body_refuse(request, status, code, 0, "%s", text);
}

static enum fz_code
check_token(struct http_request *request)
{
    struct http_server *server = request->server;
    /* Open to all; such a handler may still ask for a token itself. */
    if (!request->route->scope || !server->authorize)
        return FZ_OK;
    struct fz_error err = {.code = FZ_E_DENIED, .offset = -1};
    int status = 0;
    int64_t project_id = 0, token_id = 0;
    enum fz_code code = server->authorize(server->app, request, request->route->scope, &project_id,
                                          &token_id, &status, &err);
    if (request->step == HTTP_STEP_AUTHORIZE) /* another thread owns the request from now on */
        return FZ_OK;
    request->project_id = project_id;
    request->token_id = token_id;
    return code != FZ_OK ? refuse_token(request, code, status, err.text) : FZ_OK;
}

void
http_authorize_later(struct http_request *request)
{
    request->step = HTTP_STEP_AUTHORIZE;
    atomic_store(&request->is_suspended, true);
    MHD_suspend_connection(request->mhd);
    http_pending_add(request, AUTHORIZE_MS);
}

void
http_authorize_end(struct http_request *request, enum fz_code code, int status, int64_t project_id,
                   int64_t token_id, const struct fz_error *err)
{
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->lock);
    bool in_time = request->is_pending; /* else its time is over and the HTTP thread owns it */
    if (in_time && code != FZ_OK)
        fz_ignore(refuse_token(request, code, status, err->text)); /* it returns `code` */
    else if (in_time) {
        request->project_id = project_id;
        request->token_id = token_id;
    }
    pthread_mutex_unlock(&server->lock);
    http_pending_end(request);
}

enum fz_code
http_header_refuse_crowd(struct http_request *request)
{
    atomic_fetch_add(&request->server->metrics->requests_limited[METRICS_LIMITED_LOAD], 1);
    http_log_note(request, "limit", "reports_waiting");
    return http_body_refuse(request, 503, FZ_E_UNAVAILABLE, 0,
                            "more reports come in than the server can store; try again later");
}

static enum fz_code
check_body(struct http_request *request)
{
    const struct http_route *route = request->route;
    uint64_t max = http_body_max(request);
    if (request->framing.content_length > max) {
        /* The body will not be read, so the connection cannot carry another request. */
        request->answer.close = true;
        return http_body_refuse(
            request, 413, FZ_E_LIMIT, max, "a body of %llu bytes is larger than the limit of %llu",
            (unsigned long long)request->framing.content_length, (unsigned long long)max);
    }
    bool has_body = request->framing.content_length > 0 || request->framing.chunked;
    if (route->flags & HTTP_ROUTE_QUEUES &&
        !http_load_has_room(&request->server->load, request->project_id))
        return http_header_refuse_crowd(request);
    struct fz_error err;
    /* Without a body its coding does not matter: some clients always send the field. */
    if (route->body == HTTP_BODY_NONE || !has_body)
        return FZ_OK;
    enum fz_code code =
        http_framing_coding(request->fields, request->n_headers, &request->coding, &err);
    if (code != FZ_OK) {
        http_add_header(request, "Accept-Encoding", "gzip, deflate, zstd"); /* RFC 9110, 12.5.3 */
        return http_body_refuse(request, 415, code, 0, "%s", err.text);
    }
    return FZ_OK;
}

enum fz_code
http_header_check(struct http_request *request, const char *method, const char *version)
{
    enum fz_code code = check_header(request, method, version);
    if (code != FZ_OK)
        return code;
    if (request->uri_code) {
        /* An offset means a byte that no target may have: a proxy may have split the request line
         * elsewhere, so the connection is not reused. */
        request->answer.close = request->uri_error.offset >= 0;
        int status = request->uri_code == FZ_E_LIMIT ? 414 : fz_code_http_status(request->uri_code);
        return http_body_refuse(request, status, request->uri_code, 0, "%s",
                                request->uri_error.text);
    }
    code = find_route(request, method);
    if (code == FZ_OK)
        code = check_token(request);
    if (code == FZ_OK && request->step != HTTP_STEP_AUTHORIZE)
        code = check_body(request);
    return code;
}

enum fz_code
http_header_finish(struct http_request *request)
{
    return request->body_code ? request->body_code : check_body(request);
}
