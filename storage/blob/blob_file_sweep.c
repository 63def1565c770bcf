/*
 * Blobs that go: taken away in two steps, and found by looking through the folders.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "base/time.h"
#include "storage/blob/blob_file.h"

bool
blob_is_there(struct blob_store *blobs, const char *sha256)
{
    char path[PATH_MAX];
    struct stat st;
    return blob_path(blobs, sha256, path, NULL) == FZ_OK && stat(path, &st) == 0;
}

enum fz_code
blob_take_away(struct blob_store *blobs, const char *sha256, struct blob_gone *ret,
               struct fz_error *err)
{
    char path[PATH_MAX], to[PATH_MAX];
    uint32_t random;
    enum fz_code code = blob_path(blobs, sha256, path, err);
    if (code != FZ_OK)
        return code;
    fz_random(&random, sizeof(random));
    snprintf(ret->name, sizeof(ret->name), "%s.%08x", sha256, random);
    snprintf(to, sizeof(to), "%s/tmp/%s", blobs->dir, ret->name);
    if (rename(path, to) == 0)
        return FZ_OK;
    if (errno == ENOENT)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    return fz_fail_errno(err, "cannot delete a blob");
}

void
blob_end(struct blob_store *blobs, const struct blob_gone *gone)
{
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

/* A file that has been there for longer than age_ms. One whose time lies ahead was put before the
 * clock was set back: nobody knows how long ago. */
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
clear_temporary(struct blob_store *blobs, int64_t age_ms, struct fz_error *err)
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
    return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

/* The first folder after `after` in the order of names, from the start again after the last. */
static enum fz_code
next_folder(struct blob_store *blobs, const char after[3], char ret[3], struct fz_error *err)
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
        if (blob_is_name(e->d_name) && is_old(dirfd(folder), e->d_name, age_ms))
            code = on_old(user, e->d_name, err);
    return code;
}

enum fz_code
blob_list_old(struct blob_store *blobs, int64_t age_ms, blob_old_fn on_old, void *user,
              struct fz_error *err)
{
    char at[3], path[PATH_MAX], inner[PATH_MAX + 4];
    FZ_CLEANUP(close_folder) DIR *folder = NULL;
    enum fz_code code = clear_temporary(blobs, age_ms, err);
    if (code == FZ_OK)
        code = next_folder(blobs, blobs->scanned, at, err);
    if (code != FZ_OK || !at[0])
        return code;
    memcpy(blobs->scanned, at, sizeof(at));
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
