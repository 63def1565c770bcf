/*
 * Preloaded into a server, or into PostgreSQL (with_postgresql.sh): moves its clock by the seconds in
 * the file CLOCK_SHIM_FILE, an int64_t that clock.py writes. The file is there before the program
 * starts, which maps it: PostgreSQL reads its clock so often that a file opened each time took a
 * third of its processor time. Clocks that count from the boot do not change.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_s;

__attribute__((constructor)) static void
map_offset(void)
{
    const char *path = getenv("CLOCK_SHIM_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct stat info;
    /* A page without a byte of the file may not be read. */
    if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(*offset_s)) {
        void *mapped = mmap(NULL, sizeof(*offset_s), PROT_READ, MAP_SHARED, fd, 0);
        offset_s = mapped == MAP_FAILED ? NULL : mapped;
    }
    close(fd);
}

int
clock_gettime(clockid_t clock, struct timespec *ret)
{
    long code = syscall(SYS_clock_gettime, clock, ret);
    if (code == 0 && clock == CLOCK_REALTIME && offset_s)
        ret->tv_sec += (time_t)*offset_s;
    return (int)code;
}

time_t
time(time_t *ret)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

/* PostgreSQL asks this one. */
int
gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now = {0, 0};
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return code;
}
