#include "storage/blob/blob_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/list.h"
#include "base/text.h"
#include "storage/blob/blob_io.h"

/* Copies that one look at the folder takes note of: with more, it deletes of these only. */
enum { COPIES_MAX = 1000 * 1000 };

struct blob_cache {
    char dir[BLOB_IO_DIR];
    uint64_t max_bytes;
    pthread_mutex_t lock;
    bool has_looked;
    uint64_t added; /* since the last look */
};

static void
get_path(const struct blob_cache *cache, const char *sha256, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s/%.2s/%.64s", cache->dir, sha256, sha256);
}

/* ---- what is there ---- */

struct copy {
    char sha256[FZ_SHA256_TEXT];
    int64_t used_ms;
    uint64_t bytes;
};

struct copies {
    struct copy *list;
    size_t n, room;
    uint64_t bytes;
};

static int
by_use(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    return (x->used_ms > y->used_ms) - (x->used_ms < y->used_ms);
}

static void
add_copy(struct copies *all, int folder, const char *name)
{
    struct stat st;
    if (!fz_text_is_hex(name, FZ_SHA256_TEXT - 1) || all->n >= COPIES_MAX ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return;
    struct copy *list = fz_list_grow(NULL, all->list, &all->room, all->n + 1, sizeof(all->list[0]));
    if (!list) /* what is not noted is not deleted this time */
        return;
    all->list = list;
    struct copy *copy = &list[all->n++];
    memcpy(copy->sha256, name, sizeof(copy->sha256));
    copy->used_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    /* Blocks: what a file takes of the disk. */
    copy->bytes = (uint64_t)st.st_blocks * 512;
    all->bytes += copy->bytes;
}

static void
look(const struct blob_cache *cache, struct copies *ret)
{
    for (unsigned i = 0; i < 256; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%02x", cache->dir, i);
        DIR *folder = opendir(path);
        if (!folder)
            continue;
        for (const struct dirent *e; (e = readdir(folder));)
            add_copy(ret, dirfd(folder), e->d_name);
        closedir(folder);
    }
}

/* An eighth more than is needed, so that the next look is not due at once. */
static void
trim(struct blob_cache *cache)
{
    struct copies all = {.list = NULL};
    char path[PATH_MAX];
    look(cache, &all);
    if (all.bytes > cache->max_bytes && all.n > 1)
        qsort(all.list, all.n, sizeof(all.list[0]), by_use);
    uint64_t goal =
        all.bytes > cache->max_bytes ? cache->max_bytes - cache->max_bytes / 8 : cache->max_bytes;
    for (size_t i = 0; i < all.n && all.bytes > goal; i++) {
        get_path(cache, all.list[i].sha256, path);
        unlink(path); /* another process may have done it */
        all.bytes -= all.list[i].bytes;
    }
    free(all.list);
}

/* ---- the interface ---- */

enum fz_code
blob_cache_open(const char *dir, uint64_t max_bytes, struct blob_cache **ret, struct fz_error *err)
{
    enum { AGE_MS = 24 * 3600 * 1000 };
    char temp[PATH_MAX];
    struct blob_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&cache->lock, NULL);
    cache->max_bytes = max_bytes;
    int len = snprintf(cache->dir, sizeof(cache->dir), "%s", dir);
    snprintf(temp, sizeof(temp), "%s/tmp", cache->dir);
    enum fz_code code = len < 0 || (size_t)len >= sizeof(cache->dir)
                            ? fz_fail(err, FZ_E_LIMIT, "the path of the blob cache is too long")
                            : fz_file_make_dirs(temp, err);
    /* What a process that was killed left there. */
    if (code == FZ_OK)
        code = blob_io_clear(cache->dir, AGE_MS, err);
    if (code != FZ_OK) {
        blob_cache_close(cache);
        return code;
    }
    *ret = cache;
    return FZ_OK;
}

void
blob_cache_close(struct blob_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

const char *
blob_cache_dir(const struct blob_cache *cache)
{
    return cache->dir;
}

bool
blob_cache_get(struct blob_cache *cache, const char *sha256, int *ret_fd)
{
    char path[PATH_MAX], found[FZ_SHA256_TEXT];
    uint64_t size;
    FZ_CLEANUP(fz_closep) int fd = -1;
    get_path(cache, sha256, path);
    if (cache->max_bytes == 0 || blob_io_open(path, &fd, NULL) != FZ_OK)
        return false;
    if (blob_io_hash(fd, found, &size, NULL) != FZ_OK || strcmp(found, sha256) != 0) {
        unlink(path);
        return false;
    }
    fz_ignore(futimens(fd, NULL)); /* when it was used; otherwise it is deleted earlier */
    *ret_fd = fd;
    fd = -1;
    return true;
}

void
blob_cache_add(struct blob_cache *cache, const char *sha256, int fd, uint64_t size)
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (size > cache->max_bytes / 2)
        return;
    snprintf(folder, sizeof(folder), "%s/%.2s", cache->dir, sha256);
    get_path(cache, sha256, path);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return;
    if (!blob_io_link(fd, path) && blob_io_copy(cache->dir, fd, path, false, NULL) != FZ_OK)
        return;
    pthread_mutex_lock(&cache->lock);
    cache->added += size;
    bool is_due = !cache->has_looked || cache->added > cache->max_bytes / 16;
    if (is_due) {
        cache->has_looked = true;
        cache->added = 0;
        trim(cache);
    }
    pthread_mutex_unlock(&cache->lock);
}

void
blob_cache_drop(struct blob_cache *cache, const char *sha256)
{
    char path[PATH_MAX];
    get_path(cache, sha256, path);
    unlink(path);
}
