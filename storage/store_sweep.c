/*
 * Rows that nothing needs any more: sets of images whose reports were deleted, uploads that ended
 * long ago, jobs in quarantine.
 *
 * A few at a time, each call going on where the one before ended. A set is deleted under its
 * project's lock, which every report's end holds while it chooses its sets.
 */
#include "storage/store_issue_state.h"
#include "storage/store_private.h"

static const int64_t KEEP_MS = (int64_t)30 * 24 * 3600 * 1000;
enum { LOOK_AT = 200 };

struct set_kind {
    const char *look, *drop, *drop_items;
    const char *note; /* that its symbol files were needed until now ($2); NULL = nothing */
};

static const struct set_kind kinds[STORE_SET_KINDS] = {
    {"SELECT s.key, s.project_id, CASE WHEN EXISTS (SELECT 1 FROM reports r WHERE r.image_set = "
     "s.key AND r.image_set IS NOT NULL) THEN 1 ELSE 0 END FROM image_sets s WHERE s.key > $1 "
     "ORDER BY s.key LIMIT $2",
     "DELETE FROM image_sets WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM reports r WHERE "
     "r.image_set = $1 AND r.image_set IS NOT NULL) RETURNING 1",
     "DELETE FROM image_set_items WHERE set_key = $1",
     "UPDATE symbol_files SET used_ms = $2 WHERE used_ms < $2 AND (project_id, uuid) IN (SELECT "
     "project_id, uuid FROM image_set_items WHERE set_key = $1)"},
    {"SELECT s.key, s.project_id, CASE WHEN EXISTS (SELECT 1 FROM reports r WHERE r.project_id = "
     "s.project_id AND r.wait_set = s.key AND r.wait_set IS NOT NULL) THEN 1 ELSE 0 END FROM "
     "wait_sets s WHERE s.key > $1 ORDER BY s.key LIMIT $2",
     "DELETE FROM wait_sets WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM reports r WHERE "
     "r.project_id = wait_sets.project_id AND r.wait_set = $1 AND r.wait_set IS NOT NULL) "
     "RETURNING 1",
     "DELETE FROM wait_set_items WHERE set_key = $1", NULL},
};

struct unused {
    int64_t key, project_id;
};

static enum fz_code
find_unused(struct store *store, size_t kind, struct unused ret[LOOK_AT], size_t *ret_n,
            struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(store->swept_sets[kind]), sql_int(LOOK_AT)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t n = 0, n_rows = 0;
    int64_t last = 0;
    enum fz_code code =
        sql_query(store->sql, kinds[kind].look, args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        n_rows++;
        /* Of all rows, used or not: the next call goes on after this one. */
        last = sql_col_int(&rows, 0);
        if (sql_col_int(&rows, 2) == 0 && n < LOOK_AT)
            ret[n++] = (struct unused){last, sql_col_int(&rows, 1)};
    }
    /* The end of the table was reached: the next call begins at its start. */
    store->swept_sets[kind] = n_rows == LOOK_AT ? last : 0;
    if (code == FZ_OK)
        *ret_n = n;
    return code;
}

static enum fz_code
note_use(struct sql *tx, const char *text, int64_t key, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_int(key), sql_int(now)};
    return code == FZ_OK ? sql_exec(tx, text, args, FZ_ARRAY_LEN(args), NULL, err) : code;
}

static enum fz_code
drop_set(struct store *store, size_t kind, const struct unused *set, uint64_t *n,
         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(set->key)};
    bool dropped = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* See store_finish.c: a report's end holds it shared while it chooses its sets. */
        code = sql_lock(tx, set->project_id, true, err);
    if (code == FZ_OK)
        code = sql_number(tx, kinds[kind].drop, args, 1, NULL, &dropped, err);
    if (code == FZ_OK && dropped && kinds[kind].note)
        code = note_use(tx, kinds[kind].note, set->key, err);
    /* A report may have taken the set between the look and the lock: then it stays. */
    if (code == FZ_OK && dropped)
        code = sql_exec(tx, kinds[kind].drop_items, args, 1, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    *n += code == FZ_OK && dropped;
    return code;
}

static enum fz_code
drop_old(struct store *store, uint64_t *n, struct fz_error *err)
{
    static const char *const texts[] = {
        "DELETE FROM uploads WHERE (project_id, id) IN (SELECT u.project_id, u.id FROM uploads u "
        "WHERE u.state <> 'queued' AND u.created_ms < $1 AND NOT EXISTS (SELECT 1 FROM "
        "assembled_files a WHERE a.project_id = u.project_id AND a.upload_id = u.id) AND NOT "
        "EXISTS "
        "(SELECT 1 FROM jobs j WHERE j.project_id = u.project_id AND j.kind = 2 AND j.subject = "
        "u.id) LIMIT $2)",
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 2 AND queued_ms < $1 "
        "LIMIT "
        "$2)"};
    int64_t now;
    enum fz_code code = sql_now(store->sql, &now, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(texts); i++) {
        const struct sql_value args[] = {sql_int(now - KEEP_MS), sql_int(LOOK_AT)};
        uint64_t n_dropped = 0;
        code = sql_exec(store->sql, texts[i], args, FZ_ARRAY_LEN(args), &n_dropped, err);
        *n += n_dropped;
    }
    return code;
}

enum fz_code
store_sweep_rows(struct store *store, uint64_t *ret_n, struct fz_error *err)
{
    struct unused unused[LOOK_AT];
    uint64_t n = 0;
    enum fz_code code = drop_old(store, &n, err);
    for (size_t kind = 0; code == FZ_OK && kind < STORE_SET_KINDS; kind++) {
        size_t n_unused = 0;
        code = find_unused(store, kind, unused, &n_unused, err);
        for (size_t i = 0; code == FZ_OK && i < n_unused; i++)
            code = drop_set(store, kind, &unused[i], &n, err);
    }
    if (code == FZ_OK)
        code = store_sweep_memory(store, &n, err);
    uint64_t n_issues = 0;
    if (code == FZ_OK)
        code = store_issue_sweep(store, &n_issues, err);
    if (code == FZ_OK)
        *ret_n = n + n_issues;
    return code;
}
