/*
 * A client of one HTTP server: send a request, get its answer.
 *
 * A request that a busy server or a broken connection refused is sent again, up to six times, with
 * growing pauses or the ones that the server asks for (Retry-After). One thread per client. For the
 * command line, whose user chose the server: nothing checks where the requests go (net_request.h).
 *
 *   FZ_CLEANUP(net_http_closep) struct net_http *http = NULL;
 *   code = net_http_open(&config, &http, err);
 *   code = net_http_send(http, "/api/v1/symbols", &body, &answer, err);
 */
#ifndef BASE_NET_HTTP_CLIENT_H
#define BASE_NET_HTTP_CLIENT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

struct net_http; /* opaque */

struct net_http_config {
    const char *server; /* "https://host:port/prefix", without a slash at its end; borrowed */
    const char *token;  /* sent as a bearer token */
    /* Both callbacks may be NULL. `percent` of the body has been sent; -1: the request has
     * ended, which follows every other value. */
    void (*progress)(void *user, int percent);
    /* The request is sent again in `wait_ms`. */
    void (*retry)(void *user, const char *why, int64_t wait_ms);
    void *user;
};

struct net_http_answer {
    long status;
    struct fz_span body;  /* borrowed until the next request */
    const char *location; /* the Location header, "" without one; borrowed as the body is */
};

/* SIGPIPE is ignored in the whole process from here on: a server that closes a connection is an
 * error, not the end. */
FZ_MUST_CHECK enum fz_code net_http_open(const struct net_http_config *config,
                                         struct net_http **ret_http, struct fz_error *err);
void net_http_close(struct net_http *http);
void net_http_closep(struct net_http **http);

/*
 * POST `body` to the server's `path`, or GET it if `body` is NULL.
 *
 * Any status is an answer, except 429, 502, 503 and 504 after the last try. Errors:
 * FZ_E_UNAVAILABLE no answer.
 */
FZ_MUST_CHECK enum fz_code net_http_send(struct net_http *http, const char *path,
                                         const struct fz_span *body,
                                         struct net_http_answer *ret_answer, struct fz_error *err);

/* Append "?key=value" to a path, or "&key=value" after the first, with the value percent-encoded
 * (RFC 3986, section 2.1). */
void net_http_append_query(struct fz_buffer *path, const char *key, const char *value);

#endif
