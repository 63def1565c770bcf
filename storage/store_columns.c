/* The columns of reports as SQL: what a list reads, and what the end of a job writes. */
#include "storage/store_private.h"

#include <assert.h>
#include <stdlib.h>

/* Columns that storage has a member for, in the order of store_report_read(). */
static const char own[] = "id, project_id, received_ms, timestamp_ms, status, format, error, "
                          "n_missing, n_processed, memory";

/* Arguments of the update, before those of the values. */
static const char update_start[] =
    "UPDATE reports SET status = $3, timestamp_ms = $4, format = coalesce($5, format), "
    "n_missing = $6, image_set = $7, wait_set = CASE WHEN transient = 1 THEN NULL ELSE $8 END, "
    "error = NULL, n_processed = n_processed + 1, memory = coalesce($9, memory), "
    "is_grouped = CASE WHEN $10 = 1 AND transient = 0 THEN 1 ELSE is_grouped END";

static enum fz_code
copy_text(struct fz_buffer *text, char **ret, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(text, err);
    if (code != FZ_OK)
        return code;
    *ret = strdup(fz_buffer_cstr(text));
    return *ret ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

enum fz_code
store_set_columns(struct store *store, const struct fz_columns *columns, struct fz_error *err)
{
    /* The table is the program's own, so too long a one is a mistake of its author. */
    assert(columns->n + STORE_UPDATE_ARGS <= SQL_MAX_PARAMS);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer select = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer update = fz_buffer_make(0);
    size_t n_args = STORE_UPDATE_ARGS;
    fz_buffer_text(&select, own);
    fz_buffer_text(&update, update_start);
    for (size_t i = 0; i < columns->n; i++) {
        const struct fz_column *column = &columns->list[i];
        fz_buffer_printf(&select, ", %s", column->name);
        if (!column->is_fixed)
            fz_buffer_printf(&update, ", %s = $%zu", column->name, ++n_args);
    }
    /* The key is what results and sets are stored under; the rest is for store_runs.h. */
    fz_buffer_text(&update,
                   " WHERE key = " STORE_REPORT_KEY " RETURNING key, CASE WHEN ends_run = "
                   "1 AND transient = 0 THEN run_id END, n_processed, received_ms, transient");
    /* A second call replaces the columns of the first. */
    store_drop_columns(store);
    enum fz_code code = copy_text(&select, &store->select_report, err);
    if (code == FZ_OK)
        code = copy_text(&update, &store->update_report, err);
    store->columns = *columns;
    return code;
}

void
store_drop_columns(struct store *store)
{
    free(store->select_report);
    free(store->update_report);
    store->select_report = store->update_report = NULL;
    store->columns = (struct fz_columns){NULL, 0};
}

enum fz_code
store_report_read(const struct store *store, struct sql_rows *rows, struct fz_arena *arena,
                  struct store_report *ret, struct fz_error *err)
{
    union fz_value *values = fz_arena_array(arena, store->columns.n, sizeof(*values));
    if (!values)
        return fz_arena_fail(arena, err);
    struct store_report report = {
        .project_id = sql_col_int(rows, 1),
        .received_ms = sql_col_int(rows, 2),
        .timestamp_ms = sql_col_int(rows, 3),
        .format = sql_col_text(rows, 5, arena),
        .error = sql_col_text(rows, 6, arena),
        .n_missing = (unsigned)sql_col_int(rows, 7),
        .n_processed = (unsigned)sql_col_int(rows, 8),
        .memory = (enum store_memory)sql_col_int(rows, 9),
        .values = store->columns.n ? values : NULL,
    };
    sql_col_copy(rows, 0, report.id, sizeof(report.id));
    for (size_t i = 0; i < store->columns.n; i++) {
        if (fz_column_is_text(&store->columns.list[i]))
            values[i].text = sql_col_text(rows, STORE_REPORT_OWN + (int)i, arena);
        else
            values[i].number = sql_col_int(rows, STORE_REPORT_OWN + (int)i);
    }
    /* Last, since only this can fail: texts that did not fit fail the next sql_next(). */
    enum fz_code code = store_read_report_status(rows, 4, &report.status, err);
    if (code == FZ_OK)
        *ret = report;
    return code;
}

size_t
store_report_bind(const struct store *store, const union fz_value *values, struct fz_arena *arena,
                  struct sql_value *args, size_t n)
{
    for (size_t i = 0; i < store->columns.n; i++) {
        const struct fz_column *column = &store->columns.list[i];
        /* Columns with an index must stay short: a longer entry is an error in PostgreSQL. */
        size_t max = column->type == FZ_COLUMN_LONG_TEXT ? STORE_TEXT_LONG : STORE_TEXT_SHORT;
        if (column->is_fixed)
            continue;
        if (fz_column_is_text(column))
            args[n++] = sql_text_clean(arena, values ? values[i].text : NULL, max);
        else
            args[n++] = sql_int(values ? values[i].number : 0);
    }
    return n;
}
