/*
 * What handlers answer with (http.h): the body packed and kept, errors without texts that only the
 * log may have, and the end of the request.
 */
#include "server/http/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/http/encode.h"
#include "server/http/pending.h"
#include "server/http/server.h"
#include "server/http/streaming.h"

/* Drop the headers of the body that will not be sent; those from before the handler stay. */
static void
forget_headers(struct http_request *request)
{
    struct http_server *server = request->server;
    http_answer_deinit(&request->answer);
    pthread_mutex_lock(&server->lock);
    const struct http_extra *extra = request->is_pending ? request->late.headers : NULL;
    for (; extra; extra = extra->next)
        http_add_header(request, extra->name, extra->value);
    pthread_mutex_unlock(&server->lock);
}

/* A long body goes to a shared content, in memory or a file. Over budget the client gets 503. */
static void
set_content(struct http_request *request, int status, const char *content_type, struct fz_span body)
{
    struct http_answer *answer = &request->answer;
    struct http_content *content = NULL;
    struct fz_error err = {.offset = -1};
    enum fz_code code = http_content_make(&request->server->contents, body, &request->client,
                                          request->token_id, &content, &err);
    if (code != FZ_OK) {
        forget_headers(request);
        http_answer_error(request, 503, &err, NULL);
        return;
    }
    http_answer_set(answer, status, content_type, fz_span_make(NULL, 0));
    answer->content = content;
}

static void
respond_encoded(struct http_request *request, const char *content_type,
                const struct http_encoded *encoded)
{
    const char *type = content_type ? content_type : "";
    /* Otherwise each slow reader of a long answer would hold a copy of its own. */
    if (encoded->body.len > HTTP_CONTENT_FROM)
        set_content(request, encoded->status, type, encoded->body);
    else
        http_answer_set(&request->answer, encoded->status, type, encoded->body);
    http_pending_end(request);
}

void
http_respond(struct http_request *request, int status, const char *content_type,
             struct fz_span body)
{
    struct http_encoded encoded;
    http_encode(request, status, content_type, body, &encoded);
    uint8_t *owned = encoded.owned;
    respond_encoded(request, content_type, &encoded);
    free(owned);
}

void
http_respond_packed(struct http_request *request, const char *content_type,
                    const struct fz_span forms[HTTP_CODINGS_N])
{
    struct http_encoded encoded;
    http_encode_packed(request, forms, &encoded);
    respond_encoded(request, content_type, &encoded);
}

/* The rest of a streamed answer, whose first piece is made. Taken. */
static void
send_stream(struct http_request *request, const char *content_type, struct http_stream *stream,
            bool is_plain, struct fz_span first)
{
    struct fz_error err = {.offset = -1};
    enum http_coding coding =
        is_plain ? HTTP_CODING_IDENTITY : http_encode_negotiate(request, content_type);
    enum fz_code code = http_stream_start(stream, coding, first, &err);
    if (code != FZ_OK) {
        http_stream_discard(stream);
        forget_headers(request);
        http_respond_error(request, &err);
        return;
    }
    http_encode_announce(request, coding);
    http_answer_set(&request->answer, 200, content_type, fz_span_make(NULL, 0));
    request->answer.stream = stream;
    http_pending_end(request);
}

void
http_respond_stream(struct http_request *request, const char *content_type,
                    const struct http_source *source)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer first = fz_buffer_make(0);
    struct http_stream *stream = NULL;
    bool ends = false;
    struct fz_error err = {.offset = -1};
    enum fz_code code = http_stream_create(request, source, http_request_unref, &stream, &err);
    if (code != FZ_OK) {
        source->destroy(source->user);
        forget_headers(request);
        http_respond_public(request, 503, &err, NULL);
        return;
    }
    code = http_stream_begin(stream, &first, &ends, &err);
    if (code == FZ_OK && !ends) {
        send_stream(request, content_type, stream, source->is_plain, fz_buffer_span(&first));
        return;
    }
    http_stream_discard(stream);
    if (code == FZ_OK) {
        http_respond(request, 200, content_type, fz_buffer_span(&first));
        return;
    }
    forget_headers(request);
    http_respond_error(request, &err);
}

void
http_respond_json(struct http_request *request, int status, struct fz_span json)
{
    http_respond(request, status, "application/json", json);
}

void
http_respond_public(struct http_request *request, int status, const struct fz_error *err,
                    const char *detail_json)
{
    http_answer_error(request, status, err, detail_json);
    http_pending_end(request);
}

/* ---- errors ------------------------------------------------------------------------------ */

/* Errors from inside the server name hosts, ports and paths, so their texts go to the log only. The
 * client gets a fixed sentence; the log has the rest under the request's id. */
static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *
public_text(const struct fz_error *err)
{
    if (err->code == FZ_E_NO_MEMORY)
        return "the server is out of memory; try again";
    if (err->code == FZ_E_INTERNAL)
        return "an internal error; the server's log has it under this request's X-Request-Id";
    if (begins(err->text, "database") || begins(err->text, "the database") ||
        begins(err->text, "the connection to the database"))
        return "the database is not available; try again";
    return "the server cannot do this just now; try again";
}

static void
make_public(const struct http_request *request, const struct fz_error *err, struct fz_error *ret)
{
    *ret = *err;
    if (err->code != FZ_E_UNAVAILABLE && err->code != FZ_E_NO_MEMORY && err->code != FZ_E_INTERNAL)
        return;
    char quoted[sizeof(err->text) * 2];
    fz_log(FZ_LOG_WARN, "error", "id=%s code=%s text=%s", request->id, fz_code_name(err->code),
           fz_log_quote(err->text, quoted, sizeof(quoted)));
    snprintf(ret->text, sizeof(ret->text), "%s", public_text(err));
    ret->offset = -1;
}

void
http_respond_error_status(struct http_request *request, int status, const struct fz_error *err,
                          const char *detail_json)
{
    struct fz_error shown;
    make_public(request, err, &shown);
    http_respond_public(request, status, &shown, detail_json);
}

void
http_respond_error(struct http_request *request, const struct fz_error *err)
{
    http_respond_error_status(request, fz_code_http_status(err->code), err, NULL);
}
