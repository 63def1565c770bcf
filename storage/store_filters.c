#include "storage/store_filters.h"

#include "storage/store_private.h"

#define SELECT_FILTERS \
    "SELECT id, project_id, name, query, since, until, sort, actor, created_ms FROM filters"

/* One, or all of the project with an id of 0. */
static enum fz_code
read_filters(struct store *store, int64_t project_id, int64_t id, struct fz_arena *arena,
             struct store_filter **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(id)};
    const char *text = id ? SELECT_FILTERS " WHERE project_id = $1 AND id = $2"
                          : SELECT_FILTERS " WHERE project_id = $1 ORDER BY name";
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_filter)};
    enum fz_code code = sql_query(store->sql, text, args, id ? 2 : 1, &rows, err);
    for (struct store_filter *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_filter){.id = sql_col_int(&rows, 0),
                                     .project_id = sql_col_int(&rows, 1),
                                     .name = sql_col_text(&rows, 2, arena),
                                     .query = sql_col_text(&rows, 3, arena),
                                     .since = sql_col_some_text(&rows, 4, arena),
                                     .until = sql_col_some_text(&rows, 5, arena),
                                     .sort = sql_col_some_text(&rows, 6, arena),
                                     .actor = sql_col_text(&rows, 7, arena),
                                     .created_ms = sql_col_int(&rows, 8)};
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
not_found(int64_t id, struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no filter %lld", (long long)id);
}

/* CONFLICT of the engine, in words. */
static enum fz_code
named(enum fz_code code, const char *name, struct fz_error *err)
{
    return code == FZ_E_CONFLICT
               ? fz_fail(err, FZ_E_CONFLICT, "there is a filter '%s' already", name)
               : code;
}

enum fz_code
store_filter_list(struct store *store, int64_t project_id, struct fz_arena *arena,
                  struct store_filter **ret, size_t *ret_n, struct fz_error *err)
{
    return read_filters(store, project_id, 0, arena, ret, ret_n, err);
}

enum fz_code
store_filter_get(struct store *store, int64_t project_id, int64_t id, struct fz_arena *arena,
                 struct store_filter *ret, struct fz_error *err)
{
    struct store_filter *found;
    size_t n = 0;
    if (id <= 0)
        return not_found(id, err);
    enum fz_code code = read_filters(store, project_id, id, arena, &found, &n, err);
    if (code == FZ_OK && n == 0)
        return not_found(id, err);
    if (code == FZ_OK)
        *ret = found[0];
    return code;
}

enum fz_code
store_filter_add(struct store *store, const struct store_filter *filter, int64_t *ret_id,
                 struct fz_error *err)
{
    int64_t now = 0, n = 0;
    const struct sql_value project[] = {sql_int(filter->project_id)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT count(*) FROM filters WHERE project_id = $1", project, 1, &n,
                          NULL, err);
    if (code == FZ_OK && n >= STORE_FILTERS_MAX)
        return fz_fail(err, FZ_E_LIMIT,
                       "the project has %d filters, which is the most it can have; delete one",
                       (int)STORE_FILTERS_MAX);
    const struct sql_value args[] = {sql_int(filter->project_id), sql_text(filter->name),
                                     sql_text(filter->query),     sql_text(filter->since),
                                     sql_text(filter->until),     sql_text(filter->sort),
                                     sql_text(filter->actor),     sql_int(now)};
    if (code == FZ_OK)
        code = named(sql_number(tx,
                                "INSERT INTO filters (project_id, name, query, since, until, sort, "
                                "actor, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                                "RETURNING id",
                                args, FZ_ARRAY_LEN(args), &n, NULL, err),
                     filter->name, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = n;
    return code;
}

enum fz_code
store_filter_change(struct store *store, const struct store_filter *filter, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(filter->id),     sql_int(filter->project_id),
                                     sql_text(filter->name),  sql_text(filter->query),
                                     sql_text(filter->since), sql_text(filter->until),
                                     sql_text(filter->sort)};
    uint64_t n = 0;
    enum fz_code code =
        named(sql_exec(store->sql,
                       "UPDATE filters SET name = $3, query = $4, since = $5, until = $6, "
                       "sort = $7 WHERE id = $1 AND project_id = $2",
                       args, FZ_ARRAY_LEN(args), &n, err),
              filter->name, err);
    return code == FZ_OK && n == 0 ? not_found(filter->id, err) : code;
}

enum fz_code
store_filter_delete(struct store *store, int64_t project_id, int64_t id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(project_id)};
    uint64_t n = 0;
    enum fz_code code =
        sql_exec(store->sql, "DELETE FROM filters WHERE id = $1 AND project_id = $2", args,
                 FZ_ARRAY_LEN(args), &n, err);
    return code == FZ_OK && n == 0 ? not_found(id, err) : code;
}
