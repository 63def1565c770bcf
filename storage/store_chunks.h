/*
 * Files that come in chunks (sentry-cli): the chunks, and what was put together from them.
 *
 * A chunk belongs to the token that sent it. Its blob is made by the caller so that no other row
 * can name it (its bytes after a random head), and is deleted by the caller after
 * store_chunk_expire(). A connection belongs to one thread, as everywhere in storage.
 */
#ifndef STORE_CHUNKS_H
#define STORE_CHUNKS_H

#include "storage/store.h"

/* ---- chunks ---- */

struct store_chunk {
    int64_t token_id;
    char sha1[FZ_SHA1_TEXT]; /* of its bytes */
    char blob_sha256[FZ_SHA256_TEXT];
    uint64_t size;  /* of its bytes */
    bool is_there;  /* out of store_chunk_find() */
    uint64_t taken; /* the same: bytes that files have taken of it since it was sent */
};

/* A chunk lives this long after anybody last named it; once it is part of a whole file, this long
 * for others that share it. */
enum { STORE_CHUNK_LIFE_MS = 3 * 24 * 3600 * 1000, STORE_CHUNK_USED_MS = 3600 * 1000 };

/* Keep a chunk. *ret_kept false: the token has sent it before, and the blob of this one is for the
 * caller to delete. */
FZ_MUST_CHECK enum fz_code store_chunk_put(struct store *store, const struct store_chunk *chunk,
                                           bool *ret_kept, struct fz_error *err);
/* Fill in the chunks of this token by their sha1. Those that are there live on for `life_ms` from
 * now (0: as long as before). */
FZ_MUST_CHECK enum fz_code store_chunk_find(struct store *store, int64_t token_id,
                                            struct store_chunk *chunks, size_t n, int64_t life_ms,
                                            struct fz_arena *arena, struct fz_error *err);
/* How many bytes files may take of a chunk until it has to be sent again. What a client sends
 * may be kilobytes of compressed zeros; what is made of it must have some proportion to that. */
enum { STORE_CHUNK_TAKEN_MAX = 128 * 1024 * 1024 };
/* Take all of these, as often as each is named, for a file that is made of them; the chunks come
 * from store_chunk_find(). LIMIT: one of them repeats so often that no sending of it is enough.
 * *ret_all false: nothing was taken, since those whose is_there is false
 * now have to be sent again. */
FZ_MUST_CHECK enum fz_code store_chunk_take(struct store *store, struct store_chunk *chunks,
                                            size_t n, bool *ret_all, struct fz_arena *arena,
                                            struct fz_error *err);
/* Up to `max` chunks whose time is over; no request finds them from now on. The caller deletes each
 * one's blob and then calls store_chunk_drop(). */
FZ_MUST_CHECK enum fz_code store_chunk_expire(struct store *store, size_t max,
                                              struct fz_arena *arena, struct store_chunk **ret,
                                              size_t *ret_n, struct fz_error *err);
/* Forget a chunk whose blob is gone. */
FZ_MUST_CHECK enum fz_code store_chunk_drop(struct store *store, const struct store_chunk *chunk,
                                            struct fz_error *err);

/* ---- files ---- */

struct store_assembled {
    int64_t project_id;
    char sha1[FZ_SHA1_TEXT]; /* of the whole file */
    const char *kind;        /* "symbols" (with an upload), "sources" */
    struct fz_uuid uuid;     /* what the client says it belongs to; nil if it does not */
    const char *name;
    char blob_sha256[FZ_SHA256_TEXT];
    uint64_t size;
    char upload_id[STORE_ID_TEXT]; /* of the job that reads it; "" if it is only kept */
    int64_t created_ms;            /* out */
};

/* Keep a file, together with its upload and its job if upload_id is set. CONFLICT: the project has
 * this sha1 already. */
FZ_MUST_CHECK enum fz_code store_assembled_insert(struct store *store,
                                                  const struct store_assembled *file,
                                                  struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_assembled_get(struct store *store, int64_t project_id,
                                               const char *sha1, struct fz_arena *arena,
                                               struct store_assembled *ret, struct fz_error *err);
/* Forget a file, so that it may be sent again; no matter if it is not known. */
FZ_MUST_CHECK enum fz_code store_assembled_forget(struct store *store, int64_t project_id,
                                                  const char *sha1, struct fz_error *err);

#endif
