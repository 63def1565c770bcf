#include "storage/store_releases.h"

#include "base/text.h"
#include "storage/store_private.h"

enum { DEPLOYS_MAX = 100, COMMITS_MAX = 4 * 1024 * 1024 };

static enum fz_code
no_release(const char *version, struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no release %.100s", version);
}

static enum fz_code
check_version(const char *version, struct fz_error *err)
{
    size_t len = version ? strlen(version) : 0;
    if (len == 0 || len > STORE_VERSION_MAX || !fz_text_is_utf8(fz_span_make(version, len)))
        return fz_fail(err, FZ_E_MALFORMED, "a release's version has 1 to %d bytes of UTF-8",
                       (int)STORE_VERSION_MAX);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)version[i] < 0x20 || version[i] == 0x7f)
            return fz_fail(err, FZ_E_MALFORMED, "a release's version has no control characters");
    return FZ_OK;
}

/* ---- read ---- */

static enum fz_code
read_releases(struct store *store, const char *text, const struct sql_value *args, size_t n_args,
              struct sql_list *list, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, text, args, n_args, &rows, err);
    for (struct store_release *one; (one = sql_list_next(&rows, list, &code, err));)
        *one = (struct store_release){.version = sql_col_text(&rows, 0, list->arena),
                                      .status = sql_col_text(&rows, 1, list->arena),
                                      .ref = sql_col_text(&rows, 2, list->arena),
                                      .url = sql_col_text(&rows, 3, list->arena),
                                      .created_ms = sql_col_int(&rows, 4),
                                      .started_ms = sql_col_int(&rows, 5),
                                      .released_ms = sql_col_int(&rows, 6),
                                      .commits = sql_col_text(&rows, 7, list->arena)};
    return code;
}

enum fz_code
store_release_get(struct store *store, int64_t project_id, const char *version,
                  struct fz_arena *arena, struct store_release *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(version)};
    struct sql_list list = {.arena = arena, .item = sizeof(*ret)};
    if (check_version(version, NULL) != FZ_OK)
        return no_release(version, err);
    enum fz_code code = read_releases(store,
                                      "SELECT version, status, ref, url, created_ms, started_ms, "
                                      "released_ms, commits FROM releases WHERE project_id = $1 "
                                      "AND version = $2",
                                      args, FZ_ARRAY_LEN(args), &list, err);
    if (code == FZ_OK && list.n == 0)
        return no_release(version, err);
    if (code == FZ_OK)
        memcpy(ret, list.items, sizeof(*ret));
    return code;
}

enum fz_code
store_release_list(struct store *store, int64_t project_id, size_t offset, struct fz_arena *arena,
                   struct store_release **ret, size_t *ret_n, struct fz_error *err)
{
    /* From a cursor that the client may have changed. */
    if (offset > INT32_MAX)
        offset = INT32_MAX;
    const struct sql_value args[] = {sql_int(project_id), sql_int(STORE_RELEASES_PAGE),
                                     sql_int((int64_t)offset)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_release)};
    enum fz_code code =
        read_releases(store,
                      "SELECT version, status, ref, url, created_ms, started_ms, released_ms, NULL "
                      "FROM releases WHERE project_id = $1 ORDER BY created_ms DESC, key DESC "
                      "LIMIT $2 OFFSET $3",
                      args, FZ_ARRAY_LEN(args), &list, err);
    return sql_list_done(&list, code, ret, ret_n);
}

/* ---- write ---- */

static struct sql_value
clean_or_null(struct fz_arena *arena, const char *text)
{
    return text ? sql_text_clean(arena, text, STORE_TEXT_LONG) : sql_text(NULL);
}

enum fz_code
store_release_put(struct store *store, int64_t project_id, const struct store_release *release,
                  struct fz_arena *arena, struct store_release *ret, bool *ret_created,
                  struct fz_error *err)
{
    int64_t now = 0;
    bool created = false;
    enum fz_code code = check_version(release->version, err);
    if (code == FZ_OK && release->commits && strlen(release->commits) > COMMITS_MAX)
        code = fz_fail(err, FZ_E_LIMIT, "a release's commits take more than %d bytes",
                       (int)COMMITS_MAX);
    if (code == FZ_OK)
        code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_text(release->version),
                                     sql_text(release->status),
                                     clean_or_null(arena, release->ref),
                                     clean_or_null(arena, release->url),
                                     sql_text(release->commits),
                                     sql_int(release->started_ms),
                                     sql_int(release->released_ms),
                                     sql_int(now)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO releases (project_id, version, status, ref, url, commits, "
                          "started_ms, released_ms, created_ms) VALUES ($1, $2, COALESCE($3, "
                          "'open'), $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING key",
                          args, FZ_ARRAY_LEN(args), NULL, &created, err);
    /* INSERT first: two builds may announce the same release at the same moment. */
    if (code == FZ_OK && !created)
        code = sql_exec(tx,
                        "UPDATE releases SET status = COALESCE($3, status), ref = COALESCE($4, "
                        "ref), url = COALESCE($5, url), commits = COALESCE($6, commits), "
                        "started_ms = CASE WHEN $7 > 0 THEN $7 ELSE started_ms END, released_ms = "
                        "CASE WHEN $8 > 0 THEN $8 ELSE released_ms END WHERE project_id = $1 AND "
                        "version = $2",
                        args, FZ_ARRAY_LEN(args) - 1, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, code, "there is no project %lld", (long long)project_id);
    if (code == FZ_OK)
        code = store_release_get(store, project_id, release->version, arena, ret, err);
    if (code == FZ_OK)
        *ret_created = created;
    return code;
}

enum fz_code
store_release_delete(struct store *store, int64_t project_id, const char *version,
                     struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(version)};
    uint64_t n = 0;
    if (check_version(version, NULL) != FZ_OK)
        return no_release(version, err);
    enum fz_code code =
        sql_exec(store->sql, "DELETE FROM releases WHERE project_id = $1 AND version = $2", args,
                 FZ_ARRAY_LEN(args), &n, err);
    return code == FZ_OK && n == 0 ? no_release(version, err) : code;
}

/* ---- deploys ---- */

static enum fz_code
find_key(struct sql *sql, int64_t project_id, const char *version, int64_t *ret,
         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(version)};
    bool found = false;
    enum fz_code code = check_version(version, NULL);
    if (code == FZ_OK)
        code = sql_number(sql, "SELECT key FROM releases WHERE project_id = $1 AND version = $2",
                          args, FZ_ARRAY_LEN(args), ret, &found, err);
    else
        /* A version that cannot exist is not found, like any other that is not there. */
        code = FZ_OK;
    return code == FZ_OK && !found ? no_release(version, err) : code;
}

enum fz_code
store_deploy_insert(struct store *store, int64_t project_id, const char *version,
                    struct store_deploy *deploy, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    int64_t now = 0, key = 0, id = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = find_key(tx, project_id, version, &key, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code != FZ_OK)
        return code;
    /* A deploy without a time is one that is over now. */
    int64_t finished_ms = deploy->finished_ms ? deploy->finished_ms : now;
    const struct sql_value args[] = {
        sql_int(key),
        sql_text_clean(&arena, deploy->environment ? deploy->environment : "", STORE_TEXT_SHORT),
        clean_or_null(&arena, deploy->name),
        clean_or_null(&arena, deploy->url),
        sql_int(deploy->started_ms),
        sql_int(finished_ms)};
    code = sql_number(tx,
                      "INSERT INTO deploys (release_key, environment, name, url, started_ms, "
                      "finished_ms) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
                      args, FZ_ARRAY_LEN(args), &id, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code != FZ_OK)
        return code;
    deploy->id = id;
    deploy->finished_ms = finished_ms;
    return FZ_OK;
}

enum fz_code
store_deploy_list(struct store *store, int64_t project_id, const char *version,
                  struct fz_arena *arena, struct store_deploy **ret, size_t *ret_n,
                  struct fz_error *err)
{
    int64_t key = 0;
    enum fz_code code = find_key(store->sql, project_id, version, &key, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(key), sql_int(DEPLOYS_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_deploy)};
    code = sql_query(store->sql,
                     "SELECT id, environment, name, url, started_ms, finished_ms FROM deploys "
                     "WHERE release_key = $1 ORDER BY id DESC LIMIT $2",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_deploy *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_deploy){.id = sql_col_int(&rows, 0),
                                     .environment = sql_col_text(&rows, 1, arena),
                                     .name = sql_col_text(&rows, 2, arena),
                                     .url = sql_col_text(&rows, 3, arena),
                                     .started_ms = sql_col_int(&rows, 4),
                                     .finished_ms = sql_col_int(&rows, 5)};
    return sql_list_done(&list, code, ret, ret_n);
}
