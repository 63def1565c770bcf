#include "server/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "server/report/columns.h"
#include "server/worker/job.h"
#include "server/worker/slot.h"
#include "storage/store_blobs.h"

enum {
    IDLE_WAIT_MS = 1000,
    TROUBLE_WAIT_MS = 1000,
    SCHEMA_EVERY_MS = 10 * 1000,
    HOLD_MS = 30,
    QUOTED = 400
};

enum fz_code
job_child_failure(const struct child_process *child, struct fz_error *err)
{
    struct fz_arena arena;
    fz_arena_init(&arena, PROTO_PACKET_MAX * 2);
    struct fz_reader in = fz_reader_make(child->inbox.body, "failure");
    uint8_t said = fz_read_u8(&in);
    uint64_t offset = fz_read_u64(&in);
    const char *text = proto_get_text(&in, sizeof(err->text), &arena);
    /* A child judges its input only. Whether the database or the disk is well, and whether the job
     * is tried again for ever, is not for it to say. */
    enum fz_code code = FZ_E_MALFORMED;
    if (said == FZ_E_UNSUPPORTED || said == FZ_E_LIMIT || said == FZ_E_UNAVAILABLE)
        code = (enum fz_code)said;
    code = fz_fail(err, code, "%s", text && *text ? text : "it cannot be read");
    if (err && offset <= INT64_MAX)
        err->offset = (int64_t)offset;
    fz_arena_deinit(&arena);
    return code;
}

enum fz_code
job_child_nonsense(struct child_process *child, struct fz_error *err)
{
    child_process_stop(child);
    child->died = true;
    return fz_fail(err, FZ_E_MALFORMED, "the process that read it broke the protocol");
}

/* Forget the lease of held[i]; the order of the others stays. */
static void
drop_held(struct worker *w, size_t i)
{
    memmove(&w->held[i], &w->held[i + 1], (w->n_held - i - 1) * sizeof(w->held[0]));
    w->n_held--;
}

enum fz_code
job_beat(void *worker, struct fz_error *err)
{
    struct worker *w = worker;
    int64_t now = fz_time_monotonic_ms();
    if (now - w->beat_ms < JOB_BEAT_MS)
        return FZ_OK;
    w->beat_ms = now;
    for (size_t i = w->n_held; i-- > 0;) {
        enum fz_code code = store_job_heartbeat(w->store, &w->held[i], JOB_LEASE_MS, err);
        if (code == FZ_E_CONFLICT && i == 0)
            return code;
        if (code == FZ_E_CONFLICT)
            drop_held(w, i);
        /* Else the database is away for a moment: the lease lasts for two more beats. */
    }
    return FZ_OK;
}

/* Give all jobs from held[first] on back, for other workers. */
static void
release_held(struct worker *w, size_t first)
{
    while (w->n_held > first) {
        /* If it fails the lease runs out by itself. */
        fz_ignore(store_job_release(w->store, &w->held[w->n_held - 1], NULL) != FZ_OK);
        w->n_held--;
    }
}

static enum metrics_job_result
end_job(struct worker *w, const struct store_job *job, enum fz_code code, bool died,
        struct fz_error *why)
{
    if (code == FZ_OK)
        return METRICS_JOB_DONE;
    if (code == FZ_E_CONFLICT)
        return METRICS_JOB_LOST;
    struct fz_error err;
    enum fz_code ended = store_job_fail(w->store, job, code, why->text, died, &err);
    if (ended == FZ_E_CONFLICT)
        return METRICS_JOB_LOST;
    if (ended != FZ_OK) { /* the lease will run out and the job be due again */
        char quoted[QUOTED];
        fz_log(FZ_LOG_WARN, "job cannot be ended", "id=%lld error=%s", (long long)job->id,
               fz_log_quote(err.text, quoted, sizeof(quoted)));
        return METRICS_JOB_RETRY;
    }
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
    if (result == METRICS_JOB_DONE && job->kind == STORE_JOB_UPLOAD) {
        fz_log(FZ_LOG_INFO, "job",
               "id=%lld kind=%s project=%lld upload=%s result=%s files=%zu unblocked=%llu ms=%lld",
               (long long)job->id, kind, (long long)job->project_id, job->subject, words[result],
               made->n_files, (unsigned long long)made->n_unblocked, (long long)ms);
        return;
    }
    if (result == METRICS_JOB_DONE) {
        fz_log(FZ_LOG_INFO, "job",
               "id=%lld kind=%s project=%lld report=%s result=%s status=%s ms=%lld",
               (long long)job->id, kind, (long long)job->project_id, job->subject, words[result],
               made->status, (long long)ms);
        return;
    }
    char quoted[QUOTED];
    fz_log(FZ_LOG_WARN, "job",
           "id=%lld kind=%s project=%lld %s=%s attempt=%u result=%s code=%s error=%s ms=%lld",
           (long long)job->id, kind, (long long)job->project_id, kind, job->subject, job->attempt,
           words[result], fz_code_name(err->code), fz_log_quote(err->text, quoted, sizeof(quoted)),
           (long long)ms);
}

/* Work on held[0] and let go of it. */
static void
run_first(struct worker *w)
{
    struct store_job job = w->held[0];
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    struct job_result made;
    bool died = false;
    int64_t began = fz_time_monotonic_ms();
    if (job.kind == STORE_JOB_UPLOAD)
        release_held(w, 1); /* it may take minutes, and others may be idle */
    enum fz_code code = job.kind == STORE_JOB_UPLOAD ? job_upload(w, &job, &made, &died, &err)
                                                     : job_report(w, &job, &made, &died, &err);
    err.code = code;
    enum metrics_job_result result = end_job(w, &job, code, died, &err);
    drop_held(w, 0);
    int64_t ms = fz_time_monotonic_ms() - began;
    store_job_spent(w->store, &job, ms * 1000);
    observe(w, &job, result, died, ms);
    log_job(&job, &made, result, &err, ms);
}

/* A child serves one project: of what is held, its project's jobs first. */
static void
choose_first(struct worker *w)
{
    for (size_t i = 0; i < w->n_held; i++) {
        if (w->held[i].kind != STORE_JOB_REPORT || w->held[i].project_id != w->child_project)
            continue;
        struct store_job job = w->held[i];
        memmove(&w->held[1], &w->held[0], i * sizeof(w->held[0]));
        w->held[0] = job;
        return;
    }
}

/* After an upgrade, what an old program writes would not fit any more: it must end. */
static enum fz_code
check_schema(struct worker *w, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    if (now - w->checked_ms < SCHEMA_EVERY_MS)
        return FZ_OK;
    w->checked_ms = now;
    /* That the database is away is noticed by the next claim, and waited for. */
    return store_check(w->store, err) == FZ_E_CONFLICT ? FZ_E_CONFLICT : FZ_OK;
}

/* Claim and work until `stop`. */
static enum fz_code
work(struct worker *w, worker_stop_fn stop, void *user, struct fz_error *ret_err)
{
    bool in_trouble = false;
    int slot = worker_slot_take(w->config->group_fd);
    w->checked_ms = fz_time_monotonic_ms(); /* store_open() has just done it */
    while (!stop(user)) {
        if (check_schema(w, ret_err) != FZ_OK)
            return FZ_E_CONFLICT;
        job_sweep(w);
        store_job_no_uploads(w->store, worker_slot_is_reserved(w->config->group_fd, slot));
        struct fz_error err;
        enum fz_code code = store_job_claim(w->store, w->config->name, JOB_BATCH, JOB_LEASE_MS,
                                            w->held, &w->n_held, &err);
        if (code != FZ_OK) {
            w->n_held = 0;
            char quoted[QUOTED];
            if (!in_trouble) /* once, not each second of an outage */
                fz_log(FZ_LOG_WARN, "cannot claim jobs", "error=%s",
                       fz_log_quote(err.text, quoted, sizeof(quoted)));
            in_trouble = true;
            fz_time_sleep_ms(TROUBLE_WAIT_MS);
            continue;
        }
        if (in_trouble)
            fz_log(FZ_LOG_INFO, "jobs can be claimed again", "worker=%s", w->config->name);
        in_trouble = false;
        int64_t claimed_ms = w->beat_ms = fz_time_monotonic_ms();
        if (w->n_held == 0)
            store_wait_change(w->store, IDLE_WAIT_MS);
        while (w->n_held > 0 && !stop(user)) {
            choose_first(w);
            run_first(w);
            if (job_beat(w, NULL) == FZ_E_CONFLICT)
                drop_held(w, 0);
            /* They take longer than was known: others may have come that should go first. */
            if (fz_time_monotonic_ms() - claimed_ms > HOLD_MS)
                release_held(w, 0);
        }
    }
    release_held(w, 0);
    return FZ_OK;
}

/* This one may have been started because another died: what that had in hand is due again at once,
 * and not only when its lease runs out. */
static void
take_over(struct worker *w)
{
    uint64_t n = 0;
    struct fz_error err;
    char quoted[QUOTED];
    if (store_job_reclaim(w->store, worker_is_gone, NULL, &n, &err) != FZ_OK)
        fz_log(FZ_LOG_WARN, "jobs of ended workers are not looked for", "error=%s",
               fz_log_quote(err.text, quoted, sizeof(quoted)));
    else if (n)
        fz_log(FZ_LOG_INFO, "jobs of ended workers are due again", "jobs=%llu",
               (unsigned long long)n);
}

/* The worker itself keeps its ordinary priority, unlike its children: it does little, and a process
 * that waits for the processor while it holds the database's write lock would hold up those who
 * take reports in. */
enum fz_code
worker_run(const struct worker_config *config, worker_stop_fn stop, void *user,
           struct fz_error *err)
{
    /* An upload keeps two descriptors for each of its slices. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        fz_ignore(setrlimit(RLIMIT_NOFILE, &files) != 0); /* large archives then fail, in words */
    }
    struct worker w = {.config = config, .child = {.sock = -1}};
    enum fz_code code = store_open(config->database_url, &w.store, err);
    if (code == FZ_OK)
        code = store_set_columns(w.store, &report_columns, err);
    if (code == FZ_OK)
        code = blob_open(config->blobs_url, &w.blobs, err);
    if (code == FZ_OK)
        store_set_blobs(w.store, w.blobs);
    if (code == FZ_OK) {
        take_over(&w);
        if (config->ready)
            config->ready();
        code = work(&w, stop, user, err);
    }
    child_process_stop(&w.child);
    blob_close(w.blobs);
    store_close(w.store);
    return code;
}
