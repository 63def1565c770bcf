#include "storage/store_blobs.h"

#include "storage/store_private.h"

/* The number of the lock between those who name blobs and the sweep; projects have those above. */
static const int64_t LOCK = -1;
enum { SWEEP_MAX = 32 };

void
store_set_blobs(struct store *store, struct blob_store *blobs)
{
    store->blobs = blobs;
}

enum fz_code
store_blob_hold(struct store *store, const char *sha256, struct fz_error *err)
{
    store->blob_is_gone = false;
    if (!store->blobs || !sha256)
        return FZ_OK;
    /* Shared: those who name blobs do not wait for each other, only for the sweep. */
    enum fz_code code = sql_lock(store->sql, LOCK, false, err);
    /* Under the lock: the sweep takes no blob away between this look and the commit that names
     * it. */
    bool is_there = false;
    if (code == FZ_OK)
        code = blob_is_there(store->blobs, sha256, &is_there, err);
    store->blob_is_gone = code == FZ_OK && !is_there;
    if (store->blob_is_gone)
        return fz_fail(err, FZ_E_UNAVAILABLE,
                       "a file was deleted while it was sent again; send it once more");
    return code;
}

enum fz_code
store_blob_drop(struct sql *tx, const char *sha256, struct fz_error *err)
{
    const struct sql_value args[] = {sql_text(sha256)};
    return sql_exec(tx, "INSERT INTO blob_garbage (sha256) VALUES ($1) ON CONFLICT DO NOTHING",
                    args, 1, NULL, err);
}

bool
store_blob_is_gone(const struct store *store)
{
    return store->blob_is_gone;
}

/* Every column that names blobs, and the rows whose name counts. Chunks that expired still name their blobs until both are
 * deleted. */
/* clang-format off: it knows no lists of calls between texts. */
#define NAMES(WITH)                                                                                                                                                          \
    WITH("uploads", "blob_sha256", "state = 'queued'")                                                                                                                       \
    " UNION " WITH("uploads", "blob_sha256", "state = 'quarantined'") " UNION " WITH("uploads", "map_sha256", "state = 'queued' AND map_sha256 IS NOT NULL") " UNION " WITH( \
        "symbol_files", "file_sha256",                                                                                                                                       \
        "1 = 1") " UNION " WITH("symbol_files", "index_sha256",                                                                                                              \
                                "index_sha256 IS NOT NULL") " UNION " WITH("assembled_files",                                                                                \
                                                                           "blob_sha256",                                                                                    \
                                                                           "kind <> 'symbols'") " UNION " WITH("chunks",                                                     \
                                                                                                               "blob_sha256",                                                \
                                                                                                               "1 = 1")
/* clang-format on */
#define ONE(table, column, rows) "SELECT 1 FROM " table " WHERE " column " = $1 AND " rows
#define ALL(table, column, rows) "SELECT " column " FROM " table " WHERE " rows

static enum fz_code
is_named(struct sql *sql, const char *sha256, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_text(sha256)};
    return sql_number(sql, NAMES(ONE), args, 1, NULL, ret, err);
}

enum fz_code
store_blob_names(struct store *store, store_blob_fn on_name, void *user, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char name[FZ_SHA256_TEXT];
    enum fz_code code = sql_query(store->sql, NAMES(ALL), NULL, 0, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, name, sizeof(name));
        code = on_name(user, name, err);
        if (code != FZ_OK)
            break;
    }
    return code;
}

/* ---- sweep ---- */

struct garbage {
    char names[SWEEP_MAX][FZ_SHA256_TEXT];
    size_t n, n_deleted;
    struct blob_gone gone[SWEEP_MAX];
};

static enum fz_code
read_garbage(struct sql *sql, size_t max, struct garbage *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int((int64_t)max)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(sql, "SELECT sha256 FROM blob_garbage LIMIT $1", args, 1, &rows, err);
    ret->n = 0;
    /* The array is as long as the largest LIMIT. */
    while (sql_row(&rows, &code, err) && ret->n < SWEEP_MAX) {
        sql_col_copy(&rows, 0, ret->names[ret->n], FZ_SHA256_TEXT);
        ret->n++;
    }
    return code;
}

/* Within the transaction a file only loses its name: its bytes may take long to give back. */
static enum fz_code
take_away(struct sql *tx, struct blob_store *blobs, struct garbage *garbage, struct fz_error *err)
{
    enum fz_code code = sql_lock(tx, LOCK, true, err);
    for (size_t i = 0; code == FZ_OK && i < garbage->n; i++) {
        const struct sql_value args[] = {sql_text(garbage->names[i])};
        bool named = false;
        code = is_named(tx, garbage->names[i], &named, err);
        if (code == FZ_OK && !named) {
            code =
                blob_take_away(blobs, garbage->names[i], &garbage->gone[garbage->n_deleted], err);
            garbage->n_deleted += code == FZ_OK;
            /* Deleted by a sweep whose commit failed; only its row is left. */
            if (code == FZ_E_NOT_FOUND)
                code = FZ_OK;
        }
        if (code == FZ_OK)
            /* Also if a row names the blob again: whoever stops naming it notes it anew. */
            code = sql_exec(tx, "DELETE FROM blob_garbage WHERE sha256 = $1", args, 1, NULL, err);
    }
    return code;
}

enum fz_code
store_blob_sweep(struct store *store, struct blob_store *blobs, size_t max, size_t *ret_n_deleted,
                 bool *ret_more, struct fz_error *err)
{
    struct garbage garbage = {.n = 0};
    if (max > SWEEP_MAX)
        max = SWEEP_MAX;
    /* A look without a transaction first: mostly there is nothing. */
    enum fz_code code = read_garbage(store->sql, max, &garbage, err);
    if (code == FZ_OK && garbage.n > 0) {
        FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
        code = sql_begin(store->sql, &tx, err);
        if (code == FZ_OK)
            code = take_away(tx, blobs, &garbage, err);
        if (code == FZ_OK)
            code = sql_commit(&tx, err);
    }
    /* Also if the commit failed: the files have lost their names, and the next sweep drops the
     * rows. */
    for (size_t i = 0; i < garbage.n_deleted; i++)
        blob_end(blobs, &garbage.gone[i]);
    if (code != FZ_OK)
        return code;
    *ret_n_deleted = garbage.n_deleted;
    *ret_more = garbage.n == max;
    return FZ_OK;
}

/* ---- scan ---- */

struct scan {
    struct store *store;
    size_t n_noted;
};

static enum fz_code
on_old(void *user, const char *sha256, struct fz_error *err)
{
    struct scan *scan = user;
    bool named = false;
    enum fz_code code = is_named(scan->store->sql, sha256, &named, err);
    if (code != FZ_OK || named)
        return code;
    scan->n_noted++;
    /* Only noted: the sweep looks again under the lock, and decides. */
    return store_blob_drop(scan->store->sql, sha256, err);
}

enum fz_code
store_blob_scan(struct store *store, struct blob_store *blobs, int64_t age_ms, size_t *ret_n_noted,
                struct fz_error *err)
{
    struct scan scan = {.store = store};
    enum fz_code code = blob_list_old(blobs, NULL, age_ms, on_old, &scan, err);
    if (code == FZ_OK)
        *ret_n_noted = scan.n_noted;
    return code;
}
