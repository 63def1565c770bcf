/*
 * "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJzdWIiOiIxIn0.c2ln" is the header {"alg":"RS256","kid":"a"},
 * the claims {"sub":"1"} and the signature "sig" of everything before the second dot.
 */
#include "server/oidc/token.h"

#include "base/json/scan.h"
#include "base/text.h"

enum { DEPTH = 8, TREE_BYTES = 4 * 1024 * 1024 };

enum fz_code
oidc_json_load(struct fz_span text, json_t **ret, struct fz_error *err)
{
    const struct json_scan_limits limits = {
        .depth = DEPTH, .output_bytes = 4 * text.len + 64, .tree_bytes = TREE_BYTES};
    struct json_scan_notes notes = {0};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(text, &limits, &notes, &root, err);
    if (code != FZ_OK)
        return code == FZ_E_LIMIT ? fz_fail(err, FZ_E_MALFORMED, "the JSON is too large or deep")
                                  : code;
    /* Not repaired: two names would become one. */
    if (notes.n_bad_utf8 || notes.n_bad_escapes)
        return fz_fail(err, FZ_E_MALFORMED, "a text in it is not UTF-8");
    if (!json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "it is not an object");
    *ret = fz_take(&root);
    return FZ_OK;
}

enum fz_code
oidc_base64url(struct fz_span text, struct fz_arena *arena, struct fz_span *ret,
               struct fz_error *err)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool is_digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_digit && c != '-' && c != '_')
            return fz_fail(err, FZ_E_MALFORMED, "byte %zu is not base64url", i);
    }
    return fz_text_base64_decode(text, arena, ret, err);
}

/* Three parts; a token that is encrypted has five. */
static enum fz_code
split(struct fz_span text, struct fz_span ret[3], struct fz_error *err)
{
    size_t n = 0, start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != '.')
            continue;
        if (n < 3)
            ret[n] = fz_span_between(text, start, i);
        n++;
        start = i + 1;
    }
    if (n == 5)
        return fz_fail(err, FZ_E_UNSUPPORTED, "it is encrypted");
    if (n != 3 || !ret[0].len || !ret[1].len)
        return fz_fail(err, FZ_E_MALFORMED, "it has %zu parts in place of three", n);
    return FZ_OK;
}

static enum fz_code
read_header(struct fz_span text, struct fz_arena *arena, struct oidc_token *ret,
            struct fz_error *err)
{
    struct fz_span bytes;
    json_auto_t *root = NULL;
    enum fz_code code = oidc_base64url(text, arena, &bytes, err);
    if (code == FZ_OK)
        code = oidc_json_load(bytes, &root, err);
    if (code != FZ_OK)
        return fz_wrap(err, "header");
    const char *algorithm = json_string_value(json_object_get(root, "alg"));
    const json_t *key_id = json_object_get(root, "kid");
    /* Named by us, not by the token: "none" and HS256 with a public key as the secret are how
     * others were deceived. */
    if (algorithm && strcmp(algorithm, "RS256") == 0)
        ret->algorithm = OIDC_RS256;
    else if (algorithm && strcmp(algorithm, "ES256") == 0)
        ret->algorithm = OIDC_ES256;
    else
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "its algorithm is %.20s; RS256 and ES256 are accepted",
                       algorithm ? algorithm : "not named");
    if (json_object_get(root, "crit"))
        return fz_fail(err, FZ_E_UNSUPPORTED, "it has extensions that must be understood");
    if (!key_id)
        return FZ_OK;
    if (!json_is_string(key_id) || json_string_length(key_id) > OIDC_KEY_ID_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "header: kid is not a text of at most %d bytes",
                       OIDC_KEY_ID_MAX);
    ret->key_id = fz_arena_strdup(arena, json_string_value(key_id));
    return ret->key_id ? FZ_OK : fz_arena_fail(arena, err);
}

enum fz_code
oidc_token_parse(struct fz_span text, struct fz_arena *arena, struct oidc_token *ret,
                 struct fz_error *err)
{
    struct fz_span parts[3], bytes;
    struct oidc_token token = {0};
    if (text.len > OIDC_TOKEN_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "it has %zu bytes, at most %d are read", text.len,
                       OIDC_TOKEN_MAX);
    enum fz_code code = split(text, parts, err);
    if (code == FZ_OK)
        code = read_header(parts[0], arena, &token, err);
    if (code == FZ_OK)
        code = oidc_base64url(parts[2], arena, &token.signature, err);
    if (code == FZ_OK)
        code = oidc_base64url(parts[1], arena, &bytes, err);
    if (code == FZ_OK && (code = oidc_json_load(bytes, &token.claims, err)) != FZ_OK)
        code = fz_wrap(err, "claims");
    if (code != FZ_OK)
        return code;
    token.content = fz_span_until(text, parts[0].len + 1 + parts[1].len);
    *ret = token;
    return FZ_OK;
}

void
oidc_token_deinit(struct oidc_token *token)
{
    json_decref(token->claims);
    token->claims = NULL;
}
