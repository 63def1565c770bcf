/*
 * SHA-256 (FIPS 180-4) without a library, for what names things by their content where libcrypto is
 * not linked: framezero-child and the command line. Everything else uses base/digest.h.
 *
 *     struct fz_sha256 hash = fz_sha256_make();
 *     fz_sha256_add(&hash, bytes);
 *     fz_sha256_end(&hash, digest);
 */
#ifndef FZ_SHA256_H
#define FZ_SHA256_H

#include "base/span.h"

enum { FZ_SHA256_BYTES = 32, FZ_SHA256_BLOCK = 64 };

struct fz_sha256 {
    uint32_t state[8];
    uint64_t n; /* bytes so far */
    uint8_t block[FZ_SHA256_BLOCK];
};

struct fz_sha256 fz_sha256_make(void);
void fz_sha256_add(struct fz_sha256 *hash, struct fz_span bytes);
/* The hash cannot be added to any more. */
void fz_sha256_end(struct fz_sha256 *hash, uint8_t ret[FZ_SHA256_BYTES]);

#endif
