#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/platform.h"
#include "base/text.h"

enum { READ_STEP = 64 * 1024 };

void
fz_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

enum fz_code
fz_map_open_fd(int fd, struct fz_map *ret, struct fz_error *err)
{
    struct stat st;
    if (fz_platform_fstat(fd, &st) != 0)
        return fz_fail_errno(err, "cannot look at the file");
    if (!S_ISREG(st.st_mode))
        return fz_fail(err, FZ_E_UNSUPPORTED, "not a regular file");
    /* mmap() refuses a length of 0. */
    if (st.st_size == 0) {
        *ret = (struct fz_map){{NULL, 0}};
        return FZ_OK;
    }
    if ((uint64_t)st.st_size > SIZE_MAX)
        return fz_fail(err, FZ_E_LIMIT, "the file is too large for this machine");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return fz_fail_errno(err, "cannot map the file");
    *ret = (struct fz_map){fz_span_make(at, (size_t)st.st_size)};
    return FZ_OK;
}

enum fz_code
fz_map_open(const char *path, struct fz_map *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    enum fz_code code = fz_map_open_fd(fd, ret, err);
    if (code != FZ_OK)
        fz_wrap(err, "%s", path);
    return code;
}

void
fz_map_close(struct fz_map *map)
{
    if (!map || !map->bytes.data)
        return;
    /* munmap takes a non-const pointer; nothing else uses these pages. */
    munmap((void *)(uintptr_t)map->bytes.data, map->bytes.len);
    map->bytes = (struct fz_span){NULL, 0};
}

enum fz_code
fz_file_read(const char *path, size_t max, struct fz_buffer *out, struct fz_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    FZ_CLEANUP(fz_closep) int fd = is_stdin ? dup(STDIN_FILENO) : opened;
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    size_t total = 0;
    char step[READ_STEP];
    for (;;) {
        ssize_t got = read(fd, step, sizeof(step));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fz_fail_errno(err, "%s", path);
        if (got == 0)
            break;
        /* Counted here and not with fstat(): pipes have no size, and files may grow. */
        total += (size_t)got;
        if (total > max)
            return fz_fail(err, FZ_E_LIMIT, "%s: larger than the limit of %zu bytes", path, max);
        fz_buffer_append(out, step, (size_t)got);
    }
    return fz_buffer_done(out, err);
}

/* At `offset`, or at the descriptor's own position if that is -1. */
static enum fz_code
write_all(int fd, int64_t offset, struct fz_span bytes, struct fz_error *err)
{
    size_t done = 0;
    while (done < bytes.len) {
        const uint8_t *from = bytes.data + done;
        size_t left = bytes.len - done;
        /* pwrite() cannot serve both: pipes and terminals have no position. */
        ssize_t n = offset < 0 ? write(fd, from, left)
                               : pwrite(fd, from, left, (off_t)offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fz_fail_errno(err, "cannot write");
        done += (size_t)n;
    }
    return FZ_OK;
}

enum fz_code
fz_file_write_fd(int fd, struct fz_span bytes, struct fz_error *err)
{
    return write_all(fd, -1, bytes, err);
}

enum fz_code
fz_file_write_at(int fd, uint64_t offset, struct fz_span bytes, struct fz_error *err)
{
    return write_all(fd, (int64_t)offset, bytes, err);
}

enum fz_code
fz_file_sync_parent(const char *path, struct fz_error *err)
{
    char dir[PATH_MAX];
    if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
        return fz_fail(err, FZ_E_LIMIT, "the path is too long");
    char *slash = strrchr(dir, '/');
    if (!slash)
        snprintf(dir, sizeof(dir), ".");
    else if (slash == dir)
        slash[1] = '\0';
    else
        *slash = '\0';
    FZ_CLEANUP(fz_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        return fz_fail_errno(err, "cannot make %s durable", dir);
    return FZ_OK;
}

enum fz_code
fz_file_write_atomic(const char *path, struct fz_span bytes, unsigned mode, struct fz_error *err)
{
    char temp[PATH_MAX];
    /* In the same folder: rename() does not work across file systems. */
    if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
        return fz_fail(err, FZ_E_LIMIT, "the path is too long");
    FZ_CLEANUP(fz_closep) int fd = mkstemp(temp);
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    enum fz_code code = fz_file_write_fd(fd, bytes, err);
    /* fsync before rename: the name must not survive a power cut that the bytes do not. */
    if (code == FZ_OK && (fchmod(fd, mode) != 0 || fsync(fd) != 0 || rename(temp, path) != 0))
        code = fz_fail_errno(err, "%s", path);
    if (code != FZ_OK) {
        unlink(temp);
        return code;
    }
    return fz_file_sync_parent(path, err);
}

enum fz_code
fz_file_list(const char *folder, fz_file_fn fn, void *user, struct fz_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0)
        return fz_fail_errno(err, "%.150s", folder);
    const char *slash = fz_text_has_suffix(folder, "/") ? "" : "/";
    enum fz_code code = FZ_OK;
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char path[PATH_MAX];
        struct stat st;
        /* lstat(): links are not followed, since they may lead in circles. */
        bool is_there =
            strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            snprintf(path, sizeof(path), "%s%s%s", folder, slash, name) < (int)sizeof(path) &&
            lstat(path, &st) == 0;
        if (is_there && code == FZ_OK)
            code = fn(user, path, &st, err);
        free(names[i]);
    }
    free(names);
    return code;
}

static enum fz_code
make_dir(const char *path, struct fz_error *err)
{
    struct stat st;
    if (mkdir(path, 0700) == 0)
        return FZ_OK;
    /* Another process may have made it meanwhile, which is as good. */
    if (errno == EEXIST && stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return FZ_OK;
        errno = ENOTDIR;
    }
    return fz_fail_errno(err, "cannot make the folder %s", path);
}

enum fz_code
fz_file_make_dirs(const char *path, struct fz_error *err)
{
    char at[PATH_MAX];
    if (!*path)
        return fz_fail(err, FZ_E_NOT_FOUND, "cannot make a folder without a name");
    if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
        return fz_fail(err, FZ_E_LIMIT, "the path is too long");
    /* From the second character on: the root of an absolute path is there. */
    for (char *p = at + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        enum fz_code code = make_dir(at, err);
        if (code != FZ_OK)
            return code;
        *p = '/';
    }
    return make_dir(at, err);
}
