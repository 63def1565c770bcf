/*
 * Streamed answers: of any length, made piece by piece while the client takes them.
 *
 * A handler answers with http_respond_stream() instead of http_respond(). From then on the source's `produce` is called on the
 * threads for streams, one call at a time, whenever fewer than two pieces wait for the client. A slow client therefore holds
 * no thread; it holds two pieces, which are charged to answer_memory or answer_disk as other answers are. A client that takes
 * nothing for answer_s seconds is dropped, and one that hangs up ends the production; while the source waits, that is noticed
 * within a tenth of a second.
 *
 * After a failure the transfer ends without the last chunk, so that the client sees it, and the log says why.
 */
#ifndef HTTP_STREAM_H
#define HTTP_STREAM_H

#include "base/buffer.h"
#include "server/http/http.h"

struct http_stream; /* opaque */

/* A piece should have about so many bytes. Larger ones go to a file while they are sent. */
enum { HTTP_STREAM_PIECE = 256 * 1024 };

enum http_stream_step {
    HTTP_STREAM_MORE, /* call again as soon as the client has taken enough */
    HTTP_STREAM_WAIT, /* nothing more just now: call again after idle_ms, or http_stream_wake() */
    HTTP_STREAM_END,  /* that was all */
};

/* Append the next piece to `out`, which may stay empty. A call that takes longer than a minute ends the stream. */
typedef enum fz_code (*http_produce_fn)(void *user, struct http_stream *stream,
                                        struct fz_buffer *out, enum http_stream_step *ret_step,
                                        struct fz_error *err);

struct http_source {
    http_produce_fn produce;
    /* Called exactly once, on any thread, after the last call of `produce`; must not wait. */
    void (*destroy)(void *user);
    void *user;
    unsigned
        idle_ms; /* for HTTP_STREAM_WAIT: longer than this the client hears nothing; 0: only wakes count */
    bool is_plain;      /* never compressed: for many small pieces, such as events */
    bool has_own_limit; /* does not count for limit `streams`: who makes it has a limit for it */
};

/*
 * Answer with 200 and what the source produces; the source is taken. The first piece is made at once, on this thread: if that
 * fails, the client gets the error, and if it is the last one, an answer like that of http_respond(). With more than limit
 * `streams` of them the client gets 503. Compressed as other answers are; HEAD gets the header alone.
 *
 * The request stays valid until source->destroy(), for reading: its parameters, fields, client, project and token.
 */
void http_respond_stream(struct http_request *request, const char *content_type,
                         const struct http_source *source);

/*
 * From any thread, before source->destroy() returns: a stream that waits calls `produce` again now, one that is producing
 * does so after that. Others than the source hold a lock of their own, which destroy() takes too.
 */
void http_stream_wake(struct http_stream *stream);

#endif
