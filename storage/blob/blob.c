/* The entry to blobs: which store a URL names, and what all of them have in common. */
#include "storage/blob/blob.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "storage/blob/blob_ops.h"

enum fz_code
blob_open(const struct blob_config *config, struct blob_store **ret, struct fz_error *err)
{
    static const char file[] = "file:", s3[] = "s3://";
    if (fz_text_has_prefix(config->url, s3))
        return blob_s3_open(config, ret, err);
    if (!fz_text_has_prefix(config->url, file) || !config->url[sizeof(file) - 1])
        return fz_fail(err, FZ_E_MALFORMED,
                       "the blob store must be given as file:DIR or s3://BUCKET/PREFIX");
    return blob_file_open(config->url + sizeof(file) - 1, ret, err);
}

void
blob_close(struct blob_store *blobs)
{
    if (blobs)
        blobs->ops->close(blobs);
}

enum fz_code
blob_ready(struct blob_store *blobs, bool *ret_wait, struct fz_error *err)
{
    *ret_wait = false;
    return blobs->ops->ready(blobs, ret_wait, err);
}

bool
blob_is_away(struct blob_store *blobs)
{
    return blobs->ops->is_away && blobs->ops->is_away(blobs);
}

bool
blob_is_guarded(const struct blob_store *blobs)
{
    return blobs->ops->is_guarded;
}

/* Checked here for all stores, so that none makes a path or a URL of anything else. */
static bool
is_name(const char *sha256)
{
    return fz_text_is_hex(sha256, FZ_SHA256_TEXT - 1);
}

static enum fz_code
no_blob(struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
}

enum fz_code
blob_temp(struct blob_store *blobs, int *ret_fd, struct fz_error *err)
{
    return blobs->ops->temp(blobs, ret_fd, err);
}

enum fz_code
blob_put_fd(struct blob_store *blobs, int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
            struct fz_error *err)
{
    return blobs->ops->put_fd(blobs, fd, ret_sha256, ret_size, err);
}

enum fz_code
blob_get_fd(struct blob_store *blobs, const char *sha256, int *ret_fd, struct fz_error *err)
{
    return is_name(sha256) ? blobs->ops->get_fd(blobs, sha256, ret_fd, err) : no_blob(err);
}

enum fz_code
blob_check(struct blob_store *blobs, const char *sha256, uint64_t *ret_size, struct fz_error *err)
{
    return is_name(sha256) ? blobs->ops->check(blobs, sha256, ret_size, err) : no_blob(err);
}

/* The bytes of `from` are hashed before they are put, so that a damaged blob gets no name. */
static enum fz_code
copy_bytes(int from, int to, char ret_sha256[FZ_SHA256_TEXT], struct fz_error *err)
{
    FZ_CLEANUP(fz_map_close) struct fz_map map = {{NULL, 0}};
    enum fz_code code = fz_map_open_fd(from, &map, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(to, map.bytes, err);
    if (code == FZ_OK)
        fz_sha256_hex(map.bytes, ret_sha256);
    return code;
}

enum fz_code
blob_copy(struct blob_store *from, struct blob_store *to, const char *sha256, uint64_t *ret_size,
          struct fz_error *err)
{
    char found[FZ_SHA256_TEXT];
    FZ_CLEANUP(fz_closep) int source = -1;
    FZ_CLEANUP(fz_closep) int copy = -1;
    /* Read in full: one with damaged bytes is put again. */
    enum fz_code code = blob_check(to, sha256, ret_size, err);
    if (code == FZ_OK || code == FZ_E_UNAVAILABLE)
        return code;
    code = blob_get_fd(from, sha256, &source, err);
    if (code == FZ_OK)
        code = blob_temp(to, &copy, err);
    if (code == FZ_OK)
        code = copy_bytes(source, copy, found, err);
    if (code == FZ_OK && strcmp(found, sha256) != 0)
        code = fz_fail(err, FZ_E_MALFORMED, "the bytes of blob %s are damaged", sha256);
    return code == FZ_OK ? blob_put_fd(to, copy, found, ret_size, err) : code;
}

enum fz_code
blob_delete(struct blob_store *blobs, const char *sha256, struct fz_error *err)
{
    return is_name(sha256) ? blobs->ops->delete (blobs, sha256, err) : no_blob(err);
}

enum fz_code
blob_is_there(struct blob_store *blobs, const char *sha256, bool *ret, struct fz_error *err)
{
    *ret = false;
    return is_name(sha256) ? blobs->ops->is_there(blobs, sha256, ret, err) : FZ_OK;
}

enum fz_code
blob_take_away(struct blob_store *blobs, const char *sha256, struct blob_gone *ret,
               struct fz_error *err)
{
    return is_name(sha256) ? blobs->ops->take_away(blobs, sha256, ret, err) : no_blob(err);
}

void
blob_end(struct blob_store *blobs, const struct blob_gone *gone)
{
    blobs->ops->end(blobs, gone);
}

enum fz_code
blob_list_old(struct blob_store *blobs, struct blob_place *place, int64_t age_ms,
              blob_old_fn on_old, void *user, struct fz_error *err)
{
    return blobs->ops->list_old(blobs, place, age_ms, on_old, user, err);
}

enum fz_code
blob_space(struct blob_store *blobs, uint64_t *ret_free, uint64_t *ret_total, struct fz_error *err)
{
    return blobs->ops->space(blobs, ret_free, ret_total, err);
}
