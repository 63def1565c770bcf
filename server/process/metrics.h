/*
 * Counters shared by the processes of one `serve`: a block of atomics in shared memory, printed as
 * Prometheus text.
 *
 * The serving process creates the block; its workers inherit the descriptor and add to the same
 * counters.
 */
#ifndef PROCESS_METRICS_H
#define PROCESS_METRICS_H

#include "base/buffer.h"
#include "base/error.h"
#include <stdatomic.h>

enum { METRICS_ROUTES = 192, METRICS_BUCKETS = 14 };

struct metrics_route { /* one HTTP route by http_route.name */
    char name[32];
    _Atomic uint64_t by_class[6];             /* answers 1xx..5xx, index = status / 100 */
    _Atomic uint64_t bucket[METRICS_BUCKETS]; /* latency: <= 1, 2, 5, 10, 20, 50, 100, 200, 500 ms,
                                                 1, 2, 5, 10 s, more */
    _Atomic uint64_t sum_us;
};

enum metrics_job_result {
    METRICS_JOB_DONE,
    METRICS_JOB_RETRY,
    METRICS_JOB_FAILED,
    METRICS_JOB_LOST,
    METRICS_JOB_RESULTS
};

/* Requests that a limit refused, by what it counts. */
enum metrics_limited {
    METRICS_LIMITED_KEY,
    METRICS_LIMITED_ADDRESS,
    METRICS_LIMITED_QUOTA,
    METRICS_LIMITED_LOAD,
    METRICS_LIMITED
};

struct metrics {
    struct metrics_route routes[METRICS_ROUTES];
    _Atomic uint64_t http_bytes_in, http_bytes_out, http_connections, http_connections_refused,
        http_timeouts, http_streams;
    _Atomic uint64_t reports_accepted, reports_duplicate, uploads_accepted;
    _Atomic uint64_t requests_limited[METRICS_LIMITED];
    _Atomic uint64_t password_checks;
    _Atomic uint64_t
        jobs[3][METRICS_JOB_RESULTS]; /* by enum store_job_kind (1 report, 2 upload) and result */
    _Atomic uint64_t job_bucket[3][METRICS_BUCKETS], job_sum_us[3];
    _Atomic uint64_t frames_symbolicated, frames_unnamed, frames_learned;
    _Atomic uint64_t index_cache_hits, index_cache_misses, index_cache_open;
    _Atomic uint64_t child_starts, child_deaths;
    _Atomic uint64_t retention_sweeps, retention_reports, retention_bodies, retention_symbols;
};

/* A zeroed block in a memfd. *ret_fd stays open, is inherited by children, and is the caller's. */
FZ_MUST_CHECK enum fz_code metrics_create(struct metrics **ret, int *ret_fd, struct fz_error *err);
FZ_MUST_CHECK enum fz_code metrics_attach(int fd, struct metrics **ret, struct fz_error *err);
void metrics_detach(struct metrics *metrics);

/* Find or make the route's slot; the last slot collects what does not fit. */
struct metrics_route *metrics_route(struct metrics *metrics, const char *name);
void metrics_observe_us(_Atomic uint64_t bucket[METRICS_BUCKETS], _Atomic uint64_t *sum_us,
                        uint64_t us);

/* Gauges that come from elsewhere. */
struct metrics_gauges {
    bool has_database; /* the next two lines are known */
    uint64_t jobs_waiting, jobs_running, jobs_quarantined, reports, symbols, database_bytes;
    uint64_t retention_held; /* projects whose sweep waits for a confirmation */
    double oldest_job_s;
    uint64_t blob_free_bytes, commits, commit_items;
    bool has_replica, replica_is_used; /* without one, the next line is not known */
    double replica_lag_s;              /* -1: it was never there */
    uint64_t replica_reads, replica_passed;
    struct metrics_usage { /* of projects that have sent anything today */
        int64_t project_id;
        const char *kind;
        uint64_t bytes;
    } usage[64];
    size_t n_usage;
};
/* Prometheus text format 0.0.4. What has never happened has no line, unless it is one number
 * without labels. */
void metrics_print(const struct metrics *metrics, const struct metrics_gauges *gauges,
                   struct fz_buffer *out);

/* process_cpu_seconds_total and its like, of this process; in metrics_process.c. */
void metrics_print_process(struct fz_buffer *out);

#endif
