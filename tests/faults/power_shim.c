/*
 * Preloaded into a server and its workers: writes down what they do to the files of a folder, in one order.
 *
 * power.py reads the file POWER_SHIM_LOG and makes of it the folder as a power cut would leave it: what was not synced is
 * lost. A record is one write() to a file that all processes append to, so the kernel puts them into an order: a write is noted
 * after it was done, a sync before and after, an answer before it is sent. Blobs are also written by
 * children, which have no shim; so bytes of files other than the database's are noted when they are synced and when they
 * get a name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* power.py has the same list. */
enum operation {
    CREATE = 1,
    WRITE,
    TRUNCATE,
    LINK,
    RENAME,
    UNLINK,
    MKDIR,
    SYNC_BEGIN,
    SYNC_END,
    ANSWER
};

struct record {
    uint32_t operation, path_len, to_len, is_folder;
    uint64_t inode, offset, data_len, sync;
};

static const char *folder;
static size_t folder_len;
static int log_fd = -1;
static uint64_t n_syncs;

__attribute__((constructor)) static void
open_log(void)
{
    const char *path = getenv("POWER_SHIM_LOG");
    folder = getenv("POWER_SHIM_FOLDER");
    if (!path || !folder)
        return;
    folder_len = strlen(folder);
    log_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* A function's own next one, as an object of that type: dlsym() returns data. */
#define NEXT(name)                             \
    static __typeof__(&name) next;             \
    if (!next) {                               \
        void *found = dlsym(RTLD_NEXT, #name); \
        memcpy(&next, &found, sizeof(found));  \
    }

static void
note(struct record record, const char *path, const char *to, const void *data)
{
    record.path_len = path ? (uint32_t)strlen(path) : 0;
    record.to_len = to ? (uint32_t)strlen(to) : 0;
    struct iovec parts[] = {{&record, sizeof(record)},
                            {(void *)(uintptr_t)path, record.path_len},
                            {(void *)(uintptr_t)to, record.to_len},
                            {(void *)(uintptr_t)data, record.data_len}};
    size_t whole = sizeof(record) + record.path_len + record.to_len + record.data_len;
    /* A record that is cut would make all that follow unreadable. */
    if (writev(log_fd, parts, 4) != (ssize_t)whole)
        abort();
}

static int
is_ours(const char *path)
{
    return log_fd >= 0 && path && strncmp(path, folder, folder_len) == 0 &&
           !(strlen(path) > 4 && strcmp(path + strlen(path) - 4, "-shm") == 0);
}

/* Where a descriptor leads to: its path, and what is known of the file. False: not into the folder. */
static int
look(int fd, char path[PATH_MAX], struct stat *st)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    int saved = errno;
    ssize_t n = log_fd >= 0 ? readlink(name, path, PATH_MAX - 1) : -1;
    if (n >= 0)
        path[n] = '\0';
    int ours = n >= 0 && is_ours(path) && fstat(fd, st) == 0;
    errno = saved;
    return ours;
}

/* SQLite's files are noted write by write. Others are written once, also by children. */
static int
is_database(const char *path)
{
    return strstr(path + folder_len, ".db") != NULL;
}

static void
note_content(int fd, const char *path, const struct stat *st)
{
    char *bytes = malloc((size_t)st->st_size + 1);
    ssize_t n = bytes ? pread(fd, bytes, (size_t)st->st_size, 0) : -1;
    if (n < 0)
        abort();
    struct record record = {.operation = WRITE, .inode = st->st_ino, .data_len = (uint64_t)n};
    note(record, path, NULL, bytes);
    free(bytes);
}

/* ---- files ---- */

static void
after_open(int fd, int flags)
{
    char path[PATH_MAX];
    struct stat st;
    int creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    if (fd < 0 || !creates || !look(fd, path, &st) || !S_ISREG(st.st_mode) || st.st_size != 0)
        return;
    struct record record = {.operation = CREATE, .inode = st.st_ino};
    note(record, st.st_nlink ? path : "", NULL, NULL);
}

int
open64(const char *path, int flags, ...)
{
    NEXT(open64)
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    int fd = next(path, flags, mode);
    after_open(fd, flags);
    return fd;
}

int
open(const char *path, int flags, ...)
{
    NEXT(open)
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    int fd = next(path, flags, mode);
    after_open(fd, flags);
    return fd;
}

static void
after_write(int fd, const void *bytes, ssize_t n, off_t at)
{
    char path[PATH_MAX];
    struct stat st;
    if (n <= 0 || !look(fd, path, &st) || !is_database(path))
        return;
    struct record record = {
        .operation = WRITE, .inode = st.st_ino, .offset = (uint64_t)at, .data_len = (uint64_t)n};
    note(record, path, NULL, bytes);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    NEXT(pwrite64)
    ssize_t done = next(fd, bytes, n, at);
    after_write(fd, bytes, done, at);
    return done;
}

ssize_t
pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    NEXT(pwrite)
    ssize_t done = next(fd, bytes, n, at);
    after_write(fd, bytes, done, at);
    return done;
}

static void
after_truncate(int fd, int code, off_t len)
{
    char path[PATH_MAX];
    struct stat st;
    if (code != 0 || !look(fd, path, &st))
        return;
    struct record record = {.operation = TRUNCATE, .inode = st.st_ino, .offset = (uint64_t)len};
    note(record, path, NULL, NULL);
}

int
ftruncate64(int fd, off64_t len)
{
    NEXT(ftruncate64)
    int code = next(fd, len);
    after_truncate(fd, code, len);
    return code;
}

int
ftruncate(int fd, off_t len)
{
    NEXT(ftruncate)
    int code = next(fd, len);
    after_truncate(fd, code, len);
    return code;
}

/* ---- syncs ---- */

static struct record
begin_sync(int fd)
{
    char path[PATH_MAX];
    struct stat st;
    struct record record = {.operation = 0};
    if (!look(fd, path, &st))
        return record;
    if (S_ISREG(st.st_mode) && !is_database(path))
        note_content(fd, path, &st);
    record = (struct record){.operation = SYNC_BEGIN,
                             .inode = st.st_ino,
                             .is_folder = S_ISDIR(st.st_mode) != 0,
                             .sync = (uint64_t)getpid() << 32 |
                                     __atomic_add_fetch(&n_syncs, 1, __ATOMIC_RELAXED)};
    note(record, path, NULL, NULL);
    return record;
}

static void
end_sync(struct record record, int code)
{
    if (record.operation == 0 || code != 0)
        return;
    record.operation = SYNC_END;
    note(record, NULL, NULL, NULL);
}

int
fsync(int fd)
{
    NEXT(fsync)
    struct record record = begin_sync(fd);
    int code = next(fd);
    end_sync(record, code);
    return code;
}

int
fdatasync(int fd)
{
    NEXT(fdatasync)
    struct record record = begin_sync(fd);
    int code = next(fd);
    end_sync(record, code);
    return code;
}

/* ---- names ---- */

int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    NEXT(linkat)
    char path[PATH_MAX];
    struct stat st;
    int fd = -1;
    int ours = sscanf(from, "/proc/self/fd/%d", &fd) == 1 && is_ours(to) && look(fd, path, &st);
    if (ours)
        note_content(fd, path, &st);
    int code = next(from_fd, from, to_fd, to, flags);
    struct record record = {.operation = LINK, .inode = ours ? st.st_ino : 0};
    if (code == 0 && ours)
        note(record, to, NULL, NULL);
    return code;
}

int
rename(const char *from, const char *to)
{
    NEXT(rename)
    int code = next(from, to);
    struct record record = {.operation = RENAME};
    if (code == 0 && is_ours(to))
        note(record, from, to, NULL);
    return code;
}

int
unlink(const char *path)
{
    NEXT(unlink)
    int code = next(path);
    struct record record = {.operation = UNLINK};
    if (code == 0 && is_ours(path))
        note(record, path, NULL, NULL);
    return code;
}

int
mkdir(const char *path, mode_t mode)
{
    NEXT(mkdir)
    int code = next(path, mode);
    struct record record = {.operation = MKDIR};
    if (code == 0 && is_ours(path))
        note(record, path, NULL, NULL);
    return code;
}

/* ---- answers ---- */

static void
before_answer(const struct iovec *parts, size_t n)
{
    static const char success[] = "HTTP/1.1 20";
    char text[4096];
    size_t len = 0;
    if (log_fd < 0 || n == 0 || parts[0].iov_len < sizeof(success) - 1 ||
        memcmp(parts[0].iov_base, success, sizeof(success) - 1) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t more = parts[i].iov_len < sizeof(text) - len ? parts[i].iov_len : sizeof(text) - len;
        memcpy(text + len, parts[i].iov_base, more);
        len += more;
    }
    struct record record = {.operation = ANSWER, .data_len = len};
    note(record, NULL, NULL, text);
}

ssize_t
send(int fd, const void *bytes, size_t n, int flags)
{
    NEXT(send)
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    before_answer(&part, 1);
    return next(fd, bytes, n, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg)
    before_answer(message->msg_iov, message->msg_iovlen);
    return next(fd, message, flags);
}
