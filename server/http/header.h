/*
 * What becomes of a request, decided from its header alone.
 */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include "base/error.h"

struct http_request;

/* FZ_OK, or the refusal in request->body_*. request->step is HTTP_STEP_AUTHORIZE afterwards if that is
 * still to be found out; then http_header_finish() is to be called after http_authorize_end(). */
FZ_MUST_CHECK enum fz_code http_header_check(struct http_request *request, const char *method,
                                             const char *version);
FZ_MUST_CHECK enum fz_code http_header_finish(struct http_request *request);

#endif
