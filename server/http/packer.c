#include "server/http/packer.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* As for whole answers; see encode.c. A zstd context of this window takes about 600 KB, with the default one 4 MB. */
enum { GZIP_LEVEL = 4, ZSTD_LEVEL = 3, GZIP_WINDOW = 15 + 16, ZSTD_WINDOW = 17, ROOM = 16 * 1024 };

struct http_packer {
    enum http_coding coding;
    z_stream gzip;
    ZSTD_CCtx *zstd;
};

enum fz_code
http_packer_create(enum http_coding coding, struct http_packer **ret, struct fz_error *err)
{
    struct http_packer *packer = calloc(1, sizeof(*packer));
    bool made = false;
    if (!packer)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    packer->coding = coding;
    if (coding == HTTP_CODING_GZIP) {
        made = deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    } else {
        packer->zstd = ZSTD_createCCtx();
        made = packer->zstd &&
               !ZSTD_isError(
                   ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_windowLog, ZSTD_WINDOW));
    }
    if (!made) {
        http_packer_destroy(packer);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    *ret = packer;
    return FZ_OK;
}

void
http_packer_destroy(struct http_packer *packer)
{
    if (!packer)
        return;
    if (packer->coding == HTTP_CODING_GZIP)
        deflateEnd(&packer->gzip);
    ZSTD_freeCCtx(packer->zstd);
    free(packer);
}

/* One step into `to`; *ret_done: nothing is left to come out. */
static bool
step_gzip(struct http_packer *packer, enum http_flush flush, char **to, bool *ret_done)
{
    static const int modes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    z_stream *z = &packer->gzip;
    z->next_out = (Bytef *)*to;
    z->avail_out = ROOM;
    int result = deflate(z, modes[flush]);
    *to = (char *)z->next_out;
    /* It stops with room left only if it has nothing more. */
    *ret_done = flush == HTTP_FLUSH_END ? result == Z_STREAM_END : z->avail_out > 0;
    /* Z_BUF_ERROR: there was nothing to do, and that is harmless. */
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

static bool
step_zstd(struct http_packer *packer, enum http_flush flush, ZSTD_inBuffer *in, char **to,
          bool *ret_done)
{
    static const ZSTD_EndDirective modes[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    ZSTD_outBuffer out = {.dst = *to, .size = ROOM};
    size_t left = ZSTD_compressStream2(packer->zstd, &out, in, modes[flush]);
    *to += out.pos;
    *ret_done = flush == HTTP_FLUSH_NO ? in->pos == in->size : left == 0;
    return !ZSTD_isError(left);
}

enum fz_code
http_packer_add(struct http_packer *packer, struct fz_span piece, enum http_flush flush,
                struct fz_buffer *out, struct fz_error *err)
{
    ZSTD_inBuffer in = {.src = piece.data, .size = piece.len};
    bool is_gzip = packer->coding == HTTP_CODING_GZIP;
    /* zlib counts in 32 bits; no piece is that long, since a report has at most report_memory. */
    if (piece.len > UINT32_MAX)
        return fz_fail(err, FZ_E_LIMIT, "a piece of %zu bytes cannot be compressed", piece.len);
    packer->gzip.next_in = (Bytef *)(uintptr_t)piece.data; /* zlib does not write there */
    packer->gzip.avail_in = (uInt)piece.len;
    for (bool done = false; !done;) {
        char *to = fz_buffer_room(out, ROOM);
        if (!to)
            return fz_buffer_done(out, err);
        bool worked = is_gzip ? step_gzip(packer, flush, &to, &done)
                              : step_zstd(packer, flush, &in, &to, &done);
        fz_buffer_grow_to(out, to);
        if (!worked)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    return FZ_OK;
}
