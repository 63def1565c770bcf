/*
 * What the parts of PostgreSQL's driver share: queries (postgresql.c), many rows of numbers (postgresql_ints.c), connections
 * (postgresql_connection.c), and connections that see one project only (postgresql_confined.c).
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
    char role[64];              /* of a confined connection */
    int64_t
        project_id; /* as base.project_id, and as it is set for the connection; -1: it is not known */
    const struct sql_driver *plain; /* the driver, and that of a confined connection */
    struct sql_driver confined;
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
/* One statement that makes the settings of base: for the transaction that it is in, of a pooled connection; else the project of a
 * confined one, for what follows. */
enum { SQL_PG_SETTINGS = 1024 };
void sql_pg_settings(const struct sql *sql, char ret[SQL_PG_SETTINGS]);
/* Must sql_pg_settings() come before the next statement or transaction? */
static inline bool
sql_pg_needs_settings(const struct sql *sql)
{
    return sql->is_pooled ||
           (sql->is_confined && ((const struct sql_pg *)sql)->project_id != sql->project_id);
}
/* They were sent; `are_kept`: and not in a transaction that was taken back. */
static inline void
sql_pg_has_settings(struct sql *sql, bool are_kept)
{
    sql_pg(sql)->project_id = are_kept ? sql->project_id : -1;
}

/* As in struct sql_driver. */
FZ_MUST_CHECK enum fz_code sql_pg_connect(struct sql *sql, struct fz_error *err);
void sql_pg_disconnect(struct sql *sql);
void sql_pg_limit_time(struct sql *sql);
FZ_MUST_CHECK enum fz_code sql_pg_begin_pooled(struct sql *sql, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sql_pg_confine(struct sql *sql, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sql_pg_read_ints(struct sql *sql, const char *text,
                                            const struct sql_value *args, size_t n_args,
                                            struct sql_ints *ret, struct fz_error *err);
bool sql_pg_wait_change(struct sql *sql, int64_t timeout_ms);

#endif
