/*
 * SHA-256 and its HMAC, SHA-1 for clients that name files by it, and comparison in constant time,
 * all from libcrypto. For the server only: a build without it (FZ_SERVER=OFF) lacks these functions.
 */
#ifndef FZ_DIGEST_H
#define FZ_DIGEST_H

#include "base/error.h"
#include "base/span.h"

enum { FZ_SHA256_LEN = 32, FZ_SHA256_TEXT = 65 }; /* bytes; hex digits and NUL */
enum { FZ_SHA1_LEN = 20, FZ_SHA1_TEXT = 41 };

/* SHA-1 finds transmission errors; nothing may rest on it against an attacker. */
enum fz_hash_kind { FZ_HASH_SHA256, FZ_HASH_SHA1 };

struct fz_hash; /* a running hash, on the heap */

FZ_MUST_CHECK enum fz_code fz_hash_create(enum fz_hash_kind kind, struct fz_hash **ret,
                                          struct fz_error *err);
void fz_hash_destroyp(struct fz_hash **hash); /* for FZ_CLEANUP */
void fz_hash_update(struct fz_hash *hash, struct fz_span bytes);
/* The hex text of all bytes so far, FZ_SHA256_TEXT or FZ_SHA1_TEXT bytes; the hash cannot be
 * updated any more. */
void fz_hash_finish(struct fz_hash *hash, char *ret_hex);

/* The SHA-256 of one span as lower-case hex. */
void fz_sha256_hex(struct fz_span bytes, char ret_hex[FZ_SHA256_TEXT]);

/* HMAC-SHA256 (RFC 2104) of the bytes. */
void fz_hmac_sha256(struct fz_span key, struct fz_span bytes, uint8_t ret[FZ_SHA256_LEN]);

/* Equality whose time depends only on the lengths. */
bool fz_equal_constant_time(struct fz_span a, struct fz_span b);

#endif
