/*
 * PostgreSQL's connections: errors, set-up, poolers, waiting for changes.
 *
 * A pooler in transaction mode (PgBouncer) gives each transaction a server connection that others have used and will use. So
 * nothing may last longer than a transaction: settings are made in each one, statements are not kept prepared, and notifications
 * do not arrive. A pooler makes up the process id that the protocol has for its clients, and so differs from the server.
 */
#include "storage/sql/postgresql.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/time.h"

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
fail_conn(struct sql_pg *pg, struct fz_error *err)
{
    char text[200];
    first_line(PQerrorMessage(pg->conn), text, sizeof(text));
    pg->base.broken = true;
    return fz_fail(err, FZ_E_UNAVAILABLE, "database: %s",
                   text[0] ? text : "the connection was lost");
}

enum fz_code
sql_pg_fail(struct sql_pg *pg, const PGresult *result, struct fz_error *err)
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

enum fz_code
sql_pg_command(struct sql *sql, const char *text, struct fz_error *err)
{
    struct sql_pg *pg = sql_pg(sql);
    PGresult *result = PQexec(pg->conn, text);
    ExecStatusType status = PQresultStatus(result);
    enum fz_code code = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                            ? FZ_OK
                            : sql_pg_fail(pg, result, err);
    PQclear(result);
    return code;
}

void
sql_pg_disconnect(struct sql *sql)
{
    struct sql_pg *pg = sql_pg(sql);
    sql_cache_clear(&pg->cache, free);
    if (pg->conn)
        PQfinish(pg->conn);
    pg->conn = NULL;
    pg->listening = false;
    sql->is_confined = false;
    sql->driver = pg->plain;
}

/* As sql_pg_connect(), for_bulk and for_requests have them. */
static const long long STATEMENT_MS = 120000, BULK_MS = 300000, REQUEST_MS = 30000;
static const int IDLE_S = 10, BULK_IDLE_S = 60;
enum { LOCK_MS = 1500 };
/* How often those who use a pooler look for what has changed. */
static const int64_t POLL_MS = 200;
/* Between attempts to connect. */
static const int64_t PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 1000;

/* How long a statement may take. */
static long long
statement_ms(const struct sql *sql)
{
    return sql->in_bulk        ? BULK_MS
           : sql->limit_ms     ? (long long)sql->limit_ms
           : sql->for_requests ? REQUEST_MS
                               : STATEMENT_MS;
}

void
sql_pg_limit_time(struct sql *sql)
{
    struct sql_pg *pg = sql_pg(sql);
    char text[64];
    /* A round trip, but only where a connection is used for reading after a change, or the other way round. */
    if (pg->timeout_ms == sql->limit_ms || sql->is_pooled)
        return;
    snprintf(text, sizeof(text), "SET statement_timeout = %lld", statement_ms(sql));
    if (sql_pg_command(sql, text, NULL) == FZ_OK)
        pg->timeout_ms = sql->limit_ms;
}

/* The part of the settings that is a confined connection's: all that there are, or of a pooled one the end. */
static void
project_settings(const struct sql *sql, char *ret, size_t size)
{
    char project[24] = "";
    if (sql->project_id)
        snprintf(project, sizeof(project), "%lld", (long long)sql->project_id);
    if (sql->is_pooled)
        snprintf(ret, size,
                 ", set_config('role', '%s', true), set_config('framezero.project', '%s', true)",
                 ((const struct sql_pg *)sql)->role, project);
    else
        snprintf(ret, size, "SELECT set_config('framezero.project', '%s', false)", project);
}

void
sql_pg_settings(const struct sql *sql, char ret[SQL_PG_SETTINGS])
{
    if (!sql->is_pooled) {
        project_settings(sql, ret, SQL_PG_SETTINGS);
        return;
    }
    snprintf(ret, SQL_PG_SETTINGS,
             "SELECT set_config('statement_timeout', '%lld', true), "
             "set_config('lock_timeout', '%d', true), "
             "set_config('idle_in_transaction_session_timeout', '%ds', true), "
             "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true), "
             "set_config('max_parallel_workers_per_gather', '0', true), "
             "set_config('work_mem', %s, true), "
             "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN "
             "'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)",
             statement_ms(sql), sql->for_requests ? LOCK_MS : 0,
             sql->in_bulk ? BULK_IDLE_S : IDLE_S,
             sql->in_bulk ? "'64MB'" : "current_setting('work_mem')");
    if (sql->is_confined)
        project_settings(sql, ret + strlen(ret), SQL_PG_SETTINGS - strlen(ret));
}

enum fz_code
sql_pg_begin_pooled(struct sql *sql, struct fz_error *err)
{
    char text[SQL_PG_SETTINGS + 64], settings[SQL_PG_SETTINGS];
    if (!sql_pg_needs_settings(sql))
        return sql_pg_command(sql, sql->driver->begin, err);
    sql_pg_settings(sql, settings);
    snprintf(text, sizeof(text), "%s; %s", sql->driver->begin, settings);
    enum fz_code code = sql_pg_command(sql, text, err);
    if (code != FZ_OK)
        sql->broken = true; /* it may be in a transaction that failed */
    sql_pg_has_settings(sql, code == FZ_OK);
    return code;
}

/* Is there a pooler between us and the server? */
static enum fz_code
find_pooler(struct sql_pg *pg, struct fz_error *err)
{
    PGresult *result = PQexec(pg->conn, "SELECT pg_backend_pid()");
    bool is_answered = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    enum fz_code code = is_answered ? FZ_OK : sql_pg_fail(pg, result, err);
    if (code == FZ_OK)
        pg->base.is_pooled = strtol(PQgetvalue(result, 0, 0), NULL, 10) != PQbackendPID(pg->conn);
    PQclear(result);
    return code;
}

/* After each attempt that fails, the next one is later: hundreds of threads of many nodes would keep a server that comes up from
 * doing so, and each of a host that does not answer takes seconds. */
static void
wait_longer(struct sql_pg *pg)
{
    uint8_t chance;
    fz_random(&chance, sizeof(chance));
    pg->pause_ms = pg->pause_ms ? 2 * pg->pause_ms : PAUSE_MIN_MS;
    if (pg->pause_ms > PAUSE_MAX_MS)
        pg->pause_ms = PAUSE_MAX_MS;
    /* Not all at once: from the half to the whole. */
    pg->until_ms = fz_time_monotonic_ms() + pg->pause_ms / 2 + pg->pause_ms / 2 * chance / 255;
}

enum fz_code
sql_pg_connect(struct sql *sql, struct fz_error *err)
{
    if (fz_time_monotonic_ms() < sql_pg(sql)->until_ms)
        return fz_fail(
            err, FZ_E_UNAVAILABLE,
            "database: it could not be connected to a moment ago, and is tried again soon");
    sql_pg(sql)->timeout_ms = 0; /* the new connection has the one below */
    /* The URL comes last, so it can override each of the others. */
    static const char *const names[] = {
        "application_name",    "connect_timeout",  "keepalives_idle",
        "keepalives_interval", "keepalives_count", "tcp_user_timeout",
        "client_encoding",     "dbname",           NULL};
    /* A network that drops packets without a word: retries double in time, so that a connection which keeps on for 15 s
     * is silent for seconds after the network is back. A new one is not (tests/cluster). */
    const char *const values[] = {"framezero", "5",    "2",         "1", "2",
                                  "3000",      "UTF8", sql->target, NULL};
    /* A transaction whose process is stopped keeps the others from the jobs and issues that it has locked: what waits for
     * them is done seconds after they are free only if that is soon. An acknowledgement needs
     * the write-ahead log on disk even if the server's default is lax. The plan of a prepared
     * statement is made once; made while the queue is empty, which is its normal state, it would go
     * on to read the whole table when half a million jobs are in it. (The costs that this makes up
     * would have the server compile every query, and start two more processes for a statement of 5 ms, which takes 20 ms then.) */
    static const char set_up[] =
        "SET statement_timeout = '120s'; "
        "SET idle_in_transaction_session_timeout = '10s'; SET enable_seqscan = off; SET jit = off; "
        "SET max_parallel_workers_per_gather = 0; "
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'";
    struct sql_pg *pg = sql_pg(sql);
    pg->conn = PQconnectdbParams(names, values, 1);
    if (!pg->conn)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = PQstatus(pg->conn) == CONNECTION_OK ? FZ_OK : fail_conn(pg, err);
    PQsetNoticeReceiver(pg->conn, be_quiet, NULL);
    if (code == FZ_OK)
        code = find_pooler(pg, err);
    if (code == FZ_OK && !sql->is_pooled)
        code = sql_pg_command(sql, set_up, err);
    if (code != FZ_OK) {
        sql_pg_disconnect(sql);
        wait_longer(pg);
    } else {
        pg->pause_ms = 0;
    }
    return code;
}

/* ---- waiting ---- */

static bool
take_notifications(struct sql_pg *pg)
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

bool
sql_pg_wait_change(struct sql *sql, int64_t timeout_ms)
{
    struct sql_pg *pg = sql_pg(sql);
    int64_t end = fz_time_monotonic_ms() + timeout_ms;
    if (sql->is_pooled) {
        fz_time_sleep_ms(timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
        return true;
    }
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
