#include "server/http/server.h"

#include <stdlib.h>

#include "base/time.h"
#include "server/http/request.h"

enum fz_code
http_server_create(const struct http_config *config, struct http_server **ret, struct fz_error *err)
{
    struct http_proxies proxies = {.n = 0};
    enum fz_code code =
        http_proxies_parse(config->trusted_proxies ? config->trusted_proxies : "", &proxies, err);
    if (code != FZ_OK)
        return code;
    struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* Each request holds one more: the API may still hold requests after http_stop(). */
    atomic_init(&server->refs, 1);
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    /* Waits must not depend on the calendar, which may be set while the server runs. */
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &clock);
    pthread_condattr_destroy(&clock);
    server->listen_fd = -1;
    server->routes = config->routes;
    server->n_routes = config->n_routes;
    server->authorize = config->authorize;
    server->is_stuck = config->is_stuck;
    server->on_change = config->on_change;
    server->app = config->app;
    if (config->cors_origins && *config->cors_origins)
        server->cors_origins = config->cors_origins;
    server->limits = *config->limits;
    http_budget_init(&server->body_memory, "body_memory", server->limits.body_memory);
    http_budget_init(&server->unknown_memory, "unknown_memory", server->limits.unknown_memory);
    http_budget_init(&server->unknown_disk, "unknown_disk", server->limits.unknown_disk);
    http_load_init(&server->load, server->limits.reports_waiting, fz_time_monotonic_ms());
    server->proxies = proxies;
    server->metrics = config->metrics;
    /* The caller may have made the path on its stack. */
    server->temp_dir = strdup(config->temp_dir ? config->temp_dir : "/tmp");
    server->route_metrics = calloc(config->n_routes + 1, sizeof(struct metrics_route *));
    http_contents_init(&server->contents, server->temp_dir, server->limits.answer_memory,
                       server->limits.answer_disk);
    if (!server->temp_dir || !server->route_metrics) {
        http_server_unref(server);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    /* Counters are found once here, not with every request. */
    for (size_t i = 0; i < config->n_routes; i++)
        server->route_metrics[i] = metrics_route(config->metrics, config->routes[i].name);
    server->route_metrics[config->n_routes] = metrics_route(config->metrics, "none");
    *ret = server;
    return FZ_OK;
}

void
http_server_unref(struct http_server *server)
{
    if (atomic_fetch_sub(&server->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->changed);
    http_budget_deinit(&server->body_memory);
    http_budget_deinit(&server->unknown_memory);
    http_budget_deinit(&server->unknown_disk);
    http_load_deinit(&server->load);
    http_contents_deinit(&server->contents);
    http_filter_deinit(&server->filter);
    free(server->route_metrics);
    free(server->temp_dir);
    free(server);
}
