/*
 * What a token says of a user, and whether that is meant for this server and this login (OpenID
 * Connect Core 1.0, 3.1.3.7). Pure. For tokens whose signature was checked.
 */
#ifndef OIDC_CLAIMS_H
#define OIDC_CLAIMS_H

#include "server/oidc/oidc.h"
#include "server/oidc/token.h"

/* Clocks differ by as much. */
enum { OIDC_SKEW_S = 120 };

struct oidc_expected {
    const char *issuer, *client_id, *nonce;
    int64_t now_s; /* Unix time */
};

/* DENIED names the claim that does not count. Texts of *ret are in the arena. */
FZ_MUST_CHECK enum fz_code oidc_claims_check(const json_t *claims,
                                             const struct oidc_expected *expected,
                                             struct fz_arena *arena, struct oidc_identity *ret,
                                             struct fz_error *err);

/* What the answer of the userinfo endpoint adds: address and name. DENIED: it is of another user. */
FZ_MUST_CHECK enum fz_code oidc_claims_add(const json_t *info, struct fz_arena *arena,
                                           struct oidc_identity *identity, struct fz_error *err);

#endif
