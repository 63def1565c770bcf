/*
 * Chunks of files as sentry-cli sends them: what may be sent, and the chunks.
 *
 *   Content-Disposition: form-data; name="file_gzip"; filename="<sha1 of the bytes, not gzipped>"
 *
 * ("file" for bytes as they are). A chunk is answered once it is durable: the client then asks for
 * the file, and gives up if a chunk is not there. In its blob the bytes follow a random head,
 * so that no other row can ever name the same blob and it may be deleted with its row.
 */
#include "server/clients/sentry/cli_chunks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/form.h"
#include "base/random.h"
#include "base/text.h"
#include "server/clients/sentry/cli.h"
#include "server/http/inflate.h"
#include "storage/store_chunks.h"

enum { CHUNKS_MAX = 64, CONCURRENCY = 8, READ_BYTES = 64 * 1024, ORG_TEXT = 256 };

uint64_t
sentry_file_max(const struct api_call *call)
{
    /* The client's own limit: it would read larger files into memory. */
    static const uint64_t most = UINT64_C(2) * 1024 * 1024 * 1024;
    uint64_t max = api_limits(call->api)->symbol_bytes;
    return max < most ? max : most;
}

/* ---- what may be sent ----------------------------------------------------------------------- */

/* A path segment again; one that does not fit becomes "-", since any organisation is the same. */
static void
quote_segment(const char *text, char ret[ORG_TEXT])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    size_t len = strlen(text);
    bool fits = len > 0 && len < ORG_TEXT && strspn(text, plain) == len && text[0] != '.';
    snprintf(ret, ORG_TEXT, "%s", fits ? text : "-");
}

enum fz_code
sentry_chunk_options(struct api_call *call, struct fz_error *err)
{
    /* Without "debug_files" 1.x and 2.x use the old protocol; without "pdbs" they leave out the
     * debug id, without "sources" and "bcsymbolmaps" those files. */
    static const char *const accepted[] = {"debug_files", "pdbs", "portablepdbs", "sources",
                                           "bcsymbolmaps"};
    const struct limits *limits = api_limits(call->api);
    const char *name = http_param(call->request, "org");
    char org[ORG_TEXT], url[ORG_TEXT + 64];
    /* It is the client's own text, and goes back into a URL. */
    quote_segment(name ? name : "", org);
    snprintf(url, sizeof(url), "/api/0/organizations/%s/chunk-upload/", org);
    struct json_write w = api_begin(call, '{');
    /* Relative to the root, since the server does not know the address that the client uses. */
    json_write_text(&w, "url", url);
    json_write_u64(&w, "chunkSize", limits->chunk_bytes);
    json_write_u64(&w, "chunksPerRequest", CHUNKS_MAX);
    json_write_u64(&w, "maxFileSize", sentry_file_max(call));
    json_write_u64(&w, "maxRequestSize", limits->chunk_request_bytes);
    json_write_u64(&w, "concurrency", CONCURRENCY);
    json_write_text(&w, "hashAlgorithm", "sha1");
    /* The client may choose any coding of this list, and gzip is the only one that is read here. */
    json_write_raw(&w, "compression", "[\"gzip\"]");
    json_write_open(&w, "accept", '[');
    for (size_t i = 0; i < FZ_ARRAY_LEN(accepted); i++)
        json_write_text(&w, NULL, accepted[i]);
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* Where the bytes of one chunk go. */
struct sink {
    int fd;
    struct fz_hash *hash;
    uint64_t n;
};

static enum fz_code
write_bytes(void *user, struct fz_span bytes, struct fz_error *err)
{
    struct sink *sink = user;
    fz_hash_update(sink->hash, bytes);
    sink->n += bytes.len;
    return fz_file_write_fd(sink->fd, bytes, err);
}

/* The part's bytes, inflated, to the sink. */
static enum fz_code
read_part(struct api_call *call, int body, const struct fz_form_part *part, bool is_gzip,
          struct sink *sink, struct fz_error *err)
{
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
    enum fz_code code = http_inflate_create(is_gzip ? HTTP_CODING_GZIP : HTTP_CODING_IDENTITY,
                                            api_limits(call->api)->chunk_bytes, &inflate, err);
    uint8_t *piece = code != FZ_OK ? NULL : fz_arena_alloc(call->arena, READ_BYTES);
    if (code == FZ_OK && !piece)
        code = fz_arena_fail(call->arena, err);
    if (code == FZ_OK)
        http_inflate_any_ratio(inflate); /* a chunk may be all zeros */
    for (uint64_t at = 0; code == FZ_OK && at < part->len;) {
        uint64_t left = part->len - at;
        ssize_t n = pread(body, piece, left < READ_BYTES ? (size_t)left : READ_BYTES,
                          (off_t)(part->offset + at));
        /* A signal came before any byte was read. */
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fz_fail(err, FZ_E_INTERNAL, "the request ended before its chunk");
        code = http_inflate_feed(inflate, fz_span_make(piece, (size_t)n), write_bytes, sink, err);
        at += (uint64_t)n;
    }
    return code != FZ_OK ? code : http_inflate_finish(inflate, err);
}

static enum fz_code
write_head(int fd, struct fz_error *err)
{
    uint8_t head[SENTRY_CHUNK_HEAD];
    fz_random(head, sizeof(head));
    return fz_file_write_fd(fd, fz_span_make(head, sizeof(head)), err);
}

/* Keep one chunk; *left is what the request may still hold. */
static enum fz_code
store_part(struct api_call *call, int body, const struct fz_form_part *part, uint64_t *left,
           struct fz_error *err)
{
    /* Chunks belong to the token that sent them: another one must not build a file of them by
     * guessing a hash. */
    struct store_chunk chunk = {.token_id = http_token_id(call->request)};
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    FZ_CLEANUP(fz_closep) int fd = -1;
    bool is_gzip = strcmp(part->name, "file_gzip") == 0, is_kept = false;
    enum fz_code code = blob_temp(api_blobs(call->api), &fd, err);
    if (code == FZ_OK)
        code = fz_hash_create(FZ_HASH_SHA1, &hash, err);
    if (code == FZ_OK)
        code = write_head(fd, err);
    struct sink sink = {.fd = fd, .hash = hash};
    if (code == FZ_OK)
        code = read_part(call, body, part, is_gzip, &sink, err);
    if (code != FZ_OK) {
        fz_wrap(err, "chunk %.40s", part->filename);
        return code;
    }
    fz_hash_finish(hash, chunk.sha1);
    /* A chunk under a wrong name would break each file that contains it. */
    if (strcmp(chunk.sha1, part->filename) != 0)
        return fz_fail(err, FZ_E_MALFORMED, "chunk %.40s: its SHA-1 is %s; was it sent whole?",
                       part->filename, chunk.sha1);
    /* After inflating: what was sent may be a thousand times smaller. */
    if (sink.n > *left)
        return fz_fail(err, FZ_E_LIMIT, "the request's chunks have more than %zu bytes",
                       api_limits(call->api)->chunk_request_bytes);
    *left -= sink.n;
    chunk.size = sink.n;
    uint64_t size;
    code = blob_put_fd(api_blobs(call->api), fd, chunk.blob_sha256, &size, err);
    /* First, since a chunk that can be used must have been counted. */
    if (code == FZ_OK)
        code = api_count_upload(call, chunk.size, err);
    if (code == FZ_OK)
        code = store_chunk_put(call->store, &chunk, &is_kept, err);
    if (code == FZ_OK && !is_kept) /* another request stored the same bytes first */
        fz_ignore(blob_delete(api_blobs(call->api), chunk.blob_sha256,
                              NULL)); /* no row names this blob */
    return code;
}

static enum fz_code
check_parts(const struct fz_form_part *parts, size_t n, struct fz_error *err)
{
    if (n == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the form holds no chunks");
    if (n > CHUNKS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%zu chunks in one request, at most %d", n, CHUNKS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(parts[i].name, "file") != 0 && strcmp(parts[i].name, "file_gzip") != 0)
            return fz_fail(err, FZ_E_MALFORMED, "a part is named '%.40s', not file or file_gzip",
                           parts[i].name);
        if (!fz_text_is_hex(parts[i].filename, FZ_SHA1_TEXT - 1))
            return fz_fail(err, FZ_E_MALFORMED,
                           "a chunk's file name is its SHA-1 in 40 lower-case hex digits");
    }
    return FZ_OK;
}

static enum fz_code
find_known(struct api_call *call, const struct fz_form_part *parts, size_t n,
           struct store_chunk **ret, struct fz_error *err)
{
    struct store_chunk *chunks = fz_arena_array(call->arena, n, sizeof(*chunks));
    if (!chunks)
        return fz_arena_fail(call->arena, err);
    for (size_t i = 0; i < n; i++) {
        chunks[i] = (struct store_chunk){0};
        memcpy(chunks[i].sha1, parts[i].filename, sizeof(chunks[i].sha1));
    }
    *ret = chunks;
    return store_chunk_find(call->store, http_token_id(call->request), chunks, n,
                            STORE_CHUNK_LIFE_MS, call->arena, err);
}

enum fz_code
sentry_chunks(struct api_call *call, struct fz_error *err)
{
    const char *type = http_header(call->request, "Content-Type");
    char boundary[FZ_FORM_BOUNDARY];
    struct fz_form_part *parts = NULL;
    struct store_chunk *known = NULL;
    size_t n = 0;
    uint64_t size = 0, left = api_limits(call->api)->chunk_request_bytes;
    int body = http_body_fd(call->request, &size);
    enum fz_code code = fz_form_boundary(type ? type : "", boundary, err);
    if (code == FZ_OK)
        code = fz_form_parse_fd(body, boundary, call->arena, &parts, &n, err);
    if (code == FZ_OK)
        code = check_parts(parts, n, err);
    if (code == FZ_OK)
        code = find_known(call, parts, n, &known, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        if (!known[i].is_there || known[i].taken > 0) /* each sending allows new uses */
            code = store_part(call, body, &parts[i], &left, err);
    if (code == FZ_OK)
        http_respond_json(call->request, 200, fz_span_cstr("[]"));
    return code;
}
