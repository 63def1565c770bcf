#include "storage/store_regroup.h"

#include "storage/store_record.h"

enum { REGROUP_MEMORY = 16 * 1024 * 1024 };

/* The rows of the index reports_ungrouped. */
#define UNGROUPED "is_grouped = 0 AND n_processed > 0 AND transient = 0"

enum fz_code
store_ungrouped_project(struct store *store, int64_t *ret, struct fz_error *err)
{
    return sql_number(store->sql,
                      "SELECT p.id FROM projects p WHERE EXISTS (SELECT 1 FROM reports WHERE "
                      "project_id = p.id AND " UNGROUPED ") ORDER BY p.id LIMIT 1",
                      NULL, 0, ret, NULL, err);
}

enum fz_code
store_ungrouped_count(struct store *store, uint64_t most, uint64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int((int64_t)most)};
    int64_t n = 0;
    enum fz_code code = sql_number(store->sql,
                                   "SELECT count(*) FROM (SELECT 1 FROM reports WHERE " UNGROUPED
                                   " LIMIT $1) AS n_left",
                                   args, 1, &n, NULL, err);
    if (code == FZ_OK)
        *ret = (uint64_t)n;
    return code;
}

enum fz_code
store_ungrouped_list(struct store *store, int64_t project_id, size_t max, struct fz_arena *arena,
                     struct store_ungrouped **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int((int64_t)max)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_ungrouped)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text,
                     "SELECT %s, key FROM reports WHERE project_id = $1 AND " UNGROUPED
                     " ORDER BY key DESC LIMIT $2",
                     store->select_report);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&text), args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_ungrouped *one; (one = sql_list_next(&rows, &list, &code, err));) {
        code = store_report_read(store, &rows, arena, &one->report, err);
        one->key = sql_col_int(&rows, STORE_REPORT_OWN + (int)store->columns.n);
    }
    return sql_list_done(&list, code, ret, ret_n);
}

/* Locked until the transaction ends; *ret_found = false: somebody else has done it. */
static enum fz_code
lock_row(struct store_record *record, const struct store_ungrouped *one,
         struct store_record_row *row, int64_t *ret_rules_version, bool *ret_found,
         struct fz_error *err)
{
    struct store *store = record->store;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const struct sql_value args[] = {sql_int(one->key), sql_text(one->report.id)};
    fz_buffer_printf(
        &text,
        "SELECT (SELECT rules_version FROM projects p WHERE p.id = project_id), "
        "CASE WHEN same_as IS NULL AND NOT EXISTS (SELECT 1 FROM counted_runs c WHERE "
        "c.project_id = reports.project_id AND c.run_id = reports.run_id AND "
        "reports.ends_run = 1) THEN 1 ELSE 0 END, (SELECT sealed_ms FROM projects p WHERE "
        "p.id = project_id) FROM reports WHERE key = $1 AND id = $2 AND " UNGROUPED "%s",
        store->sql->driver->for_update);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&text), args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    *ret_rules_version = sql_col_int(&rows, 0);
    row->is_counted = sql_col_int(&rows, 1) != 0;
    record->sealed_ms = sql_col_int(&rows, 2);
    return FZ_OK;
}

static enum fz_code
give_up(struct sql *tx, const struct store_ungrouped *one, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(one->key)};
    return sql_exec(tx, "UPDATE reports SET is_grouped = 1 WHERE key = $1", args, 1, NULL, err);
}

static enum fz_code
regroup(struct store_record *record, const struct store_regrouped *list,
        struct store_recorded *recorded, size_t n, struct fz_error *err)
{
    struct store *store = record->store;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, record->project_id, record->is_exclusive, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_ungrouped *one = list[i].ungrouped;
        struct store_record_row row = {.id = one->report.id,
                                       .report_key = one->key,
                                       .received_ms = one->report.received_ms,
                                       .is_old = true,
                                       .is_kept = true};
        bool found = false;
        int64_t rules_version = 0;
        code = lock_row(record, one, &row, &rules_version, &found, err);
        /* The rules have changed since its key was made: it is left for the next time. */
        if (list[i].grouping && list[i].grouping->rules_version != rules_version)
            continue;
        if (code == FZ_OK && found)
            code = list[i].grouping ? store_record_add(record, &recorded[i], &row, err)
                                    : give_up(tx, one, err);
    }
    if (code == FZ_OK)
        code = store_record_end(record, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* As the end of a batch of jobs does it: only a new key needs the project's lock for itself. */
static enum fz_code
regroup_prepared(struct store *store, int64_t project_id, const struct store_regrouped *list,
                 struct store_recorded *recorded, size_t n, struct fz_error *err)
{
    bool is_exclusive = store->sql->driver->has_one_writer, needs_exclusive;
    int n_tries = 0;
    enum fz_code code;
    do {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(REGROUP_MEMORY);
        struct store_record record = {.store = store,
                                      .project_id = project_id,
                                      .arena = &arena,
                                      .is_exclusive = is_exclusive,
                                      .deltas = {.arena = &arena}};
        code = regroup(&record, list, recorded, n, err);
        needs_exclusive = code != FZ_OK && record.needs_exclusive && !is_exclusive;
        is_exclusive = is_exclusive || needs_exclusive;
    } while (needs_exclusive || sql_try_again(store->sql, code, &n_tries));
    return code;
}

enum fz_code
store_regroup(struct store *store, int64_t project_id, const struct store_regrouped *list, size_t n,
              struct fz_error *err)
{
    struct store_recorded recorded[STORE_ENDS_MAX];
    struct store_report_done done[STORE_ENDS_MAX];
    if (n > STORE_ENDS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%zu reports at once", n);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(REGROUP_MEMORY);
    enum fz_code code = FZ_OK;
    size_t n_ready = 0;
    for (; code == FZ_OK && n_ready < n; n_ready++) {
        const struct store_report *report = &list[n_ready].ungrouped->report;
        done[n_ready] = (struct store_report_done){
            .status = report->status, .values = report->values, .grouping = list[n_ready].grouping};
        code = store_record_prepare(store, project_id, &done[n_ready], &arena, &recorded[n_ready],
                                    err);
    }
    if (code == FZ_OK)
        code = regroup_prepared(store, project_id, list, recorded, n, err);
    for (size_t i = 0; i < n_ready; i++)
        store_record_deinit(&recorded[i]);
    return code;
}
