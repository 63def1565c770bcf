#define _GNU_SOURCE /* pipe2, sigabbrev_np */
#include "server/process/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "server/process/program.h"

enum {
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 10000,
    SETTLED_MS = 60000, /* a process that lived so long had started well */
    IDLE_MS = 1000,
    KILLED_WAIT_MS = 1000,
    EXIT_USAGE = 2,
    MARK_BYTES = 64,
};

/* "PARENT:DESCRIPTOR": who started the process, and the pipe through which it says that it is up. */
static const char mark_name[] = "FRAMEZERO_SUPERVISOR";

struct process {
    pid_t pid; /* 0 = not running */
    int ready_fd;
    bool is_ready;
    unsigned n_restarts;
    int64_t started_ms, due_ms, backoff_ms;
};

struct supervise {
    struct supervise_plan plan;
    struct process *processes;
    char **envp; /* the plan's, and the mark */
    char mark[MARK_BYTES], died[32];
    size_t mark_at;
    atomic_int n_running, n_stopped;
    bool is_stopping, has_ended, was_ready;
    int stop_signal, exit_code;
};

void
supervise_signals(sigset_t *ret)
{
    struct sigaction hangup;
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGCHLD);
    /* nohup ignores it: then it must not end the server. */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(ret, SIGHUP);
    /* Blocked, and fetched by sigtimedwait(): no handler can run in between. */
    sigprocmask(SIG_BLOCK, ret, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* A file size limit (ulimit -f) then fails a write and does not end the process. */
    signal(SIGXFSZ, SIG_IGN);
}

enum fz_code
supervise_create(const struct supervise_plan *plan, struct supervise **ret, struct fz_error *err)
{
    size_t n_environ = 0, n = 0;
    while (plan->envp[n_environ])
        n_environ++;
    struct supervise *s = calloc(1, sizeof(*s));
    if (s) {
        s->plan = *plan;
        /* plan->n may be 0, and calloc() may return NULL for 0 bytes. */
        s->processes = calloc(plan->n + 1, sizeof(*s->processes));
        s->envp = calloc(n_environ + 2, sizeof(*s->envp));
    }
    if (!s || !s->processes || !s->envp) {
        supervise_destroy(s, 0);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < plan->n; i++)
        s->processes[i].ready_fd = -1;
    for (size_t i = 0; i < n_environ; i++) {
        /* A supervised process that supervises others must not pass on its own mark. */
        if (strncmp(plan->envp[i], mark_name, sizeof(mark_name) - 1) != 0)
            s->envp[n++] = plan->envp[i];
    }
    s->envp[n] = s->mark;
    snprintf(s->died, sizeof(s->died), "%s died", plan->name);
    *ret = s;
    return FZ_OK;
}

/* ---- starting ----------------------------------------------------------------------------- */

/* Returns 0, or an errno. */
static int
spawn(struct supervise *s, struct process *process, int theirs)
{
    snprintf(s->mark, sizeof(s->mark), "%s=%d:%d", mark_name, (int)getpid(), theirs);
    /* Onto itself: it stays open in the new process. */
    const struct program_spawn what = {.path = program_path(),
                                       .argv = s->plan.argv,
                                       .envp = s->envp,
                                       .fd = theirs,
                                       .fd_in_child = theirs,
                                       .own_group = s->plan.own_group,
                                       .keeps_nohup = true};
    return program_spawn(&what, &process->pid);
}

static void
start(struct supervise *s, struct process *process, int64_t now_ms)
{
    int ends[2] = {-1, -1};
    int error = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : errno;
    if (!error)
        error = spawn(s, process, ends[1]);
    fz_closep(&ends[1]);
    process->started_ms = now_ms;
    if (error) {
        fz_closep(&ends[0]);
        process->pid = 0;
        /* The system is short of processes or memory; haste would make it worse. */
        process->due_ms = now_ms + BACKOFF_MAX_MS;
        fz_log(FZ_LOG_ERROR, "cannot start a process", "name=%s error=\"%s\" again_in_ms=%d",
               s->plan.name, strerror(error), (int)BACKOFF_MAX_MS);
        return;
    }
    process->ready_fd = ends[0];
    process->is_ready = false;
    atomic_fetch_add(&s->n_running, 1);
    fz_log(FZ_LOG_DEBUG, "process started", "name=%s pid=%d", s->plan.name, (int)process->pid);
}

/* ---- ending ------------------------------------------------------------------------------- */

static void
look_ready(struct supervise *s)
{
    char byte;
    for (size_t i = 0; i < s->plan.n; i++) {
        struct process *process = &s->processes[i];
        if (process->ready_fd >= 0 && !process->is_ready)
            /* Does not block; the pipe of a process that ended reads as 0 bytes. */
            process->is_ready = read(process->ready_fd, &byte, 1) == 1;
        s->was_ready = s->was_ready || process->is_ready;
    }
}

static bool
asks_for_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

/* Whether starting it again would not help. */
static bool
is_final(const struct supervise *s, int status)
{
    if (!s->plan.may_give_up)
        return false;
    /* By Ctrl-C in the terminal, or by an operator's kill of the one process. */
    bool was_asked = WIFSIGNALED(status) ? asks_for_end(WTERMSIG(status)) : status == 0;
    if (was_asked)
        return s->plan.n == 1;
    /* Wrong options and a start that never worked (a port in use, no database) are for the user
     * to fix. */
    return WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_USAGE || !s->was_ready);
}

/* "signal=SIGSEGV" or "exit=1". */
static void
describe(int status, char *ret, size_t size)
{
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (!WIFSIGNALED(status))
        snprintf(ret, size, "exit=%d", WEXITSTATUS(status));
    else if (name)
        snprintf(ret, size, "signal=SIG%s", name);
    else /* a real-time signal */
        snprintf(ret, size, "signal=%d", WTERMSIG(status));
}

static void
plan_restart(struct supervise *s, struct process *process, pid_t pid, int status)
{
    int64_t now_ms = fz_time_monotonic_ms();
    /* Doubled before the checks: the first death after a start has 0. */
    process->backoff_ms *= 2;
    if (now_ms - process->started_ms >= SETTLED_MS || process->backoff_ms < BACKOFF_MIN_MS)
        process->backoff_ms = BACKOFF_MIN_MS;
    if (process->backoff_ms > BACKOFF_MAX_MS)
        process->backoff_ms = BACKOFF_MAX_MS;
    process->due_ms = now_ms + process->backoff_ms;
    char how[32];
    describe(status, how, sizeof(how));
    fz_log(FZ_LOG_ERROR, s->died, "pid=%d %s restarts=%u restart_in_ms=%lld", (int)pid, how,
           process->n_restarts++, (long long)process->backoff_ms);
}

static void
ended(struct supervise *s, struct process *process, int status)
{
    pid_t pid = process->pid;
    /* The byte may still be in the pipe: a process can be ready and die before it is read. */
    look_ready(s);
    fz_closep(&process->ready_fd);
    process->ready_fd = -1;
    process->pid = 0;
    atomic_fetch_sub(&s->n_running, 1);
    bool was_signalled = WIFSIGNALED(status) && WTERMSIG(status) == s->stop_signal;
    if (s->is_stopping && !s->has_ended && status != 0 && !was_signalled) {
        s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        char how[32];
        describe(status, how, sizeof(how));
        fz_log(FZ_LOG_ERROR, s->died, "pid=%d %s while=stopping", (int)pid, how);
    } else if (!s->is_stopping && is_final(s, status)) {
        s->has_ended = true;
        s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        supervise_ask_stop(s, SIGTERM);
    } else if (!s->is_stopping) {
        plan_restart(s, process, pid, status);
    }
}

static void
collect(struct supervise *s)
{
    int status;
    for (size_t i = 0; i < s->plan.n; i++) {
        struct process *process = &s->processes[i];
        /* One by one, never waitpid(-1): the program may have other children. */
        if (process->pid > 0 && waitpid(process->pid, &status, WNOHANG) == process->pid)
            ended(s, process, status);
    }
}

/* Process 1 of a container inherits the orphans of all: they would stay as zombies. */
static void
collect_orphans(const struct supervise *s)
{
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        /* WNOWAIT: a process of the plan must stay for collect(), which reads its status. */
        if (getpid() != 1 || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == 0)
            return;
        for (size_t i = 0; i < s->plan.n; i++) {
            if (s->processes[i].pid == info.si_pid)
                return; /* collect() takes it */
        }
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* ---- the parent's calls ------------------------------------------------------------------- */

/* The state in /proc/PID/stat: "4711 (name) T ..."; the name may have anything in it. */
static bool
is_stopped(pid_t pid)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

static void
look_for_stopped(struct supervise *s)
{
    int n = 0;
    for (size_t i = 0; i < s->plan.n; i++)
        n += s->processes[i].pid > 0 && is_stopped(s->processes[i].pid);
    if (n > atomic_exchange(&s->n_stopped, n))
        fz_log(FZ_LOG_WARN, "processes are stopped by a signal", "name=%s n=%d", s->plan.name, n);
}

int64_t
supervise_tend(struct supervise *s)
{
    collect(s);
    look_for_stopped(s);
    collect_orphans(s);
    int64_t now_ms = fz_time_monotonic_ms(), next_ms = IDLE_MS;
    for (size_t i = 0; i < s->plan.n && !s->is_stopping; i++) {
        struct process *process = &s->processes[i];
        if (process->pid == 0 && process->due_ms <= now_ms)
            start(s, process, now_ms);
        /* After start(), which may have failed and set another time. */
        if (process->pid == 0 && process->due_ms - now_ms < next_ms)
            next_ms = process->due_ms > now_ms ? process->due_ms - now_ms : 1;
    }
    return next_ms;
}

/* Whether the whole has ended by itself, and with which code. */
static bool
has_ended(const struct supervise *s, int *ret_exit_code)
{
    if (s->has_ended)
        *ret_exit_code = s->exit_code;
    return s->has_ended;
}

int
supervise_running(struct supervise *s)
{
    return atomic_load(&s->n_running);
}

int
supervise_stopped(struct supervise *s)
{
    return atomic_load(&s->n_stopped);
}

static void
signal_all(struct supervise *s, int number)
{
    for (size_t i = 0; i < s->plan.n; i++) {
        if (s->processes[i].pid > 0)
            kill(s->processes[i].pid, number);
    }
}

void
supervise_ask_stop(struct supervise *s, int number)
{
    s->is_stopping = true;
    s->stop_signal = number;
    signal_all(s, number);
}

/* Until all have ended or the time is over; SIGCHLD is blocked and wakes sigtimedwait. */
static void
await_all(struct supervise *s, int64_t grace_ms)
{
    int64_t end_ms = fz_time_monotonic_ms() + grace_ms;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        collect(s);
        if (supervise_running(s) == 0 || fz_time_monotonic_ms() >= end_ms)
            return;
        /* SIGCHLD ends it earlier. */
        const struct timespec nap = {.tv_nsec = 50 * 1000000};
        sigtimedwait(&child, NULL, &nap);
    }
}

int
supervise_destroy(struct supervise *s, int64_t grace_ms)
{
    if (!s)
        return 0;
    if (supervise_running(s) > 0) {
        if (!s->is_stopping)
            supervise_ask_stop(s, SIGTERM);
        await_all(s, grace_ms);
        if (supervise_running(s) > 0) {
            fz_log(FZ_LOG_WARN, "processes that did not end are killed", "name=%s n=%d",
                   s->plan.name, supervise_running(s));
            signal_all(s, SIGKILL);
            await_all(s, KILLED_WAIT_MS);
        }
    }
    /* 1 if a process failed while it ended: the service manager then reports it. */
    int exit_code = s->exit_code;
    free(s->envp);
    free(s->processes);
    free(s);
    return exit_code;
}

int
supervise_run(struct supervise *s, const sigset_t *signals, int64_t grace_ms)
{
    int exit_code;
    while (!has_ended(s, &exit_code)) {
        int64_t ms = supervise_tend(s);
        const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        int number = s->has_ended ? 0 : sigtimedwait(signals, NULL, &nap);
        if (number > 0 && number != SIGCHLD) {
            supervise_ask_stop(s, number);
            break;
        }
    }
    return supervise_destroy(s, grace_ms);
}

/* ---- the child's side --------------------------------------------------------------------- */

static int ready_fd = -1;
static pid_t parent;

bool
supervise_join(int death_signal)
{
    const char *mark = getenv(mark_name), *colon = mark ? strchr(mark, ':') : NULL;
    int64_t pid, fd;
    if (!colon || !fz_text_i64(fz_span_make(mark, (size_t)(colon - mark)), &pid) || pid <= 0 ||
        pid > INT32_MAX || !fz_text_i64(fz_span_cstr(colon + 1), &fd) || fd <= STDERR_FILENO ||
        fd > INT32_MAX)
        return false;
    parent = (pid_t)pid;
    ready_fd = (int)fd;
    /* Neither must they take themselves for supervised. */
    unsetenv(mark_name);
    /* Processes that this one starts must not hold the pipe open. */
    fcntl(ready_fd, F_SETFD, FD_CLOEXEC);
    /* It was started as /proc/self/exe; ps should show what it is. */
    fz_ignore(prctl(PR_SET_NAME, "framezero") != 0);
    /* The signal comes only for a parent that dies after this call. */
    if (prctl(PR_SET_PDEATHSIG, death_signal) != 0 || !supervise_has_parent())
        _exit(1);
    return true;
}

bool
supervise_has_parent(void)
{
    return getppid() == parent;
}

void
supervise_ready(void)
{
    if (ready_fd < 0)
        return;
    fz_ignore(write(ready_fd, "r", 1) != 1); /* the parent is dead, and we shall be */
    fz_closep(&ready_fd);
    ready_fd = -1;
}
