/*
 * An ID token as it came: its parts and its claims. Nothing in it counts before oidc_keys_verify().
 *
 * A JWT in the compact form of JWS (RFC 7515, 3.1): header.claims.signature, each in base64url
 * without padding. Untrusted bytes: bounded and fuzzed.
 */
#ifndef OIDC_TOKEN_H
#define OIDC_TOKEN_H

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum { OIDC_TOKEN_MAX = 32 * 1024, OIDC_KEY_ID_MAX = 256 };

/* The only two: "none" and those with a shared secret never count. */
enum oidc_algorithm { OIDC_RS256, OIDC_ES256 };

struct oidc_token {
    enum oidc_algorithm algorithm;
    const char *key_id;     /* "kid"; NULL: it names none; arena */
    struct fz_span content; /* what is signed; of the text */
    struct fz_span signature;
    json_t *claims; /* an object; owned */
};

/* Borrows `text`. MALFORMED: not a JWS with JSON in it; UNSUPPORTED: another algorithm, encrypted,
 * or with extensions that must be understood ("crit"). */
FZ_MUST_CHECK enum fz_code oidc_token_parse(struct fz_span text, struct fz_arena *arena,
                                            struct oidc_token *ret, struct fz_error *err);
void oidc_token_deinit(struct oidc_token *token);

/* An object from outside, with texts that are UTF-8 as they came; owned. MALFORMED. */
FZ_MUST_CHECK enum fz_code oidc_json_load(struct fz_span text, json_t **ret, struct fz_error *err);

/* Bytes in base64url without padding or anything else; arena. MALFORMED. */
FZ_MUST_CHECK enum fz_code oidc_base64url(struct fz_span text, struct fz_arena *arena,
                                          struct fz_span *ret, struct fz_error *err);

#endif
