/*
 * Logins through an OpenID provider: where to send the browser, and who it is that came back.
 *
 * The authorization code flow with PKCE (OpenID Connect Core 1.0, 3.1; RFC 7636). A login has one
 * random secret, which only the browser keeps, as a cookie. State, nonce and PKCE's verifier are made
 * of it, so nothing is stored here and any server can end a login that another one began. The
 * provider's description and its keys are read when they are needed, and kept for an hour.
 *
 * Any number of threads; each call may wait for the provider for seconds. No text contains a token, a
 * code or a secret.
 */
#ifndef OIDC_H
#define OIDC_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/net/net_request.h"

enum { OIDC_SECRET_TEXT = 44, OIDC_TEXT_MAX = 255, OIDC_CODE_MAX = 2048 };

struct oidc_config { /* texts are borrowed until oidc_destroy() */
    const char *issuer, *client_id;
    const char *client_secret; /* "" = none: a public client */
    const char *redirect_uri;  /* where the provider sends the browser back to */
    const char *internal;      /* as net_guard_parse(): a provider in the own network */
    const char *ca_file;       /* "" = the certificates of the system */
};

struct oidc; /* opaque */

/* MALFORMED: the issuer, or what is internal. Nothing is sent. */
FZ_MUST_CHECK enum fz_code oidc_create(const struct oidc_config *config, struct oidc **ret,
                                       struct fz_error *err);
void oidc_destroy(struct oidc *oidc);
/* What runs is broken off. */
void oidc_stop(struct oidc *oidc);

/* The secret of a new login: 256 random bits in base64url. */
void oidc_secret_make(char ret[OIDC_SECRET_TEXT]);

/* The URL that the browser of the login has to open. UNAVAILABLE: the provider does not answer, or
 * what it says of itself cannot be used. */
FZ_MUST_CHECK enum fz_code oidc_begin(struct oidc *oidc, const char *secret, struct fz_buffer *url,
                                      struct fz_error *err);

/* Is it the state of the login with this secret? */
bool oidc_state_is(const char *secret, const char *state);

/* Who somebody is at the provider. */
struct oidc_identity {
    const char *subject;
    const char *email, *name; /* NULL: not said */
    bool is_email_verified;
};

/* Who has logged in: `code` and `issuer` are what the browser brought, issuer may be NULL (RFC 9207).
 * The state was checked before. Texts are in the arena. DENIED: it does not count, and why;
 * UNAVAILABLE as above. */
FZ_MUST_CHECK enum fz_code oidc_finish(struct oidc *oidc, const char *secret, const char *code,
                                       const char *issuer, struct fz_arena *arena,
                                       struct oidc_identity *ret, struct fz_error *err);

#endif
