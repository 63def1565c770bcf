#include "server/serve/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/config/term.h"
#include "server/process/metrics.h"
#include "server/process/program.h"
#include "server/process/supervise.h"
#include "server/serve/setup.h"
#include "server/serve/workers.h"
#include "server/worker/worker.h"

enum { GRACE_MS = 60 * 1000 };

static const char command[] = "worker";
static volatile sig_atomic_t is_stopping;
static bool is_supervised, was_ready;
static int group_fd = -1; /* shared with the workers that were started together with this one */

/* A worker finishes its current job. One whose parent has ended has a minute for it. */
static void
on_stop(int number FZ_UNUSED)
{
    is_stopping = 1;
    /* No process is left that would kill it after its time. */
    if (is_supervised && !supervise_has_parent())
        alarm(GRACE_MS / 1000);
}

static void
on_ready(void)
{
    was_ready = true;
    supervise_ready();
}

static bool
should_stop(void *user FZ_UNUSED)
{
    return is_stopping != 0;
}

/* Counters of the process that started this one, if one did. */
static struct metrics *
inherited_metrics(void)
{
    const char *text = getenv(config_metrics_variable);
    int64_t fd;
    struct metrics *metrics = NULL;
    struct fz_error err;
    if (!text || !fz_text_i64(fz_span_cstr(text), &fd) || fd < 3 || fd > INT32_MAX)
        return NULL;
    /* Without counters the worker still works. */
    if (metrics_attach((int)fd, &metrics, &err) != FZ_OK)
        fz_log(FZ_LOG_WARN, "no metrics", "error=\"%s\"", err.text);
    group_fd = (int)fd;
    fz_ignore(fcntl(group_fd, F_SETFD, FD_CLOEXEC) != 0); /* its children close what they inherit */
    return metrics;
}

static enum worker_learned
learned_mode(const char *word)
{
    /* The word was checked when the configuration was read. */
    if (strcmp(word, "shared") == 0)
        return WORKER_LEARNED_SHARED;
    return strcmp(word, "project") == 0 ? WORKER_LEARNED_PROJECT : WORKER_LEARNED_OFF;
}

static enum fz_code
work(const struct config *config, const sigset_t *signals, struct fz_error *err)
{
    /* Without SA_RESTART: a wait for new jobs ends at once. */
    struct sigaction action = {.sa_handler = on_stop};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0 ||
        (sigismember(signals, SIGHUP) && sigaction(SIGHUP, &action, NULL) != 0) ||
        sigprocmask(SIG_UNBLOCK, signals, NULL) != 0)
        return fz_fail_errno(err, "cannot take signals");
    char name[WORKER_NAME], cache[PATH_MAX];
    /* Unique for each process, so that the jobs of a dead one can be recognised. */
    worker_name(name);
    struct metrics *metrics = inherited_metrics();
    struct outbox_setup alerts;
    enum fz_code code = serve_setup_alerts(config, config->public_url, &alerts, err);
    const struct worker_config worker = {.database_url = config->database,
                                         .blobs = serve_setup_blob_config(config, cache),
                                         .name = name,
                                         .limits = &config->limits,
                                         .learned = learned_mode(config->learned_names),
                                         .metrics = metrics,
                                         .outbox = &alerts,
                                         .ready = on_ready,
                                         .group_fd = group_fd};
    char child[PATH_MAX];
    if (code == FZ_OK)
        code = program_child_path(child, err); /* fails now, not with the first job */
    if (code == FZ_OK)
        code = worker_run(&worker, should_stop, NULL, err);
    if (metrics)
        metrics_detach(metrics);
    return code;
}

int
serve_worker_supervise(const struct config *config, const sigset_t *signals)
{
    struct fz_error err;
    struct metrics *metrics = NULL;
    FZ_CLEANUP(fz_closep) int fd = -1;
    struct serve_workers workers = {0};
    enum fz_code code = metrics_create(&metrics, &fd, &err);
    if (code == FZ_OK)
        code = serve_workers_init(config, fd, true, &workers, &err);
    if (code != FZ_OK)
        term_error(command, "%s", err.text);
    int exit_code =
        code != FZ_OK ? 1 : supervise_run(fz_take(&workers.supervise), signals, GRACE_MS);
    serve_workers_deinit(&workers, 0);
    if (metrics)
        metrics_detach(metrics);
    return exit_code;
}

int
serve_worker_run(const struct config *config, bool has_supervisor, const sigset_t *signals)
{
    struct fz_error err;
    is_supervised = has_supervisor;
    enum fz_code code = serve_setup_database(config, signals, &err);
    /* Workers of a `serve` start after it has looked. */
    if (code == FZ_OK)
        code = serve_setup_blobs(config, signals, &err);
    if (code == FZ_OK)
        code = work(config, signals, &err);
    if (code != FZ_OK)
        term_error(command, "%s", err.text);
    /* After an upgrade of the database a restart of the same program would not help. */
    return code == FZ_E_CONFLICT && was_ready ? 2 : code != FZ_OK ? 1 : 0;
}
