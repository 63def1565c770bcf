/*
 * What the two parts of PostgreSQL's driver share: queries (postgresql.c) and connections (postgresql_connection.c).
 *
 * Private to storage/sql.
 */
#ifndef STORAGE_SQL_POSTGRESQL_H
#define STORAGE_SQL_POSTGRESQL_H

#include <libpq-fe.h>

#include "storage/sql/sql.h"

struct sql_pg {
    struct sql base;
    PGconn *conn;
    struct sql_cache cache; /* text -> name of the prepared statement */
    unsigned n_prepared;
    bool listening;
    int64_t pause_ms, until_ms; /* after an attempt to connect that failed: no other one before */
    int64_t timeout_ms;         /* as sql_pg_limit_time() has set it on this connection */
};

static inline struct sql_pg *
sql_pg(struct sql *sql)
{
    return (struct sql_pg *)sql;
}

/* The failure that `result` (maybe NULL) stands for; marks the connection as broken if it is. */
FZ_MUST_CHECK enum fz_code sql_pg_fail(struct sql_pg *pg, const PGresult *result,
                                       struct fz_error *err);
/* Statements without parameters, as one message. */
FZ_MUST_CHECK enum fz_code sql_pg_command(struct sql *sql, const char *text, struct fz_error *err);
/* One statement that makes the settings of base for the transaction that it is in, for a pooled connection. */
enum { SQL_PG_SETTINGS = 1024 };
void sql_pg_settings(const struct sql *sql, char ret[SQL_PG_SETTINGS]);

/* As in struct sql_driver. */
FZ_MUST_CHECK enum fz_code sql_pg_connect(struct sql *sql, struct fz_error *err);
void sql_pg_disconnect(struct sql *sql);
void sql_pg_limit_time(struct sql *sql);
FZ_MUST_CHECK enum fz_code sql_pg_begin_pooled(struct sql *sql, struct fz_error *err);
bool sql_pg_wait_change(struct sql *sql, int64_t timeout_ms);

#endif
