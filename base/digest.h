/*
 * SHA-256, SHA-1 for clients that name files by it, and comparison in constant time, all from
 * libcrypto. For the server only: a build without it (FZ_SERVER=OFF) lacks these functions.
 */
#ifndef FZ_DIGEST_H
#define FZ_DIGEST_H

#include "base/error.h"
#include "base/span.h"

enum { FZ_SHA256_LEN = 32, FZ_SHA256_TEXT = 65 }; /* bytes; hex digits and NUL */
enum { FZ_SHA1_LEN = 20, FZ_SHA1_TEXT = 41 };

struct fz_sha256; /* a running hash, on the heap */

FZ_MUST_CHECK enum fz_code fz_sha256_create(struct fz_sha256 **ret, struct fz_error *err);
void fz_sha256_destroy(struct fz_sha256 *hash);
void fz_sha256_destroyp(struct fz_sha256 **hash);
void fz_sha256_update(struct fz_sha256 *hash, struct fz_span bytes);
/* The hex text of all bytes so far; the hash cannot be updated any more. */
void fz_sha256_finish(struct fz_sha256 *hash, char ret_hex[FZ_SHA256_TEXT]);

/* The hash of one span as lower-case hex. */
void fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT]);

/* The same for SHA-1. It finds transmission errors; nothing may rest on it against an attacker. */
struct fz_sha1; /* a running hash, on the heap */

FZ_MUST_CHECK enum fz_code fz_sha1_create(struct fz_sha1 **ret, struct fz_error *err);
void fz_sha1_destroy(struct fz_sha1 *hash);
void fz_sha1_destroyp(struct fz_sha1 **hash);
void fz_sha1_update(struct fz_sha1 *hash, struct fz_span bytes);
void fz_sha1_finish(struct fz_sha1 *hash, char ret_hex[FZ_SHA1_TEXT]);

/* Equality whose time depends only on the lengths. */
bool fz_equal_constant_time(struct fz_span a, struct fz_span b);

#endif
