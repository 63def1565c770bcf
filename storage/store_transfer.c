#include "storage/store_transfer.h"

#include <stdio.h>
#include <string.h>

#include "storage/store.h"
#include "storage/store_migrate.h"
#include "storage/store_transfer_rows.h"

enum { ARENA = 4 << 20, STATEMENT_MAX = 2048 };

/* Foreign keys and indexes come when all rows are there: that is faster, checks every reference, and the order of the tables does not
 * matter. The statements that make them are kept in the new database, where a later run finds them. */
static const char start_script[] =
    "CREATE TABLE transfer_tables (name text COLLATE \"C\" PRIMARY KEY, n_rows bigint NOT NULL);"
    "CREATE TABLE transfer_later (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "what text NOT NULL, drop_it text NOT NULL, make_it text NOT NULL);"
    "INSERT INTO transfer_later (what, drop_it, make_it) "
    "SELECT i.indexrelid::regclass, format('DROP INDEX %s', i.indexrelid::regclass), "
    "pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> "
    "'report_ids' "
    "AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_constraint k "
    "WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')) "
    "ORDER BY i.indexrelid;"
    "INSERT INTO transfer_later (what, drop_it, make_it) "
    "SELECT k.conname, format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, "
    "k.conname), "
    "format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, "
    "pg_get_constraintdef(k.oid)) FROM pg_constraint k "
    "WHERE k.connamespace = current_schema()::regnamespace AND k.contype = 'f' "
    "AND k.conparentid = 0 ORDER BY k.oid";

struct transfer {
    struct sql *from, *to;
    const struct store_transfer_watch *watch;
    struct fz_arena arena;
    struct store_transfer_table *tables;
    size_t n_tables;
};

/* ---- the two databases ---- */

static enum fz_code
open_both(struct transfer *t, const char *from, const char *to, struct fz_error *err)
{
    unsigned n_applied;
    bool has_begun = false;
    if (strncmp(from, "sqlite:", strlen("sqlite:")) != 0 ||
        strncmp(to, "postgres", strlen("postgres")) != 0)
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "a database is copied from sqlite:PATH to postgresql://...; between two of "
                       "one kind use backup and restore, or pg_dump");
    enum fz_code code = sql_open(from, false, &t->from, err);
    if (code == FZ_OK)
        code = store_migrate_check(t->from, err);
    if (code != FZ_OK) {
        fz_wrap(err, "the old database");
        return code;
    }
    code = sql_open(to, false, &t->to, err);
    if (code == FZ_OK)
        code = store_transfer_has_begun(t->to, &has_begun, err);
    if (code == FZ_OK && !has_begun)
        code = store_migrate(to, &n_applied, err);
    if (code == FZ_OK)
        code = sql_bulk_start(t->to, err);
    if (code != FZ_OK)
        fz_wrap(err, "the new database");
    return code;
}

static enum fz_code
count(struct sql *sql, const struct store_transfer_table *table, const char *limit, int64_t *ret,
      struct fz_error *err)
{
    char text[256];
    snprintf(text, sizeof(text), "SELECT count(*) FROM (SELECT 1 FROM \"%s\" %s) AS counted",
             table->name, limit);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_once(sql, text, NULL, 0, &rows, err);
    *ret = sql_row(&rows, &code, err) ? sql_col_int(&rows, 0) : 0;
    return code;
}

/* The first table with something in it; NULL: there is none. */
static enum fz_code
find_content(struct transfer *t, const char **ret, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    *ret = NULL;
    for (size_t i = 0; code == FZ_OK && !*ret && i < t->n_tables; i++) {
        int64_t n;
        code = count(t->to, &t->tables[i], "LIMIT 1", &n, err);
        if (n > 0)
            *ret = t->tables[i].name;
    }
    return code;
}

/* ---- what comes later ---- */

struct later {
    const char *what, *statement;
};

static enum fz_code
run_later(struct transfer *t, struct sql *tx, const char *query, bool is_shown,
          struct fz_error *err)
{
    struct sql_list list = {.arena = &t->arena, .item = sizeof(struct later)};
    struct later *items = NULL, *item;
    size_t n = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_once(tx, query, NULL, 0, &rows, err);
    while ((item = sql_list_next(&rows, &list, &code, err)) != NULL) {
        item->what = sql_col_text(&rows, 0, &t->arena);
        item->statement = sql_col_text(&rows, 1, &t->arena);
    }
    sql_rows_close(&rows);
    code = sql_list_done(&list, code, &items, &n);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (is_shown)
            store_transfer_tell(t->watch, STORE_TRANSFER_INDEX, items[i].what, i, n);
        code = sql_script(tx, items[i].statement, err);
        if (code != FZ_OK)
            fz_wrap(err, "%s", items[i].what);
    }
    return code;
}

static enum fz_code
start(struct transfer *t, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(t->to, &tx, err);
    if (code == FZ_OK)
        code = sql_script(tx, start_script, err);
    /* Keys first: an index may be what one refers to. */
    if (code == FZ_OK)
        code = run_later(t, tx, "SELECT what, drop_it FROM transfer_later ORDER BY position DESC",
                         false, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* The next number of each counter, which must be above those that the old database has given, also to rows that are gone. */
static enum fz_code
set_counters(struct transfer *t, struct sql *tx, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < t->n_tables; i++) {
        for (size_t k = 0; code == FZ_OK && k < t->tables[i].n_columns; k++) {
            const struct store_transfer_table *table = &t->tables[i];
            char text[STATEMENT_MAX];
            int64_t given = 0;
            if (!table->columns[k].counter)
                continue;
            const struct sql_value name[] = {sql_text(table->name)};
            code = sql_number(t->from, "SELECT seq FROM sqlite_sequence WHERE name = $1", name, 1,
                              &given, NULL, err);
            snprintf(text, sizeof(text),
                     "SELECT setval(CAST($1 AS regclass), greatest(max(\"%s\"), $2), true) FROM "
                     "\"%s\" HAVING greatest(max(\"%s\"), $2) > 0",
                     table->columns[k].name, table->name, table->columns[k].name);
            const struct sql_value args[] = {sql_text(table->columns[k].counter), sql_int(given)};
            FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
            if (code == FZ_OK)
                code = sql_query_once(tx, text, args, FZ_ARRAY_LEN(args), &rows, err);
        }
    }
    return code;
}

static enum fz_code
finish(struct transfer *t, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(t->to, &tx, err);
    /* An index of hundreds of millions of rows takes longer than any other statement. */
    if (code == FZ_OK)
        code = sql_script(tx, "SET LOCAL statement_timeout = 0", err);
    if (code == FZ_OK)
        code = set_counters(t, tx, err);
    if (code == FZ_OK)
        code = run_later(t, tx, "SELECT what, make_it FROM transfer_later ORDER BY position", true,
                         err);
    if (code == FZ_OK)
        code = sql_script(tx, "DROP TABLE transfer_tables; DROP TABLE transfer_later", err);
    /* Before the commit: what failed after it would make a complete copy look like one that is not. */
    if (code == FZ_OK)
        code = sql_script(tx, "ANALYZE", err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* ---- the tables ---- */

static enum fz_code
copy_table(struct transfer *t, const struct store_transfer_table *table, struct fz_error *err)
{
    int64_t done = 0, total = 0;
    const struct sql_value name[] = {sql_text(table->name)};
    enum fz_code code = sql_number(t->to, "SELECT n_rows FROM transfer_tables WHERE name = $1",
                                   name, 1, &done, NULL, err);
    if (code == FZ_OK)
        code = count(t->from, table, "", &total, err);
    if (code != FZ_OK || done >= total)
        return code;
    return store_transfer_copy(t->from, t->to, table, (uint64_t)done, (uint64_t)total, t->watch,
                               err);
}

/* What differs is copied again by the next run. */
static enum fz_code
start_over(struct transfer *t, const struct store_transfer_table *table, struct fz_error *err)
{
    char text[256];
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    snprintf(text, sizeof(text), "TRUNCATE \"%s\"", table->name);
    const struct sql_value name[] = {sql_text(table->name)};
    enum fz_code code = sql_begin(t->to, &tx, err);
    if (code == FZ_OK)
        code = sql_script(tx, text, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM transfer_tables WHERE name = $1", name, 1, NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
compare_table(struct transfer *t, const struct store_transfer_table *table, uint64_t *n_rows,
              bool *ret_same, struct fz_error *err)
{
    struct store_transfer_sum there = {0}, here = {0};
    int64_t total = 0;
    enum fz_code code = count(t->from, table, "", &total, err);
    if (code == FZ_OK)
        code = store_transfer_sum(t->from, table, (uint64_t)total, NULL, &there, err);
    if (code == FZ_OK)
        code = store_transfer_sum(t->to, table, (uint64_t)total, t->watch, &here, err);
    if (code != FZ_OK)
        return code;
    *n_rows += here.n_rows;
    *ret_same = memcmp(&there, &here, sizeof(there)) == 0;
    return FZ_OK;
}

static enum fz_code
compare(struct transfer *t, struct store_transfer_result *result, struct fz_error *err)
{
    const char *other = NULL;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < t->n_tables; i++) {
        bool same = true;
        code = compare_table(t, &t->tables[i], &result->n_rows, &same, err);
        if (!same)
            other = t->tables[i].name;
        if (code == FZ_OK && !same)
            code = start_over(t, &t->tables[i], err);
    }
    if (code == FZ_OK && other)
        code = fz_fail(err, FZ_E_MALFORMED,
                       "%s is not the same in both databases: something has changed the old one "
                       "meanwhile; stop it, and start the copy again, which copies this table anew",
                       other);
    return code;
}

/* Something is in the new database, and no transfer is going on: one is complete, or others use it. */
static enum fz_code
compare_complete(struct transfer *t, const char *content, struct store_transfer_result *result,
                 struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    bool same = true;
    for (size_t i = 0; code == FZ_OK && same && i < t->n_tables; i++)
        code = compare_table(t, &t->tables[i], &result->n_rows, &same, err);
    result->has_gone_on = true;
    if (code == FZ_OK && !same)
        code = fz_fail(err, FZ_E_CONFLICT,
                       "the new database is in use: there is something in %s; create an empty "
                       "database and name that",
                       content);
    return code;
}

static enum fz_code
transfer(struct transfer *t, struct store_transfer_result *result, struct fz_error *err)
{
    const char *content = NULL;
    enum fz_code code =
        store_transfer_tables(t->from, t->to, &t->arena, &t->tables, &t->n_tables, err);
    if (code == FZ_OK)
        code = store_transfer_has_begun(t->to, &result->has_gone_on, err);
    if (code == FZ_OK && !result->has_gone_on)
        code = find_content(t, &content, err);
    result->n_tables = t->n_tables;
    if (code == FZ_OK && content)
        return compare_complete(t, content, result, err);
    if (code == FZ_OK && !result->has_gone_on)
        code = start(t, err);
    for (size_t i = 0; code == FZ_OK && i < t->n_tables; i++)
        code = copy_table(t, &t->tables[i], err);
    if (code == FZ_OK)
        code = compare(t, result, err);
    return code == FZ_OK ? finish(t, err) : code;
}

enum fz_code
store_transfer(const char *from, const char *to, const struct store_transfer_watch *watch,
               struct store_transfer_result *ret, struct fz_error *err)
{
    struct transfer t = {.watch = watch, .arena = fz_arena_make(ARENA)};
    struct store_transfer_result result = {0};
    enum fz_code code = open_both(&t, from, to, err);
    if (code == FZ_OK)
        code = transfer(&t, &result, err);
    sql_close(t.from);
    sql_close(t.to);
    fz_arena_deinit(&t.arena);
    if (code == FZ_OK)
        *ret = result;
    return code;
}
