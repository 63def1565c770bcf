/*
 * SHA-256 and SHA-1 through libcrypto's own contexts, which live where the caller puts them.
 *
 * EVP is the newer interface, but each of its calls allocates, and these functions have no failure to
 * report: a server that is out of memory would have to abort. Deprecated since OpenSSL 3.0.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

struct fz_hash {
    union {
        SHA256_CTX sha256;
        SHA_CTX sha1;
    } ctx;
    enum fz_hash_kind kind;
};

enum fz_code
fz_hash_create(enum fz_hash_kind kind, struct fz_hash **ret, struct fz_error *err)
{
    struct fz_hash *hash = calloc(1, sizeof(*hash));
    if (!hash)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    hash->kind = kind;
    if (kind == FZ_HASH_SHA1)
        SHA1_Init(&hash->ctx.sha1);
    else
        SHA256_Init(&hash->ctx.sha256);
    *ret = hash;
    return FZ_OK;
}

void
fz_hash_destroyp(struct fz_hash **hash)
{
    free(*hash);
}

void
fz_hash_update(struct fz_hash *hash, struct fz_span bytes)
{
    if (bytes.len == 0)
        return;
    if (hash->kind == FZ_HASH_SHA1)
        SHA1_Update(&hash->ctx.sha1, bytes.data, bytes.len);
    else
        SHA256_Update(&hash->ctx.sha256, bytes.data, bytes.len);
}

void
fz_hash_finish(struct fz_hash *hash, char *ret_hex)
{
    uint8_t digest[FZ_SHA256_LEN];
    if (hash->kind == FZ_HASH_SHA1)
        SHA1_Final(digest, &hash->ctx.sha1);
    else
        SHA256_Final(digest, &hash->ctx.sha256);
    fz_text_hex(fz_span_make(digest, hash->kind == FZ_HASH_SHA1 ? FZ_SHA1_LEN : FZ_SHA256_LEN),
                ret_hex);
}

/* Of two spans, one after the other. */
static void
sha256_of(struct fz_span a, struct fz_span b, uint8_t ret[FZ_SHA256_LEN])
{
    SHA256_CTX ctx;
    SHA256_Init(&ctx);
    if (a.len > 0)
        SHA256_Update(&ctx, a.data, a.len);
    if (b.len > 0)
        SHA256_Update(&ctx, b.data, b.len);
    SHA256_Final(ret, &ctx);
    OPENSSL_cleanse(&ctx, sizeof(ctx)); /* bytes of a key */
}

void
fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT])
{
    uint8_t digest[FZ_SHA256_LEN];
    sha256_of(bytes, (struct fz_span){NULL, 0}, digest);
    fz_text_hex(fz_span_make(digest, FZ_SHA256_LEN), ret_hex);
}

/* RFC 2104: H(key ^ opad, H(key ^ ipad, bytes)), where a key longer than a block is its hash. */
void
fz_hmac_sha256(struct fz_span key, struct fz_span bytes, uint8_t ret[FZ_SHA256_LEN])
{
    enum { IPAD = 0x36, OPAD = 0x5c };
    uint8_t pad[SHA256_CBLOCK] = {0}, inner[FZ_SHA256_LEN];
    if (key.len > sizeof(pad))
        sha256_of(key, (struct fz_span){NULL, 0}, pad);
    else if (key.len > 0)
        memcpy(pad, key.data, key.len);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] ^= IPAD;
    sha256_of(fz_span_make(pad, sizeof(pad)), bytes, inner);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] ^= IPAD ^ OPAD;
    sha256_of(fz_span_make(pad, sizeof(pad)), fz_span_make(inner, sizeof(inner)), ret);
    OPENSSL_cleanse(pad, sizeof(pad));
}

bool
fz_equal_constant_time(struct fz_span a, struct fz_span b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.data, b.data, a.len) == 0);
}
