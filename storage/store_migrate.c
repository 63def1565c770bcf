#include "storage/store_migrate.h"

#include "storage/store.h"

#include "base/digest.h"
#include "storage/migrations.h"
#include "storage/sql/sql.h"
#include "storage/store_partitions.h"
#include "storage/store_row_security.h"

/* Any number that no project has: project locks are positive. */
static const int64_t MIGRATION_LOCK = -1;

static const struct store_migration *
table_for(const struct sql *sql, size_t *ret_n)
{
    bool lite = strcmp(sql->driver->name, "sqlite") == 0;
    *ret_n = lite ? n_migrations_sqlite : n_migrations_postgresql;
    return lite ? migrations_sqlite : migrations_postgresql;
}

/* Whether a migration of a newer program only adds what older ones need not know: NNNN_expand_WHAT.sql. */
static bool
is_expansion(struct fz_span name)
{
    static const char after_number[] = "_expand_";
    size_t digits = 0;
    while (digits < name.len && name.data[digits] >= '0' && name.data[digits] <= '9')
        digits++;
    return digits > 0 && fz_span_begins(fz_span_from(name, digits), after_number);
}

/*
 * Compare what was applied with what this program holds. *ret_version is the newest applied one that it holds. With `may_expand`
 * a newer database is taken as well, as long as it was only expanded.
 */
static enum fz_code
check_applied(struct sql *sql, bool may_expand, int64_t *ret_version, struct fz_error *err)
{
    size_t n;
    const struct store_migration *table = table_for(sql, &n);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(sql, "SELECT version, checksum, name FROM schema_migrations ORDER BY version",
                  NULL, 0, &rows, err);
    int64_t last = 0;
    while (sql_row(&rows, &code, err)) {
        int64_t version = sql_col_int(&rows, 0);
        if (may_expand && version > 0 && (uint64_t)version > n &&
            is_expansion(sql_col_bytes(&rows, 2)))
            continue;
        /* An older program must not write to a schema that it does not know. */
        if (version < 1 || (uint64_t)version > n)
            return fz_fail(err, FZ_E_CONFLICT,
                           "the database has schema version %lld, this program knows up to %zu: "
                           "use a newer framezero",
                           (long long)version, n);
        char applied[FZ_SHA256_TEXT], ours[FZ_SHA256_TEXT];
        sql_col_copy(&rows, 1, applied, sizeof(applied));
        const struct store_migration *migration = &table[version - 1];
        /* The content, not the name: it is what the schema was made from. */
        fz_sha256_hex(fz_span_make(migration->sql, migration->len), ours);
        /* A migration that was edited after it landed: the schema may lack what the program
         * expects. */
        if (strcmp(applied, ours) != 0)
            return fz_fail(err, FZ_E_CONFLICT,
                           "migration %s was applied to the database with another content",
                           migration->name);
        last = version;
    }
    if (code == FZ_OK)
        *ret_version = last;
    return code;
}

static enum fz_code
has_table(struct sql *sql, const char *name, bool *ret, struct fz_error *err)
{
    bool lite = strcmp(sql->driver->name, "sqlite") == 0;
    int64_t found = 0;
    const struct sql_value args[] = {sql_text(name)};
    enum fz_code code =
        sql_number(sql,
                   lite ? "SELECT count(*) FROM sqlite_master WHERE name = $1"
                        : "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
                   args, FZ_ARRAY_LEN(args), &found, NULL, err);
    if (code == FZ_OK)
        *ret = found != 0;
    return code;
}

enum fz_code
store_transfer_has_begun(struct sql *sql, bool *ret, struct fz_error *err)
{
    return has_table(sql, "transfer_tables", ret, err);
}

enum fz_code
store_migrate_check(struct sql *sql, struct fz_error *err)
{
    size_t n;
    table_for(sql, &n);
    bool there = false, is_partial = false;
    int64_t version = 0;
    enum fz_code code = has_table(sql, "schema_migrations", &there, err);
    if (code == FZ_OK && there)
        code = check_applied(sql, true, &version, err);
    if (code == FZ_OK && (uint64_t)version < n)
        return fz_fail(err, FZ_E_CONFLICT,
                       "the database has schema version %lld, this program needs %zu: run the "
                       "migrations",
                       (long long)version, n);
    if (code == FZ_OK)
        code = store_transfer_has_begun(sql, &is_partial, err);
    if (code == FZ_OK && is_partial)
        return fz_fail(err, FZ_E_CONFLICT,
                       "the copy into this database is not complete: run the same framezero copy "
                       "again, which goes on with it");
    return code;
}

static enum fz_code
apply(struct sql *sql, const struct store_migration *migration, struct fz_error *err)
{
    enum fz_code code = sql_script(sql, (const char *)migration->sql, err);
    if (code != FZ_OK) {
        fz_wrap(err, "migration %s", migration->name);
        return code;
    }
    char checksum[FZ_SHA256_TEXT];
    fz_sha256_hex(fz_span_make(migration->sql, migration->len), checksum);
    int64_t now;
    code = sql_now(sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(migration->version), sql_text(migration->name),
                                     sql_text(checksum), sql_int(now)};
    return sql_exec(sql,
                    "INSERT INTO schema_migrations (version, name, checksum, applied_ms) "
                    "VALUES ($1, $2, $3, $4)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* All in one transaction: both engines can take a CREATE TABLE back, so the schema is never half
 * way. */
static enum fz_code
apply_missing(struct sql *sql, unsigned *ret_applied, struct fz_error *err)
{
    static const char ledger[] = "CREATE TABLE IF NOT EXISTS schema_migrations ("
                                 "version bigint PRIMARY KEY, name text NOT NULL, "
                                 "checksum text NOT NULL, applied_ms bigint NOT NULL)";
    size_t n;
    const struct store_migration *table = table_for(sql, &n);
    int64_t version = 0;
    unsigned applied = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(sql, &tx, err);
    if (code == FZ_OK)
        /* Servers that start together migrate one after the other; the later ones find nothing to
         * do. */
        code = sql_lock(tx, MIGRATION_LOCK, true, err);
    /* Of hundreds of millions of rows, one statement takes longer than any other. */
    if (code == FZ_OK && !tx->driver->has_one_writer)
        code = sql_script(tx, "SET LOCAL statement_timeout = 0", err);
    if (code == FZ_OK)
        code = sql_script(tx, ledger, err);
    if (code == FZ_OK)
        /* Again under the lock: another process may have migrated meanwhile. */
        code = check_applied(tx, false, &version, err);
    for (size_t i = (size_t)version; code == FZ_OK && i < n; i++) {
        code = apply(tx, &table[i], err);
        applied++;
    }
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_applied = applied;
    return code;
}

enum fz_code
store_migrate(const char *database_url, unsigned *ret_applied, struct fz_error *err)
{
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    enum fz_code code = sql_open(database_url, true, &sql, err);
    if (code != FZ_OK)
        return code;
    /* Nodes of the version before may be at work: the database ends one of two that wait for each other. */
    int n_tries = 0;
    do
        code = apply_missing(sql, ret_applied, err);
    while (sql_try_again(sql, code, &n_tries));
    if (code == FZ_OK && *ret_applied > 0)
        fz_ignore(store_months_settle(sql, NULL)); /* the sweep of months does so, too */
    return code == FZ_OK ? store_row_security_renew(sql, err) : code;
}
