/*
 * A file into the object store: in one request, or as a multipart upload.
 *
 * Each request names the SHA-256 of its body, which the store compares. Nothing of a file is in memory:
 * each part is read twice, for its hash and to be sent. "If-None-Match: *" lets the first of several
 * nodes win; stores that do not know it store the same bytes twice, which changes nothing.
 *
 *   POST  KEY?uploads=                       → <UploadId>
 *   PUT   KEY?partNumber=1&uploadId=…        → ETag
 *   POST  KEY?uploadId=…   <Part>…           (Amazon S3 API Reference, CompleteMultipartUpload)
 */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/time.h"
#include "storage/blob/blob_io.h"
#include "storage/blob/blob_s3.h"
#include "storage/blob/blob_s3_xml.h"

/* A part has 5 MiB at least and 5 GiB at most, and there are 10,000 at most. */
enum { PART_MIN = 16 * 1024 * 1024, PART_STEP = 1024 * 1024, PARTS_MAX = 9000 };
enum { LOOKS = 5, LOOK_AGAIN_MS = 200 };

static const struct net_header ONLY_NEW = {"If-None-Match", "*"};

struct putting {
    struct blob_s3 *s3;
    int fd;
    const char *sha256;
    uint64_t size;
    char key[BLOB_S3_KEY];
    bool replaces; /* damaged bytes are there */
};

/* ---- in parts ---- */

struct parts {
    const struct putting *put;
    char id[512]; /* UploadId, percent-encoded */
    uint64_t len; /* of each but the last */
    struct fz_buffer list;
};

static enum fz_code
begin(struct parts *parts, struct fz_error *err)
{
    const struct blob_s3_call call = {
        .method = "POST", .key = parts->put->key, .query = "uploads="};
    char id[256];
    struct net_signed_answer answer;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer encoded = fz_buffer_make(sizeof(parts->id) - 1);
    enum fz_code code = blob_s3_send(parts->put->s3, &call, &answer, err);
    if (code == FZ_OK &&
        (!blob_s3_xml_text(fz_buffer_span(&answer.text), "UploadId", id, sizeof(id)) || !id[0]))
        code = fz_fail(err, FZ_E_UNAVAILABLE, "object store: it began no multipart upload");
    net_signed_answer_deinit(&answer);
    if (code != FZ_OK)
        return code;
    blob_s3_encode(&encoded, id);
    snprintf(parts->id, sizeof(parts->id), "%s", fz_buffer_cstr(&encoded));
    return fz_buffer_done(&encoded, err);
}

/* Its entry in the list with which the upload ends. An ETag is text in quotes. */
static enum fz_code
note_part(struct parts *parts, unsigned number, const char *etag, struct fz_error *err)
{
    if (!etag[0] || strpbrk(etag, "<>&"))
        return fz_fail(err, FZ_E_UNAVAILABLE, "object store: part %u has no ETag", number);
    fz_buffer_printf(&parts->list, "<Part><PartNumber>%u</PartNumber><ETag>", number);
    for (; *etag; etag++) {
        if (*etag == '"')
            fz_buffer_text(&parts->list, "&quot;");
        else
            fz_buffer_char(&parts->list, *etag);
    }
    fz_buffer_text(&parts->list, "</ETag></Part>");
    return fz_buffer_done(&parts->list, err);
}

static enum fz_code
send_part(struct parts *parts, unsigned number, struct fz_error *err)
{
    const struct putting *put = parts->put;
    uint64_t offset = (number - 1) * parts->len, size = 0;
    uint64_t len = put->size - offset < parts->len ? put->size - offset : parts->len;
    char sha256[FZ_SHA256_TEXT], query[600];
    const struct blob_io_part part = {offset, len};
    enum fz_code code = blob_io_hash_part(put->fd, part, sha256, &size, err);
    if (code == FZ_OK && size != len)
        code = fz_fail(err, FZ_E_INTERNAL, "what should become a blob became shorter");
    if (code != FZ_OK)
        return code;
    snprintf(query, sizeof(query), "partNumber=%u&uploadId=%s", number, parts->id);
    const struct blob_s3_call call = {.method = "PUT",
                                      .key = put->key,
                                      .query = query,
                                      .sha256 = sha256,
                                      .fd = put->fd,
                                      .offset = offset,
                                      .body_len = len};
    struct net_signed_answer answer;
    code = blob_s3_send(put->s3, &call, &answer, err);
    if (code == FZ_OK)
        code = note_part(parts, number, answer.etag, err);
    net_signed_answer_deinit(&answer);
    return code;
}

/* A store that is not atomic shows half of what another node puts there just now: it is looked at again for a second. */
static enum fz_code
look_until_whole(const struct putting *put, uint64_t *ret_size, struct fz_error *err)
{
    enum fz_code code = blob_s3_look(put->s3, put->sha256, BLOB_S3_NORMAL, ret_size, err);
    for (int i = 0; i < LOOKS && code == FZ_OK && *ret_size != put->size; i++) {
        fz_time_sleep_ms(LOOK_AGAIN_MS);
        code = blob_s3_look(put->s3, put->sha256, BLOB_S3_NORMAL, ret_size, err);
    }
    return code;
}

/* NOT_FOUND: no such upload, which is how a second try is answered if the first one succeeded and its
 * answer was lost. */
static enum fz_code
finish(struct parts *parts, struct fz_error *err)
{
    const struct putting *put = parts->put;
    char sha256[FZ_SHA256_TEXT], query[600];
    fz_buffer_text(&parts->list, "</CompleteMultipartUpload>");
    enum fz_code code = fz_buffer_done(&parts->list, err);
    if (code != FZ_OK)
        return code;
    fz_sha256_hex(fz_buffer_span(&parts->list), sha256);
    snprintf(query, sizeof(query), "uploadId=%s", parts->id);
    const struct blob_s3_call call = {.method = "POST",
                                      .key = put->key,
                                      .query = query,
                                      .sha256 = sha256,
                                      .body = fz_buffer_span(&parts->list),
                                      .header = put->replaces ? NULL : &ONLY_NEW,
                                      .patience = BLOB_S3_PATIENT};
    code = blob_s3_do(put->s3, &call, err);
    uint64_t size = 0;
    if (code == FZ_OK || code == FZ_E_NOT_FOUND)
        code = look_until_whole(put, &size, err);
    if (code == FZ_E_NOT_FOUND || (code == FZ_OK && size != put->size))
        code = fz_fail(err, FZ_E_UNAVAILABLE,
                       "object store: of the parts of %s it made %llu bytes, not %llu", put->sha256,
                       (unsigned long long)size, (unsigned long long)put->size);
    return code;
}

static void
give_up(struct parts *parts)
{
    char query[600];
    snprintf(query, sizeof(query), "uploadId=%s", parts->id);
    const struct blob_s3_call call = {
        .method = "DELETE", .key = parts->put->key, .query = query, .patience = BLOB_S3_PROBE};
    /* If it cannot be, blob_s3_list_old() finds it. */
    fz_ignore(blob_s3_do(parts->put->s3, &call, NULL));
}

static enum fz_code
put_parts(const struct putting *put, struct fz_error *err)
{
    struct parts parts = {.put = put, .len = PART_MIN};
    uint64_t least = put->size / PARTS_MAX + 1;
    if (least > parts.len)
        parts.len = (least + PART_STEP - 1) / PART_STEP * PART_STEP;
    unsigned n = (unsigned)((put->size + parts.len - 1) / parts.len);
    enum fz_code code = begin(&parts, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_init(&parts.list, 0);
    fz_buffer_text(&parts.list,
                   "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (unsigned i = 1; code == FZ_OK && i <= n; i++)
        code = send_part(&parts, i, err);
    if (code == FZ_OK)
        code = finish(&parts, err);
    if (code != FZ_OK)
        give_up(&parts);
    fz_buffer_deinit(&parts.list);
    return code;
}

/* ---- in one ---- */

static enum fz_code
put_whole(const struct putting *put, struct fz_error *err)
{
    const struct blob_s3_call call = {.method = "PUT",
                                      .key = put->key,
                                      .sha256 = put->sha256,
                                      .fd = put->fd,
                                      .body_len = put->size,
                                      .header = put->replaces ? NULL : &ONLY_NEW};
    return blob_s3_do(put->s3, &call, err);
}

/* ---- either ---- */

/* FZ_OK: it is there and whole. NOT_FOUND. MALFORMED: it is there and damaged, and to put it again is
 * how it is repaired. */
static enum fz_code
check_there(const struct putting *put, struct fz_error *err)
{
    uint64_t size = 0;
    enum fz_code code = blob_s3_look(put->s3, put->sha256, BLOB_S3_NORMAL, &size, err);
    if (code == FZ_OK && size != put->size)
        return fz_fail(err, FZ_E_MALFORMED, "the bytes of blob %s are damaged", put->sha256);
    return code == FZ_OK ? blob_s3_read(put->s3, put->sha256, -1, &size, err) : code;
}

enum fz_code
blob_s3_put(struct blob_s3 *s3, int fd, const char *sha256, uint64_t size, struct fz_error *err)
{
    struct putting put = {.s3 = s3, .fd = fd, .sha256 = sha256, .size = size};
    blob_s3_key(sha256, put.key);
    enum fz_code code = check_there(&put, err);
    /* Twice, if another node puts a damaged one meanwhile; it cannot be in the way for ever. */
    for (int i = 0; i < 2 && (code == FZ_E_NOT_FOUND || code == FZ_E_MALFORMED); i++) {
        put.replaces = code == FZ_E_MALFORMED;
        code = size > PART_MIN ? put_parts(&put, err) : put_whole(&put, err);
        if (code == FZ_E_CONFLICT)
            code = check_there(&put, err);
    }
    return code == FZ_E_NOT_FOUND
               ? fz_fail(err, FZ_E_UNAVAILABLE, "object store: blob %s is gone after it was put",
                         sha256)
               : code;
}
