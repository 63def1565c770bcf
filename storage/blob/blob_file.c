/*
 * Blobs in a folder: DIR/ab/cd/<sha256>, written under DIR/tmp first.
 *
 * A new blob is an unnamed file (O_TMPFILE) that gets its name by linkat() once its bytes are on
 * disk; where the file system or a missing /proc does not allow that, a named temporary file is
 * renamed. Either way the name appears only for a whole blob, and the folder is synced before
 * anybody is told.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "storage/blob/blob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { COPY_STEP = 256 * 1024 };

enum fz_code
blob_open(const char *blobs_url, struct blob_store **ret, struct fz_error *err)
{
    static const char file[] = "file:";
    if (!fz_text_has_prefix(blobs_url, file) || !blobs_url[sizeof(file) - 1])
        return fz_fail(err, FZ_E_UNSUPPORTED, "the blob store must be given as file:DIR");
    struct blob_store *blobs = calloc(1, sizeof(*blobs));
    if (!blobs)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    const char *dir = blobs_url + sizeof(file) - 1;
    int len = snprintf(blobs->dir, sizeof(blobs->dir), "%s", dir);
    char temp[PATH_MAX];
    snprintf(temp, sizeof(temp), "%s/tmp", blobs->dir);
    enum fz_code code = len < 0 || (size_t)len >= sizeof(blobs->dir)
                            ? fz_fail(err, FZ_E_LIMIT, "the path of the blob store is too long")
                            : fz_file_make_dirs(temp, err);
    if (code == FZ_OK)
        code = fz_file_sync_parent(temp, err);
    if (code != FZ_OK) {
        free(blobs);
        return code;
    }
    *ret = blobs;
    return FZ_OK;
}

void
blob_close(struct blob_store *blobs)
{
    free(blobs);
}

/* ---- names ---- */

/* The only way from a name to a path: exactly 64 lower-case hex digits, so there is nothing to
 * climb out with. */
bool
blob_is_name(const char *sha256)
{
    if (!sha256 || strlen(sha256) != FZ_SHA256_TEXT - 1)
        return false;
    for (const char *c = sha256; *c; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f')))
            return false;
    return true;
}

enum fz_code
blob_path(const struct blob_store *blobs, const char *sha256, char ret[PATH_MAX],
          struct fz_error *err)
{
    if (!blob_is_name(sha256))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    snprintf(ret, PATH_MAX, "%s/%.2s/%.2s/%s", blobs->dir, sha256, sha256 + 2, sha256);
    return FZ_OK;
}

/* The two folders above `path`, each durable in its parent. */
static enum fz_code
make_folders(const char *path, struct fz_error *err)
{
    char at[PATH_MAX];
    snprintf(at, sizeof(at), "%s", path);
    char *last = strrchr(at, '/');
    *last = '\0';
    struct stat st;
    if (stat(at, &st) == 0)
        return FZ_OK;
    enum fz_code code = fz_file_make_dirs(at, err);
    if (code == FZ_OK)
        code = fz_file_sync_parent(at, err); /* .../ab, which holds cd */
    if (code != FZ_OK)
        return code;
    *strrchr(at, '/') = '\0';
    return fz_file_sync_parent(at, err); /* DIR, which holds ab */
}

/* ---- temporary files ---- */

/* From errno. That the store's own folder is missing is not the caller's NOT_FOUND. */
static enum fz_code
fail_place(struct fz_error *err, const char *what, const struct blob_store *blobs)
{
    struct fz_error own;
    enum fz_code code = fz_fail_errno(&own, "%s %s", what, blobs->dir);
    return fz_fail(err, code == FZ_E_NOT_FOUND ? FZ_E_UNAVAILABLE : code, "%s", own.text);
}

enum fz_code
blob_temp(struct blob_store *blobs, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/tmp", blobs->dir);
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        snprintf(path, sizeof(path), "%s/tmp/XXXXXX", blobs->dir);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        return fail_place(err, "cannot make a temporary file in", blobs);
    *ret_fd = fd;
    return FZ_OK;
}

/* Call `on_bytes` with all that the file holds, whatever its position is. */
typedef enum fz_code (*on_bytes_fn)(void *user, struct fz_span bytes, struct fz_error *err);

static enum fz_code
read_all(int fd, on_bytes_fn on_bytes, void *user, uint64_t *ret_size, struct fz_error *err)
{
    uint8_t *step = malloc(COPY_STEP);
    if (!step)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    uint64_t at = 0;
    enum fz_code code = FZ_OK;
    while (code == FZ_OK) {
        ssize_t n = pread(fd, step, COPY_STEP, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            code = fz_fail_errno(err, "cannot read what should become a blob");
        if (n <= 0)
            break;
        code = on_bytes(user, fz_span_make(step, (size_t)n), err);
        at += (uint64_t)n;
    }
    free(step);
    if (code == FZ_OK)
        *ret_size = at;
    return code;
}

static enum fz_code
on_hash(void *user, struct fz_span bytes, struct fz_error *err)
{
    (void)err;
    fz_sha256_update(user, bytes);
    return FZ_OK;
}

static enum fz_code
on_copy(void *user, struct fz_span bytes, struct fz_error *err)
{
    return fz_file_write_fd(*(int *)user, bytes, err);
}

static enum fz_code
hash_fd(int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size, struct fz_error *err)
{
    FZ_CLEANUP(fz_sha256_destroyp) struct fz_sha256 *hash = NULL;
    enum fz_code code = fz_sha256_create(&hash, err);
    if (code == FZ_OK)
        code = read_all(fd, on_hash, hash, ret_size, err);
    if (code == FZ_OK)
        fz_sha256_finish(hash, ret_sha256);
    return code;
}

/* ---- put ---- */

/* An fsync that failed may have dropped the pages, and a second one would then lie; so the blob is
 * given up and the caller starts over. */
static enum fz_code
sync_fd(int fd, struct fz_error *err)
{
    if (fsync(fd) == 0)
        return FZ_OK;
    fz_fail_errno(err, "cannot make a blob durable");
    return fz_fail(err, FZ_E_UNAVAILABLE, "%s", err ? err->text : "");
}

/* Name an unnamed file. False: not possible here, it has to be copied. */
static bool
link_fd(int fd, const char *path)
{
    struct stat st;
    /* A file that has a name elsewhere could be changed there. */
    if (fstat(fd, &st) != 0 || st.st_nlink != 0 || fchmod(fd, 0400) != 0)
        return false;
    char self[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

static enum fz_code
copy_fd(const struct blob_store *blobs, int fd, const char *path, struct fz_error *err)
{
    char temp[PATH_MAX];
    snprintf(temp, sizeof(temp), "%s/tmp/XXXXXX", blobs->dir);
    FZ_CLEANUP(fz_closep) int to = mkostemp(temp, O_CLOEXEC);
    if (to < 0)
        return fail_place(err, "cannot make a temporary file in", blobs);
    uint64_t size;
    enum fz_code code = read_all(fd, on_copy, &to, &size, err);
    if (code == FZ_OK)
        code = sync_fd(to, err);
    if (code == FZ_OK && (fchmod(to, 0400) != 0 || rename(temp, path) != 0))
        code = fz_fail_errno(err, "cannot name a blob");
    if (code != FZ_OK)
        unlink(temp);
    return code;
}

enum fz_code
blob_put_fd(struct blob_store *blobs, int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
            struct fz_error *err)
{
    char sha256[FZ_SHA256_TEXT], path[PATH_MAX];
    uint64_t size = 0;
    enum fz_code code = hash_fd(fd, sha256, &size, err);
    if (code == FZ_OK)
        code = blob_path(blobs, sha256, path, err);
    if (code == FZ_OK)
        code = make_folders(path, err);
    if (code != FZ_OK)
        return code;
    struct stat st;
    bool there = stat(path, &st) == 0;
    bool whole = there && (uint64_t)st.st_size == size;
    if (there && !whole)
        code = copy_fd(blobs, fd, path, err); /* a damaged disk; the rename puts it right */
    else if (!there)
        code = sync_fd(fd, err);
    if (code == FZ_OK && !there && !link_fd(fd, path))
        code = copy_fd(blobs, fd, path, err);
    /* Even if it was there: whoever put it may not have come as far as this. */
    if (code == FZ_OK)
        code = fz_file_sync_parent(path, err);
    if (code != FZ_OK)
        return code;
    memcpy(ret_sha256, sha256, sizeof(sha256));
    *ret_size = size;
    return FZ_OK;
}

enum fz_code
blob_put(struct blob_store *blobs, struct fz_span bytes, char ret_sha256[FZ_SHA256_TEXT],
         struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint64_t size;
    enum fz_code code = blob_temp(blobs, &fd, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(fd, bytes, err);
    return code == FZ_OK ? blob_put_fd(blobs, fd, ret_sha256, &size, err) : code;
}

/* ---- get, delete, space ---- */

enum fz_code
blob_get_fd(struct blob_store *blobs, const char *sha256, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX];
    enum fz_code code = blob_path(blobs, sha256, path, err);
    if (code != FZ_OK)
        return code;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    if (fd < 0)
        return fz_fail_errno(err, "cannot open a blob");
    *ret_fd = fd;
    return FZ_OK;
}

enum fz_code
blob_delete(struct blob_store *blobs, const char *sha256, struct fz_error *err)
{
    char path[PATH_MAX];
    enum fz_code code = blob_path(blobs, sha256, path, err);
    if (code != FZ_OK)
        return code;
    if (unlink(path) != 0) {
        if (errno == ENOENT)
            return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
        return fz_fail_errno(err, "cannot delete a blob");
    }
    return fz_file_sync_parent(path, err);
}

enum fz_code
blob_space(struct blob_store *blobs, uint64_t *ret_free, uint64_t *ret_total, struct fz_error *err)
{
    struct statvfs fs;
    if (statvfs(blobs->dir, &fs) != 0)
        return fail_place(err, "cannot ask for the free space of", blobs);
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    return FZ_OK;
}
