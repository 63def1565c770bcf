/* Deleting what a plan names: reports, bodies, then symbol files, each portion in one transaction. */
#include "storage/store_changed.h"
#include "storage/store_partitions.h"
#include "storage/store_retention_plan.h"

/* ---- reports ---- */

static const int64_t RUN_MS = INT64_C(30) * 24 * 3600 * 1000;

static const struct store_plan_row *
find_rows(const struct store_retention_plan *plan, size_t *ret_n)
{
    size_t at = plan->n_done;
    bool is_aged = at < plan->aged.n;
    const struct store_plan_rows *rows = is_aged ? &plan->aged : &plan->heap;
    at -= is_aged ? 0 : plan->aged.n;
    *ret_n = rows->n - at < STORE_RETENTION_PORTION ? rows->n - at : STORE_RETENTION_PORTION;
    return rows->rows ? rows->rows + at : NULL;
}

static enum fz_code
drop_reports(struct store *store, const struct store_retention_plan *plan,
             const struct store_plan_row *rows, size_t n, uint64_t *ret_n, struct fz_error *err)
{
    int64_t keys[STORE_RETENTION_PORTION];
    *ret_n = 0;
    for (size_t i = 0; i < n; i++)
        keys[i] = rows[i].key;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* First, as in the end of a report. */
        code = sql_lock(tx, plan->project_id, false, err);
    /* The other reports of a month will be as old soon; those that are thinned out leave their place now. */
    if (code == FZ_OK && plan->n_done < plan->aged.n)
        code = store_months_leave(tx, keys, n, err);
    if (code == FZ_OK)
        code = store_reports_delete(store, plan->project_id, rows, n, plan->now_ms - RUN_MS, ret_n,
                                    err);
    if (code == FZ_OK)
        code = store_plan_check(tx, plan, *ret_n, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* ---- bodies ---- */

static enum fz_code
drop_body(struct sql *tx, int64_t project_id, const struct store_plan_row *row, bool *ret,
          struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(row->id), sql_int(row->key)};
    enum fz_code code =
        /* Without its body it waits for no symbol file, which could do nothing for it. What has a job
         * is about to need it. */
        sql_number(
            tx,
            "UPDATE reports SET has_body = 0, wait_set = NULL, memory = 2 WHERE project_id "
            "= $1 AND id = $2 AND key = $3 AND has_body = 1 AND NOT EXISTS (SELECT 1 FROM "
            "jobs j WHERE j.project_id = $1 AND j.kind = 1 AND j.subject = $2 AND j.state < 2) "
            "RETURNING 1",
            args, FZ_ARRAY_LEN(args), NULL, ret, err);
    const struct sql_value key[] = {sql_int(row->key)};
    if (code == FZ_OK && *ret)
        code = sql_exec(tx, "DELETE FROM report_bodies WHERE report_key = $1", key, 1, NULL, err);
    if (code == FZ_OK && *ret)
        code = sql_exec(tx, "DELETE FROM report_memory WHERE report_key = $1", key, 1, NULL, err);
    return code;
}

static enum fz_code
drop_bodies(struct store *store, const struct store_retention_plan *plan, size_t n, uint64_t *ret_n,
            struct fz_error *err)
{
    struct store_changed changed = {.project_id = plan->project_id};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, plan->project_id, false, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_plan_row *row = &plan->bodies.rows[plan->n_bodies_done + i];
        bool is_dropped = false;
        code = drop_body(tx, plan->project_id, row, &is_dropped, err);
        changed.n[STORE_CHANGE_REPORT] += is_dropped;
        changed.report = row->id;
    }
    if (code == FZ_OK)
        code = store_plan_check(tx, plan, changed.n[STORE_CHANGE_REPORT], err);
    if (code == FZ_OK && changed.n[STORE_CHANGE_REPORT])
        code = store_changed_count(store, &changed, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_n = changed.n[STORE_CHANGE_REPORT];
    return code;
}

/* ---- all ---- */

/* From now on what becomes due is due because time has passed. */
static enum fz_code
note_end(struct store *store, const struct store_retention_plan *plan,
         const struct store_retention_done *done, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(plan->state.version),
                                     sql_int(plan->now_ms)};
    struct store_retention_use use = plan->use;
    store_use_less(&use, done->n_reports, done->n_bodies);
    enum fz_code code = store_use_note(store->sql, plan->project_id, &use, plan->now_ms, err);
    return code != FZ_OK || plan->due.is_cut
               ? code
               : sql_exec(store->sql,
                          "UPDATE retention SET swept_ms = $3, swept_version = $2, held_ms = 0, "
                          "held_n = 0, allowed = 0 WHERE project_id = $1 AND version = $2",
                          args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_retention_portion(struct store *store, struct store_retention_plan *plan,
                        struct store_retention_done *ret_done, bool *ret_is_done,
                        struct fz_error *err)
{
    size_t n = 0, n_bodies = plan->bodies.n - plan->n_bodies_done;
    uint64_t n_dropped = 0;
    int n_tries = 0;
    enum fz_code code;
    const struct store_plan_row *rows = find_rows(plan, &n);
    *ret_is_done = false;
    if (n > 0) {
        do /* other reports of their runs may be changed at the same time */
            code = drop_reports(store, plan, rows, n, &n_dropped, err);
        while (sql_try_again(store->sql, code, &n_tries));
        plan->n_done += code == FZ_OK ? n : 0;
        ret_done->n_reports += code == FZ_OK ? n_dropped : 0;
        return code;
    }
    if (n_bodies > 0) {
        n_bodies = n_bodies < STORE_RETENTION_PORTION ? n_bodies : STORE_RETENTION_PORTION;
        do
            code = drop_bodies(store, plan, n_bodies, &n_dropped, err);
        while (sql_try_again(store->sql, code, &n_tries));
        plan->n_bodies_done += code == FZ_OK ? n_bodies : 0;
        ret_done->n_bodies += code == FZ_OK ? n_dropped : 0;
        return code;
    }
    if (!plan->symbols_are_done)
        return store_plan_drop_symbols(store, plan, ret_done, err);
    *ret_is_done = true;
    return note_end(store, plan, ret_done, err);
}
