/*
 * Which images reports have, and which of them they wait for.
 *
 * Reports of one build on one system have the same few hundred images, so each distinct set is kept
 * once (image_sets, wait_sets, found by the hash of their sorted UUIDs) and a report carries two
 * numbers. A million reports then cost two million numbers instead of half a billion rows, and the
 * list of missing images is one pass over an index and a join with a few sets.
 */
#include "storage/store_private.h"

#include <stdlib.h>

/* ---- lists of UUIDs ---- */

static int
compare(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* Sort items that begin with a UUID, and keep the first of each; returns how many there are then. */
static size_t
sort_by_uuid(void *items, size_t n, size_t size)
{
    size_t kept = 0;
    uint8_t *at = items;
    if (n > 1)
        qsort(items, n, size, compare);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || compare(at + size * (kept - 1), at + size * i) != 0)
            memmove(at + size * kept++, at + size * i, size);
    }
    return kept;
}

/* The same for a copy in the arena; NULL: no memory. */
static void *
sorted_copy(const void *items, size_t *n, size_t size, struct fz_arena *arena)
{
    void *copy = fz_arena_array(arena, *n, size);
    if (!copy)
        return NULL;
    if (*n)
        memcpy(copy, items, *n * size);
    *n = sort_by_uuid(copy, *n, size);
    return copy;
}

enum fz_code
store_uuids_sort(const struct fz_uuid *uuids, size_t n, struct fz_arena *arena,
                 struct store_uuids *ret, struct fz_error *err)
{
    uint8_t *bytes = sorted_copy(uuids, &n, sizeof(*uuids), arena);
    if (!bytes)
        return fz_arena_fail(arena, err);
    *ret = (struct store_uuids){bytes, n};
    return FZ_OK;
}

struct sql_value
store_uuids_value(const struct store_uuids *uuids)
{
    return sql_blob(fz_span_make(uuids->bytes, 16 * uuids->n));
}

/* ---- sets ---- */

/* Find the set with this hash or make an empty one; *ret_is_new: its items have to be added. Of two
 * who make the same one the second waits until the first has committed, and then finds it whole. */
static enum fz_code
find_set(struct sql *sql, bool is_wait, const struct sql_value args[3], int64_t *ret_key,
         bool *ret_is_new, struct fz_error *err)
{
    const char *look = is_wait ? "SELECT key FROM wait_sets WHERE project_id = $1 AND sha256 = $2"
                               : "SELECT key FROM image_sets WHERE project_id = $1 AND sha256 = $2";
    bool found = false;
    enum fz_code code = sql_number(sql, look, args, 2, ret_key, &found, err);
    if (code != FZ_OK || found) {
        *ret_is_new = false;
        return code;
    }
    /* Only now: nearly every set is known, and the look takes no lock. */
    code = sql_number(sql,
                      is_wait ? "INSERT INTO wait_sets (project_id, sha256, app_version) VALUES "
                                "($1, $2, $3) ON CONFLICT DO NOTHING RETURNING key"
                              : "INSERT INTO image_sets (project_id, sha256) VALUES ($1, $2) "
                                "ON CONFLICT DO NOTHING RETURNING key",
                      args, is_wait ? 3 : 2, ret_key, ret_is_new, err);
    if (code != FZ_OK || *ret_is_new)
        return code;
    return sql_number(sql, look, args, 2, ret_key, NULL, err);
}

/* ---- images ---- */

/* Rows that one statement inserts. */
enum { IMAGES_AT_ONCE = 8, IMAGE_NAME_MAX = 256 };

static enum fz_code
insert_images(struct sql *sql, int64_t project_id, int64_t set_key,
              const struct store_image *images, size_t n, struct fz_arena *arena,
              struct fz_error *err)
{
    /* Reports have hundreds of images, and each statement is a round trip to PostgreSQL. */
    static const char one[] =
        "INSERT INTO image_set_items (project_id, set_key, uuid, name) VALUES ($1, $2, $3, $4)";
    static const char many[] =
        "INSERT INTO image_set_items (project_id, set_key, uuid, name) VALUES "
        "($1, $2, $3, $4), ($1, $2, $5, $6), ($1, $2, $7, $8), ($1, $2, $9, $10), "
        "($1, $2, $11, $12), ($1, $2, $13, $14), ($1, $2, $15, $16), ($1, $2, $17, $18)";
    struct sql_value args[2 + 2 * IMAGES_AT_ONCE] = {sql_int(project_id), sql_int(set_key)};
    enum fz_code code = FZ_OK;
    for (size_t at = 0; at < n && code == FZ_OK;) {
        /* One or eight rows: two statements to keep prepared instead of one for each number of
         * rows. */
        size_t now = n - at >= IMAGES_AT_ONCE ? IMAGES_AT_ONCE : 1;
        for (size_t i = 0; i < now; i++, at++) {
            args[2 + 2 * i] = sql_blob(fz_span_make(images[at].uuid.bytes, 16));
            args[3 + 2 * i] = sql_text_clean(arena, images[at].name, IMAGE_NAME_MAX);
        }
        code = sql_exec(sql, now == 1 ? one : many, args, 2 + 2 * now, NULL, err);
    }
    return code;
}

enum fz_code
store_image_set(struct store *store, int64_t project_id, const struct store_report_done *done,
                struct fz_arena *arena, int64_t *ret_key, struct fz_error *err)
{
    *ret_key = 0;
    if (done->n_images == 0)
        return FZ_OK;
    size_t n = done->n_images;
    struct store_image *images = sorted_copy(done->images, &n, sizeof(*images), arena);
    uint8_t *uuids = fz_arena_array(arena, n, 16);
    if (!images || !uuids)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++)
        memcpy(uuids + 16 * i, images[i].uuid.bytes, 16);
    char hash[FZ_SHA256_TEXT];
    /* Of the sorted UUIDs: reports list images in the order of their addresses, which differ. */
    fz_sha256_hex(fz_span_make(uuids, 16 * n), hash);
    const struct sql_value args[] = {sql_int(project_id), sql_text(hash), sql_text(NULL)};
    bool is_new = false;
    enum fz_code code = find_set(store->sql, false, args, ret_key, &is_new, err);
    if (code == FZ_OK && is_new)
        code = insert_images(store->sql, project_id, *ret_key, images, n, arena, err);
    return code;
}

static enum fz_code
add_waits(struct store *store, int64_t project_id, int64_t key,
          const struct store_image_wait *waits, size_t n, struct fz_arena *arena,
          struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct sql_value args[] = {
            sql_int(key), sql_blob(fz_span_make(waits[i].uuid.bytes, 16)), sql_int(project_id),
            sql_text_clean(arena, waits[i].name, STORE_TEXT_SHORT),
            sql_text_clean(arena, waits[i].arch, STORE_TEXT_SHORT)};
        code = sql_exec(store->sql,
                        "INSERT INTO wait_set_items (set_key, uuid, project_id, name, arch) "
                        "VALUES ($1, $2, $3, $4, $5)",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code;
}

enum fz_code
store_wait_set(struct store *store, int64_t project_id, const struct store_report_done *done,
               struct fz_arena *arena, int64_t *ret_key, struct fz_error *err)
{
    *ret_key = 0;
    if (done->n_waits == 0)
        return FZ_OK;
    size_t n = done->n_waits;
    struct store_image_wait *waits = sorted_copy(done->waits, &n, sizeof(*waits), arena);
    if (!waits)
        return fz_arena_fail(arena, err);
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *sum = NULL;
    enum fz_code code = fz_hash_create(FZ_HASH_SHA256, &sum, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        fz_hash_update(sum, fz_span_make(waits[i].uuid.bytes, 16));
    struct sql_value version = sql_text_clean(
        arena, fz_columns_text(&store->columns, done->values, "app_version"), STORE_TEXT_SHORT);
    /* The version is part of the hash, since the list of missing images names it for each set. */
    if (version.kind == SQL_TEXT)
        fz_hash_update(sum, version.bytes);
    char hash[FZ_SHA256_TEXT];
    fz_hash_finish(sum, hash);
    const struct sql_value args[] = {sql_int(project_id), sql_text(hash), version};
    bool is_new = false;
    code = find_set(store->sql, true, args, ret_key, &is_new, err);
    return code == FZ_OK && is_new ? add_waits(store, project_id, *ret_key, waits, n, arena, err)
                                   : code;
}

/* ---- the list ---- */

enum { VERSIONS_MAX = 20, MISSING_MAX = 1000 };

static enum fz_code
read_versions(struct store *store, int64_t project_id, struct fz_arena *arena,
              struct store_missing *missing, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id),
                                     sql_blob(fz_span_make(missing->uuid.bytes, 16)),
                                     sql_int(VERSIONS_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(const char *)};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT DISTINCT s.app_version FROM wait_set_items i JOIN wait_sets s ON s.key = i.set_key "
        "WHERE i.project_id = $1 AND i.uuid = $2 AND s.app_version IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM reports r WHERE r.project_id = $1 AND r.wait_set = s.key) "
        "ORDER BY s.app_version LIMIT $3",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (const char **version; (version = sql_list_next(&rows, &list, &code, err));)
        *version = sql_col_text(&rows, 0, arena);
    return sql_list_done(&list, code, &missing->app_versions, &missing->n_app_versions);
}

static enum fz_code
read_missing(struct store *store, int64_t project_id, size_t limit, struct fz_arena *arena,
             struct store_missing **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int((int64_t)limit)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_missing)};
    enum fz_code code = sql_query(
        store->sql,
        "WITH counts AS (SELECT wait_set, count(*) AS n, min(received_ms) AS first_ms, "
        "max(received_ms) AS last_ms FROM reports WHERE project_id = $1 AND wait_set IS NOT NULL "
        "GROUP BY wait_set) "
        "SELECT i.uuid, min(i.name), min(i.arch), CAST(sum(c.n) AS bigint) AS total, "
        "min(c.first_ms), max(c.last_ms) AS last_ms "
        "FROM counts c JOIN wait_set_items i ON i.set_key = c.wait_set "
        "WHERE NOT EXISTS (SELECT 1 FROM symbol_files f WHERE f.project_id = $1 AND "
        "f.uuid = i.uuid AND f.state = 'ready') "
        "GROUP BY i.uuid ORDER BY total DESC, last_ms DESC, i.uuid LIMIT $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_missing *one; (one = sql_list_next(&rows, &list, &code, err));) {
        *one = (struct store_missing){.name = sql_col_text(&rows, 1, arena),
                                      .arch = sql_col_text(&rows, 2, arena),
                                      .n_reports = (uint64_t)sql_col_int(&rows, 3),
                                      .first_seen_ms = sql_col_int(&rows, 4),
                                      .last_seen_ms = sql_col_int(&rows, 5)};
        struct fz_span uuid = sql_col_bytes(&rows, 0);
        if (uuid.len == sizeof(one->uuid.bytes))
            memcpy(one->uuid.bytes, uuid.data, uuid.len);
        else
            list.n--; /* a damaged row */
    }
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_missing_list(struct store *store, int64_t project_id, size_t limit, struct fz_arena *arena,
                   struct store_missing **ret, size_t *ret_n, struct fz_error *err)
{
    struct store_missing *list = NULL;
    size_t n = 0;
    /* Versions are read by one query per image: a join would multiply the rows of the counts. */
    enum fz_code code = read_missing(store, project_id, limit < MISSING_MAX ? limit : MISSING_MAX,
                                     arena, &list, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = read_versions(store, project_id, arena, &list[i], err);
    if (code != FZ_OK)
        return code;
    *ret = list;
    *ret_n = n;
    return FZ_OK;
}
