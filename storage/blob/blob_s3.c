/*
 * Blobs in an object store that speaks Amazon's S3 protocol.
 *
 * What is got is a copy in the cache (blob_cache.h), so that children can map it; what is put goes there
 * too, since the node that has an index will need it first. Without copies (cache_bytes 0, as when blobs
 * are moved) files are temporary.
 */
#include "storage/blob/blob_s3.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/blob/blob_io.h"

/* ---- reading ---- */

/* Into a new file, whose bytes were compared. */
static enum fz_code
fetch(struct blob_s3 *s3, const char *sha256, int *ret_fd, uint64_t *ret_size, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    enum fz_code code = blob_io_temp(blob_cache_dir(s3->cache), &fd, err);
    if (code == FZ_OK)
        code = blob_s3_read(s3, sha256, fd, ret_size, err);
    if (code != FZ_OK)
        return code;
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

/* No one who gets a blob can write to it. */
static enum fz_code
reopen(int fd, int *ret_fd, struct fz_error *err)
{
    char self[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    *ret_fd = open(self, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? fz_fail_errno(err, "cannot open a copy of a blob") : FZ_OK;
}

static enum fz_code
get_fd(struct blob_store *store, const char *sha256, int *ret_fd, struct fz_error *err)
{
    struct blob_s3 *s3 = (struct blob_s3 *)store;
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint64_t size = 0;
    if (blob_cache_get(s3->cache, sha256, ret_fd))
        return FZ_OK;
    enum fz_code code = fetch(s3, sha256, &fd, &size, err);
    /* Once more: it may have been damaged on its way. */
    if (code == FZ_E_MALFORMED)
        code = fetch(s3, sha256, &fd, &size, err);
    if (code == FZ_E_MALFORMED)
        return code;
    if (code != FZ_OK)
        return blob_s3_outside(code);
    blob_cache_add(s3->cache, sha256, fd, size);
    return reopen(fd, ret_fd, err);
}

static enum fz_code
check_blob(struct blob_store *store, const char *sha256, uint64_t *ret_size, struct fz_error *err)
{
    struct blob_s3 *s3 = (struct blob_s3 *)store;
    enum fz_code code = blob_s3_read(s3, sha256, -1, ret_size, err);
    return code == FZ_E_MALFORMED ? code : blob_s3_outside(code);
}

static enum fz_code
is_there(struct blob_store *store, const char *sha256, bool *ret, struct fz_error *err)
{
    uint64_t size = 0;
    enum fz_code code = blob_s3_look((struct blob_s3 *)store, sha256, BLOB_S3_QUICK, &size, err);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return blob_s3_outside(code);
    *ret = code == FZ_OK;
    return FZ_OK;
}

/* ---- writing ---- */

static enum fz_code
make_temp(struct blob_store *store, int *ret_fd, struct fz_error *err)
{
    return blob_io_temp(blob_cache_dir(((struct blob_s3 *)store)->cache), ret_fd, err);
}

static enum fz_code
put_fd(struct blob_store *store, int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
       struct fz_error *err)
{
    struct blob_s3 *s3 = (struct blob_s3 *)store;
    char sha256[FZ_SHA256_TEXT];
    uint64_t size = 0;
    enum fz_code code = blob_io_hash(fd, sha256, &size, err);
    if (code == FZ_OK)
        code = blob_s3_outside(blob_s3_put(s3, fd, sha256, size, err));
    if (code != FZ_OK)
        return code;
    blob_cache_add(s3->cache, sha256, fd, size);
    memcpy(ret_sha256, sha256, sizeof(sha256));
    *ret_size = size;
    return FZ_OK;
}

/* ---- deleting ---- */

static enum fz_code
delete_key(struct blob_s3 *s3, const char *sha256, struct fz_error *err)
{
    char key[BLOB_S3_KEY];
    blob_s3_key(sha256, key);
    const struct blob_s3_call call = {.method = "DELETE", .key = key, .patience = BLOB_S3_QUICK};
    enum fz_code code = blob_s3_do(s3, &call, err);
    if (code == FZ_OK || code == FZ_E_NOT_FOUND)
        blob_cache_drop(s3->cache, sha256);
    return blob_s3_outside(code);
}

static enum fz_code
delete_blob(struct blob_store *store, const char *sha256, struct fz_error *err)
{
    return delete_key((struct blob_s3 *)store, sha256, err);
}

/* To rename would be to copy; to delete is quick, whatever the size. */
static enum fz_code
take_away(struct blob_store *store, const char *sha256, struct blob_gone *ret, struct fz_error *err)
{
    ret->name[0] = '\0';
    return delete_key((struct blob_s3 *)store, sha256, err);
}

static void
end_blob(struct blob_store *store FZ_UNUSED, const struct blob_gone *gone FZ_UNUSED)
{
}

static enum fz_code
list_old(struct blob_store *store, struct blob_place *place, int64_t age_ms, blob_old_fn on_old,
         void *user, struct fz_error *err)
{
    struct blob_s3 *s3 = (struct blob_s3 *)store;
    enum fz_code code = blob_io_clear(blob_cache_dir(s3->cache), age_ms, err);
    if (code != FZ_OK)
        return code;
    /* What on_old() returns passes, too: it is neither DENIED nor MALFORMED. */
    return blob_s3_outside(blob_s3_list_old(s3, place, age_ms, on_old, user, err));
}

/* ---- the store ---- */

static enum fz_code
get_space(struct blob_store *store, uint64_t *ret_free, uint64_t *ret_total, struct fz_error *err)
{
    const char *dir = blob_cache_dir(((struct blob_s3 *)store)->cache);
    struct statvfs fs;
    if (statvfs(dir, &fs) != 0)
        return blob_io_fail(err, "cannot ask for the free space of", dir);
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    return FZ_OK;
}

static enum fz_code
is_ready(struct blob_store *store, bool *ret_wait, struct fz_error *err)
{
    return blob_s3_ready((struct blob_s3 *)store, ret_wait, err);
}

static bool
is_away(struct blob_store *store)
{
    return blob_s3_is_away((struct blob_s3 *)store);
}

static void
close_store(struct blob_store *store)
{
    struct blob_s3 *s3 = (struct blob_s3 *)store;
    for (size_t i = 0; i < s3->n_idle; i++)
        net_signed_destroy(s3->idle[i]);
    blob_cache_close(s3->cache);
    blob_s3_keys_destroy(s3->keys);
    pthread_mutex_destroy(&s3->lock);
    free(s3);
}

static const struct blob_ops ops = {
    .close = close_store,
    .ready = is_ready,
    .is_away = is_away,
    .temp = make_temp,
    .put_fd = put_fd,
    .get_fd = get_fd,
    .check = check_blob,
    .delete = delete_blob,
    .is_there = is_there,
    .take_away = take_away,
    .end = end_blob,
    .list_old = list_old,
    .space = get_space,
    .is_guarded = true,
};

enum fz_code
blob_s3_open(const struct blob_config *config, struct blob_store **ret, struct fz_error *err)
{
    struct blob_s3 *s3 = calloc(1, sizeof(*s3));
    if (!s3)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    s3->base.ops = &ops;
    s3->tick = config->tick;
    s3->tick_user = config->tick_user;
    pthread_mutex_init(&s3->lock, NULL);
    enum fz_code code = blob_s3_url_parse(config->url, &s3->place, err);
    if (code == FZ_OK && !config->cache_dir)
        code = fz_fail(err, FZ_E_INTERNAL, "an object store needs a folder for its files here");
    if (code == FZ_OK)
        code = blob_s3_keys_create(&s3->place, &s3->keys, err);
    if (code == FZ_OK)
        code = blob_cache_open(config->cache_dir, config->cache_bytes, &s3->cache, err);
    if (code != FZ_OK) {
        close_store(&s3->base);
        return code;
    }
    *ret = &s3->base;
    return FZ_OK;
}
