#define _GNU_SOURCE /* close_range, SCHED_IDLE */
#include "server/child/sandbox.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"

enum { FILES_MAX = 64, SYMBOLS_CPU_FACTOR = 10 };

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

/* The lowest scheduling class: symbolication can wait, the thread that commits reports cannot. */
static void
low_priority(void)
{
    struct sched_param param = {.sched_priority = 0};
    /* Both may be refused in a container; the child then works at ordinary priority. */
    fz_ignore(sched_setscheduler(0, SCHED_IDLE, &param) != 0);
    fz_ignore(setpriority(PRIO_PROCESS, 0, 19) != 0);
}

enum fz_code
child_sandbox_enter(enum proto_role role, const struct limits *limits, struct fz_error *err)
{
    /* It ends with its parent, gains no rights by exec, and no other process of the user can
     * read its memory. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0) != 0)
        return fz_fail_errno(err, "cannot restrict the child process");
    /* The memory of the metrics is inheritable, since workers share it, and would be among them. */
    if (close_range(PROTO_FD + 1, ~0U, 0) != 0)
        return fz_fail_errno(err, "cannot close descriptors");
    /* Files that are mapped (uploads, indexes) count as address space but cost no memory; what the
     * child allocates itself is what RLIMIT_DATA counts. */
    uint64_t mapped = add_saturating(limits->symbol_bytes, limits->symbol_bytes);
    /* Of one file: a slice or an index of an upload, or the result of a report. */
    uint64_t output =
        role == PROTO_ROLE_SYMBOLS ? limits->symbol_bytes : (uint64_t)limits->report_memory;
    bool ok = set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, FILES_MAX) &&
              set_limit(RLIMIT_FSIZE, output);
    /* Sanitizers reserve terabytes of address space for their shadow memory. */
    if (ok && !FZ_IS_WATCHED)
        ok = set_limit(RLIMIT_DATA, limits->child_memory) &&
             set_limit(RLIMIT_AS, add_saturating(limits->child_memory, mapped));
    if (!ok)
        return fz_fail_errno(err, "cannot set limits");
    if (role != PROTO_ROLE_INTAKE) /* a client waits for that one */
        low_priority();
    return FZ_OK;
}

void
child_sandbox_begin_job(enum proto_role role, const struct limits *limits)
{
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return; /* the parent's wall clock limit remains */
    uint64_t seconds = limits->child_cpu_s;
    if (role == PROTO_ROLE_SYMBOLS)
        seconds *= SYMBOLS_CPU_FACTOR;
    /* RLIMIT_CPU counts the whole life of the process, in full seconds. */
    seconds += (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec + 1;
    /* The soft limit only: a hard one could not be raised again for the next job. */
    if (seconds < (uint64_t)limit.rlim_max)
        limit.rlim_cur = (rlim_t)seconds;
    fz_ignore(setrlimit(RLIMIT_CPU, &limit) != 0); /* as above */
}
