/*
 * Free memory goes back to the system when a process has become idle.
 *
 * The C library keeps some of what was freed, in each of its arenas, so a process that once had much to do would keep its peak.
 * Giving it back costs page faults later, so it is done only after the work, once.
 */
#ifndef PROCESS_TRIM_H
#define PROCESS_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros at first. Of one process; its calls come from one thread. */
struct trim {
    int64_t looked_ms,
        cpu_ms;  /* when trim_tend() looked last, and what the process had computed for by then */
    bool is_due; /* it has been busy since memory was given back last */
};

/*
 * Until then, keep what is freed: the C library would give back all but 128 KB at the end of an arena at once, and a list of 18 MB of
 * a database's rows took 5,000 faults each time. A few MB stay. For the whole process.
 */
void trim_keep(void);

/* Look whether it is time, and do it; to be called a few times a second or less often. Mostly a look at the clock. */
void trim_tend(struct trim *trim);

/* The decision, at `now_ms` of the monotonic clock and after `cpu_ms` of CPU time. */
bool trim_is_time(struct trim *trim, int64_t now_ms, int64_t cpu_ms);

#endif
