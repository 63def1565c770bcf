/*
 * Who may come in: a short memory of good tokens, and a brake on guessing.
 *
 * Thread-safe. Tokens are kept as SHA-256 only. A token that was revoked is refused at the latest
 * API_AUTH_TRUST_MS later.
 */
#ifndef API_AUTH_H
#define API_AUTH_H

#include "base/digest.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { API_AUTH_TRUST_MS = 3000 };

struct api_auth; /* opaque */

struct api_grant {                /* what a token allows */
    int64_t token_id, project_id; /* project of the call */
    unsigned scopes;              /* of enum store_scope */
};

enum api_auth_found {
    API_AUTH_UNKNOWN, /* ask the database, unless the address is braked */
    API_AUTH_STALE,   /* was good a while ago: ask the database even if it is */
    API_AUTH_FRESH,   /* *ret holds */
};

FZ_MUST_CHECK enum fz_code api_auth_create(unsigned failures_per_minute, struct api_auth **ret,
                                           struct fz_error *err);
void api_auth_destroy(struct api_auth *auth);

/* `key` is the SHA-256 of the token and the project that was asked for; now_ms is monotonic. */
enum api_auth_found api_auth_find(struct api_auth *auth, const char key[FZ_SHA256_TEXT],
                                  int64_t now_ms, struct api_grant *ret);
void api_auth_remember(struct api_auth *auth, const char key[FZ_SHA256_TEXT], int64_t now_ms,
                       const struct api_grant *grant);
void api_auth_forget(struct api_auth *auth, const char key[FZ_SHA256_TEXT]);

/* Seconds for which the address may not try again; 0 = it may. */
unsigned api_auth_braked_s(struct api_auth *auth, const char *ip, int64_t now_ms);
void api_auth_failed(struct api_auth *auth, const char *ip, int64_t now_ms);

#endif
