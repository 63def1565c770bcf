#include "storage/store_private.h"

#include <stdio.h>

#include "base/time.h"

static const int64_t SWEEP_EVERY_MS = 60 * 1000;
/* A transient report is waited for by an HTTP request; nobody comes back after this. */
static const int64_t TRANSIENT_LIFE_MS = 15 * 60 * 1000;

/* A job is not to blame if its worker ended together with the server (store_job_reclaim), but one
 * that takes the machine down with it each time must come to an end too. */
static const unsigned ATTEMPTS_EVER = 20;

/* ---- one job ---- */

enum fz_code
store_job_not_ours(const struct store_job *job, struct fz_error *err)
{
    return fz_fail(err, FZ_E_CONFLICT, "job %lld is no longer this worker's", (long long)job->id);
}

/* A fence grows when a lease begins and when it ends, so (id, fence) alone tells a lease that
 * holds. Queries name nothing else: a plan made for an empty queue could take the index on another
 * column, which half a million jobs have in common. */
enum fz_code
store_job_lock(struct store *store, const struct store_job *job, struct store_job_row *ret,
               struct fz_error *err)
{
    char text[160];
    snprintf(text, sizeof(text),
             "SELECT seen_seq, strikes, deaths, again, project_id, kind, subject FROM jobs "
             "WHERE id = $1 AND fence = $2%s",
             sql_driver(store->sql)->for_update);
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = sql_query(store->sql, text, args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err);
    if (code != FZ_OK)
        return code;
    if (!row || sql_col_int(&rows, 4) != job->project_id ||
        sql_col_int(&rows, 5) != (int64_t)job->kind ||
        !fz_span_is(sql_col_bytes(&rows, 6), job->subject))
        return store_job_not_ours(job, err);
    *ret = (struct store_job_row){.seen_seq = sql_col_int(&rows, 0),
                                  .strikes = sql_col_int(&rows, 1),
                                  .deaths = sql_col_int(&rows, 2),
                                  .again = sql_col_int(&rows, 3) != 0};
    return FZ_OK;
}

enum fz_code
store_job_delete(struct store *store, int64_t id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    return sql_exec(store->sql, "DELETE FROM jobs WHERE id = $1", args, 1, NULL, err);
}

enum fz_code
store_job_requeue(struct store *store, int64_t id, struct fz_error *err)
{
    int64_t now;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(id), sql_int(now)};
    return sql_exec(store->sql,
                    "UPDATE jobs SET state = 0, fence = fence + 1, due_ms = $2, queued_ms = $2, "
                    "attempt = 0, strikes = 0, deaths = 0, again = 0, worker = NULL WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- claim ---- */

/* Reports that nobody came to fetch; with luck one worker finds the time once a minute. */
static void
sweep_transient(struct store *store)
{
    int64_t mono = fz_time_monotonic_ms(), now;
    if (store->swept_ms != 0 && mono - store->swept_ms < SWEEP_EVERY_MS)
        return;
    store->swept_ms = mono;
    if (sql_now(store->sql, &now, NULL) != FZ_OK)
        return;
    const struct sql_value args[] = {sql_int(now - TRANSIENT_LIFE_MS)};
    int64_t one;
    bool found = false;
    fz_ignore(sql_number(store->sql,
                         "SELECT 1 FROM reports WHERE transient = 1 AND received_ms < $1 LIMIT 1",
                         args, 1, &one, &found, NULL)); /* the next sweep finds them too */
    if (!found)
        return;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, NULL);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "DELETE FROM jobs WHERE kind = 1 AND EXISTS (SELECT 1 FROM reports r WHERE "
                        "r.project_id = jobs.project_id AND r.id = jobs.subject AND r.transient = "
                        "1 AND r.received_ms < $1)",
                        args, 1, NULL, NULL);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM reports WHERE transient = 1 AND received_ms < $1", args, 1,
                        NULL, NULL);
    if (code == FZ_OK)
        fz_ignore(sql_commit(&tx, NULL)); /* the same */
}

static enum fz_code
any_due(struct store *store, int64_t now, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(now)};
    int64_t one;
    return sql_number(store->sql,
                      "SELECT 1 FROM jobs WHERE state < 2 AND kind IN (1, 2) AND due_ms <= $1 "
                      "LIMIT 1",
                      args, 1, &one, ret, err);
}

struct claim {
    const char *worker;
    int64_t now, lease_ms;
    struct store_job *jobs;
    size_t n;
    int64_t *strikes; /* of each job */
};

/* Lease up to `max` due jobs of one kind, oldest first. seen_seq is read in the same statement, so
 * whatever symbol files are counted in it were visible before the worker looks anything up. */
static enum fz_code
claim_kind(struct sql *tx, struct claim *claim, enum store_job_kind kind, size_t max,
           struct fz_error *err)
{
    if (max == 0)
        return FZ_OK;
    const struct sql_driver *driver = sql_driver(tx);
    char text[640];
    snprintf(text, sizeof(text),
             "WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE state < 2 AND kind = $1 AND "
             "due_ms <= $2 ORDER BY due_ms, id LIMIT $3%s) "
             "UPDATE jobs SET state = 1, fence = fence + 1, attempt = attempt + 1, "
             "strikes = strikes + 1, due_ms = $4, worker = $5, "
             "seen_seq = (SELECT symbol_seq FROM projects WHERE projects.id = jobs.project_id) "
             "WHERE id %sSELECT id FROM due%s "
             "RETURNING id, project_id, subject, attempt, fence, queued_ms, strikes",
             driver->skip_locked, driver->in_few, driver->in_few_end);
    const struct sql_value args[] = {sql_int(kind), sql_int(claim->now), sql_int((int64_t)max),
                                     sql_int(claim->now + claim->lease_ms),
                                     sql_text(claim->worker)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    /* Planned each time: the best plan for an empty queue is the worst for a full one. */
    enum fz_code code = sql_query_once(tx, text, args, FZ_ARRAY_LEN(args), &rows, err);
    while (code == FZ_OK && (code = sql_next(&rows, &row, err)) == FZ_OK && row) {
        struct store_job *job = &claim->jobs[claim->n];
        *job = (struct store_job){.id = sql_col_int(&rows, 0),
                                  .kind = kind,
                                  .project_id = sql_col_int(&rows, 1),
                                  .attempt = (unsigned)sql_col_int(&rows, 3),
                                  .fence = sql_col_int(&rows, 4),
                                  .queued_ms = sql_col_int(&rows, 5)};
        sql_col_copy(&rows, 2, job->subject, sizeof(job->subject));
        claim->strikes[claim->n++] = sql_col_int(&rows, 6);
    }
    return code;
}

/* Take out of the claim what has been tried too often. */
static enum fz_code
drop_used_up(struct store *store, struct claim *claim, struct fz_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < claim->n; i++) {
        struct store_job *job = &claim->jobs[i];
        if (claim->strikes[i] <= STORE_JOB_ATTEMPTS && job->attempt <= ATTEMPTS_EVER) {
            claim->jobs[kept++] = *job;
            continue;
        }
        char text[128];
        snprintf(text, sizeof(text), "given up after %u attempts whose worker was lost",
                 job->attempt - 1);
        enum fz_code code = store_job_quarantine(store, job, FZ_E_INTERNAL, text, err);
        if (code != FZ_OK)
            return code;
    }
    claim->n = kept;
    return FZ_OK;
}

enum { CLAIM_MAX = 64 };

enum fz_code
store_job_claim(struct store *store, const char *worker, size_t max, int64_t lease_ms,
                struct store_job *ret, size_t *ret_n, struct fz_error *err)
{
    struct store_job jobs[CLAIM_MAX];
    int64_t strikes[CLAIM_MAX];
    if (max > CLAIM_MAX)
        max = CLAIM_MAX;
    /* Not due again within this very claim, whatever the caller asks for. */
    if (lease_ms < 1)
        lease_ms = 1;
    struct claim claim = {.worker = worker, .lease_ms = lease_ms, .jobs = jobs, .strikes = strikes};
    bool due = false;
    enum fz_code code = sql_now(store->sql, &claim.now, err);
    if (code == FZ_OK)
        code = any_due(store, claim.now, &due, err);
    if (code != FZ_OK)
        return code;
    if (!due || max == 0) {
        *ret_n = 0;
        sweep_transient(store);
        return FZ_OK;
    }
    /* The two kinds share what is free, and take turns at the odd one, so that neither a flood of
     * reports nor one of dSYMs keeps the other waiting. */
    bool uploads_first = store->n_claims++ % 2 == 0;
    enum store_job_kind first = uploads_first ? STORE_JOB_UPLOAD : STORE_JOB_REPORT;
    enum store_job_kind second = uploads_first ? STORE_JOB_REPORT : STORE_JOB_UPLOAD;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = claim_kind(tx, &claim, first, (max + 1) / 2, err);
    if (code == FZ_OK)
        code = claim_kind(tx, &claim, second, max - claim.n, err);
    if (code == FZ_OK)
        code = claim_kind(tx, &claim, first, max - claim.n, err);
    size_t n_claimed = claim.n;
    if (code == FZ_OK)
        code = drop_used_up(store, &claim, err);
    if (code == FZ_OK && claim.n < n_claimed)
        code = sql_notify(tx, err); /* somebody may be waiting for the report that was given up */
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code != FZ_OK)
        return code;
    if (claim.n)
        memcpy(ret, jobs, claim.n * sizeof(*ret));
    *ret_n = claim.n;
    return FZ_OK;
}

enum fz_code
store_job_heartbeat(struct store *store, const struct store_job *job, int64_t lease_ms,
                    struct fz_error *err)
{
    int64_t now;
    uint64_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence),
                                     sql_int(now + lease_ms)};
    code = sql_exec(store->sql, "UPDATE jobs SET due_ms = $3 WHERE id = $1 AND fence = $2", args,
                    FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return store_job_not_ours(job, err);
    return code;
}
