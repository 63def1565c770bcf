/*
 * The checks on the header of a request, before its body is read.
 */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include "base/error.h"

struct http_request;

/* FZ_OK, or the refusal in request->body_*. With request->step HTTP_STEP_AUTHORIZE the token is
 * still being checked: call http_header_finish() after http_authorize_end(). */
FZ_MUST_CHECK enum fz_code http_header_check(struct http_request *request, const char *method,
                                             const char *version);
FZ_MUST_CHECK enum fz_code http_header_finish(struct http_request *request);
/* Record that a request of HTTP_ROUTE_QUEUES finds no room; returns the code. */
FZ_MUST_CHECK enum fz_code http_header_refuse_crowd(struct http_request *request);

#endif
