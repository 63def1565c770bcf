#define _GNU_SOURCE /* sigabbrev_np, wait4 */
#include "server/children/death.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/attr.h"
#include "base/time.h"

enum { EXIT_WAIT_MS = 1000, EXIT_STEP_MS = 1 };

void
child_process_kill(const struct child_process *child)
{
    /* The group is made between fork and exec: a child that has not got there is killed by its own number. */
    if (kill(-child->pid, SIGKILL) != 0)
        kill(child->pid, SIGKILL);
}

/* Did the signal come from outside: an operator, a shutdown, the kernel that needs memory? What a child does to itself is
 * a fault, a call that it may not make, or a limit; the filter lets it send no other signal. */
static bool
is_from_outside(const struct child_process *child, int number, const struct rusage *used)
{
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < FZ_ARRAY_LEN(own); i++) {
        if (number == own[i])
            return false;
    }
    /* The hard limit of CPU time, for a child that ignores the soft one. */
    double used_s = (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) - child->begin_cpu_s;
    return number != SIGKILL || child->cpu_s == 0 || used_s < child->cpu_s;
}

/* In the words of the job's log line and of the upload's or the report's error. */
enum fz_code
child_process_signalled(struct child_process *child, int number, const struct rusage *used,
                        struct fz_error *err)
{
    const char *name = sigabbrev_np(number);
    child->died = true;
    child->end_signal = number;
    /* The kernel's signals for the limits that the child set (server/sandbox). */
    if (number == SIGXCPU)
        return fz_fail(err, FZ_E_MALFORMED, "reading it took more than its limit of CPU time");
    if (number == SIGXFSZ)
        return fz_fail(err, FZ_E_MALFORMED, "reading it made more output than its limit");
    if (number == SIGSYS)
        return fz_fail(err, FZ_E_MALFORMED,
                       "the process that read it made a system call that it may not make");
    if (!is_from_outside(child, number, used))
        return fz_fail(err, FZ_E_MALFORMED, "the process that read it was ended by signal SIG%s",
                       name ? name : "?");
    child->died = false;
    child->was_killed = true;
    return fz_fail(err, FZ_E_UNAVAILABLE,
                   "the process that read it was ended from outside, by signal SIG%s",
                   name ? name : "?");
}

static uint64_t
ms_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

void
child_process_note(struct child_process *child, const struct rusage *used)
{
    child->used.cpu_ms = ms_of(used->ru_utime) + ms_of(used->ru_stime);
    child->used.memory_kb = (uint64_t)used->ru_maxrss;
}

bool
child_process_has_ended(const struct child_process *child)
{
    siginfo_t info = {.si_pid = 0};
    /* It stays to be reaped: while its number is taken, its group can be killed. */
    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->pid;
}

bool
child_process_reap(struct child_process *child, int *ret_status, struct rusage *ret_used)
{
    bool ended = child_process_has_ended(child);
    for (int64_t waited = 0; !ended && waited < EXIT_WAIT_MS; waited += EXIT_STEP_MS) {
        fz_time_sleep_ms(EXIT_STEP_MS);
        ended = child_process_has_ended(child);
    }
    if (!ended)
        return false;
    child_process_kill(child);
    bool got = wait4(child->pid, ret_status, 0, ret_used) == child->pid;
    if (got)
        child_process_note(child, ret_used);
    /* Its number may belong to another process now: child_process_stop() must not kill it. */
    child->pid = 0;
    return got;
}
