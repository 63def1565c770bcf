/*
 * One login: what is made of its secret, and what is sent to the provider. Pure.
 */
#ifndef OIDC_FLOW_H
#define OIDC_FLOW_H

#include "server/oidc/oidc.h"

/* Numbers are no part of what is sent; texts are. */
enum oidc_purpose { OIDC_STATE, OIDC_NONCE, OIDC_VERIFIER };

/* 256 bits that only who has the secret can know, in base64url. */
void oidc_derive(const char *secret, enum oidc_purpose purpose, char ret[OIDC_SECRET_TEXT]);

/* "a=b&c=d" (application/x-www-form-urlencoded): append one more. */
void oidc_append_pair(struct fz_buffer *out, const char *name, const char *value);
void oidc_append_encoded(struct fz_buffer *out, const char *text);

/* The URL of the authorization request of the login. */
void oidc_append_request(const struct oidc_config *config, const char *endpoint, const char *secret,
                         struct fz_buffer *out);

/* Does a redirect URI or an endpoint begin with https://, in any case of letters? */
bool oidc_is_https(const char *url);

#endif
