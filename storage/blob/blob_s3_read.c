/* What is in the object store: sizes, bytes, and whether it can be used at all. */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "storage/blob/blob_s3.h"

enum fz_code
blob_s3_look(struct blob_s3 *s3, const char *sha256, enum blob_s3_patience patience,
             uint64_t *ret_size, struct fz_error *err)
{
    char key[BLOB_S3_KEY];
    struct net_signed_answer answer;
    blob_s3_key(sha256, key);
    const struct blob_s3_call call = {.method = "HEAD", .key = key, .patience = patience};
    enum fz_code code = blob_s3_send(s3, &call, &answer, err);
    if (code == FZ_OK)
        *ret_size = answer.len < 0 ? 0 : (uint64_t)answer.len;
    net_signed_answer_deinit(&answer);
    return code;
}

enum fz_code
blob_s3_read(struct blob_s3 *s3, const char *sha256, int fd, uint64_t *ret_size,
             struct fz_error *err)
{
    char key[BLOB_S3_KEY], found[FZ_SHA256_TEXT] = "";
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    blob_s3_key(sha256, key);
    enum fz_code code = fz_hash_create(FZ_HASH_SHA256, &hash, err);
    struct blob_s3_sink sink = {.fd = fd, .hash = hash};
    const struct blob_s3_call call = {.method = "GET", .key = key, .sink = &sink};
    if (code == FZ_OK)
        code = blob_s3_do(s3, &call, err);
    if (code != FZ_OK)
        return code == FZ_E_MALFORMED ? FZ_E_UNAVAILABLE : code; /* the URL, not the blob */
    fz_hash_finish(hash, found);
    if (strcmp(found, sha256) != 0)
        return fz_fail(err, FZ_E_MALFORMED, "the bytes of blob %s are damaged", sha256);
    if (ret_size)
        *ret_size = sink.got;
    return FZ_OK;
}

/* Each permission once; the object has a random name, so nodes do not meet. */
enum fz_code
blob_s3_ready(struct blob_s3 *s3, bool *ret_wait, struct fz_error *err)
{
    static const char text[] = "framezero looks whether it can write here\n";
    char key[BLOB_S3_KEY], sha256[FZ_SHA256_TEXT];
    uint8_t random[8];
    char hex[2 * sizeof(random) + 1];
    fz_random(random, sizeof(random));
    fz_text_hex(fz_span_make(random, sizeof(random)), hex);
    snprintf(key, sizeof(key), "tmp/check-%s", hex);
    fz_sha256_hex(fz_span_cstr(text), sha256);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer list = fz_buffer_make(0);
    fz_buffer_text(&list, "list-type=2&max-keys=1&prefix=");
    blob_s3_encode(&list, s3->place.prefix);
    enum fz_code code = fz_buffer_done(&list, err);
    const struct blob_s3_call calls[] = {
        {.method = "PUT",
         .key = key,
         .sha256 = sha256,
         .body = fz_span_cstr(text),
         .patience = BLOB_S3_PROBE},
        {.method = "GET", .key = key, .patience = BLOB_S3_PROBE},
        {.method = "GET",
         .is_bucket = true,
         .query = fz_buffer_cstr(&list),
         .patience = BLOB_S3_PROBE},
        {.method = "DELETE", .key = key, .patience = BLOB_S3_PROBE},
    };
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(calls); i++)
        code = blob_s3_do(s3, &calls[i], err);
    *ret_wait = code == FZ_E_UNAVAILABLE;
    return code == FZ_E_NOT_FOUND
               ? fz_fail(err, FZ_E_UNAVAILABLE, "object store: what was written cannot be read")
               : code;
}
