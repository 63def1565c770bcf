/*
 * Copies of blobs of an object store in a folder of this machine: DIR/ab/<sha256>, and what is on its
 * way in DIR/tmp.
 *
 * Any number of processes may use one folder: a copy appears whole, under the name that its bytes have.
 * Nothing is synced, because nothing has to last: each copy is hashed before it is handed out, so one
 * that is damaged, or that a power cut left half written, is deleted and fetched again. When the
 * copies have more than `max_bytes`, those that were not used for longest are deleted; who has one
 * open keeps it. Each process counts what it adds, so their sum may be over by a sixteenth for each,
 * and by one copy. Thread-safe.
 */
#ifndef STORAGE_BLOB_CACHE_H
#define STORAGE_BLOB_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct blob_cache; /* opaque */

/* Make the folder. With `max_bytes` 0 nothing is kept: only temporary files. */
FZ_MUST_CHECK enum fz_code blob_cache_open(const char *dir, uint64_t max_bytes,
                                           struct blob_cache **ret, struct fz_error *err);
void blob_cache_close(struct blob_cache *cache);
const char *blob_cache_dir(const struct blob_cache *cache);

/* A read-only descriptor of a copy that was hashed just now; false: there is none. */
bool blob_cache_get(struct blob_cache *cache, const char *sha256, int *ret_fd);
/* Keep what the temporary file holds, whose hash that is, unless it is more than half of all. That it
 * cannot be kept does no harm. */
void blob_cache_add(struct blob_cache *cache, const char *sha256, int fd, uint64_t size);
void blob_cache_drop(struct blob_cache *cache, const char *sha256);

#endif
