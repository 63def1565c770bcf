#include "storage/store_partitions.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_private.h"

/* A month is left alone until all that began in it has ended. */
#define LAST_MONTH "report_month(now() - interval '1 day')"
#define MONTH_KEYS 40 /* bits of a key below the month */

static const int64_t MONTHS_LOCK = INT64_C(0x6d6f6e746873), DAY_MS = INT64_C(24) * 3600 * 1000;
/* A month is copied if it has so many times the rows of the reports that stay. */
enum { COPY_AT = 10, ROWS_AT_ONCE = 2000, ROUNDS_MAX = 100, TEXT = 1024, ARENA = 1 << 20 };

static const char *const tables[] = {"report_bodies", "report_results", "report_memory", "reports"};

struct month {
    int64_t number;   /* since 2020; 0 = of the time before there were months */
    int64_t since_ms; /* bodies and results of deleted reports are there since then; 0 = none are */
    char
        suffix[16]; /* of its tables; "" = it has none, so that its rows are in those of the rest */
};

static enum fz_code
begin(struct sql *sql, struct sql **ret_tx, struct fz_error *err)
{
    enum fz_code code = sql_begin(sql, ret_tx, err);
    /* Who waits for a lock on a table has all who come later wait, too. */
    return code == FZ_OK ? sql_script(*ret_tx, "SET LOCAL lock_timeout = '500ms'", err) : code;
}

/* Run a statement once in which %1$s is the suffix of the month's tables. */
static enum fz_code
ask(struct sql *sql, const char *text, int64_t *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_once(sql, text, NULL, 0, &rows, err);
    *ret = sql_row(&rows, &code, err) ? sql_col_int(&rows, 0) : 0;
    return code;
}

static enum fz_code
count(struct sql *sql, const char *table, const struct month *month, int64_t *ret,
      struct fz_error *err)
{
    char text[TEXT];
    snprintf(text, sizeof(text), "SELECT count(*) FROM %s%s", table, month->suffix);
    return ask(sql, text, ret, err);
}

static enum fz_code
measure(struct sql *tx, const struct month *month, int64_t *ret, struct fz_error *err)
{
    int64_t total = 0;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(tables); i++) {
        char text[TEXT];
        int64_t bytes = 0;
        snprintf(text, sizeof(text), "SELECT pg_total_relation_size(CAST('%s%s' AS regclass))",
                 tables[i], month->suffix);
        code = ask(tx, text, &bytes, err);
        total += bytes;
    }
    *ret = total;
    return code;
}

/* Before the locks on tables, as store_months_leave() does. */
static enum fz_code
forget(struct sql *tx, const struct month *month, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(month->number)};
    return sql_exec(tx, "DELETE FROM report_months WHERE month = $1", args, 1, NULL, err);
}

/* ---- a month without reports ---- */

static enum fz_code
drop_month(struct store *store, const struct month *month, struct store_months_done *done,
           struct fz_error *err)
{
    char text[TEXT];
    int64_t n = 0, bytes = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = begin(store->sql, &tx, err);
    snprintf(text, sizeof(text), "LOCK TABLE reports%s IN ACCESS EXCLUSIVE MODE", month->suffix);
    if (code == FZ_OK)
        code = forget(tx, month, err);
    if (code == FZ_OK)
        code = sql_script(tx, text, err);
    if (code == FZ_OK)
        code = count(tx, "reports", month, &n, err);
    /* Somebody was faster than the lock. */
    if (code != FZ_OK || n > 0)
        return code;
    code = measure(tx, month, &bytes, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(tables); i++) {
        snprintf(text, sizeof(text), "DROP TABLE %s%s", tables[i], month->suffix);
        code = sql_script(tx, text, err);
    }
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    done->n_dropped += code == FZ_OK;
    done->bytes += code == FZ_OK ? (uint64_t)bytes : 0;
    return code;
}

/* ---- a month with few reports ---- */

/* The new tables, beside those that are read meanwhile. Until they are attached, what is added to them runs no trigger. */
static enum fz_code
copy_rows(struct sql *tx, const struct month *month, struct fz_error *err)
{
    char text[TEXT];
    const char *x = month->suffix;
    snprintf(
        text, sizeof(text),
        "LOCK TABLE reports%s, report_bodies%s, report_results%s, report_memory%s IN SHARE ROW "
        "EXCLUSIVE MODE",
        x, x, x, x);
    enum fz_code code = sql_script(tx, text, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(tables); i++) {
        const char *table = tables[i];
        char where[TEXT / 4] = "";
        if (strcmp(table, "reports") != 0)
            snprintf(where, sizeof(where), " WHERE report_key IN (SELECT key FROM reports%s)", x);
        snprintf(text, sizeof(text),
                 "CREATE TABLE %s%s_new (LIKE %s%s INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING "
                 "INDEXES); INSERT INTO %s%s_new SELECT * FROM %s%s%s",
                 table, x, table, x, table, x, table, x, where);
        code = sql_script(tx, text, err);
    }
    return code;
}

static enum fz_code
exchange(struct sql *tx, const struct month *month, struct fz_error *err)
{
    char text[TEXT], bounds[128] = "";
    const char *x = month->suffix;
    enum fz_code code;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        snprintf(text, sizeof(text),
                 "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = CAST('reports%s' "
                 "AS regclass)",
                 x);
        code = sql_query_once(tx, text, NULL, 0, &rows, err);
        if (sql_row(&rows, &code, err))
            sql_col_copy(&rows, 0, bounds, sizeof(bounds));
    }
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(tables); i++) {
        const char *table = tables[i];
        snprintf(text, sizeof(text),
                 "DROP TABLE %s%s; ALTER TABLE %s%s_new RENAME TO %s%s; ALTER TABLE %s ATTACH "
                 "PARTITION %s%s %s",
                 table, x, table, x, table, x, table, table, x, bounds);
        code = sql_script(tx, text, err);
    }
    return code;
}

static enum fz_code
copy_month(struct store *store, const struct month *month, struct store_months_done *done,
           struct fz_error *err)
{
    int64_t before = 0, after = 0, n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = forget(tx, month, err);
    if (code == FZ_OK)
        code = copy_rows(tx, month, err);
    if (code == FZ_OK)
        code = measure(tx, month, &before, err);
    if (code == FZ_OK)
        code = exchange(tx, month, err);
    if (code == FZ_OK)
        code = measure(tx, month, &after, err);
    if (code == FZ_OK)
        code = count(tx, "reports", month, &n, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code != FZ_OK)
        return code;
    done->n_copied++;
    done->n_reports += (uint64_t)n;
    done->bytes += before > after ? (uint64_t)(before - after) : 0;
    return FZ_OK;
}

/* ---- a month whose rows are in the tables of the rest ---- */

static enum fz_code
drop_rows(struct store *store, const struct month *month, struct fz_error *err)
{
    static const char *const texts[] = {
        "DELETE FROM report_bodies WHERE report_key IN (SELECT b.report_key FROM report_bodies b "
        "WHERE b.report_key >= $1 AND b.report_key < $2 AND NOT EXISTS (SELECT 1 FROM reports r "
        "WHERE r.key = b.report_key) LIMIT $3)",
        "DELETE FROM report_results WHERE report_key IN (SELECT b.report_key FROM report_results b "
        "WHERE b.report_key >= $1 AND b.report_key < $2 AND NOT EXISTS (SELECT 1 FROM reports r "
        "WHERE r.key = b.report_key) LIMIT $3)"};
    const struct sql_value args[] = {sql_int(month->number * (INT64_C(1) << MONTH_KEYS)),
                                     sql_int((month->number + 1) * (INT64_C(1) << MONTH_KEYS)),
                                     sql_int(ROWS_AT_ONCE)};
    uint64_t n = ROWS_AT_ONCE, n_last = 0;
    enum fz_code code = FZ_OK;
    for (int round = 0; code == FZ_OK && n >= ROWS_AT_ONCE && round < ROUNDS_MAX; round++) {
        n = 0;
        for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(texts); i++) {
            code = sql_exec(store->sql, texts[i], args, FZ_ARRAY_LEN(args), &n_last, err);
            n = n_last > n ? n_last : n;
        }
    }
    return code == FZ_OK && n < ROWS_AT_ONCE ? forget(store->sql, month, err) : code;
}

/* ---- all months ---- */

static enum fz_code
sweep_month(struct store *store, const struct month *month, int64_t now_ms,
            struct store_months_done *done, struct fz_error *err)
{
    int64_t n_reports = 0, n_bodies = 0, n_results = 0;
    if (!month->suffix[0])
        return drop_rows(store, month, err);
    enum fz_code code = count(store->sql, "reports", month, &n_reports, err);
    /* The first one takes what is copied from another database, so it stays. */
    if (code == FZ_OK && n_reports == 0 && month->number > 0)
        return drop_month(store, month, done, err);
    if (code != FZ_OK || month->since_ms == 0)
        return code;
    code = count(store->sql, "report_bodies", month, &n_bodies, err);
    if (code == FZ_OK)
        code = count(store->sql, "report_results", month, &n_results, err);
    int64_t n = n_bodies > n_results ? n_bodies : n_results;
    bool is_time = n >= COPY_AT * n_reports || now_ms < month->since_ms ||
                   now_ms - month->since_ms > STORE_MONTH_WAIT_DAYS * DAY_MS;
    return code == FZ_OK && is_time ? copy_month(store, month, done, err) : code;
}

static enum fz_code
read_months(struct store *store, struct fz_arena *arena, struct month **ret, size_t *ret_n,
            struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct month)};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT p.suffix, coalesce(p.number, m.month), coalesce(m.since_ms, 0) FROM (SELECT "
        "substr(CAST(c.relname AS text), 8) AS suffix, CASE WHEN c.relname = 'reports_old' THEN 0 "
        "ELSE CAST(substr(CAST(c.relname AS text), 9, 4) AS bigint) * 12 + "
        "CAST(substr(CAST(c.relname AS text), 14, 2) AS bigint) - 24241 END AS number FROM "
        "pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = CAST('reports' AS "
        "regclass) AND c.relname <> 'reports_rest') p FULL JOIN report_months m ON m.month = "
        "p.number WHERE coalesce(p.number, m.month) < " LAST_MONTH " ORDER BY 2",
        NULL, 0, &rows, err);
    for (struct month *month; (month = sql_list_next(&rows, &list, &code, err));) {
        sql_col_copy(&rows, 0, month->suffix, sizeof(month->suffix));
        month->number = sql_col_int(&rows, 1);
        month->since_ms = sql_col_int(&rows, 2);
    }
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
make_months(struct store *store, uint64_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(STORE_MONTHS_AHEAD)};
    int64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, MONTHS_LOCK, true, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT report_months_make($1)", args, 1, &n, NULL, err);
    /* PostgreSQL does so by itself for partitions alone. */
    if (code == FZ_OK && n > 0)
        code = sql_script(tx, "ANALYZE reports", err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    *ret_n = (uint64_t)n;
    return code;
}

enum fz_code
store_months_settle(struct sql *sql, struct fz_error *err)
{
    static const char script[] =
        "DO $$ DECLARE part regclass; is_used boolean; BEGIN FOR part IN SELECT CAST(c.oid AS "
        "regclass) FROM pg_class c WHERE c.reltuples = 0 AND c.relkind = 'r' AND (c.oid = "
        "CAST('report_ids' AS regclass) OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE "
        "inhparent = CAST('reports' AS regclass))) ORDER BY c.oid LOOP "
        "EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', part) INTO is_used; "
        "CONTINUE WHEN is_used; "
        "EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part); "
        "EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', part) INTO is_used; "
        "CONTINUE WHEN is_used; EXECUTE format('TRUNCATE %s', part); END LOOP; END $$";
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    if (sql->driver->has_one_writer)
        return FZ_OK;
    enum fz_code code = begin(sql, &tx, err);
    if (code == FZ_OK)
        code = sql_script(tx, script, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_months_sweep(struct store *store, struct store_months_done *ret, struct fz_error *err)
{
    struct store_months_done done = {0};
    struct month *months = NULL;
    size_t n = 0;
    int64_t now = 0;
    *ret = done;
    if (store->sql->driver->has_one_writer)
        return FZ_OK;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    enum fz_code code = make_months(store, &done.n_made, err);
    if (code == FZ_OK)
        code = store_months_settle(store->sql, err);
    if (code == FZ_OK)
        code = sql_now(store->sql, &now, err);
    if (code == FZ_OK)
        code = read_months(store, &arena, &months, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = sweep_month(store, &months[i], now, &done, err);
    *ret = done; /* also what was done before a failure */
    return code;
}

enum fz_code
store_months_leave(struct sql *tx, const int64_t *keys, size_t n, struct fz_error *err)
{
    if (tx->driver->has_one_writer)
        return FZ_OK;
    int64_t now = 0;
    FZ_CLEANUP(sql_array_deinit) struct sql_array array = sql_array_make(SQL_INT);
    for (size_t i = 0; i < n; i++)
        sql_array_add(&array, sql_int(keys[i]));
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_array_value(&array), sql_int(now)};
    /* Read by the trigger that follows each report (0035_expand_months.sql). */
    if (code == FZ_OK)
        code = sql_script(tx, "SET LOCAL framezero.whole_months = 'on'", err);
    /* The update is a lock: the month is not taken for swept while these reports are being deleted. */
    return code == FZ_OK
               ? sql_exec(tx,
                          "INSERT INTO report_months (month, since_ms) SELECT DISTINCT k >> 40, "
                          "CAST($2 AS bigint) FROM unnest($1) AS k WHERE k < report_month(now()) "
                          "<< 40 ORDER BY 1 ON CONFLICT (month) DO UPDATE SET since_ms = "
                          "report_months.since_ms",
                          args, FZ_ARRAY_LEN(args), NULL, err)
               : code;
}
