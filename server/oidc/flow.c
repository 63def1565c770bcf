#include "server/oidc/flow.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/random.h"
#include "base/text.h"

static void
encode(const uint8_t bytes[FZ_SHA256_LEN], char ret[OIDC_SECRET_TEXT])
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_text_base64url_append(&text, fz_span_make(bytes, FZ_SHA256_LEN));
    /* 32 bytes are 43 digits; without memory the text is empty, and matches nothing. */
    memset(ret, 0, OIDC_SECRET_TEXT);
    if (text.len == OIDC_SECRET_TEXT - 1)
        memcpy(ret, text.data, text.len);
}

void
oidc_secret_make(char ret[OIDC_SECRET_TEXT])
{
    uint8_t random[FZ_SHA256_LEN];
    fz_random(random, sizeof(random));
    encode(random, ret);
}

void
oidc_derive(const char *secret, enum oidc_purpose purpose, char ret[OIDC_SECRET_TEXT])
{
    static const char *const names[] = {"state", "nonce", "verifier"};
    uint8_t bytes[FZ_SHA256_LEN];
    fz_hmac_sha256(fz_span_cstr(secret), fz_span_cstr(names[purpose]), bytes);
    encode(bytes, ret);
}

bool
oidc_state_is(const char *secret, const char *state)
{
    char own[OIDC_SECRET_TEXT];
    /* A secret of another length was not made here. */
    if (strlen(secret) != OIDC_SECRET_TEXT - 1)
        return false;
    oidc_derive(secret, OIDC_STATE, own);
    return *own && fz_equal_constant_time(fz_span_cstr(own), fz_span_cstr(state));
}

void
oidc_append_encoded(struct fz_buffer *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~", *c))
            fz_buffer_char(out, *c);
        else
            fz_buffer_printf(out, "%%%02X", (unsigned char)*c);
    }
}

void
oidc_append_pair(struct fz_buffer *out, const char *name, const char *value)
{
    if (out->len && !strchr("?&", out->data[out->len - 1]))
        fz_buffer_char(out, '&');
    fz_buffer_printf(out, "%s=", name);
    oidc_append_encoded(out, value);
}

/* PKCE's challenge: SHA-256 of the verifier (RFC 7636, 4.2). */
static void
make_challenge(const char *secret, char ret[OIDC_SECRET_TEXT])
{
    char verifier[OIDC_SECRET_TEXT], hex[FZ_SHA256_TEXT];
    uint8_t bytes[FZ_SHA256_LEN] = {0};
    oidc_derive(secret, OIDC_VERIFIER, verifier);
    fz_sha256_hex(fz_span_cstr(verifier), hex);
    fz_ignore(fz_text_unhex(fz_span_cstr(hex), bytes)); /* it is hex */
    encode(bytes, ret);
}

void
oidc_append_request(const struct oidc_config *config, const char *endpoint, const char *secret,
                    struct fz_buffer *out)
{
    char state[OIDC_SECRET_TEXT], nonce[OIDC_SECRET_TEXT], challenge[OIDC_SECRET_TEXT];
    oidc_derive(secret, OIDC_STATE, state);
    oidc_derive(secret, OIDC_NONCE, nonce);
    make_challenge(secret, challenge);
    fz_buffer_text(out, endpoint);
    /* An endpoint may have a query of its own (RFC 6749, 3.1). */
    if (!strchr(endpoint, '?'))
        fz_buffer_char(out, '?');
    oidc_append_pair(out, "response_type", "code");
    oidc_append_pair(out, "client_id", config->client_id);
    oidc_append_pair(out, "redirect_uri", config->redirect_uri);
    oidc_append_pair(out, "scope", "openid email profile");
    oidc_append_pair(out, "state", state);
    oidc_append_pair(out, "nonce", nonce);
    oidc_append_pair(out, "code_challenge", challenge);
    oidc_append_pair(out, "code_challenge_method", "S256");
}

bool
oidc_is_https(const char *url)
{
    return strncasecmp(url, "https://", strlen("https://")) == 0;
}
