#include "storage/store_request.h"
#include "storage/store_terms.h"

#include <stdlib.h>
#include <string.h>

#include "storage/store_dictionary.h"
#include "storage/store_migrate.h"
#include "storage/store_row_security.h"

/* Fold the ledger of report counts once it has more rows than this. */
static const int64_t COUNT_ROWS = 512;

enum fz_code
store_open(const char *database_url, struct store **ret, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = calloc(1, sizeof(*store));
    if (!store)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    store->dictionaries = store_dictionaries_create();
    if (!store->dictionaries)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* Random, so that the connections of several servers rarely share a row. */
    store->usage_slot = store_usage_slot();
    enum fz_code code = sql_open(database_url, false, &store->sql, err);
    if (code == FZ_OK)
        /* Before the first query of a schema that may be another. */
        code = store_migrate_check(store->sql, err);
    if (code == FZ_OK)
        code = store_row_security_check(store->sql, err);
    if (code == FZ_OK)
        /* The two statements exist from the start, so that no other file has to ask. */
        code = store_set_columns(store, &(struct fz_columns){NULL, 0}, err);
    if (code == FZ_OK)
        *ret = fz_take(&store);
    return code;
}

const char *
store_not_up(const char *database_url)
{
    return sql_not_up(database_url);
}

enum fz_code
store_check(struct store *store, struct fz_error *err)
{
    return store_migrate_check(store->sql, err);
}

enum fz_code
store_serve_requests(struct store *store, struct fz_error *err)
{
    return sql_serve_requests(store->sql, err);
}

void
store_close(struct store *store)
{
    if (!store)
        return;
    sql_close(store->sql);
    store_drop_columns(store);
    store_term_cache_destroy(store->terms);
    store_packer_free(store->packer);
    store_dictionaries_destroy(store->dictionaries);
    free(store);
}

void
store_closep(struct store **store)
{
    store_close(*store);
}

void
store_limit_time(struct store *store, int64_t ms)
{
    sql_limit_time(store->sql, ms);
}

bool
store_is_late(const struct store *store)
{
    return sql_is_late(store->sql);
}

enum fz_code
store_ping(struct store *store, struct fz_error *err)
{
    /* A change that is taken back: enough to detect a read-only disk, a standby server or a lock
     * that is never released, and no waiting process wakes up. */
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code != FZ_OK)
        return code;
    return sql_exec(tx, "UPDATE schema_migrations SET applied_ms = applied_ms WHERE version = 1",
                    NULL, 0, NULL, err);
}

enum fz_code
store_position(struct store *store, struct store_position *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (!store->sql->driver->position_query)
        return fz_fail(err, FZ_E_UNSUPPORTED, "only PostgreSQL has a standby");
    enum fz_code code =
        sql_query(store->sql, store->sql->driver->position_query, NULL, 0, &rows, err);
    if (!sql_row(&rows, &code, err))
        return code == FZ_OK ? fz_fail(err, FZ_E_INTERNAL, "the position has no row") : code;
    *ret = (struct store_position){
        .system = sql_col_int(&rows, 0),
        .is_standby = sql_col_int(&rows, 1) != 0,
        .bytes = sql_col_int(&rows, 2),
    };
    return FZ_OK;
}

bool
store_wait_change(struct store *store, int64_t timeout_ms)
{
    return sql_wait_change(store->sql, timeout_ms);
}

/* ---- counts ---- */

/* Every commit of reports leaves one row with how many; so writers never wait for each other over a
 * counter, and a reader adds up a few hundred rows instead of counting a million reports. */
static enum fz_code
fold_counts(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code != FZ_OK)
        return code;
    int64_t sum = 0;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        /* What other writers add meanwhile is another row, which this does not see and does not
         * delete. */
        code = sql_query(tx, "DELETE FROM report_counts RETURNING n", NULL, 0, &rows, err);
        while (sql_row(&rows, &code, err))
            sum += sql_col_int(&rows, 0);
    }
    const struct sql_value args[] = {sql_int(sum)};
    if (code == FZ_OK)
        code = sql_exec(tx, "INSERT INTO report_counts (n) VALUES ($1)", args, 1, NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
count_reports(struct store *store, uint64_t *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql, "SELECT CAST(coalesce(sum(n), 0) AS bigint), count(*) FROM report_counts", NULL,
        0, &rows, err);
    sql_row(&rows, &code, err); /* a sum has always one */
    if (code != FZ_OK)
        return code;
    int64_t sum = sql_col_int(&rows, 0), n_rows = sql_col_int(&rows, 1);
    /* A miscount must not show as 2^64 reports in /metrics. */
    *ret = sum > 0 ? (uint64_t)sum : 0;
    /* Closed before fold_counts() deletes the rows that were read. */
    sql_rows_close(&rows);
    if (n_rows > COUNT_ROWS)
        fz_ignore(fold_counts(store, NULL)); /* only housekeeping: the next reader tries again */
    return FZ_OK;
}

enum fz_code
store_counts(struct store *store, struct store_counts *ret, struct fz_error *err)
{
    struct store_counts counts = {0};
    int64_t quarantined = 0, symbols = 0, bytes = 0, held = 0;
    struct store_queue queue = {0};
    enum fz_code code = store_queue_counts(store, &queue, err);
    if (code == FZ_OK)
        code = count_reports(store, &counts.n_reports, err);
    if (code == FZ_OK)
        code = sql_number(store->sql, "SELECT count(*) FROM jobs WHERE state = 2", NULL, 0,
                          &quarantined, NULL, err);
    if (code == FZ_OK)
        code = sql_number(store->sql, "SELECT count(*) FROM symbol_files", NULL, 0, &symbols, NULL,
                          err);
    if (code == FZ_OK)
        code = sql_number(store->sql, "SELECT count(*) FROM retention WHERE held_ms > 0", NULL, 0,
                          &held, NULL, err);
    if (code == FZ_OK)
        code = sql_number(store->sql, store->sql->driver->bytes_query, NULL, 0, &bytes, NULL, err);
    if (code != FZ_OK)
        return code;
    counts.jobs_queued = queue.n_waiting;
    counts.jobs_leased = queue.n_running;
    counts.oldest_queued_ms = queue.oldest_ms;
    counts.jobs_quarantined = (uint64_t)quarantined;
    counts.n_held = (uint64_t)held;
    counts.n_symbols = (uint64_t)symbols;
    counts.database_bytes = (uint64_t)bytes;
    *ret = counts;
    return FZ_OK;
}

/* ---- copies ---- */

enum fz_code
store_copy(struct store *store, const char *path, store_copied_fn on_copied, void *user,
           struct fz_error *err)
{
    return sql_copy(store->sql, path, on_copied, user, err);
}

enum fz_code
store_check_pages(struct store *store, struct fz_error *err)
{
    char found[256] = "";
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (!store->sql->driver->copy)
        return fz_fail(err, FZ_E_UNSUPPORTED, "only a database of SQLite is checked here");
    enum fz_code code = sql_query(store->sql, "PRAGMA quick_check(1)", NULL, 0, &rows, err);
    if (sql_row(&rows, &code, err))
        sql_col_copy(&rows, 0, found, sizeof(found));
    if (code == FZ_OK && strcmp(found, "ok") != 0)
        code = fz_fail(err, FZ_E_MALFORMED, "the database is damaged: %s", found);
    return code;
}
