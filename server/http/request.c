#include "server/http/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/server.h"

enum { NOTES_BYTES = 512 };

static void
request_destroy(struct http_request *request)
{
    struct http_server *server = request->server;
    http_uri_deinit(&request->uri);
    free(request->header_text);
    free(request->fields);
    free(request->notes);
    http_body_deinit(request);
    http_load_leave(&server->load, &request->place);
    http_answer_deinit(&request->answer);
    http_answer_deinit(&request->late);
    free(request);
    http_server_unref(server);
}

void
http_request_unref(struct http_request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) == 1)
        request_destroy(request);
}

/* ---- its id ------------------------------------------------------------------------------ */

bool
http_request_id_is_sane(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(text);
    return len > 0 && len < HTTP_ID_TEXT && strspn(text, plain) == len;
}

void
http_request_id_make(struct http_request *request)
{
    uint8_t bytes[8];
    fz_random(bytes, sizeof(bytes));
    fz_text_hex(fz_span_make(bytes, sizeof(bytes)), request->id);
}

void
http_request_id_take(struct http_request *request)
{
    const char *sent = http_header(request, "X-Request-Id");
    if (sent && http_request_id_is_sane(sent))
        snprintf(request->id, sizeof(request->id), "%s", sent);
}

/* ---- what handlers ask it for ------------------------------------------------------------ */

const void *
http_route_user(const struct http_request *request)
{
    return request->route ? request->route->user : NULL;
}

void
http_limit_body(struct http_request *request, uint64_t max_bytes)
{
    request->own_max = max_bytes;
}

const char *
http_param(const struct http_request *request, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < request->params.n; i++) {
        if (request->params.name_len[i] == len &&
            memcmp(request->params.pairs[i].name, name, len) == 0)
            return request->params.pairs[i].value;
    }
    return NULL;
}

const char *
http_query(const struct http_request *request, const char *name)
{
    return http_uri_query(&request->uri, name);
}

const char *
http_query_name(const struct http_request *request, size_t i)
{
    return i < request->uri.n_query ? request->uri.query[i].name : NULL;
}

const char *
http_query_value(const struct http_request *request, size_t i)
{
    return i < request->uri.n_query ? request->uri.query[i].value : NULL;
}

const char *
http_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (http_name_is(request->fields[i].name, name))
            return (const char *)request->fields[i].value.data;
    }
    return NULL;
}

size_t
http_header_count(const struct http_request *request, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < request->n_headers; i++)
        n += http_name_is(request->fields[i].name, name);
    return n;
}

struct fz_span
http_body(const struct http_request *request)
{
    return fz_span_make(request->body.data, request->body.len);
}

int
http_body_fd(const struct http_request *request, uint64_t *ret_size)
{
    *ret_size = request->file_size;
    return request->fd;
}

int64_t
http_project_id(const struct http_request *request)
{
    return request->project_id;
}

int64_t
http_token_id(const struct http_request *request)
{
    return request->token_id;
}

void
http_request_client(const struct http_request *request, struct http_client *ret)
{
    *ret = request->client;
}

bool
http_from_proxy(const struct http_request *request)
{
    return http_proxies_trust(&request->server->proxies, &request->conn->address);
}

const char *
http_client_ip(const struct http_request *request)
{
    return request->client.text;
}

void
http_log_note(struct http_request *request, const char *key, const char *value)
{
    char quoted[160];
    fz_log_quote(value, quoted, sizeof(quoted));
    /* Most requests have none. */
    if (!request->notes)
        request->notes = calloc(1, NOTES_BYTES);
    if (!request->notes)
        return;
    size_t len = strlen(request->notes);
    int more = snprintf(request->notes + len, NOTES_BYTES - len, " %s=%s", key, quoted);
    if (more < 0 || (size_t)more >= NOTES_BYTES - len)
        request->notes[len] = '\0'; /* whole notes or none */
}

/* ---- its line in the log ----------------------------------------------------------------- */

/* A method is any text of the client's; only known ones go into the log verbatim. */
static const char *
method_name(const char *method)
{
    static const char *const known[] = {"GET",   "HEAD",    "POST",  "PUT",    "DELETE",
                                        "PATCH", "OPTIONS", "TRACE", "CONNECT"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(known); i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return *method ? "OTHER" : "-";
}

/* Keys and tokens, also with characters as %41: a path without a route does not say which part is one. What is left of it
 * shows which are the same. */
static void
mask_secrets(char *path, bool is_cut)
{
    static const char of_secrets[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_%";
    static const char mark[] = "***";
    /* Never longer than what it stands for: the path ends where the buffer does. */
    enum { SECRET_MIN = 20, LEFT = 4, MASKED = LEFT + sizeof(mark) - 1 };
    while (*path) {
        size_t len = strspn(path, of_secrets);
        /* At the end of what was cut, it may be the beginning of one. */
        if (len >= SECRET_MIN || (is_cut && len >= MASKED && !path[len])) {
            memcpy(path + LEFT, mark, sizeof(mark) - 1);
            memmove(path + MASKED, path + len, strlen(path + len) + 1);
            len = MASKED;
        }
        path += len;
        path += *path != '\0';
    }
}

void
http_log_request(struct http_request *request, int status, int64_t took_us, bool delivered)
{
    struct metrics *metrics = request->server->metrics;
    /* 400: libmicrohttpd refused a header by itself. 499: the client went away first. */
    if (!status)
        status = request->step == HTTP_STEP_NEW ? 400 : 499;
    uint64_t in = request->bytes_in + request->header_size;
    atomic_fetch_add(&metrics->http_bytes_in, in);
    atomic_fetch_add(&metrics->http_bytes_out, request->bytes_out);
    atomic_fetch_add(&request->metrics->by_class[status / 100 < 6 ? status / 100 : 0], 1);
    metrics_observe_us(request->metrics->bucket, &request->metrics->sum_us, (uint64_t)took_us);
    char path[sizeof(request->path) + 16] = "";
    /* A route's name says enough otherwise, and paths may hold keys (/kscrash/{key}). */
    if (!request->route) {
        char masked[sizeof(request->path)], quoted[sizeof(request->path) + 3];
        snprintf(masked, sizeof(masked), "%s", request->path);
        mask_secrets(masked, strlen(masked) == sizeof(masked) - 1);
        snprintf(path, sizeof(path), " path=%s", fz_log_quote(masked, quoted, sizeof(quoted)));
    }
    fz_log(status >= 500 ? FZ_LOG_WARN : FZ_LOG_INFO, "request",
           "id=%s method=%s route=%s status=%d ms=%.1f in=%llu out=%llu ip=%s%s%s%s", request->id,
           method_name(request->method), request->route ? request->route->name : "none", status,
           (double)took_us / 1000, (unsigned long long)in, (unsigned long long)request->bytes_out,
           request->client.text, delivered ? "" : " sent=no", path,
           request->notes ? request->notes : "");
}
