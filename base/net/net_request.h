/*
 * One HTTP request on behalf of a user, to a URL that a user gave, or to a provider of logins.
 *
 * Nothing that the receiver or its name server says leads the request elsewhere: the address is
 * checked when the socket is made (net_guard.h), redirects are not followed, proxies and passwords
 * of the environment (http_proxy, .netrc) are not used, and time and sizes are limited. Each request
 * has a connection of its own. No text contains the URL, whose path often is a secret.
 *
 * SIGPIPE is ignored in the whole process after the first request. Threads may send at once.
 */
#ifndef BASE_NET_REQUEST_H
#define BASE_NET_REQUEST_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/net/net_guard.h"
#include "base/span.h"

enum {
    NET_URL_MAX = 2048,
    NET_BODY_MAX = 256 * 1024, /* bytes that are sent */
    NET_ANSWER_MAX = 2048,     /* bytes of the answer that are kept */
    NET_HEADERS_MAX = 16,
    NET_TIMEOUT_MS = 20000,
};

/* What holds for everything that a process sends. */
struct net_rules {
    struct net_guard guard;
    const char *setting;       /* which setting `guard` is of, for messages; NULL: alert-internal */
    const char *ca_file;       /* certificates to trust; NULL or "": those of the system */
    atomic_bool *is_cancelled; /* NULL, or: once it is true, what is being sent is broken off */
    int64_t timeout_ms;        /* for a request as a whole; 0: NET_TIMEOUT_MS */
    const char *const *resolve; /* for tests, else NULL: "HOST:PORT:ADDRESS,ADDRESS" in place of the
                                   name server, NULL at the end */
};

struct net_header {
    const char *name, *value;
};

struct net_request {
    const char *url;
    struct net_header headers[NET_HEADERS_MAX];
    size_t n_headers;
    struct fz_span body; /* of a POST */
    bool is_get;
    /* Takes the answer's body in place of net_outcome.answer, up to its cap: a longer one, or one
     * that is cut off, is a failure. NULL: the start of it is enough. */
    struct fz_buffer *answer;
};

enum net_result {
    NET_ANSWERED, /* `status` says the rest */
    NET_INVALID,  /* nothing was sent and never can be: a URL, header or address is not one */
    NET_REFUSED,  /* nothing was sent: no address of the host is allowed */
    NET_FAILED,   /* no answer: no such host, no connection, TLS, time */
};

struct net_outcome {
    enum net_result result;
    int status;            /* of HTTP or SMTP; 0 without an answer */
    int64_t retry_after_s; /* Retry-After, also as a date; 0: none */
    int64_t took_ms;
    char text[256]; /* what went wrong, "" if nothing did */
    size_t answer_len;
    char answer[NET_ANSWER_MAX + 1]; /* as it came, with a NUL at the end: treat it as hostile */
};

/*
 * Can a request go to this URL: http or https, a host of letters, digits, dots, hyphens and
 * underscores or an address, no user name, not too long? A URL with an address that the guard
 * refuses fails, too; names are judged when a request is sent. MALFORMED and DENIED: texts for the
 * user.
 */
FZ_MUST_CHECK enum fz_code net_request_check_url(const char *url, const struct net_guard *guard,
                                                 struct fz_error *err);

/* POST it, or GET it. Every failure is an outcome. */
void net_request_send(const struct net_request *request, const struct net_rules *rules,
                      struct net_outcome *ret);

#endif
