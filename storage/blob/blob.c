/* The entry to blobs: which store a URL names, and what all of them have in common. */
#include "storage/blob/blob.h"

#include "base/text.h"
#include "storage/blob/blob_ops.h"

enum fz_code
blob_open(const char *blobs_url, struct blob_store **ret, struct fz_error *err)
{
    static const char file[] = "file:";
    if (!fz_text_has_prefix(blobs_url, file) || !blobs_url[sizeof(file) - 1])
        return fz_fail(err, FZ_E_UNSUPPORTED, "the blob store must be given as file:DIR");
    return blob_file_open(blobs_url + sizeof(file) - 1, ret, err);
}

void
blob_close(struct blob_store *blobs)
{
    if (blobs)
        blobs->ops->close(blobs);
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
blob_delete(struct blob_store *blobs, const char *sha256, struct fz_error *err)
{
    return is_name(sha256) ? blobs->ops->delete (blobs, sha256, err) : no_blob(err);
}

bool
blob_is_there(struct blob_store *blobs, const char *sha256)
{
    return is_name(sha256) && blobs->ops->is_there(blobs, sha256);
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
blob_list_old(struct blob_store *blobs, int64_t age_ms, blob_old_fn on_old, void *user,
              struct fz_error *err)
{
    return blobs->ops->list_old(blobs, age_ms, on_old, user, err);
}

enum fz_code
blob_space(struct blob_store *blobs, uint64_t *ret_free, uint64_t *ret_total, struct fz_error *err)
{
    return blobs->ops->space(blobs, ret_free, ret_total, err);
}
