#define _GNU_SOURCE /* memfd_create */
#include "server/process/metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned bucket_ms[METRICS_BUCKETS - 1] = {1,   2,   5,    10,   20,   50,   100,
                                                        200, 500, 1000, 2000, 5000, 10000};

enum fz_code
metrics_create(struct metrics **ret, int *ret_fd, struct fz_error *err)
{
    /* Not closed on exec: workers are started with it. */
    int fd = memfd_create("framezero-metrics", 0);
    if (fd < 0)
        return fz_fail_errno(err, "metrics: no shared memory");
    /* The kernel fills it with zeros, which are valid atomics. */
    if (ftruncate(fd, (off_t)sizeof(struct metrics)) != 0) {
        fz_fail_errno(err, "metrics: no shared memory");
        close(fd);
        return err ? err->code : FZ_E_INTERNAL;
    }
    enum fz_code code = metrics_attach(fd, ret, err);
    if (code != FZ_OK)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

enum fz_code
metrics_attach(int fd, struct metrics **ret, struct fz_error *err)
{
    /* A descriptor that is shorter than the block would fault at the first count. */
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0)
        return fz_fail_errno(err, "metrics: descriptor %d", fd);
    if ((uint64_t)size < sizeof(struct metrics))
        return fz_fail(err, FZ_E_MALFORMED, "metrics: descriptor %d holds %lld bytes, not %zu", fd,
                       (long long)size, sizeof(struct metrics));
    void *block = mmap(NULL, sizeof(struct metrics), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (block == MAP_FAILED)
        return fz_fail_errno(err, "metrics: cannot map");
    *ret = block;
    return FZ_OK;
}

void
metrics_detach(struct metrics *metrics)
{
    if (metrics)
        munmap(metrics, sizeof(*metrics));
}

/* Called by one process while it starts, so that slots need no lock. */
struct metrics_route *
metrics_route(struct metrics *metrics, const char *name)
{
    for (size_t i = 0; i + 1 < METRICS_ROUTES; i++) {
        struct metrics_route *route = &metrics->routes[i];
        if (!route->name[0])
            snprintf(route->name, sizeof(route->name), "%s", name);
        if (strncmp(route->name, name, sizeof(route->name) - 1) == 0)
            return route;
    }
    /* Routes are compiled in, so this is for a table that has outgrown METRICS_ROUTES. */
    struct metrics_route *rest = &metrics->routes[METRICS_ROUTES - 1];
    snprintf(rest->name, sizeof(rest->name), "other");
    return rest;
}

void
metrics_observe_us(_Atomic uint64_t bucket[METRICS_BUCKETS], _Atomic uint64_t *sum_us, uint64_t us)
{
    size_t i = 0;
    while (i < METRICS_BUCKETS - 1 && us > (uint64_t)bucket_ms[i] * 1000)
        i++;
    /* Not atomic together: a scrape in between is off by one, which Prometheus allows for. */
    atomic_fetch_add(&bucket[i], 1);
    atomic_fetch_add(sum_us, us);
}

static void
head(struct fz_buffer *out, const char *name, const char *type, const char *help)
{
    fz_buffer_printf(out, "# HELP framezero_%s %s\n# TYPE framezero_%s %s\n", name, help, name,
                     type);
}

static void
single(struct fz_buffer *out, const char *name, const char *type, const char *help, uint64_t value)
{
    head(out, name, type, help);
    fz_buffer_printf(out, "framezero_%s %llu\n", name, (unsigned long long)value);
}

/* Route names are ours, but a quote in one must not break the format. */
static const char *
label(const char *text, char ret[64])
{
    size_t n = 0;
    for (; *text && n < 63; text++)
        ret[n++] = *text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? '_' : *text;
    ret[n] = '\0';
    return ret;
}

static bool
any(const _Atomic uint64_t bucket[METRICS_BUCKETS])
{
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        if (atomic_load(&bucket[i]))
            return true;
    }
    return false;
}

static void
histogram(struct fz_buffer *out, const char *name, const char *key, const char *value,
          const _Atomic uint64_t bucket[METRICS_BUCKETS], const _Atomic uint64_t *sum_us)
{
    uint64_t below = 0;
    for (size_t i = 0; i < METRICS_BUCKETS - 1; i++) {
        /* Prometheus' buckets are cumulative: each counts what took that long or less. */
        below += atomic_load(&bucket[i]);
        fz_buffer_printf(out, "framezero_%s_bucket{%s=\"%s\",le=\"%g\"} %llu\n", name, key, value,
                         bucket_ms[i] / 1000.0, (unsigned long long)below);
    }
    below += atomic_load(&bucket[METRICS_BUCKETS - 1]);
    fz_buffer_printf(out,
                     "framezero_%s_bucket{%s=\"%s\",le=\"+Inf\"} %llu\n"
                     "framezero_%s_sum{%s=\"%s\"} %.6f\nframezero_%s_count{%s=\"%s\"} %llu\n",
                     name, key, value, (unsigned long long)below, name, key, value,
                     (double)atomic_load(sum_us) / 1e6, name, key, value,
                     (unsigned long long)below);
}

static void
print_http(const struct metrics *metrics, struct fz_buffer *out)
{
    char name[64];
    head(out, "http_requests_total", "counter", "Requests by route and class of status.");
    for (size_t i = 0; i < METRICS_ROUTES && metrics->routes[i].name[0]; i++) {
        const struct metrics_route *route = &metrics->routes[i];
        for (size_t class = 1; class < FZ_ARRAY_LEN(route->by_class); class ++) {
            uint64_t count = atomic_load(&route->by_class[class]);
            if (count)
                fz_buffer_printf(out,
                                 "framezero_http_requests_total{route=\"%s\",class=\"%zuxx\"} "
                                 "%llu\n",
                                 label(route->name, name), class, (unsigned long long)count);
        }
    }
    head(out, "http_request_seconds", "histogram",
         "From the request line to the end of the answer.");
    for (size_t i = 0; i < METRICS_ROUTES && metrics->routes[i].name[0]; i++) {
        const struct metrics_route *route = &metrics->routes[i];
        if (any(route->bucket))
            histogram(out, "http_request_seconds", "route", label(route->name, name), route->bucket,
                      &route->sum_us);
    }
    single(out, "http_bytes_in_total", "counter", "Bytes of requests, header and body as sent.",
           atomic_load(&metrics->http_bytes_in));
    single(out, "http_bytes_out_total", "counter", "Bytes of answers' bodies.",
           atomic_load(&metrics->http_bytes_out));
    single(out, "http_connections", "gauge", "Connections now open.",
           atomic_load(&metrics->http_connections));
    single(out, "http_connections_refused_total", "counter", "Connections over a limit.",
           atomic_load(&metrics->http_connections_refused));
    single(out, "http_timeouts_total", "counter", "Connections ended because they were too slow.",
           atomic_load(&metrics->http_timeouts));
    single(out, "http_streams", "gauge", "Streamed answers being sent.",
           atomic_load(&metrics->http_streams));
}

static void
print_jobs(const struct metrics *metrics, struct fz_buffer *out)
{
    static const char *const kinds[] = {"other", "report", "upload"};
    static const char *const results[METRICS_JOB_RESULTS] = {"done", "retry", "failed", "lost"};
    head(out, "jobs_total", "counter", "Finished jobs by kind and result.");
    for (size_t kind = 0; kind < FZ_ARRAY_LEN(kinds); kind++) {
        for (size_t i = 0; i < METRICS_JOB_RESULTS; i++) {
            uint64_t count = atomic_load(&metrics->jobs[kind][i]);
            if (count)
                fz_buffer_printf(out, "framezero_jobs_total{kind=\"%s\",result=\"%s\"} %llu\n",
                                 kinds[kind], results[i], (unsigned long long)count);
        }
    }
    head(out, "job_seconds", "histogram", "Time of a job in its worker.");
    for (size_t kind = 1; kind < FZ_ARRAY_LEN(kinds); kind++)
        if (any(metrics->job_bucket[kind]))
            histogram(out, "job_seconds", "kind", kinds[kind], metrics->job_bucket[kind],
                      &metrics->job_sum_us[kind]);
}

static void
print_limited(const struct metrics *metrics, struct fz_buffer *out)
{
    static const char *const names[METRICS_LIMITED] = {"key", "address", "quota", "load"};
    single(out, "password_checks_total", "counter", "Passwords that were compared with a hash.",
           atomic_load(&metrics->password_checks));
    head(out, "requests_limited_total", "counter", "Requests that a limit refused.");
    for (size_t i = 0; i < METRICS_LIMITED; i++) {
        uint64_t count = atomic_load(&metrics->requests_limited[i]);
        if (count)
            fz_buffer_printf(out, "framezero_requests_limited_total{by=\"%s\"} %llu\n", names[i],
                             (unsigned long long)count);
    }
}

static void
print_database(const struct metrics_gauges *gauges, struct fz_buffer *out)
{
    /* First and alone if there is no database: 0 for the others would look like lost data. */
    single(out, "database_up", "gauge", "1 if the database answers.", gauges->has_database);
    if (!gauges->has_database)
        return;
    head(out, "jobs", "gauge", "Jobs by state; waiting and running together are the queue.");
    fz_buffer_printf(
        out,
        "framezero_jobs{state=\"waiting\"} %llu\nframezero_jobs{state=\"running\"} %llu\n"
        "framezero_jobs{state=\"quarantined\"} %llu\n",
        (unsigned long long)gauges->jobs_waiting, (unsigned long long)gauges->jobs_running,
        (unsigned long long)gauges->jobs_quarantined);
    head(out, "oldest_job_seconds", "gauge", "Age of the oldest waiting job.");
    fz_buffer_printf(out, "framezero_oldest_job_seconds %.3f\n", gauges->oldest_job_s);
    single(out, "reports", "gauge", "Reports stored.", gauges->reports);
    single(out, "symbol_files", "gauge", "Symbol files stored.", gauges->symbols);
    single(out, "retention_held", "gauge", "Projects whose sweep waits for a confirmation.",
           gauges->retention_held);
    single(out, "database_bytes", "gauge", "Size of the database.", gauges->database_bytes);
}

static void
print_replica(const struct metrics_gauges *gauges, struct fz_buffer *out)
{
    if (!gauges->has_replica)
        return;
    single(out, "replica_up", "gauge", "1 if the read replica is used.", gauges->replica_is_used);
    head(out, "replica_lag_seconds", "gauge",
         "Time since the moment whose commits the replica has; -1: it was never there.");
    fz_buffer_printf(out, "framezero_replica_lag_seconds %.3f\n", gauges->replica_lag_s);
    head(out, "replica_reads_total", "counter", "Requests that a replica may answer, by who did.");
    fz_buffer_printf(out,
                     "framezero_replica_reads_total{by=\"replica\"} %llu\n"
                     "framezero_replica_reads_total{by=\"database\"} %llu\n",
                     (unsigned long long)gauges->replica_reads,
                     (unsigned long long)gauges->replica_passed);
}

static void
print_gauges(const struct metrics_gauges *gauges, struct fz_buffer *out)
{
    print_database(gauges, out);
    print_replica(gauges, out);
    single(out, "blob_free_bytes", "gauge", "Free space where blobs are kept.",
           gauges->blob_free_bytes);
    single(out, "commits_total", "counter", "Commits of waiting reports.", gauges->commits);
    single(out, "commit_items_total", "counter", "Reports in them.", gauges->commit_items);
    head(out, "project_usage_bytes", "gauge", "What a project has sent today.");
    for (size_t i = 0; i < gauges->n_usage; i++)
        fz_buffer_printf(out, "framezero_project_usage_bytes{project=\"%lld\",kind=\"%s\"} %llu\n",
                         (long long)gauges->usage[i].project_id, gauges->usage[i].kind,
                         (unsigned long long)gauges->usage[i].bytes);
}

static void
print_retention(const struct metrics *metrics, struct fz_buffer *out)
{
    single(out, "retention_sweeps_total", "counter", "Sweeps over all projects.",
           atomic_load(&metrics->retention_sweeps));
    single(out, "retention_reports_total", "counter", "Reports that were deleted by age or number.",
           atomic_load(&metrics->retention_reports));
    single(out, "retention_bodies_total", "counter",
           "Bodies that were deleted before their reports.",
           atomic_load(&metrics->retention_bodies));
    single(out, "retention_symbol_files_total", "counter", "Symbol files that nothing has needed.",
           atomic_load(&metrics->retention_symbols));
}

void
metrics_print(const struct metrics *metrics, const struct metrics_gauges *gauges,
              struct fz_buffer *out)
{
    head(out, "build_info", "gauge", "The version that is running.");
    fz_buffer_printf(out, "framezero_build_info{version=\"%s\"} 1\n", FZ_VERSION);
    print_http(metrics, out);
    print_limited(metrics, out);
    single(out, "reports_accepted_total", "counter", "New reports accepted.",
           atomic_load(&metrics->reports_accepted));
    single(out, "reports_duplicate_total", "counter", "Reports that were sent again.",
           atomic_load(&metrics->reports_duplicate));
    single(out, "uploads_accepted_total", "counter", "Symbol uploads accepted.",
           atomic_load(&metrics->uploads_accepted));
    print_jobs(metrics, out);
    single(out, "frames_symbolicated_total", "counter", "Frames that got a name.",
           atomic_load(&metrics->frames_symbolicated));
    single(out, "frames_unnamed_total", "counter", "Frames that got none.",
           atomic_load(&metrics->frames_unnamed));
    single(out, "frames_learned_total", "counter", "Frames with a name learned from a report.",
           atomic_load(&metrics->frames_learned));
    single(out, "index_cache_hits_total", "counter", "Symbol indexes found open.",
           atomic_load(&metrics->index_cache_hits));
    single(out, "index_cache_misses_total", "counter", "Symbol indexes that had to be opened.",
           atomic_load(&metrics->index_cache_misses));
    single(out, "index_cache_open", "gauge", "Symbol indexes open now.",
           atomic_load(&metrics->index_cache_open));
    single(out, "child_starts_total", "counter", "Sandboxed processes started.",
           atomic_load(&metrics->child_starts));
    single(out, "child_deaths_total", "counter", "Sandboxed processes that died.",
           atomic_load(&metrics->child_deaths));
    print_retention(metrics, out);
    if (gauges)
        print_gauges(gauges, out);
}
