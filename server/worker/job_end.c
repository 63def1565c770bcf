/*
 * The ends of jobs: results are stored, failures noted, both logged and measured.
 *
 * Reports that were read wait for a moment, so that several are stored in one transaction: it is
 * one sync of the disk, and counts that they have in common are written once. What a report waits is
 * bounded by the time of its claim and the next job, or the next tick of a child that works for long.
 */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"

enum { QUOTED = 400, USED = 64, MADE_BYTES = 64 * 1024 * 1024, POSTPONE_MS = 1500 };

static enum metrics_job_result
end_failed(struct worker *w, const struct store_job *job, enum fz_code code, bool died,
           struct fz_error *why)
{
    if (code == FZ_OK)
        return METRICS_JOB_DONE;
    /* Another worker has the job now: whatever is known of it is stored by that one. */
    if (code == FZ_E_CONFLICT)
        return METRICS_JOB_LOST;
    struct fz_error err;
    /* However long the object store is away, the job is due soon after it is back. */
    bool is_postponed = !died && code == FZ_E_UNAVAILABLE && blob_is_away(w->blobs);
    enum fz_code ended = is_postponed ? store_job_postpone(w->store, job, POSTPONE_MS, &err)
                                      : store_job_fail(w->store, job, code, why->text, died, &err);
    if (ended == FZ_E_CONFLICT)
        return METRICS_JOB_LOST;
    if (ended != FZ_OK) { /* given back with the next claim */
        char quoted[QUOTED];
        w->may_forget = true;
        fz_log(FZ_LOG_WARN, "job cannot be ended", "id=%lld error=%s", (long long)job->id,
               fz_log_quote(err.text, quoted, sizeof(quoted)));
        return METRICS_JOB_RETRY;
    }
    /* As store_job_fail() decides; here only for the log line and the metrics. */
    bool again = died || code == FZ_E_UNAVAILABLE || code == FZ_E_NO_MEMORY;
    return again ? METRICS_JOB_RETRY : METRICS_JOB_FAILED;
}

static void
observe(struct worker *w, const struct store_job *job, enum metrics_job_result result, bool died,
        int64_t ms)
{
    struct metrics *m = w->config->metrics;
    if (!m)
        return;
    m->jobs[job->kind][result]++;
    metrics_observe_us(m->job_bucket[job->kind], &m->job_sum_us[job->kind], (uint64_t)ms * 1000);
    if (died)
        m->child_deaths++;
}

static void
log_job(const struct store_job *job, const struct job_result *made, enum metrics_job_result result,
        const struct fz_error *err, int64_t ms)
{
    static const char *const words[METRICS_JOB_RESULTS] = {"done", "retry", "failed", "lost"};
    const char *kind = job->kind == STORE_JOB_UPLOAD ? "upload" : "report";
    char quoted[QUOTED], detail[QUOTED + 100], used[USED] = "";
    if (result != METRICS_JOB_DONE)
        snprintf(detail, sizeof(detail), "attempt=%u result=%s code=%s error=%s", job->attempt,
                 words[result], fz_code_name(err->code),
                 fz_log_quote(err->text, quoted, sizeof(quoted)));
    else if (job->kind == STORE_JOB_UPLOAD)
        snprintf(detail, sizeof(detail), "result=done files=%zu unblocked=%llu", made->n_files,
                 (unsigned long long)made->n_unblocked);
    else
        snprintf(detail, sizeof(detail), "result=done status=%s", made->status);
    if (job->kind == STORE_JOB_UPLOAD)
        snprintf(used, sizeof(used), " cpu_ms=%llu memory_kb=%llu",
                 (unsigned long long)made->used.cpu_ms, (unsigned long long)made->used.memory_kb);
    fz_log(result == METRICS_JOB_DONE ? FZ_LOG_INFO : FZ_LOG_WARN, "job",
           "id=%lld kind=%s project=%lld %s=%s %s ms=%lld%s", (long long)job->id, kind,
           (long long)job->project_id, kind, job->subject, detail, (long long)ms, used);
}

void
job_end(struct worker *w, const struct job_end *end, enum fz_code code, struct fz_error *err)
{
    const struct store_job *job = &end->job;
    enum metrics_job_result result = end_failed(w, job, code, end->died, err);
    int64_t ms = fz_time_monotonic_ms() - end->began_ms;
    /* Waiting takes nothing from others; with it, claims would take fewer jobs than they could. */
    store_job_spent(w->store, job, (ms - end->waited_ms) * 1000);
    observe(w, job, result, end->died, ms);
    log_job(job, &end->made, result, err, ms);
}

/* ---- results that wait ---- */

bool
job_made_is_due(const struct worker *w, const struct store_job *next)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < w->n_made; i++)
        n_bytes += w->made[i].arena.used;
    return w->n_made == JOB_BATCH ||
           (w->n_made > 0 &&
            (w->made[0].end.job.project_id != next->project_id || n_bytes > MADE_BYTES ||
             fz_time_monotonic_ms() - w->made[0].made_ms > store_job_hold_ms(w->store)));
}

void
job_store_made(struct worker *w)
{
    struct store_report_end ends[JOB_BATCH];
    struct fz_error err;
    size_t n = w->n_made;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        ends[i] = (struct store_report_end){.job = &w->made[i].end.job, .done = &w->made[i].done};
    int64_t began_ms = fz_time_monotonic_ms();
    enum fz_code code = store_job_finish_reports(w->store, ends, n, &err);
    int64_t took_ms = fz_time_monotonic_ms() - began_ms;
    for (size_t i = 0; i < n; i++)
        w->made[i].end.waited_ms = began_ms - w->made[i].made_ms + took_ms - took_ms / (int64_t)n;
    /* One of them may be the cause: each by itself, so that the others do not suffer. */
    for (size_t i = 0; code != FZ_OK && n > 1 && i < n; i++) {
        ends[i].code = store_job_finish_reports(w->store, &ends[i], 1, &ends[i].err);
        if (ends[i].code == FZ_OK)
            ends[i].code = ends[i].err.code;
    }
    for (size_t i = 0; i < n; i++) {
        struct fz_error *why = &ends[i].err;
        if (code != FZ_OK && n == 1)
            *why = err;
        why->code = code != FZ_OK && n == 1 ? code : ends[i].code;
        job_end(w, &w->made[i].end, why->code, why);
        fz_arena_deinit(&w->made[i].arena);
    }
    w->n_made = 0;
}

enum fz_code
job_tick(void *worker, struct fz_error *err)
{
    /* The child works on a report that takes long; what is finished does not wait for it. */
    job_store_made(worker);
    return job_beat(worker, err);
}
