#include "storage/store_jobs.h"

#include <stdio.h>

#include "base/time.h"
#include "storage/store_private.h"

static const int64_t SWEEP_EVERY_MS = 60 * 1000;
/* An HTTP request waits for a transient report; after this time none comes back for it. */
static const int64_t TRANSIENT_LIFE_MS = 15 * 60 * 1000;

/* ---- one job ---- */

enum fz_code
store_job_not_ours(const struct store_job *job, struct fz_error *err)
{
    return fz_fail(err, FZ_E_CONFLICT, "job %lld is no longer this worker's", (long long)job->id);
}

/* A fence grows when a lease begins and when it ends, so (id, fence) alone identifies a lease that
 * holds. Queries name nothing else: a plan made for an empty queue could take the index on another
 * column, which half a million jobs have in common. */
enum fz_code
store_job_lock(struct store *store, const struct store_job *job, struct store_job_row *ret,
               struct fz_error *err)
{
    char text[320];
    snprintf(
        text, sizeof(text),
        "SELECT seen_seq, strikes, deaths, again, project_id, kind, subject, (SELECT "
        "rules_version FROM projects p WHERE p.id = project_id), (SELECT sealed_ms FROM "
        "projects p WHERE p.id = project_id), outages FROM jobs WHERE id = $1 AND fence = $2%s",
        store->sql->driver->for_update);
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, text, args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    /* Compared here rather than in the query, for the plan's sake (see above). */
    if (!row || sql_col_int(&rows, 4) != job->project_id ||
        sql_col_int(&rows, 5) != (int64_t)job->kind ||
        !fz_span_is(sql_col_bytes(&rows, 6), job->subject))
        return store_job_not_ours(job, err);
    *ret = (struct store_job_row){.seen_seq = sql_col_int(&rows, 0),
                                  .strikes = sql_col_int(&rows, 1),
                                  .deaths = sql_col_int(&rows, 2),
                                  .again = sql_col_int(&rows, 3) != 0,
                                  .rules_version = sql_col_int(&rows, 7),
                                  .sealed_ms = sql_col_int(&rows, 8),
                                  .outages = sql_col_int(&rows, 9)};
    return FZ_OK;
}

enum fz_code
store_job_delete(struct store *store, int64_t id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    return sql_exec(store->sql, "DELETE FROM jobs WHERE id = $1", args, 1, NULL, err);
}

enum fz_code
store_job_add(struct sql *tx, int64_t project_id, enum store_job_kind kind, const char *subject,
              const char *reader, enum store_priority priority, struct fz_error *err)
{
    struct store_job_time time;
    enum fz_code code = store_job_time(tx, &time, err);
    if (code != FZ_OK)
        return code;
    const struct store_job_new job = {project_id, kind, subject, reader, priority};
    return store_job_add_at(tx, &job, &time, err);
}

enum fz_code
store_job_time(struct sql *tx, struct store_job_time *ret, struct fz_error *err)
{
    struct store_job_time time;
    enum fz_code code = sql_now(tx, &time.now_ms, err);
    if (code == FZ_OK && tx->driver->clock == tx->driver->now)
        time.clock_ms = time.now_ms;
    else if (code == FZ_OK)
        code = sql_clock(tx, &time.clock_ms, err);
    if (code == FZ_OK)
        *ret = time;
    return code;
}

enum fz_code
store_job_add_at(struct sql *tx, const struct store_job_new *job, const struct store_job_time *time,
                 struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_int(job->kind),
                                     sql_text(job->subject),   sql_int(job->priority),
                                     sql_int(time->now_ms),    sql_int(time->clock_ms),
                                     sql_text(job->reader)};
    return sql_exec(tx,
                    "INSERT INTO jobs (project_id, kind, subject, priority, due_ms, queued_ms, "
                    "since_ms, reader) VALUES ($1, $2, $3, $4, 0, $5, $6, $7)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_job_requeue(struct store *store, int64_t id, bool asked, struct fz_error *err)
{
    int64_t now, clock;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code == FZ_OK)
        code = sql_clock(store->sql, &clock, err);
    if (code != FZ_OK)
        return code;
    /* A fresh report whose symbols came while it was done stays fresh. What is done again may be
     * done by a newer program, which detects formats better: the reader goes. */
    const struct sql_value args[] = {sql_int(id), sql_int(now), sql_int(clock), sql_int(asked)};
    return sql_exec(store->sql,
                    "UPDATE jobs SET state = 0, fence = fence + 1, due_ms = 0, queued_ms = $2, "
                    "since_ms = $3, priority = CASE WHEN $4 = 1 AND priority > 1 THEN 1 ELSE "
                    "priority END, attempt = 0, strikes = 0, deaths = 0, outages = 0, again = 0, "
                    "worker = NULL, reader = NULL WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- leases ---- */

/* Transient reports that were not fetched; about once a minute one worker does it. */
void
store_sweep_transient(struct store *store)
{
    /* Two clocks: this process's for how often, the database's for which reports are old. */
    int64_t mono = fz_time_monotonic_ms(), now;
    if (store->swept_ms != 0 && mono - store->swept_ms < SWEEP_EVERY_MS)
        return;
    store->swept_ms = mono;
    /* No one asked for this, so no one gets the error: the next worker tries again. */
    if (sql_now(store->sql, &now, NULL) != FZ_OK)
        return;
    const struct sql_value args[] = {sql_int(now - TRANSIENT_LIFE_MS)};
    bool found = false;
    fz_ignore(sql_number(store->sql,
                         "SELECT 1 FROM reports WHERE transient = 1 AND received_ms < $1 LIMIT 1",
                         args, 1, NULL, &found, NULL)); /* the next sweep finds them too */
    if (!found)
        return;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, NULL);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        /* Jobs first: they are found by their reports. */
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

enum fz_code
store_job_heartbeat(struct store *store, const struct store_job *job, int64_t lease_ms,
                    struct fz_error *err)
{
    int64_t now;
    uint64_t n = 0;
    enum fz_code code = sql_clock(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(job->id), sql_int(job->fence),
                                     sql_int(now + (lease_ms < 1 ? 1 : lease_ms))};
    /* It may have run out and be due again; until another worker claims it, it is still ours. */
    code =
        sql_exec(store->sql, "UPDATE jobs SET due_ms = $3, state = 1 WHERE id = $1 AND fence = $2",
                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return store_job_not_ours(job, err);
    return code;
}
