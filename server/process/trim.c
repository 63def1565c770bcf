/*
 * Busy is a process that computed for a twentieth of the time since the last look:
 *
 *     s        0     2     4     6     8     10
 *     CPU ms      0  | 900 | 850 |  10 |   8 |
 *     busy              yes   yes   no    no
 *     memory                        given back, once
 */
#include "server/process/trim.h"

#include <malloc.h>
#include <time.h>

#include "base/time.h"

/* KEPT at the end of the heap: the next requests need as much. */
enum { LOOK_EVERY_MS = 2000, BUSY_SHARE = 20, KEPT = 256 * 1024 };

/* KEPT_BUSY at the end of each arena. A larger piece than LARGE is not of an arena, and goes back at once. */
enum { KEPT_BUSY = 8 * 1024 * 1024, LARGE = 4 * 1024 * 1024 };

void
trim_keep(void)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_BUSY);
    mallopt(M_MMAP_THRESHOLD, LARGE);
}

bool
trim_is_time(struct trim *trim, int64_t now_ms, int64_t cpu_ms)
{
    int64_t took_ms = now_ms - trim->looked_ms, busy_ms = cpu_ms - trim->cpu_ms;
    if (took_ms < LOOK_EVERY_MS)
        return false;
    trim->looked_ms = now_ms;
    trim->cpu_ms = cpu_ms;
    bool is_busy = busy_ms * BUSY_SHARE > took_ms;
    bool is_time = trim->is_due && !is_busy;
    trim->is_due = is_busy;
    return is_time;
}

/* Of all threads; 0 where the clock is missing, which is never busy. */
static int64_t
process_cpu_ms(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

void
trim_tend(struct trim *trim)
{
    int64_t now_ms = fz_time_monotonic_ms();
    /* Most calls end here, before the second clock, which is a system call. */
    if (now_ms - trim->looked_ms < LOOK_EVERY_MS)
        return;
    if (trim_is_time(trim, now_ms, process_cpu_ms()))
        malloc_trim(KEPT);
}
