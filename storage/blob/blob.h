/*
 * Blobs: immutable bytes found by their SHA-256, in a folder ("file:DIR") or in an object store
 * ("s3://BUCKET/PREFIX?...", blob_s3_url.h).
 *
 * A blob is visible only once it is whole and durable. Thread-safe. That the store does not answer is
 * UNAVAILABLE, after some seconds in which it was asked again.
 */
#ifndef STORAGE_BLOB_H
#define STORAGE_BLOB_H

#include "base/digest.h"
#include "base/error.h"

struct blob_store; /* opaque */

struct blob_config {
    const char *url;
    /* Of an object store, which keeps files of this machine here: what is on its way, and copies of
     * up to cache_bytes of what was needed. "file:DIR" needs none. */
    const char *cache_dir;
    uint64_t cache_bytes;
    /* Called about once a second while bytes go to or come from an object store, which may take
     * minutes; a failure breaks that off and is its result. Not called by what is called within a
     * transaction: is_there and take_away. NULL: no one waits. */
    enum fz_code (*tick)(void *user, struct fz_error *err);
    void *tick_user;
};

/* Makes folders and reads keys, and does not connect to anything. The config's texts are borrowed for
 * the call. MALFORMED: what is wrong with the URL. */
FZ_MUST_CHECK enum fz_code blob_open(const struct blob_config *config, struct blob_store **ret,
                                     struct fz_error *err);
void blob_close(struct blob_store *blobs);

/* Can blobs be put, read, listed and deleted? Asked once, by writing a small object that is not a
 * blob. On a failure *ret_wait says whether it may pass by itself: the store is not up yet. */
FZ_MUST_CHECK enum fz_code blob_ready(struct blob_store *blobs, bool *ret_wait,
                                      struct fz_error *err);
/* Whether the last request failed: an outage, or the store refuses. The next one that works ends it. */
bool blob_is_away(struct blob_store *blobs);
/* Whether the store keeps its bytes from damage itself, so that no one has to read all of them in
 * turn. */
bool blob_is_guarded(const struct blob_store *blobs);

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
/* A read-only descriptor, owned by the caller; of an object store that of a copy whose bytes were
 * compared with the name just now. NOT_FOUND; MALFORMED: what an object store has is damaged. */
FZ_MUST_CHECK enum fz_code blob_get_fd(struct blob_store *blobs, const char *sha256, int *ret_fd,
                                       struct fz_error *err);
/* Read it in full; *ret_size may be NULL. NOT_FOUND; MALFORMED: its bytes are not those that its
 * name says. */
FZ_MUST_CHECK enum fz_code blob_check(struct blob_store *blobs, const char *sha256,
                                      uint64_t *ret_size, struct fz_error *err);
/* One blob into another store, unless it is there undamaged, which is read in full. MALFORMED: its bytes are damaged, and
 * nothing was put. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code blob_copy(struct blob_store *from, struct blob_store *to,
                                     const char *sha256, uint64_t *ret_size, struct fz_error *err);
/* NOT_FOUND; an object store may say FZ_OK for a blob that was not there, here and below. */
FZ_MUST_CHECK enum fz_code blob_delete(struct blob_store *blobs, const char *sha256,
                                       struct fz_error *err);
FZ_MUST_CHECK enum fz_code blob_is_there(struct blob_store *blobs, const char *sha256, bool *ret,
                                         struct fz_error *err);

/* Delete a blob in two steps: blob_take_away() removes only its name where that is quicker,
 * blob_end() frees its bytes. A process that ends between the two leaves a temporary file.
 * NOT_FOUND. */
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

/* Bytes free on the device of the store, and bytes in all; of an object store, on that of
 * cache_dir. */
FZ_MUST_CHECK enum fz_code blob_space(struct blob_store *blobs, uint64_t *ret_free,
                                      uint64_t *ret_total, struct fz_error *err);

#endif
