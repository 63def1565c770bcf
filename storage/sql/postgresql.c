#include "storage/sql/postgresql.h"

#include <stdio.h>
#include <stdlib.h>

/* Object ids of the types that parameters have; fixed in PostgreSQL's pg_type catalogue. */
enum {
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
    OID_INT8_ARRAY = 1016,
    OID_TEXT_ARRAY = 1009,
    OID_BYTEA_ARRAY = 1001
};

/* ---- queries ---- */

/* The arguments as libpq takes them. */
struct params {
    Oid types[SQL_MAX_PARAMS];
    const char *values[SQL_MAX_PARAMS];
    int lengths[SQL_MAX_PARAMS], formats[SQL_MAX_PARAMS];
    uint8_t numbers[SQL_MAX_PARAMS][8]; /* big-endian */
};

static Oid
type_of(const struct sql_value *arg)
{
    static const Oid types[] = {[SQL_INT] = OID_INT8,
                                [SQL_TEXT] = OID_TEXT,
                                [SQL_NUMBERS] = OID_INT8_ARRAY,
                                [SQL_BLOB] = OID_BYTEA};
    static const Oid arrays[] = {
        [SQL_INT] = OID_INT8_ARRAY, [SQL_TEXT] = OID_TEXT_ARRAY, [SQL_BLOB] = OID_BYTEA_ARRAY};
    return arg->kind == SQL_ARRAY ? arrays[arg->number] : types[arg->kind];
}

static enum fz_code
fill_params(struct params *params, const struct sql_value *args, size_t n, struct fz_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct sql_value *arg = &args[i];
        params->formats[i] = arg->kind != SQL_NUMBERS;
        params->types[i] = type_of(arg);
        if (arg->is_null) {
            params->values[i] = NULL;
        } else if (arg->kind == SQL_INT) {
            for (int byte = 0; byte < 8; byte++)
                params->numbers[i][byte] = (uint8_t)((uint64_t)arg->number >> (56 - 8 * byte));
            params->values[i] = (const char *)params->numbers[i];
            params->lengths[i] = 8;
        } else {
            if (arg->bytes.len > INT32_MAX / 2)
                return fz_fail(err, FZ_E_LIMIT, "a value is too large for the database");
            /* libpq takes a NULL pointer for SQL's NULL. */
            params->values[i] = arg->bytes.len ? (const char *)arg->bytes.data : "";
            params->lengths[i] = (int)arg->bytes.len;
        }
    }
    return FZ_OK;
}

/* The name of the prepared statement for `text`, made on its first use. */
static enum fz_code
prepared_name(struct sql_pg *pg, const char *text, const struct params *params, size_t n,
              const char **ret, struct fz_error *err)
{
    char *name = sql_cache_get(&pg->cache, text);
    if (name) {
        *ret = name;
        return FZ_OK;
    }
    name = malloc(16);
    if (!name)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    snprintf(name, 16, "s%u", pg->n_prepared++);
    PGresult *result = PQprepare(pg->conn, name, text, (int)n, params->types);
    enum fz_code code =
        PQresultStatus(result) == PGRES_COMMAND_OK ? FZ_OK : sql_pg_fail(pg, result, err);
    PQclear(result);
    if (code == FZ_OK && !sql_cache_put(&pg->cache, text, name))
        code = fz_fail(err, FZ_E_NO_MEMORY, "too many prepared statements");
    if (code != FZ_OK) {
        free(name);
        return code;
    }
    *ret = name;
    return FZ_OK;
}

/* What belongs to the statements of a pipeline, in their order; ends with its end. The result of the last, or of the one that
 * failed. */
static PGresult *
pipeline_result(struct sql_pg *pg)
{
    PGresult *last = NULL;
    bool failed = false;
    /* Each statement's result is followed by NULL. */
    for (int n_null = 0; n_null < 4;) {
        PGresult *result = PQgetResult(pg->conn);
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return last;
        }
        n_null = result ? 0 : n_null + 1;
        if (!result)
            continue;
        if (failed) {
            PQclear(result); /* not tried */
            continue;
        }
        PQclear(last);
        last = result;
        failed = status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
    }
    /* The connection is lost. */
    pg->base.broken = true;
    PQclear(last);
    return NULL;
}

/* `name`: of the statement, if it is prepared; else NULL. */
static bool
send_query(struct sql_pg *pg, const char *text, const char *name, const struct params *params,
           int n_args)
{
    return name ? PQsendQueryPrepared(pg->conn, name, n_args, params->values, params->lengths,
                                      params->formats, 1)
                : PQsendQueryParams(pg->conn, text, n_args, params->types, params->values,
                                    params->lengths, params->formats, 1);
}

/* The settings and the statement in one message, which makes them one transaction. */
static enum fz_code
query_with_settings(struct sql_pg *pg, const char *text, const char *name,
                    const struct params *params, int n_args, struct sql_rows *ret,
                    struct fz_error *err)
{
    char settings[SQL_PG_SETTINGS];
    PGresult *result = NULL;
    sql_pg_settings(&pg->base, settings);
    if (PQenterPipelineMode(pg->conn) &&
        PQsendQueryParams(pg->conn, settings, 0, NULL, NULL, NULL, NULL, 1) &&
        send_query(pg, text, name, params, n_args) && PQpipelineSync(pg->conn))
        result = pipeline_result(pg);
    ExecStatusType status = PQresultStatus(result);
    enum fz_code code = FZ_OK;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        code = sql_pg_fail(pg, result, err);
        PQclear(result);
    } else {
        ret->result = result;
    }
    sql_pg_has_settings(&pg->base, code == FZ_OK);
    if (!PQexitPipelineMode(pg->conn))
        pg->base.broken = true; /* something was not read */
    return code;
}

static enum fz_code
pg_query(struct sql *sql, const char *text, bool keep, const struct sql_value *args, size_t n_args,
         struct sql_rows *ret, struct fz_error *err)
{
    struct sql_pg *pg = sql_pg(sql);
    struct params params = {0};
    const char *name = NULL;
    enum fz_code code = n_args > SQL_MAX_PARAMS
                            ? fz_fail(err, FZ_E_INTERNAL, "a query with %zu arguments", n_args)
                            : fill_params(&params, args, n_args, err);
    keep = keep && !sql->is_pooled;
    if (code == FZ_OK && keep)
        code = prepared_name(pg, text, &params, n_args, &name, err);
    if (code != FZ_OK)
        return code;
    if (!sql->in_tx && sql_pg_needs_settings(sql))
        return query_with_settings(pg, text, name, &params, (int)n_args, ret, err);
    PGresult *result = keep ? PQexecPrepared(pg->conn, name, (int)n_args, params.values,
                                             params.lengths, params.formats, 1)
                            : PQexecParams(pg->conn, text, (int)n_args, params.types, params.values,
                                           params.lengths, params.formats, 1);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        code = sql_pg_fail(pg, result, err);
        PQclear(result);
        return code;
    }
    ret->result = result;
    return FZ_OK;
}

static enum fz_code
pg_next(struct sql_rows *rows, bool *ret_row, struct fz_error *err FZ_UNUSED)
{
    int n = PQntuples(rows->result);
    if (rows->row < n)
        rows->row++;
    *ret_row = rows->row < n;
    return FZ_OK;
}

static void
pg_end(struct sql_rows *rows)
{
    PQclear(rows->result);
}

static uint64_t
pg_changes(struct sql_rows *rows)
{
    return strtoull(PQcmdTuples(rows->result), NULL, 10);
}

static bool
pg_is_null(struct sql_rows *rows, int column)
{
    return PQgetisnull(rows->result, rows->row, column) == 1;
}

/* Binary integers of any width; all our columns are bigint, but expressions may be narrower. */
static int64_t
pg_number(struct sql_rows *rows, int column)
{
    const uint8_t *at = (const uint8_t *)PQgetvalue(rows->result, rows->row, column);
    int len = PQgetlength(rows->result, rows->row, column);
    /* All ones at first, so that a negative number of 2 or 4 bytes keeps its sign. */
    uint64_t value = len > 0 && (at[0] & 0x80) ? UINT64_MAX : 0;
    for (int i = 0; i < len && i < 8; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

static struct fz_span
pg_bytes(struct sql_rows *rows, int column)
{
    return fz_span_make(PQgetvalue(rows->result, rows->row, column),
                        (size_t)PQgetlength(rows->result, rows->row, column));
}

/* ---- transactions ---- */

static enum fz_code
pg_commit(struct sql *sql, struct fz_error *err)
{
    struct sql_pg *pg = sql_pg(sql);
    /* In one message: if the first fails, the second is not tried. */
    PGresult *result = PQexec(pg->conn, sql->wakes ? "NOTIFY framezero; COMMIT" : "COMMIT");
    enum fz_code code = FZ_OK;
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        code = sql_pg_fail(pg, result, err);
    else if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
        /* A COMMIT of a transaction that had failed answers ROLLBACK, and calls that success. */
        code = fz_fail(err, FZ_E_INTERNAL, "database: the transaction was rolled back");
    PQclear(result);
    return code;
}

static void
pg_rollback(struct sql *sql)
{
    /* If this fails the connection is lost, and the transaction with it. */
    fz_ignore(sql_pg_command(sql, "ROLLBACK", NULL));
    sql_pg_has_settings(sql, false); /* they may have been made in it */
}

static enum fz_code
pg_lock(struct sql *sql, int64_t number, bool exclusive, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(number)};
    return sql_exec(sql,
                    exclusive ? "SELECT pg_advisory_xact_lock(7370000000000000000 + $1)"
                              : "SELECT pg_advisory_xact_lock_shared(7370000000000000000 + $1)",
                    args, 1, NULL, err);
}

static enum fz_code
pg_now(struct sql *sql, int64_t *ret_ms, struct fz_error *err)
{
    return sql_number(sql,
                      "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
                      NULL, 0, ret_ms, NULL, err);
}

enum fz_code
sql_postgresql_create(struct sql **ret, struct fz_error *err)
{
    static const struct sql_driver driver = {
        .name = "postgresql",
        .plans_by_size = true,
        .for_update = " FOR UPDATE",
        .skip_locked = " FOR UPDATE SKIP LOCKED",
        .like = "ILIKE",
        .as_json = "::json",
        .in_few = "= ANY (ARRAY (",
        .in_few_end = "))",
        .no_index = "",
        .collate = " COLLATE \"C\"",
        /* An array that is a parameter is hashed, and its length is known to the planner. With a
         * subquery, or a cast of a text, a plan that expects few rows compares each row with all. */
        .in_numbers = "= ANY (",
        .in_numbers_end = ")",
        .numbers_open = '{',
        .numbers_close = '}',
        .packs_rows = true,
        /* Named, since the server's default may be another: after a lock each statement must see
         * what was committed meanwhile. */
        .begin = "BEGIN ISOLATION LEVEL READ COMMITTED",
        .begin_pooled = sql_pg_begin_pooled,
        .confine = sql_pg_confine,
        .for_requests = "SET lock_timeout = '1500ms'; SET statement_timeout = '30s'",
        .for_bulk = "SET statement_timeout = '300s'; SET work_mem = '64MB'; "
                    "SET idle_in_transaction_session_timeout = '60s'",
        .after_bulk = "SET statement_timeout = '120s'; RESET work_mem; "
                      "SET idle_in_transaction_session_timeout = '10s'",
        .bytes_query = "SELECT pg_database_size(current_database())",
        /* The log as it was flushed: an acknowledged commit is in it, and a standby gets to its end while nothing is written.
         * Databases of one cluster differ in their number. */
        .position_query =
            "SELECT (SELECT system_identifier FROM pg_control_system()) # (SELECT CAST(oid AS "
            "bigint) FROM pg_database WHERE datname = current_database()), CAST(CAST("
            "pg_is_in_recovery() AS integer) AS bigint), CAST(coalesce(CASE WHEN "
            "pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() "
            "END, '0/0') - '0/0' AS bigint)",
        .limit_time = sql_pg_limit_time,
        .connect = sql_pg_connect,
        .disconnect = sql_pg_disconnect,
        .script = sql_pg_command,
        .query = pg_query,
        .read_ints = sql_pg_read_ints,
        .next = pg_next,
        .end = pg_end,
        .changes = pg_changes,
        .is_null = pg_is_null,
        .number = pg_number,
        .bytes = pg_bytes,
        .commit = pg_commit,
        .rollback = pg_rollback,
        .lock = pg_lock,
        .now = pg_now,
        .clock = pg_now, /* servers that are many have no other in common */
        .wait_change = sql_pg_wait_change,
    };
    struct sql_pg *pg = calloc(1, sizeof(*pg));
    if (!pg)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pg->base.driver = pg->plain = &driver;
    /* What an index of parts finds is looked for before the rows of other projects are left out, which LIKE itself may not. */
    pg->confined = driver;
    pg->confined.text_part = "id = ANY (ARRAY (SELECT term_parts(";
    pg->confined.text_part_end = ")))";
    pg->confined.parts_are_patterns = true;
    *ret = &pg->base;
    return FZ_OK;
}
