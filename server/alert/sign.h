/*
 * Signatures and secrets of Standard Webhooks 1.0.0.
 *
 * The signature is HMAC-SHA256 over "ID.TIMESTAMP.BODY" with the bytes of the secret. While a secret
 * is rotated there are two, and a receiver accepts a message that either of them signed. A secret is
 * shown as "whsec_" and base64.
 */
#ifndef ALERT_SIGN_H
#define ALERT_SIGN_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

enum {
    ALERT_SECRET_MIN = 24, /* bytes */
    ALERT_SECRET_MAX = 64,
    ALERT_SECRET_TEXT = 96, /* "whsec_", base64 of the longest one, NUL */
};

/* A new secret of 32 random bytes, as text. */
void alert_secret_make(char ret[ALERT_SECRET_TEXT]);

/* The bytes of a secret; *ret_len is 24 to 64. MALFORMED does not quote it. */
FZ_MUST_CHECK enum fz_code alert_secret_parse(const char *text, uint8_t ret[ALERT_SECRET_MAX],
                                              size_t *ret_len, struct fz_error *err);

struct alert_signed {
    const char *id; /* of the message: the same in all attempts */
    int64_t time_s; /* Unix time of the attempt */
    struct fz_span body;
};

/* Append the value of webhook-signature, "v1,BASE64", for each of the secrets with a space between
 * two. MALFORMED: a secret is not one. */
FZ_MUST_CHECK enum fz_code alert_sign(const struct alert_signed *what, const char *const *secrets,
                                      size_t n_secrets, struct fz_buffer *out,
                                      struct fz_error *err);

#endif
