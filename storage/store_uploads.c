#include "storage/store_private.h"

enum fz_code
store_upload_add(struct store *store, const struct store_upload *upload, struct fz_arena *arena,
                 struct fz_error *err)
{
    struct sql *tx = store->sql;
    int64_t now;
    bool created = false;
    if (!store_is_id(upload->id) || !store_is_sha256(upload->blob_sha256))
        return fz_fail(err, FZ_E_MALFORMED, "an upload needs an id and the hash of its body");
    struct sql_value name =
        sql_text_clean(arena, upload->name ? upload->name : "", STORE_TEXT_LONG);
    /* The client may have sent it just when the sweep took the same bytes away. */
    enum fz_code code = store_blob_hold(store, upload->blob_sha256, err);
    if (code == FZ_OK)
        code = store_blob_hold(store, upload->map_sha256, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(upload->project_id),    sql_text(upload->id),
                                     sql_text(upload->blob_sha256),  name,
                                     sql_int((int64_t)upload->size), sql_int(now),
                                     sql_int(upload->is_rebuild),    sql_text(upload->map_sha256)};
    code = sql_number(
        tx,
        "INSERT INTO uploads (project_id, id, blob_sha256, name, size, state, "
        "created_ms, rebuild, map_sha256) VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8) "
        "ON CONFLICT DO NOTHING RETURNING 1",
        args, FZ_ARRAY_LEN(args), NULL, &created, err);
    if (code != FZ_OK)
        return code;
    if (!created)
        return fz_fail(err, FZ_E_CONFLICT, "there is an upload %s already", upload->id);
    /* Rebuilds wait for what somebody just sent: the old index still answers. */
    code = store_job_add(tx, upload->project_id, STORE_JOB_UPLOAD, upload->id, NULL,
                         upload->is_rebuild ? STORE_LATE : STORE_FRESH, err);
    return code == FZ_OK ? sql_notify(tx, err) : code;
}

enum fz_code
store_upload_drop_blob(struct sql *tx, const struct store_job *job, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject)};
    return sql_exec(tx,
                    "INSERT INTO blob_garbage (sha256) SELECT blob_sha256 FROM uploads WHERE "
                    "project_id = $1 AND id = $2 ON CONFLICT DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_upload_insert(struct store *store, const struct store_upload *upload, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_upload_add(store, upload, &arena, err);
    /* The foreign key's failure, which names only the constraint. */
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, code, "there is no project %lld", (long long)upload->project_id);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
no_upload(struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such upload");
}

enum fz_code
store_upload_get(struct store *store, int64_t project_id, const char *id, struct fz_arena *arena,
                 struct store_upload *ret, struct fz_error *err)
{
    if (!store_is_id(id))
        return no_upload(err);
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct store_upload upload = {.project_id = project_id};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT id, blob_sha256, name, size, state, result, error, "
                  "error_code, rebuild, map_sha256 FROM uploads WHERE project_id = $1 AND id = $2",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return no_upload(err);
    sql_col_copy(&rows, 0, upload.id, sizeof(upload.id));
    sql_col_copy(&rows, 1, upload.blob_sha256, sizeof(upload.blob_sha256));
    upload.name = sql_col_text(&rows, 2, arena);
    upload.size = (uint64_t)sql_col_int(&rows, 3);
    upload.result = sql_col_text(&rows, 5, arena);
    upload.error = sql_col_text(&rows, 6, arena);
    upload.error_code = (int)sql_col_int(&rows, 7);
    upload.is_rebuild = sql_col_int(&rows, 8) != 0;
    upload.map_sha256 = sql_col_text(&rows, 9, arena);
    code = store_read_upload_state(&rows, 4, &upload.state, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = upload;
    return code;
}
