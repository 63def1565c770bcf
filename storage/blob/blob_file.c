/*
 * Blobs in a folder: DIR/ab/cd/<sha256>, written under DIR/tmp first.
 *
 * A new blob is an unnamed file (O_TMPFILE) that gets its name by linkat() once its bytes are on
 * disk; where the file system or a missing /proc does not allow that, a named temporary file is
 * renamed. Either way the name appears only for a whole blob, and the folder is synced before the
 * caller gets its hash.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "storage/blob/blob_ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"

enum { COPY_STEP = 256 * 1024 };

struct blob_file {
    struct blob_store base;
    char dir[PATH_MAX - 128];  /* leaves room for what comes after it */
    struct blob_place scanned; /* the folder that list_old() looked at last; one thread only */
};

/* ---- names ---- */

/* blob.c has checked the name: 64 hex digits cannot lead out of the folder. */
static void
get_path(const struct blob_store *store, const char *sha256, char ret[PATH_MAX])
{
    const struct blob_file *blobs = (const struct blob_file *)store;
    snprintf(ret, PATH_MAX, "%s/%.2s/%.2s/%s", blobs->dir, sha256, sha256 + 2, sha256);
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
    /* fz_file_make_dirs() may have made both, and a new folder is lost in a power cut unless its
     * parent is synced. */
    *strrchr(at, '/') = '\0';
    return fz_file_sync_parent(at, err); /* DIR, which holds ab */
}

/* ---- temporary files ---- */

/* From errno. That the store's own folder is missing is not the caller's NOT_FOUND. */
static enum fz_code
fail_place(struct fz_error *err, const char *what, const struct blob_file *blobs)
{
    struct fz_error own;
    enum fz_code code = fz_fail_errno(&own, "%s %s", what, blobs->dir);
    return fz_fail(err, code == FZ_E_NOT_FOUND ? FZ_E_UNAVAILABLE : code, "%s", own.text);
}

static enum fz_code
make_temp(struct blob_store *store, int *ret_fd, struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/tmp", blobs->dir);
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* What kernels and file systems without O_TMPFILE report (open(2)). */
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
        /* pread: the caller's file keeps its position. */
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

static enum fz_code
hash_fd(int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size, struct fz_error *err)
{
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    enum fz_code code = fz_hash_create(FZ_HASH_SHA256, &hash, err);
    if (code == FZ_OK)
        code = read_all(fd, on_hash, hash, ret_size, err);
    if (code == FZ_OK)
        fz_hash_finish(hash, ret_sha256);
    return code;
}

/* NOT_FOUND: no such file; MALFORMED: other bytes than its name says; any other: it cannot be read. */
static enum fz_code
check_path(const char *path, const char *sha256, struct fz_error *err)
{
    char found[FZ_SHA256_TEXT];
    uint64_t size;
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    if (fd < 0)
        return fz_fail_errno(err, "cannot open a blob");
    enum fz_code code = hash_fd(fd, found, &size, err);
    if (code == FZ_OK && strcmp(found, sha256) != 0)
        code = fz_fail(err, FZ_E_MALFORMED, "the bytes of blob %s are damaged", sha256);
    return code;
}

/* ---- put ---- */

/* An fsync that failed may have dropped the pages, and a second one would then report success; so
 * the blob is given up and the caller starts again. */
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
    /* EEXIST: another writer has stored the same bytes meanwhile. */
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

static enum fz_code
copy_fd(const struct blob_file *blobs, int fd, const char *path, struct fz_error *err)
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

static enum fz_code
put_fd(struct blob_store *store, int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
       struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char sha256[FZ_SHA256_TEXT], path[PATH_MAX];
    uint64_t size = 0;
    enum fz_code code = hash_fd(fd, sha256, &size, err);
    if (code != FZ_OK)
        return code;
    get_path(store, sha256, path);
    code = make_folders(path, err);
    if (code != FZ_OK)
        return code;
    /* Read in full: a damaged blob has its size, and to send it again is how it is repaired. */
    enum fz_code found = check_path(path, sha256, err);
    bool there = found != FZ_E_NOT_FOUND;
    if (found == FZ_E_NO_MEMORY)
        return found;
    if (there && found != FZ_OK)
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

/* ---- get, delete, space ---- */

static enum fz_code
get_fd(struct blob_store *store, const char *sha256, int *ret_fd, struct fz_error *err)
{
    char path[PATH_MAX];
    get_path(store, sha256, path);
    /* O_NOFOLLOW: blobs are plain files, so a link is not one of ours. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    if (fd < 0)
        return fz_fail_errno(err, "cannot open a blob");
    *ret_fd = fd;
    return FZ_OK;
}

static enum fz_code
check_blob(struct blob_store *store, const char *sha256, struct fz_error *err)
{
    char path[PATH_MAX];
    get_path(store, sha256, path);
    return check_path(path, sha256, err);
}

static enum fz_code
delete_blob(struct blob_store *store, const char *sha256, struct fz_error *err)
{
    char path[PATH_MAX];
    get_path(store, sha256, path);
    if (unlink(path) != 0) {
        if (errno == ENOENT)
            return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
        return fz_fail_errno(err, "cannot delete a blob");
    }
    return fz_file_sync_parent(path, err);
}

static enum fz_code
get_space(struct blob_store *store, uint64_t *ret_free, uint64_t *ret_total, struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    struct statvfs fs;
    if (statvfs(blobs->dir, &fs) != 0)
        return fail_place(err, "cannot ask for the free space of", blobs);
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    return FZ_OK;
}

/* ---- blobs that go ---- */

static bool
is_there(struct blob_store *store, const char *sha256)
{
    char path[PATH_MAX];
    struct stat st;
    get_path(store, sha256, path);
    return stat(path, &st) == 0;
}

static enum fz_code
take_away(struct blob_store *store, const char *sha256, struct blob_gone *ret, struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char path[PATH_MAX], to[PATH_MAX];
    uint32_t random;
    get_path(store, sha256, path);
    fz_random(&random, sizeof(random));
    /* A random end: the same blob may be stored and deleted again before this file is gone. */
    snprintf(ret->name, sizeof(ret->name), "%s.%08x", sha256, random);
    snprintf(to, sizeof(to), "%s/tmp/%s", blobs->dir, ret->name);
    if (rename(path, to) == 0)
        return FZ_OK;
    if (errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    return fz_fail_errno(err, "cannot delete a blob");
}

static void
end_blob(struct blob_store *store, const struct blob_gone *gone)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/tmp/%s", blobs->dir, gone->name);
    unlink(path); /* if it cannot be, it goes with the old temporary files */
}

static void
close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

/* A file that has been there for longer than age_ms. One with a time in the future was put before
 * the clock was set back, an unknown time ago. */
static bool
is_old(int folder, const char *name, int64_t age_ms)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    int64_t put_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return fz_time_now_ms() - put_ms > age_ms;
}

static enum fz_code
open_folder(const char *path, DIR **ret, struct fz_error *err)
{
    *ret = opendir(path);
    if (*ret || errno == ENOENT)
        return FZ_OK;
    return fz_fail_errno(err, "cannot look into %s", path);
}

static enum fz_code
clear_temporary(struct blob_file *blobs, int64_t age_ms, struct fz_error *err)
{
    char path[PATH_MAX];
    FZ_CLEANUP(close_folder) DIR *folder = NULL;
    snprintf(path, sizeof(path), "%s/tmp", blobs->dir);
    enum fz_code code = open_folder(path, &folder, err);
    for (const struct dirent *e; code == FZ_OK && folder && (e = readdir(folder));)
        if (is_old(dirfd(folder), e->d_name, age_ms))
            unlinkat(dirfd(folder), e->d_name, 0);
    return code;
}

static bool
is_hex2(const char *name)
{
    return fz_text_is_hex(name, 2);
}

/* The first folder after `after` in the order of names, from the start again after the last. */
static enum fz_code
next_folder(struct blob_file *blobs, const char after[3], char ret[3], struct fz_error *err)
{
    FZ_CLEANUP(close_folder) DIR *folder = NULL;
    char first[3] = "", next[3] = "";
    enum fz_code code = open_folder(blobs->dir, &folder, err);
    for (const struct dirent *e; code == FZ_OK && folder && (e = readdir(folder));) {
        if (!is_hex2(e->d_name))
            continue;
        if (!first[0] || strcmp(e->d_name, first) < 0)
            memcpy(first, e->d_name, 3);
        if (strcmp(e->d_name, after) > 0 && (!next[0] || strcmp(e->d_name, next) < 0))
            memcpy(next, e->d_name, 3);
    }
    memcpy(ret, next[0] ? next : first, 3);
    return code;
}

static enum fz_code
list_files(const char *path, int64_t age_ms, blob_old_fn on_old, void *user, struct fz_error *err)
{
    FZ_CLEANUP(close_folder) DIR *folder = NULL;
    enum fz_code code = open_folder(path, &folder, err);
    for (const struct dirent *e; code == FZ_OK && folder && (e = readdir(folder));)
        if (fz_text_is_hex(e->d_name, FZ_SHA256_TEXT - 1) &&
            is_old(dirfd(folder), e->d_name, age_ms))
            code = on_old(user, e->d_name, err);
    return code;
}

static enum fz_code
list_old(struct blob_store *store, struct blob_place *place, int64_t age_ms, blob_old_fn on_old,
         void *user, struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char at[3], path[PATH_MAX], inner[PATH_MAX + 4];
    FZ_CLEANUP(close_folder) DIR *folder = NULL;
    enum fz_code code = clear_temporary(blobs, age_ms, err);
    place = place ? place : &blobs->scanned;
    if (code == FZ_OK)
        code = next_folder(blobs, place->folder, at, err);
    if (code != FZ_OK || !at[0])
        return code;
    memcpy(place->folder, at, sizeof(at));
    snprintf(path, sizeof(path), "%s/%s", blobs->dir, at);
    code = open_folder(path, &folder, err);
    for (const struct dirent *e; code == FZ_OK && folder && (e = readdir(folder));) {
        if (!is_hex2(e->d_name))
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        code = list_files(inner, age_ms, on_old, user, err);
    }
    return code;
}

/* ---- the table ---- */

static void
close_store(struct blob_store *store)
{
    free(store);
}

static const struct blob_ops ops = {
    .close = close_store,
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
};

enum fz_code
blob_file_open(const char *dir, struct blob_store **ret, struct fz_error *err)
{
    struct blob_file *blobs = calloc(1, sizeof(*blobs));
    if (!blobs)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    blobs->base.ops = &ops;
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
    *ret = &blobs->base;
    return FZ_OK;
}
