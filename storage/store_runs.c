#include "storage/store_runs.h"

#include <stdio.h>

#include "storage/store_private.h"

/* Below the numbers of all other locks. Runs with the same number only wait for each other. */
static enum fz_code
lock_run(struct sql *tx, int64_t project_id, const char *run, struct fz_error *err)
{
    /* FNV-1a: a number for each run, so that the reports of a project do not wait for each other. */
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)project_id;
    for (const char *c = run; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return sql_lock(tx, INT64_MIN + (int64_t)(hash >> 2), true, err);
}

/* The first column of the first row; "" without one. */
static enum fz_code
read_text(struct sql *tx, const char *text, const struct sql_value args[3], char *ret, size_t size,
          struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    ret[0] = '\0';
    enum fz_code code = sql_query(tx, text, args, 3, &rows, err);
    if (sql_row(&rows, &code, err))
        sql_col_copy(&rows, 0, ret, size);
    return code;
}

static enum fz_code
mark(struct sql *tx, const struct store_run_report *report, const char *same_as,
     struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->id),
                                     sql_text(*same_as ? same_as : NULL)};
    return sql_exec(tx, "UPDATE reports SET same_as = $3 WHERE key = " STORE_REPORT_KEY, args,
                    FZ_ARRAY_LEN(args), NULL, err);
}

/* The oldest of those that refer to it takes its place; those of the run `except` stay. */
static enum fz_code
pass_on(struct sql *tx, const struct store_run_report *report, const char *except,
        struct fz_error *err)
{
    char run[sizeof(report->run)], heir[STORE_ID_TEXT], text[320];
    const struct sql_value all[] = {sql_int(report->project_id), sql_text(report->id),
                                    sql_text(except)};
    /* No more can come: a new one would have to wait for the report's row. */
    enum fz_code code = read_text(tx,
                                  "SELECT run_id FROM reports WHERE project_id = $1 AND same_as = "
                                  "$2 AND run_id <> $3 LIMIT 1",
                                  all, run, sizeof(run), err);
    if (code != FZ_OK || !*run)
        return code;
    const struct sql_value args[] = {all[0], all[1], sql_text(run)};
    code = lock_run(tx, report->project_id, run, err);
    /* One that is being deleted has no lock of the run: without that of its row, the others would refer to what is gone. */
    snprintf(text, sizeof(text),
             "SELECT id FROM reports WHERE project_id = $1 AND same_as = $2 AND run_id = $3 ORDER "
             "BY key LIMIT 1%s",
             tx->driver->for_update);
    if (code == FZ_OK)
        code = read_text(tx, text, args, heir, sizeof(heir), err);
    if (code != FZ_OK || !*heir) /* gone while the lock was waited for */
        return code;
    const struct sql_value marks[] = {args[0], args[1], args[2], sql_text(heir)};
    return sql_exec(tx,
                    "UPDATE reports SET same_as = CASE WHEN id = $4 THEN NULL ELSE $4 END WHERE "
                    "project_id = $1 AND same_as = $2 AND run_id = $3",
                    marks, FZ_ARRAY_LEN(marks), NULL, err);
}

/* ---- what was counted and deleted ---- */

static enum fz_code
keep_counted(struct sql *tx, const struct store_run_report *report, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->run)};
    return sql_exec(tx,
                    "INSERT INTO counted_runs (project_id, run_id) VALUES ($1, $2) ON CONFLICT "
                    "(project_id, run_id) DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
find_counted(struct sql *tx, const struct store_run_report *report, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->run)};
    return sql_number(tx, "SELECT 1 FROM counted_runs WHERE project_id = $1 AND run_id = $2", args,
                      FZ_ARRAY_LEN(args), NULL, ret, err);
}

/* ---- entry points ---- */

enum fz_code
store_run_settle(struct sql *tx, const struct store_run_report *report, bool *ret_is_counted,
                 struct fz_error *err)
{
    char counted[STORE_ID_TEXT] = "", text[320];
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->id),
                                     sql_text(report->run)};
    enum fz_code code = FZ_OK;
    /* Done again, by another version of this program, it may have another run, or none. */
    if (!report->is_first)
        code = pass_on(tx, report, report->run, err);
    if (code == FZ_OK && *report->run)
        code = lock_run(tx, report->project_id, report->run, err);
    snprintf(text, sizeof(text),
             "SELECT id FROM reports WHERE project_id = $1 AND run_id = $3 AND ends_run = 1 AND "
             "same_as IS NULL AND transient = 0 AND id <> $2 LIMIT 1%s",
             tx->driver->for_update);
    if (code == FZ_OK && *report->run)
        code = read_text(tx, text, args, counted, sizeof(counted), err);
    /* A new row says already that it is counted. */
    if (code == FZ_OK && (*counted || !report->is_first))
        code = mark(tx, report, counted, err);
    bool was_counted = false;
    if (code == FZ_OK && *report->run && !*counted)
        code = find_counted(tx, report, &was_counted, err);
    if (code == FZ_OK)
        *ret_is_counted = !*counted && !was_counted;
    return code;
}

enum fz_code
store_run_forget(struct sql *tx, const struct store_run_report *report, struct fz_error *err)
{
    if (!*report->run)
        return FZ_OK;
    enum fz_code code = report->was_counted ? keep_counted(tx, report, err) : FZ_OK;
    return code == FZ_OK ? pass_on(tx, report, "", err) : code;
}

enum fz_code
store_report_same_crash(struct store *store, const struct store_report *report,
                        struct fz_arena *arena, const char *const **ret, size_t *ret_n,
                        struct fz_error *err)
{
    const char *run = fz_columns_text(&store->columns, report->values, "run_id");
    const char *same_as = fz_columns_text(&store->columns, report->values, "same_as");
    struct sql_list list = {.arena = arena, .item = sizeof(const char *)};
    /* Nearly always: no query for a report whose run is not known. */
    if (!run)
        return sql_list_done(&list, FZ_OK, ret, ret_n);
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->id),
                                     sql_text(run), sql_text(same_as ? same_as : report->id),
                                     sql_int(STORE_SAME_CRASH)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT id FROM reports WHERE project_id = $1 AND run_id = $3 "
                                  "AND (id = $4 OR same_as = $4) AND id <> $2 ORDER BY key "
                                  "LIMIT $5",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (const char **id; (id = sql_list_next(&rows, &list, &code, err));)
        *id = sql_col_text(&rows, 0, arena);
    return sql_list_done(&list, code, ret, ret_n);
}
