/*
 * {"keys":[{"kty":"RSA","kid":"a","use":"sig","n":"…","e":"AQAB"},
 *          {"kty":"EC","kid":"b","crv":"P-256","x":"…","y":"…"}]}
 *
 * RSA keys have 2,048 to 8,192 bits. A signature of ES256 is r and s, 32 bytes each; libcrypto wants
 * them as DER.
 */
#include "server/oidc/keys.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, EXPONENT_BYTES = 8, COORDINATE_BYTES = 32 };
enum { ARENA_BYTES = 1024 * 1024 };

struct key {
    enum oidc_algorithm algorithm;
    char *id; /* NULL: none */
    EVP_PKEY *pkey;
};

struct oidc_keys {
    size_t n;
    struct key keys[OIDC_KEYS_MAX];
};

/* ---- what libcrypto gives out ---------------------------------------------------------------- */

static void
free_bn(BIGNUM **bn)
{
    BN_free(*bn);
}

static void
free_pkey_ctx(EVP_PKEY_CTX **ctx)
{
    EVP_PKEY_CTX_free(*ctx);
}

static void
free_build(OSSL_PARAM_BLD **build)
{
    OSSL_PARAM_BLD_free(*build);
}

static void
free_params(OSSL_PARAM **params)
{
    OSSL_PARAM_free(*params);
}

static void
free_md_ctx(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static void
free_signature(ECDSA_SIG **signature)
{
    ECDSA_SIG_free(*signature);
}

/* ---- one key --------------------------------------------------------------------------------- */

/* A member in base64url, as bytes; false if it is not there. */
static bool
member(const json_t *jwk, const char *name, struct fz_arena *arena, struct fz_span *ret)
{
    const json_t *value = json_object_get(jwk, name);
    struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
    return text.len && oidc_base64url(text, arena, ret, NULL) == FZ_OK && ret->len;
}

/* NULL: they make no key. */
static EVP_PKEY *
make_pkey(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *pkey = NULL;
    FZ_CLEANUP(free_params) OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    FZ_CLEANUP(free_pkey_ctx) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    bool made = params && ctx && EVP_PKEY_fromdata_init(ctx) == 1 &&
                EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) == 1;
    return made ? pkey : NULL;
}

static EVP_PKEY *
read_rsa(const json_t *jwk, struct fz_arena *arena)
{
    struct fz_span n, e;
    if (!member(jwk, "n", arena, &n) || !member(jwk, "e", arena, &e) || e.len > EXPONENT_BYTES ||
        n.len > RSA_BITS_MAX / 8 + 1)
        return NULL;
    FZ_CLEANUP(free_bn) BIGNUM *modulus = BN_bin2bn(n.data, (int)n.len, NULL);
    FZ_CLEANUP(free_bn) BIGNUM *exponent = BN_bin2bn(e.data, (int)e.len, NULL);
    /* With 1 as its exponent anybody could sign. */
    if (!modulus || !exponent || BN_num_bits(modulus) < RSA_BITS_MIN ||
        BN_num_bits(modulus) > RSA_BITS_MAX || !BN_is_odd(modulus) || !BN_is_odd(exponent) ||
        BN_is_one(exponent))
        return NULL;
    FZ_CLEANUP(free_build) OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (!build || !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) ||
        !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent))
        return NULL;
    return make_pkey("RSA", build);
}

static EVP_PKEY *
read_ec(const json_t *jwk, struct fz_arena *arena)
{
    const char *curve = json_string_value(json_object_get(jwk, "crv"));
    uint8_t point[1 + 2 * COORDINATE_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    struct fz_span x, y;
    if (!curve || strcmp(curve, "P-256") != 0 || !member(jwk, "x", arena, &x) ||
        !member(jwk, "y", arena, &y) || x.len != COORDINATE_BYTES || y.len != COORDINATE_BYTES)
        return NULL;
    memcpy(point + 1, x.data, COORDINATE_BYTES);
    memcpy(point + 1 + COORDINATE_BYTES, y.data, COORDINATE_BYTES);
    FZ_CLEANUP(free_build) OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    /* A point that is not on the curve makes no key. */
    if (!build ||
        !OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) ||
        !OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)))
        return NULL;
    return make_pkey("EC", build);
}

static bool
is_text(const json_t *value, const char *text)
{
    const char *is = json_string_value(value);
    return is && strcmp(is, text) == 0;
}

/* Is the key for signatures, as far as it says what it is for? */
static bool
is_for_signatures(const json_t *jwk, const char *algorithm)
{
    const json_t *use = json_object_get(jwk, "use"), *alg = json_object_get(jwk, "alg"),
                 *operations = json_object_get(jwk, "key_ops");
    bool may_verify = !operations;
    for (size_t i = 0; i < json_array_size(operations); i++)
        may_verify = may_verify || is_text(json_array_get(operations, i), "verify");
    return (!use || is_text(use, "sig")) && (!alg || is_text(alg, algorithm)) && may_verify;
}

/* False: it cannot be used. */
static bool
read_key(const json_t *jwk, struct fz_arena *arena, struct key *ret)
{
    const json_t *type = json_object_get(jwk, "kty"), *id = json_object_get(jwk, "kid");
    if (id && (!json_is_string(id) || json_string_length(id) > OIDC_KEY_ID_MAX))
        return false;
    if (is_text(type, "RSA") && is_for_signatures(jwk, "RS256")) {
        ret->algorithm = OIDC_RS256;
        ret->pkey = read_rsa(jwk, arena);
    } else if (is_text(type, "EC") && is_for_signatures(jwk, "ES256")) {
        ret->algorithm = OIDC_ES256;
        ret->pkey = read_ec(jwk, arena);
    }
    if (!ret->pkey)
        return false;
    ret->id = id ? strdup(json_string_value(id)) : NULL;
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void
oidc_keys_destroy(struct oidc_keys *keys)
{
    for (size_t i = 0; keys && i < keys->n; i++) {
        EVP_PKEY_free(keys->keys[i].pkey);
        free(keys->keys[i].id);
    }
    free(keys);
}

void
oidc_keys_destroyp(struct oidc_keys **keys)
{
    oidc_keys_destroy(*keys);
}

enum fz_code
oidc_keys_parse(struct fz_span text, struct oidc_keys **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    FZ_CLEANUP(oidc_keys_destroyp) struct oidc_keys *keys = calloc(1, sizeof(*keys));
    json_auto_t *root = NULL;
    if (!keys)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = oidc_json_load(text, &root, err);
    if (code != FZ_OK)
        return fz_wrap(err, "keys");
    const json_t *list = json_object_get(root, "keys");
    for (size_t i = 0; i < json_array_size(list) && keys->n < OIDC_KEYS_MAX; i++) {
        struct key key = {0};
        if (read_key(json_array_get(list, i), &arena, &key))
            keys->keys[keys->n++] = key;
    }
    /* What was wrong with a key is nothing that a later failure in this thread should find. */
    ERR_clear_error();
    if (!keys->n)
        return fz_fail(
            err, FZ_E_MALFORMED,
            "keys: there is no RSA key of 2,048 bits or more, and no P-256 key, for signatures");
    *ret = fz_take(&keys);
    return FZ_OK;
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* r and s as DER; 0: they are not. The caller frees *ret with OPENSSL_free(). */
static int
make_der(struct fz_span raw, unsigned char **ret)
{
    FZ_CLEANUP(free_signature) ECDSA_SIG *signature = ECDSA_SIG_new();
    if (raw.len != (size_t)(2 * COORDINATE_BYTES))
        return 0;
    FZ_CLEANUP(free_bn) BIGNUM *r = BN_bin2bn(raw.data, COORDINATE_BYTES, NULL);
    FZ_CLEANUP(free_bn) BIGNUM *s = BN_bin2bn(raw.data + COORDINATE_BYTES, COORDINATE_BYTES, NULL);
    if (!r || !s || !signature || ECDSA_SIG_set0(signature, r, s) != 1)
        return 0;
    r = s = NULL; /* the signature's now */
    int len = i2d_ECDSA_SIG(signature, ret);
    return len > 0 ? len : 0;
}

static bool
verify(EVP_PKEY *pkey, struct fz_span content, const unsigned char *signature, size_t len)
{
    FZ_CLEANUP(free_md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    return ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, pkey) == 1 &&
           EVP_DigestVerify(ctx, signature, len, content.data, content.len) == 1;
}

static bool
matches(const struct key *key, const struct oidc_token *token)
{
    unsigned char *der = NULL;
    if (key->algorithm == OIDC_RS256)
        return verify(key->pkey, token->content, token->signature.data, token->signature.len);
    int len = make_der(token->signature, &der);
    bool is_good = len > 0 && verify(key->pkey, token->content, der, (size_t)len);
    OPENSSL_free(der);
    return is_good;
}

enum fz_code
oidc_keys_verify(const struct oidc_keys *keys, const struct oidc_token *token, struct fz_error *err)
{
    bool is_known = false, is_good = false;
    for (size_t i = 0; i < keys->n && !is_good; i++) {
        const struct key *key = &keys->keys[i];
        bool has_id = !token->key_id || (key->id && strcmp(key->id, token->key_id) == 0);
        /* The kind of the key decides, not the token alone. */
        if (!has_id || key->algorithm != token->algorithm)
            continue;
        is_known = true;
        is_good = matches(key, token);
    }
    ERR_clear_error();
    if (is_good)
        return FZ_OK;
    /* Without an id, a key that was not read yet may be the one. */
    if (!is_known || !token->key_id)
        return fz_fail(err, FZ_E_NOT_FOUND,
                       "the provider has no key that the token is signed with");
    return fz_fail(err, FZ_E_DENIED, "the signature of the token is wrong");
}
