/*
 * PostgreSQL's connections that see the rows of one project: row security (storage/store_row_security.h).
 *
 * Where the table row_security names a role, a connection for requests takes it on. That role may use the tables that requests
 * need, and policies show it the rows whose project is the one in the setting framezero.project; without the setting there are
 * none. The setting goes with the first statement after another project was chosen, in one message:
 *
 *     SET ROLE "framezero_requests"                                        once for each connection
 *     SELECT set_config('framezero.project', '7', false) | SELECT ...      one message, a pipeline
 *     SELECT ...                                                           as long as the project is the same
 *
 * Through a pooler both are settings of each transaction. A transaction that is taken back takes the setting with it, so it is sent
 * again then.
 */
#include "storage/sql/postgresql.h"

#include <stdio.h>
#include <string.h>

/* As store_row_security.c makes it: nothing that would have to be quoted. */
static bool
is_name(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* *ret_role: "" if row security is off. */
static enum fz_code
find_role(struct sql *sql, char *ret_role, size_t size, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_once(sql, "SELECT role FROM row_security", NULL, 0, &rows, err);
    ret_role[0] = '\0';
    if (sql_row(&rows, &code, err))
        sql_col_copy(&rows, 0, ret_role, size);
    return code;
}

enum fz_code
sql_pg_confine(struct sql *sql, struct fz_error *err)
{
    struct sql_pg *pg = sql_pg(sql);
    char text[128];
    /* Again on a connection that is confined: it may not read the table any more. */
    if (sql->is_confined)
        return FZ_OK;
    enum fz_code code = find_role(sql, pg->role, sizeof(pg->role), err);
    if (code != FZ_OK || !pg->role[0])
        return code;
    if (!is_name(pg->role))
        return fz_fail(err, FZ_E_INTERNAL, "database: '%s' is not a role of ours", pg->role);
    snprintf(text, sizeof(text),
             sql->is_pooled ? "SELECT set_config('role', '%s', true)" : "SET ROLE \"%s\"",
             pg->role);
    code = sql_pg_command(sql, text, err);
    if (code != FZ_OK)
        return fz_fail(err, FZ_E_UNAVAILABLE,
                       "database: row security is on, but its role cannot be taken on (%s): run "
                       "'framezero row-security on' again",
                       pg->role);
    sql->is_confined = true;
    sql->driver = &pg->confined;
    sql_pg_has_settings(sql, false);
    return FZ_OK;
}
