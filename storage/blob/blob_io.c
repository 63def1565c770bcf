#define _GNU_SOURCE /* O_TMPFILE */
#include "storage/blob/blob_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/time.h"

enum { COPY_STEP = 256 * 1024 };

/* ---- reading ---- */

enum fz_code
blob_io_read(int fd, struct blob_io_part part, blob_io_fn on_bytes, void *user, uint64_t *ret_size,
             struct fz_error *err)
{
    uint8_t *step = malloc(COPY_STEP);
    if (!step)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    uint64_t at = 0;
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && at < part.len) {
        size_t want = part.len - at < COPY_STEP ? (size_t)(part.len - at) : COPY_STEP;
        /* pread: the caller's file keeps its position. */
        ssize_t n = pread(fd, step, want, (off_t)(part.offset + at));
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
on_hash(void *user, struct fz_span bytes, struct fz_error *err FZ_UNUSED)
{
    fz_hash_update(user, bytes);
    return FZ_OK;
}

static enum fz_code
on_copy(void *user, struct fz_span bytes, struct fz_error *err)
{
    return fz_file_write_fd(*(int *)user, bytes, err);
}

enum fz_code
blob_io_hash_part(int fd, struct blob_io_part part, char ret_sha256[FZ_SHA256_TEXT],
                  uint64_t *ret_size, struct fz_error *err)
{
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    enum fz_code code = fz_hash_create(FZ_HASH_SHA256, &hash, err);
    if (code == FZ_OK)
        code = blob_io_read(fd, part, on_hash, hash, ret_size, err);
    if (code == FZ_OK)
        fz_hash_finish(hash, ret_sha256);
    return code;
}

enum fz_code
blob_io_hash(int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size, struct fz_error *err)
{
    const struct blob_io_part all = {0, UINT64_MAX};
    return blob_io_hash_part(fd, all, ret_sha256, ret_size, err);
}

enum fz_code
blob_io_open(const char *path, int *ret_fd, struct fz_error *err)
{
    /* O_NOFOLLOW: blobs are plain files, so a link is not one of ours. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    if (fd < 0)
        return fz_fail_errno(err, "cannot open a blob");
    *ret_fd = fd;
    return FZ_OK;
}

enum fz_code
blob_io_check(const char *path, const char *sha256, uint64_t *ret_size, struct fz_error *err)
{
    char found[FZ_SHA256_TEXT];
    uint64_t size = 0;
    FZ_CLEANUP(fz_closep) int fd = -1;
    enum fz_code code = blob_io_open(path, &fd, err);
    if (code == FZ_OK)
        code = blob_io_hash(fd, found, &size, err);
    if (code == FZ_OK && strcmp(found, sha256) != 0)
        code = fz_fail(err, FZ_E_MALFORMED, "the bytes of blob %s are damaged", sha256);
    if (code == FZ_OK && ret_size)
        *ret_size = size;
    return code;
}

/* ---- temporary files ---- */

enum fz_code
blob_io_fail(struct fz_error *err, const char *what, const char *dir)
{
    struct fz_error own;
    enum fz_code code = fz_fail_errno(&own, "%s %s", what, dir);
    return fz_fail(err, code == FZ_E_NOT_FOUND ? FZ_E_UNAVAILABLE : code, "%s", own.text);
}

enum fz_code
blob_io_temp(const char *dir, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/tmp", dir);
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* What kernels and file systems without O_TMPFILE report (open(2)). */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        snprintf(path, sizeof(path), "%s/tmp/XXXXXX", dir);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        return blob_io_fail(err, "cannot make a temporary file in", dir);
    *ret_fd = fd;
    return FZ_OK;
}

/* ---- names ---- */

/* An fsync that failed may have dropped the pages, and a second one would then report success; so
 * the blob is given up and the caller starts again. */
enum fz_code
blob_io_sync(int fd, struct fz_error *err)
{
    if (fsync(fd) == 0)
        return FZ_OK;
    fz_fail_errno(err, "cannot make a blob durable");
    return fz_fail(err, FZ_E_UNAVAILABLE, "%s", err ? err->text : "");
}

bool
blob_io_link(int fd, const char *path)
{
    struct stat st;
    /* A file that has a name elsewhere could be changed there. */
    if (fstat(fd, &st) != 0 || st.st_nlink != 0 || fchmod(fd, 0400) != 0)
        return false;
    char self[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    /* EEXIST: another writer has stored the same bytes meanwhile. */
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

enum fz_code
blob_io_copy(const char *dir, int fd, const char *path, bool is_durable, struct fz_error *err)
{
    const struct blob_io_part all = {0, UINT64_MAX};
    char temp[PATH_MAX];
    snprintf(temp, sizeof(temp), "%s/tmp/XXXXXX", dir);
    FZ_CLEANUP(fz_closep) int to = mkostemp(temp, O_CLOEXEC);
    if (to < 0)
        return blob_io_fail(err, "cannot make a temporary file in", dir);
    uint64_t size;
    enum fz_code code = blob_io_read(fd, all, on_copy, &to, &size, err);
    if (code == FZ_OK && is_durable)
        code = blob_io_sync(to, err);
    if (code == FZ_OK && (fchmod(to, 0400) != 0 || rename(temp, path) != 0))
        code = fz_fail_errno(err, "cannot name a blob");
    if (code != FZ_OK)
        unlink(temp);
    return code;
}

/* ---- old files ---- */

bool
blob_io_is_old(int folder, const char *name, int64_t age_ms)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    int64_t put_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return fz_time_now_ms() - put_ms > age_ms;
}

enum fz_code
blob_io_clear(const char *dir, int64_t age_ms, struct fz_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/tmp", dir);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? FZ_OK : fz_fail_errno(err, "cannot look into %s", path);
    for (const struct dirent *e; (e = readdir(folder));)
        if (blob_io_is_old(dirfd(folder), e->d_name, age_ms))
            unlinkat(dirfd(folder), e->d_name, 0);
    closedir(folder);
    return FZ_OK;
}
