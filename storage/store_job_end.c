/*
 * The ends of jobs other than success: failure, quarantine, and giving back.
 */
#include "base/random.h"
#include "storage/store_changed.h"

/* Failures that the input may be the cause of (lost leases, memory) count as strikes, of which
 * STORE_JOB_ATTEMPTS are allowed. An outage around us (UNAVAILABLE) is not the input's fault: with
 * a back-off of n^4 seconds after the n-th of them this many last for more than four hours. */
enum { OUTAGES = 10, DEATHS = 2 };

/* ---- failure ---- */

/* Mark the subject of a job as failed for good. */
static enum fz_code
fail_subject(struct store *store, const struct store_job *job, enum fz_code why, const char *text,
             bool is_kept, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject),
                                     sql_text(text), sql_int(why),
                                     sql_text(is_kept ? "quarantined" : "failed")};
    struct store_changed changed = {.project_id = job->project_id};
    /* An upload's body is of no use any more, unless it is in quarantine; a report's is kept, to be
     * done again. */
    if (job->kind == STORE_JOB_UPLOAD) {
        enum fz_code code = sql_exec(store->sql,
                                     "UPDATE uploads SET state = $5, error = $3, error_code = $4 "
                                     "WHERE project_id = $1 AND id = $2",
                                     args, 5, NULL, err);
        if (code == FZ_OK && !is_kept)
            code = store_upload_drop_blob(store->sql, job, err);
        changed.n[STORE_CHANGE_UPLOAD] = 1;
        changed.upload = job->subject;
        return code == FZ_OK ? store_changed_count(store, &changed, err) : code;
    }
    int64_t is_transient = 0;
    enum fz_code code =
        sql_number(store->sql,
                   "UPDATE reports SET status = 'failed', error = $3, wait_set = NULL, n_missing "
                   "= 0 WHERE key = " STORE_REPORT_KEY " RETURNING transient",
                   args, 3, &is_transient, NULL, err);
    changed.n[STORE_CHANGE_REPORT] = !is_transient;
    changed.report = job->subject;
    return code == FZ_OK ? store_changed_count(store, &changed, err) : code;
}

enum fz_code
store_job_quarantine(struct store *store, const struct store_job *job, enum fz_code why,
                     const char *text, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->id), sql_text(text)};
    enum fz_code code = sql_exec(
        store->sql,
        "UPDATE jobs SET state = 2, fence = fence + 1, error = $2, worker = NULL WHERE id = $1",
        args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? fail_subject(store, job, why, text, true, err) : code;
}

/* n^4 seconds and up to a quarter more, so that jobs that failed together do not come back
 * together. Attempts that ended with their server do not count: a job that saw six restarts would
 * wait for twenty minutes for memory that is there again in a second. */
static int64_t
back_off_ms(int64_t n)
{
    uint32_t random;
    fz_random(&random, sizeof(random));
    int64_t ms = n * n * n * n * 1000;
    return ms + (int64_t)random % (ms / 4 + 1);
}

static enum fz_code
try_again(struct store *store, const struct store_job *job, const struct store_job_row *row,
          int64_t delay_ms, struct fz_error *err)
{
    int64_t now;
    enum fz_code code = sql_clock(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->id), sql_int(delay_ms ? now + delay_ms : 0),
                                     sql_int(row->strikes), sql_int(row->deaths),
                                     sql_int(row->outages)};
    return sql_exec(store->sql,
                    "UPDATE jobs SET state = 0, fence = fence + 1, due_ms = $2, strikes = $3, "
                    "deaths = $4, outages = $5, again = 0, "
                    "worker = NULL WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
fail_locked(struct store *store, const struct store_job *job, struct store_job_row *row,
            enum fz_code why, const char *text, bool child_died, struct fz_error *err)
{
    if (child_died) {
        /* Tried again at once: the first death may have been the machine's memory, not the
         * input. */
        row->deaths++;
        /* A child that dies twice on the same input does so because of it: MALFORMED. */
        if (row->deaths >= DEATHS)
            return store_job_quarantine(store, job, FZ_E_MALFORMED, text, err);
        return try_again(store, job, row, 0, err);
    }
    if (why == FZ_E_UNAVAILABLE || why == FZ_E_NO_MEMORY) {
        row->outages++;
        bool used_up = row->outages >= OUTAGES;
        if (why == FZ_E_NO_MEMORY)
            used_up = row->strikes >= STORE_JOB_ATTEMPTS;
        /* The claim has counted a strike, but the outage is not the input's fault. */
        else if (row->strikes > 0)
            row->strikes--;
        if (used_up)
            return store_job_quarantine(store, job, why, text, err);
        return try_again(store, job, row, back_off_ms(row->outages), err);
    }
    enum fz_code code = fail_subject(store, job, why, text, false, err);
    if (code != FZ_OK)
        return code;
    /* Somebody asked for it once more while it ran. */
    return row->again ? store_job_requeue(store, job->id, true, err)
                      : store_job_delete(store, job->id, err);
}

enum fz_code
store_job_fail(struct store *store, const struct store_job *job, enum fz_code why, const char *text,
               bool child_died, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    struct store_job_row row = {0};
    /* The text may quote the input, and PostgreSQL refuses what is not UTF-8. */
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
        sql_notify(tx);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_job_postpone(struct store *store, const struct store_job *job, int64_t delay_ms,
                   struct fz_error *err)
{
    struct store_job_row row = {0};
    uint32_t random;
    fz_random(&random, sizeof(random));
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_job_lock(store, job, &row, err);
    if (row.strikes > 0)
        row.strikes--;
    if (code == FZ_OK)
        code = try_again(store, job, &row, delay_ms + random % (delay_ms / 4 + 1), err);
    /* All attempts together have a limit, too. */
    const struct sql_value args[] = {sql_int(job->id)};
    if (code == FZ_OK)
        code =
            sql_exec(tx, "UPDATE jobs SET attempt = attempt - 1 WHERE id = $1", args, 1, NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_job_release(struct store *store, const struct store_job *job, struct fz_error *err)
{
    uint64_t n = 0;
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE jobs SET state = 0, fence = fence + 1, due_ms = 0, attempt = "
                        "attempt - 1, strikes = "
                        "strikes - 1, again = 0, worker = NULL "
                        "WHERE id = $1 AND fence = $2",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return store_job_not_ours(job, err);
    if (code == FZ_OK)
        sql_notify(tx);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    /* The claim has charged for work that was not done. */
    if (code == FZ_OK)
        store_fair_refund(&store->fair, job->kind, job->project_id, job->charged_us);
    return code;
}

/* ---- what an earlier run left ---- */

/* Leases and back-offs of an earlier boot are over, and only the calendar says how long jobs have
 * waited since then. */
static enum fz_code
leave_boot(struct sql *tx, const char *boot, struct fz_error *err)
{
    int64_t now = 0, clock = 0;
    enum fz_code code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_clock(tx, &clock, err);
    /* since_ms is in the clock of the new boot, which began at 0. */
    const struct sql_value name[] = {sql_text(boot)}, args[] = {sql_int(now), sql_int(clock)};
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM queue_clock", NULL, 0, NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "INSERT INTO queue_clock (boot) VALUES ($1)", name, 1, NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE jobs SET due_ms = CASE WHEN due_ms > 0 THEN 1 ELSE 0 END, "
                        "since_ms = $2 - CASE WHEN queued_ms < $1 THEN $1 - queued_ms ELSE 0 END "
                        "WHERE state < 2",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

static enum fz_code
check_boot(struct store *store, struct fz_error *err)
{
    char boot[SQL_BOOT_TEXT];
    bool same = false;
    /* Only SQLite has one: PostgreSQL's clock goes on over a restart. */
    sql_boot(store->sql, boot);
    const struct sql_value args[] = {sql_text(boot)};
    enum fz_code code = sql_number(store->sql, "SELECT 1 FROM queue_clock WHERE boot = $1", args, 1,
                                   NULL, &same, err);
    if (code != FZ_OK || same)
        return code;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = leave_boot(tx, boot, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum { RECLAIM_ARENA = 1024 * 1024 };

/* The names of all workers that hold a lease. */
static enum fz_code
leasing_workers(struct store *store, struct fz_arena *arena, const char ***ret, size_t *ret_n,
                struct fz_error *err)
{
    struct sql_list list = {.arena = arena, .item = sizeof(const char *)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql, "SELECT DISTINCT worker FROM jobs WHERE state = 1 AND worker IS NOT NULL", NULL,
        0, &rows, err);
    for (const char **name; (name = sql_list_next(&rows, &list, &code, err));)
        *name = sql_col_text(&rows, 0, arena);
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_job_reclaim(struct store *store, store_worker_gone_fn is_gone, void *user, uint64_t *ret_n,
                  struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(RECLAIM_ARENA);
    const char **names = NULL;
    size_t n_names = 0;
    uint64_t n_jobs = 0;
    enum fz_code code = check_boot(store, err);
    if (code == FZ_OK)
        code = leasing_workers(store, &arena, &names, &n_names, err);
    for (size_t i = 0; code == FZ_OK && i < n_names; i++) {
        /* Workers of other machines, and of this one that outlived the server, keep their
         * leases. */
        if (!is_gone(user, names[i]))
            continue;
        const struct sql_value args[] = {sql_text(names[i])};
        uint64_t n = 0;
        FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
        code = sql_begin(store->sql, &tx, err);
        if (code == FZ_OK)
            code = sql_exec(tx,
                            /* The fence grows: should such a worker be alive after all, its results
                             * are refused. */
                            "UPDATE jobs SET state = 0, fence = fence + 1, due_ms = 0, "
                            "strikes = strikes - 1, again = 0, worker = NULL "
                            "WHERE worker = $1 AND state = 1",
                            args, FZ_ARRAY_LEN(args), &n, err);
        if (code == FZ_OK)
            sql_notify(tx);
        if (code == FZ_OK)
            code = sql_commit(&tx, err);
        n_jobs += n;
    }
    if (code == FZ_OK)
        *ret_n = n_jobs;
    return code;
}
