/*
 * Against guessing tokens: how many wrong ones each client has sent in its current minute.
 *
 * Thread-safe. It only decides how a wrong token is answered (429 in place of 401); a valid token
 * is never refused because of it.
 */
#ifndef API_AUTH_H
#define API_AUTH_H

#include "base/error.h"
#include "server/http/client.h"

struct api_auth; /* opaque */

struct api_grant {                /* what a token allows */
    int64_t token_id, project_id; /* project of the call */
    unsigned scopes;              /* of enum store_scope */
};

FZ_MUST_CHECK enum fz_code api_auth_create(unsigned failures_per_minute, struct api_auth **ret,
                                           struct fz_error *err);
void api_auth_destroy(struct api_auth *auth);

/* Seconds for which the client's wrong tokens are answered with 429; 0 = they are not. `client` is
 * the key of struct http_client; now_ms is monotonic. */
unsigned api_auth_wait_s(struct api_auth *auth, const struct http_address *client, int64_t now_ms);
void api_auth_failed(struct api_auth *auth, const struct http_address *client, int64_t now_ms);

#endif
