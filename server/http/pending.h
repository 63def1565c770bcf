/*
 * Requests whose connection is suspended until another thread answers them, or their time is over.
 */
#ifndef HTTP_PENDING_H
#define HTTP_PENDING_H

#include <stdint.h>

#include "server/http/pool.h"

struct http_request;
struct http_server;

/* Another thread is to answer or to authorise the request, whose connection is suspended. */
void http_pending_add(struct http_request *request, int64_t within_ms);
/* The request is whole and its connection suspended: a handler thread takes over. */
void http_pending_run(struct http_request *request);
/* On a handler thread. */
void http_pending_run_job(struct http_job *job);
/* request->answer is filled: send it. Drops the reference of the thread that was to answer. */
void http_pending_end(struct http_request *request);
/* On the sweeper's thread: answer those whose time is over, or all while the app is stuck. */
void http_pending_end_late(struct http_server *server);
/* The server stops: answer all of them now, and new ones at once. */
void http_pending_end_all(struct http_server *server);

#endif
