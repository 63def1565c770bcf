/*
 * Files of blobs in a folder of this machine: temporary ones, their hashes, their names. Private to
 * storage/blob.
 *
 * Temporary files are in DIR/tmp, which the caller has made; DIR has room for what comes after it in
 * PATH_MAX (BLOB_IO_DIR).
 */
#ifndef STORAGE_BLOB_IO_H
#define STORAGE_BLOB_IO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/span.h"

enum { BLOB_IO_DIR = PATH_MAX - 128 };

/* Call `on_bytes` with `len` bytes from `offset`, or up to the end of the file, whatever its
 * position is; *ret_size is what was read. */
typedef enum fz_code (*blob_io_fn)(void *user, struct fz_span bytes, struct fz_error *err);
struct blob_io_part {
    uint64_t offset, len;
};
FZ_MUST_CHECK enum fz_code blob_io_read(int fd, struct blob_io_part part, blob_io_fn on_bytes,
                                        void *user, uint64_t *ret_size, struct fz_error *err);
/* The SHA-256 of such a part. */
FZ_MUST_CHECK enum fz_code blob_io_hash_part(int fd, struct blob_io_part part,
                                             char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
                                             struct fz_error *err);
/* Of all that the file holds. */
FZ_MUST_CHECK enum fz_code blob_io_hash(int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
                                        struct fz_error *err);

/* A read-only descriptor. NOT_FOUND: no such file; a link is not a blob. */
FZ_MUST_CHECK enum fz_code blob_io_open(const char *path, int *ret_fd, struct fz_error *err);
/* NOT_FOUND: no such file; MALFORMED: other bytes than `sha256` says; any other: it cannot be
 * read. *ret_size may be NULL. */
FZ_MUST_CHECK enum fz_code blob_io_check(const char *path, const char *sha256, uint64_t *ret_size,
                                         struct fz_error *err);

/* An unnamed file in `dir`/tmp. That the folder is missing is UNAVAILABLE. */
FZ_MUST_CHECK enum fz_code blob_io_temp(const char *dir, int *ret_fd, struct fz_error *err);
/* From errno: "<what> <dir>", never NOT_FOUND. */
FZ_MUST_CHECK enum fz_code blob_io_fail(struct fz_error *err, const char *what, const char *dir);
/* Name an unnamed file; true also if another writer named equal bytes meanwhile. False: not
 * possible here, it has to be copied. */
bool blob_io_link(int fd, const char *path);
/* Copy the file to `path`, which appears whole; `is_durable`: fsync first. */
FZ_MUST_CHECK enum fz_code blob_io_copy(const char *dir, int fd, const char *path, bool is_durable,
                                        struct fz_error *err);
/* fsync, whose failure gives the blob up. */
FZ_MUST_CHECK enum fz_code blob_io_sync(int fd, struct fz_error *err);

/* Is it a plain file that has been there for longer than `age_ms`? One with a time in the future was
 * put before the clock was set back, an unknown time ago. */
bool blob_io_is_old(int folder, const char *name, int64_t age_ms);
/* Delete the temporary files of that age. */
FZ_MUST_CHECK enum fz_code blob_io_clear(const char *dir, int64_t age_ms, struct fz_error *err);

#endif
