/*
 * The reports that wait for symbol files which have come: queued again, in portions.
 *
 * A late dSYM may concern a hundred thousand reports. One transaction for all of them would keep
 * every other writer waiting for seconds, so each takes a few hundred, in the order of the index
 * (wait set, time, key), and the others get their turn in between. Each portion also prolongs the
 * lease and counts into the upload's row, so that the count is right even if another worker has to
 * go on after this one.
 */
#include "storage/store_private.h"

#include "base/time.h"

static const int64_t LEASE_MS = 60 * 1000;
/* Rows of a portion, and the least time that others get after it. */
enum { PORTION = 500, PAUSE_MS = 5 };

struct portion {
    int64_t project_id, set, last_report; /* reports that came later found the file themselves */
    int64_t after_ms, after_key;
    uint64_t n_queued;
    bool is_last;
};

/* The wait sets that hold one of the images, in the arena. */
static enum fz_code
find_sets(struct store *store, const struct store_job *job, const struct store_uuids *uuids,
          struct fz_arena *arena, int64_t **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), store_uuids_value(uuids),
                                     sql_int((int64_t)uuids->n)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(int64_t)};
    enum fz_code code = sql_query(
        store->sql,
        "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 < $3) "
        "SELECT DISTINCT w.set_key FROM wait_set_items w WHERE w.project_id = $1 AND w.uuid IN "
        "(SELECT substr($2, 16 * i + 1, 16) FROM at)",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (int64_t *set; (set = sql_list_next(&rows, &list, &code, err));)
        *set = sql_col_int(&rows, 0);
    return sql_list_done(&list, code, ret, ret_n);
}

/* Where the portion ends: the last of its reports. */
static enum fz_code
find_end(struct sql *tx, struct portion *portion, int64_t *ret_ms, int64_t *ret_key,
         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(portion->project_id), sql_int(portion->set),
                                     sql_int(portion->after_ms), sql_int(portion->after_key),
                                     sql_int(PORTION)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(tx,
                  "SELECT received_ms, key FROM reports WHERE project_id = $1 AND wait_set = $2 "
                  "AND wait_set IS NOT NULL AND (received_ms, key) > ($3, $4) "
                  "ORDER BY received_ms, key LIMIT 1 OFFSET $5 - 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    /* Less than a portion is left, so the last one takes all. */
    portion->is_last = !row;
    *ret_ms = row ? sql_col_int(&rows, 0) : INT64_MAX;
    *ret_key = row ? sql_col_int(&rows, 1) : INT64_MAX;
    return code;
}

static enum fz_code
queue_portion(struct sql *tx, struct portion *portion, struct fz_error *err)
{
    int64_t now = 0, clock = 0, end_ms = 0, end_key = 0;
    enum fz_code code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_clock(tx, &clock, err);
    if (code == FZ_OK)
        code = find_end(tx, portion, &end_ms, &end_key, err);
    const struct sql_value args[] = {sql_int(portion->project_id),
                                     sql_int(portion->set),
                                     sql_int(portion->after_ms),
                                     sql_int(portion->after_key),
                                     sql_int(end_ms),
                                     sql_int(end_key),
                                     sql_int(now),
                                     sql_int(clock),
                                     sql_int(portion->last_report)};
    if (code == FZ_OK)
        code = sql_exec(
            tx,
            "INSERT INTO jobs (project_id, kind, subject, priority, due_ms, queued_ms, since_ms) "
            "SELECT project_id, 1, id, 2, 0, $7, $8 FROM reports WHERE project_id = $1 AND "
            "wait_set = $2 AND wait_set IS NOT NULL AND (received_ms, key) > ($3, $4) AND "
            "(received_ms, key) <= ($5, $6) AND key <= $9 ORDER BY received_ms, key "
            "ON CONFLICT (project_id, kind, subject) DO NOTHING",
            args, FZ_ARRAY_LEN(args), &portion->n_queued, err);
    /* Also if none was queued: those that have a job already are passed over. */
    portion->after_ms = end_ms;
    portion->after_key = end_key;
    return code;
}

/* Count what was queued, and have the time for more. */
static enum fz_code
note_portion(struct sql *tx, const struct store_job *job, uint64_t n, struct fz_error *err)
{
    int64_t clock = 0;
    enum fz_code code = sql_clock(tx, &clock, err);
    const struct sql_value count[] = {sql_int(job->project_id), sql_text(job->subject),
                                      sql_int((int64_t)n)};
    const struct sql_value lease[] = {sql_int(job->id), sql_int(clock + LEASE_MS)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE uploads SET n_unblocked = n_unblocked + $3 WHERE project_id = $1 "
                        "AND id = $2",
                        count, FZ_ARRAY_LEN(count), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "UPDATE jobs SET due_ms = $2, state = 1 WHERE id = $1", lease,
                        FZ_ARRAY_LEN(lease), NULL, err);
    return code;
}

static enum fz_code
do_portion(struct store *store, const struct store_job *job, struct portion *portion,
           struct fz_error *err)
{
    struct store_job_row row = {0};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* Each portion checks the fence again: the lease may have ended during the pause. */
        code = store_job_lock(store, job, &row, err);
    if (code == FZ_OK)
        code = queue_portion(tx, portion, err);
    if (code == FZ_OK)
        code = note_portion(tx, job, portion->n_queued, err);
    if (code == FZ_OK)
        sql_notify(tx);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
unblock_set(struct store *store, const struct store_job *job, int64_t set, int64_t last_report,
            struct fz_error *err)
{
    /* One set after the other, since the index that portions go by begins with the set. */
    struct portion at = {.project_id = job->project_id,
                         .set = set,
                         .last_report = last_report,
                         .after_ms = INT64_MIN,
                         .after_key = INT64_MIN};
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && !at.is_last) {
        struct portion next;
        int n_tries = 0;
        int64_t began = fz_time_monotonic_ms();
        do {
            next = at; /* a portion that was rolled back is done again */
            code = do_portion(store, job, &next, err);
        } while (sql_try_again(store->sql, code, &n_tries));
        at = next;
        int64_t took = fz_time_monotonic_ms() - began;
        if (!at.is_last) /* as long again for those who wait for the database */
            fz_time_sleep_ms(took > PAUSE_MS ? took : PAUSE_MS);
    }
    return code;
}

enum fz_code
store_unblock(struct store *store, const struct store_job *job, const struct store_symbol *symbols,
              size_t n, int64_t last_report, struct fz_arena *arena, struct fz_error *err)
{
    struct fz_uuid *ready = fz_arena_array(arena, n, sizeof(*ready));
    if (!ready)
        return fz_arena_fail(arena, err);
    size_t n_ready = 0, n_sets = 0;
    for (size_t i = 0; i < n; i++)
        /* Maps and broken files give no report a name. */
        if (symbols[i].state == STORE_SYMBOL_READY && store_symbol_is_image(&symbols[i]))
            ready[n_ready++] = symbols[i].uuid;
    if (n_ready == 0)
        return FZ_OK;
    struct store_uuids uuids;
    int64_t *sets = NULL;
    enum fz_code code = store_uuids_sort(ready, n_ready, arena, &uuids, err);
    if (code == FZ_OK)
        code = find_sets(store, job, &uuids, arena, &sets, &n_sets, err);
    for (size_t i = 0; code == FZ_OK && i < n_sets; i++)
        code = unblock_set(store, job, sets[i], last_report, err);
    return code;
}

enum fz_code
store_unblocked(struct sql *tx, const struct store_job *job, uint64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject)};
    int64_t n = 0;
    enum fz_code code =
        sql_number(tx, "SELECT n_unblocked FROM uploads WHERE project_id = $1 AND id = $2", args,
                   FZ_ARRAY_LEN(args), &n, NULL, err);
    if (code == FZ_OK)
        *ret = (uint64_t)n;
    return code;
}
