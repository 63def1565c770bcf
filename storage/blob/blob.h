/*
 * Blobs: immutable bytes found by their SHA-256, on disk ("file:DIR").
 *
 * A blob is visible only once it is whole and durable (temporary file, fsync, rename, fsync of the
 * folder). Thread-safe.
 */
#ifndef STORAGE_BLOB_H
#define STORAGE_BLOB_H

#include "base/digest.h"
#include "base/error.h"

struct blob_store; /* opaque */

FZ_MUST_CHECK enum fz_code blob_open(const char *blobs_url, struct blob_store **ret,
                                     struct fz_error *err);
void blob_close(struct blob_store *blobs);

/* A new blob is written to a temporary descriptor in the store's own folder (blob_temp), then put.
 */
FZ_MUST_CHECK enum fz_code
blob_temp(struct blob_store *blobs, int *ret_fd,
          struct fz_error *err); /* unlinked O_TMPFILE or equal; close() it */
/* Hash what the descriptor holds from its start and keep it as a blob; one that is there with damaged
 * bytes is replaced. The descriptor stays the caller's. */
FZ_MUST_CHECK enum fz_code blob_put_fd(struct blob_store *blobs, int fd,
                                       char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
                                       struct fz_error *err);
/* A read-only descriptor, owned by the caller. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code blob_get_fd(struct blob_store *blobs, const char *sha256, int *ret_fd,
                                       struct fz_error *err);
/* Read it in full. NOT_FOUND; MALFORMED: its bytes are not those that its name says. */
FZ_MUST_CHECK enum fz_code blob_check(struct blob_store *blobs, const char *sha256,
                                      struct fz_error *err);
/* One blob into another store, unless it is there undamaged, which is read in full. MALFORMED: its bytes are damaged, and
 * nothing was put. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code blob_copy(struct blob_store *from, struct blob_store *to,
                                     const char *sha256, uint64_t *ret_size, struct fz_error *err);
FZ_MUST_CHECK enum fz_code blob_delete(struct blob_store *blobs, const char *sha256,
                                       struct fz_error *err);
bool blob_is_there(struct blob_store *blobs, const char *sha256);

/* Delete a blob in two steps: blob_take_away() removes only its name, blob_end() frees its bytes. A
 * process that ends between the two leaves a temporary file. NOT_FOUND. */
struct blob_gone {
    char name[FZ_SHA256_TEXT + 16];
};
FZ_MUST_CHECK enum fz_code blob_take_away(struct blob_store *blobs, const char *sha256,
                                          struct blob_gone *ret, struct fz_error *err);
void blob_end(struct blob_store *blobs, const struct blob_gone *gone);

/* Call `on_old` with the blobs of one of the up to 256 folders that were put longer ago than
 * `age_ms`, and delete temporary files of that age; each call takes the folder after `place`, which
 * begins anywhere, at first "". NULL: the store's own place. */
struct blob_place {
    char folder[3];
};
typedef enum fz_code (*blob_old_fn)(void *user, const char *sha256, struct fz_error *err);
FZ_MUST_CHECK enum fz_code blob_list_old(struct blob_store *blobs, struct blob_place *place,
                                         int64_t age_ms, blob_old_fn on_old, void *user,
                                         struct fz_error *err);

/* Bytes free on the device of the store, and bytes in all. */
FZ_MUST_CHECK enum fz_code blob_space(struct blob_store *blobs, uint64_t *ret_free,
                                      uint64_t *ret_total, struct fz_error *err);

#endif
