/*
 * The checks on a request's header fields that decide where its body ends.
 *
 * libmicrohttpd 0.9 takes the first of two Content-Length fields, prefers Transfer-Encoding over
 * it, and accepts what a proxy may read in another way (request smuggling). RFC 9112 (6.1 to 6.3,
 * 3.2) wants such a request refused and its connection closed. Pure functions.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include "base/error.h"
#include "base/span.h"
#include "server/http/inflate.h"

enum { HTTP_MAX_HEADERS = 100 };

struct http_field {
    struct fz_span name, value;
};

struct http_framing {
    bool has_length; /* a Content-Length field */
    bool chunked;
    bool expects_continue;
    uint64_t content_length; /* 0 without one */
};

/* The fields of one request. MALFORMED: the request must be refused with 400; UNSUPPORTED: an
 * expectation that cannot be met (417); in both cases its connection must be closed. */
FZ_MUST_CHECK enum fz_code http_framing_check(bool http_1_1, const struct http_field *fields,
                                              size_t n_fields, struct http_framing *ret,
                                              struct fz_error *err);

/* The body's coding from all Content-Encoding fields; UNSUPPORTED names the accepted ones. */
FZ_MUST_CHECK enum fz_code http_framing_coding(const struct http_field *fields, size_t n_fields,
                                               enum http_coding *ret, struct fz_error *err);

/* Equality of field names and tokens: ASCII letters of either case. */
bool http_name_is(struct fz_span name, const char *want);

#endif
