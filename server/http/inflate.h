/*
 * Request bodies that were sent compressed, inflated piece by piece within limits.
 *
 * gzip (RFC 1952, concatenated members too), deflate (RFC 9110, 8.4.1.2: the zlib wrapper; bare
 * RFC 1951 is taken as well, since clients send it), zstd (RFC 8878, window up to 8 MiB). Not
 * thread-safe; one owner.
 */
#ifndef HTTP_INFLATE_H
#define HTTP_INFLATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum http_coding {
    HTTP_CODING_IDENTITY,
    HTTP_CODING_GZIP,
    HTTP_CODING_DEFLATE,
    HTTP_CODING_ZSTD,
    HTTP_CODING_BROTLI, /* of files that were packed when the program was built; never of a request */
    HTTP_CODINGS_N,
};

/* Takes the bytes (borrowed for the call) or fails; the failure is passed up. */
typedef enum fz_code (*http_sink_fn)(void *sink, struct fz_span bytes, struct fz_error *err);

struct http_inflate; /* opaque */

/* `max_out`: bytes that may come out. Identity passes bytes through within the same limit. */
FZ_MUST_CHECK enum fz_code http_inflate_create(enum http_coding coding, uint64_t max_out,
                                               struct http_inflate **ret, struct fz_error *err);
/* For a small max_out, which is then the only limit on what comes out: no ratio is too large. */
void http_inflate_any_ratio(struct http_inflate *inflate);
void http_inflate_destroy(struct http_inflate *inflate);
void http_inflate_destroyp(struct http_inflate **inflate);

/*
 * The next bytes as sent. What comes out goes to `sink` in pieces of at most 64 KiB.
 * MALFORMED with the offset in the compressed bytes; LIMIT: max_out, a ratio above 200:1 once
 * 1 MiB came out, or a zstd window above 8 MiB.
 */
FZ_MUST_CHECK enum fz_code http_inflate_feed(struct http_inflate *inflate, struct fz_span bytes,
                                             http_sink_fn sink, void *sink_arg,
                                             struct fz_error *err);

/* All bytes were fed: MALFORMED if the stream is not complete. */
FZ_MUST_CHECK enum fz_code http_inflate_finish(struct http_inflate *inflate, struct fz_error *err);

/* The whole of a body at once; *ret is in the arena. */
FZ_MUST_CHECK enum fz_code http_inflate_whole(enum http_coding coding, struct fz_span packed,
                                              uint64_t max_out, struct fz_arena *arena,
                                              struct fz_span *ret, struct fz_error *err);

#endif
