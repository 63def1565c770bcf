#include "storage/store_changed.h"
#include "storage/store_private.h"

enum { RESULT_BYTES = 64 << 20 };

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
    if (code == FZ_OK)
        sql_notify(tx);
    return code;
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

/* `columns` in the order in which they are read. */
#define UPLOAD_COLUMNS                                                                            \
    "id, blob_sha256, name, size, CASE WHEN state = 'quarantined' THEN 'failed' ELSE state END, " \
    "result, error, error_code, rebuild, map_sha256, "                                            \
    "CASE WHEN state = 'quarantined' THEN 1 ELSE 0 END, created_ms"

static enum fz_code
read_upload(struct sql_rows *rows, struct fz_arena *arena, struct store_upload *ret,
            struct fz_error *err)
{
    sql_col_copy(rows, 0, ret->id, sizeof(ret->id));
    sql_col_copy(rows, 1, ret->blob_sha256, sizeof(ret->blob_sha256));
    ret->name = sql_col_text(rows, 2, arena);
    ret->size = (uint64_t)sql_col_int(rows, 3);
    ret->result = sql_col_text(rows, 5, arena);
    ret->error = sql_col_text(rows, 6, arena);
    ret->error_code = (int)sql_col_int(rows, 7);
    ret->is_rebuild = sql_col_int(rows, 8) != 0;
    ret->map_sha256 = sql_col_text(rows, 9, arena);
    ret->is_kept = sql_col_int(rows, 10) != 0;
    ret->created_ms = sql_col_int(rows, 11);
    return store_read_upload_state(rows, 4, &ret->state, err);
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
    enum fz_code code = sql_query(
        store->sql, "SELECT " UPLOAD_COLUMNS " FROM uploads WHERE project_id = $1 AND id = $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return no_upload(err);
    code = read_upload(&rows, arena, &upload, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = upload;
    return code;
}

enum fz_code
store_upload_list_failed(struct store *store, int64_t project_id, struct store_page *page,
                         struct fz_arena *arena, struct store_upload **ret, struct fz_error *err)
{
    int64_t before_ms = INT64_MAX;
    char id[STORE_ID_TEXT] = "";
    if (page->cursor) {
        enum fz_code code = store_cursor_parse(page->cursor, arena, &before_ms, id, err);
        if (code != FZ_OK)
            return code;
    }
    const struct sql_value args[] = {sql_int(project_id), sql_int(before_ms), sql_text(id),
                                     sql_int((int64_t)page->limit + 1)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_upload)};
    const char *next = NULL;
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT " UPLOAD_COLUMNS " FROM uploads WHERE project_id = $1 "
                  "AND state IN ('failed', 'quarantined') AND (created_ms, id) < ($2, $3) "
                  "ORDER BY created_ms DESC, id DESC LIMIT $4",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_upload *one; (one = sql_list_next(&rows, &list, &code, err));) {
        if (list.n > page->limit) { /* one more was asked for, only to know that it is there */
            list.n--;
            next = store_cursor_make(arena, one[-1].created_ms, one[-1].id);
            if (!next)
                return fz_arena_fail(arena, err);
            break;
        }
        one->project_id = project_id;
        code = read_upload(&rows, arena, one, err);
    }
    if (code == FZ_OK)
        page->next = next;
    return sql_list_done(&list, code, ret, &page->n);
}

/* ---- once more ---- */

/* Its job is in quarantine too, or was deleted after a month. */
static enum fz_code
queue_again(struct store *store, const struct store_upload *upload, struct fz_error *err)
{
    struct sql *tx = store->sql;
    const struct store_changed changed = {
        .project_id = upload->project_id, .n = {[STORE_CHANGE_UPLOAD] = 1}, .upload = upload->id};
    const struct sql_value args[] = {sql_int(upload->project_id), sql_text(upload->id)};
    /* The sweep may have taken the bytes away since the row was read. */
    enum fz_code code = store_blob_hold(store, upload->blob_sha256, err);
    if (code == FZ_OK)
        code = sql_exec(
            tx,
            "DELETE FROM jobs WHERE project_id = $1 AND kind = 2 AND subject = $2 AND state = 2",
            args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = store_job_add(tx, upload->project_id, STORE_JOB_UPLOAD, upload->id, NULL,
                             upload->is_rebuild ? STORE_LATE : STORE_FRESH, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE uploads SET state = 'queued', error = NULL, error_code = 0 "
                        "WHERE project_id = $1 AND id = $2",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = store_changed_count(store, &changed, err);
    if (code == FZ_OK)
        sql_notify(tx);
    return code;
}

enum fz_code
store_upload_reprocess(struct store *store, int64_t project_id, const char *id,
                       struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(RESULT_BYTES);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    struct store_upload upload;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    /* Two requests at once queue it once. */
    if (code == FZ_OK)
        code = sql_lock(tx, project_id, true, err);
    if (code == FZ_OK)
        code = store_upload_get(store, project_id, id, &arena, &upload, err);
    if (code != FZ_OK)
        return code;
    if (upload.state == STORE_UPLOAD_QUEUED)
        return FZ_OK;
    if (!upload.is_kept)
        return fz_fail(err, FZ_E_CONFLICT,
                       "the upload is not in quarantine, so its file is not kept: send it again");
    code = queue_again(store, &upload, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
