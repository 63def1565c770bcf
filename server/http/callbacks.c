/*
 * A request's way through libmicrohttpd's callbacks (on_data: http_request_on_data):
 *
 *   request line  http_request_on_line       the object is made
 *   header        on_data, first call        checked (header.c): taken, refused, or suspended for
 *                                            authorisation and called again
 *   body          on_data with bytes         collected; every STAGE bytes of an upload are
 *                                            handed to a body thread, the connection suspended
 *   end of body   on_data without bytes      suspended and handed on; called again when resumed
 *                                            with the answer, which is queued
 *   the end       http_request_on_completed  logged, counted, freed
 *
 * A refusal before or within the body: libmicrohttpd 0.9 can queue an answer only before or
 * after the body. A small body is therefore read to its end and the connection kept; otherwise the
 * answer is written to the socket at once, the sending side is closed, and further bytes are read
 * and dropped for a moment: closing a socket with unread bytes resets it, and the client would lose
 * the answer.
 */
#include "server/http/callbacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/header.h"
#include "server/http/pending.h"
#include "server/http/request.h"
#include "server/http/server.h"

enum {
    DRAIN_BYTES = 16 * 1024 * 1024, /* how much of a refused body is still read */
    SMALL_BODY = 64 * 1024,         /* a refused body up to this is read, the connection kept */
};

static int64_t
now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* libmicrohttpd 0.9 forgets a request if it has no memory for it. */
static void
complete_last(struct http_conn *conn)
{
    void *context = conn->request;
    if (context)
        http_request_on_completed(conn->server, conn->request->mhd, &context,
                                  MHD_REQUEST_TERMINATED_WITH_ERROR);
}

void *
http_request_on_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    struct http_server *server = arg;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_conn *conn = info ? info->socket_context : NULL;
    if (!conn)
        return NULL;
    struct http_request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    /* A handler may answer after http_stop(), so each request keeps the server object alive. */
    atomic_fetch_add(&server->refs, 1);
    atomic_init(&request->refs, 1);
    request->server = server;
    request->conn = conn;
    request->mhd = mhd;
    request->fd = -1;
    request->client = conn->peer;
    complete_last(conn);
    conn->request = request;
    /* The last element is "none", for requests that end before they have a route. */
    request->metrics = server->route_metrics[server->n_routes];
    request->started_us = now_us();
    http_request_id_make(request);
    request->raw_uri_len = strlen(uri);
    /* Only noted: libmicrohttpd cannot answer before it has read the header. */
    request->uri_code =
        http_uri_parse(fz_span_make(uri, request->raw_uri_len), &request->uri, &request->uri_error);
    /* This copy is for the log only, and a query may hold a key. */
    size_t path_len = strcspn(uri, "?");
    if (path_len >= sizeof(request->path))
        path_len = sizeof(request->path) - 1;
    memcpy(request->path, uri, path_len);
    http_conn_line_seen(conn);
    return request;
}

/* The answer in request->answer goes out by way of libmicrohttpd. */
static enum MHD_Result
send_answer(struct http_request *request)
{
    if (!http_conn_enter(request->conn, HTTP_PHASE_ANSWER))
        return MHD_NO;
    request->step = HTTP_STEP_SENT;
    return http_answer_queue(request);
}

/* Answer past libmicrohttpd and read on until the client hangs up; see the top of the file. */
static enum MHD_Result
drain(struct http_request *request)
{
    if (!http_conn_enter(request->conn, HTTP_PHASE_DRAIN))
        return MHD_NO;
    request->step = HTTP_STEP_DRAIN;
    /* The client may take seconds to hang up; the memory is for others meanwhile. */
    http_body_deinit(request);
    http_answer_send_now(request);
    return MHD_YES;
}

static enum MHD_Result
refuse_and_drain(struct http_request *request)
{
    http_answer_refusal(request);
    return drain(request);
}

/* No handler answered in time. When the server stops, libmicrohttpd would not send the answer. */
static enum MHD_Result
answer_late(struct http_request *request)
{
    struct http_server *server = request->server;
    http_answer_late(request);
    pthread_mutex_lock(&server->lock);
    bool ends = server->has_given_up;
    pthread_mutex_unlock(&server->lock);
    if (!ends)
        return send_answer(request);
    http_answer_send_now(request);
    return MHD_NO;
}

static enum MHD_Result
begin_body(struct http_request *request, enum http_step step)
{
    unsigned max_s = request->server->limits.body_s;
    request->step = step;
    /* An upload may take hours, but only from a known sender. */
    if (step == HTTP_STEP_BODY && (request->token_id || request->route->max_body_s))
        max_s = request->route->max_body_s;
    request->conn->body_max_s = max_s;
    return http_conn_enter(request->conn, HTTP_PHASE_BODY) ? MHD_YES : MHD_NO;
}

static bool
has_body(const struct http_request *request)
{
    return request->framing.chunked || request->framing.content_length > 0;
}

/* Act on the result of http_header_check() or http_header_finish(). */
static enum MHD_Result
after_header(struct http_request *request, enum fz_code code)
{
    if (code == FZ_OK)
        return begin_body(request, HTTP_STEP_BODY);
    const struct http_framing *framing = &request->framing;
    /* After a 413 the framing is known, the body is just too large to be read. */
    bool sound = request->body_status == 413 || !request->answer.close;
    if (!sound || (has_body(request) && framing->expects_continue)) {
        /* Queued this early, libmicrohttpd sends no 100 and closes the connection after it. */
        request->answer.close = true;
        http_answer_refusal(request);
        return send_answer(request);
    }
    /* Reading a small body costs less than the client's new connection. */
    bool small = !framing->chunked && framing->content_length <= SMALL_BODY;
    if (small && request->body_status != 413)
        return begin_body(request, HTTP_STEP_DISCARD);
    return refuse_and_drain(request);
}

static enum MHD_Result
on_header(struct http_request *request, const char *method, const char *version)
{
    struct http_server *server = request->server;
    snprintf(request->method, sizeof(request->method), "%s", method);
    pthread_mutex_lock(&server->lock);
    /* From here on http_stop() waits for it; a connection without a header is idle. */
    server->n_active++;
    pthread_mutex_unlock(&server->lock);
    request->active = true;
    enum fz_code code = http_header_check(request, method, version);
    return request->step == HTTP_STEP_AUTHORIZE ? MHD_YES : after_header(request, code);
}

/* The request is authorised or refused. libmicrohttpd repeats the call for the header, since the
 * connection was suspended in the first one. */
static enum MHD_Result
on_authorized(struct http_request *request)
{
    if (!request->abandoned)
        return after_header(request, http_header_finish(request));
    http_answer_late(request);
    return has_body(request) ? drain(request) : answer_late(request);
}

static enum MHD_Result
on_body(struct http_request *request, struct fz_span bytes)
{
    bool full;
    http_conn_progress(request->conn, bytes.len);
    /* A body thread may have refused what came before. */
    if (request->body_code || http_body_add(request, bytes, &full) != FZ_OK)
        return refuse_and_drain(request);
    if (full) {
        http_conn_pause(request->conn);
        MHD_suspend_connection(request->mhd);
        atomic_store(&request->is_suspended, true);
        http_pool_push(request->server->file_threads, &request->job);
    }
    return MHD_YES;
}

void
http_request_run_body(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    http_body_work(request);
    if (request->body_complete && !request->body_code) {
        http_pending_run(request);
        return;
    }
    /* Now and not with the next bytes: the rate limit must run even if they never come. */
    fz_ignore(!http_conn_go_on(request->conn)); /* ended meanwhile: the next call sees it */
    atomic_store(&request->is_suspended, false);
    MHD_resume_connection(request->mhd);
}

static enum MHD_Result
on_body_end(struct http_request *request)
{
    const struct http_route *route = request->route;
    if (request->body_code) {
        http_answer_refusal(request);
        return send_answer(request);
    }
    if (route->flags & HTTP_ROUTE_QUEUES &&
        !http_load_enter(&request->server->load, request->project_id, &request->place)) {
        fz_ignore(http_header_refuse_crowd(request)); /* recorded in the request */
        http_body_deinit(request);
        http_answer_refusal(request);
        return send_answer(request);
    }
    /* The sweeper was faster: the client has its 408. */
    if (!http_conn_enter(request->conn, HTTP_PHASE_RUNNING))
        return MHD_NO;
    request->step = HTTP_STEP_WORK;
    request->body_complete = true;
    /* Writing and inflating block or take long, so they do not run on the thread of all
     * connections. */
    bool work = route->body == HTTP_BODY_FILE ||
                (route->body == HTTP_BODY_MEMORY && request->coding != HTTP_CODING_IDENTITY);
    MHD_suspend_connection(request->mhd);
    if (work)
        http_pool_push(route->body == HTTP_BODY_FILE ? request->server->file_threads
                                                     : request->server->body_threads,
                       &request->job);
    else
        http_pending_run(request);
    return MHD_YES;
}

enum MHD_Result
/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd's signature */
http_request_on_data(void *server, struct MHD_Connection *mhd, const char *url, const char *method,
                     const char *version, const char *data, size_t *data_len, void **context)
{
    struct http_request *request = *context;
    (void)server, (void)mhd, (void)url;
    if (!request)
        return MHD_NO; /* no memory for it */
    /* Between two chunks libmicrohttpd calls again although the connection is suspended: returning
     * without taking the bytes makes it keep them. */
    if (atomic_load(&request->is_suspended))
        return MHD_YES;
    struct fz_span bytes = fz_span_make(data, *data_len);
    *data_len = 0;
    switch (request->step) {
    case HTTP_STEP_NEW:
        return on_header(request, method, version);
    case HTTP_STEP_AUTHORIZE:
        return on_authorized(request);
    case HTTP_STEP_BODY:
        /* The sweeper has ended the connection while a body thread worked. */
        if (!http_conn_go_on(request->conn))
            return MHD_NO;
        return bytes.len ? on_body(request, bytes) : on_body_end(request);
    case HTTP_STEP_DISCARD:
        if (bytes.len) {
            http_conn_progress(request->conn, bytes.len);
            return MHD_YES;
        }
        http_answer_refusal(request);
        return send_answer(request);
    case HTTP_STEP_DRAIN:
        /* At the end of the body the answer has been sent, so only closing is left. */
        request->drained += bytes.len;
        return bytes.len && request->drained <= DRAIN_BYTES ? MHD_YES : MHD_NO;
    case HTTP_STEP_WORK:
        /* The handler may still run: its answer must not be touched. */
        if (request->abandoned)
            return answer_late(request);
        if (!request->answer.status && request->body_code)
            http_answer_refusal(request);
        return request->answer.status ? send_answer(request) : MHD_YES;
    case HTTP_STEP_SENT:
        return MHD_YES;
    }
    return MHD_NO;
}

void
http_request_on_completed(void *arg, struct MHD_Connection *mhd FZ_UNUSED, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct http_server *server = arg;
    struct http_request *request = *context;
    *context = NULL;
    if (!request)
        return;
    request->conn->request = NULL;
    pthread_mutex_lock(&server->lock);
    /* Under the lock, since a handler may still be writing the answer. */
    int status = request->abandoned ? request->late.status : request->answer.status;
    pthread_mutex_unlock(&server->lock);
    if (!status && request->conn->refused_status)
        status = request->conn->refused_status;
    bool delivered =
        request->step == HTTP_STEP_DRAIN ||
        (request->step == HTTP_STEP_SENT && code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    http_log_request(request, status, now_us() - request->started_us, delivered);
    if (delivered && request->step == HTTP_STEP_SENT)
        fz_ignore(
            !http_conn_enter(request->conn, HTTP_PHASE_HEADER)); /* closed: the next call sees it */
    http_filter_go_on(request->conn);
    pthread_mutex_lock(&server->lock);
    if (request->active)
        server->n_active--;
    /* http_stop() waits for the last one. */
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    http_request_unref(request);
}

void
http_request_on_connection(void *server, struct MHD_Connection *mhd, void **socket_context,
                           enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && *socket_context)
        complete_last(*socket_context);
    http_filter_notify(server, mhd, socket_context, what);
}
