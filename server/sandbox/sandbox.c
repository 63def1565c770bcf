#define _GNU_SOURCE /* close_range, SCHED_IDLE */
#include "server/sandbox/sandbox.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/locks.h"

/*
 * A symbol file can wait for whatever else the machine does. Somebody wants to see a report, so on a busy machine its child gets a
 * tenth of what others get, and not what they leave; the thread that commits reports goes first all the same.
 */
static void
low_priority(enum proto_role role)
{
    enum { TENTH = 10, LEAST = 19 };
    struct sched_param param = {.sched_priority = 0};
    bool is_report = role == PROTO_ROLE_REPORTS;
    /* More than LEAST is LEAST. All may be refused in a container; the child then works at ordinary priority. */
    int nice = is_report ? getpriority(PRIO_PROCESS, 0) + TENTH : LEAST;
    if (!is_report)
        fz_ignore(sched_setscheduler(0, SCHED_IDLE, &param) != 0);
    fz_ignore(setpriority(PRIO_PROCESS, 0, nice) != 0);
}

/* Read once what would be read from files later. */
static void
read_system(void)
{
    /* Without it each conversion of a time looks at /etc/localtime. */
    fz_ignore(setenv("TZ", "UTC0", 1) != 0);
    tzset();
}

static uint32_t
bit(enum proto_mechanism lock)
{
    return (uint32_t)1 << lock;
}

static void
lock_first(uint32_t without, struct proto_level *ret)
{
    if (!(without & bit(PROTO_LOCK_OOM)) && sandbox_oom_first())
        ret->locks |= bit(PROTO_LOCK_OOM);
    ret->locks |= sandbox_namespaces(without);
}

/* From here on the process can name nothing but its memory and its descriptors. */
static void
lock_last(enum proto_role role, uint32_t without, struct proto_level *ret)
{
    bool filters = !(without & bit(PROTO_LOCK_SECCOMP));
    if (!(without & bit(PROTO_LOCK_LANDLOCK)))
        ret->landlock_abi = (uint8_t)sandbox_files();
    if (ret->landlock_abi > 0)
        ret->locks |= bit(PROTO_LOCK_LANDLOCK);
    void *filter = filters ? sandbox_filter_make(role) : NULL;
    if (role != PROTO_ROLE_INTAKE) /* a client waits for that one */
        low_priority(role);        /* not earlier: the start would wait for other processes */
    if (filters && sandbox_filter_load(filter))
        ret->locks |= bit(PROTO_LOCK_SECCOMP);
}

enum fz_code
sandbox_enter(const struct sandbox_plan *plan, struct proto_level *ret, struct fz_error *err)
{
    struct proto_level level = {.locks = 0};
    uint32_t without = FZ_IS_WATCHED ? UINT32_MAX : plan->without;
    read_system();
    /* The memory of the metrics is inheritable, since workers share it, and would be among them. */
    if (close_range(PROTO_FD + 1, ~0U, 0) != 0)
        return fz_fail_errno(err, "cannot close descriptors");
    lock_first(without, &level);
    /* After the change of the user, which resets the first and the third: it ends with its parent, gains no rights by
     * exec, and no other process of the user can read its memory. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0) != 0)
        return fz_fail_errno(err, "cannot restrict the child process");
    bool none = !(without & bit(PROTO_LOCK_PROCESSES));
    if (!sandbox_limits(plan->role, plan->limits, none))
        return fz_fail_errno(err, "cannot set limits");
    if (none)
        level.locks |= bit(PROTO_LOCK_PROCESSES);
    lock_last(plan->role, without, &level);
    *ret = level;
    return FZ_OK;
}
