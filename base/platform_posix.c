/* The platform by POSIX.1-2008 alone: base/platform.h. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A multiple of any page size; macOS refuses a stack that is not. */
enum { THREAD_STACK = 8 * 1024 * 1024 };

/* Not that of base/file.h, which uses this file. */
static void
closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int
open_unnamed(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/framezero.XXXXXX", folder) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    /* At once: no name, so nothing is left if the process dies. */
    unlink(path);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        closep(&fd);
    return fd;
}

/* Not shm_open(): what it opens on macOS can be mapped, but neither written nor grown twice. */
int
fz_platform_memory_file(const char *name FZ_UNUSED)
{
    const char *folder = getenv("TMPDIR");
    int fd = folder && folder[0] == '/' ? open_unnamed(folder) : -1;
    return fd >= 0 ? fd : open_unnamed("/tmp");
}

bool
fz_platform_random(void *ret, size_t len)
{
    FZ_CLEANUP(closep) int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (size_t done = 0; done < len;) {
        ssize_t got = read(fd, (uint8_t *)ret + done, len - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

void
fz_platform_populate(void *from FZ_UNUSED, size_t len FZ_UNUSED)
{
}

int
fz_platform_fstat(int fd, struct stat *ret)
{
    return fstat(fd, ret);
}

void *
fz_platform_large(size_t bytes)
{
    return calloc(1, bytes ? bytes : 1);
}

void
fz_platform_large_drop(void *memory, size_t bytes FZ_UNUSED)
{
    free(memory);
}

const void *
fz_platform_find(const void *bytes, size_t len, const void *needle, size_t needle_len)
{
    const uint8_t *at = bytes, *wanted = needle;
    if (needle_len == 0)
        return bytes;
    while (len >= needle_len) {
        const uint8_t *hit = memchr(at, wanted[0], len - needle_len + 1);
        if (!hit)
            return NULL;
        if (memcmp(hit, wanted, needle_len) == 0)
            return hit;
        len -= (size_t)(hit + 1 - at);
        at = hit + 1;
    }
    return NULL;
}

int
fz_platform_thread(pthread_t *ret, void *(*run)(void *), void *user)
{
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    failed = pthread_attr_setstacksize(&attributes, THREAD_STACK);
    if (!failed)
        failed = pthread_create(ret, &attributes, run, user);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* /dev/fd/N is the same open file again, with the same flags. */
int
fz_platform_open_again(int fd FZ_UNUSED, int pipe_bytes FZ_UNUSED)
{
    errno = ENOTSUP;
    return -1;
}

unsigned
fz_platform_n_cores(void)
{
    /* POSIX has no name for it before 2024, but every system that this runs on has this one. */
#ifdef _SC_NPROCESSORS_ONLN
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#else
    long n = 1;
#endif
    return n < 1 ? 1 : (unsigned)n;
}

int
fz_platform_thread_beside(pthread_t *ret, void *(*run)(void *), void *user,
                          struct fz_platform_cores *ret_cores)
{
    *ret_cores = (struct fz_platform_cores){.are_split = false};
    return fz_platform_thread(ret, run, user);
}

void
fz_platform_cores_back(const struct fz_platform_cores *cores FZ_UNUSED)
{
}
