/*
 * Row security: what a connection for requests sees of each table when a statement names no project.
 *
 * The tables are those that the database has, so one that a later migration adds is tried, too.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/sql/sql.h"
#include "storage/store_private.h"
#include "storage/store_row_security.h"

/* One row of each project in each table. Every number is the project's, so children belong to the row of their project. */
static const char fill[] =
    "SET session_replication_role = replica; DO $$ DECLARE t record; p bigint; BEGIN FOR p IN "
    "SELECT id FROM projects LOOP FOR t IN SELECT c.relname AS name, "
    "string_agg(quote_ident(a.attname), ', ') AS columns, string_agg(CASE y.typname WHEN 'text' "
    "THEN quote_literal('p' || p) WHEN 'bytea' THEN '''x''::bytea' ELSE p::text END, ', ') AS "
    "row FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT "
    "a.attisdropped JOIN pg_type y ON y.oid = a.atttypid WHERE c.relnamespace = "
    "current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND "
    "c.relname NOT IN ('projects', 'schema_migrations', 'row_security') GROUP BY c.relname LOOP "
    "EXECUTE format('INSERT INTO %I (%s) OVERRIDING SYSTEM VALUE VALUES (%s) ON CONFLICT DO "
    "NOTHING', t.name, t.columns, t.row); END LOOP; END LOOP; END $$";

static struct store *
open_confined(struct contract *c)
{
    struct store *store = contract_open(c);
    assert_ok(c, store_confine(store, &c->err));
    return store;
}

static int64_t
number(struct contract *c, struct store *store, const char *text)
{
    int64_t n = -1;
    contract_code(c, FZ_OK, sql_number(store->sql, text, NULL, 0, &n, NULL, &c->err), text, 0);
    return n;
}

static int64_t
count(struct contract *c, struct store *store, const char *table)
{
    char text[128];
    snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table);
    return number(c, store, text);
}

/* How many rows a statement without a condition changes, which is taken back. */
static uint64_t
changes(struct contract *c, struct store *store, const char *text)
{
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    assert_ok(c, sql_begin(store->sql, &tx, &c->err));
    contract_code(c, FZ_OK, sql_exec(tx, text, NULL, 0, &n, &c->err), text, 0);
    return n;
}

static void
assert_refused(struct contract *c, struct store *store, const char *text, const char *why)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    assert_ok(c, sql_begin(store->sql, &tx, &c->err));
    contract_code(c, FZ_E_INTERNAL, sql_exec(tx, text, NULL, 0, NULL, &c->err), text, 0);
    if (!strstr(c->err.text, why))
        fail_msg("%s: %s", text, c->err.text);
}

/* ---- every table ---- */

struct table {
    const char *name, *column; /* any of its columns */
    bool has_project;
};

static size_t
list_tables(struct contract *c, struct table **ret)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = &c->arena, .item = sizeof(struct table)};
    struct table *table;
    size_t n = 0;
    enum fz_code code = sql_query(
        c->store->sql,
        "SELECT CAST(c.relname AS text), CAST(min(a.attname) FILTER (WHERE a.attidentity = '') AS "
        "text), count(*) FILTER (WHERE "
        "a.attname = 'project_id') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND "
        "a.attnum > 0 WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind "
        "IN ('r', 'p') AND NOT c.relispartition GROUP BY c.relname ORDER BY 1",
        NULL, 0, &rows, &c->err);
    while ((table = sql_list_next(&rows, &list, &code, &c->err)) != NULL) {
        table->name = sql_col_text(&rows, 0, &c->arena);
        table->column = sql_col_text(&rows, 1, &c->arena);
        table->has_project = sql_col_int(&rows, 2) != 0;
    }
    assert_ok(c, sql_list_done(&list, code, ret, &n));
    return n;
}

/* Those of which a request sees all rows; each more is a decision. */
static const char *const shown[] = {"blob_garbage",  "chunks",        "fact_tags",
                                    "facts",         "issue_days",    "issue_hours",
                                    "report_counts", "report_months", "stack_terms"};

static bool
is_shown(const struct table *table)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(shown); i++) {
        if (strcmp(shown[i], table->name) == 0)
            return true;
    }
    return false;
}

static const struct store_row_rule *
rule_of(const struct table *table)
{
    for (size_t i = 0; i < store_n_row_rules; i++) {
        if (strcmp(store_row_rules[i].table, table->name) == 0)
            return &store_row_rules[i];
    }
    fail_msg("the table %s is not in store_row_rules (storage/store_row_security.c)", table->name);
    return NULL;
}

static void
try_table(struct contract *c, struct store *store, const struct table *table)
{
    const struct store_row_rule *rule = rule_of(table);
    const int64_t projects[] = {c->project, c->other};
    char text[200];
    assert_int_equal(rule->why != NULL, is_shown(table));
    if (!rule->condition) {
        /* Without a policy a table has no project, or requests do not see it at all. */
        assert_true(!rule->grants || (rule->why && !table->has_project));
        snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table->name);
        if (!rule->grants)
            assert_refused(c, store, text, "permission denied");
        return;
    }
    /* Each has its own row, and no one another's. */
    assert_int_equal(count(c, c->store, table->name), FZ_ARRAY_LEN(projects));
    for (size_t i = 0; i < FZ_ARRAY_LEN(projects); i++) {
        store_see_project(store, projects[i]);
        if (rule->why)
            assert_int_equal(count(c, store, table->name), FZ_ARRAY_LEN(projects));
        else if (count(c, store, table->name) != 1)
            fail_msg("%s: project %d sees %d rows", table->name, (int)projects[i],
                     (int)count(c, store, table->name));
        snprintf(text, sizeof(text), "UPDATE %s SET %s = %s", table->name, table->column,
                 table->column);
        assert_int_equal(changes(c, store, text), 1);
        if (!table->has_project)
            continue;
        snprintf(text, sizeof(text), "UPDATE %s SET project_id = %d", table->name,
                 (int)projects[1 - i]);
        assert_refused(c, store, text, "row-level security");
    }
    store_see_project(store, 0);
    if (!rule->why)
        assert_int_equal(count(c, store, table->name), 0);
}

static void
test_tables(void **state)
{
    struct contract *c = *state;
    struct table *tables;
    if (contract_is_sqlite(c))
        skip();
    assert_ok(c, store_row_security_on(c->store, &c->err));
    contract_sql(c, "", fill);
    struct store *store = open_confined(c);
    assert_true(store_is_confined(store));
    size_t n = list_tables(c, &tables), n_policies = 0;
    assert_true(n > 60);
    for (size_t i = 0; i < n; i++) {
        try_table(c, store, &tables[i]);
        n_policies += rule_of(&tables[i])->condition != NULL;
    }
    assert_int_equal(n, store_n_row_rules);
    struct store_row_security security;
    assert_ok(c, store_row_security_get(c->store, &security, &c->err));
    assert_true(security.is_on);
    assert_int_equal(security.n_tables, n_policies);
    store_close(store);
}

/* Months have tables of their own, which only the whole leads to. */
static void
test_months(void **state)
{
    struct contract *c = *state;
    if (contract_is_sqlite(c))
        skip();
    assert_ok(c, store_row_security_on(c->store, &c->err));
    assert_true(number(c, c->store, "SELECT report_months_make(4)") > 0);
    struct store *store = open_confined(c);
    store_see_project(store, c->project);
    assert_true(number(c, store,
                       "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND "
                       "relnamespace = CAST(current_schema() AS regnamespace)") > 20);
    assert_int_equal(number(c, store,
                            "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' "
                            "AND relnamespace = CAST(current_schema() AS regnamespace) AND "
                            "has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE')"),
                     0);
    assert_refused(c, store, "SELECT count(*) FROM reports_old", "permission denied");
    store_close(store);
}

/* ---- a connection's life ---- */

static void
test_project(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], other[STORE_ID_TEXT];
    struct store_report report;
    if (contract_is_sqlite(c))
        skip();
    contract_report(c, c->project, "a", id);
    contract_report(c, c->other, "b", other);
    assert_ok(c, store_row_security_on(c->store, &c->err));
    struct store *store = open_confined(c);
    assert_int_equal(count(c, store, "reports"), 0);
    /* The project counts, whatever the call asks for. */
    store_see_project(store, c->project);
    assert_ok(c, store_report_get(store, c->project, id, &c->arena, &report, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_get(store, c->other, other, &c->arena, &report, &c->err));
    /* What is taken back takes the setting back, which the next statement must not rely on. */
    store_see_project(store, c->other);
    assert_int_equal(changes(c, store, "UPDATE reports SET transient = 0"), 1);
    assert_ok(c, store_report_get(store, c->other, other, &c->arena, &report, &c->err));
    assert_fails(c, FZ_E_INTERNAL,
                 sql_exec(store->sql, "SELECT 1 / (SELECT 0)", NULL, 0, NULL, &c->err));
    store_see_project(store, c->project);
    assert_fails(c, FZ_E_INTERNAL,
                 sql_exec(store->sql, "SELECT 2 / (SELECT 0)", NULL, 0, NULL, &c->err));
    assert_ok(c, store_report_get(store, c->project, id, &c->arena, &report, &c->err));
    /* A new connection in place of one that was lost. */
    contract_sql(c, "",
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                 "pg_backend_pid() AND backend_type = 'client backend' AND datname = "
                 "current_database()");
    int64_t n = -1;
    enum fz_code code = FZ_E_UNAVAILABLE;
    for (int i = 0; code != FZ_OK && i < 10; i++)
        code = sql_number(store->sql, "SELECT count(*) FROM reports", NULL, 0, &n, NULL, &c->err);
    assert_ok(c, code);
    assert_int_equal(n, 1);
    assert_true(store_is_confined(store));
    /* All that belongs to a report goes with it. */
    assert_ok(c, store_report_delete(store, c->project, id, &c->err));
    fz_ignore(store_ping(c->store, NULL)); /* its connection was lost as well */
    assert_int_equal(count(c, c->store, "report_bodies"), 1);
    assert_int_equal(count(c, c->store, "report_ids"), 1);
    store_close(store);
}

/* A text's parts are found by an index that policies keep LIKE from. */
static void
test_parts(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    if (contract_is_sqlite(c))
        skip();
    contract_report(c, c->project, "a", id);
    contract_sql(
        c, "",
        "INSERT INTO terms (project_id, field, text) SELECT p.id, 1, t.text || p.name "
        "FROM projects p, (VALUES ('50% more'), ('50 times more'), ('a_b!c')) AS t (text)");
    assert_ok(c, store_row_security_on(c->store, &c->err));
    struct store *store = open_confined(c);
    store_see_project(store, c->project);
    static const struct {
        const char *pattern;
        int n;
    } parts[] = {{"%more%", 2}, {"%50!% M%", 1}, {"%a!_b!!c%", 1}, {"%aXb%", 0}, {"%other%", 0}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(parts); i++) {
        const struct sql_value args[] = {sql_text(parts[i].pattern)};
        int64_t n = -1;
        assert_ok(c, sql_number(store->sql, "SELECT count(*) FROM term_parts($1)", args, 1, &n,
                                NULL, &c->err));
        assert_int_equal(n, parts[i].n);
    }
    store_see_project(store, 0);
    assert_int_equal(number(c, store, "SELECT count(*) FROM term_parts('%more%')"), 0);
    store_close(store);
}

/* ---- on, off, and up to date ---- */

static void
test_off(void **state)
{
    struct contract *c = *state;
    struct store_row_security security;
    struct store *store = open_confined(c);
    /* Off, as it is at first: the connection sees all. */
    assert_false(store_is_confined(store));
    assert_int_equal(count(c, store, "projects"), 2);
    if (contract_is_sqlite(c)) {
        assert_fails(c, FZ_E_UNSUPPORTED, store_row_security_on(c->store, &c->err));
        assert_fails(c, FZ_E_UNSUPPORTED, store_row_security_off(c->store, &c->err));
        store_close(store);
        return;
    }
    assert_ok(c, store_row_security_on(c->store, &c->err));
    assert_ok(c, store_row_security_on(c->store, &c->err));
    struct store *confined = open_confined(c);
    store_see_project(confined, c->project);
    assert_int_equal(count(c, confined, "projects"), 1);
    assert_ok(c, store_row_security_off(c->store, &c->err));
    /* One that has the role still works. */
    assert_int_equal(count(c, confined, "projects"), 2);
    assert_ok(c, store_row_security_get(c->store, &security, &c->err));
    assert_false(security.is_on);
    assert_int_equal(security.n_tables, 0);
    store_close(confined);
    store_close(store);
}

/* After another program's migrations: its tables have policies as soon as the migration has ended. */
static void
test_renew(void **state)
{
    struct contract *c = *state;
    struct store_row_security before, after;
    unsigned n;
    if (contract_is_sqlite(c))
        skip();
    assert_ok(c, store_row_security_on(c->store, &c->err));
    assert_ok(c, store_row_security_get(c->store, &before, &c->err));
    contract_sql(c, "",
                 "DROP POLICY row_security ON facts; ALTER TABLE facts DISABLE ROW LEVEL SECURITY; "
                 "UPDATE row_security SET rules = 'others'");
    assert_ok(c, store_migrate(c->url, &n, &c->err));
    assert_ok(c, store_row_security_get(c->store, &after, &c->err));
    assert_int_equal(after.n_tables, before.n_tables);
    /* And not while it is off. */
    assert_ok(c, store_row_security_off(c->store, &c->err));
    assert_ok(c, store_migrate(c->url, &n, &c->err));
    assert_ok(c, store_row_security_get(c->store, &after, &c->err));
    assert_int_equal(after.n_tables, 0);
}

int
contract_run_row_security(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_tables), contract_test(test_months), contract_test(test_project),
        contract_test(test_parts),  contract_test(test_off),    contract_test(test_renew),
    };
    return cmocka_run_group_tests_name("row_security", tests, NULL, NULL);
}
