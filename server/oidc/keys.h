/*
 * The public keys of a provider (JWK set, RFC 7517 and 7518) and signatures made with them.
 *
 * Keys for other purposes, of other kinds, or that are too weak, are passed over. Untrusted bytes:
 * bounded and fuzzed. Any number of threads may verify at once.
 */
#ifndef OIDC_KEYS_H
#define OIDC_KEYS_H

#include "server/oidc/token.h"

enum { OIDC_KEYS_BYTES_MAX = 256 * 1024, OIDC_KEYS_MAX = 64 };

struct oidc_keys; /* opaque */

/* MALFORMED: not a JWK set, or without a key that can be used. */
FZ_MUST_CHECK enum fz_code oidc_keys_parse(struct fz_span text, struct oidc_keys **ret,
                                           struct fz_error *err);
void oidc_keys_destroy(struct oidc_keys *keys);
void oidc_keys_destroyp(struct oidc_keys **keys);

/* Was the token signed with one of the keys? NOT_FOUND: there is no key with its id, and newer keys
 * may have it; DENIED: it was not. */
FZ_MUST_CHECK enum fz_code oidc_keys_verify(const struct oidc_keys *keys,
                                            const struct oidc_token *token, struct fz_error *err);

#endif
