#include "storage/store_row_security.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "storage/store_private.h"

/* Of the transaction or the connection (storage/sql/postgresql_confined.c). Not set, or empty: NULL, which no row has. */
#define PROJECT "CAST(nullif(current_setting('framezero.project', true), '') AS bigint)"
#define OWN "project_id = " PROJECT
/* The policy of the other table applies to what is asked there. */
#define OF(table, key, column) "EXISTS (SELECT 1 FROM " table " p WHERE p." key " = " column ")"

static const char all[] = "SELECT, INSERT, UPDATE, DELETE";
/* With a condition that their indexes do not have, each row would be looked at: some requests read tens of thousands of them by an
 * index alone (docs/performance.md). */
static const char numbers[] = "numbers of terms, stacks, variants and reports, which have policies";

const struct store_row_rule store_row_rules[] = {
    {"projects", "id = " PROJECT, all, NULL},
    {"reports", OWN, all, NULL},
    {"report_ids", OWN, all, NULL},
    {"report_bodies", OF("reports", "key", "report_key"), all, NULL},
    {"report_results", OF("reports", "key", "report_key"), all, NULL},
    {"report_memory", OWN, all, NULL},
    {"dictionaries", OWN, all, NULL},
    {"image_sets", OWN, all, NULL},
    {"image_set_items", OWN, all, NULL},
    {"wait_sets", OWN, all, NULL},
    {"wait_set_items", OWN, all, NULL},
    {"symbol_files", OWN, all, NULL},
    {"learned_names", OWN, all, NULL},
    {"uploads", OWN, all, NULL},
    {"assembled_files", OWN, all, NULL},
    {"jobs", OWN, all, NULL},
    {"releases", OWN, all, NULL},
    {"deploys", OF("releases", "key", "release_key"), all, NULL},
    {"sessions", OWN, all, NULL},
    {"session_counts", OWN, all, NULL},
    {"session_hours", OWN, all, NULL},
    {"session_users", OWN, all, NULL},
    {"session_samples", OWN, all, NULL},
    {"discarded_counts", OWN, all, NULL},
    {"counted_runs", OWN, all, NULL},
    {"usage", OWN, all, NULL},
    {"terms", OWN, all, NULL},
    {"term_counts", OWN, all, NULL},
    {"issues", OWN, all, NULL},
    {"issue_keys", OWN, all, NULL},
    {"issue_activity", OWN, all, NULL},
    {"issue_fixes", OF("issues", "id", "issue_id"), all, NULL},
    /* While rules are applied, the users of an issue are kept under its number below zero. */
    {"issue_users", OF("issues", "id", "abs(issue_id)"), all, NULL},
    {"variants", OF("issues", "id", "issue_id"), all, NULL},
    {"issue_hours", OF("variants", "id", "variant_id"), all, numbers},
    {"issue_days", OF("variants", "id", "variant_id"), all, numbers},
    {"stacks", OWN, all, NULL},
    {"stack_terms", OF("stacks", "key", "stack_key"), all, numbers},
    {"facts", OWN, all, numbers},
    {"fact_tags", OWN, all, numbers},
    {"fact_days", OWN, all, NULL},
    {"fact_columns", OWN, all, NULL},
    {"grouping_versions", OWN, all, NULL},
    {"grouping_issues", OWN, all, NULL},
    {"versions", OWN, all, NULL},
    {"version_days", OWN, all, NULL},
    {"channels", OWN, all, NULL},
    {"events", OWN, all, NULL},
    {"event_marks", OWN, all, NULL},
    {"deliveries", OF("channels", "id", "channel_id"), all, NULL},
    {"delivery_attempts", OF("deliveries", "id", "delivery_id"), all, NULL},
    {"project_changes", OWN, all, NULL},
    {"filters", OWN, all, NULL},
    {"audit", OWN, all, NULL},
    {"erasures", OWN, all, NULL},
    {"retention", OWN, all, NULL},
    {"chunks", NULL, all, "parts of symbol files by hash and token; they are of no project yet"},
    {"blob_garbage", NULL, "SELECT, INSERT", "hashes of files that nothing may name any more"},
    {"report_counts", NULL, "SELECT, INSERT", "how many reports there are in all"},
    {"report_months", NULL, "SELECT", "which months have tables"},
    /* Who may do what is decided before, on connections that see all. */
    {"tokens", NULL, NULL, NULL},
    {"users", NULL, NULL, NULL},
    {"user_roles", NULL, NULL, NULL},
    {"user_identities", NULL, NULL, NULL},
    {"user_links", NULL, NULL, NULL},
    {"web_sessions", NULL, NULL, NULL},
    {"duties", NULL, NULL, NULL},
    {"queue_clock", NULL, NULL, NULL},
    {"schema_migrations", NULL, NULL, NULL},
    {"row_security", NULL, NULL, NULL},
};
const size_t store_n_row_rules = FZ_ARRAY_LEN(store_row_rules);

enum { SCRIPT = 1024, TRIES = 10 };

/* ---- connections ---- */

enum fz_code
store_confine(struct store *store, struct fz_error *err)
{
    return sql_confine(store->sql, err);
}

void
store_see_project(struct store *store, int64_t project_id)
{
    sql_see_project(store->sql, project_id);
}

bool
store_is_confined(const struct store *store)
{
    return store->sql->is_confined;
}

bool
store_wants_confined(const struct store *store)
{
    return store->sql->to_confine;
}

/* ---- state ---- */

static bool
is_possible(const struct sql *sql)
{
    return sql->driver->confine != NULL;
}

static enum fz_code
read_state(struct sql *sql, char ret_role[STORE_ROLE_TEXT], char ret_rules[FZ_SHA256_TEXT],
           struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql, "SELECT role, rules FROM row_security", NULL, 0, &rows, err);
    ret_role[0] = ret_rules[0] = '\0';
    if (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, ret_role, STORE_ROLE_TEXT);
        sql_col_copy(&rows, 1, ret_rules, FZ_SHA256_TEXT);
    }
    return code;
}

enum fz_code
store_row_security_get(struct store *store, struct store_row_security *ret, struct fz_error *err)
{
    struct store_row_security state = {.is_on = false};
    char rules[FZ_SHA256_TEXT];
    int64_t n = 0;
    enum fz_code code = FZ_OK;
    if (is_possible(store->sql)) {
        code = read_state(store->sql, state.role, rules, err);
        if (code == FZ_OK)
            code = sql_number(store->sql,
                              "SELECT count(*) FROM pg_policy p JOIN pg_class c ON c.oid = "
                              "p.polrelid WHERE p.polname = 'row_security' AND c.relrowsecurity "
                              "AND c.relnamespace = CAST(current_schema() AS regnamespace)",
                              NULL, 0, &n, NULL, err);
    }
    if (code != FZ_OK)
        return code;
    state.is_on = state.role[0] != '\0';
    state.n_tables = (size_t)n;
    *ret = state;
    return FZ_OK;
}

enum fz_code
store_row_security_check(struct sql *sql, struct fz_error *err)
{
    int64_t is_subject = 0;
    enum fz_code code =
        is_possible(sql) ? sql_number(sql, "SELECT CAST(row_security_active('reports') AS integer)",
                                      NULL, 0, &is_subject, NULL, err)
                         : FZ_OK;
    if (code == FZ_OK && is_subject)
        return fz_fail(err, FZ_E_DENIED,
                       "row security is on, and the user of the database does not own the tables, "
                       "so it would see no row of them: connect as their owner");
    return code;
}

/* ---- the role ---- */

struct role {
    char name[STORE_ROLE_TEXT], user[80]; /* the latter in quotes where they are needed */
    bool exists, is_mighty, is_ours, may_change;
};

/* One for each database, since roles are the cluster's: whoever has the one of another database would see its rows. */
static enum fz_code
find_role(struct sql *sql, struct role *ret, struct fz_error *err)
{
    static const char query[] =
        "SELECT n.name, r.oid IS NOT NULL, coalesce(r.rolsuper OR r.rolbypassrls OR "
        "pg_has_role(r.oid, c.relowner, 'MEMBER'), false), coalesce(pg_has_role(r.oid, 'MEMBER'), "
        "false), pg_has_role(c.relowner, 'USAGE'), CAST(quote_ident(current_user) AS text) FROM "
        "(SELECT CASE WHEN d ~ '^[a-z0-9_]{1,40}$' THEN d ELSE left(regexp_replace(lower(d), "
        "'[^a-z0-9]+', '_', 'g'), 31) || '_' || left(md5(d), 8) END || '_requests' AS name FROM "
        "(SELECT CAST(current_database() AS text) COLLATE \"C\" AS d) AS x) AS n LEFT JOIN "
        "pg_roles r ON r.rolname = n.name, pg_class c WHERE c.oid = CAST('reports' AS regclass)";
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_once(sql, query, NULL, 0, &rows, err);
    if (!sql_row(&rows, &code, err))
        return code == FZ_OK ? fz_fail(err, FZ_E_INTERNAL, "there is no table of reports") : code;
    sql_col_copy(&rows, 0, ret->name, sizeof(ret->name));
    ret->exists = sql_col_int(&rows, 1) != 0;
    ret->is_mighty = sql_col_int(&rows, 2) != 0;
    ret->is_ours = sql_col_int(&rows, 3) != 0;
    ret->may_change = sql_col_int(&rows, 4) != 0;
    sql_col_copy(&rows, 5, ret->user, sizeof(ret->user));
    return FZ_OK;
}

static enum fz_code
ask_for_role(const struct role *role, struct fz_error *err)
{
    return fz_fail(err, FZ_E_DENIED,
                   "the user %s of the database may not make the role for requests: have somebody "
                   "who may do this, and run the command again: %s%s%sGRANT %s TO %s;",
                   role->user, role->exists ? "" : "CREATE ROLE ", role->exists ? "" : role->name,
                   role->exists ? "" : " NOLOGIN; ", role->name, role->user);
}

static enum fz_code
make_role(struct sql *sql, struct role *role, struct fz_error *err)
{
    char text[256];
    enum fz_code code = find_role(sql, role, err);
    if (code != FZ_OK)
        return code;
    if (!role->may_change)
        return fz_fail(err, FZ_E_DENIED,
                       "the user %s does not own the tables: connect as their owner", role->user);
    if (role->exists && role->is_mighty)
        return fz_fail(err, FZ_E_DENIED,
                       "the role %s is a superuser, has BYPASSRLS, or is a member of the tables' "
                       "owner: to such a role policies do not apply",
                       role->name);
    snprintf(text, sizeof(text), "CREATE ROLE \"%s\" NOLOGIN", role->name);
    if (!role->exists && sql_script(sql, text, NULL) != FZ_OK)
        return ask_for_role(role, err);
    role->exists = true;
    /* Whoever has made a role may not take it on yet (since PostgreSQL 16). */
    snprintf(text, sizeof(text), "GRANT \"%s\" TO %s", role->name, role->user);
    if (sql_script(sql, text, NULL) != FZ_OK && !role->is_ours)
        return ask_for_role(role, err);
    return FZ_OK;
}

/* ---- tables ---- */

static enum fz_code
apply_rule(struct sql *tx, const struct store_row_rule *rule, const char *role,
           struct fz_error *err)
{
    char text[SCRIPT];
    enum fz_code code = FZ_OK;
    if (rule->condition) {
        snprintf(text, sizeof(text),
                 "ALTER TABLE %s ENABLE ROW LEVEL SECURITY; "
                 "DROP POLICY IF EXISTS row_security ON %s; "
                 "CREATE POLICY row_security ON %s USING (%s); "
                 "DROP POLICY IF EXISTS row_security_shown ON %s",
                 rule->table, rule->table, rule->table, rule->condition, rule->table);
        code = sql_script(tx, text, err);
    }
    if (code == FZ_OK && rule->condition && rule->why) {
        snprintf(text, sizeof(text),
                 "CREATE POLICY row_security_shown ON %s FOR SELECT USING (true)", rule->table);
        code = sql_script(tx, text, err);
    }
    if (code == FZ_OK && rule->grants) {
        snprintf(text, sizeof(text), "GRANT %s ON %s TO \"%s\"", rule->grants, rule->table, role);
        code = sql_script(tx, text, err);
    }
    return code;
}

static enum fz_code
drop_rule(struct sql *tx, const struct store_row_rule *rule, const char *role FZ_UNUSED,
          struct fz_error *err)
{
    char text[SCRIPT];
    if (!rule->condition)
        return FZ_OK;
    snprintf(text, sizeof(text),
             "ALTER TABLE %s DISABLE ROW LEVEL SECURITY; DROP POLICY IF EXISTS row_security ON %s; "
             "DROP POLICY IF EXISTS row_security_shown ON %s",
             rule->table, rule->table, rule->table);
    return sql_script(tx, text, err);
}

typedef enum fz_code (*rule_fn)(struct sql *tx, const struct store_row_rule *rule, const char *role,
                                struct fz_error *err);

static enum fz_code
change_one(struct sql *sql, const struct store_row_rule *rule, const char *role, rule_fn change,
           struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(sql, &tx, err);
    /* While this waits for the table, all others wait for this one. */
    if (code == FZ_OK)
        code = sql_script(tx, "SET LOCAL lock_timeout = '2s'", err);
    if (code == FZ_OK)
        code = change(tx, rule, role, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* Each table by itself: a transaction with locks on all would end in a deadlock with those who use them in another order. */
static enum fz_code
change_all(struct sql *sql, const char *role, rule_fn change, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < store_n_row_rules; i++) {
        int n_tries = 0;
        do
            code = change_one(sql, &store_row_rules[i], role, change, err);
        while (code == FZ_E_UNAVAILABLE && ++n_tries < TRIES);
        if (code != FZ_OK)
            fz_wrap(err, "table %s", store_row_rules[i].table);
    }
    return code;
}

static enum fz_code
grant_rest(struct sql *sql, const char *role, struct fz_error *err)
{
    char text[SCRIPT];
    snprintf(text, sizeof(text),
             "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %%I TO \"%s\"', current_schema()); "
             "END $$; REVOKE EXECUTE ON FUNCTION term_parts(text) FROM PUBLIC; GRANT EXECUTE ON "
             "FUNCTION term_parts(text) TO \"%s\"",
             role, role);
    return sql_script(sql, text, err);
}

static enum fz_code
hash_rules(char ret[FZ_SHA256_TEXT], struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    for (size_t i = 0; i < store_n_row_rules; i++) {
        const struct store_row_rule *rule = &store_row_rules[i];
        fz_buffer_printf(&text, "%s\t%s\t%s\t%d\n", rule->table,
                         rule->condition ? rule->condition : "", rule->grants ? rule->grants : "",
                         rule->why != NULL);
    }
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        fz_sha256_hex(fz_buffer_span(&text), ret);
    return code;
}

/* From here on connections take the role on. "": none. */
static enum fz_code
announce(struct sql *sql, const char *role, struct fz_error *err)
{
    char rules[FZ_SHA256_TEXT];
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = hash_rules(rules, err);
    const struct sql_value args[] = {sql_text(role), sql_text(rules)};
    if (code == FZ_OK)
        code = sql_begin(sql, &tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM row_security", NULL, 0, NULL, err);
    if (code == FZ_OK && role[0])
        code = sql_exec(tx, "INSERT INTO row_security (role, rules) VALUES ($1, $2)", args,
                        FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* As a request would: nothing may be seen without a project. */
static enum fz_code
try_it(struct sql *sql, const char *role, struct fz_error *err)
{
    char text[128];
    int64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(sql, &tx, err);
    snprintf(text, sizeof(text), "SET LOCAL ROLE \"%s\"; SET LOCAL framezero.project = ''", role);
    if (code == FZ_OK)
        code = sql_script(tx, text, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT count(*) FROM (SELECT 1 FROM projects LIMIT 1) AS x", NULL, 0,
                          &n, NULL, err);
    if (code != FZ_OK)
        return fz_wrap(err, "as the role %s", role);
    return n == 0 ? FZ_OK
                  : fz_fail(err, FZ_E_INTERNAL, "the role %s sees rows without a project", role);
}

static enum fz_code
apply_all(struct sql *sql, const char *role, struct fz_error *err)
{
    enum fz_code code = grant_rest(sql, role, err);
    if (code == FZ_OK)
        code = change_all(sql, role, apply_rule, err);
    if (code == FZ_OK)
        code = try_it(sql, role, err);
    return code == FZ_OK ? announce(sql, role, err) : code;
}

static enum fz_code
refuse(struct fz_error *err)
{
    return fz_fail(err, FZ_E_UNSUPPORTED,
                   "only PostgreSQL has row security: a database of SQLite has one user");
}

enum fz_code
store_row_security_on(struct store *store, struct fz_error *err)
{
    struct role role = {.exists = false};
    struct sql *sql = store->sql;
    if (!is_possible(sql))
        return refuse(err);
    enum fz_code code = make_role(sql, &role, err);
    return code == FZ_OK ? apply_all(sql, role.name, err) : code;
}

enum fz_code
store_row_security_off(struct store *store, struct fz_error *err)
{
    if (!is_possible(store->sql))
        return refuse(err);
    enum fz_code code = announce(store->sql, "", err);
    return code == FZ_OK ? change_all(store->sql, "", drop_rule, err) : code;
}

enum fz_code
store_row_security_renew(struct sql *sql, struct fz_error *err)
{
    char role[STORE_ROLE_TEXT] = "", applied[FZ_SHA256_TEXT] = "", ours[FZ_SHA256_TEXT];
    enum fz_code code = is_possible(sql) ? read_state(sql, role, applied, err) : FZ_OK;
    if (code == FZ_OK && role[0])
        code = hash_rules(ours, err);
    if (code != FZ_OK || !role[0] || strcmp(applied, ours) == 0)
        return code;
    code = apply_all(sql, role, err);
    return code == FZ_OK ? FZ_OK : fz_wrap(err, "row security");
}
