/* What the kernel counts: memory, CPU time, output, descriptors, processes. */
#define _GNU_SOURCE /* RLIMIT_*, __rlimit_resource_t */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/sandbox/locks.h"

enum { FILES_MAX = 64, STACK_BYTES = 8 * 1024 * 1024 };

static bool
set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit now;
#ifdef FZ_VALGRIND
    if (resource ==
        RLIMIT_NOFILE) /* valgrind needs some of its own and forbids to lower this limit */
        return true;
#endif
    if (getrlimit(resource, &now) != 0)
        return false;
    /* A hard limit can only be lowered; a container may have set one below ours. */
    rlim_t want = value > (uint64_t)now.rlim_max ? now.rlim_max : (rlim_t)value;
    struct rlimit limit = {.rlim_cur = want, .rlim_max = want};
    return setrlimit(resource, &limit) == 0;
}

static uint64_t
add_saturating(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* The CPU seconds of one job. */
static uint64_t
job_seconds(enum proto_role role, const struct limits *limits)
{
    return (uint64_t)limits->child_cpu_s *
           (role == PROTO_ROLE_SYMBOLS ? PROTO_SYMBOLS_CPU_FACTOR : 1);
}

/* The hard limit, which nothing raises again: those of its life. The soft one is that of a job. */
static bool
set_cpu_limit(enum proto_role role, const struct limits *limits)
{
    uint64_t jobs = role == PROTO_ROLE_SYMBOLS ? 1 : PROTO_LIFE_CPU_JOBS;
    /* Two more, so that the soft one, with its signal that says why, comes first. */
    return set_limit(RLIMIT_CPU, job_seconds(role, limits) * jobs + 2);
}

bool
sandbox_limits(enum proto_role role, const struct limits *limits, bool processes)
{
    /* Files that are mapped (uploads, indexes) count as address space but cost no memory; what the
     * child allocates itself is what RLIMIT_DATA counts. */
    uint64_t mapped = add_saturating(limits->symbol_bytes, limits->symbol_bytes);
    /* Of one file: a slice or an index of an upload, or the result of a report. */
    uint64_t output =
        role == PROTO_ROLE_SYMBOLS ? limits->symbol_bytes : (uint64_t)limits->report_memory;
    bool ok = set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, FILES_MAX) &&
              set_limit(RLIMIT_FSIZE, output) && set_cpu_limit(role, limits);
    /* Memory that is not the process's own, and a priority above that of others. */
    ok = ok && set_limit(RLIMIT_MEMLOCK, 0) && set_limit(RLIMIT_MSGQUEUE, 0) &&
         set_limit(RLIMIT_RTPRIO, 0) && set_limit(RLIMIT_NICE, 0);
    /* Sanitizers reserve terabytes of address space for their shadow memory. */
    if (ok && !FZ_IS_WATCHED)
        ok = set_limit(RLIMIT_DATA, limits->child_memory) &&
             set_limit(RLIMIT_AS, add_saturating(limits->child_memory, mapped)) &&
             set_limit(RLIMIT_STACK, STACK_BYTES);
    return ok && (!processes || set_limit(RLIMIT_NPROC, 0));
}

bool
sandbox_oom_first(void)
{
    static const char most[] = "1000";
    FZ_CLEANUP(fz_closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, most, sizeof(most) - 1) == (ssize_t)sizeof(most) - 1;
}

void
sandbox_begin_job(enum proto_role role, const struct limits *limits)
{
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return; /* the parent's wall clock limit remains */
    uint64_t seconds = job_seconds(role, limits);
    /* RLIMIT_CPU counts the whole life of the process, in full seconds. */
    seconds += (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec + 1;
    if (seconds < (uint64_t)limit.rlim_max)
        limit.rlim_cur = (rlim_t)seconds;
    fz_ignore(setrlimit(RLIMIT_CPU, &limit) != 0); /* as above */
}
