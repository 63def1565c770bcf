#include "storage/store_chunks.h"

#include <stdlib.h>

#include "base/text.h"
#include "storage/store_private.h"

/* ---- chunks ---- */

enum fz_code
store_chunk_put(struct store *store, const struct store_chunk *chunk, bool *ret_kept,
                struct fz_error *err)
{
    if (!fz_text_is_hex(chunk->sha1, FZ_SHA1_TEXT - 1) || !store_is_sha256(chunk->blob_sha256))
        return fz_fail(err, FZ_E_MALFORMED, "a chunk needs its hash and that of its blob");
    int64_t now;
    bool kept = false;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(chunk->token_id), sql_text(chunk->sha1),
                                     sql_text(chunk->blob_sha256), sql_int((int64_t)chunk->size),
                                     sql_int(now + STORE_CHUNK_LIFE_MS)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* The blob was put before this transaction began, and a sweep may have run in between. */
        code = store_blob_hold(store, chunk->blob_sha256, err);
    /* One that is being deleted keeps its old blob's name no longer than this. */
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO chunks (token_id, sha1, blob_sha256, size, expires_ms) "
                          "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (token_id, sha1) DO UPDATE SET "
                          "blob_sha256 = excluded.blob_sha256, expires_ms = excluded.expires_ms, "
                          "taken = 0 "
                          "WHERE chunks.expires_ms = 0 RETURNING 1",
                          args, FZ_ARRAY_LEN(args), NULL, &kept, err);
    const struct sql_value again[] = {args[0], args[1], args[4]};
    /* It is there and lives on: the token has sent the same bytes before. */
    if (code == FZ_OK && !kept)
        code = sql_exec(tx,
                        "UPDATE chunks SET expires_ms = $3, taken = 0 WHERE token_id = $1 AND "
                        "sha1 = $2 AND expires_ms > 0",
                        again, FZ_ARRAY_LEN(again), NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_kept = kept;
    return code;
}

/* All hashes as one text, which queries take apart with substr(). */
static enum fz_code
join_hashes(const struct store_chunk *chunks, size_t n, struct fz_arena *arena,
            struct sql_value *ret, struct fz_error *err)
{
    static const size_t digits = FZ_SHA1_TEXT - 1;
    char *text = fz_arena_array(arena, n + 1, digits);
    if (!text)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        /* All of one length, or substr() would take the text apart at the wrong places. */
        if (!fz_text_is_hex(chunks[i].sha1, FZ_SHA1_TEXT - 1))
            return fz_fail(err, FZ_E_MALFORMED, "a chunk is named by 40 lower-case hex digits");
        memcpy(text + i * digits, chunks[i].sha1, digits);
    }
    text[n * digits] = '\0';
    *ret = sql_text(text);
    return FZ_OK;
}

static enum fz_code
prolong(struct sql *sql, const struct sql_value args[5], struct fz_error *err)
{
    return sql_exec(sql,
                    "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 "
                    "< $3) UPDATE chunks SET expires_ms = $5 WHERE token_id = $1 AND sha1 IN "
                    "(SELECT substr($2, 40 * i + 1, 40) FROM at) AND expires_ms > $4",
                    args, 5, NULL, err);
}

enum fz_code
store_chunk_find(struct store *store, int64_t token_id, struct store_chunk *chunks, size_t n,
                 int64_t life_ms, struct fz_arena *arena, struct fz_error *err)
{
    int64_t now;
    struct sql_value hashes;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code == FZ_OK)
        code = join_hashes(chunks, n, arena, &hashes, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        chunks[i].is_there = false;
    if (n == 0)
        return FZ_OK;
    const struct sql_value args[] = {sql_int(token_id), hashes, sql_int((int64_t)n), sql_int(now),
                                     sql_int(now + life_ms)};
    /* Before they are read: a chunk must not expire between this answer and its use. */
    if (life_ms > 0)
        code = prolong(store->sql, args, err);
    if (code == FZ_OK)
        code = sql_query(
            store->sql,
            "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE "
            "i + 1 < $3) SELECT i, c.blob_sha256, c.size, c.taken FROM at JOIN chunks c ON "
            "c.token_id = $1 AND c.sha1 = substr($2, 40 * i + 1, 40) WHERE "
            "c.expires_ms > $4",
            args, 4, &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t at = sql_col_int(&rows, 0);
        /* The number came from us, but a row is never trusted with an index. */
        if (at < 0 || (uint64_t)at >= n)
            continue;
        struct store_chunk *chunk = &chunks[at];
        chunk->token_id = token_id;
        chunk->is_there = true;
        sql_col_copy(&rows, 1, chunk->blob_sha256, sizeof(chunk->blob_sha256));
        chunk->size = (uint64_t)sql_col_int(&rows, 2);
        chunk->taken = (uint64_t)sql_col_int(&rows, 3);
    }
    return code;
}

/* One chunk `n_times`; *ret_enough: false if it has to be sent again first. */
static enum fz_code
take_chunk(struct sql *tx, const struct store_chunk *chunk, size_t n_times, bool *ret_enough,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(chunk->token_id), sql_text(chunk->sha1),
                                     sql_int((int64_t)(chunk->size * n_times)),
                                     sql_int(STORE_CHUNK_TAKEN_MAX)};
    uint64_t n = 0;
    /* More than the limit would never be enough, however often the chunk is sent. */
    if (chunk->size * n_times > STORE_CHUNK_TAKEN_MAX)
        return fz_fail(err, FZ_E_LIMIT, "it repeats one chunk for more than %d MiB",
                       STORE_CHUNK_TAKEN_MAX >> 20);
    enum fz_code code = sql_exec(tx,
                                 "UPDATE chunks SET taken = taken + $3 WHERE token_id = $1 AND "
                                 "sha1 = $2 AND expires_ms > 0 AND taken + $3 <= $4",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    *ret_enough = n > 0;
    return code;
}

static int
compare_chunks(const void *a, const void *b)
{
    const struct store_chunk *const *x = a, *const *y = b;
    return memcmp((*x)->sha1, (*y)->sha1, FZ_SHA1_TEXT);
}

enum fz_code
store_chunk_take(struct store *store, struct store_chunk *chunks, size_t n, bool *ret_all,
                 struct fz_arena *arena, struct fz_error *err)
{
    struct store_chunk **sorted = fz_arena_array(arena, n + 1, sizeof(struct store_chunk *));
    if (!sorted)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &chunks[i];
    /* In one order: two requests for the same chunks would otherwise deadlock. */
    qsort(sorted, n, sizeof(struct store_chunk *), compare_chunks);
    bool all = true;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    for (size_t i = 0, end; code == FZ_OK && i < n; i = end) {
        bool enough = false;
        /* Sorted, so the same chunk's repetitions are neighbours and are one UPDATE. */
        for (end = i + 1; end < n && compare_chunks(&sorted[i], &sorted[end]) == 0;)
            end++;
        code = take_chunk(tx, sorted[i], end - i, &enough, err);
        for (size_t j = i; j < end; j++)
            sorted[j]->is_there = enough;
        /* No early end: one answer names all chunks that have to be sent again. */
        all = all && enough;
    }
    /* Otherwise nothing is taken: the sender has to send some chunks again first. */
    if (code == FZ_OK && all)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_all = all;
    return code;
}

enum fz_code
store_chunk_expire(struct store *store, size_t max, struct fz_arena *arena,
                   struct store_chunk **ret, size_t *ret_n, struct fz_error *err)
{
    int64_t now;
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_chunk)};
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    const struct sql_value args[] = {sql_int(now), sql_int((int64_t)max)};
    /* Rows with 0 are those of a request that did not finish. */
    code = sql_query(store->sql,
                     "UPDATE chunks SET expires_ms = 0 WHERE (token_id, sha1) IN (SELECT token_id, "
                     "sha1 FROM chunks WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT $2) AND "
                     "expires_ms <= $1 RETURNING token_id, sha1, blob_sha256, size",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_chunk *chunk; (chunk = sql_list_next(&rows, &list, &code, err));) {
        *chunk = (struct store_chunk){.token_id = sql_col_int(&rows, 0),
                                      .size = (uint64_t)sql_col_int(&rows, 3)};
        sql_col_copy(&rows, 1, chunk->sha1, sizeof(chunk->sha1));
        sql_col_copy(&rows, 2, chunk->blob_sha256, sizeof(chunk->blob_sha256));
    }
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_chunk_drop(struct store *store, const struct store_chunk *chunk, struct fz_error *err)
{
    /* The same chunk may have come again meanwhile, with a blob of its own. */
    const struct sql_value args[] = {sql_int(chunk->token_id), sql_text(chunk->sha1),
                                     sql_text(chunk->blob_sha256)};
    return sql_exec(store->sql,
                    "DELETE FROM chunks WHERE token_id = $1 AND sha1 = $2 AND blob_sha256 = $3",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- files ---- */

static enum fz_code
insert_file(struct sql *tx, const struct store_assembled *file, struct fz_arena *arena,
            struct fz_error *err)
{
    int64_t now;
    bool created = false;
    enum fz_code code = sql_now(tx, &now, err);
    if (code != FZ_OK)
        return code;
    struct sql_value uuid = sql_blob(fz_span_make(file->uuid.bytes, 16));
    uuid.is_null = fz_uuid_is_nil(&file->uuid);
    const struct sql_value args[] = {
        sql_int(file->project_id),
        sql_text(file->sha1),
        sql_text(file->kind),
        uuid,
        sql_text_clean(arena, file->name ? file->name : "", STORE_TEXT_LONG),
        sql_text(file->blob_sha256),
        sql_int((int64_t)file->size),
        sql_text(file->upload_id[0] ? file->upload_id : NULL),
        sql_int(now)};
    code = sql_number(tx,
                      "INSERT INTO assembled_files (project_id, sha1, kind, uuid, name, "
                      "blob_sha256, size, upload_id, created_ms) VALUES ($1, $2, $3, $4, $5, $6, "
                      "$7, $8, $9) ON CONFLICT DO NOTHING RETURNING 1",
                      args, FZ_ARRAY_LEN(args), NULL, &created, err);
    if (code == FZ_OK && !created)
        return fz_fail(err, FZ_E_CONFLICT, "the file %s is there already", file->sha1);
    return code;
}

enum fz_code
store_assembled_insert(struct store *store, const struct store_assembled *file,
                       struct fz_error *err)
{
    if (!fz_text_is_hex(file->sha1, FZ_SHA1_TEXT - 1) || !store_is_sha256(file->blob_sha256) ||
        !file->kind)
        return fz_fail(err, FZ_E_MALFORMED, "a file needs its hash, its blob and a kind");
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    struct store_upload upload = {
        .project_id = file->project_id, .name = file->name, .size = file->size};
    memcpy(upload.id, file->upload_id, sizeof(upload.id));
    /* The upload reads the blob that the file has: nothing is stored twice. */
    memcpy(upload.blob_sha256, file->blob_sha256, sizeof(upload.blob_sha256));
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_blob_hold(store, file->blob_sha256, err);
    if (code == FZ_OK)
        /* Before the upload: of two requests that finish one file, this decides which queues it. */
        code = insert_file(tx, file, &arena, err);
    if (code == FZ_OK && file->upload_id[0])
        code = store_upload_add(store, &upload, &arena, err);
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, code, "there is no project %lld", (long long)file->project_id);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_assembled_get(struct store *store, int64_t project_id, const char *sha1,
                    struct fz_arena *arena, struct store_assembled *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(sha1)};
    if (!fz_text_is_hex(sha1, FZ_SHA1_TEXT - 1))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such file");
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT project_id, sha1, kind, uuid, name, blob_sha256, size, "
                  "upload_id, created_ms FROM assembled_files WHERE project_id = $1 "
                  "AND sha1 = $2",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such file");
    struct store_assembled file = {.project_id = sql_col_int(&rows, 0),
                                   .kind = sql_col_text(&rows, 2, arena),
                                   .name = sql_col_text(&rows, 4, arena),
                                   .size = (uint64_t)sql_col_int(&rows, 6),
                                   .created_ms = sql_col_int(&rows, 8)};
    sql_col_copy(&rows, 1, file.sha1, sizeof(file.sha1));
    struct fz_span uuid = sql_col_bytes(&rows, 3);
    if (uuid.len == sizeof(file.uuid.bytes))
        memcpy(file.uuid.bytes, uuid.data, uuid.len);
    sql_col_copy(&rows, 5, file.blob_sha256, sizeof(file.blob_sha256));
    sql_col_copy(&rows, 7, file.upload_id, sizeof(file.upload_id));
    code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = file;
    return code;
}

enum fz_code
store_assembled_forget(struct store *store, int64_t project_id, const char *sha1,
                       struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(sha1)};
    if (!fz_text_is_hex(sha1, FZ_SHA1_TEXT - 1))
        return FZ_OK;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO blob_garbage (sha256) SELECT blob_sha256 FROM assembled_files "
                        "WHERE project_id = $1 AND sha1 = $2 ON CONFLICT DO NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM assembled_files WHERE project_id = $1 AND sha1 = $2", args,
                        FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
