#include "storage/store_changed.h"

#include <stdio.h>

#include "base/text.h"

/* ---- register ---- */

struct known {
    bool found;
    int64_t uploaded_ms;
    enum store_symbol_state state;
    char index_sha256[FZ_SHA256_TEXT]; /* "" without one */
};

static enum fz_code
find_known(struct sql *sql, const struct store_symbol *symbol, struct known *ret,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(symbol->project_id),
                                     sql_blob(fz_span_make(symbol->uuid.bytes, 16)),
                                     sql_text(symbol->file_sha256)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(sql,
                  "SELECT uploaded_ms, state, index_sha256 FROM symbol_files WHERE project_id = $1 "
                  "AND uuid = $2 AND file_sha256 = $3",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &ret->found, err);
    if (code != FZ_OK || !ret->found)
        return code;
    ret->uploaded_ms = sql_col_int(&rows, 0);
    sql_col_copy(&rows, 2, ret->index_sha256, sizeof(ret->index_sha256));
    return store_read_symbol_state(&rows, 1, &ret->state, err);
}

enum fz_code
store_symbol_register(struct store *store, struct store_symbol *symbol, bool is_rebuild,
                      int64_t seq, struct fz_arena *arena, struct fz_error *err)
{
    if (!store_is_sha256(symbol->file_sha256))
        return fz_fail(err, FZ_E_MALFORMED, "a symbol file needs its hash");
    bool ready = symbol->state == STORE_SYMBOL_READY;
    struct known known = {0};
    enum fz_code code = find_known(store->sql, symbol, &known, err);
    symbol->is_new = false;
    if (code == FZ_OK && is_rebuild && !known.found)
        return symbol->index_sha256 ? store_blob_drop(store->sql, symbol->index_sha256, err)
                                    : FZ_OK;
    if (is_rebuild)
        symbol->uploaded_ms = known.uploaded_ms;
    if (code == FZ_OK && symbol->uploaded_ms == 0)
        code = sql_now(store->sql, &symbol->uploaded_ms, err);
    if (code != FZ_OK)
        return code;
    /* The same file again after a failure may be news: a newer program may read it. */
    bool was_ready = known.found && known.state == STORE_SYMBOL_READY;
    symbol->is_new = !known.found || (ready && !was_ready);
    if (was_ready && !ready)
        return FZ_OK; /* an index that works is not given up for an attempt that failed */
    /* Before the row names them, see store_blobs.h. */
    code = store_blob_hold(store, symbol->file_sha256, err);
    if (code == FZ_OK)
        code = store_blob_hold(store, symbol->index_sha256, err);
    /* The index is replaced; the sweep keeps it if it is the same one again. */
    if (code == FZ_OK && known.index_sha256[0])
        code = store_blob_drop(store->sql, known.index_sha256, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {
        sql_int(symbol->project_id),
        sql_blob(fz_span_make(symbol->uuid.bytes, 16)),
        sql_text_clean(arena, symbol->arch, STORE_TEXT_SHORT),
        sql_text(store_symbol_kind_name(symbol->kind)),
        sql_text_clean(arena, symbol->name, STORE_TEXT_LONG),
        sql_int((int64_t)symbol->size),
        sql_text(store_symbol_state_name(symbol->state)),
        sql_text(symbol->file_sha256),
        sql_text(symbol->index_sha256),
        sql_int(symbol->index_version),
        sql_text(symbol->features_json),
        sql_text(symbol->problems_json),
        sql_int(symbol->uploaded_ms),
        sql_int(symbol->has_dwarf),
        /* 0 is not above any seen_seq: a failed file is never news to a report. */
        sql_int(ready ? seq : 0),
        sql_blob(fz_span_make(symbol->has_map ? symbol->map_uuid.bytes : NULL,
                              symbol->has_map ? sizeof(symbol->map_uuid.bytes) : 0)),
    };
    return sql_exec(
        store->sql,
        "INSERT INTO symbol_files (project_id, uuid, arch, kind, name, size, state, file_sha256, "
        "index_sha256, index_version, features_json, problems_json, uploaded_ms, has_dwarf, "
        "ready_seq, map_uuid) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
        "$15, $16) "
        "ON CONFLICT (project_id, uuid, file_sha256) DO UPDATE SET arch = excluded.arch, kind = "
        "excluded.kind, name = excluded.name, size = excluded.size, state = excluded.state, "
        "index_sha256 = excluded.index_sha256, index_version = excluded.index_version, "
        "features_json = excluded.features_json, problems_json = excluded.problems_json, "
        "uploaded_ms = excluded.uploaded_ms, has_dwarf = excluded.has_dwarf, "
        "ready_seq = excluded.ready_seq, map_uuid = excluded.map_uuid",
        args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- read ---- */

static const char symbol_columns[] =
    "uuid, project_id, arch, kind, name, size, state, file_sha256, index_sha256, index_version, "
    "features_json, problems_json, uploaded_ms, has_dwarf, key";

enum { INDEX_COLUMN = 8, KEY_COLUMN = 14 };

static enum fz_code
read_symbol(struct sql_rows *rows, struct fz_arena *arena, struct store_symbol *ret,
            struct fz_error *err)
{
    struct store_symbol symbol = {
        .project_id = sql_col_int(rows, 1),
        .arch = sql_col_text(rows, 2, arena),
        .name = sql_col_text(rows, 4, arena),
        .size = (uint64_t)sql_col_int(rows, 5),
        .file_sha256 = sql_col_text(rows, 7, arena),
        .index_sha256 = sql_col_text(rows, 8, arena),
        .index_version = (uint32_t)sql_col_int(rows, 9),
        .features_json = sql_col_text(rows, 10, arena),
        .problems_json = sql_col_text(rows, 11, arena),
        .uploaded_ms = sql_col_int(rows, 12),
        .has_dwarf = sql_col_int(rows, 13) != 0,
    };
    struct fz_span uuid = sql_col_bytes(rows, 0);
    /* A damaged row gets the nil UUID rather than the bytes after it. */
    if (uuid.len == sizeof(symbol.uuid.bytes))
        memcpy(symbol.uuid.bytes, uuid.data, uuid.len);
    enum fz_code code = store_read_symbol_kind(rows, 3, &symbol.kind, err);
    if (code == FZ_OK)
        code = store_read_symbol_state(rows, 6, &symbol.state, err);
    if (code == FZ_OK)
        *ret = symbol;
    return code;
}

static enum fz_code
no_symbol(struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no such symbol file");
}

/* The files of one UUID that are ready or failed, best first. */
static enum fz_code
find_best(struct store *store, const struct sql_value args[2], unsigned rank,
          struct fz_arena *arena, struct store_symbol *ret, bool *ret_failed, struct fz_error *err)
{
    char text[512];
    snprintf(text, sizeof(text),
             "SELECT %s FROM symbol_files WHERE project_id = $1 AND uuid = $2 AND state IN "
             "('ready', 'failed') AND kind IN ('dsym', 'binary') ORDER BY CASE WHEN state = "
             "'ready' THEN 0 ELSE 1 END, has_dwarf "
             "DESC, CASE WHEN kind = 'dsym' THEN 0 ELSE 1 END, uploaded_ms DESC, key DESC",
             symbol_columns);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct store_symbol first = {0};
    bool found = false, failed = false;
    unsigned n_ready = 0;
    enum fz_code code = sql_query(store->sql, text, args, 2, &rows, err);
    while (sql_row(&rows, &code, err)) {
        enum store_symbol_state state;
        code = store_read_symbol_state(&rows, 6, &state, err);
        /* All rows are read, since this is about any of them. */
        failed = failed || state == STORE_SYMBOL_FAILED;
        /* One that failed later, since its file was damaged, still has an index. */
        bool is_usable = state == STORE_SYMBOL_READY || sql_col_bytes(&rows, INDEX_COLUMN).len > 0;
        if (code == FZ_OK && is_usable && n_ready++ == rank) {
            code = read_symbol(&rows, arena, &first, err);
            found = true;
        }
    }
    if (code != FZ_OK)
        return code;
    if (ret_failed)
        *ret_failed = failed;
    if (!found)
        return no_symbol(err);
    *ret = first;
    return FZ_OK;
}

enum fz_code
store_symbol_find(struct store *store, const struct store_symbol_key *key, struct fz_arena *arena,
                  struct store_symbol *ret, bool *ret_failed, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(key->project_id),
                                     sql_blob(fz_span_make(key->uuid.bytes, 16))};
    return find_best(store, args, key->rank, arena, ret, ret_failed, err);
}

enum { LIST_MAX = 1000 };

enum fz_code
store_symbol_list(struct store *store, int64_t project_id, const struct fz_uuid *uuid_or_null,
                  struct store_page *page, struct fz_arena *arena, struct store_symbol **ret,
                  struct fz_error *err)
{
    int64_t before_ms = INT64_MAX, before_key = INT64_MAX;
    char id[STORE_ID_TEXT];
    if (page->cursor) {
        enum fz_code code = store_cursor_parse(page->cursor, arena, &before_ms, id, err);
        if (code == FZ_OK && !fz_text_i64(fz_span_cstr(id), &before_key))
            code = fz_fail(err, FZ_E_MALFORMED, "the cursor is not one of this list's");
        if (code != FZ_OK)
            return code;
    }
    size_t limit = page->limit && page->limit <= LIST_MAX ? page->limit : LIST_MAX;
    /* The time alone is not a place in the list: an archive's files have the same one. */
    char text[512];
    snprintf(text, sizeof(text),
             "SELECT %s FROM symbol_files WHERE project_id = $1 AND (uploaded_ms, key) < ($2, $3)"
             "%s ORDER BY uploaded_ms DESC, key DESC LIMIT $4",
             symbol_columns, uuid_or_null ? " AND uuid = $5" : "");
    const struct sql_value args[] = {
        sql_int(project_id), sql_int(before_ms), sql_int(before_key), sql_int((int64_t)limit + 1),
        sql_blob(fz_span_make(uuid_or_null ? uuid_or_null->bytes : NULL, uuid_or_null ? 16 : 0))};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_symbol)};
    const char *next = NULL;
    int64_t key = 0;
    enum fz_code code = sql_query(store->sql, text, args, uuid_or_null ? 5 : 4, &rows, err);
    for (struct store_symbol *one; (one = sql_list_next(&rows, &list, &code, err));) {
        if (list.n > limit) { /* one more was asked for, only to know that it is there */
            list.n--;
            snprintf(id, sizeof(id), "%lld", (long long)key);
            next = store_cursor_make(arena, one[-1].uploaded_ms, id);
            if (!next)
                return fz_arena_fail(arena, err);
            break;
        }
        code = read_symbol(&rows, arena, one, err);
        key = sql_col_int(&rows, KEY_COLUMN);
    }
    if (code == FZ_OK)
        page->next = next;
    return sql_list_done(&list, code, ret, &page->n);
}

enum fz_code
store_symbol_delete(struct store *store, int64_t project_id, const struct fz_uuid *uuid,
                    size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_blob(fz_span_make(uuid->bytes, 16))};
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    /* None that is being built anew is between its look for the row and its change. */
    if (code == FZ_OK)
        code = sql_lock(tx, project_id, false, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        /* Noted before the rows go, which alone know the names. */
                        "INSERT INTO blob_garbage (sha256) SELECT file_sha256 FROM symbol_files "
                        "WHERE project_id = $1 AND uuid = $2 UNION SELECT index_sha256 FROM "
                        "symbol_files WHERE project_id = $1 AND uuid = $2 AND index_sha256 IS NOT "
                        "NULL ON CONFLICT DO NOTHING",
                        args, 2, NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM symbol_files WHERE project_id = $1 AND uuid = $2", args, 2,
                        &n, err);
    /* A UUID that is not there is an answer of its own, and nothing is committed. */
    if (code == FZ_OK && n == 0)
        return no_symbol(err);
    const struct store_changed changed = {.project_id = project_id,
                                          .n = {[STORE_CHANGE_SYMBOLS] = n}};
    if (code == FZ_OK)
        code = store_changed_count(store, &changed, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_n = (size_t)n;
    return code;
}

enum fz_code
store_symbol_unknown(struct store *store, int64_t project_id, const struct fz_uuid *uuids, size_t n,
                     bool *ret_unknown, struct fz_error *err)
{
    for (size_t i = 0; i < n; i++)
        ret_unknown[i] = false;
    if (n == 0)
        return FZ_OK;
    /* The UUIDs go in as one value, 16 bytes each, and come back as their places in it. */
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_blob(fz_span_make(uuids, n * sizeof(*uuids))),
                                     sql_int((int64_t)n)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 < $3) "
        "SELECT i FROM at WHERE NOT EXISTS (SELECT 1 FROM symbol_files f WHERE f.project_id = $1 "
        "AND f.uuid = substr($2, 16 * i + 1, 16) AND f.state = 'ready' AND f.kind IN ('dsym', "
        "'binary'))",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t at = sql_col_int(&rows, 0);
        if (at >= 0 && (uint64_t)at < n)
            ret_unknown[at] = true;
    }
    return code;
}
