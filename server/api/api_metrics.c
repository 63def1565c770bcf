/*
 * GET /metrics. It needs no token, so what is counted in the database is counted at most once in a
 * few seconds, however often it is requested.
 */
#include "base/log.h"
#include "base/time.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_replica.h"
#include "server/api/api_usage.h"

enum { COUNTS_LIFE_MS = 2000 };

/* False: the database does not answer. */
static bool
count(struct api *api, struct store_counts *ret)
{
    struct store *store = NULL;
    struct fz_error err;
    enum fz_code code = api_store_get_all(api, &store, &err);
    if (code == FZ_OK)
        code = store_counts(store, ret, &err);
    api_store_put(api, store);
    /* Without a token the client must not learn hosts and paths, so only the log has them. */
    if (code != FZ_OK)
        fz_log(FZ_LOG_WARN, "metrics", "not counted: %s", err.text);
    return code == FZ_OK;
}

/* One request counts; the others meanwhile take the last counts. */
static bool
cached_counts(struct api *api, struct store_counts *ret)
{
    struct api_counts *counts = &api->counts;
    pthread_mutex_lock(&counts->lock);
    bool is_fresh = counts->at_ms && fz_time_monotonic_ms() - counts->at_ms < COUNTS_LIFE_MS;
    if (is_fresh || counts->is_busy) {
        bool is_known = counts->is_known;
        *ret = counts->last;
        pthread_mutex_unlock(&counts->lock);
        return is_known;
    }
    counts->is_busy = true;
    pthread_mutex_unlock(&counts->lock);
    struct store_counts now = {0};
    /* Without the lock: a database that hangs must not stop every scrape. */
    bool is_known = count(api, &now);
    pthread_mutex_lock(&counts->lock);
    counts->is_busy = false;
    counts->is_known = is_known;
    counts->last = now;
    /* After a failure too: a database in trouble is not asked more often. */
    counts->at_ms = fz_time_monotonic_ms();
    pthread_mutex_unlock(&counts->lock);
    *ret = now;
    return is_known;
}

static void
add_usage(struct api *api, struct metrics_gauges *gauges)
{
    struct store_usage usage[FZ_ARRAY_LEN(gauges->usage)];
    gauges->n_usage = api_usage_list(api->usage, usage, FZ_ARRAY_LEN(usage));
    /* Two types, since metrics know nothing of storage. */
    for (size_t i = 0; i < gauges->n_usage; i++) {
        gauges->usage[i].project_id = usage[i].project_id;
        gauges->usage[i].kind = usage[i].kind == STORE_USAGE_SYMBOLS ? "symbols" : "reports";
        gauges->usage[i].bytes = usage[i].bytes;
    }
}

static void
add_replica(struct api_replica *replica, struct metrics_gauges *gauges)
{
    const struct api_replica_state state = api_replica_state(replica);
    gauges->has_replica = true;
    gauges->replica_is_used = state.is_used;
    gauges->replica_lag_s = state.lag_ms < 0 ? -1 : (double)state.lag_ms / 1000;
    gauges->replica_reads = state.n_reads;
    gauges->replica_passed = state.n_passed;
}

void
api_metrics(void *app, struct http_request *request)
{
    struct api *api = app;
    struct store_counts counts = {0};
    struct store_committer_stats commits;
    uint64_t free_bytes = 0, total = 0;
    struct fz_error err;
    bool has_database = cached_counts(api, &counts);
    store_committer_stats(api->committer, &commits);
    fz_ignore(blob_space(api->blobs, &free_bytes, &total, NULL)); /* the gauge is 0 then */
    struct metrics_gauges gauges = {
        .has_database = has_database,
        .jobs_waiting = counts.jobs_queued,
        .jobs_running = counts.jobs_leased,
        .jobs_quarantined = counts.jobs_quarantined,
        .reports = counts.n_reports,
        .symbols = counts.n_symbols,
        .retention_held = counts.n_held,
        .database_bytes = counts.database_bytes,
        .oldest_job_s = (double)counts.oldest_queued_ms / 1000,
        .blob_free_bytes = free_bytes,
        .commits = commits.n_commits,
        .commit_items = commits.n_items,
    };
    if (api->replica)
        add_replica(api->replica, &gauges);
    add_usage(api, &gauges);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    metrics_print(api->config.metrics, &gauges, &out);
    metrics_print_process(&out);
    /* Half a text would look like counters that went back. */
    if (fz_buffer_done(&out, &err) != FZ_OK)
        http_respond_error(request, &err);
    else
        http_respond(request, 200, "text/plain; version=0.0.4; charset=utf-8",
                     fz_buffer_span(&out));
}
