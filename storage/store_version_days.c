#include "storage/store_version_days.h"

#include "base/hll.h"

enum fz_code
store_version_write(struct sql *tx, const struct store_version_delta *delta, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(delta->version_id), sql_int(delta->n),
                                     sql_int(delta->first_ms), sql_int(delta->last_ms)};
    return sql_exec(
        tx,
        "INSERT INTO versions (version_id, project_id, n_reports, first_ms, last_ms) SELECT id, "
        "project_id, $2, $3, $4 FROM terms WHERE id = $1 ON CONFLICT (version_id) DO UPDATE SET "
        "n_reports = versions.n_reports + excluded.n_reports, first_ms = CASE WHEN "
        "excluded.first_ms > 0 AND excluded.first_ms < versions.first_ms THEN excluded.first_ms "
        "ELSE versions.first_ms END, last_ms = CASE WHEN excluded.last_ms > versions.last_ms THEN "
        "excluded.last_ms ELSE versions.last_ms END",
        args, FZ_ARRAY_LEN(args), NULL, err);
}

/* Count the reports. What the users were before is returned into `ret_users`. */
static enum fz_code
add_reports(struct sql *tx, const struct store_version_day_delta *delta, int64_t *ret_key,
            struct fz_hll *ret_users, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(delta->version_id), sql_int(delta->environment_id),
                                     sql_int(delta->day), sql_int(delta->n),
                                     sql_blob(fz_span_cstr(""))};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* The row is locked from here to the end of the transaction. */
    enum fz_code code = sql_query(
        tx,
        "INSERT INTO version_days (project_id, version_id, environment_id, day, n, users) SELECT "
        "project_id, id, $2, $3, $4, $5 FROM terms WHERE id = $1 ON CONFLICT (project_id, day, "
        "version_id, environment_id) DO UPDATE SET n = version_days.n + excluded.n RETURNING key, "
        "users",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        *ret_key = sql_col_int(&rows, 0);
        /* A damaged counter starts anew: reports must not fail for ever because of it. */
        fz_ignore(fz_hll_merge_encoded(ret_users, sql_col_bytes(&rows, 1), NULL));
    }
    return code;
}

enum fz_code
store_version_day_write(struct sql *tx, const struct store_version_day_delta *delta,
                        struct fz_error *err)
{
    struct fz_hll users = {{0}};
    int64_t key = 0;
    bool is_changed = false;
    enum fz_code code = add_reports(tx, delta, &key, &users, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < delta->n_users; i++)
        is_changed = fz_hll_add(&users, fz_hll_hash_number(delta->users[i])) || is_changed;
    if (!is_changed)
        return FZ_OK;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(FZ_HLL_BYTES_MAX);
    fz_hll_encode(&users, &bytes);
    code = fz_buffer_done(&bytes, err);
    const struct sql_value args[] = {sql_int(key), sql_blob(fz_buffer_span(&bytes))};
    return code == FZ_OK ? sql_exec(tx, "UPDATE version_days SET users = $2 WHERE key = $1", args,
                                    FZ_ARRAY_LEN(args), NULL, err)
                         : code;
}
