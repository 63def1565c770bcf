#include "storage/store_transfer_tables.h"

#include <string.h>

#include "base/buffer.h"

/* The new database has its own: its migrations, the state of this transfer, what is about processes that run, and what is made of
 * the rows of reports. */
static const char tables_query[] =
    "SELECT CAST(relname AS text) FROM pg_class WHERE relnamespace = CAST(current_schema() AS "
    "regnamespace) AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN "
    "('schema_migrations', 'transfer_tables', 'transfer_later', 'queue_clock', 'duties', "
    "'report_ids', 'report_months', 'row_security') "
    "ORDER BY relname";

static const char columns_query[] =
    "SELECT CAST(a.attname AS text), CAST(t.typname AS text), "
    "CASE WHEN a.attidentity <> '' THEN pg_get_serial_sequence(quote_ident($1), "
    "CAST(a.attname AS text)) END FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
    "WHERE a.attrelid = CAST(quote_ident($1) AS regclass) AND a.attnum > 0 AND NOT a.attisdropped "
    "ORDER BY a.attnum";

static const char key_query[] =
    "SELECT CAST(a.attname AS text) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
    "AND a.attnum = ANY (i.indkey) WHERE i.indrelid = CAST(quote_ident($1) AS regclass) AND "
    "i.indisprimary ORDER BY array_position(CAST(i.indkey AS int2[]), a.attnum)";

/* Virtual tables and their parts are indexes of others. */
static const char old_tables_query[] =
    "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT "
    "LIKE 'sqlite@_%' ESCAPE '@' AND name NOT IN ('schema_migrations', 'queue_clock', 'duties')";

static enum fz_code
kind_of(const char *type, enum sql_kind *ret)
{
    static const struct {
        const char *type;
        enum sql_kind kind;
    } kinds[] = {{"int8", SQL_INT}, {"int4", SQL_INT}, {"text", SQL_TEXT}, {"bytea", SQL_BLOB}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(type, kinds[i].type) == 0) {
            *ret = kinds[i].kind;
            return FZ_OK;
        }
    }
    return FZ_E_INTERNAL;
}

static enum fz_code
read_columns(struct sql *to, struct fz_arena *arena, struct store_transfer_table *table,
             struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_transfer_column)};
    const struct sql_value args[] = {sql_text(table->name)};
    struct store_transfer_column *column;
    enum fz_code code = sql_query(to, columns_query, args, FZ_ARRAY_LEN(args), &rows, err);
    while ((column = sql_list_next(&rows, &list, &code, err)) != NULL) {
        char type[32];
        sql_col_copy(&rows, 1, type, sizeof(type));
        column->name = sql_col_text(&rows, 0, arena);
        column->counter = sql_col_text(&rows, 2, arena);
        if (column->name && kind_of(type, &column->kind) != FZ_OK)
            code =
                fz_fail(err, FZ_E_INTERNAL, "%s.%s is of type %s, which a transfer does not know",
                        table->name, column->name, type);
    }
    return sql_list_done(&list, code, &table->columns, &table->n_columns);
}

/* The old table has these columns and no others. */
static enum fz_code
compare_columns(struct sql *from, const struct store_transfer_table *table, struct fz_error *err)
{
    size_t n = 0, n_known = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    const struct sql_value args[] = {sql_text(table->name)};
    enum fz_code code =
        sql_query(from, "SELECT name FROM pragma_table_info($1)", args, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        char name[64];
        sql_col_copy(&rows, 0, name, sizeof(name));
        for (size_t i = 0; i < table->n_columns; i++)
            n_known += strcmp(table->columns[i].name, name) == 0;
        n++;
    }
    if (code == FZ_OK && (n != table->n_columns || n_known != n))
        code =
            fz_fail(err, FZ_E_INTERNAL, "the two databases have other columns in %s", table->name);
    return code;
}

static enum fz_code
join_names(const struct store_transfer_table *table, struct fz_arena *arena, const char **ret,
           struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    for (size_t i = 0; i < table->n_columns; i++)
        fz_buffer_printf(&text, "%s\"%s\"", i ? ", " : "", table->columns[i].name);
    *ret = text.failed ? NULL : fz_arena_strdup(arena, text.data ? text.data : "");
    return *ret ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
read_order(struct sql *to, struct fz_arena *arena, struct store_transfer_table *table,
           struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    const struct sql_value args[] = {sql_text(table->name)};
    enum fz_code code = sql_query(to, key_query, args, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        char name[64];
        sql_col_copy(&rows, 0, name, sizeof(name));
        fz_buffer_printf(&text, "%s\"%s\"", text.len ? ", " : "", name);
    }
    if (code != FZ_OK)
        return code;
    table->order = text.failed ? NULL : fz_arena_strdup(arena, text.len ? text.data : "rowid");
    return table->order ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

enum fz_code
store_transfer_tables(struct sql *from, struct sql *to, struct fz_arena *arena,
                      struct store_transfer_table **ret, size_t *ret_n, struct fz_error *err)
{
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_transfer_table)};
    struct store_transfer_table *tables = NULL, *table;
    size_t n = 0;
    int64_t n_old = 0;
    enum fz_code code;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query(to, tables_query, NULL, 0, &rows, err);
        while ((table = sql_list_next(&rows, &list, &code, err)) != NULL)
            table->name = sql_col_text(&rows, 0, arena);
        code = sql_list_done(&list, code, &tables, &n);
    }
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        code = read_columns(to, arena, &tables[i], err);
        if (code == FZ_OK)
            code = compare_columns(from, &tables[i], err);
        if (code == FZ_OK)
            code = join_names(&tables[i], arena, &tables[i].names, err);
        if (code == FZ_OK)
            code = read_order(to, arena, &tables[i], err);
    }
    if (code == FZ_OK)
        code = sql_number(from, old_tables_query, NULL, 0, &n_old, NULL, err);
    if (code == FZ_OK && (uint64_t)n_old != n)
        code = fz_fail(err, FZ_E_INTERNAL, "the old database has %lld tables and the new one %zu",
                       (long long)n_old, n);
    if (code != FZ_OK)
        return code;
    *ret = tables;
    *ret_n = n;
    return FZ_OK;
}
