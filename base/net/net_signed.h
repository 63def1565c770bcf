/*
 * One request to the server of an object store, signed by libcurl (AWS Signature Version 4), and to
 * the service of a cloud that gives the keys for it (unsigned).
 *
 * The operator names both, so they may be in the internal network and net_guard.h does not judge
 * them. Redirects, proxies and .netrc are not used. A handle keeps its connections; one thread at a
 * time uses it. SIGPIPE is ignored in the whole process after the first handle.
 *
 * What the signature needs of the caller, since libcurl 7.88 (Debian 12) signs a URL as it is
 * and later versions encode it again: a path of letters, digits and "-._~/" alone, without parts that are "." or ".."
 * (8.14, of Debian 13, refuses to sign with CURLOPT_PATH_AS_IS, which would leave those alone), and a query that is sorted, has a '=' in each part and writes everything else as %XX. A '+' there cannot be signed by 8.14.
 */
#ifndef BASE_NET_SIGNED_H
#define BASE_NET_SIGNED_H

#include "base/buffer.h"
#include "base/net/net_request.h"
#include "base/span.h"

struct net_signed; /* opaque */

enum { NET_SIGNED_HEADERS = 8, NET_SIGNED_TEXT_MAX = 2 * 1024 * 1024, NET_KEY_ROOM = 2560 };

/* Who signs. `token` is "" unless the keys are temporary. */
struct net_keys {
    char access[256], secret[256], token[NET_KEY_ROOM];
};

struct net_signed_request {
    const char *method; /* GET, HEAD, PUT, POST, DELETE */
    const char *url, *region;
    const struct net_keys *keys; /* NULL: not signed */
    const char *sha256;          /* hex, of the body: signed with it, and the server compares */
    struct net_header headers[NET_SIGNED_HEADERS];
    size_t n_headers;
    struct fz_span body; /* of a POST or PUT */
    int fd;              /* or else a part of this file, if body_len > 0 */
    uint64_t offset, body_len;
    /* Takes the body of an answer 200 or 206; false ends the transfer. NULL: it goes to answer.text,
     * as that of any other status does. */
    bool (*on_bytes)(void *user, struct fz_span bytes);
    /* Called about once a second; false ends the transfer. NULL: no one asks. */
    bool (*go_on)(void *user);
    void *user;
    const char *ca_file;          /* certificates to trust; "": those of the system */
    int64_t connect_ms, stall_ms; /* stall: so long without a byte */
    int64_t total_ms;             /* 0: as long as bytes move */
};

struct net_signed_answer {
    long status; /* 0: no answer; `why` says the reason */
    struct fz_buffer text;
    char etag[136], region[64]; /* of the headers ETag and x-amz-bucket-region; "" without them */
    int64_t len;                /* Content-Length, -1 without one */
    int64_t start;              /* of Content-Range, 0 without one */
    int64_t date_ms;            /* the server's clock, 0 if it does not say */
    bool
        is_refused; /* the certificate is not one to trust, or libcurl cannot sign this; the next time as well */
    bool is_ended; /* by on_bytes() or go_on() */
    char why[256];
};

FZ_MUST_CHECK enum fz_code net_signed_create(struct net_signed **ret, struct fz_error *err);
void net_signed_destroy(struct net_signed *handle);

/* Every failure is an answer. End it with net_signed_answer_deinit(). */
void net_signed_send(struct net_signed *handle, const struct net_signed_request *request,
                     struct net_signed_answer *ret);
void net_signed_answer_deinit(struct net_signed_answer *answer);

#endif
