/*
 * Blobs in a folder: DIR/ab/cd/<sha256>, written under DIR/tmp first.
 *
 * A new blob is an unnamed file (O_TMPFILE) that gets its name by linkat() once its bytes are on
 * disk; where the file system or a missing /proc does not allow that, a named temporary file is
 * renamed. Either way the name appears only for a whole blob, and the folder is synced before the
 * caller gets its hash.
 */
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
#include "storage/blob/blob_io.h"

struct blob_file {
    struct blob_store base;
    char dir[BLOB_IO_DIR];
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

static enum fz_code
make_temp(struct blob_store *store, int *ret_fd, struct fz_error *err)
{
    return blob_io_temp(((struct blob_file *)store)->dir, ret_fd, err);
}

/* ---- put ---- */

static enum fz_code
put_fd(struct blob_store *store, int fd, char ret_sha256[FZ_SHA256_TEXT], uint64_t *ret_size,
       struct fz_error *err)
{
    struct blob_file *blobs = (struct blob_file *)store;
    char sha256[FZ_SHA256_TEXT], path[PATH_MAX];
    uint64_t size = 0;
    enum fz_code code = blob_io_hash(fd, sha256, &size, err);
    if (code != FZ_OK)
        return code;
    get_path(store, sha256, path);
    code = make_folders(path, err);
    if (code != FZ_OK)
        return code;
    /* Read in full: a damaged blob has its size, and to send it again is how it is repaired. */
    enum fz_code found = blob_io_check(path, sha256, NULL, err);
    bool there = found != FZ_E_NOT_FOUND;
    if (found == FZ_E_NO_MEMORY)
        return found;
    if (there && found != FZ_OK)
        code = blob_io_copy(blobs->dir, fd, path, true, err); /* the rename puts it right */
    else if (!there)
        code = blob_io_sync(fd, err);
    if (code == FZ_OK && !there && !blob_io_link(fd, path))
        code = blob_io_copy(blobs->dir, fd, path, true, err);
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
    return blob_io_open(path, ret_fd, err);
}

static enum fz_code
check_blob(struct blob_store *store, const char *sha256, uint64_t *ret_size, struct fz_error *err)
{
    char path[PATH_MAX];
    get_path(store, sha256, path);
    return blob_io_check(path, sha256, ret_size, err);
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
        return blob_io_fail(err, "cannot ask for the free space of", blobs->dir);
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    return FZ_OK;
}

/* ---- blobs that go ---- */

static enum fz_code
is_there(struct blob_store *store, const char *sha256, bool *ret, struct fz_error *err FZ_UNUSED)
{
    char path[PATH_MAX];
    struct stat st;
    get_path(store, sha256, path);
    *ret = stat(path, &st) == 0;
    return FZ_OK;
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

static enum fz_code
open_folder(const char *path, DIR **ret, struct fz_error *err)
{
    *ret = opendir(path);
    if (*ret || errno == ENOENT)
        return FZ_OK;
    return fz_fail_errno(err, "cannot look into %s", path);
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
            blob_io_is_old(dirfd(folder), e->d_name, age_ms))
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
    enum fz_code code = blob_io_clear(blobs->dir, age_ms, err);
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

/* blob_file_open() has made the folder. */
static enum fz_code
is_ready(struct blob_store *store FZ_UNUSED, bool *ret_wait FZ_UNUSED,
         struct fz_error *err FZ_UNUSED)
{
    return FZ_OK;
}

static void
close_store(struct blob_store *store)
{
    free(store);
}

static const struct blob_ops ops = {
    .close = close_store,
    .ready = is_ready,
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
