/* The two halves of a login: the URL for the browser, and what its code is worth. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/oidc/claims.h"
#include "server/oidc/flow.h"
#include "server/oidc/provider.h"

enum { ACCESS_TOKEN_MAX = 16 * 1024 };

enum fz_code
oidc_begin(struct oidc *oidc, const char *secret, struct fz_buffer *url, struct fz_error *err)
{
    struct oidc_endpoints endpoints;
    enum fz_code code = oidc_provider_endpoints(oidc, &endpoints, err);
    if (code != FZ_OK)
        return code;
    oidc_append_request(oidc_provider_config(oidc), endpoints.authorization, secret, url);
    return fz_buffer_done(url, err);
}

/* ---- the code for a token -------------------------------------------------------------------- */

/* "Basic " and base64 of id:secret, each encoded as in a form (RFC 6749, 2.3.1). */
static void
append_basic(const struct oidc_config *config, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer pair = fz_buffer_make(0);
    oidc_append_encoded(&pair, config->client_id);
    fz_buffer_char(&pair, ':');
    oidc_append_encoded(&pair, config->client_secret);
    fz_buffer_text(out, "Basic ");
    fz_text_base64_append(out, fz_buffer_span(&pair));
    out->failed = out->failed || pair.failed;
}

/* {"error":"invalid_grant"}, as far as it is one of the words of RFC 6749, 5.2. */
static enum fz_code
fail_refused(const json_t *answer, struct fz_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    const char *word = json_string_value(json_object_get(answer, "error"));
    bool is_word = word && *word && strlen(word) < 40 && !word[strspn(word, letters)];
    if (is_word && strcmp(word, "invalid_client") == 0)
        return fz_fail(err, FZ_E_UNAVAILABLE,
                       "the provider does not know the client id, or its secret is wrong");
    return fz_fail(err, FZ_E_DENIED, "the provider refuses the code (%s)",
                   is_word ? word : "it does not say why");
}

/* The token endpoint's answer; owned. */
static enum fz_code
exchange(struct oidc *oidc, const struct oidc_endpoints *endpoints, const char *secret,
         const char *code_text, json_t **ret, struct fz_error *err)
{
    const struct oidc_config *config = oidc_provider_config(oidc);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer basic = fz_buffer_make(0);
    json_auto_t *answer = NULL;
    char verifier[OIDC_SECRET_TEXT];
    int status = 0;
    bool use_basic = *config->client_secret && (endpoints->takes_basic || !endpoints->takes_post);
    oidc_derive(secret, OIDC_VERIFIER, verifier);
    oidc_append_pair(&body, "grant_type", "authorization_code");
    oidc_append_pair(&body, "code", code_text);
    oidc_append_pair(&body, "redirect_uri", config->redirect_uri);
    oidc_append_pair(&body, "code_verifier", verifier);
    if (!use_basic)
        oidc_append_pair(&body, "client_id", config->client_id);
    if (!use_basic && *config->client_secret)
        oidc_append_pair(&body, "client_secret", config->client_secret);
    append_basic(config, &basic);
    struct net_request request = {.url = endpoints->token,
                                  .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                              {"Accept", "application/json"},
                                              {"Authorization", fz_buffer_cstr(&basic)}},
                                  .n_headers = use_basic ? 3 : 2,
                                  .body = fz_buffer_span(&body)};
    enum fz_code code = fz_buffer_done(&body, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&basic, err);
    if (code == FZ_OK)
        code = oidc_provider_ask(oidc, &request, "its token endpoint", &status, &answer, err);
    if (code == FZ_OK && status != 200)
        code = fail_refused(answer, err);
    if (code == FZ_OK)
        *ret = fz_take(&answer);
    return code;
}

/* ---- the token ------------------------------------------------------------------------------- */

static enum fz_code
read_token(struct oidc *oidc, const char *secret, const json_t *answer, struct fz_arena *arena,
           struct oidc_identity *ret, struct fz_error *err)
{
    const struct oidc_config *config = oidc_provider_config(oidc);
    const json_t *text = json_object_get(answer, "id_token");
    char nonce[OIDC_SECRET_TEXT];
    FZ_CLEANUP(oidc_token_deinit) struct oidc_token token = {0};
    if (!json_is_string(text))
        return fz_fail(err, FZ_E_DENIED, "the provider's answer has no ID token");
    enum fz_code code = oidc_token_parse(
        fz_span_make(json_string_value(text), json_string_length(text)), arena, &token, err);
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED)
        code = FZ_E_DENIED;
    if (code == FZ_OK)
        code = oidc_provider_verify(oidc, &token, err);
    if (code != FZ_OK) {
        fz_ignore(fz_wrap(err, "the ID token"));
        return code;
    }
    oidc_derive(secret, OIDC_NONCE, nonce);
    const struct oidc_expected expected = {config->issuer, config->client_id, nonce,
                                           fz_time_now_ms() / 1000};
    code = oidc_claims_check(token.claims, &expected, arena, ret, err);
    if (code != FZ_OK)
        fz_ignore(fz_wrap(err, "the ID token"));
    return code;
}

/* Providers may leave the address out of the token where there is this (Core 1.0, 5.4). */
static enum fz_code
ask_userinfo(struct oidc *oidc, const struct oidc_endpoints *endpoints, const json_t *answer,
             struct fz_arena *arena, struct oidc_identity *identity, struct fz_error *err)
{
    const json_t *token = json_object_get(answer, "access_token");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bearer = fz_buffer_make(0);
    json_auto_t *info = NULL;
    int status = 0;
    if (identity->email || !*endpoints->userinfo || !json_is_string(token) ||
        json_string_length(token) > ACCESS_TOKEN_MAX)
        return FZ_OK;
    fz_buffer_printf(&bearer, "Bearer %s", json_string_value(token));
    struct net_request request = {
        .url = endpoints->userinfo,
        .headers = {{"Accept", "application/json"}, {"Authorization", fz_buffer_cstr(&bearer)}},
        .n_headers = 2,
        .is_get = true};
    enum fz_code code = fz_buffer_done(&bearer, err);
    if (code == FZ_OK)
        code = oidc_provider_ask(oidc, &request, "its userinfo endpoint", &status, &info, err);
    if (code == FZ_OK && status == 200)
        return oidc_claims_add(info, arena, identity, err);
    /* A user whose subject is known needs no address. */
    return code == FZ_E_UNAVAILABLE ? FZ_OK : code;
}

/* RFC 9207: a code of another provider must not be sent to this one. */
static enum fz_code
check_answering(const struct oidc *oidc, const struct oidc_endpoints *endpoints, const char *issuer,
                struct fz_error *err)
{
    if (issuer ? strcmp(issuer, oidc_provider_config(oidc)->issuer) == 0 : !endpoints->names_issuer)
        return FZ_OK;
    return fz_fail(err, FZ_E_DENIED, "the answer is of another issuer, or does not name it");
}

enum fz_code
oidc_finish(struct oidc *oidc, const char *secret, const char *code_text, const char *issuer,
            struct fz_arena *arena, struct oidc_identity *ret, struct fz_error *err)
{
    struct oidc_endpoints endpoints;
    struct oidc_identity identity = {0};
    json_auto_t *answer = NULL;
    if (!*code_text || strlen(code_text) > OIDC_CODE_MAX)
        return fz_fail(err, FZ_E_DENIED, "the answer has no code, or too long a one");
    enum fz_code code = oidc_provider_endpoints(oidc, &endpoints, err);
    if (code == FZ_OK)
        code = check_answering(oidc, &endpoints, issuer, err);
    if (code == FZ_OK)
        code = exchange(oidc, &endpoints, secret, code_text, &answer, err);
    if (code == FZ_OK)
        code = read_token(oidc, secret, answer, arena, &identity, err);
    if (code == FZ_OK)
        code = ask_userinfo(oidc, &endpoints, answer, arena, &identity, err);
    if (code == FZ_OK)
        *ret = identity;
    return code;
}
