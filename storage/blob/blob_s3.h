/*
 * An object store as its parts see it: requests that are tried again, blobs that are put and listed.
 * Private to storage/blob.
 *
 * Keys are PREFIX/ab/cd/<sha256>, as blob_file.c names its files, so either can be copied to the other
 * by any tool.
 */
#ifndef STORAGE_BLOB_S3_H
#define STORAGE_BLOB_S3_H

#include <pthread.h>

#include "base/net/net_signed.h"
#include "storage/blob/blob_cache.h"
#include "storage/blob/blob_ops.h"
#include "storage/blob/blob_s3_keys.h"

enum { BLOB_S3_IDLE = 16, BLOB_S3_KEY = 128 };

struct blob_s3 {
    struct blob_store base;
    struct blob_s3_place place;
    struct blob_s3_keys *keys;
    struct blob_cache *cache;
    enum fz_code (*tick)(void *user, struct fz_error *err);
    void *tick_user;
    pthread_mutex_t lock;                  /* of the next three */
    struct net_signed *idle[BLOB_S3_IDLE]; /* no one uses them just now; with their connections */
    size_t n_idle;
    int64_t failed_ms;         /* when the last request failed, monotonic; 0: it did not */
    struct blob_place scanned; /* the folder that list_old() looked at last; one thread only */
};

/* How long a request is tried. */
enum blob_s3_patience {
    BLOB_S3_NORMAL,  /* as long as bytes move; some seconds of failures */
    BLOB_S3_PATIENT, /* the same, and a minute for the first byte: the store joins the parts */
    BLOB_S3_QUICK, /* seconds, and not at all just after a failure: a transaction waits; no tick */
    BLOB_S3_PROBE, /* the same, also just after a failure */
};

/* Where the bytes of an answer go. A transfer that breaks goes on after what is there. */
struct blob_s3_sink {
    int fd; /* -1: only hashed */
    struct fz_hash *hash;
    uint64_t got;
    uint64_t at; /* of the transfer that runs */
    bool has_started;
    enum fz_code code; /* of the last write */
    struct fz_error err;
};

struct blob_s3_call {
    const char *method;
    const char *key;                 /* after the prefix; "" with is_bucket */
    const char *query;               /* without '?', as net_signed.h wants it; NULL: none */
    bool is_bucket;                  /* the bucket as a whole, not a key */
    const char *sha256;              /* of the body; NULL: it is empty */
    const struct net_header *header; /* NULL: none */
    struct fz_span body;
    int fd;
    uint64_t offset, body_len; /* of fd */
    struct blob_s3_sink *sink; /* NULL: the answer's text has the body */
    enum blob_s3_patience patience;
};

/* ab/cd/<sha256> */
void blob_s3_key(const char *sha256, char ret[BLOB_S3_KEY]);
/* Append what a query may not have as it is as %XX. */
void blob_s3_encode(struct fz_buffer *out, const char *text);

/*
 * Send, and again after failures that pass: growing pauses of random length (so that nodes do not come
 * all at once), for some seconds. FZ_OK: a status 2xx. *ret is filled in any case; the caller ends it
 * with net_signed_answer_deinit(). NOT_FOUND 404; CONFLICT 412; UNAVAILABLE: no answer, or the store
 * is in trouble; DENIED, MALFORMED: it refuses, and will until somebody does what the message says;
 * what tick() returned.
 */
FZ_MUST_CHECK enum fz_code blob_s3_send(struct blob_s3 *s3, const struct blob_s3_call *call,
                                        struct net_signed_answer *ret, struct fz_error *err);
/* The same for callers that need nothing of the answer. */
FZ_MUST_CHECK enum fz_code blob_s3_do(struct blob_s3 *s3, const struct blob_s3_call *call,
                                      struct fz_error *err);
/* blob_ops.is_away */
bool blob_s3_is_away(struct blob_s3 *s3);
/* A code for callers of blob.h: that the store refuses is UNAVAILABLE for them. */
FZ_MUST_CHECK enum fz_code blob_s3_outside(enum fz_code code);

/* Read a blob in full, into `fd` unless that is -1. NOT_FOUND; MALFORMED: it has other bytes than its
 * name says. */
FZ_MUST_CHECK enum fz_code blob_s3_read(struct blob_s3 *s3, const char *sha256, int fd,
                                        uint64_t *ret_size, struct fz_error *err);
/* The size of a blob. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code blob_s3_look(struct blob_s3 *s3, const char *sha256,
                                        enum blob_s3_patience patience, uint64_t *ret_size,
                                        struct fz_error *err);
/* Put the file under its hash: blob_ops.put_fd. */
FZ_MUST_CHECK enum fz_code blob_s3_put(struct blob_s3 *s3, int fd, const char *sha256,
                                       uint64_t size, struct fz_error *err);
/* blob_ops.list_old */
FZ_MUST_CHECK enum fz_code blob_s3_list_old(struct blob_s3 *s3, struct blob_place *place,
                                            int64_t age_ms, blob_old_fn on_old, void *user,
                                            struct fz_error *err);
/* blob_ops.ready */
FZ_MUST_CHECK enum fz_code blob_s3_ready(struct blob_s3 *s3, bool *ret_wait, struct fz_error *err);

#endif
