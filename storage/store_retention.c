/* The settings of retention, and whether a sweep has to wait. */
#include "storage/store_retention.h"

#include "storage/store_fact_days.h"
#include "storage/store_outbox.h"
#include "storage/store_retention_plan.h"

/* ---- settings ---- */

enum fz_code
store_retention_get(struct store *store, int64_t project_id, struct store_retention *ret,
                    struct store_retention_state *ret_state, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT report_days, report_max, body_days, symbol_days, bytes_max, "
                  "keeps_samples, version, swept_ms, swept_version, held_ms, held_n, allowed FROM "
                  "retention WHERE project_id = $1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)project_id);
    if (code != FZ_OK)
        return code;
    *ret = (struct store_retention){.report_days = sql_col_int(&rows, 0),
                                    .report_max = sql_col_int(&rows, 1),
                                    .body_days = sql_col_int(&rows, 2),
                                    .symbol_days = sql_col_int(&rows, 3),
                                    .bytes_max = sql_col_int(&rows, 4),
                                    .keeps_samples = sql_col_int(&rows, 5) != 0};
    if (ret_state)
        *ret_state = (struct store_retention_state){.version = sql_col_int(&rows, 6),
                                                    .swept_ms = sql_col_int(&rows, 7),
                                                    .swept_version = sql_col_int(&rows, 8),
                                                    .held_ms = sql_col_int(&rows, 9),
                                                    .held_n = sql_col_int(&rows, 10),
                                                    .allowed = sql_col_int(&rows, 11)};
    return FZ_OK;
}

bool
store_retention_is_same(const struct store_retention *a, const struct store_retention *b)
{
    return a->report_days == b->report_days && a->report_max == b->report_max &&
           a->body_days == b->body_days && a->symbol_days == b->symbol_days &&
           a->bytes_max == b->bytes_max && a->keeps_samples == b->keeps_samples;
}

static bool
is_count(int64_t number, int64_t max)
{
    return number >= 0 && number <= max;
}

enum fz_code
store_retention_set(struct store *store, int64_t project_id,
                    const struct store_retention *retention, struct fz_error *err)
{
    if (!is_count(retention->report_days, STORE_RETENTION_DAYS_MAX) ||
        !is_count(retention->body_days, STORE_RETENTION_DAYS_MAX) ||
        !is_count(retention->symbol_days, STORE_RETENTION_DAYS_MAX))
        return fz_fail(err, FZ_E_MALFORMED, "a time is 0 to %d days",
                       (int)STORE_RETENTION_DAYS_MAX);
    if (!is_count(retention->report_max, STORE_RETENTION_COUNT_MAX))
        return fz_fail(err, FZ_E_MALFORMED, "a number of reports is 0 to %lld",
                       (long long)STORE_RETENTION_COUNT_MAX);
    if (!is_count(retention->bytes_max, INT64_MAX / 4))
        return fz_fail(err, FZ_E_MALFORMED, "a number of bytes is 0 to %lld",
                       (long long)(INT64_MAX / 4));
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_int(retention->report_days),
                                     sql_int(retention->report_max),
                                     sql_int(retention->body_days),
                                     sql_int(retention->symbol_days),
                                     sql_int(retention->bytes_max),
                                     sql_int(retention->keeps_samples)};
    uint64_t n = 0;
    /* What was confirmed was confirmed for other settings. */
    enum fz_code code =
        sql_exec(store->sql,
                 "UPDATE retention SET report_days = $2, report_max = $3, body_days = $4, "
                 "symbol_days = $5, bytes_max = $6, keeps_samples = $7, version = version + 1, "
                 "held_ms = 0, held_n = 0, allowed = 0 WHERE project_id = $1",
                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)project_id);
    return code == FZ_OK ? store_duty_give_back(store, "retention", err) : code;
}

enum fz_code
store_retention_confirm(struct store *store, int64_t project_id, int64_t n, struct fz_error *err)
{
    if (!is_count(n, STORE_RETENTION_COUNT_MAX))
        return fz_fail(err, FZ_E_MALFORMED, "no number from 0 to %lld",
                       (long long)STORE_RETENTION_COUNT_MAX);
    uint64_t n_changed = 0;
    /* A little becomes due between the look and the sweep. */
    const struct sql_value args[] = {sql_int(project_id), sql_int(n ? n + n / 10 + 10 : 0)};
    enum fz_code code =
        sql_exec(store->sql, "UPDATE retention SET allowed = $2 WHERE project_id = $1", args,
                 FZ_ARRAY_LEN(args), &n_changed, err);
    if (code == FZ_OK && n_changed == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)project_id);
    return code == FZ_OK ? store_duty_give_back(store, "retention", err) : code;
}

/* ---- waiting ---- */

uint64_t
store_retention_total(const struct store_retention_due *due)
{
    return due->n_aged + due->n_thinned + due->n_bodies + due->n_memory + due->n_symbols;
}

enum fz_code
store_plan_check(struct sql *tx, const struct store_retention_plan *plan, uint64_t n,
                 struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(plan->state.version),
                                     sql_int((int64_t)n)};
    bool found = false;
    /* Also a lock: a change of the settings comes before this portion or after it. */
    enum fz_code code = sql_number(tx,
                                   "UPDATE retention SET allowed = CASE WHEN allowed > $3 THEN "
                                   "allowed - $3 ELSE 0 END WHERE project_id = $1 AND version = $2 "
                                   "RETURNING version",
                                   args, FZ_ARRAY_LEN(args), NULL, &found, err);
    return code == FZ_OK && !found
               ? fz_fail(err, FZ_E_CONFLICT, "the settings of retention were changed")
               : code;
}

static bool
is_much(uint64_t n, uint64_t of)
{
    return n > of / 5;
}

/* Time passes as it does, and no one has changed a setting: then what is due is due. */
static bool
is_usual(const struct store_retention_plan *plan)
{
    const struct store_retention_state *state = &plan->state;
    return state->swept_ms > 0 && state->version == state->swept_version &&
           plan->now_ms >= state->swept_ms && plan->now_ms - state->swept_ms <= STORE_DAY_MS;
}

static bool
is_too_much(const struct store_retention_plan *plan)
{
    const struct store_retention_due *due = &plan->due;
    /* Memory of a project whose sweeps begin with this one is due as it always was. */
    uint64_t memory = plan->state.swept_ms ? due->n_memory : 0;
    return !is_usual(plan) &&
           (is_much(due->n_aged + due->n_thinned, due->n_reports) ||
            is_much(due->n_bodies, due->n_stored_bodies) || is_much(memory, due->n_stored_memory) ||
            is_much(due->n_symbols, due->n_stored_symbols));
}

enum fz_code
store_retention_hold(struct store *store, struct store_retention_plan *plan, bool *ret_is_held,
                     struct fz_error *err)
{
    uint64_t n = store_retention_total(&plan->due);
    bool is_held = is_too_much(plan) && n > (uint64_t)plan->state.allowed;
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(is_held ? plan->now_ms : 0),
                                     sql_int(is_held ? (int64_t)n : 0)};
    enum fz_code code = FZ_OK;
    /* Since when it waits stays; nothing is written while nothing changes. */
    if (is_held || plan->state.held_ms)
        code = sql_exec(store->sql,
                        "UPDATE retention SET held_ms = CASE WHEN $2 > 0 AND held_ms > 0 AND "
                        "held_ms <= $2 THEN held_ms ELSE $2 END, held_n = $3 WHERE project_id = $1 "
                        "AND held_n <> $3",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = store_use_note(store->sql, plan->project_id, &plan->use, plan->now_ms, err);
    if (code == FZ_OK)
        *ret_is_held = is_held;
    return code;
}

/* ---- the file ---- */

enum fz_code
store_vacuum(struct store *store, struct fz_error *err)
{
    if (!store->sql->driver->has_one_writer)
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "PostgreSQL gives free pages back by itself (autovacuum); 'VACUUM FULL' in "
                       "psql does so at once");
    return sql_script(store->sql, "VACUUM", err);
}
