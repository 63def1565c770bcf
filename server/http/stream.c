/*
 * Streamed answers. Two sides share a stream, and server->lock guards what they share:
 *
 *   threads for streams   produce a piece, which becomes `next`
 *   libmicrohttpd's       sends `now`; at its end `next` becomes `now`, and another piece is asked for; without one the
 *                         connection is suspended
 *
 * Example: an export of three pieces, to a client that reads slowly. The handler's thread makes piece 1 and answers. The first
 * read moves 1 to `now` and asks for 2, which is ready long before 1 is sent. While 2 is being sent 3 is made, as the last one
 * (is_over). Between pieces no thread and no database connection is held.
 */
#include "server/http/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/time.h"
#include "server/http/conn.h"
#include "server/http/content.h"
#include "server/http/packer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/streaming.h"

enum {
    PIECE_MS = 60 * 1000,     /* longer than any query may take */
    OWN_MEMORY = 1024 * 1024, /* charged besides the pieces: the one that is made, the packer */
    PLAIN_MEMORY = 64 * 1024, /* without a packer, and its pieces are small */
};

struct http_stream {
    struct http_job job;
    struct http_server *server;
    struct http_request *request; /* a reference once it is attached, which `unref` drops */
    void (*unref)(struct http_request *request);
    struct MHD_Connection *mhd;
    struct http_source source;
    struct http_packer *packer; /* NULL: sent as it is */
    struct http_holding holding;
    LIST_ENTRY(http_stream) link; /* guarded by server->lock, as are those up to `failure` */
    struct http_content *next;
    bool is_attached;
    bool is_busy;  /* a thread has it, or will: it also ends it if libmicrohttpd has released it */
    bool is_idle;  /* has nothing to send until due_ms (0: until it is woken) */
    bool is_woken; /* while it was busy */
    bool is_over;  /* nothing is produced any more */
    bool has_failed;   /* the transfer must not look complete */
    bool is_suspended; /* the connection waits for `next` */
    bool is_released;  /* by libmicrohttpd */
    int64_t due_ms, busy_ms;
    struct fz_error failure;
    struct http_content *now; /* libmicrohttpd's thread only */
    uint64_t pos;
};

/* ---- its life ---------------------------------------------------------------------------- */

enum fz_code
http_stream_create(struct http_request *request, const struct http_source *source,
                   void (*unref)(struct http_request *request), struct http_stream **ret,
                   struct fz_error *err)
{
    struct http_server *server = request->server;
    unsigned most = server->limits.streams;
    struct http_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    stream->server = server;
    stream->request = request;
    stream->unref = unref;
    stream->source = *source;
    enum fz_code code =
        http_budget_take(&server->contents.memory, &stream->holding, &request->client,
                         request->token_id, source->is_plain ? PLAIN_MEMORY : OWN_MEMORY, err);
    if (code != FZ_OK) {
        free(stream);
        return code;
    }
    pthread_mutex_lock(&server->lock);
    bool is_full = !source->has_own_limit && server->n_streams >= most;
    if (!is_full) {
        server->n_streams += !source->has_own_limit;
        LIST_INSERT_HEAD(&server->streams, stream, link);
    }
    pthread_mutex_unlock(&server->lock);
    if (is_full) {
        http_budget_release(&stream->holding);
        free(stream);
        return fz_fail(
            err, FZ_E_UNAVAILABLE,
            "%u exports and other streams are being sent, which is limit streams; try again later",
            most);
    }
    atomic_fetch_add(&server->metrics->http_streams, 1);
    *ret = stream;
    return FZ_OK;
}

/* No thread uses it any more. */
static void
destroy(struct http_stream *stream)
{
    struct http_server *server = stream->server;
    struct http_request *request = stream->is_attached ? stream->request : NULL;
    void (*unref)(struct http_request *) = stream->unref;
    /* The source may wake it until then. */
    stream->source.destroy(stream->source.user);
    pthread_mutex_lock(&server->lock);
    LIST_REMOVE(stream, link);
    server->n_streams -= !stream->source.has_own_limit;
    pthread_mutex_unlock(&server->lock);
    atomic_fetch_sub(&server->metrics->http_streams, 1);
    http_content_unref(stream->now);
    http_content_unref(stream->next);
    http_packer_destroy(stream->packer);
    http_budget_release(&stream->holding);
    free(stream);
    /* Last: with it the server may end. */
    if (request)
        unref(request);
}

void
http_stream_discard(struct http_stream *stream)
{
    if (stream)
        destroy(stream);
}

/* ---- producing --------------------------------------------------------------------------- */

/* The first reason counts. Under the lock. */
static void
fail(struct http_stream *stream, const struct fz_error *err)
{
    if (!stream->has_failed)
        stream->failure = *err;
    stream->has_failed = stream->is_over = true;
}

/* libmicrohttpd is to read on. Under the lock. */
static void
resume(struct http_stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->mhd);
}

/* Have the next piece made, if there is to be one. Under the lock. */
static void
ask(struct http_stream *stream)
{
    if (stream->is_busy || stream->is_idle || stream->is_over || stream->next)
        return;
    stream->is_busy = true;
    stream->busy_ms = fz_time_monotonic_ms();
    http_pool_push(stream->server->stream_threads, &stream->job);
}

/* Wait, if that is the step. What was woken meanwhile goes on at once. Under the lock. */
static void
rest(struct http_stream *stream, enum http_stream_step step, int64_t now)
{
    stream->is_idle = step == HTTP_STREAM_WAIT && !stream->is_woken;
    stream->due_ms = stream->source.idle_ms ? now + stream->source.idle_ms : 0;
    stream->is_woken = false;
}

static enum fz_code
call_source(struct http_stream *stream, struct fz_buffer *out, enum http_stream_step *ret_step,
            struct fz_error *err)
{
    *ret_step = HTTP_STREAM_END;
    enum fz_code code = stream->source.produce(stream->source.user, stream, out, ret_step, err);
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}

/* What is to be sent of a piece; NULL if all of it is still in the packer. */
static enum fz_code
make_content(struct http_stream *stream, struct fz_span piece, enum http_stream_step step,
             struct http_content **ret, struct fz_error *err)
{
    static const enum http_flush flushes[] = {[HTTP_STREAM_MORE] = HTTP_FLUSH_NO,
                                              [HTTP_STREAM_WAIT] = HTTP_FLUSH_ALL,
                                              [HTTP_STREAM_END] = HTTP_FLUSH_END};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(0);
    enum fz_code code = FZ_OK;
    if (stream->packer) {
        code = http_packer_add(stream->packer, piece, flushes[step], &packed, err);
        piece = fz_buffer_span(&packed);
    }
    if (code != FZ_OK || piece.len == 0)
        return code;
    return http_content_make(&stream->server->contents, piece, &stream->request->client,
                             stream->request->token_id, ret, err);
}

static enum fz_code
produce(struct http_stream *stream, struct http_content **ret, enum http_stream_step *ret_step,
        struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum fz_code code = call_source(stream, &out, ret_step, err);
    return code == FZ_OK ? make_content(stream, fz_buffer_span(&out), *ret_step, ret, err) : code;
}

/* Take in what `produce` gave. True: libmicrohttpd has released the stream meanwhile. */
static bool
take_piece(struct http_stream *stream, enum fz_code code, struct http_content *content,
           enum http_stream_step step, const struct fz_error *err)
{
    struct http_server *server = stream->server;
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&server->lock);
    stream->is_busy = false;
    stream->next = content;
    if (code != FZ_OK)
        fail(stream, err);
    /* When the server stops, nothing is waited for. */
    if (step == HTTP_STREAM_END || (step == HTTP_STREAM_WAIT && atomic_load(&server->stopping)))
        stream->is_over = true;
    rest(stream, step, now);
    if (stream->next || stream->is_over)
        resume(stream);
    else
        ask(stream);
    bool is_released = stream->is_released;
    pthread_mutex_unlock(&server->lock);
    return is_released;
}

void
http_stream_run_job(struct http_job *job)
{
    struct http_stream *stream = (struct http_stream *)job; /* its first member */
    struct http_content *content = NULL;
    enum http_stream_step step = HTTP_STREAM_END;
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    pthread_mutex_lock(&stream->server->lock);
    /* Its client may have gone while it waited for this thread. */
    bool is_wanted = !stream->is_released && !stream->is_over;
    pthread_mutex_unlock(&stream->server->lock);
    enum fz_code code = is_wanted ? produce(stream, &content, &step, &err) : FZ_OK;
    if (take_piece(stream, code, content, step, &err))
        destroy(stream);
}

void
http_stream_wake(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->server->lock);
    stream->is_woken = stream->is_busy;
    stream->is_idle = false;
    /* Before it is attached, its first read asks. */
    if (stream->is_attached)
        ask(stream);
    pthread_mutex_unlock(&stream->server->lock);
}

/* ---- the first piece --------------------------------------------------------------------- */

enum fz_code
http_stream_begin(struct http_stream *stream, struct fz_buffer *out, bool *ret_ends,
                  struct fz_error *err)
{
    enum http_stream_step step;
    pthread_mutex_lock(&stream->server->lock);
    stream->is_busy = true;
    pthread_mutex_unlock(&stream->server->lock);
    enum fz_code code = call_source(stream, out, &step, err);
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&stream->server->lock);
    stream->is_busy = false;
    rest(stream, step, now);
    pthread_mutex_unlock(&stream->server->lock);
    if (code == FZ_OK)
        *ret_ends = step == HTTP_STREAM_END;
    return code;
}

enum fz_code
http_stream_start(struct http_stream *stream, enum http_coding coding, struct fz_span first,
                  struct fz_error *err)
{
    if (coding != HTTP_CODING_IDENTITY) {
        enum fz_code code = http_packer_create(coding, &stream->packer, err);
        if (code != FZ_OK)
            return code;
    }
    return make_content(stream, first, stream->is_idle ? HTTP_STREAM_WAIT : HTTP_STREAM_MORE,
                        &stream->next, err);
}

/* ---- sending, on libmicrohttpd's thread -------------------------------------------------- */

/* Another piece to `now`. 0: not yet, the connection is suspended; otherwise the code for libmicrohttpd. */
static ssize_t
next_piece(struct http_stream *stream)
{
    struct http_server *server = stream->server;
    ssize_t result = 1;
    pthread_mutex_lock(&server->lock);
    stream->now = stream->next;
    stream->next = NULL;
    stream->pos = 0;
    if (server->has_given_up) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (!stream->now && stream->is_over) {
        result = stream->has_failed ? MHD_CONTENT_READER_END_WITH_ERROR
                                    : MHD_CONTENT_READER_END_OF_STREAM;
    } else if (!stream->now) {
        /* Under the lock, since the piece may come at any moment. */
        stream->is_suspended = true;
        MHD_suspend_connection(stream->mhd);
        result = 0;
    }
    ask(stream);
    pthread_mutex_unlock(&server->lock);
    /* Now it is the server that takes its time, not the client. */
    if (result == 0)
        http_conn_hold(stream->request->conn);
    return result;
}

static ssize_t
read_stream(void *arg, uint64_t pos FZ_UNUSED, char *to, size_t max)
{
    struct http_stream *stream = arg;
    if (!stream->now) {
        ssize_t result = next_piece(stream);
        if (result <= 0)
            return result;
    }
    ssize_t n = http_content_read(stream->now, stream->pos, to, max);
    if (n <= 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    stream->pos += (uint64_t)n;
    stream->request->bytes_out += (uint64_t)n;
    http_conn_touch(stream->request->conn);
    if (stream->pos == http_content_len(stream->now)) {
        http_content_unref(stream->now);
        stream->now = NULL;
    }
    return n;
}

static void
log_failure(const struct http_stream *stream)
{
    char quoted[sizeof(stream->failure.text) * 2];
    fz_log(FZ_LOG_WARN, "stream broken off", "id=%s code=%s text=%s", stream->request->id,
           fz_code_name(stream->failure.code),
           fz_log_quote(stream->failure.text, quoted, sizeof(quoted)));
}

static void
release_stream(void *arg)
{
    struct http_stream *stream = arg;
    pthread_mutex_lock(&stream->server->lock);
    stream->is_released = true;
    /* The thread that is producing ends it. */
    bool is_busy = stream->is_busy;
    bool has_failed = stream->has_failed;
    if (has_failed)
        log_failure(stream);
    pthread_mutex_unlock(&stream->server->lock);
    if (!is_busy)
        destroy(stream);
}

struct MHD_Response *
http_stream_attach(struct http_stream *stream)
{
    struct http_server *server = stream->server;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, HTTP_CONTENT_BLOCK, read_stream, stream, release_stream);
    if (!response)
        return NULL;
    /* libmicrohttpd 0.9.75 sends the last chunk even for HEAD, and the client would take it for the next answer. */
    if (strcmp(stream->request->method, "HEAD") == 0)
        fz_ignore(!MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                            MHD_RO_END)); /* cannot fail for this flag */
    stream->mhd = stream->request->mhd;
    http_conn_must_take(stream->request->conn);
    /* Its source reads the request, which would end with the connection. */
    atomic_fetch_add(&stream->request->refs, 1);
    pthread_mutex_lock(&server->lock);
    stream->is_attached = true;
    pthread_mutex_unlock(&server->lock);
    return response;
}

/* ---- the end of the server, and of patience ---------------------------------------------- */

void
http_stream_sweep(struct http_server *server, bool is_stuck)
{
    int64_t now = fz_time_monotonic_ms();
    struct fz_error err = {.offset = -1};
    fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE,
                      "the next piece was not made in time")); /* only fills err */
    pthread_mutex_lock(&server->lock);
    for (struct http_stream *stream = LIST_FIRST(&server->streams); stream;
         stream = LIST_NEXT(stream, link)) {
        if (!stream->is_attached)
            continue;
        if (stream->is_busy && (is_stuck || now - stream->busy_ms > PIECE_MS)) {
            fail(stream, &err);
            resume(stream);
        } else if (stream->is_suspended && stream->is_idle &&
                   http_conn_has_hung_up(stream->request->conn)) {
            /* libmicrohttpd does not look at suspended connections. */
            stream->is_over = true;
            resume(stream);
        } else if (stream->is_idle && stream->due_ms && now >= stream->due_ms) {
            stream->is_idle = false;
            ask(stream);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

void
http_stream_end_idle(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (struct http_stream *stream = LIST_FIRST(&server->streams); stream;
         stream = LIST_NEXT(stream, link)) {
        if (stream->is_idle && !stream->is_busy) {
            stream->is_over = true;
            resume(stream);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

void
http_stream_end_all(struct http_server *server)
{
    struct fz_error err = {.offset = -1};
    fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE, "the server stops")); /* only fills err */
    pthread_mutex_lock(&server->lock);
    for (struct http_stream *stream = LIST_FIRST(&server->streams); stream;
         stream = LIST_NEXT(stream, link)) {
        fail(stream, &err);
        resume(stream);
    }
    pthread_mutex_unlock(&server->lock);
}
