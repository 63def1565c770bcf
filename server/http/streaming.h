/*
 * A streamed answer within the server: from its first piece until libmicrohttpd has released it.
 *
 * Before http_stream_attach() it belongs to the thread that answers, and afterwards to libmicrohttpd's response; at its end it
 * waits for the thread that is producing.
 */
#ifndef HTTP_STREAMING_H
#define HTTP_STREAMING_H

#include <microhttpd.h>

#include "server/http/pool.h"
#include "server/http/stream.h"

struct http_server;

/*
 * One place among the streams, charged to the request's client. UNAVAILABLE, LIMIT: there is none; the source is the caller's.
 * `unref` drops the reference that the stream takes to the request: a pointer, since a request owns its answer, which owns the
 * stream until it is attached.
 */
FZ_MUST_CHECK enum fz_code http_stream_create(struct http_request *request,
                                              const struct http_source *source,
                                              void (*unref)(struct http_request *request),
                                              struct http_stream **ret, struct fz_error *err);
/* Produce the first piece into `out`; *ret_ends: there is no other. */
FZ_MUST_CHECK enum fz_code http_stream_begin(struct http_stream *stream, struct fz_buffer *out,
                                             bool *ret_ends, struct fz_error *err);
/* Compress in this coding from here on, and have `first` sent first. */
FZ_MUST_CHECK enum fz_code http_stream_start(struct http_stream *stream, enum http_coding coding,
                                             struct fz_span first, struct fz_error *err);
/* It will not be sent. May be NULL. */
void http_stream_discard(struct http_stream *stream);

/* On libmicrohttpd's thread: the response that sends the stream, which is taken. NULL: no memory, it is the caller's. */
struct MHD_Response *http_stream_attach(struct http_stream *stream);

/* On a thread for streams. */
void http_stream_run_job(struct http_job *job);
/* On the sweeper's thread: go on with those that waited for long enough, and end those that hang. */
void http_stream_sweep(struct http_server *server, bool is_stuck);
/* The server stops: those that wait end in order, now; then all others break off. */
void http_stream_end_idle(struct http_server *server);
void http_stream_end_all(struct http_server *server);

#endif
