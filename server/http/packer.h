/*
 * Compression of an answer that comes in pieces: gzip or zstd, with windows that are small enough for many streams at once.
 *
 * Not thread-safe; one owner.
 */
#ifndef HTTP_PACKER_H
#define HTTP_PACKER_H

#include "base/buffer.h"
#include "server/http/inflate.h"

struct http_packer; /* opaque */

enum http_flush {
    HTTP_FLUSH_NO,  /* what comes out may come up to 128 KiB later */
    HTTP_FLUSH_ALL, /* the client can read all of it now */
    HTTP_FLUSH_END, /* and the stream is complete */
};

/* GZIP or ZSTD. NO_MEMORY. */
FZ_MUST_CHECK enum fz_code http_packer_create(enum http_coding coding, struct http_packer **ret,
                                              struct fz_error *err);
void http_packer_destroy(struct http_packer *packer); /* may be NULL */
/* Compress `piece` and append what comes out. NO_MEMORY, LIMIT: `out`. */
FZ_MUST_CHECK enum fz_code http_packer_add(struct http_packer *packer, struct fz_span piece,
                                           enum http_flush flush, struct fz_buffer *out,
                                           struct fz_error *err);

#endif
