/*
 * Which blobs are named by a row, and the deletion of those that are not.
 *
 * A transaction that makes a row name a blob checks, within itself, that the blob is there
 * (store_blob_hold); one that makes a row stop naming it notes it (store_blob_drop). The sweep
 * takes a noted blob away only within a transaction that finds no row naming it. On SQLite there is
 * one writer at a time; on PostgreSQL both sides take a lock, shared and exclusive. So whichever
 * comes first is seen by the other, on any number of nodes, and no clock is needed: who put a blob
 * that was taken away meanwhile gets UNAVAILABLE, and puts it again.
 *
 * A blob that was put and never named (its process was killed) is found by looking through the
 * folders, a few files at a time.
 */
#ifndef STORE_BLOBS_H
#define STORE_BLOBS_H

#include "storage/blob/blob.h"
#include "storage/store.h"

/* The blobs that this connection's rows name; borrowed. Without it their presence is not
 * checked. */
void store_set_blobs(struct store *store, struct blob_store *blobs);

/* Whether the last call that was to name a blob failed because it is not there any more: it was
 * deleted just before, and has to be put again. */
bool store_blob_is_gone(const struct store *store);

/* Delete up to `max` of the blobs that something stopped naming. *ret_more: there are more. */
FZ_MUST_CHECK enum fz_code store_blob_sweep(struct store *store, struct blob_store *blobs,
                                            size_t max, size_t *ret_n_deleted, bool *ret_more,
                                            struct fz_error *err);
/* Note those of a part of the folders that are older than `age_ms` and named by nothing, for the
 * next sweep; delete temporary files of that age. Every call looks at another part. */
FZ_MUST_CHECK enum fz_code store_blob_scan(struct store *store, struct blob_store *blobs,
                                           int64_t age_ms, size_t *ret_n_noted,
                                           struct fz_error *err);

/* Call `on_name` with each blob that a row names, once. Its failure ends the list. */
typedef enum fz_code (*store_blob_fn)(void *user, const char *sha256, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_blob_names(struct store *store, store_blob_fn on_name, void *user,
                                            struct fz_error *err);

#endif
