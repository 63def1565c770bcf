/*
 * What is known of the provider: its description (OpenID Connect Discovery 1.0) and its keys, read
 * over the network and kept for an hour. Private to server/oidc.
 */
#ifndef OIDC_PROVIDER_H
#define OIDC_PROVIDER_H

#include "server/oidc/keys.h"
#include "server/oidc/oidc.h"

enum { OIDC_URL_ROOM = NET_URL_MAX + 1 };

struct oidc_endpoints {
    char authorization[OIDC_URL_ROOM], token[OIDC_URL_ROOM], keys[OIDC_URL_ROOM];
    char userinfo[OIDC_URL_ROOM]; /* "" = none */
    bool takes_basic, takes_post; /* how a client proves who it is */
    bool names_issuer;            /* with each answer (RFC 9207) */
};

/* From the text of the description. MALFORMED: what is missing or cannot be used. Pure. */
FZ_MUST_CHECK enum fz_code oidc_endpoints_parse(struct fz_span text, const char *issuer,
                                                const struct net_guard *guard,
                                                struct oidc_endpoints *ret, struct fz_error *err);

/* The endpoints, from memory or from the provider. UNAVAILABLE. */
FZ_MUST_CHECK enum fz_code oidc_provider_endpoints(struct oidc *oidc, struct oidc_endpoints *ret,
                                                   struct fz_error *err);
/* oidc_keys_verify(), with keys that are read again if they do not have that of the token, once a
 * minute at most. DENIED, UNAVAILABLE. */
FZ_MUST_CHECK enum fz_code oidc_provider_verify(struct oidc *oidc, const struct oidc_token *token,
                                                struct fz_error *err);

/* The answer to one request to the provider, with its JSON if the status is 200 or 400; owned.
 * UNAVAILABLE. */
FZ_MUST_CHECK enum fz_code oidc_provider_ask(struct oidc *oidc, struct net_request *request,
                                             const char *what, int *ret_status, json_t **ret,
                                             struct fz_error *err);
const struct oidc_config *oidc_provider_config(const struct oidc *oidc);

#endif
