/*
 * Issues with the counts of all time, which are kept by the database: the users of the newest versions, and the trend, are counted
 * all the same.
 */
#include <inttypes.h>

#include "storage/store_tally.h"

static const int64_t HOUR_MS = 3600000;

enum fz_code
store_tally_newest(struct store_tally *tally, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_USER};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_query all = {.n = 0};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct store_fact_query facts;
    if (tally->newest.n == 0)
        return FZ_OK;
    enum fz_code code = store_fact_query_make(tally->store, tally->project_id, &all, false,
                                              tally->arena, &facts, err);
    if (code == FZ_OK)
        code = store_fact_query_versions(&facts, &tally->newest, err);
    if (code == FZ_OK)
        code = store_fact_query_plan(&facts, err);
    if (code == FZ_OK)
        code = store_fact_scan_open(&facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n; i++) {
            size_t fact = batch.at[i];
            int64_t variant = store_block_get(&batch.columns[STORE_FACT_VARIANT], fact);
            int64_t user = store_block_get(&batch.columns[STORE_FACT_USER], fact);
            uint32_t at = store_map_get(&tally->by_variant, variant);
            if (at)
                code =
                    store_distinct_add(&tally->users, store_distinct_list(at - 1, true), user, err);
        }
    }
    store_fact_scan_close(scan);
    return code == FZ_OK ? store_tally_new_users(tally, err) : code;
}

/* Are the facts before this hour, which are in the range of the trend, all stored as columns, or few? Else *ret_ms = 0. */
static enum fz_code
find_sealed(const struct store_tally *tally, int64_t *ret_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(tally->project_id),
                                     sql_int(tally->trend.start_ms / STORE_DAY_MS)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        tally->store->sql,
        "SELECT p.sealed_ms, (SELECT count(*) FROM fact_days d WHERE d.project_id = p.id AND "
        "d.day >= $2 AND d.state IN (0, 2, 4)) FROM projects p WHERE p.id = $1",
        args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_ms = 0;
    if (sql_row(&rows, &code, err) && sql_col_int(&rows, 1) == 0)
        *ret_ms = sql_col_int(&rows, 0) / HOUR_MS * HOUR_MS;
    return code;
}

/* The trend before this time, of facts: there are as many for all issues as for some. */
static enum fz_code
count_trend(struct store_tally *tally, int64_t until_ms, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_RECEIVED};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_query all = {.since_ms = tally->trend.start_ms, .until_ms = until_ms};
    const int64_t start = tally->trend.start_ms, step = tally->trend.step_ms;
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct store_fact_query facts;
    int64_t part = 0;
    enum fz_code code = store_fact_query_make(tally->store, tally->project_id, &all, false,
                                              tally->arena, &facts, err);
    if (code == FZ_OK)
        code = store_fact_scan_open(&facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; i < batch.n; i++) {
            int64_t variant = store_block_get(&batch.columns[STORE_FACT_VARIANT], batch.at[i]);
            int64_t ms = store_block_get(&batch.columns[STORE_FACT_RECEIVED], batch.at[i]) - start;
            uint32_t at = store_map_get(&tally->by_variant, variant);
            if (ms < part * step || ms >= (part + 1) * step)
                part = ms / step;
            if (at && part < STORE_TREND)
                tally->issues[at - 1].trend[part]++;
        }
    }
    store_fact_scan_close(scan);
    return code;
}

/* The trend from this time on, of counts by hour. */
static enum fz_code
read_trend(struct store_tally *tally, const struct store_ids *numbers, int64_t since_ms,
           struct fz_error *err)
{
    static const char *const columns[] = {"h.variant_id", "h.hour", "h.n", NULL};
    struct store_sql q;
    struct sql_ints ints = {.n_columns = 0};
    store_sql_init(&q, tally->store, tally->arena);
    store_sql_add(&q,
                  "FROM issues i JOIN variants v ON v.issue_id = i.id JOIN issue_hours h ON "
                  "h.variant_id = v.id WHERE i.project_id = ?",
                  sql_int(tally->project_id));
    fz_buffer_printf(&q.text, " AND h.hour >= %" PRId64, since_ms / HOUR_MS);
    if (numbers) {
        fz_buffer_text(&q.text, " AND i.number");
        store_sql_in(&q, numbers);
    }
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_ints_open(tally->store->sql, columns, fz_buffer_cstr(&q.text), q.args, q.n_args,
                             &ints, err);
    for (int64_t row[3]; sql_ints_next(&ints, row, &code, err);) {
        uint32_t at = store_map_get(&tally->by_variant, row[0]);
        int64_t bucket = (row[1] * HOUR_MS - tally->trend.start_ms) / tally->trend.step_ms;
        if (at && bucket >= 0 && bucket < STORE_TREND)
            tally->issues[at - 1].trend[bucket] += (uint32_t)row[2];
    }
    sql_ints_close(&ints);
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_tally_trend(struct store_tally *tally, const struct store_ids *numbers, struct fz_error *err)
{
    int64_t sealed_ms = 0, start_ms = tally->trend.start_ms;
    if (numbers && numbers->n == 0)
        return FZ_OK;
    enum fz_code code = find_sealed(tally, &sealed_ms, err);
    if (code == FZ_OK && sealed_ms > start_ms) {
        code = count_trend(tally, sealed_ms, err);
        start_ms = sealed_ms;
    }
    return code == FZ_OK ? read_trend(tally, numbers, start_ms, err) : code;
}
