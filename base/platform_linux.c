/* The platform as Linux has it: base/platform.h. */
#define _GNU_SOURCE /* memfd_create, memmem, syscall, MADV_POPULATE_WRITE, sched_getaffinity */
#include "base/platform.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POPULATE_MIN = 256 * 1024 };

int
fz_platform_memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

bool
fz_platform_random(void *ret, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t got = getrandom((uint8_t *)ret + done, len - done, 0);
        /* Before the pool is filled at boot a signal may end the wait. */
        if (got < 0 && errno != EINTR)
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

int
fz_platform_fstat(int fd, struct stat *ret)
{
#if defined(__LP64__) && defined(SYS_fstat)
    /* Both have one layout there. The memory sanitizer knows of fstat() that it writes to *ret, of syscall() nothing; no
     * build with a sanitizer has a filter. */
    if (!FZ_IS_WATCHED)
        return (int)syscall(SYS_fstat, fd, ret);
#endif
    return fstat(fd, ret);
}

/* Half the price of a fault for each page. */
void
fz_platform_populate(void *from, size_t len)
{
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(uintptr_t)from & (page - 1);
    if (len >= POPULATE_MIN)
        fz_ignore(
            madvise((uint8_t *)from + skip, (len - skip) & ~(page - 1), MADV_POPULATE_WRITE) != 0);
#else
    fz_ignore(from == NULL || len < POPULATE_MIN);
#endif
}

/* Whole large pages, since the system uses one only where all of it is mapped. */
static size_t
whole(size_t bytes)
{
    return (bytes + FZ_PLATFORM_LARGE - 1) / FZ_PLATFORM_LARGE * FZ_PLATFORM_LARGE;
}

void *
fz_platform_large(size_t bytes)
{
    size_t size = whole(bytes ? bytes : 1);
    if (size < bytes || size > SIZE_MAX - FZ_PLATFORM_LARGE)
        return NULL;
    char *from = mmap(NULL, size + FZ_PLATFORM_LARGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED)
        return NULL;
    size_t before = (size_t)(-(uintptr_t)from % FZ_PLATFORM_LARGE);
    if (before)
        munmap(from, before);
    munmap(from + before + size, FZ_PLATFORM_LARGE - before);
    /* Without them it is slower. */
    (void)madvise(from + before, size, MADV_HUGEPAGE);
    return from + before;
}

void
fz_platform_large_drop(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, whole(bytes ? bytes : 1));
}

const void *
fz_platform_find(const void *bytes, size_t len, const void *needle, size_t needle_len)
{
    if (needle_len == 0 || len < needle_len) /* memmem() does not take the NULL of an empty span */
        return needle_len == 0 ? bytes : NULL;
    return memmem(bytes, len, needle, needle_len);
}

int
fz_platform_thread(pthread_t *ret, void *(*run)(void *), void *user)
{
    return pthread_create(ret, NULL, run, user); /* glibc: RLIMIT_STACK, as the main thread's */
}

int
fz_platform_open_again(int fd, int pipe_bytes)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    /* Through /proc it is a new open file with flags of its own; dup() would share them. */
    int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0)
        return -1;
    int size = fcntl(again, F_GETPIPE_SZ); /* -1: not a pipe */
    if (size >= 0 && size < pipe_bytes)
        fz_ignore(fcntl(again, F_SETPIPE_SZ, pipe_bytes) < 0); /* over the user's limit: as it is */
    return again;
}

unsigned
fz_platform_n_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

/* The processors of this thread, beginning with the one that it is on, in turns to one half and the other. False: there is only one. */
static bool
halve_cores(cpu_set_t *ret_all, cpu_set_t ret_halves[2])
{
    int core = sched_getcpu(), n = 0;
    /* On a machine with more than CPU_SETSIZE processors this fails. */
    if (core < 0 || sched_getaffinity(0, sizeof(*ret_all), ret_all) != 0 || CPU_COUNT(ret_all) < 2)
        return false;
    CPU_ZERO(&ret_halves[0]);
    CPU_ZERO(&ret_halves[1]);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        size_t at = (size_t)(core + i) % CPU_SETSIZE;
        if (CPU_ISSET(at, ret_all))
            CPU_SET(at, &ret_halves[n++ % 2]);
    }
    return true;
}

int
fz_platform_thread_beside(pthread_t *ret, void *(*run)(void *), void *user,
                          struct fz_platform_cores *ret_cores)
{
    cpu_set_t all, halves[2];
    pthread_attr_t attr;
    *ret_cores = (struct fz_platform_cores){.are_split = false};
    if (!halve_cores(&all, halves) || pthread_attr_init(&attr) != 0)
        return fz_platform_thread(ret, run, user);
    int code = pthread_attr_setaffinity_np(&attr, sizeof(halves[1]), &halves[1]);
    if (code == 0)
        code = pthread_create(ret, &attr, run, user);
    pthread_attr_destroy(&attr);
    if (code != 0) /* a filter of system calls may forbid it */
        return fz_platform_thread(ret, run, user);
    static_assert(sizeof(ret_cores->all) == sizeof(all), "as many bits");
    memcpy(ret_cores->all, &all, sizeof(all));
    ret_cores->are_split = sched_setaffinity(0, sizeof(halves[0]), &halves[0]) == 0;
    return 0;
}

void
fz_platform_cores_back(const struct fz_platform_cores *cores)
{
    cpu_set_t all;
    memcpy(&all, cores->all, sizeof(all));
    if (cores->are_split)
        fz_ignore(sched_setaffinity(0, sizeof(all), &all) != 0);
}
