/*
 * The body of a request: taken in, inflated, kept in memory or in a file.
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "base/error.h"
#include "base/span.h"

struct http_request;

/* How many bytes the body may have as sent. */
uint64_t http_body_max(const struct http_request *request);
/* Take bytes as sent. *ret_full: they are to be worked on by a body thread before more come. */
FZ_MUST_CHECK enum fz_code http_body_add(struct http_request *request, struct fz_span bytes,
                                         bool *ret_full);
/* On a body thread: inflate, write. */
void http_body_work(struct http_request *request);
void http_body_deinit(struct http_request *request);
/* Record in request->body_* why the request is refused, which need not be its body's fault.
 * Returns `code`. */
FZ_MUST_CHECK enum fz_code http_body_refuse(struct http_request *request, int status,
                                            enum fz_code code, uint64_t limit, const char *fmt, ...)
    FZ_PRINTF(5, 6);

#endif
