#include "base/digest.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

struct fz_sha256 {
    EVP_MD_CTX *ctx;
};

struct fz_sha1 {
    EVP_MD_CTX *ctx;
};

static void
update(EVP_MD_CTX *ctx, struct fz_span bytes)
{
    if (bytes.len && EVP_DigestUpdate(ctx, bytes.data, bytes.len) != 1)
        abort(); /* a plain update has no failure that could be handled */
}

static void
finish(EVP_MD_CTX *ctx, unsigned want_len, char *ret_hex)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_DigestFinal_ex(ctx, digest, &len) != 1 || len != want_len)
        abort();
    fz_text_hex(fz_span_make(digest, len), ret_hex);
}

enum fz_code
fz_sha256_create(struct fz_sha256 **ret, struct fz_error *err)
{
    struct fz_sha256 *hash = calloc(1, sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->ctx = EVP_MD_CTX_new();
    if (!hash->ctx || EVP_DigestInit_ex(hash->ctx, EVP_sha256(), NULL) != 1) {
        fz_sha256_destroy(hash);
        return fz_fail(err, FZ_E_NO_MEMORY, "SHA-256 is not available");
    }
    *ret = hash;
    return FZ_OK;
}

void
fz_sha256_destroy(struct fz_sha256 *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->ctx);
    free(hash);
}

void
fz_sha256_destroyp(struct fz_sha256 **hash)
{
    fz_sha256_destroy(*hash);
}

void
fz_sha256_update(struct fz_sha256 *hash, struct fz_span bytes)
{
    update(hash->ctx, bytes);
}

void
fz_sha256_finish(struct fz_sha256 *hash, char ret_hex[FZ_SHA256_TEXT])
{
    finish(hash->ctx, FZ_SHA256_LEN, ret_hex);
}

enum fz_code
fz_sha1_create(struct fz_sha1 **ret, struct fz_error *err)
{
    struct fz_sha1 *hash = calloc(1, sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->ctx = EVP_MD_CTX_new();
    if (!hash->ctx || EVP_DigestInit_ex(hash->ctx, EVP_sha1(), NULL) != 1) {
        fz_sha1_destroy(hash);
        return fz_fail(err, FZ_E_UNSUPPORTED, "SHA-1 is not available on this machine");
    }
    *ret = hash;
    return FZ_OK;
}

void
fz_sha1_destroy(struct fz_sha1 *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->ctx);
    free(hash);
}

void
fz_sha1_destroyp(struct fz_sha1 **hash)
{
    fz_sha1_destroy(*hash);
}

void
fz_sha1_update(struct fz_sha1 *hash, struct fz_span bytes)
{
    update(hash->ctx, bytes);
}

void
fz_sha1_finish(struct fz_sha1 *hash, char ret_hex[FZ_SHA1_TEXT])
{
    finish(hash->ctx, FZ_SHA1_LEN, ret_hex);
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

bool
fz_equal_constant_time(struct fz_span a, struct fz_span b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.data, b.data, a.len) == 0);
}
