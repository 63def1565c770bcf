/*
 * Symbol files that no stored report needs, and what uploaders sent beside them.
 *
 * A file is in use while a set of images has its UUID (sets go with the last report that has them, see
 * store_sweep.c, which then notes the time in used_ms), and a BCSymbolMap or its property list while a file names
 * it. So a file goes symbol_days after the last report that needs it is deleted, or after its upload.
 */
#include "storage/store_changed.h"
#include "storage/store_fact_days.h"
#include "storage/store_retention_plan.h"

enum { SYMBOLS_AT_ONCE = 50, FILES_AT_ONCE = 200 };

/* Of symbol_files f; $2 = uploaded or used before. While reports wait to be processed, no one knows what they need. */
#define UNUSED                                                                                   \
    "f.project_id = $1 AND f.uploaded_ms < $2 AND f.used_ms < $2 AND NOT EXISTS (SELECT 1 FROM " \
    "image_set_items i WHERE i.project_id = f.project_id AND i.uuid = f.uuid) AND NOT EXISTS "   \
    "(SELECT 1 FROM symbol_files d WHERE d.project_id = f.project_id AND d.key <> f.key AND "    \
    "f.kind IN ('bcsymbolmap', 'uuidmap') AND d.kind IN ('dsym', 'binary') AND (d.map_uuid = "   \
    "f.uuid OR d.uuid = f.uuid)) AND NOT EXISTS (SELECT 1 FROM reports r WHERE r.project_id = "  \
    "f.project_id AND r.status = 'queued' AND r.n_processed = 0 AND r.transient = 0)"

/* Of assembled_files a. A symbol file that is sent again needs its row gone. */
#define UNUSED_FILES                                                                              \
    "a.project_id = $1 AND a.created_ms < $2 AND NOT EXISTS (SELECT 1 FROM symbol_files f WHERE " \
    "f.project_id = a.project_id AND f.uuid = a.uuid) AND NOT EXISTS (SELECT 1 FROM "             \
    "image_set_items i WHERE i.project_id = a.project_id AND i.uuid = a.uuid)"

static int64_t
find_before(const struct store_retention_plan *plan)
{
    int64_t days = plan->retention.symbol_days;
    return days ? plan->now_ms - days * STORE_DAY_MS : INT64_MIN;
}

static enum fz_code
count_memory(struct store *store, struct store_retention_plan *plan, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(plan->now_ms),
                                     sql_int(STORE_DAY_MS)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT count(*), count(CASE WHEN p.keep_memory = 1 AND m.stored_ms < $2 - p.memory_days * "
        "$3 THEN 1 END) FROM report_memory m JOIN projects p ON p.id = m.project_id WHERE "
        "m.project_id = $1",
        args, FZ_ARRAY_LEN(args), &rows, err);
    if (sql_row(&rows, &code, err)) {
        plan->due.n_stored_memory = (uint64_t)sql_col_int(&rows, 0);
        plan->due.n_memory = (uint64_t)sql_col_int(&rows, 1);
    }
    return code;
}

enum fz_code
store_plan_count(struct store *store, struct store_retention_plan *plan, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(find_before(plan))};
    plan->due.n_stored_symbols = plan->use.symbols.n;
    enum fz_code code = count_memory(store, plan, err);
    if (code != FZ_OK || !plan->retention.symbol_days)
        return code;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code =
        sql_query(store->sql,
                  "SELECT count(*), CAST(coalesce(sum(f.size), 0) AS bigint) FROM symbol_files f "
                  "WHERE " UNUSED,
                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (sql_row(&rows, &code, err)) {
        plan->due.n_symbols = (uint64_t)sql_col_int(&rows, 0);
        plan->due.symbol_bytes = (uint64_t)sql_col_int(&rows, 1);
    }
    return code;
}

/* ---- deleting ---- */

struct found {
    int64_t key;
    char file[FZ_SHA256_TEXT], index[FZ_SHA256_TEXT];
};

static enum fz_code
find_symbols(struct sql *tx, const struct store_retention_plan *plan, struct found *ret,
             size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(find_before(plan)),
                                     sql_int(plan->symbol_after), sql_int(SYMBOLS_AT_ONCE)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(tx,
                                  "SELECT f.key, f.file_sha256, f.index_sha256 FROM symbol_files f "
                                  "WHERE f.key > $3 AND " UNUSED " ORDER BY f.key LIMIT $4",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_n = 0;
    while (sql_row(&rows, &code, err) && *ret_n < SYMBOLS_AT_ONCE) {
        struct found *one = &ret[(*ret_n)++];
        one->key = sql_col_int(&rows, 0);
        sql_col_copy(&rows, 1, one->file, sizeof(one->file));
        sql_col_copy(&rows, 2, one->index, sizeof(one->index));
    }
    return code;
}

static enum fz_code
drop_symbols(struct store *store, struct sql *tx, const struct store_retention_plan *plan,
             const struct found *found, size_t n, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct sql_value args[] = {sql_int(found[i].key)};
        code = store_blob_drop(tx, found[i].file, err);
        if (code == FZ_OK && found[i].index[0])
            code = store_blob_drop(tx, found[i].index, err);
        if (code == FZ_OK)
            code = sql_exec(tx, "DELETE FROM symbol_files WHERE key = $1", args, 1, NULL, err);
    }
    const struct store_changed changed = {.project_id = plan->project_id,
                                          .n = {[STORE_CHANGE_SYMBOLS] = n}};
    return code == FZ_OK && n ? store_changed_count(store, &changed, err) : code;
}

static enum fz_code
drop_files(struct sql *tx, const struct store_retention_plan *plan, uint64_t *ret_n,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(find_before(plan)),
                                     sql_int(FILES_AT_ONCE)};
    enum fz_code code = sql_exec(tx,
                                 "INSERT INTO blob_garbage (sha256) SELECT DISTINCT x.blob_sha256 "
                                 "FROM (SELECT a.blob_sha256 "
                                 "FROM assembled_files a WHERE " UNUSED_FILES
                                 " ORDER BY a.sha1 LIMIT $3) x WHERE 1 = 1 ON "
                                 "CONFLICT DO NOTHING",
                                 args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK
               ? sql_exec(tx,
                          "DELETE FROM assembled_files WHERE project_id = $1 AND sha1 IN (SELECT "
                          "a.sha1 FROM assembled_files a WHERE " UNUSED_FILES
                          " ORDER BY a.sha1 LIMIT $3)",
                          args, FZ_ARRAY_LEN(args), ret_n, err)
               : code;
}

static enum fz_code
drop_some(struct store *store, struct store_retention_plan *plan, size_t *ret_n,
          uint64_t *ret_files, int64_t *ret_last, struct fz_error *err)
{
    struct found found[SYMBOLS_AT_ONCE];
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* For itself: the end of a report, which holds it shared, may name an image just now. */
        code = sql_lock(tx, plan->project_id, true, err);
    if (code == FZ_OK)
        code = find_symbols(tx, plan, found, ret_n, err);
    if (code == FZ_OK && *ret_n == 0)
        code = drop_files(tx, plan, ret_files, err);
    if (code == FZ_OK)
        code = store_plan_check(tx, plan, *ret_n, err);
    if (code == FZ_OK)
        code = drop_symbols(store, tx, plan, found, *ret_n, err);
    if (code == FZ_OK && *ret_n)
        *ret_last = found[*ret_n - 1].key;
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_plan_drop_symbols(struct store *store, struct store_retention_plan *plan,
                        struct store_retention_done *ret_done, struct fz_error *err)
{
    size_t n = 0;
    uint64_t n_files = 0;
    int n_tries = 0;
    enum fz_code code = FZ_OK;
    if (!plan->retention.symbol_days) {
        plan->symbols_are_done = true;
        return FZ_OK;
    }
    do
        code = drop_some(store, plan, &n, &n_files, &plan->symbol_after, err);
    while (sql_try_again(store->sql, code, &n_tries));
    if (code != FZ_OK)
        return code;
    ret_done->n_symbols += n;
    ret_done->n_files += n_files;
    plan->symbols_are_done = n == 0 && n_files < FILES_AT_ONCE;
    return FZ_OK;
}
