#include "server/serve/serve.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "server/api/api.h"
#include "server/clients/clients.h"
#include "server/config/term.h"
#include "server/process/program.h"
#include "server/process/supervise.h"
#include "server/process/trim.h"
#include "server/serve/disk.h"
#include "server/serve/first.h"
#include "server/serve/setup.h"
#include "server/serve/workers.h"
#include "server/web/web.h"

extern char **environ;

static const char command[] = "serve";

enum { TABLES_MAX = 32 };
enum { HTTP_GRACE_MS = 10000, WORKER_GRACE_MS = 20000, SERVE_GRACE_MS = 45000 };

struct serve {
    struct config config;
    char url[256]; /* for links of messages that the API sends */
    struct outbox_setup alerts;
    struct api_login login;
    int lock_fd, metrics_fd;
    struct serve_disk disk;
    struct metrics *metrics;
    struct web *web;
    struct api *api;
    struct http_server *http;
    struct serve_workers workers;
    atomic_bool is_up; /* credentials are written and workers may be asked about */
};

/* For /readyz. */
static int
count_workers(void *user)
{
    struct serve *serve = user;
    /* HTTP answers before the workers are started. */
    if (!atomic_load(&serve->is_up))
        return 0;
    int n =
        supervise_running(serve->workers.supervise) - supervise_stopped(serve->workers.supervise);
    return serve->config.workers == 0 ? -1 : n < 0 ? 0 : n;
}

/* The first user is there; the file had the link only for that. */
static void
forget_setup(void *user)
{
    const struct serve *serve = user;
    struct fz_error err;
    if (serve_first_set_up(&serve->config, &err) != FZ_OK)
        fz_log(FZ_LOG_WARN, "credentials.json still has the setup link", "why=\"%s\"", err.text);
}

/* Those of the clients, and those of the page. */
static size_t
list_tables(const struct api_routes *ret[TABLES_MAX])
{
    size_t n = 0, n_clients, n_web;
    const struct api_routes *const *clients = clients_all(&n_clients);
    const struct api_routes *const *web = web_all(&n_web);
    for (size_t i = 0; i < n_clients && n < TABLES_MAX; i++)
        ret[n++] = clients[i];
    for (size_t i = 0; i < n_web && n < TABLES_MAX; i++)
        ret[n++] = web[i];
    return n;
}

static enum fz_code
start_http(struct serve *serve, struct fz_error *err)
{
    const struct config *config = &serve->config;
    char temp[PATH_MAX + 16];
    snprintf(temp, sizeof(temp), "%s/tmp", config->data_dir);
    char cache[PATH_MAX];
    struct blob_config blobs = serve_setup_blob_config(config, cache);
    const struct api_routes *tables[TABLES_MAX];
    size_t n_tables = list_tables(tables);
    enum fz_code code = serve_setup_login(&serve->config, &serve->login, err);
    serve->login.on_setup = forget_setup;
    serve->login.on_setup_user = serve;
    if (code == FZ_OK)
        code = web_create(&config->limits, &serve->login, serve->metrics, &serve->web, err);
    if (code != FZ_OK)
        return code;
    const struct api_config api = {
        .clients = tables,
        .n_clients = n_tables,
        .database_url = config->database,
        .replica_url = config->database_replica,
        .blobs = blobs,
        .limits = &config->limits,
        .metrics = serve->metrics,
        .symbolicate_v5_project = config->symbolicate_v5_project,
        .cors_origins = config->cors_origins,
        .alerts = &serve->alerts,
        .login = &serve->login,
        .web = serve->web,
        .upload_wait_s = config->upload_wait_s,
        .disk = serve_disk_state,
        .disk_user = &serve->disk,
        .workers = count_workers,
        .workers_user = serve,
    };
    char listens[300];
    snprintf(listens, sizeof(listens), "http://%s", config->listen);
    serve_setup_url(config, listens, serve->url);
    code = serve_setup_alerts(config, serve->url, &serve->alerts, err);
    if (code == FZ_OK)
        code = api_create(&api, &serve->api, err);
    if (code != FZ_OK)
        return code;
    struct http_config http = {
        .listen = config->listen,
        .temp_dir = temp,
        .authorize = api_authorize,
        .is_stuck = api_is_stuck,
        .on_change = api_changed,
        .app = serve->api,
        .cors_origins = config->cors_origins,
        .limits = &config->limits,
        .trusted_proxies = config->trusted_proxies,
        .metrics = serve->metrics,
    };
    http.routes = api_routes(serve->api, &http.n_routes);
    return http_start(&http, &serve->http, err);
}

/* They need the server's address, for the links of alerts. */
static enum fz_code
start_workers(struct serve *serve, const char *url, struct fz_error *err)
{
    struct config config = serve->config;
    snprintf(config.public_url, sizeof(config.public_url), "%s", url);
    return serve_workers_init(&config, serve->metrics_fd, false, &serve->workers, err);
}

static enum fz_code
start(struct serve *serve, const sigset_t *signals, struct fz_error *err)
{
    const struct config *config = &serve->config;
    struct serve_first first = {0};
    /* One for all steps: PostgreSQL starts a process for each. */
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    unsigned n_applied = 0;
    char url[256], database[256], child[PATH_MAX];
    enum fz_code code = program_child_path(child, err); /* fails now, not with the first report */
    if (code == FZ_OK)
        code = serve_setup_directory(config, &serve->lock_fd, err);
    if (code == FZ_OK)
        serve_disk_init(&serve->disk, config->data_dir, config->blobs, &serve->config.limits);
    /* Before the migration, which would make a new database where one is missing. */
    if (code == FZ_OK)
        code = serve_first_check(config, err);
    if (code == FZ_OK)
        code = serve_setup_database(config, signals, err);
    if (code == FZ_OK)
        code = serve_setup_blobs(config, signals, err);
    if (code == FZ_OK && config->migrate)
        code = store_migrate(config->database, &n_applied, err);
    if (code == FZ_OK)
        code = store_open(config->database, &store, err);
    if (code == FZ_OK)
        code = serve_first_tokens(config, store, &first, err);
    if (code == FZ_OK)
        code = serve_setup_jobs(store, err);
    if (code == FZ_OK)
        code = metrics_create(&serve->metrics, &serve->metrics_fd, err);
    if (code == FZ_OK)
        code = start_http(serve, err);
    if (code != FZ_OK)
        return code;
    /* With port 0 the address is known only now. */
    serve_setup_url(config, http_url(serve->http), url);
    code = start_workers(serve, url, err);
    if (code == FZ_OK)
        code = serve_first_user(store, url, &first, err);
    if (code == FZ_OK)
        code = serve_first_credentials(config, url, &first, err);
    if (code != FZ_OK)
        return code;
    supervise_tend(serve->workers.supervise);
    serve_disk_tend(&serve->disk);
    atomic_store(&serve->is_up, true);
    if (first.is_first)
        serve_first_print(config, url, &first);
    /* From now on the supervisor takes an end for a crash, not for a failed start. */
    supervise_ready();
    config_hide_password(config->database, database, sizeof(database));
    fz_log(FZ_LOG_INFO, "serving", "url=%s data=%s database=%s workers=%d migrations=%u", url,
           config->data_dir, database, config->workers, n_applied);
    return FZ_OK;
}

static void
serve_until_stopped(struct serve *serve, const sigset_t *signals)
{
    struct trim trim = {.looked_ms = 0};
    trim_keep();
    for (;;) {
        int64_t ms = supervise_tend(serve->workers.supervise);
        serve_disk_tend(&serve->disk);
        trim_tend(&trim);
        ms = ms < SERVE_DISK_TEND_MS ? ms : SERVE_DISK_TEND_MS;
        const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        /* SIGCHLD ends the wait, so that a worker that died is restarted at once. */
        int number = sigtimedwait(signals, NULL, &nap);
        if (number <= 0 || number == SIGCHLD)
            continue;
        fz_log(FZ_LOG_INFO, "stopping", "signal=%d", number);
        return;
    }
}

/* Nothing is lost: waiting requests are answered, accepted reports are committed, current jobs are
 * finished. */
static void
stop(struct serve *serve)
{
    atomic_store(&serve->is_up, false);
    /* First, so that they finish their jobs while requests are being answered. */
    if (serve->workers.supervise)
        supervise_ask_stop(serve->workers.supervise, SIGTERM);
    /* Otherwise http_stop() would wait for requests that wait for jobs. */
    if (serve->api)
        api_stop_waiting(serve->api);
    web_stop_waiting(serve->web);
    if (serve->http)
        http_stop(serve->http, HTTP_GRACE_MS);
    /* After HTTP, whose requests may wait for a password, and before the api, which answers them. */
    web_destroy(serve->web);
    /* After HTTP: its handlers use the api. */
    api_destroy(serve->api);
    serve_workers_deinit(&serve->workers, WORKER_GRACE_MS);
    if (serve->metrics)
        metrics_detach(serve->metrics);
    fz_closep(&serve->metrics_fd);
    fz_closep(&serve->lock_fd);
}

int
serve_run(const struct config *config, const sigset_t *signals)
{
    static struct serve the_only; /* too large for a stack */
    struct serve *serve = &the_only;
    struct fz_error err;
    *serve = (struct serve){.config = *config, .lock_fd = -1, .metrics_fd = -1};
    serve_setup_workers(&serve->config);
    enum fz_code code = start(serve, signals, &err);
    if (code == FZ_E_UNAVAILABLE || code == FZ_E_INTERNAL)
        serve_disk_explain(&serve->disk, &err);
    if (code != FZ_OK)
        term_error(command, "%s", err.text);
    else
        serve_until_stopped(serve, signals);
    stop(serve);
    if (code == FZ_OK)
        fz_log(FZ_LOG_INFO, "stopped", "%s", "");
    return code != FZ_OK ? 1 : 0;
}

int
serve_supervise(int argc, char **argv, const sigset_t *signals)
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
    if (code != FZ_OK)
        term_error(command, "%s", err.text);
    int exit_code = code != FZ_OK ? 1 : supervise_run(supervise, signals, SERVE_GRACE_MS);
    free(arguments);
    return exit_code;
}
