/*
 * SHA-256, random bytes and comparison in constant time, all from libcrypto.
 */
#ifndef FZ_DIGEST_H
#define FZ_DIGEST_H

#include "base/error.h"
#include "base/span.h"

enum { FZ_SHA256_LEN = 32, FZ_SHA256_TEXT = 65 }; /* bytes; hex digits and NUL */

struct fz_sha256; /* a running hash, on the heap */

FZ_MUST_CHECK enum fz_code fz_sha256_create(struct fz_sha256 **ret, struct fz_error *err);
void fz_sha256_destroy(struct fz_sha256 *hash);
void fz_sha256_destroyp(struct fz_sha256 **hash);
void fz_sha256_update(struct fz_sha256 *hash, struct fz_span bytes);
/* The hex text of all bytes so far; the hash cannot be updated any more. */
void fz_sha256_finish(struct fz_sha256 *hash, char ret_hex[FZ_SHA256_TEXT]);

/* The hash of one span as lower-case hex. */
void fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT]);

/* Cryptographically strong random bytes. Aborts if the system has none. */
void fz_random(void *ret, size_t len);

/* Equality whose time depends only on the lengths. */
bool fz_equal_constant_time(struct fz_span a, struct fz_span b);

#endif
