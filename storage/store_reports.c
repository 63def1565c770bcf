#include <assert.h>
#include <string.h>

#include "storage/store_changed.h"
#include "storage/store_dictionary.h"
#include "storage/store_record.h"
#include "storage/store_request.h"
#include "storage/store_retention_plan.h"

/* ---- read ---- */

static enum fz_code
no_report(struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such report");
}

static enum fz_code
get_report(struct store *store, const char *tail, const struct sql_value args[2],
           struct fz_arena *arena, struct store_report *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text, "SELECT %s FROM reports WHERE key = " STORE_REPORT_KEY " %s",
                     store->select_report, tail);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&text), args, 2, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return no_report(err);
    struct store_report report;
    code = store_report_read(store, &rows, arena, &report, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = report;
    return code;
}

enum fz_code
store_report_get(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                 struct store_report *ret, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    return get_report(store, "", args, arena, ret, err);
}

enum fz_code
store_reports_queued(struct store *store, int64_t project_id, const char *const *ids, size_t n,
                     bool *ret_queued, struct fz_error *err)
{
    struct sql_value args[1 + STORE_QUEUED_MAX];
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    bool queued[STORE_QUEUED_MAX] = {false};
    size_t room = 1;
    assert(n <= STORE_QUEUED_MAX);
    /* One, two, four...: so few texts that each stays prepared. No report has the id "". */
    while (room < n)
        room *= 2;
    args[0] = sql_int(project_id);
    fz_buffer_text(&text, "SELECT r.id FROM report_ids k JOIN reports r ON r.key = k.key WHERE "
                          "k.project_id = $1 AND r.status = 'queued' AND k.id IN (");
    for (size_t i = 0; i < room; i++) {
        fz_buffer_printf(&text, "%s$%zu", i ? ", " : "", i + 2);
        args[1 + i] = sql_text(i < n ? ids[i] : "");
    }
    fz_buffer_char(&text, ')');
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&text), args, 1 + room, &rows, err);
    while (code == FZ_OK && sql_row(&rows, &code, err)) {
        char id[STORE_ID_TEXT];
        sql_col_copy(&rows, 0, id, sizeof(id));
        for (size_t i = 0; i < n; i++)
            queued[i] = queued[i] || strcmp(ids[i], id) == 0;
    }
    if (code == FZ_OK)
        memcpy(ret_queued, queued, n * sizeof(*queued));
    return code;
}

enum fz_code
store_report_clashes(struct store *store, int64_t project_id, const char *id,
                     struct fz_arena *arena, struct store_clash **ret, size_t *ret_n,
                     struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id), sql_int(STORE_CLASHES)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_clash)};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT claimed_id, 1, 0 AS key FROM reports WHERE key = " STORE_REPORT_KEY
                  " AND claimed_id IS NOT NULL UNION ALL "
                  "SELECT id, 0, key FROM reports WHERE project_id = $1 AND claimed_id = $2 "
                  "ORDER BY key LIMIT $3",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_clash *one; (one = sql_list_next(&rows, &list, &code, err));) {
        sql_col_copy(&rows, 0, one->id, sizeof(one->id));
        one->is_claimed = sql_col_int(&rows, 1) != 0;
    }
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
get_packed(struct store *store, int64_t project_id, const char *id, const char *text,
           struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (!store_is_id(id))
        return no_report(err);
    enum fz_code code = sql_query(store->sql, text, args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    return row ? store_unpack_column(store, &rows, 0, arena, ret, err) : no_report(err);
}

enum fz_code
store_report_result(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                    struct fz_span *ret, struct fz_error *err)
{
    return get_packed(store, project_id, id,
                      "SELECT result FROM report_results WHERE report_key = " STORE_REPORT_KEY,
                      arena, ret, err);
}

enum fz_code
store_report_body(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                  struct fz_span *ret, struct fz_error *err)
{
    return get_packed(store, project_id, id,
                      "SELECT body FROM report_bodies WHERE report_key = " STORE_REPORT_KEY, arena,
                      ret, err);
}

enum fz_code
store_report_size(struct store *store, int64_t project_id, const char *id,
                  enum store_report_part part, uint64_t *ret, struct fz_error *err)
{
    static const char *const queries[] = {
        "SELECT substr(result, 1, 18) FROM report_results WHERE report_key = " STORE_REPORT_KEY,
        "SELECT substr(body, 1, 18) FROM report_bodies WHERE report_key = " STORE_REPORT_KEY,
        "SELECT substr(coalesce(m.body, b.body), 1, 18) FROM report_bodies b LEFT JOIN "
        "report_memory m ON m.report_key = b.report_key WHERE b.report_key = " STORE_REPORT_KEY};
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, queries[part], args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK)
        /* The frame's header says the size: a body is not read, nor unpacked, to learn it. */
        *ret = row ? store_packed_size(sql_col_bytes(&rows, 0)) : 0;
    return code;
}

/* ---- change ---- */

/* The job goes first everywhere, so that two who change one report never wait for each other. */
static enum fz_code
delete_row(struct sql *tx, struct store_run_report *report, bool *ret_transient,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(report->project_id), sql_text(report->id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_exec(tx, "DELETE FROM jobs WHERE project_id = $1 AND kind = 1 AND subject = $2", args,
                 2, NULL, err);
    if (code == FZ_OK)
        code = sql_query(tx,
                         "DELETE FROM reports WHERE key = " STORE_REPORT_KEY " RETURNING transient,"
                         " CASE WHEN ends_run = 1 THEN run_id END, received_ms, key",
                         args, 2, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return no_report(err);
    if (code != FZ_OK)
        return code;
    int64_t received_ms = sql_col_int(&rows, 2), key = sql_col_int(&rows, 3);
    *ret_transient = sql_col_int(&rows, 0) != 0;
    sql_col_copy(&rows, 1, report->run, sizeof(report->run));
    sql_rows_close(&rows);
    return store_record_forget(tx, report->project_id, received_ms, key, &report->was_counted, err);
}

static enum fz_code
count_change(struct store *store, int64_t project_id, const char *id, struct fz_error *err)
{
    const struct store_changed changed = {
        .project_id = project_id, .n = {[STORE_CHANGE_REPORT] = 1}, .report = id};
    return store_changed_count(store, &changed, err);
}

static enum fz_code
delete_report(struct store *store, int64_t project_id, const char *id, struct fz_error *err)
{
    struct store_run_report report = {.project_id = project_id, .id = id};
    bool transient = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* First, as in the end of a report. */
        code = sql_lock(tx, project_id, false, err);
    if (code == FZ_OK)
        code = delete_row(tx, &report, &transient, err);
    if (code == FZ_OK)
        code = store_run_forget(tx, &report, err);
    if (code == FZ_OK)
        code = store_count_reports(tx, transient ? 0 : -1, err);
    if (code == FZ_OK && !transient)
        code = count_change(store, project_id, id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* The report of a run that ended long ago: no other one comes that would have to know that it was counted. */
static enum fz_code
delete_old_report(struct sql *tx, int64_t project_id, const struct store_plan_row *row,
                  int64_t old_ms, int64_t *n, struct fz_error *err)
{
    struct store_run_report report = {.project_id = project_id, .id = row->id};
    bool transient = false;
    enum fz_code code = delete_row(tx, &report, &transient, err);
    if (code == FZ_E_NOT_FOUND)
        return FZ_OK;
    report.was_counted = report.was_counted && row->received_ms >= old_ms;
    if (code == FZ_OK)
        code = store_run_forget(tx, &report, err);
    *n += code == FZ_OK;
    return code;
}

enum fz_code
store_reports_delete(struct store *store, int64_t project_id, const struct store_plan_row *rows,
                     size_t n, int64_t old_ms, uint64_t *ret_n, struct fz_error *err)
{
    struct store_changed changed = {.project_id = project_id};
    int64_t n_deleted = 0;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        code = delete_old_report(store->sql, project_id, &rows[i], old_ms, &n_deleted, err);
        changed.report = rows[i].id;
    }
    changed.n[STORE_CHANGE_REPORT] = (uint64_t)n_deleted;
    if (code == FZ_OK)
        code = store_count_reports(store->sql, -n_deleted, err);
    if (code == FZ_OK && n_deleted)
        code = store_changed_count(store, &changed, err);
    if (code == FZ_OK)
        *ret_n = (uint64_t)n_deleted;
    return code;
}

enum fz_code
store_report_delete(struct store *store, int64_t project_id, const char *id, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    int n_tries = 0;
    enum fz_code code;
    do /* other reports of its run may be changed at the same time */
        code = delete_report(store, project_id, id, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}

/* Why there is nothing to process. */
static enum fz_code
no_body(struct sql *tx, const struct sql_value *args, struct fz_error *err)
{
    bool found = false;
    enum fz_code code = sql_number(tx, "SELECT 1 FROM report_ids WHERE project_id = $1 AND id = $2",
                                   args, 2, NULL, &found, err);
    if (code != FZ_OK || !found)
        return code == FZ_OK ? no_report(err) : code;
    return fz_fail(err, FZ_E_CONFLICT,
                   "the body of the report is not kept any more (retention), so it cannot be "
                   "processed again");
}

enum fz_code
store_report_reprocess(struct store *store, int64_t project_id, const char *id,
                       struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    int64_t now = 0, clock = 0;
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_clock(tx, &clock, err);
    /* A job that is being worked on keeps its lease and is queued once more at its end. */
    const struct sql_value args[] = {sql_int(project_id), sql_text(id), sql_int(now),
                                     sql_int(clock)};
    if (code == FZ_OK)
        code = sql_exec(
            tx,
            "INSERT INTO jobs (project_id, kind, subject, priority, due_ms, queued_ms, since_ms) "
            "SELECT project_id, 1, id, 1, 0, $3, $4 FROM reports WHERE key = " STORE_REPORT_KEY
            " AND has_body = 1 ON CONFLICT (project_id, kind, subject) DO UPDATE SET "
            "again = CASE WHEN jobs.state = 1 THEN 1 ELSE 0 END, "
            "priority = CASE WHEN jobs.state = 2 OR jobs.priority > 1 THEN 1 ELSE jobs.priority "
            "END, "
            "due_ms = CASE WHEN jobs.state = 1 THEN jobs.due_ms ELSE excluded.due_ms END, "
            "attempt = CASE WHEN jobs.state = 1 THEN jobs.attempt ELSE 0 END, "
            "strikes = CASE WHEN jobs.state = 1 THEN jobs.strikes ELSE 0 END, "
            "deaths = CASE WHEN jobs.state = 1 THEN jobs.deaths ELSE 0 END, "
            "outages = CASE WHEN jobs.state = 1 THEN jobs.outages ELSE 0 END, "
            "state = CASE WHEN jobs.state = 1 THEN 1 ELSE 0 END",
            args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return no_body(tx, args, err);
    if (code == FZ_OK)
        code = sql_exec(
            tx, "UPDATE reports SET status = 'queued', error = NULL WHERE key = " STORE_REPORT_KEY,
            args, 2, NULL, err);
    if (code == FZ_OK)
        code = count_change(store, project_id, id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_report_take_transient(struct store *store, int64_t project_id, const char *id,
                            struct fz_arena *arena, struct store_report *ret,
                            struct fz_span *ret_result, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    struct store_report report;
    struct fz_span result = {NULL, 0};
    /* A look without a lock first: callers ask often while they wait. */
    enum fz_code code = get_report(store, "AND transient = 1", args, arena, &report, err);
    if (code != FZ_OK)
        return code;
    /* The caller waits for a change and asks again. */
    if (report.status == STORE_REPORT_QUEUED)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the report is not done yet");
    /* Read before it is deleted; no one else asks for a transient report's id. */
    code = store_report_result(store, project_id, id, arena, &result, NULL);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND) /* a failed one has no result */
        return fz_fail(err, code, "the result cannot be read");
    /* Deleted when it is fetched: the request that waited has it. */
    code = store_report_delete(store, project_id, id, err);
    if (code != FZ_OK)
        return code;
    *ret = report;
    *ret_result = result;
    return FZ_OK;
}
