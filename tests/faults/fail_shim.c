/*
 * Preloaded into a server and its workers: one call of a kind fails, the Nth from when it is armed.
 *
 * The file FAIL_SHIM_FILE is a struct control that all processes map and failures.py writes. Calls are
 * counted over all of them. Writes and syncs count for regular files only, and never the log. Children
 * have an environment of their own, and so no shim.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* failures.py has the same list. */
enum kind { NONE, MEMORY, WRITE, SYNC, RENAME, OPEN, CONNECT };

struct control {
    int32_t kind, number; /* the errno to fail with */
    int64_t nth, n_calls, n_failed;
    int64_t
        every; /* not 0: each call in so many, chosen by a fixed sequence, until it is disarmed */
};

static struct control *control;

__attribute__((constructor)) static void
map_control(void)
{
    const char *path = getenv("FAIL_SHIM_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = MAP_FAILED;
    if (fd >= 0)
        at = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        control = at;
}

static int
fails(enum kind kind)
{
    if (!control || __atomic_load_n(&control->kind, __ATOMIC_ACQUIRE) != (int32_t)kind)
        return 0;
    int64_t n = __atomic_add_fetch(&control->n_calls, 1, __ATOMIC_ACQ_REL);
    int64_t every = control->every;
    uint64_t mixed = (uint64_t)n * UINT64_C(0x9e3779b97f4a7c15) >> 33;
    if (every ? mixed % (uint64_t)every != 0 : n != control->nth)
        return 0;
    __atomic_add_fetch(&control->n_failed, 1, __ATOMIC_ACQ_REL);
    errno = control->number;
    return 1;
}

static int
is_file(int fd)
{
    struct stat st;
    int before = errno;
    int is = fd > 2 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    errno = before;
    return is;
}

/* dlsym() gives an object pointer where a function's is wanted. */
#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (!next)                     \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

/* ---- memory: glibc's own names, since dlsym() allocates ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *
malloc(size_t size)
{
    return fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *memory, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_realloc(memory, size);
}

/* ---- files ---- */

ssize_t
write(int fd, const void *bytes, size_t len)
{
    NEXT(write);
    return is_file(fd) && fails(WRITE) ? -1 : next(fd, bytes, len);
}

ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    NEXT(pwrite);
    return is_file(fd) && fails(WRITE) ? -1 : next(fd, bytes, len, at);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    NEXT(pwrite64);
    return is_file(fd) && fails(WRITE) ? -1 : next(fd, bytes, len, at);
}

int
fsync(int fd)
{
    NEXT(fsync);
    return fails(SYNC) ? -1 : next(fd);
}

int
fdatasync(int fd)
{
    NEXT(fdatasync);
    return fails(SYNC) ? -1 : next(fd);
}

int
rename(const char *from, const char *to)
{
    NEXT(rename);
    return fails(RENAME) ? -1 : next(from, to);
}

int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    NEXT(linkat);
    return fails(RENAME) ? -1 : next(from_fd, from, to_fd, to, flags);
}

static mode_t
mode_of(int flags, va_list list)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

int
open(const char *path, int flags, ...)
{
    NEXT(open);
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return fails(OPEN) ? -1 : next(path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
    NEXT(open64);
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return fails(OPEN) ? -1 : next(path, flags, mode);
}

int
__open_2(const char *path, int flags)
{
    return open(path, flags);
}

int
__open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

/* ---- PostgreSQL ---- */

int
connect(int fd, const struct sockaddr *address, socklen_t len)
{
    NEXT(connect);
    return fails(CONNECT) ? -1 : next(fd, address, len);
}
