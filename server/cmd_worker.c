/* framezero worker: claims jobs and has them done; several are so many processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/cmd.h"
#include "server/config.h"
#include "server/metrics.h"
#include "server/serve_workers.h"
#include "server/worker/worker.h"

enum { GRACE_MS = 60 * 1000 };

static volatile sig_atomic_t is_stopping;

static void
on_stop(int number FZ_UNUSED)
{
    is_stopping = 1;
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
    /* It also ends its workers when it is killed itself. */
    fz_ignore(prctl(PR_SET_PDEATHSIG, SIGTERM) != 0); /* kinder, not vital */
    if (metrics_attach((int)fd, &metrics, &err) != FZ_OK)
        fz_log(FZ_LOG_WARN, "no metrics", "error=\"%s\"", err.text);
    close((int)fd);
    return metrics;
}

static enum worker_learned
learned_mode(const char *word)
{
    if (strcmp(word, "shared") == 0)
        return WORKER_LEARNED_SHARED;
    return strcmp(word, "project") == 0 ? WORKER_LEARNED_PROJECT : WORKER_LEARNED_OFF;
}

static enum fz_code
work(const struct config *config, struct fz_error *err)
{
    /* Without SA_RESTART: a wait for new jobs ends at once. */
    struct sigaction action = {.sa_handler = on_stop};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
        return fz_fail_errno(err, "cannot take signals");
    char name[WORKER_NAME];
    worker_name(name);
    struct metrics *metrics = inherited_metrics();
    const struct worker_config worker = {.database_url = config->database,
                                         .blobs_url = config->blobs,
                                         .name = name,
                                         .limits = &config->limits,
                                         .learned = learned_mode(config->learned_names),
                                         .metrics = metrics};
    enum fz_code code = worker_run(&worker, should_stop, NULL, err);
    if (metrics)
        metrics_detach(metrics);
    return code;
}

/* As many processes as asked for; this one only watches them. */
static enum fz_code
supervise(const struct config *config, int argc, char **argv, struct fz_error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
        return fz_fail_errno(err, "cannot take signals");
    struct metrics *metrics = NULL;
    FZ_CLEANUP(fz_closep) int fd = -1;
    struct serve_workers *workers = NULL;
    enum fz_code code = metrics_create(&metrics, &fd, err);
    if (code == FZ_OK)
        code = serve_workers_create(config, argc, argv, fd, &workers, err);
    for (int number = 0; code == FZ_OK && number != SIGTERM && number != SIGINT;) {
        int64_t ms = serve_workers_tend(workers);
        const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        number = sigtimedwait(&signals, NULL, &nap);
    }
    serve_workers_destroy(workers, GRACE_MS);
    if (metrics)
        metrics_detach(metrics);
    return code;
}

int
cmd_worker(int argc, char **argv)
{
    static const char *const allowed[] = {"data",      "database",      "blobs", "workers",
                                          "log-level", "learned-names", NULL};
    struct config config;
    struct fz_error err;
    if (config_take_flag(&argc, argv, "help")) {
        printf("usage: framezero worker [--workers N] [OPTIONS]\n\n%s", config_help());
        return 0;
    }
    if (config_load(argc, argv, allowed, &config, &err)) {
        fprintf(stderr, "framezero worker: %s\n", err.text);
        return 2;
    }
    if (config.workers < 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        config.workers = cores < 1 ? 1 : cores > 64 ? 64 : (int)cores;
    }
    config_set_log_level(&config);
    enum fz_code code =
        config.workers == 1 ? work(&config, &err) : supervise(&config, argc, argv, &err);
    if (code)
        fprintf(stderr, "framezero worker: %s\n", err.text);
    return code ? 1 : 0;
}
