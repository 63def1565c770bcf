#include "server/serve_workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"

enum {
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 30000,
    SETTLED_MS = 10000, /* one that lived so long was well: its next restart is immediate */
    IDLE_MS = 1000,
    VARIABLES = 7,
};

struct process {
    pid_t pid; /* 0 = not running */
    int64_t started_ms, due_ms, backoff_ms;
};

struct serve_workers {
    const struct config *config;
    struct process *processes;
    size_t n;
    char **argv; /* of a worker */
    char **envp; /* the same; the last VARIABLES are ours */
    char *variables[VARIABLES];
    atomic_int n_running;
    bool is_stopping;
};

extern char **environ;

/* ---- what a worker is started with ------------------------------------------------------- */

/* Options go by variables, since a database URL with its password does not belong on a command
 * line that every user of the machine can read. */
static enum fz_code
make_environment(struct serve_workers *workers, int metrics_fd, struct fz_error *err)
{
    const struct config *config = workers->config;
    const struct {
        const char *name, *value;
    } set[] = {
        {"FRAMEZERO_DATABASE", config->database},
        {"FRAMEZERO_BLOBS", config->blobs},
        {"FRAMEZERO_DATA", config->data_dir},
        {"FRAMEZERO_LOG_LEVEL", config->log_level},
        {"FRAMEZERO_LEARNED_NAMES", config->learned_names},
        {"FRAMEZERO_WORKERS", "1"},
        {config_metrics_variable, NULL},
    };
    _Static_assert(FZ_ARRAY_LEN(set) == VARIABLES, "one slot each");
    size_t n_environ = 0, n = 0;
    while (environ && environ[n_environ])
        n_environ++;
    workers->envp = calloc(n_environ + VARIABLES + 1, sizeof(*workers->envp));
    if (!workers->envp)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n_environ; i++) {
        bool is_ours = false;
        for (size_t j = 0; j < VARIABLES; j++) {
            size_t len = strlen(set[j].name);
            is_ours =
                is_ours || (strncmp(environ[i], set[j].name, len) == 0 && environ[i][len] == '=');
        }
        if (!is_ours)
            workers->envp[n++] = environ[i];
    }
    for (size_t j = 0; j < VARIABLES; j++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", metrics_fd);
        const char *value = set[j].value ? set[j].value : number;
        size_t size = strlen(set[j].name) + strlen(value) + 2;
        workers->variables[j] = malloc(size);
        if (!workers->variables[j])
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        snprintf(workers->variables[j], size, "%s=%s", set[j].name, value);
        workers->envp[n++] = workers->variables[j];
    }
    return FZ_OK;
}

static enum fz_code
make_arguments(struct serve_workers *workers, int argc, char **argv, struct fz_error *err)
{
    static char program[] = "framezero", command[] = "worker";
    workers->argv = calloc((size_t)argc + 3, sizeof(*workers->argv));
    if (!workers->argv)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    size_t n = 0;
    workers->argv[n++] = program;
    workers->argv[n++] = command;
    for (int i = 1; i < argc; i++) {
        bool is_pair = strcmp(argv[i], "--config") == 0 || strcmp(argv[i], "--limit") == 0;
        if (is_pair && i + 1 < argc) {
            workers->argv[n++] = argv[i++];
            workers->argv[n++] = argv[i];
        } else if (strncmp(argv[i], "--config=", 9) == 0 || strncmp(argv[i], "--limit=", 8) == 0) {
            workers->argv[n++] = argv[i];
        }
    }
    return FZ_OK;
}

enum fz_code
serve_workers_create(const struct config *config, int argc, char **argv, int metrics_fd,
                     struct serve_workers **ret, struct fz_error *err)
{
    struct serve_workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    workers->config = config;
    workers->n = (size_t)config->workers;
    workers->processes = calloc(workers->n + 1, sizeof(*workers->processes));
    enum fz_code code = workers->processes ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (!code)
        code = make_environment(workers, metrics_fd, err);
    if (!code)
        code = make_arguments(workers, argc, argv, err);
    if (code)
        serve_workers_destroy(workers, 0);
    else
        *ret = workers;
    return code;
}

/* ---- processes --------------------------------------------------------------------------- */

static void
start(struct serve_workers *workers, struct process *process, int64_t now_ms)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    /* A group of its own: Ctrl-C in the terminal reaches serve, which ends its workers in order. */
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETPGROUP);
    int error =
        posix_spawn(&process->pid, "/proc/self/exe", NULL, &attr, workers->argv, workers->envp);
    posix_spawnattr_destroy(&attr);
    process->started_ms = now_ms;
    if (error) {
        fz_log(FZ_LOG_ERROR, "cannot start a worker", "error=\"%s\"", strerror(error));
        process->pid = 0;
        process->due_ms = now_ms + BACKOFF_MAX_MS;
        return;
    }
    atomic_fetch_add(&workers->n_running, 1);
    fz_log(FZ_LOG_DEBUG, "worker started", "pid=%d", (int)process->pid);
}

static void
ended(struct serve_workers *workers, struct process *process, int status, int64_t now_ms)
{
    atomic_fetch_sub(&workers->n_running, 1);
    if (now_ms - process->started_ms >= SETTLED_MS)
        process->backoff_ms = 0;
    process->due_ms = now_ms + process->backoff_ms;
    if (!workers->is_stopping) {
        bool by_signal = WIFSIGNALED(status);
        fz_log(FZ_LOG_ERROR, "worker ended", "pid=%d %s=%d restart_ms=%lld", (int)process->pid,
               by_signal ? "signal" : "exit", by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
               (long long)process->backoff_ms);
    }
    process->backoff_ms = process->backoff_ms ? process->backoff_ms * 2 : BACKOFF_MIN_MS;
    if (process->backoff_ms > BACKOFF_MAX_MS)
        process->backoff_ms = BACKOFF_MAX_MS;
    process->pid = 0;
}

static void
collect(struct serve_workers *workers, int64_t now_ms)
{
    for (size_t i = 0; i < workers->n; i++) {
        struct process *process = &workers->processes[i];
        int status;
        if (process->pid > 0 && waitpid(process->pid, &status, WNOHANG) == process->pid)
            ended(workers, process, status, now_ms);
    }
}

int64_t
serve_workers_tend(struct serve_workers *workers)
{
    int64_t now_ms = fz_time_monotonic_ms(), next_ms = IDLE_MS;
    collect(workers, now_ms);
    for (size_t i = 0; i < workers->n && !workers->is_stopping; i++) {
        struct process *process = &workers->processes[i];
        if (process->pid == 0 && process->due_ms <= now_ms)
            start(workers, process, now_ms);
        if (process->pid == 0 && process->due_ms - now_ms < next_ms)
            next_ms = process->due_ms > now_ms ? process->due_ms - now_ms : 1;
    }
    return next_ms;
}

int
serve_workers_running(struct serve_workers *workers)
{
    return atomic_load(&workers->n_running);
}

static void
signal_all(struct serve_workers *workers, int number)
{
    for (size_t i = 0; i < workers->n; i++) {
        if (workers->processes[i].pid > 0)
            kill(workers->processes[i].pid, number);
    }
}

void
serve_workers_ask_stop(struct serve_workers *workers)
{
    workers->is_stopping = true;
    signal_all(workers, SIGTERM);
}

/* Until all have ended or the time is over; SIGCHLD is blocked and wakes sigtimedwait. */
static void
await_all(struct serve_workers *workers, int64_t grace_ms)
{
    int64_t end_ms = fz_time_monotonic_ms() + grace_ms;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        int64_t now_ms = fz_time_monotonic_ms();
        collect(workers, now_ms);
        if (serve_workers_running(workers) == 0 || now_ms >= end_ms)
            return;
        const struct timespec nap = {.tv_nsec = 50 * 1000000};
        sigtimedwait(&child, NULL, &nap);
    }
}

void
serve_workers_destroy(struct serve_workers *workers, int64_t grace_ms)
{
    if (!workers)
        return;
    if (serve_workers_running(workers) > 0) {
        serve_workers_ask_stop(workers);
        await_all(workers, grace_ms);
        if (serve_workers_running(workers) > 0) {
            fz_log(FZ_LOG_WARN, "workers are killed", "n=%d", serve_workers_running(workers));
            signal_all(workers, SIGKILL);
            await_all(workers, 1000);
        }
    }
    for (size_t i = 0; i < VARIABLES; i++)
        free(workers->variables[i]);
    free(workers->envp);
    free(workers->argv);
    free(workers->processes);
    free(workers);
}
