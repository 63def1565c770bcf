#include "storage/store_private.h"

#include <stdio.h>

#include "base/time.h"

/* The unhappy ends that an input is to blame for (lost leases, memory) count as strikes, of which
 * STORE_JOB_ATTEMPTS are allowed. An outage around us (UNAVAILABLE) is not the input's fault: with
 * a back-off of attempt^4 seconds this many attempts last for more than four hours. */
enum { ATTEMPTS_IN_OUTAGE = 10, DEATHS = 2 };

static const int64_t SWEEP_EVERY_MS = 60 * 1000;
/* A transient report is waited for by an HTTP request; nobody comes back after this. */
static const int64_t TRANSIENT_LIFE_MS = 15 * 60 * 1000;

/* ---- one job ---- */

enum fz_code
store_job_lock(struct store *store, const struct store_job *job, struct store_job_row *ret,
               struct fz_error *err)
{
    char text[256];
    snprintf(text, sizeof(text),
             "SELECT seen_seq, strikes, deaths, again FROM jobs WHERE id = $1 AND fence = $2 AND "
             "project_id = $3 AND kind = $4 AND subject = $5 AND state = 1%s",
             sql_driver(store->sql)->for_update);
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence),
                                     sql_int(job->project_id), sql_int(job->kind),
                                     sql_text(job->subject)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = sql_query(store->sql, text, args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return fz_fail(err, FZ_E_CONFLICT, "job %lld is no longer this worker's",
                       (long long)job->id);
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
                    "UPDATE jobs SET state = 0, due_ms = $2, queued_ms = $2, attempt = 0, strikes "
                    "= 0, deaths = 0, again = 0, worker = NULL WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- failure ---- */

/* Tell the subject of a job that it failed for good. */
static enum fz_code
fail_subject(struct store *store, const struct store_job *job, enum fz_code why, const char *text,
             struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject),
                                     sql_text(text), sql_int(why)};
    if (job->kind == STORE_JOB_UPLOAD)
        return sql_exec(store->sql,
                        "UPDATE uploads SET state = 'failed', error = $3, error_code = $4 "
                        "WHERE project_id = $1 AND id = $2",
                        args, 4, NULL, err);
    return sql_exec(store->sql,
                    "UPDATE reports SET status = 'failed', error = $3, wait_set = NULL, n_missing "
                    "= 0 WHERE project_id = $1 AND id = $2",
                    args, 3, NULL, err);
}

static enum fz_code
quarantine(struct store *store, const struct store_job *job, enum fz_code why, const char *text,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->id), sql_text(text)};
    enum fz_code code =
        sql_exec(store->sql, "UPDATE jobs SET state = 2, error = $2, worker = NULL WHERE id = $1",
                 args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? fail_subject(store, job, why, text, err) : code;
}

/* attempt^4 seconds and up to a quarter more, so that jobs that failed together come back apart. */
static int64_t
back_off_ms(unsigned attempt)
{
    uint32_t random;
    fz_random(&random, sizeof(random));
    int64_t n = attempt < ATTEMPTS_IN_OUTAGE ? attempt : ATTEMPTS_IN_OUTAGE;
    int64_t ms = n * n * n * n * 1000;
    return ms + (int64_t)random % (ms / 4 + 1);
}

static enum fz_code
try_again(struct store *store, const struct store_job *job, const struct store_job_row *row,
          int64_t delay_ms, struct fz_error *err)
{
    int64_t now;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->id), sql_int(now + delay_ms),
                                     sql_int(row->strikes), sql_int(row->deaths)};
    return sql_exec(store->sql,
                    "UPDATE jobs SET state = 0, due_ms = $2, strikes = $3, deaths = $4, again = 0, "
                    "worker = NULL WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
fail_locked(struct store *store, const struct store_job *job, struct store_job_row *row,
            enum fz_code why, const char *text, bool child_died, struct fz_error *err)
{
    if (child_died) {
        row->deaths++;
        if (row->deaths >= DEATHS)
            return quarantine(store, job, FZ_E_MALFORMED, text, err);
        return try_again(store, job, row, 0, err);
    }
    if (why == FZ_E_UNAVAILABLE || why == FZ_E_NO_MEMORY) {
        bool used_up = job->attempt >= ATTEMPTS_IN_OUTAGE;
        if (why == FZ_E_NO_MEMORY)
            used_up = row->strikes >= STORE_JOB_ATTEMPTS;
        else if (row->strikes > 0)
            row->strikes--;
        if (used_up)
            return quarantine(store, job, why, text, err);
        return try_again(store, job, row, back_off_ms(job->attempt), err);
    }
    enum fz_code code = fail_subject(store, job, why, text, err);
    if (code != FZ_OK)
        return code;
    return row->again ? store_job_requeue(store, job->id, err)
                      : store_job_delete(store, job->id, err);
}

enum fz_code
store_job_fail(struct store *store, const struct store_job *job, enum fz_code why, const char *text,
               bool child_died, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena;
    fz_arena_init(&arena, 64 * 1024);
    struct store_job_row row = {0};
    struct sql_value clean = sql_text_clean(&arena, text ? text : "", STORE_TEXT_LONG);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_job_lock(store, job, &row, err);
    if (code == FZ_OK)
        code = fail_locked(store, job, &row, why,
                           clean.kind == SQL_BAD ? "" : (const char *)clean.bytes.data, child_died,
                           err);
    if (code == FZ_OK)
        code = sql_notify(tx, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_job_release(struct store *store, const struct store_job *job, struct fz_error *err)
{
    int64_t now;
    uint64_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence), sql_int(now)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE jobs SET state = 0, due_ms = $3, attempt = attempt - 1, strikes = "
                        "strikes - 1, again = 0, worker = NULL "
                        "WHERE id = $1 AND fence = $2 AND state = 1",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_CONFLICT, "job %lld is no longer this worker's",
                       (long long)job->id);
    if (code == FZ_OK)
        code = sql_notify(tx, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum { RECLAIM_ARENA = 1024 * 1024 };

/* The names of all workers that hold a lease. */
static enum fz_code
leasing_workers(struct store *store, struct fz_arena *arena, const char ***ret, size_t *ret_n,
                struct fz_error *err)
{
    const char **names = NULL;
    size_t n = 0, room = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = sql_query(
        store->sql, "SELECT DISTINCT worker FROM jobs WHERE state = 1 AND worker IS NOT NULL", NULL,
        0, &rows, err);
    while (code == FZ_OK && (code = sql_next(&rows, &row, err)) == FZ_OK && row) {
        names = store_grow(arena, names, n, &room, sizeof(*names));
        if (!names || !(names[n++] = sql_col_text(&rows, 0, arena)))
            return fz_arena_fail(arena, err);
    }
    *ret = names;
    *ret_n = n;
    return code;
}

enum fz_code
store_job_reclaim(struct store *store, store_worker_gone_fn is_gone, void *user, uint64_t *ret_n,
                  struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena;
    fz_arena_init(&arena, RECLAIM_ARENA);
    const char **names = NULL;
    size_t n_names = 0;
    uint64_t n_jobs = 0;
    int64_t now;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code == FZ_OK)
        code = leasing_workers(store, &arena, &names, &n_names, err);
    for (size_t i = 0; code == FZ_OK && i < n_names; i++) {
        if (!is_gone(user, names[i]))
            continue;
        const struct sql_value args[] = {sql_text(names[i]), sql_int(now)};
        uint64_t n = 0;
        FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
        code = sql_begin(store->sql, &tx, err);
        if (code == FZ_OK)
            code = sql_exec(tx,
                            "UPDATE jobs SET state = 0, due_ms = $2, attempt = attempt - 1, "
                            "strikes = strikes - 1, again = 0, worker = NULL "
                            "WHERE worker = $1 AND state = 1",
                            args, FZ_ARRAY_LEN(args), &n, err);
        if (code == FZ_OK)
            code = sql_notify(tx, err);
        if (code == FZ_OK)
            code = sql_commit(&tx, err);
        n_jobs += n;
    }
    if (code == FZ_OK)
        *ret_n = n_jobs;
    return code;
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
    char text[640];
    snprintf(text, sizeof(text),
             "WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE state < 2 AND kind = $1 AND "
             "due_ms <= $2 ORDER BY due_ms, id LIMIT $3%s) "
             "UPDATE jobs SET state = 1, fence = fence + 1, attempt = attempt + 1, "
             "strikes = strikes + 1, due_ms = $4, worker = $5, "
             "seen_seq = (SELECT symbol_seq FROM projects WHERE projects.id = jobs.project_id) "
             "WHERE id IN (SELECT id FROM due) "
             "RETURNING id, project_id, subject, attempt, fence, queued_ms, strikes",
             sql_driver(tx)->skip_locked);
    const struct sql_value args[] = {sql_int(kind), sql_int(claim->now), sql_int((int64_t)max),
                                     sql_int(claim->now + claim->lease_ms),
                                     sql_text(claim->worker)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = sql_query(tx, text, args, FZ_ARRAY_LEN(args), &rows, err);
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
        if (claim->strikes[i] <= STORE_JOB_ATTEMPTS) {
            claim->jobs[kept++] = claim->jobs[i];
            continue;
        }
        char text[128];
        snprintf(text, sizeof(text), "given up after %d attempts whose worker was lost",
                 STORE_JOB_ATTEMPTS);
        enum fz_code code = quarantine(store, &claim->jobs[i], FZ_E_INTERNAL, text, err);
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
    code = sql_exec(store->sql,
                    "UPDATE jobs SET due_ms = $3 WHERE id = $1 AND fence = $2 AND state = 1", args,
                    FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_CONFLICT, "job %lld is no longer this worker's",
                       (long long)job->id);
    return code;
}
