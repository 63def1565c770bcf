/*
 * What the tests of blob stores share: a store in a folder of its own, its raw bytes, its server.
 *
 * The store is that of the program's argument: file, or s3://... with keys in the environment.
 * FZ_S3_CONTROL is the URL of a server that can be told to fail (tests/e2e/s3_server.py); without it
 * what needs one is skipped.
 */
#ifndef CONTRACT_BLOBS_CASE_H
#define CONTRACT_BLOBS_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/net/net_signed.h"
#include "storage/blob/blob.h"

struct blobs_case {
    char dir[64];    /* gone afterwards */
    char url[1024];  /* with a prefix of its own */
    char cache[128]; /* a folder of `dir` */
    struct blob_config config;
    struct blob_store *blobs;
    struct fz_error err;
};

extern const char *blobs_case_url; /* "file" or "s3://..." */

int blobs_case_set_up(void **state);
int blobs_case_tear_down(void **state);
bool blobs_case_is_s3(void);
/* Another store in the same place, with a cache of its own in this folder of `dir`. */
struct blob_store *blobs_case_open(struct blobs_case *c, const char *cache, uint64_t cache_bytes);

enum fz_code blobs_case_put(struct blob_store *blobs, struct fz_span bytes,
                            char ret_sha256[FZ_SHA256_TEXT], struct fz_error *err);
/* The blob is there and has these bytes. */
void blobs_case_expect(struct blobs_case *c, const char *sha256, struct fz_span want);
/* Whatever the store's checks: these bytes are now under that name. */
void blobs_case_damage(struct blobs_case *c, const char *sha256, const char *bytes);
/* Bytes that no two seeds have in common; free() it. */
uint8_t *blobs_case_bytes(size_t len, unsigned seed);

int blobs_s3_run(void);   /* blobs_s3.c: the number of tests that failed */
int blobs_keys_run(void); /* blobs_keys.c */

/* ---- a server that can be told to fail ---- */

bool blobs_case_has_control(void);
/* JSON for /-/faults. */
void blobs_case_faults(const char *json);
/* How often a request whose line ("GET PATH RANGE") has `part` came since the last call; all of them
 * are forgotten. */
size_t blobs_case_requests(const char *part);
void blobs_case_skew(const char *seconds); /* its clock is ahead by that */
size_t blobs_case_uploads(void);           /* in parts, which no one ended */

#endif
