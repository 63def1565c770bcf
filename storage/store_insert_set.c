/*
 * A batch of reports by two statements, whatever their number, instead of three for each report: on PostgreSQL a statement costs
 * a round trip. The first adds the rows of reports and answers with those that are new; the second adds what belongs to them.
 *
 * What conflicts with a stored report or with another of the batch is passed over: store_report_insert.c looks at each.
 */
#include "storage/store_insert.h"

#include <stdlib.h>

#include "storage/store_jobs.h"

enum { COLUMNS = 6 };

struct columns {
    struct sql_array all[COLUMNS];
};

static void
columns_deinit(struct columns *columns)
{
    for (size_t i = 0; i < COLUMNS; i++)
        sql_array_deinit(&columns->all[i]);
}

static void
columns_args(struct columns *columns, struct sql_value *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        args[i] = sql_array_value(&columns->all[i]);
}

static bool
is_same_body(const struct store_outcome *a, const struct store_outcome *b)
{
    const struct store_report_new *x = a->packed->item, *y = b->packed->item;
    return x->project_id == y->project_id && strcmp(x->body_sha256, y->body_sha256) == 0;
}

/* The row that the database has added. */
static bool
is_row(struct sql_rows *rows, const struct store_outcome *outcome)
{
    const struct store_report_new *item = outcome->packed->item;
    return sql_col_int(rows, 1) == item->project_id &&
           fz_span_is(sql_col_bytes(rows, 2), item->body_sha256);
}

/* Mark those whose rows were added and keep their keys: rows come in the order of the outcomes, without those passed over. */
static enum fz_code
take_rows(struct sql_rows *rows, struct store_outcome *outcomes, size_t n, int64_t *keys,
          struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    size_t at = 0;
    while (sql_row(rows, &code, err)) {
        while (at < n && (outcomes[at].code != FZ_OK || !is_row(rows, &outcomes[at])))
            at++;
        if (at == n)
            return fz_fail(err, FZ_E_INTERNAL, "rows were added in another order");
        keys[at] = sql_col_int(rows, 0);
        outcomes[at++].is_stored = true;
    }
    return code;
}

static enum fz_code
add_rows(struct sql *tx, struct store_outcome *outcomes, size_t n, int64_t *keys,
         struct fz_error *err)
{
    FZ_CLEANUP(columns_deinit)
    struct columns columns = {{sql_array_make(SQL_INT), sql_array_make(SQL_TEXT),
                               sql_array_make(SQL_TEXT), sql_array_make(SQL_INT),
                               sql_array_make(SQL_INT), sql_array_make(SQL_TEXT)}};
    const struct store_outcome *last = NULL;
    for (size_t i = 0; i < n; i++) {
        struct store_outcome *outcome = &outcomes[i];
        const struct store_report_new *item = outcome->packed->item;
        /* Only one of those with the same body, so that project and body name an item. */
        if (outcome->code != FZ_OK || (last && is_same_body(last, outcome)))
            continue;
        last = outcome;
        sql_array_add(&columns.all[0], sql_int(item->project_id));
        sql_array_add(&columns.all[1], sql_text(item->id));
        sql_array_add(&columns.all[2], sql_text(item->body_sha256));
        sql_array_add(&columns.all[3], sql_int(item->transient));
        sql_array_add(&columns.all[4], sql_int(item->received_ms));
        sql_array_add(&columns.all[5], sql_text(item->format));
    }
    if (!last)
        return FZ_OK;
    struct sql_value args[COLUMNS];
    columns_args(&columns, args, COLUMNS);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        tx,
        "INSERT INTO reports (project_id, id, body_sha256, transient, received_ms, format, status) "
        "SELECT project_id, id, body_sha256, transient, received_ms, format, 'queued' FROM "
        "unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS t (project_id, id, body_sha256, "
        "transient, received_ms, format, n) ORDER BY n "
        "ON CONFLICT DO NOTHING RETURNING key, project_id, body_sha256",
        args, COLUMNS, &rows, err);
    return code == FZ_OK ? take_rows(&rows, outcomes, n, keys, err) : code;
}

static enum fz_code
add_parts(struct sql *tx, const struct store_outcome *outcomes, size_t n, const int64_t *keys,
          const struct store_job_time *time, struct fz_error *err)
{
    enum { LISTS = 5 };
    FZ_CLEANUP(columns_deinit)
    struct columns columns = {{sql_array_make(SQL_INT), sql_array_make(SQL_BLOB),
                               sql_array_make(SQL_INT), sql_array_make(SQL_TEXT),
                               sql_array_make(SQL_TEXT)}};
    size_t n_stored = 0;
    for (size_t i = 0; i < n; i++) {
        const struct store_packed *packed = outcomes[i].packed;
        if (!outcomes[i].is_stored)
            continue;
        n_stored++;
        sql_array_add(&columns.all[0], sql_int(keys[i]));
        sql_array_add(&columns.all[1], sql_blob(fz_span_make(packed->body, packed->body_len)));
        sql_array_add(&columns.all[2], sql_int(packed->item->project_id));
        sql_array_add(&columns.all[3], sql_text(outcomes[i].id));
        sql_array_add(&columns.all[4], sql_text(packed->item->reader));
    }
    if (n_stored == 0)
        return FZ_OK;
    struct sql_value args[LISTS + 4];
    columns_args(&columns, args, LISTS);
    args[LISTS] = sql_int(STORE_JOB_REPORT);
    args[LISTS + 1] = sql_int(STORE_FRESH);
    args[LISTS + 2] = sql_int(time->now_ms);
    args[LISTS + 3] = sql_int(time->clock_ms);
    /* In the list of columns, unnest() gives row after row; in FROM, all bodies would be copied first. */
    return sql_exec(tx,
                    "WITH bodies AS (INSERT INTO report_bodies (report_key, body) "
                    "SELECT unnest($1), unnest($2)) "
                    "INSERT INTO jobs (project_id, subject, reader, kind, priority, due_ms, "
                    "queued_ms, since_ms) "
                    "SELECT unnest($3), unnest($4), unnest($5), $6, $7, 0, $8, $9",
                    args, LISTS + 4, NULL, err);
}

enum fz_code
store_insert_set(struct sql *tx, struct store_outcome *outcomes, size_t n,
                 const struct store_job_time *time, struct fz_error *err)
{
    FZ_CLEANUP(store_freep) void *keys = calloc(n ? n : 1, sizeof(int64_t));
    if (!keys)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = add_rows(tx, outcomes, n, keys, err);
    return code == FZ_OK ? add_parts(tx, outcomes, n, keys, time, err) : code;
}
