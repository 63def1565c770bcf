/*
 * The few calls that differ from one system to the next.
 *
 * base/platform_linux.c answers with Linux's own calls, base/platform_posix.c with POSIX.1-2008
 * alone (macOS, BSD, or any system with -DFZ_PORTABLE=ON). CMake compiles one of them, and one unit
 * test is run on both. Only the rooms that tests/lint/rules.py lists may make a call that Linux
 * alone has.
 */
#ifndef FZ_PLATFORM_H
#define FZ_PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/attr.h"

/* An empty file without a path, read-write and closed on exec; `name` is only a label. It can be
 * written, sought and mapped, and is gone when its last descriptor and map are. -1 and errno if
 * there can be none. */
FZ_MUST_CHECK int fz_platform_memory_file(const char *name);

/* Cryptographically strong bytes; false if the system has none to give. */
FZ_MUST_CHECK bool fz_platform_random(void *ret, size_t len);

/* As fstat(), by the system call of that name: to a filter of system calls glibc's looks like stat(). */
FZ_MUST_CHECK int fz_platform_fstat(int fd, struct stat *ret);

/* Have the pages of [from, from + len) made now, for one who will write to all of them. A hint: the
 * bytes do not change, and a system that cannot do it does nothing. */
void fz_platform_populate(void *from, size_t len);

/*
 * Zeros, for megabytes that are used for a short time: in pages of FZ_PLATFORM_LARGE bytes where the system has them, so that fresh
 * memory does not cost a fault for each 4 KB. What is not written to is not taken. NULL: out of memory. It ends with
 * fz_platform_large_drop(), which gets the same size; NULL is nothing.
 */
enum { FZ_PLATFORM_LARGE = 2 << 20 };
FZ_MUST_CHECK void *fz_platform_large(size_t bytes);
void fz_platform_large_drop(void *memory, size_t bytes);

/* As strstr() for bytes: where `needle` first is in `bytes`, NULL if it is not. An empty needle is
 * at the start. */
const void *fz_platform_find(const void *bytes, size_t len, const void *needle, size_t needle_len);

/* pthread_create() with a stack of the size that the main thread has: systems other than glibc's
 * give a thread as little as 128 KiB. 0 or an error number. */
FZ_MUST_CHECK int fz_platform_thread(pthread_t *ret, void *(*run)(void *), void *user);

/* What `fd` writes to (a pipe or a terminal), opened a second time so that a write never waits,
 * which O_NONBLOCK on `fd` itself would also do to all others who share it. A pipe is made to
 * hold up to `pipe_bytes`. -1 if it cannot be opened again. */
FZ_MUST_CHECK int fz_platform_open_again(int fd, int pipe_bytes);

/* How many processors can run threads now, at least 1. */
unsigned fz_platform_n_cores(void);
/*
 * As fz_platform_thread(), for a thread that is busy for some milliseconds while its caller is: a system may well have both take turns
 * on one processor for so long. Each gets half of the caller's processors, until the caller calls fz_platform_cores_back() after the
 * other one has ended. Where there are not two, or the system cannot do it, it is fz_platform_thread().
 */
struct fz_platform_cores {
    bool are_split;
    unsigned long all[16]; /* the caller's: a bit for each processor */
};
FZ_MUST_CHECK int fz_platform_thread_beside(pthread_t *ret, void *(*run)(void *), void *user,
                                            struct fz_platform_cores *ret_cores);
void fz_platform_cores_back(const struct fz_platform_cores *cores);

#endif
