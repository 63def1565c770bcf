/*
 * What projects keep no longer is deleted (storage/store_retention.h), a step at a time between jobs.
 *
 * One worker of all does it, once an hour and after a change of the settings, which gives the duty back. A worker that is killed
 * leaves nothing half done: the next one looks again.
 */
#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"
#include "storage/store_outbox.h"
#include "storage/store_partitions.h"

enum {
    CHECK_MS = 2 * 1000, /* how often to look whether a sweep is due */
    BUSY_MS = 100,       /* between two steps while jobs wait */
    REST = 3, /* times as long as looking at some reports took: a sweep of millions is not felt */
    TROUBLE_MS = 60 * 1000,   /* after a failure */
    DUTY_MS = 10 * 60 * 1000, /* longer than a step, whatever it does */
    ARENA = 64 * 1024 * 1024
};

static const char duty[] = "retention";

/* ---- one project ---- */

static enum fz_code
begin(struct worker *w, int64_t project_id, struct fz_error *err)
{
    struct store_retention settings;
    enum fz_code code = store_retention_get(w->store, project_id, &settings, NULL, err);
    w->retention.done = (struct store_retention_done){0};
    w->retention.is_looked = w->retention.is_allowed = false;
    return code == FZ_OK ? store_retention_plan_create(w->store, project_id, &settings,
                                                       &w->retention.plan, err)
                         : code;
}

static void
end(struct worker *w, const struct store_project *project)
{
    struct worker_retention *r = &w->retention;
    const struct store_retention_done *done = &r->done;
    struct metrics *m = w->config->metrics;
    uint64_t n = done->n_reports + done->n_bodies + done->n_symbols + done->n_files;
    /* More was due than one plan holds: then again, as long as that deletes anything. */
    bool is_again = r->is_allowed && n > 0 && store_retention_due(r->plan)->is_cut;
    if (n > 0)
        fz_log(FZ_LOG_INFO, "old reports and symbol files deleted",
               "project=%s reports=%llu bodies=%llu symbols=%llu files=%llu", project->name,
               (unsigned long long)done->n_reports, (unsigned long long)done->n_bodies,
               (unsigned long long)done->n_symbols, (unsigned long long)done->n_files);
    if (m) {
        m->retention_reports += done->n_reports;
        m->retention_bodies += done->n_bodies;
        m->retention_symbols += done->n_symbols;
    }
    store_retention_plan_destroy(r->plan);
    r->plan = NULL;
    r->at += !is_again;
}

static enum fz_code
hold(struct worker *w, const struct store_project *project, bool *ret_is_over, struct fz_error *err)
{
    struct worker_retention *r = &w->retention;
    const struct store_retention_due *due = store_retention_due(r->plan);
    bool is_held = false;
    enum fz_code code = store_retention_hold(w->store, r->plan, &is_held, err);
    r->is_allowed = code == FZ_OK && !is_held;
    *ret_is_over = is_held;
    if (code == FZ_OK && is_held)
        fz_log(FZ_LOG_WARN, "a sweep would delete much and waits for a confirmation",
               "project=%s reports=%llu of=%llu bodies=%llu symbols=%llu confirm=\"framezero prune "
               "--project %s --confirm\"",
               project->name, (unsigned long long)(due->n_aged + due->n_thinned),
               (unsigned long long)due->n_reports, (unsigned long long)due->n_bodies,
               (unsigned long long)due->n_symbols, project->name);
    if (code == FZ_OK && due->is_over)
        fz_log(FZ_LOG_WARN, "symbol files that are in use exceed the limit of a project",
               "project=%s", project->name);
    return code;
}

/* One step. */
static enum fz_code
step_project(struct worker *w, const struct store_project *project, struct fz_error *err)
{
    struct worker_retention *r = &w->retention;
    bool is_over = false;
    enum fz_code code;
    if (!r->plan)
        return begin(w, project->id, err);
    if (!r->is_looked)
        return store_retention_look(w->store, r->plan, &r->is_looked, err);
    code = r->is_allowed ? store_retention_portion(w->store, r->plan, &r->done, &is_over, err)
                         : hold(w, project, &is_over, err);
    if (code == FZ_E_CONFLICT) { /* the settings were changed, which makes the next sweep due */
        is_over = true;
        r->is_allowed = false;
        code = FZ_OK;
    }
    if (code == FZ_OK && is_over)
        end(w, project);
    return code;
}

/* ---- all projects ---- */

static enum fz_code
sweep_months(struct worker *w, struct fz_error *err)
{
    struct store_months_done done;
    enum fz_code code = store_months_sweep(w->store, &done, err);
    if (done.n_made + done.n_dropped + done.n_copied > 0)
        fz_log(FZ_LOG_INFO, "tables of months",
               "made=%llu dropped=%llu copied=%llu reports=%llu bytes=%llu",
               (unsigned long long)done.n_made, (unsigned long long)done.n_dropped,
               (unsigned long long)done.n_copied, (unsigned long long)done.n_reports,
               (unsigned long long)done.bytes);
    return code;
}

void
worker_retention_stop(struct worker *w)
{
    struct worker_retention *r = &w->retention;
    store_retention_plan_destroy(r->plan);
    if (r->projects)
        fz_arena_deinit(&r->arena);
    *r = (struct worker_retention){.due_ms = r->due_ms};
}

static enum fz_code
start(struct worker *w, bool *ret_is_ours, struct fz_error *err)
{
    struct worker_retention *r = &w->retention;
    enum fz_code code = store_duty_take(w->store, duty, DUTY_MS, ret_is_ours, err);
    if (code != FZ_OK || !*ret_is_ours)
        return code;
    r->arena = fz_arena_make(ARENA);
    r->at = 0;
    r->renewed_ms = fz_time_monotonic_ms();
    code = store_project_list(w->store, &r->arena, &r->projects, &r->n, err);
    if (code != FZ_OK || r->n == 0)
        fz_arena_deinit(&r->arena);
    return code;
}

static enum fz_code
step(struct worker *w, bool *ret_is_done, struct fz_error *err)
{
    struct worker_retention *r = &w->retention;
    int64_t now = fz_time_monotonic_ms(), every_ms = (int64_t)w->config->limits->retention_s * 1000;
    enum fz_code code = FZ_OK;
    *ret_is_done = false;
    if (!r->projects) {
        bool is_ours = false;
        code = start(w, &is_ours, err);
        *ret_is_done = code != FZ_OK || !is_ours;
    } else if (r->at < r->n) {
        if (now - r->renewed_ms > DUTY_MS / 2) {
            code = store_duty_keep(w->store, duty, DUTY_MS, err);
            r->renewed_ms = now;
        }
        if (code == FZ_OK)
            code = step_project(w, &r->projects[r->at], err);
    } else {
        worker_retention_stop(w);
        *ret_is_done = true;
        if (w->config->metrics)
            w->config->metrics->retention_sweeps++;
        code = store_duty_keep(w->store, duty, every_ms, err);
        /* After that: a table that others use must not make the whole sweep begin again. */
        if (code == FZ_OK)
            code = sweep_months(w, err);
    }
    return code;
}

bool
worker_retention(struct worker *w, bool is_busy)
{
    struct fz_error err;
    bool is_done = false;
    int64_t start = fz_time_monotonic_ms();
    if (w->retention.due_ms > start)
        return false;
    bool is_looking = w->retention.plan && !w->retention.is_looked;
    enum fz_code code = step(w, &is_done, &err);
    if (code != FZ_OK) {
        job_warn("old reports and symbol files cannot be deleted", &err);
        worker_retention_stop(w);
    }
    int64_t now = fz_time_monotonic_ms(), rest = is_looking ? REST * (now - start) : 0;
    w->retention.due_ms = now + (code != FZ_OK               ? TROUBLE_MS
                                 : is_done                   ? CHECK_MS
                                 : is_busy && rest < BUSY_MS ? BUSY_MS
                                                             : rest);
    return code == FZ_OK && !is_done && rest == 0;
}
