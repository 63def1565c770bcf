/* framezero serve: the HTTP server and the workers beside it. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "server/api/api.h"
#include "server/cmd.h"
#include "server/config.h"
#include "server/doors/doors.h"
#include "server/serve_setup.h"
#include "server/serve_workers.h"
#include "server/supervise.h"

extern char **environ;

enum { HTTP_GRACE_MS = 10000, WORKER_GRACE_MS = 20000, SERVE_GRACE_MS = 45000 };

struct serve {
    struct config config;
    int lock_fd, metrics_fd;
    struct metrics *metrics;
    struct api *api;
    struct http_server *http;
    struct serve_workers *workers;
    atomic_bool is_up; /* credentials are written and workers may be asked about */
};

/* For /readyz. */
static int
count_workers(void *user)
{
    struct serve *serve = user;
    if (!atomic_load(&serve->is_up))
        return 0;
    return serve->config.workers == 0 ? -1 : serve_workers_running(serve->workers);
}

/* A connection is a descriptor; the soft default of 1,024 is below limits.connections. */
static void
raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum fz_code
start_http(struct serve *serve, struct fz_error *err)
{
    const struct config *config = &serve->config;
    char temp[PATH_MAX + 16];
    snprintf(temp, sizeof(temp), "%s/tmp", config->data_dir);
    size_t n_doors;
    const struct api_routes *const *doors = doors_all(&n_doors);
    const struct api_config api = {
        .doors = doors,
        .n_doors = n_doors,
        .database_url = config->database,
        .blobs_url = config->blobs,
        .limits = &config->limits,
        .metrics = serve->metrics,
        .symbolicate_v5_project = config->symbolicate_v5_project,
        .upload_wait_s = config->upload_wait_s,
        .workers = count_workers,
        .workers_user = serve,
    };
    enum fz_code code = api_create(&api, &serve->api, err);
    if (code)
        return code;
    struct http_config http = {
        .listen = config->listen,
        .temp_dir = temp,
        .authorize = api_authorize,
        .app = serve->api,
        .limits = &config->limits,
        .trusted_proxies = config->trusted_proxies,
        .metrics = serve->metrics,
    };
    http.routes = api_routes(serve->api, &http.n_routes);
    return http_start(&http, &serve->http, err);
}

static enum fz_code
start(struct serve *serve, int argc, char **argv, struct fz_error *err)
{
    const struct config *config = &serve->config;
    struct serve_first first = {0};
    unsigned n_applied = 0;
    char url[256], database[256];
    enum fz_code code = serve_setup_directory(config, &serve->lock_fd, err);
    if (!code && config->migrate)
        code = store_migrate(config->database, &n_applied, err);
    if (!code)
        code = serve_setup_first(config->database, &first, err);
    if (!code)
        code = serve_setup_reclaim(config->database, err);
    if (!code)
        code = serve_setup_rebuild(config->database, err);
    if (!code)
        code = metrics_create(&serve->metrics, &serve->metrics_fd, err);
    if (!code)
        code = serve_workers_create(config, argc, argv, serve->metrics_fd, false, &serve->workers,
                                    err);
    if (!code)
        code = start_http(serve, err);
    if (code)
        return code;
    serve_setup_url(config, http_url(serve->http), url);
    code = serve_setup_credentials(config, url, &first, err);
    if (code)
        return code;
    serve_workers_tend(serve->workers);
    atomic_store(&serve->is_up, true);
    if (first.is_first)
        serve_setup_print_first(config, url, &first);
    supervise_ready();
    config_hide_password(config->database, database, sizeof(database));
    fz_log(FZ_LOG_INFO, "serving", "url=%s data=%s database=%s workers=%d migrations=%u", url,
           config->data_dir, database, config->workers, n_applied);
    return FZ_OK;
}

static void
run(struct serve *serve, const sigset_t *signals)
{
    for (;;) {
        int64_t ms = serve_workers_tend(serve->workers);
        const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        int number = sigtimedwait(signals, NULL, &nap);
        if (number <= 0 || number == SIGCHLD)
            continue;
        fz_log(FZ_LOG_INFO, "stopping", "signal=%d", number);
        return;
    }
}

/* Nothing is lost: who waits is answered, what was taken in is committed, jobs in hand are done. */
static void
stop(struct serve *serve)
{
    atomic_store(&serve->is_up, false);
    if (serve->workers)
        serve_workers_ask_stop(serve->workers);
    if (serve->api)
        api_stop_waiting(serve->api);
    if (serve->http)
        http_stop(serve->http, HTTP_GRACE_MS);
    api_destroy(serve->api);
    serve_workers_destroy(serve->workers, WORKER_GRACE_MS);
    if (serve->metrics)
        metrics_detach(serve->metrics);
    fz_closep(&serve->metrics_fd);
    fz_closep(&serve->lock_fd);
}

/* The process that HTTP is served by. */
static int
serve_here(struct serve *serve, int argc, char **argv, const sigset_t *signals)
{
    struct fz_error err;
    if (serve->config.workers < 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        serve->config.workers = cores < 1 ? 1 : cores > 64 ? 64 : (int)cores;
    }
    raise_file_limit();
    enum fz_code code = start(serve, argc, argv, &err);
    if (code)
        fprintf(stderr, "framezero serve: %s\n", err.text);
    else
        run(serve, signals);
    stop(serve);
    if (!code)
        fz_log(FZ_LOG_INFO, "stopped", "%s", "");
    return code ? 1 : 0;
}

/* The process that starts it again when it dies. It opens nothing and has one thread. */
static int
supervise_serve(int argc, char **argv, const sigset_t *signals)
{
    static char program[] = "framezero";
    char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
    struct supervise *supervise = NULL;
    struct fz_error err;
    enum fz_code code = FZ_OK;
    if (!arguments) {
        code = fz_fail(&err, FZ_E_NO_MEMORY, "out of memory");
    } else {
        arguments[0] = program;
        memcpy(arguments + 1, argv, (size_t)argc * sizeof(*argv));
        const struct supervise_plan plan = {
            .name = "serve", .argv = arguments, .envp = environ, .n = 1, .may_give_up = true};
        code = supervise_create(&plan, &supervise, &err);
    }
    if (code)
        fprintf(stderr, "framezero serve: %s\n", err.text);
    int exit_code = code ? 1 : supervise_run(supervise, signals, SERVE_GRACE_MS);
    free(arguments);
    return exit_code;
}

int
cmd_serve(int argc, char **argv)
{
    static const char *const allowed[] = {
        "listen",          "data",       "database",    "blobs",
        "workers",         "migrate",    "supervise",   "log-level",
        "learned-names",   "public-url", "upload-wait", "symbolicate-v5-project",
        "trusted-proxies", NULL};
    static struct serve serve = {.lock_fd = -1, .metrics_fd = -1};
    struct fz_error err;
    sigset_t signals;
    if (config_take_flag(&argc, argv, "help")) {
        printf("usage: framezero serve [OPTIONS]\n\n%s", config_help());
        return 0;
    }
    /* At once, unlike a worker: nothing is lost, and its successor needs the database's lock. */
    bool is_supervised = supervise_join(SIGKILL);
    if (config_load(argc, argv, allowed, &serve.config, &err)) {
        fprintf(stderr, "framezero serve: %s\n", err.text);
        return 2;
    }
    config_set_log_level(&serve.config);
    supervise_signals(&signals);
    if (is_supervised || !serve.config.supervise)
        return serve_here(&serve, argc, argv, &signals);
    return supervise_serve(argc, argv, &signals);
}
