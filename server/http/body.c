/*
 * Bodies: collected as sent and counted first, then inflated or written by a body thread, so that
 * neither the disk nor a decoder delays the thread that serves all connections.
 *
 * Memory for bodies is charged to a budget; it grows with the bytes that have arrived, never with
 * what a Content-Length announces. Senders without a token have a budget of their own, for memory
 * and disk.
 */
#include "server/http/body.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/http/content.h"
#include "server/http/request.h"
#include "server/http/server.h"

/* Small buffers double, larger ones grow by a quarter, so that the budget is never charged much
 * more than the bytes that have arrived. */
enum { FIRST_ROOM = 4 * 1024, DOUBLE_UP_TO = 256 * 1024 };

enum {
    STAGE = 256 * 1024,      /* a streamed body goes to disk in steps of this size, */
    STAGE_SMALL = 64 * 1024, /* or of this one while the sender is unknown */
};

enum fz_code
http_body_refuse(struct http_request *request, int status, enum fz_code code, uint64_t limit,
                 const char *fmt, ...)
{
    char text[sizeof(request->body_error.text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fz_ignore(fz_fail(&request->body_error, code, "%s", text)); /* recorded, not passed up */
    request->body_code = code;
    request->body_status = status;
    request->refused_limit = limit;
    return code;
}

static uint64_t
own_limit(const struct http_request *request, uint64_t of_route)
{
    return request->own_max && request->own_max < of_route ? request->own_max : of_route;
}

uint64_t
http_body_max(const struct http_request *request)
{
    const struct http_route *route = request->route;
    return route->body == HTTP_BODY_NONE ? 0 : own_limit(request, route->max_bytes);
}

static uint64_t
max_inflated(const struct http_request *request)
{
    return own_limit(request, request->route->max_inflated_bytes);
}

static bool
is_unknown(const struct http_request *request)
{
    return request->token_id == 0;
}

static enum fz_code
charge(struct http_request *request, struct http_budget *budget, struct http_holding *holding,
       size_t more)
{
    struct fz_error err;
    enum fz_code code =
        http_budget_take(budget, holding, &request->client, request->token_id, more, &err);
    /* 503 for a full share too: another client may have the same address. */
    return code != FZ_OK
               ? http_body_refuse(request, 503, code, budget->limit, "%s; try again", err.text)
               : FZ_OK;
}

static void
memory_release(struct http_request *request, struct http_memory *memory)
{
    free(memory->data);
    http_budget_give(&request->memory, memory->room);
    *memory = (struct http_memory){0};
}

/* Room for `more` bytes; `most` is the largest it may ever become. */
static enum fz_code
memory_reserve(struct http_request *request, struct http_memory *memory, size_t more, uint64_t most)
{
    struct http_server *server = request->server;
    size_t need = memory->len + more;
    if (need <= memory->room)
        return FZ_OK;
    size_t room = memory->room ? memory->room : FIRST_ROOM;
    while (room < need)
        room += room < DOUBLE_UP_TO ? room : room / 4;
    /* A body of known length never takes more than its length. */
    if (room > most)
        room = need > most ? need : (size_t)most;
    size_t growth = room - memory->room;
    enum fz_code code =
        charge(request, is_unknown(request) ? &server->unknown_memory : &server->body_memory,
               &request->memory, growth);
    if (code != FZ_OK)
        return code;
    uint8_t *data = realloc(memory->data, room);
    if (!data) {
        http_budget_give(&request->memory, growth);
        return http_body_refuse(request, 503, FZ_E_NO_MEMORY, 0, "out of memory");
    }
    memory->data = data;
    memory->room = room;
    return FZ_OK;
}

static enum fz_code
memory_append(struct http_request *request, struct http_memory *memory, struct fz_span bytes,
              uint64_t most)
{
    if (!bytes.len)
        return FZ_OK;
    enum fz_code code = memory_reserve(request, memory, bytes.len, most);
    if (code != FZ_OK)
        return code;
    memcpy(memory->data + memory->len, bytes.data, bytes.len);
    memory->len += bytes.len;
    return FZ_OK;
}

enum fz_code
http_body_add(struct http_request *request, struct fz_span bytes, bool *ret_full)
{
    const struct http_route *route = request->route;
    uint64_t max = http_body_max(request);
    *ret_full = false;
    /* Counted as sent, before anything is kept: without a Content-Length only this shows the size.
     */
    request->bytes_in += bytes.len;
    if (request->bytes_in > max)
        return http_body_refuse(request, 413, FZ_E_LIMIT, max,
                                "the body is larger than the limit of %llu bytes",
                                (unsigned long long)max);
    if (route->body == HTTP_BODY_MEMORY) {
        /* A known length bounds the growth, so that a body never has more room than it needs. */
        uint64_t most = request->framing.has_length ? request->framing.content_length : max;
        return memory_append(request, &request->body, bytes, most);
    }
    size_t stage = is_unknown(request) ? STAGE_SMALL : STAGE;
    enum fz_code code = memory_append(request, &request->stage, bytes, stage);
    /* libmicrohttpd gives at most one buffer of HTTP_HEADER_MEMORY at a time: the next one might
     * not fit. */
    *ret_full = request->stage.len >= stage - HTTP_HEADER_MEMORY;
    return code;
}

/* ENOSPC and its kin are 507: the client did nothing wrong and may come back. */
static enum fz_code
refuse_errno(struct http_request *request, const char *what)
{
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    struct fz_error err;
    enum fz_code code = fz_fail_errno(&err, "%s", what);
    return http_body_refuse(request, full ? 507 : fz_code_http_status(code), code, 0, "%s",
                            full ? "there is no room left for uploads" : err.text);
}

static enum fz_code
write_file(void *arg, struct fz_span bytes, struct fz_error *err)
{
    struct http_request *request = arg;
    (void)err; /* recorded in the request */
    enum fz_code code = is_unknown(request) ? charge(request, &request->server->unknown_disk,
                                                     &request->disk, bytes.len)
                                            : FZ_OK;
    if (code != FZ_OK)
        return code;
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = write(request->fd, bytes.data + at, bytes.len - at);
        /* A signal came before any byte was written. */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse_errno(request, "the upload cannot be written");
        at += (size_t)n;
    }
    request->file_size += bytes.len;
    return FZ_OK;
}

static enum fz_code
write_memory(void *arg, struct fz_span bytes, struct fz_error *err)
{
    struct http_request *request = arg;
    (void)err; /* recorded in the request */
    return memory_append(request, &request->stage, bytes, max_inflated(request));
}

/* The decoder's failures become refusals; those of the sinks already are. */
static enum fz_code
refuse_inflate(struct http_request *request, enum fz_code code, const struct fz_error *err)
{
    if (request->body_code)
        return request->body_code;
    uint64_t limit = code == FZ_E_LIMIT ? max_inflated(request) : 0;
    fz_ignore(http_body_refuse(request, fz_code_http_status(code), code, limit, "%s",
                               err->text)); /* it returns `code` */
    request->body_error.offset = err->offset;
    return code;
}

static enum fz_code
inflate_bytes(struct http_request *request, struct fz_span bytes, http_sink_fn sink)
{
    struct fz_error err = {.offset = -1};
    enum fz_code code = FZ_OK;
    if (!request->inflate)
        code = http_inflate_create(request->coding, max_inflated(request), &request->inflate, &err);
    if (code == FZ_OK)
        code = http_inflate_feed(request->inflate, bytes, sink, request, &err);
    if (code == FZ_OK && request->body_complete)
        code = http_inflate_finish(request->inflate, &err);
    if (request->body_complete || code != FZ_OK) {
        http_inflate_destroy(request->inflate);
        request->inflate = NULL;
    }
    return code != FZ_OK ? refuse_inflate(request, code, &err) : FZ_OK;
}

static enum fz_code
work_memory(struct http_request *request)
{
    enum fz_code code =
        inflate_bytes(request, fz_span_make(request->body.data, request->body.len), write_memory);
    /* As sent, the body is not needed any more: its room is free before the handler begins. */
    memory_release(request, &request->body);
    request->body = request->stage;
    request->stage = (struct http_memory){0};
    return code;
}

static enum fz_code
work_file(struct http_request *request)
{
    /* Not before the first bytes: a request that is refused leaves no file. */
    if (request->fd < 0) {
        request->fd = http_open_temp(request->server->temp_dir);
        if (request->fd < 0)
            return refuse_errno(request, "the upload's file cannot be made");
    }
    enum fz_code code =
        inflate_bytes(request, fz_span_make(request->stage.data, request->stage.len), write_file);
    request->stage.len = 0;
    if (code != FZ_OK || !request->body_complete)
        return code;
    memory_release(request, &request->stage);
    /* Handlers find the file at its start. */
    if (lseek(request->fd, 0, SEEK_SET) != 0)
        return refuse_errno(request, "the upload's file cannot be read");
    return FZ_OK;
}

void
http_body_work(struct http_request *request)
{
    enum fz_code code =
        request->route->body == HTTP_BODY_FILE ? work_file(request) : work_memory(request);
    fz_ignore(code); /* recorded in request->body_code */
}

void
http_body_deinit(struct http_request *request)
{
    memory_release(request, &request->body);
    memory_release(request, &request->stage);
    http_inflate_destroy(request->inflate);
    request->inflate = NULL;
    fz_closep(&request->fd);
    http_budget_release(&request->memory);
    http_budget_release(&request->disk);
}

void
http_drop_body(struct http_request *request)
{
    http_body_deinit(request);
}
