/*
 * Answers: JSON, errors in the API's one form, and the two ways out (libmicrohttpd's queue, or the
 * socket itself for refusals in the middle of a body).
 */
#include "server/http/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json/write.h"
#include "server/http/conn.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/streaming.h"

enum {
    ERROR_BYTES = 16 * 1024,
    RETRY_AFTER_S = 5,
};

static const char JSON_TYPE[] = "application/json";

void
http_answer_set(struct http_answer *answer, int status, const char *content_type,
                struct fz_span body)
{
    answer->status = status;
    snprintf(answer->content_type, sizeof(answer->content_type), "%s", content_type);
    http_content_unref(answer->content);
    answer->content = NULL;
    free(answer->body);
    answer->body = malloc(body.len ? body.len : 1);
    answer->len = answer->body ? body.len : 0;
    /* Without memory for its body, a 200 would claim to be complete. */
    if (!answer->body)
        answer->status = 503;
    else if (body.len)
        memcpy(answer->body, body.data, body.len);
}

static bool
has_header(const struct http_answer *answer, const char *name)
{
    for (const struct http_extra *extra = answer->headers; extra; extra = extra->next) {
        if (strcasecmp(extra->name, name) == 0)
            return true;
    }
    return false;
}

static void
add_header(struct http_answer *answer, const char *name, const char *value)
{
    struct http_extra *extra = calloc(1, sizeof(*extra));
    if (!extra)
        return; /* better an answer without this header than no answer */
    extra->name = strdup(name);
    extra->value = strdup(value);
    extra->next = answer->headers;
    answer->headers = extra;
    /* A line break would begin another field, or another answer. */
    if (!extra->name || !extra->value || strpbrk(name, "\r\n") || strpbrk(value, "\r\n")) {
        answer->headers = extra->next;
        free(extra->name);
        free(extra->value);
        free(extra);
    }
}

void
http_add_header(struct http_request *request, const char *name, const char *value)
{
    add_header(&request->answer, name, value);
}

void
http_answer_deinit(struct http_answer *answer)
{
    for (struct http_extra *extra = answer->headers; extra;) {
        struct http_extra *next = extra->next;
        free(extra->name);
        free(extra->value);
        free(extra);
        extra = next;
    }
    answer->headers = NULL;
    free(answer->body);
    answer->body = NULL;
    http_content_unref(answer->content);
    answer->content = NULL;
    http_stream_discard(answer->stream);
    answer->stream = NULL;
}

static void
write_error(const struct fz_error *err, const char *detail_json, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "error", '{');
    json_write_text(&w, "code", fz_code_name(err->code));
    json_write_text(&w, "message", err->text);
    if (detail_json) {
        json_write_raw(&w, "detail", detail_json);
    } else if (err->offset >= 0) {
        json_write_open(&w, "detail", '{');
        json_write_i64(&w, "offset", err->offset);
        json_write_close(&w, '}');
    }
    json_write_close(&w, '}');
    json_write_close(&w, '}');
}

static void
answer_error(struct http_request *request, struct http_answer *answer, int status,
             const struct fz_error *err, const char *detail_json)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer json = fz_buffer_make(ERROR_BYTES);
    if (request->route && request->route->write_error)
        request->route->write_error(err, status, detail_json, &json);
    else
        write_error(err, detail_json, &json);
    /* RFC 9110, 10.2.3. Without it, many clients repeat the request at once. */
    if ((status == 429 || status == 503) && !has_header(answer, "Retry-After")) {
        char seconds[16];
        snprintf(seconds, sizeof(seconds), "%d", (int)RETRY_AFTER_S);
        add_header(answer, "Retry-After", seconds);
    }
    /* A client needs the code and the message more than the detail. */
    if (json.failed && detail_json) /* the detail did not fit */
        answer_error(request, answer, status, err, NULL);
    else
        http_answer_set(answer, status, JSON_TYPE, fz_buffer_span(&json));
}

void
http_answer_error(struct http_request *request, int status, const struct fz_error *err,
                  const char *detail_json)
{
    answer_error(request, &request->answer, status, err, detail_json);
}

void
http_answer_keep_headers(struct http_request *request)
{
    /* Only the first time: a request that waited for its authorisation comes here twice. */
    const struct http_extra *extra = request->late.headers ? NULL : request->answer.headers;
    for (; extra; extra = extra->next)
        add_header(&request->late, extra->name, extra->value);
}

/* The answer that the client gets. On the HTTP thread, while it owns the request. */
static struct http_answer *
answer_of(struct http_request *request)
{
    return request->abandoned ? &request->late : &request->answer;
}

void
http_answer_late(struct http_request *request)
{
    struct fz_error err = {.offset = -1};
    /* There is a fallback, which says more than a 503 could. */
    if (request->late.status)
        return;
    fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE,
                      "the server could not answer in time; try again")); /* only fills err */
    answer_error(request, &request->late, 503, &err, NULL);
}

void
http_set_fallback(struct http_request *request, int status, struct fz_span json)
{
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->lock);
    if (request->is_pending)
        http_answer_set(&request->late, status, JSON_TYPE, json);
    pthread_mutex_unlock(&server->lock);
}

void
http_answer_refusal(struct http_request *request)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    const struct fz_error *err = &request->body_error;
    /* As a number too, so that a program need not read the message. */
    if (request->refused_limit) {
        struct json_write w = json_write_start(&detail);
        json_write_open(&w, NULL, '{');
        json_write_u64(&w, "limit", request->refused_limit);
        if (err->offset >= 0)
            json_write_i64(&w, "offset", err->offset);
        json_write_close(&w, '}');
    }
    http_answer_error(request, request->body_status, err,
                      request->refused_limit ? fz_buffer_cstr(&detail) : NULL);
}

/* A large answer being sent; outlives the request. In blocks, so that the sweeper sees progress. */
struct sending {
    struct http_conn *conn;
    struct http_content *content;
};

static ssize_t
read_content(void *arg, uint64_t pos, char *to, size_t max)
{
    struct sending *sending = arg;
    ssize_t n = http_content_read(sending->content, pos, to, max);
    if (n <= 0)
        return n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    http_conn_touch(sending->conn);
    return n;
}

static void
free_sending(void *arg)
{
    struct sending *sending = arg;
    http_content_unref(sending->content);
    free(sending);
}

static struct MHD_Response *
make_response(struct http_request *request)
{
    struct http_answer *answer = answer_of(request);
    struct MHD_Response *response;
    if (answer->stream) {
        response = http_stream_attach(answer->stream);
        if (response)
            answer->stream = NULL; /* taken; it counts what it sends */
        return response;
    }
    request->bytes_out = answer->content ? http_content_len(answer->content) : answer->len;
    if (!answer->content) {
        /* It is sent after the handler has ended, so libmicrohttpd frees it. */
        response =
            MHD_create_response_from_buffer(answer->len, answer->body, MHD_RESPMEM_MUST_FREE);
        if (response)
            answer->body = NULL; /* taken */
        return response;
    }
    struct sending *sending = calloc(1, sizeof(*sending));
    if (!sending)
        return NULL;
    *sending = (struct sending){.conn = request->conn, .content = answer->content};
    response = MHD_create_response_from_callback(
        http_content_len(answer->content), HTTP_CONTENT_BLOCK, read_content, sending, free_sending);
    if (response)
        answer->content = NULL; /* taken */
    else
        free(sending);
    return response;
}

enum MHD_Result
http_answer_queue(struct http_request *request)
{
    struct http_answer *answer = answer_of(request);
    struct MHD_Response *response = make_response(request);
    if (!response)
        return MHD_NO;
    for (const struct http_extra *extra = answer->headers; extra; extra = extra->next)
        fz_ignore(!MHD_add_response_header(response, extra->name, extra->value)); /* no memory */
    /* Reports are private and foreign: no cache may keep them, no browser guess their type. */
    static const char *const standard[][2] = {{"X-Content-Type-Options", "nosniff"},
                                              {"Cache-Control", "no-store"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(standard); i++) {
        if (!has_header(answer, standard[i][0]))
            fz_ignore(!MHD_add_response_header(response, standard[i][0], standard[i][1]));
    }
    fz_ignore(!MHD_add_response_header(response, "X-Request-Id", request->id));
    if (*answer->content_type)
        fz_ignore(!MHD_add_response_header(response, "Content-Type", answer->content_type));
    /* After a body that was not read, and when the server is about to end, there is no next
     * request. */
    if (answer->close || atomic_load(&request->server->stopping))
        fz_ignore(!MHD_add_response_header(response, "Connection", "close"));
    enum MHD_Result result = MHD_queue_response(request->mhd, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

void
http_answer_send_now(struct http_request *request)
{
    struct http_answer *answer = answer_of(request);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(2 * ERROR_BYTES);
    fz_buffer_printf(&text,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                     "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
                     "X-Request-Id: %s\r\nConnection: close\r\n",
                     answer->status, MHD_get_reason_phrase_for((unsigned)answer->status),
                     answer->content_type, answer->len, request->id);
    for (const struct http_extra *extra = answer->headers; extra; extra = extra->next)
        fz_buffer_printf(&text, "%s: %s\r\n", extra->name, extra->value);
    fz_buffer_text(&text, "\r\n");
    /* RFC 9110, 9.3.2: no body for HEAD, even of an error. */
    if (strcmp(request->method, "HEAD") != 0)
        fz_buffer_append(&text, answer->body, answer->len);
    request->bytes_out = answer->len;
    /* A kilobyte fits into the empty send buffer; a client that leaves no room gets the end of the
     * connection alone. */
    ssize_t sent = send(request->conn->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
    shutdown(request->conn->fd, SHUT_WR);
}
