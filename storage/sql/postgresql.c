#include "storage/sql/sql.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "base/time.h"

/* Object ids of the types that parameters have; fixed in PostgreSQL's pg_type catalogue. */
enum {
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
    OID_INT8_ARRAY = 1016,
    OID_TEXT_ARRAY = 1009,
    OID_BYTEA_ARRAY = 1001
};

struct postgresql {
    struct sql base;
    PGconn *conn;
    struct sql_cache cache; /* text -> name of the prepared statement */
    unsigned n_prepared;
    bool listening;
    int64_t timeout_ms; /* as pg_limit_time() has set it on this connection */
};

static struct postgresql *
self(struct sql *sql)
{
    return (struct postgresql *)sql;
}

/* ---- errors ---- */

struct rule {
    const char *prefix; /* of the SQLSTATE (PostgreSQL manual, appendix A) */
    enum fz_code code;
    bool broken, may_retry;
};

static const struct rule rules[] = {
    {"23505", FZ_E_CONFLICT, false, false},    /* unique violation */
    {"23503", FZ_E_NOT_FOUND, false, false},   /* foreign key violation */
    {"40", FZ_E_UNAVAILABLE, false, true},     /* deadlock, serialization */
    {"55P03", FZ_E_UNAVAILABLE, false, false}, /* lock not available */
    {"57014", FZ_E_UNAVAILABLE, false, false}, /* statement timeout */
    {"57P", FZ_E_UNAVAILABLE, true, false},    /* server is shutting down */
    {"25P03", FZ_E_UNAVAILABLE, true, false},  /* idle in a transaction for too long */
    {"25006", FZ_E_UNAVAILABLE, true, false},  /* read-only: we talk to a standby */
    {"08", FZ_E_UNAVAILABLE, true, false},     /* connection */
    {"26000", FZ_E_UNAVAILABLE, true, false},  /* the prepared statement is gone: a pooler */
    {"0A000", FZ_E_UNAVAILABLE, true, false},  /* its plan is stale after a migration */
    {"53", FZ_E_UNAVAILABLE, false, false},    /* disk full, too many connections */
    {"58", FZ_E_UNAVAILABLE, false, false},    /* I/O error on the server */
    {"22021", FZ_E_MALFORMED, false, false},   /* not UTF-8 */
    {"22P05", FZ_E_MALFORMED, false, false},   /* untranslatable character */
    {"54", FZ_E_LIMIT, false, false},          /* program limit exceeded */
};

/* The first line of a message; libpq's end with a newline and go on with details. */
static void
first_line(const char *message, char *ret, size_t size)
{
    snprintf(ret, size, "%s", message ? message : "");
    ret[strcspn(ret, "\n")] = '\0';
}

static enum fz_code
fail_conn(struct postgresql *pg, struct fz_error *err)
{
    char text[200];
    first_line(PQerrorMessage(pg->conn), text, sizeof(text));
    pg->base.broken = true;
    return fz_fail(err, FZ_E_UNAVAILABLE, "database: %s",
                   text[0] ? text : "the connection was lost");
}

static enum fz_code
fail(struct postgresql *pg, const PGresult *result, struct fz_error *err)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    /* Without an SQLSTATE the message is libpq's own: the server did not answer. */
    if (PQstatus(pg->conn) != CONNECTION_OK || !state)
        return fail_conn(pg, err);
    char text[200];
    first_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), text, sizeof(text));
    if (strcmp(state, "57014") == 0 && pg->base.until_ms)
        return sql_fail_late(err);
    for (size_t i = 0; i < FZ_ARRAY_LEN(rules); i++) {
        if (strncmp(state, rules[i].prefix, strlen(rules[i].prefix)) != 0)
            continue;
        pg->base.broken = pg->base.broken || rules[i].broken;
        pg->base.may_retry = rules[i].may_retry;
        return fz_fail(err, rules[i].code, "database: %s", text);
    }
    return fz_fail(err, FZ_E_INTERNAL, "database: %s (%s)", text, state);
}

/* ---- connection ---- */

static void
be_quiet(void *user FZ_UNUSED, const PGresult *result FZ_UNUSED)
{
    /* NOTICEs would go to standard error. */
}

static enum fz_code
command(struct sql *sql, const char *text, struct fz_error *err)
{
    struct postgresql *pg = self(sql);
    PGresult *result = PQexec(pg->conn, text);
    ExecStatusType status = PQresultStatus(result);
    enum fz_code code =
        status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? FZ_OK : fail(pg, result, err);
    PQclear(result);
    return code;
}

static void
pg_disconnect(struct sql *sql)
{
    struct postgresql *pg = self(sql);
    sql_cache_clear(&pg->cache, free);
    if (pg->conn)
        PQfinish(pg->conn);
    pg->conn = NULL;
    pg->listening = false;
}

/* As pg_connect() and for_bulk have it. */
static const long long STATEMENT_MS = 120000;

static void
pg_limit_time(struct sql *sql)
{
    struct postgresql *pg = self(sql);
    char text[64];
    /* A round trip, but only where a connection is used for reading after a change, or the other way round. */
    if (pg->timeout_ms == sql->limit_ms)
        return;
    snprintf(text, sizeof(text), "SET statement_timeout = %lld",
             sql->limit_ms ? (long long)sql->limit_ms : STATEMENT_MS);
    if (command(sql, text, NULL) == FZ_OK)
        pg->timeout_ms = sql->limit_ms;
}

static enum fz_code
pg_connect(struct sql *sql, struct fz_error *err)
{
    self(sql)->timeout_ms = 0; /* the new connection has the one below */
    /* The URL comes last, so it can override each of the others. */
    static const char *const names[] = {
        "application_name", "connect_timeout",  "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "dbname",          NULL};
    const char *const values[] = {"framezero", "5", "10", "5", "3", "15000", sql->target, NULL};
    /* A transaction whose process died must not hold locks for ever, and an acknowledgement needs
     * the write-ahead log on disk even if the server's default is lax. The plan of a prepared
     * statement is made once; made while the queue is empty, which is its normal state, it would go
     * on to read the whole table when half a million jobs are in it. (The costs that this makes up
     * would have the server compile every query.) */
    static const char set_up[] =
        "SET client_encoding = 'UTF8'; SET statement_timeout = '120s'; "
        "SET idle_in_transaction_session_timeout = '60s'; SET enable_seqscan = off; SET jit = off; "
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'";
    struct postgresql *pg = self(sql);
    pg->conn = PQconnectdbParams(names, values, 1);
    if (!pg->conn)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = PQstatus(pg->conn) == CONNECTION_OK ? FZ_OK : fail_conn(pg, err);
    PQsetNoticeReceiver(pg->conn, be_quiet, NULL);
    if (code == FZ_OK)
        code = command(sql, set_up, err);
    if (code != FZ_OK)
        pg_disconnect(sql);
    return code;
}

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
prepared_name(struct postgresql *pg, const char *text, const struct params *params, size_t n,
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
    enum fz_code code = PQresultStatus(result) == PGRES_COMMAND_OK ? FZ_OK : fail(pg, result, err);
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

static enum fz_code
pg_query(struct sql *sql, const char *text, bool keep, const struct sql_value *args, size_t n_args,
         struct sql_rows *ret, struct fz_error *err)
{
    struct postgresql *pg = self(sql);
    struct params params = {0};
    const char *name = NULL;
    enum fz_code code = n_args > SQL_MAX_PARAMS
                            ? fz_fail(err, FZ_E_INTERNAL, "a query with %zu arguments", n_args)
                            : fill_params(&params, args, n_args, err);
    if (code == FZ_OK && keep)
        code = prepared_name(pg, text, &params, n_args, &name, err);
    if (code != FZ_OK)
        return code;
    PGresult *result = keep ? PQexecPrepared(pg->conn, name, (int)n_args, params.values,
                                             params.lengths, params.formats, 1)
                            : PQexecParams(pg->conn, text, (int)n_args, params.types, params.values,
                                           params.lengths, params.formats, 1);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        code = fail(pg, result, err);
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
    struct postgresql *pg = self(sql);
    /* In one message: if the first fails, the second is not tried. */
    PGresult *result = PQexec(pg->conn, sql->wakes ? "NOTIFY framezero; COMMIT" : "COMMIT");
    enum fz_code code = FZ_OK;
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        code = fail(pg, result, err);
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
    fz_ignore(command(sql, "ROLLBACK", NULL));
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

/* ---- waiting ---- */

static bool
take_notifications(struct postgresql *pg)
{
    bool any = false;
    for (;;) {
        PGnotify *notification = PQnotifies(pg->conn);
        if (!notification)
            return any;
        PQfreemem(notification);
        any = true;
    }
}

static bool
pg_wait_change(struct sql *sql, int64_t timeout_ms)
{
    struct postgresql *pg = self(sql);
    int64_t end = fz_time_monotonic_ms() + timeout_ms;
    bool was_listening = pg->listening && !sql->broken;
    if (!was_listening) {
        pg->listening = sql_script(sql, "LISTEN framezero", NULL) == FZ_OK;
        /* Notifications from before LISTEN do not arrive, so the caller has to look once more. */
        if (!pg->listening)
            fz_time_sleep_ms(timeout_ms < 500 ? timeout_ms : 500);
        return true;
    }
    while (!take_notifications(pg)) {
        int64_t left = end - fz_time_monotonic_ms();
        if (left <= 0)
            return false;
        struct pollfd at = {.fd = PQsocket(pg->conn), .events = POLLIN};
        int n = poll(&at, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && !PQconsumeInput(pg->conn)) {
            sql->broken = true;
            return true;
        }
    }
    return true;
}

const char *
sql_postgresql_not_up(const char *database_url)
{
    /* Neither the name nor the password counts: one that is wrong does not become right. */
    static const char *const names[] = {"connect_timeout", "dbname", NULL};
    const char *const values[] = {"5", database_url, NULL};
    PGPing state = PQpingParams(names, values, 1);
    return state == PQPING_REJECT        ? "it is starting or has no connection left"
           : state == PQPING_NO_RESPONSE ? "nothing answers there"
                                         : NULL;
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
        .for_requests = "SET lock_timeout = '1500ms'; SET statement_timeout = '30s'",
        .for_bulk = "SET statement_timeout = '300s'; SET work_mem = '64MB'",
        .after_bulk = "SET statement_timeout = '120s'; RESET work_mem",
        .bytes_query = "SELECT pg_database_size(current_database())",
        .limit_time = pg_limit_time,
        .connect = pg_connect,
        .disconnect = pg_disconnect,
        .script = command,
        .query = pg_query,
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
        .wait_change = pg_wait_change,
    };
    struct postgresql *pg = calloc(1, sizeof(*pg));
    if (!pg)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pg->base.driver = &driver;
    *ret = &pg->base;
    return FZ_OK;
}
