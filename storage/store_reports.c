#include "storage/store_private.h"

#include <stdlib.h>

/* Transactions that met a deadlock or the like run again this often. */
static const int TRIES = 3;

/* ---- insert ---- */

enum fz_code
store_report_check(const struct store_report_new *item)
{
    bool fine = item->project_id > 0 && store_is_id(item->id) &&
                store_is_sha256(item->body_sha256) && item->format && item->format[0] &&
                strlen(item->format) <= STORE_TEXT_SHORT;
    return fine ? FZ_OK : FZ_E_MALFORMED;
}

/* Find the report that stands in the way of `item`: the same id, or else the same body. A report
 * that is only passing through is in nobody's way but its own id's. */
static enum fz_code
find_stored(struct sql *tx, const struct store_report_new *item, char ret_id[STORE_ID_TEXT],
            bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(item->project_id), sql_text(item->id),
                                     sql_text(item->body_sha256), sql_int(item->transient)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(tx,
                  "SELECT id FROM reports WHERE project_id = $1 AND id = $2 UNION ALL "
                  "SELECT id FROM reports WHERE project_id = $1 AND body_sha256 = $3 AND "
                  "transient = 0 AND $4 = 0 LIMIT 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, ret_found, err);
    if (code == FZ_OK && *ret_found)
        sql_col_copy(&rows, 0, ret_id, STORE_ID_TEXT);
    return code;
}

/* The verdict on one item; the caller's item itself is only changed once all is committed. */
struct outcome {
    const struct store_packed *packed;
    bool is_duplicate;
    enum fz_code code;
    char id[STORE_ID_TEXT];
};

/* By body, and of the same body in the order they came: two nodes that store the same reports then
 * go through them in one order, and do not wait for each other crosswise. */
static int
compare_outcomes(const void *a, const void *b)
{
    const struct outcome *x = a, *y = b;
    const struct store_report_new *i = x->packed->item, *j = y->packed->item;
    if (i->project_id != j->project_id)
        return i->project_id < j->project_id ? -1 : 1;
    int order = strncmp(i->body_sha256, j->body_sha256, sizeof(i->body_sha256));
    return order ? order : (x->packed > y->packed) - (x->packed < y->packed);
}

static enum fz_code
insert_row(struct sql *tx, struct outcome *outcome, int64_t *ret_key, struct fz_error *err)
{
    const struct store_report_new *item = outcome->packed->item;
    const struct sql_value args[] = {sql_int(item->project_id),   sql_text(item->id),
                                     sql_text(item->body_sha256), sql_int(item->transient),
                                     sql_int(item->received_ms),  sql_text(item->format)};
    bool found = false;
    /* Twice, should the one in the way be deleted between the two looks. */
    for (int i = 0; i < 2; i++) {
        enum fz_code code =
            sql_number(tx,
                       "INSERT INTO reports (project_id, id, body_sha256, transient, received_ms, "
                       "status, format) VALUES ($1, $2, $3, $4, $5, 'queued', $6) "
                       "ON CONFLICT DO NOTHING RETURNING key",
                       args, FZ_ARRAY_LEN(args), ret_key, &found, err);
        if (code != FZ_OK || found)
            return code;
        code = find_stored(tx, item, outcome->id, &found, err);
        if (code != FZ_OK)
            return code;
        if (found) {
            outcome->is_duplicate = true;
            outcome->code = item->transient ? FZ_E_CONFLICT : FZ_OK;
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_E_UNAVAILABLE, "report %s is being changed by others", item->id);
}

static enum fz_code
insert_one(struct sql *tx, struct outcome *outcome, int64_t now, struct fz_error *err)
{
    const struct store_packed *packed = outcome->packed;
    const struct store_report_new *item = packed->item;
    int64_t key = 0;
    memcpy(outcome->id, item->id, sizeof(outcome->id));
    enum fz_code code = insert_row(tx, outcome, &key, err);
    if (code != FZ_OK || outcome->is_duplicate)
        return code;
    const struct sql_value body[] = {sql_int(key),
                                     sql_blob(fz_span_make(packed->body, packed->body_len))};
    code = sql_exec(tx, "INSERT INTO report_bodies (report_key, body) VALUES ($1, $2)", body,
                    FZ_ARRAY_LEN(body), NULL, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value job[] = {sql_int(item->project_id), sql_int(STORE_JOB_REPORT),
                                    sql_text(item->id), sql_int(now)};
    return sql_exec(tx,
                    "INSERT INTO jobs (project_id, kind, subject, due_ms, queued_ms) "
                    "VALUES ($1, $2, $3, $4, $4)",
                    job, FZ_ARRAY_LEN(job), NULL, err);
}

static enum fz_code
has_project(struct sql *tx, int64_t id, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    int64_t one;
    return sql_number(tx, "SELECT 1 FROM projects WHERE id = $1", args, 1, &one, ret, err);
}

static enum fz_code
count_new(struct sql *tx, int64_t n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(n)};
    return n == 0 ? FZ_OK
                  : sql_exec(tx, "INSERT INTO report_counts (n) VALUES ($1)", args, 1, NULL, err);
}

static enum fz_code
insert_batch(struct store *store, struct outcome *outcomes, size_t n, struct fz_error *err)
{
    int64_t now = 0, n_new = 0, known_project = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct outcome *outcome = &outcomes[i];
        const struct store_report_new *item = outcome->packed->item;
        outcome->is_duplicate = false;
        outcome->code = store_report_check(item);
        if (outcome->code != FZ_OK)
            continue;
        bool found = item->project_id == known_project;
        if (!found)
            code = has_project(tx, item->project_id, &found, err);
        if (code != FZ_OK)
            break;
        if (!found) {
            outcome->code = FZ_E_NOT_FOUND;
            continue;
        }
        known_project = item->project_id;
        code = insert_one(tx, outcome, now, err);
        n_new += !outcome->is_duplicate && !item->transient;
    }
    if (code == FZ_OK)
        code = count_new(tx, n_new, err);
    if (code == FZ_OK)
        code = sql_notify(tx, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_report_insert_packed(struct store *store, const struct store_packed *items, size_t n,
                           struct fz_error *err)
{
    FZ_CLEANUP(store_freep) void *memory = calloc(n ? n : 1, sizeof(struct outcome));
    if (!memory)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    struct outcome *outcomes = memory;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < n; i++)
        outcomes[i].packed = &items[i];
    if (n > 1)
        qsort(outcomes, n, sizeof(*outcomes), compare_outcomes);
    for (int i = 0; i < TRIES; i++) {
        code = insert_batch(store, outcomes, n, err);
        if (code == FZ_OK || !sql_may_retry(store->sql))
            break;
    }
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_report_new *item = outcomes[i].packed->item;
        item->code = outcomes[i].code;
        item->is_duplicate = outcomes[i].is_duplicate;
        if (outcomes[i].is_duplicate)
            memcpy(item->id, outcomes[i].id, sizeof(item->id));
    }
    return code;
}

enum fz_code
store_report_insert(struct store *store, struct store_report_new *items, size_t n,
                    struct fz_error *err)
{
    FZ_CLEANUP(store_freep) void *memory = calloc(n ? n : 1, sizeof(struct store_packed));
    if (!memory)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    struct store_packed *packed = memory;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        packed[i].item = &items[i];
        code = store_pack(items[i].body, &packed[i].body, &packed[i].body_len, err);
    }
    if (code == FZ_OK)
        code = store_report_insert_packed(store, packed, n, err);
    for (size_t i = 0; i < n; i++)
        free(packed[i].body);
    return code;
}

/* ---- read ---- */

const char store_report_columns[] =
    "id, project_id, received_ms, timestamp_ms, status, format, app_id, app_name, app_version, "
    "app_build, os_name, os_version, device_model, arch, signal, exception, reason, top_function, "
    "top_file, top_line, error, n_missing, n_processed";

void
store_report_read(struct sql_rows *rows, struct fz_arena *arena, struct store_report *ret)
{
    struct store_report report = {
        .project_id = sql_col_int(rows, 1),
        .received_ms = sql_col_int(rows, 2),
        .timestamp_ms = sql_col_int(rows, 3),
        .status = sql_col_text(rows, 4, arena),
        .format = sql_col_text(rows, 5, arena),
        .app_id = sql_col_text(rows, 6, arena),
        .app_name = sql_col_text(rows, 7, arena),
        .app_version = sql_col_text(rows, 8, arena),
        .app_build = sql_col_text(rows, 9, arena),
        .os_name = sql_col_text(rows, 10, arena),
        .os_version = sql_col_text(rows, 11, arena),
        .device_model = sql_col_text(rows, 12, arena),
        .arch = sql_col_text(rows, 13, arena),
        .signal = sql_col_text(rows, 14, arena),
        .exception = sql_col_text(rows, 15, arena),
        .reason = sql_col_text(rows, 16, arena),
        .top_function = sql_col_text(rows, 17, arena),
        .top_file = sql_col_text(rows, 18, arena),
        .top_line = sql_col_int(rows, 19),
        .error = sql_col_text(rows, 20, arena),
        .n_missing = (unsigned)sql_col_int(rows, 21),
        .n_processed = (unsigned)sql_col_int(rows, 22),
    };
    sql_col_copy(rows, 0, report.id, sizeof(report.id));
    *ret = report;
}

static enum fz_code
no_report(struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such report");
}

static enum fz_code
get_report(struct sql *sql, const char *tail, const struct sql_value args[2],
           struct fz_arena *arena, struct store_report *ret, struct fz_error *err)
{
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    fz_buffer_printf(&text, "SELECT %s FROM reports WHERE project_id = $1 AND id = $2 %s",
                     store_report_columns, tail);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query(sql, fz_buffer_cstr(&text), args, 2, &rows, err);
    fz_buffer_deinit(&text);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return no_report(err);
    struct store_report report;
    store_report_read(&rows, arena, &report);
    code = sql_next(&rows, &row, err); /* tells whether the texts found room */
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
    return get_report(store->sql, "", args, arena, ret, err);
}

static enum fz_code
get_packed(struct sql *sql, const char *text, const struct sql_value args[2],
           struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    enum fz_code code = sql_query(sql, text, args, 2, &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err);
    if (code != FZ_OK)
        return code;
    return row ? store_unpack(sql_col_bytes(&rows, 0), arena, ret, err) : no_report(err);
}

enum fz_code
store_report_result(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                    struct fz_span *ret, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    return get_packed(store->sql,
                      "SELECT result FROM report_results WHERE report_key = "
                      "(SELECT key FROM reports WHERE project_id = $1 AND id = $2)",
                      args, arena, ret, err);
}

enum fz_code
store_report_body(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                  struct fz_span *ret, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    return get_packed(store->sql,
                      "SELECT body FROM report_bodies WHERE report_key = "
                      "(SELECT key FROM reports WHERE project_id = $1 AND id = $2)",
                      args, arena, ret, err);
}

/* ---- change ---- */

/* The job goes first everywhere, so that two who change one report never wait for each other. */
static enum fz_code
delete_report(struct sql *tx, const struct sql_value args[2], struct fz_error *err)
{
    int64_t transient = 0;
    bool found = false;
    enum fz_code code =
        sql_exec(tx, "DELETE FROM jobs WHERE project_id = $1 AND kind = 1 AND subject = $2", args,
                 2, NULL, err);
    if (code == FZ_OK)
        code = sql_number(
            tx, "DELETE FROM reports WHERE project_id = $1 AND id = $2 RETURNING transient", args,
            2, &transient, &found, err);
    if (code != FZ_OK)
        return code;
    return found ? count_new(tx, transient ? 0 : -1, err) : no_report(err);
}

enum fz_code
store_report_delete(struct store *store, int64_t project_id, const char *id, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = delete_report(tx, args, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_report_reprocess(struct store *store, int64_t project_id, const char *id,
                       struct fz_error *err)
{
    if (!store_is_id(id))
        return no_report(err);
    int64_t now = 0;
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    /* A job that is being worked on keeps its lease and is queued once more at its end. */
    const struct sql_value args[] = {sql_int(project_id), sql_text(id), sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(
            tx,
            "INSERT INTO jobs (project_id, kind, subject, due_ms, queued_ms) "
            "SELECT project_id, 1, id, $3, $3 FROM reports WHERE project_id = $1 AND id = $2 "
            "ON CONFLICT (project_id, kind, subject) DO UPDATE SET "
            "again = CASE WHEN jobs.state = 1 THEN 1 ELSE 0 END, "
            "due_ms = CASE WHEN jobs.state = 1 THEN jobs.due_ms ELSE excluded.due_ms END, "
            "attempt = CASE WHEN jobs.state = 1 THEN jobs.attempt ELSE 0 END, "
            "strikes = CASE WHEN jobs.state = 1 THEN jobs.strikes ELSE 0 END, "
            "deaths = CASE WHEN jobs.state = 1 THEN jobs.deaths ELSE 0 END, "
            "state = CASE WHEN jobs.state = 1 THEN 1 ELSE 0 END",
            args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return no_report(err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE reports SET status = 'queued', error = NULL "
                        "WHERE project_id = $1 AND id = $2",
                        args, 2, NULL, err);
    if (code == FZ_OK)
        code = sql_notify(tx, err);
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
    enum fz_code code = get_report(store->sql, "AND transient = 1", args, arena, &report, err);
    if (code != FZ_OK)
        return code;
    if (strcmp(report.status, "queued") == 0)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the report is not done yet");
    code = store_report_result(store, project_id, id, arena, &result, NULL);
    if (code != FZ_OK && code != FZ_E_NOT_FOUND) /* a failed one has no result */
        return fz_fail(err, code, "the result cannot be read");
    code = store_report_delete(store, project_id, id, err);
    if (code != FZ_OK)
        return code;
    *ret = report;
    *ret_result = result;
    return FZ_OK;
}
