#include "server/http/inflate.h"

#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/buffer.h"

enum {
    PIECE = 64 * 1024,
    RATIO = 200,
    RATIO_FREE = 1024 * 1024, /* small bodies may be as repetitive as they like */
    ZSTD_WINDOW_LOG = 23,     /* 8 MiB, what RFC 8878 asks decoders to support */
};

struct http_inflate {
    enum http_coding coding;
    uint64_t in, out, max_out;
    bool any_ratio;
    /* deflate: the first two bytes show whether there is a zlib header. */
    uint8_t head[2];
    size_t n_head;
    bool z_open;
    bool complete; /* a member or frame has just ended */
    bool padding;  /* gzip: only zero bytes may follow */
    z_stream z;
    ZSTD_DCtx *zstd;
    uint8_t piece[PIECE];
};

enum fz_code
http_inflate_create(enum http_coding coding, uint64_t max_out, struct http_inflate **ret,
                    struct fz_error *err)
{
    struct http_inflate *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    stream->coding = coding;
    stream->max_out = max_out;
    if (coding == HTTP_CODING_ZSTD) {
        stream->zstd = ZSTD_createDCtx();
        /* zstd itself allocates up to 128 MiB for a window, from one header of a few bytes. */
        if (!stream->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax,
                                                                 ZSTD_WINDOW_LOG))) {
            http_inflate_destroy(stream);
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        }
    }
    *ret = stream;
    return FZ_OK;
}

void
http_inflate_any_ratio(struct http_inflate *stream)
{
    stream->any_ratio = true;
}

void
http_inflate_destroy(struct http_inflate *stream)
{
    if (!stream)
        return;
    if (stream->z_open)
        inflateEnd(&stream->z);
    ZSTD_freeDCtx(stream->zstd);
    free(stream);
}

void
http_inflate_destroyp(struct http_inflate **stream)
{
    http_inflate_destroy(*stream);
}

/* `len` bytes came out in stream->piece: check the limits, hand them on. `in` is what was read of
 * the input up to here. */
static enum fz_code
emit(struct http_inflate *stream, uint64_t in, struct fz_span bytes, http_sink_fn sink,
     void *sink_arg, struct fz_error *err)
{
    if (bytes.len == 0)
        return FZ_OK;
    /* Checked before the sink gets the bytes, so it never holds more than max_out. */
    if (bytes.len > stream->max_out - stream->out)
        return fz_fail_at(err, FZ_E_LIMIT, in,
                          "the body is larger than the limit of %llu bytes once inflated",
                          (unsigned long long)stream->max_out);
    stream->out += bytes.len;
    if (!stream->any_ratio && stream->coding != HTTP_CODING_IDENTITY && stream->out > RATIO_FREE &&
        stream->out / RATIO > in)
        return fz_fail_at(err, FZ_E_LIMIT, in, "the body inflates to more than %d times its size",
                          (int)RATIO);
    return sink(sink_arg, bytes, err);
}

static enum fz_code
malformed(const struct http_inflate *stream, uint64_t offset, const char *why, struct fz_error *err)
{
    static const char *const names[] = {"identity", "gzip", "deflate", "zstd", "br"};
    return fz_fail_at(err, FZ_E_MALFORMED, offset, "the %s body is broken at byte %llu: %s",
                      names[stream->coding], (unsigned long long)offset, why);
}

static enum fz_code
z_begin(struct http_inflate *stream, struct fz_error *err)
{
    int window = 15 + 16; /* gzip only */
    if (stream->coding == HTTP_CODING_DEFLATE) {
        /* RFC 1950: method 8 in the low bits, and the two bytes are a multiple of 31. */
        bool wrapped = (stream->head[0] & 15) == 8 &&
                       ((unsigned)stream->head[0] << 8 | stream->head[1]) % 31 == 0;
        /* zlib's negative size: a bare stream without header and checksum. */
        window = wrapped ? 15 : -15;
    }
    if (inflateInit2(&stream->z, window) != Z_OK)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    stream->z_open = true;
    return FZ_OK;
}

/* After a whole member: another gzip member, padding with zeros as on tapes, or garbage. */
static enum fz_code
z_next_member(struct http_inflate *stream, struct fz_span left, uint64_t offset,
              struct fz_error *err)
{
    if (stream->coding == HTTP_CODING_GZIP && left.data[0] == 0x1f && !stream->padding) {
        if (inflateReset(&stream->z) != Z_OK)
            return fz_fail(err, FZ_E_INTERNAL, "zlib cannot start again");
        stream->complete = false;
        return FZ_OK;
    }
    stream->padding = stream->coding == HTTP_CODING_GZIP;
    for (size_t i = 0; i < left.len; i++) {
        if (left.data[i] != 0 || !stream->padding)
            return malformed(stream, offset + i, "bytes after its end", err);
    }
    return FZ_OK;
}

static enum fz_code
z_feed(struct http_inflate *stream, struct fz_span bytes, http_sink_fn sink, void *sink_arg,
       struct fz_error *err)
{
    uint64_t base = stream->in;
    size_t at = 0;
    /* zlib fills a whole piece or consumes all input: call again as long as a piece came out full.
     */
    bool more_out = false;
    while (at < bytes.len || more_out) {
        struct fz_span left = fz_span_make(bytes.data + at, bytes.len - at);
        if (stream->complete) {
            enum fz_code code = z_next_member(stream, left, base + at, err);
            if (code != FZ_OK)
                return code;
            if (stream->complete)
                return FZ_OK;
        }
        /* zlib's API is not const-correct without ZLIB_CONST; it does not write there. */
        union {
            const uint8_t *in;
            Bytef *out;
        } next = {.in = left.data};
        stream->z.next_in = next.out;
        stream->z.avail_in = left.len > UINT32_MAX ? UINT32_MAX : (uInt)left.len;
        uInt given = stream->z.avail_in;
        stream->z.next_out = stream->piece;
        stream->z.avail_out = PIECE;
        int result = inflate(&stream->z, Z_NO_FLUSH);
        at += given - stream->z.avail_in;
        size_t n_out = PIECE - stream->z.avail_out;
        more_out = stream->z.avail_out == 0 && result == Z_OK;
        if (result == Z_MEM_ERROR)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return malformed(stream, base + at, stream->z.msg ? stream->z.msg : "no such stream",
                             err);
        enum fz_code code =
            emit(stream, base + at, fz_span_make(stream->piece, n_out), sink, sink_arg, err);
        if (code != FZ_OK)
            return code;
        if (result == Z_STREAM_END)
            stream->complete = true;
        else if (result == Z_BUF_ERROR)
            break; /* nothing to read and nothing held back */
    }
    return FZ_OK;
}

/* Collect two bytes before the kind of stream is known; then they go first. */
static enum fz_code
z_feed_head(struct http_inflate *stream, struct fz_span bytes, http_sink_fn sink, void *sink_arg,
            struct fz_error *err)
{
    if (stream->z_open || stream->coding == HTTP_CODING_GZIP) {
        enum fz_code code = stream->z_open ? FZ_OK : z_begin(stream, err);
        if (code == FZ_OK)
            code = z_feed(stream, bytes, sink, sink_arg, err);
        stream->in += bytes.len;
        return code;
    }
    while (bytes.len && stream->n_head < sizeof(stream->head)) {
        stream->head[stream->n_head++] = bytes.data[0];
        /* A client may send its body byte by byte. */
        bytes = fz_span_make(bytes.data + 1, bytes.len - 1);
    }
    if (stream->n_head < sizeof(stream->head))
        return FZ_OK;
    enum fz_code code = z_begin(stream, err);
    if (code == FZ_OK)
        code =
            z_feed(stream, fz_span_make(stream->head, sizeof(stream->head)), sink, sink_arg, err);
    /* Offsets in messages count from the start of the body. */
    stream->in = sizeof(stream->head);
    if (code == FZ_OK && bytes.len) {
        code = z_feed(stream, bytes, sink, sink_arg, err);
        stream->in += bytes.len;
    }
    return code;
}

static enum fz_code
zstd_feed(struct http_inflate *stream, struct fz_span bytes, http_sink_fn sink, void *sink_arg,
          struct fz_error *err)
{
    ZSTD_inBuffer in = {.src = bytes.data, .size = bytes.len, .pos = 0};
    bool more_out = false;
    while (in.pos < in.size || more_out) {
        ZSTD_outBuffer out = {.dst = stream->piece, .size = PIECE, .pos = 0};
        size_t before = in.pos;
        size_t result = ZSTD_decompressStream(stream->zstd, &out, &in);
        if (ZSTD_isError(result)) {
            uint64_t offset = stream->in + in.pos;
            switch ((int)ZSTD_getErrorCode(result)) {
            case ZSTD_error_frameParameter_windowTooLarge:
                return fz_fail_at(err, FZ_E_LIMIT, offset,
                                  "the zstd window is larger than the limit of 8 MiB");
            case ZSTD_error_memory_allocation:
                return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
            default:
                return malformed(stream, offset, ZSTD_getErrorName(result), err);
            }
        }
        enum fz_code code = emit(stream, stream->in + in.pos, fz_span_make(stream->piece, out.pos),
                                 sink, sink_arg, err);
        if (code != FZ_OK)
            return code;
        /* 0: a frame has ended. RFC 8878, 3.1: others may follow, which the loop then reads. */
        stream->complete = result == 0;
        more_out = out.pos == out.size && result != 0;
        if (in.pos == before && out.pos == 0 && in.pos < in.size)
            return malformed(stream, stream->in + in.pos, "it makes no progress", err);
    }
    stream->in += bytes.len;
    return FZ_OK;
}

enum fz_code
http_inflate_feed(struct http_inflate *stream, struct fz_span bytes, http_sink_fn sink,
                  void *sink_arg, struct fz_error *err)
{
    if (bytes.len == 0)
        return FZ_OK;
    if (stream->coding == HTTP_CODING_ZSTD)
        return zstd_feed(stream, bytes, sink, sink_arg, err);
    if (stream->coding != HTTP_CODING_IDENTITY)
        return z_feed_head(stream, bytes, sink, sink_arg, err);
    stream->in += bytes.len;
    return emit(stream, stream->in, bytes, sink, sink_arg, err);
}

enum fz_code
http_inflate_finish(struct http_inflate *stream, struct fz_error *err)
{
    /* Clients send Content-Encoding with an empty body too. */
    bool empty = stream->in == 0 && stream->n_head == 0;
    if (stream->coding == HTTP_CODING_IDENTITY || stream->complete || empty)
        return FZ_OK;
    return malformed(stream, stream->in + (stream->z_open ? 0 : stream->n_head),
                     "it ends too early", err);
}

/* For http_inflate_feed(). */
static enum fz_code
append(void *out, struct fz_span bytes, struct fz_error *err)
{
    fz_buffer_append(out, bytes.data, bytes.len);
    return fz_buffer_done(out, err);
}

enum fz_code
http_inflate_whole(enum http_coding coding, struct fz_span packed, uint64_t max_out,
                   struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *stream = NULL;
    /* Not into the arena: while it grows, an arena would keep each of its former sizes. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum fz_code code = http_inflate_create(coding, max_out, &stream, err);
    if (code == FZ_OK)
        code = http_inflate_feed(stream, packed, append, &out, err);
    if (code == FZ_OK)
        code = http_inflate_finish(stream, err);
    if (code != FZ_OK)
        return code;
    const char *copy = fz_arena_text(arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(arena, err);
    *ret = fz_span_make(copy, out.len);
    return FZ_OK;
}
