#include "base/digest.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

struct fz_hash {
    EVP_MD_CTX *ctx;
    enum fz_hash_kind kind;
};

enum fz_code
fz_hash_create(enum fz_hash_kind kind, struct fz_hash **ret, struct fz_error *err)
{
    bool is_sha1 = kind == FZ_HASH_SHA1;
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = calloc(1, sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->kind = kind;
    hash->ctx = EVP_MD_CTX_new();
    if (!hash->ctx || EVP_DigestInit_ex(hash->ctx, is_sha1 ? EVP_sha1() : EVP_sha256(), NULL) != 1)
        /* Machines in FIPS mode may have no SHA-1. */
        return is_sha1 ? fz_fail(err, FZ_E_UNSUPPORTED, "SHA-1 is not available on this machine")
                       : fz_fail(err, FZ_E_NO_MEMORY, "SHA-256 is not available");
    *ret = fz_take(&hash);
    return FZ_OK;
}

void
fz_hash_destroyp(struct fz_hash **hash)
{
    if (*hash)
        EVP_MD_CTX_free((*hash)->ctx);
    free(*hash);
}

void
fz_hash_update(struct fz_hash *hash, struct fz_span bytes)
{
    if (bytes.len && EVP_DigestUpdate(hash->ctx, bytes.data, bytes.len) != 1)
        abort(); /* a plain update has no failure that could be handled */
}

void
fz_hash_finish(struct fz_hash *hash, char *ret_hex)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0, want = hash->kind == FZ_HASH_SHA1 ? FZ_SHA1_LEN : FZ_SHA256_LEN;
    if (EVP_DigestFinal_ex(hash->ctx, digest, &len) != 1 || len != want)
        abort();
    fz_text_hex(fz_span_make(digest, len), ret_hex);
}

void
fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(bytes.data, bytes.len, digest, &len, EVP_sha256(), NULL) != 1 ||
        len != FZ_SHA256_LEN)
        abort();
    fz_text_hex(fz_span_make(digest, FZ_SHA256_LEN), ret_hex);
}

void
fz_hmac_sha256(struct fz_span key, struct fz_span bytes, uint8_t ret[FZ_SHA256_LEN])
{
    unsigned len = 0;
    /* A NULL key would mean the key of a call before this one. */
    const void *data = key.data ? (const void *)key.data : "";
    if (!HMAC(EVP_sha256(), data, (int)key.len, bytes.data, bytes.len, ret, &len) ||
        len != FZ_SHA256_LEN)
        abort();
}

bool
fz_equal_constant_time(struct fz_span a, struct fz_span b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.data, b.data, a.len) == 0);
}
