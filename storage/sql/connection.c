/* Connections: which engine a URL names, and what the engine does for a connection as a whole. */
#include "storage/sql/sql.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/time.h"

static bool
is_postgresql(const char *database_url)
{
    return fz_text_has_prefix(database_url, "postgresql://") ||
           fz_text_has_prefix(database_url, "postgres://");
}

enum fz_code
sql_open(const char *database_url, bool create, struct sql **ret, struct fz_error *err)
{
    static const char sqlite[] = "sqlite:";
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    const char *target = database_url;
    enum fz_code code;
    if (fz_text_has_prefix(database_url, sqlite) && database_url[sizeof(sqlite) - 1]) {
        target = database_url + sizeof(sqlite) - 1;
        code = sql_sqlite_create(&sql, err);
    } else if (is_postgresql(database_url)) {
        code = sql_postgresql_create(&sql, err);
    } else {
        /* The URL may carry a password, so it is not repeated. */
        return fz_fail(err, FZ_E_MALFORMED,
                       "the database must be given as sqlite:PATH or postgresql://...");
    }
    if (code != FZ_OK)
        return code;
    sql->create = create;
    sql->target = strdup(target);
    if (!sql->target)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    code = sql->driver->connect(sql, err);
    if (code != FZ_OK)
        return code;
    sql->connected = true;
    *ret = fz_take(&sql);
    return FZ_OK;
}

const char *
sql_not_up(const char *database_url)
{
    return is_postgresql(database_url) ? sql_postgresql_not_up(database_url) : NULL;
}

void
sql_close(struct sql *sql)
{
    if (!sql)
        return;
    sql->driver->disconnect(sql);
    free(sql->target);
    free(sql);
}

void
sql_closep(struct sql **sql)
{
    sql_close(*sql);
}

enum fz_code
sql_serve_requests(struct sql *sql, struct fz_error *err)
{
    sql->for_requests = true;
    return sql_set_up(sql, sql->driver->for_requests, err);
}

enum fz_code
sql_confine(struct sql *sql, struct fz_error *err)
{
    sql->to_confine = true;
    sql->project_id = 0;
    return sql->driver->confine ? sql->driver->confine(sql, err) : FZ_OK;
}

void
sql_see_project(struct sql *sql, int64_t project_id)
{
    assert(!sql->in_tx);
    sql->project_id = project_id;
}

void
sql_limit_time(struct sql *sql, int64_t ms)
{
    sql->limit_ms = ms;
    sql->until_ms = ms ? fz_time_monotonic_ms() + ms : 0;
}

enum fz_code
sql_bulk_start(struct sql *sql, struct fz_error *err)
{
    enum fz_code code = sql_set_up(sql, sql->driver->for_bulk, err);
    sql->in_bulk = code == FZ_OK;
    return code;
}

void
sql_bulk_end(struct sql *sql)
{
    sql->in_bulk = false;
    if (!sql->connected || sql->broken || sql->is_pooled)
        return;
    enum fz_code code = sql->driver->script(sql, sql->driver->after_bulk, NULL);
    if (code == FZ_OK && sql->for_requests)
        code = sql->driver->script(sql, sql->driver->for_requests, NULL);
    if (code != FZ_OK)
        sql->broken = true; /* a new connection has what others have */
}

enum fz_code
sql_now(struct sql *sql, int64_t *ret_ms, struct fz_error *err)
{
    return sql->driver->now(sql, ret_ms, err);
}

enum fz_code
sql_clock(struct sql *sql, int64_t *ret_ms, struct fz_error *err)
{
    return sql->driver->clock(sql, ret_ms, err);
}

void
sql_boot(struct sql *sql, char ret[SQL_BOOT_TEXT])
{
    ret[0] = '\0';
    if (sql->driver->boot)
        sql->driver->boot(sql, ret);
}

bool
sql_wait_change(struct sql *sql, int64_t timeout_ms)
{
    return sql->driver->wait_change(sql, timeout_ms);
}

enum fz_code
sql_copy(struct sql *sql, const char *path, sql_copied_fn on_copied, void *user,
         struct fz_error *err)
{
    if (!sql->driver->copy)
        return fz_fail(err, FZ_E_UNSUPPORTED, "a database of %s is copied with its own tools",
                       sql->driver->name);
    return sql->driver->copy(sql, path, on_copied, user, err);
}
