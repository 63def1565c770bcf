/*
 * Indexes built again from stored slices: with a BCSymbolMap that has arrived for hidden names, or
 * because a newer program writes another version.
 *
 * Such a job is an upload of the stored slice. Its end registers the slice again, with the new
 * index, and queues the reports that wait for its UUID, as every upload's end does. A slice that was deleted meanwhile stays so.
 */
#include "storage/store_private.h"

#include <stdio.h>

bool
store_symbol_is_image(const struct store_symbol *symbol)
{
    return symbol->kind == STORE_SYMBOL_DSYM || symbol->kind == STORE_SYMBOL_BINARY;
}

/* A stored slice to build again. */
struct stale {
    int64_t project_id;
    char file_sha256[FZ_SHA256_TEXT], map_sha256[FZ_SHA256_TEXT]; /* map: "" = none */
    const char *name;
    int64_t size;
};

static const char stale_columns[] =
    "f.project_id, f.file_sha256, m.file_sha256, f.name, f.size FROM symbol_files f "
    "LEFT JOIN symbol_files m ON m.project_id = f.project_id AND m.uuid = f.map_uuid AND m.kind = "
    "'bcsymbolmap' AND m.state = 'ready'";

static const char not_queued[] =
    "NOT EXISTS (SELECT 1 FROM uploads u WHERE u.project_id = f.project_id AND u.blob_sha256 = "
    "f.file_sha256 AND u.rebuild = 1 AND u.state = 'queued')";

/* Queue a job for each row of a query that gives the columns above. */
static enum fz_code
queue_stale(struct store *store, const char *text, const struct sql_value *args, size_t n_args,
            struct fz_arena *arena, uint64_t *ret_n, struct fz_error *err)
{
    struct sql_list list = {.arena = arena, .item = sizeof(struct stale)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, text, args, n_args, &rows, err);
    for (struct stale *stale; (stale = sql_list_next(&rows, &list, &code, err));) {
        stale->project_id = sql_col_int(&rows, 0);
        sql_col_copy(&rows, 1, stale->file_sha256, sizeof(stale->file_sha256));
        sql_col_copy(&rows, 2, stale->map_sha256, sizeof(stale->map_sha256));
        stale->name = sql_col_text(&rows, 3, arena);
        stale->size = sql_col_int(&rows, 4);
    }
    /* Closed first: SQLite does not define whether an open query sees rows that are added
     * meanwhile. */
    sql_rows_close(&rows);
    const struct stale *stale = list.items;
    for (size_t i = 0; code == FZ_OK && i < list.n; i++, stale++) {
        /* A rebuild is an upload, so that leases, retries and quarantine work as for every
         * other. */
        struct fz_uuid id = fz_uuid_new();
        struct store_upload upload = {.project_id = stale->project_id,
                                      .name = stale->name,
                                      .size = (uint64_t)stale->size,
                                      .is_rebuild = true,
                                      .map_sha256 =
                                          stale->map_sha256[0] ? stale->map_sha256 : NULL};
        fz_uuid_format(&id, upload.id);
        /* The slice itself, not the archive that it came in, which is gone. */
        memcpy(upload.blob_sha256, stale->file_sha256, sizeof(upload.blob_sha256));
        code = store_upload_add(store, &upload, arena, err);
    }
    if (code == FZ_OK && ret_n)
        *ret_n = list.n;
    return code;
}

/* The files of one UUID whose map is there, or all files of one map. */
static enum fz_code
queue_mapped(struct store *store, int64_t project_id, const struct fz_uuid *uuid,
             const char *column, struct fz_arena *arena, struct fz_error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "SELECT %s WHERE f.project_id = $1 AND f.%s = $2 AND f.state = 'ready' AND f.kind IN "
             "('dsym', 'binary') AND m.file_sha256 IS NOT NULL AND %s",
             stale_columns, column, not_queued);
    const struct sql_value args[] = {sql_int(project_id), sql_blob(fz_span_make(uuid->bytes, 16))};
    return queue_stale(store, text, args, FZ_ARRAY_LEN(args), arena, NULL, err);
}

/* What a "uuidmap" says of its image counts for the image's files, whichever came first. */
static enum fz_code
apply_links(struct store *store, int64_t project_id, const struct fz_uuid *uuid,
            struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_blob(fz_span_make(uuid->bytes, 16))};
    return sql_exec(store->sql,
                    "UPDATE symbol_files SET map_uuid = (SELECT l.map_uuid FROM symbol_files l "
                    "WHERE l.project_id = $1 AND l.uuid = $2 AND l.kind = 'uuidmap' ORDER BY l.key "
                    "DESC LIMIT 1) WHERE project_id = $1 AND uuid = $2 AND kind IN ('dsym', "
                    "'binary') AND map_uuid IS NOT NULL AND EXISTS (SELECT 1 FROM symbol_files l "
                    "WHERE l.project_id = $1 AND l.uuid = $2 AND l.kind = 'uuidmap')",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_job_is_rebuild(struct store *store, const struct store_job *job, bool *ret,
                     struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject)};
    int64_t rebuild = 0;
    enum fz_code code =
        sql_number(store->sql, "SELECT rebuild FROM uploads WHERE project_id = $1 AND id = $2",
                   args, FZ_ARRAY_LEN(args), &rebuild, NULL, err);
    *ret = rebuild != 0;
    return code;
}

enum fz_code
store_rebuild_with_maps(struct store *store, const struct store_job *job, bool is_rebuild,
                        const struct store_symbol *symbols, size_t n, struct fz_arena *arena,
                        struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_symbol *symbol = &symbols[i];
        bool is_map = symbol->kind == STORE_SYMBOL_BCSYMBOLMAP;
        if (symbol->state != STORE_SYMBOL_READY || (!is_map && !symbol->has_map))
            continue;
        /* The slice may have come before its "uuidmap", or after it. */
        if (!is_map)
            code = apply_links(store, job->project_id, &symbol->uuid, err);
        /* A rebuild must not queue itself again, and an index that has its map needs none. */
        if (code == FZ_OK && !is_rebuild && !symbol->map_applied)
            code = queue_mapped(store, job->project_id, &symbol->uuid, is_map ? "map_uuid" : "uuid",
                                arena, err);
    }
    return code;
}

enum fz_code
store_symbol_rebuild_index(struct store *store, const char *index_sha256, uint64_t *ret_n,
                           struct fz_error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "SELECT %s WHERE f.index_sha256 = $1 AND f.state = 'ready' AND f.kind IN ('dsym', "
             "'binary') AND %s",
             stale_columns, not_queued);
    const struct sql_value args[] = {sql_text(index_sha256)};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 * 1024 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = queue_stale(store, text, args, FZ_ARRAY_LEN(args), &arena, ret_n, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_symbol_damaged(struct store *store, const char *file_sha256, const char *problems_json,
                     uint64_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_text(file_sha256), sql_text(problems_json)};
    /* The index stays: it answers for what was sent, until that is sent again. */
    return sql_exec(store->sql,
                    "UPDATE symbol_files SET state = 'failed', problems_json = $2 WHERE "
                    "file_sha256 = $1 AND state = 'ready'",
                    args, FZ_ARRAY_LEN(args), ret_n, err);
}

enum fz_code
store_symbol_rebuild_outdated(struct store *store, uint32_t version, uint64_t *ret_n,
                              struct fz_error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "SELECT %s WHERE f.state = 'ready' AND f.kind IN ('dsym', 'binary') AND "
             /* Not below: a server that went back to an older program cannot read newer indexes
              * either. */
             "f.index_version <> $1 AND %s",
             stale_columns, not_queued);
    const struct sql_value args[] = {sql_int((int64_t)version)};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(256 * 1024 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = queue_stale(store, text, args, FZ_ARRAY_LEN(args), &arena, ret_n, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
