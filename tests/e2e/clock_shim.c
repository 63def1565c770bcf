/*
 * Preloaded into a server, or into PostgreSQL (with_postgresql.sh): moves its clock by the seconds in
 * the file CLOCK_SHIM_FILE, which it reads again each time. Clocks that count from the boot do not
 * change.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long
offset_s(void)
{
    const char *path = getenv("CLOCK_SHIM_FILE");
    FILE *file = path ? fopen(path, "re") : NULL;
    long long offset = 0;
    if (file && fscanf(file, "%lld", &offset) != 1)
        offset = 0;
    if (file)
        fclose(file);
    return offset;
}

int
clock_gettime(clockid_t clock, struct timespec *ret)
{
    long code = syscall(SYS_clock_gettime, clock, ret);
    if (code == 0 && clock == CLOCK_REALTIME)
        ret->tv_sec += (time_t)offset_s();
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
