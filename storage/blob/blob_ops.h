/*
 * What a store of blobs has to do, as a table of functions: blob_file.c keeps them in a folder,
 * blob_s3.c in an object store.
 *
 * Another store is a file with such a table, and a prefix of URLs in blob.c; tests/contract/blobs.c
 * is what all of them have to pass. The functions keep the contract of blob.h; the first argument is the struct blob_store at the
 * start of the store's own struct. All but list_old() are called from several threads at once.
 * Names of blobs are checked before: 64 lower-case hex digits.
 */
#ifndef STORAGE_BLOB_OPS_H
#define STORAGE_BLOB_OPS_H

#include "storage/blob/blob.h"

struct blob_ops {
    /* Release the store. No other call is running or follows. */
    void (*close)(struct blob_store *store);
    enum fz_code (*ready)(struct blob_store *store, bool *ret_wait, struct fz_error *err);
    /* An empty file to write to, close to where put_fd() will want it: to put it then copies
     * nothing. */
    enum fz_code (*temp)(struct blob_store *store, int *ret_fd, struct fz_error *err);
    /* Any descriptor that can be read; its position does not matter. On FZ_OK the blob is
     * durable and whole, also where it was there before with damaged bytes; on failure no part
     * of it is visible. The same bytes may be put twice, also at once. */
    enum fz_code (*put_fd)(struct blob_store *store, int fd, char ret_sha256[FZ_SHA256_TEXT],
                           uint64_t *ret_size, struct fz_error *err);
    /* Opened blobs stay readable after they are deleted. NOT_FOUND. */
    enum fz_code (*get_fd)(struct blob_store *store, const char *sha256, int *ret_fd,
                           struct fz_error *err);
    enum fz_code (*check)(struct blob_store *store, const char *sha256, uint64_t *ret_size,
                          struct fz_error *err);
    enum fz_code (*delete)(struct blob_store *store, const char *sha256, struct fz_error *err);
    /* Quick: a transaction is open. */
    enum fz_code (*is_there)(struct blob_store *store, const char *sha256, bool *ret,
                             struct fz_error *err);
    /* The first step takes only the name, which must be quick: a transaction is open. */
    enum fz_code (*take_away)(struct blob_store *store, const char *sha256, struct blob_gone *ret,
                              struct fz_error *err);
    void (*end)(struct blob_store *store, const struct blob_gone *gone);
    /* A part of all blobs at each call, in turn; one thread only. */
    enum fz_code (*list_old)(struct blob_store *store, struct blob_place *place, int64_t age_ms,
                             blob_old_fn on_old, void *user, struct fz_error *err);
    enum fz_code (*space)(struct blob_store *store, uint64_t *ret_free, uint64_t *ret_total,
                          struct fz_error *err);
    bool (*is_away)(struct blob_store *store); /* NULL: never */
    bool is_guarded;                           /* blob_is_guarded() */
};

/* The first member of each store's own struct. */
struct blob_store {
    const struct blob_ops *ops;
};

FZ_MUST_CHECK enum fz_code blob_file_open(const char *dir, struct blob_store **ret,
                                          struct fz_error *err);
FZ_MUST_CHECK enum fz_code blob_s3_open(const struct blob_config *config, struct blob_store **ret,
                                        struct fz_error *err);

#endif
