/*
 * Training of dictionaries: for which project and format one is due, its samples, and its row.
 *
 * A first version is made of WANTED reports, each further one a week after the one before, of the reports that came since: so
 * they follow the app's releases. Samples are of different users as far as the users are known, and what fewer than
 * STORE_DICTIONARY_SHARED samples have is taken out of them first.
 */
#include <stdlib.h>
#include <string.h>

#include <zdict.h>
#include <zstd.h>

#include "base/digest.h"
#include "storage/store_dictionary.h"
#include "storage/store_private.h"

enum {
    RECENT = 2000,   /* of a project's reports are looked at */
    WANTED = 100,    /* of one format among them, or since the last version */
    FEWEST = 40,     /* samples of different users */
    SAMPLES = 300,   /* at most */
    FORMATS = 32,    /* of a project */
    SMALLEST = 4096, /* bytes of a dictionary that is worth its row */
    ROW_LEVEL = 9    /* of zstd, for the row: 50 KB of 512, in 40 ms */
};
/* Samples are read until they are so long, and those of large reports on until they are enough. */
static const size_t SAMPLE_BYTES = 8 * 1024 * 1024, SAMPLE_BYTES_MOST = 16 * 1024 * 1024,
                    LONGEST = 1024 * 1024, PACKED_BYTES = 8 * 1024 * 1024;
static const int64_t RENEW_MS = INT64_C(7) * 24 * 3600 * 1000, DAY_MS = INT64_C(24) * 3600 * 1000,
                     FIRST_MS = 60 * 60 * 1000;

/* ---- what is due ---- */

/* Programs of before cannot read such frames, and may go on for as long as they run (docs/operations.md, upgrade): so a database
 * that was upgraded waits for a day, and a new one does not. */
static enum fz_code
may_begin(struct store *store, int64_t now, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(now - DAY_MS), sql_int(FIRST_MS)};
    return sql_number(store->sql,
                      "SELECT 1 FROM schema_migrations m WHERE m.name LIKE '%dictionaries%' AND "
                      "(m.applied_ms <= $1 OR m.applied_ms <= $2 + (SELECT min(applied_ms) FROM "
                      "schema_migrations))",
                      args, FZ_ARRAY_LEN(args), NULL, ret, err);
}

static enum fz_code
next_project(struct store *store, int64_t after, int64_t *ret, bool *ret_is_there,
             struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(after)};
    return sql_number(store->sql, "SELECT id FROM projects WHERE id > $1 ORDER BY id LIMIT 1", args,
                      1, ret, ret_is_there, err);
}

static enum fz_code
find_formats(struct store *store, int64_t project_id, struct fz_arena *arena, const char **ret,
             size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(RECENT), sql_int(WANTED),
                                     sql_int(FORMATS)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t n = 0;
    enum fz_code code = sql_query(
        store->sql,
        "SELECT format FROM (SELECT format FROM reports WHERE project_id = $1 AND "
        "transient = 0 ORDER BY received_ms DESC, id DESC LIMIT $2) newest GROUP BY format "
        "HAVING count(*) >= $3 ORDER BY format LIMIT $4",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (n < FORMATS && sql_row(&rows, &code, err)) {
        ret[n] = sql_col_text(&rows, 0, arena);
        n += ret[n] != NULL;
    }
    *ret_n = n;
    return code;
}

struct last {
    int64_t version, trained_ms;
};

static enum fz_code
is_due(struct store *store, const struct store_dictionary_key *key, int64_t now, struct last *last,
       bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(key->project_id), sql_text(key->format),
                                     sql_int(key->what)};
    bool is_there = false;
    *last = (struct last){0};
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code = sql_query(
            store->sql,
            "SELECT version, trained_ms FROM dictionaries WHERE project_id = $1 AND format "
            "= $2 AND what = $3 ORDER BY version DESC LIMIT 1",
            args, FZ_ARRAY_LEN(args), &rows, err);
        if (sql_row(&rows, &code, err))
            *last = (struct last){sql_col_int(&rows, 0), sql_col_int(&rows, 1)};
        if (code != FZ_OK)
            return code;
    }
    *ret = last->version == 0;
    if (*ret || last->trained_ms > now - RENEW_MS)
        return FZ_OK;
    const struct sql_value since[] = {sql_int(key->project_id), sql_text(key->format),
                                      sql_int(last->trained_ms), sql_int(WANTED - 1)};
    enum fz_code code =
        sql_number(store->sql,
                   "SELECT 1 FROM reports WHERE project_id = $1 AND format = $2 AND transient = 0 "
                   "AND received_ms > $3 ORDER BY received_ms, id LIMIT 1 OFFSET $4",
                   since, FZ_ARRAY_LEN(since), NULL, &is_there, err);
    *ret = is_there;
    return code;
}

/* ---- samples ---- */

struct sample {
    struct fz_span packed;
    uint64_t user; /* a hash; 0 = not known */
};

static uint64_t
user_hash(struct fz_span user)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (size_t i = 0; i < user.len; i++)
        h = (h ^ user.data[i]) * UINT64_C(1099511628211);
    return user.len ? h : 0;
}

static bool
has_user(const struct sample *samples, size_t n, uint64_t user)
{
    for (size_t i = 0; user && i < n; i++) {
        if (samples[i].user == user)
            return true;
    }
    return false;
}

static enum fz_code
read_samples(struct store *store, const struct store_dictionary_key *key, struct fz_arena *arena,
             struct sample *ret, size_t *ret_n, struct fz_error *err)
{
    static const char *const queries[] = {
        [STORE_DICTIONARY_BODY] =
            "SELECT b.body, r.user_id FROM reports r JOIN report_bodies b ON b.report_key = r.key "
            "WHERE r.project_id = $1 AND r.transient = 0 AND r.format = $2 AND r.status IN "
            "('symbolicated', 'partial', 'unsymbolicated') ORDER BY r.received_ms DESC, r.id DESC "
            "LIMIT $3",
        [STORE_DICTIONARY_RESULT] =
            "SELECT b.result, r.user_id FROM reports r JOIN report_results b ON b.report_key = "
            "r.key "
            "WHERE r.project_id = $1 AND r.transient = 0 AND r.format = $2 ORDER BY r.received_ms "
            "DESC, r.id DESC LIMIT $3"};
    const struct sql_value args[] = {sql_int(key->project_id), sql_text(key->format),
                                     sql_int(SAMPLES)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t n = 0, bytes = 0, plain = 0;
    enum fz_code code =
        sql_query(store->sql, queries[key->what], args, FZ_ARRAY_LEN(args), &rows, err);
    while (bytes < PACKED_BYTES && plain < (n < FEWEST ? SAMPLE_BYTES_MOST : SAMPLE_BYTES) &&
           sql_row(&rows, &code, err)) {
        struct fz_span packed = sql_col_bytes(&rows, 0);
        uint64_t size = store_packed_size(packed);
        if (size > LONGEST)
            continue;
        uint8_t *copy = fz_arena_bytes(arena, packed.len);
        if (!copy)
            return fz_arena_fail(arena, err);
        memcpy(copy, packed.data, packed.len);
        struct sample sample = {fz_span_make(copy, packed.len), user_hash(sql_col_bytes(&rows, 1))};
        if (has_user(ret, n, sample.user))
            continue;
        ret[n++] = sample;
        bytes += packed.len;
        plain += (size_t)size;
    }
    *ret_n = n;
    return code;
}

static enum fz_code
join_samples(struct store *store, const struct sample *samples, size_t n, struct fz_buffer *ret,
             size_t *lens, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * LONGEST);
        struct fz_span plain = {0};
        lens[i] = 0;
        code = store_unpack_frame(store, samples[i].packed, &arena, &plain, err);
        if (code == FZ_E_INTERNAL) { /* a damaged one is left out */
            code = FZ_OK;
            continue;
        }
        if (code == FZ_OK) {
            fz_buffer_append(ret, plain.data, plain.len);
            lens[i] = plain.len;
        }
    }
    return code == FZ_OK ? fz_buffer_done(ret, err) : code;
}

/* ---- one dictionary ---- */

enum fz_code
store_dictionary_pack(struct fz_span content, void **ret, size_t *ret_len, struct fz_error *err)
{
    size_t room = ZSTD_compressBound(content.len);
    FZ_CLEANUP(store_freep) void *packed = malloc(room);
    size_t len = packed ? ZSTD_compress(packed, room, content.data, content.len, ROW_LEVEL) : 0;
    if (!packed || ZSTD_isError(len))
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret_len = len;
    *ret = fz_take(&packed);
    return FZ_OK;
}

static enum fz_code
insert(struct store *store, const struct store_dictionary_step *step, int64_t now,
       struct fz_span content, struct fz_error *err)
{
    char sha256[FZ_SHA256_TEXT];
    FZ_CLEANUP(store_freep) void *packed = NULL;
    size_t len = 0;
    enum fz_code code = store_dictionary_pack(content, &packed, &len, err);
    if (code != FZ_OK)
        return code;
    fz_sha256_hex(content, sha256);
    const struct sql_value args[] = {sql_int(ZDICT_getDictID(content.data, content.len)),
                                     sql_int(step->key.project_id),
                                     sql_text(step->key.format),
                                     sql_int(step->key.what),
                                     sql_int(step->version),
                                     sql_int(now),
                                     sql_int((int64_t)step->n_samples),
                                     sql_text(sha256),
                                     sql_blob(fz_span_make(packed, len))};
    return sql_exec(store->sql,
                    "INSERT INTO dictionaries (id, project_id, format, what, version, trained_ms, "
                    "n_samples, sha256, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* *ret_is_made stays false if the samples do not make one. */
static enum fz_code
train(struct store *store, struct fz_arena *arena, struct store_dictionary_step *step, int64_t now,
      struct fz_error *err)
{
    struct sample samples[SAMPLES];
    size_t lens[SAMPLES], n = 0, len;
    FZ_CLEANUP(fz_buffer_deinit)
    struct fz_buffer joined = fz_buffer_make(SAMPLE_BYTES_MOST + LONGEST);
    uint8_t *content = fz_arena_alloc(arena, STORE_DICTIONARY_BYTES);
    enum fz_code code = read_samples(store, &step->key, arena, samples, &n, err);
    if (code != FZ_OK || n < FEWEST)
        return code;
    if (!content)
        return fz_arena_fail(arena, err);
    code = join_samples(store, samples, n, &joined, lens, err);
    if (code == FZ_OK)
        code = store_dictionary_share(&joined, lens, n, err);
    if (code != FZ_OK || joined.len == 0)
        return code;
    len = store_dictionary_choose(&joined, lens, n, content);
    if (len < SMALLEST)
        return FZ_OK;
    step->n_samples = n;
    step->len = len;
    code = insert(store, step, now, fz_span_make(content, len), err);
    step->is_made = code == FZ_OK;
    return code;
}

enum fz_code
store_dictionary_train(struct store *store, struct fz_arena *arena,
                       struct store_dictionary_step *step, struct fz_error *err)
{
    const char *formats[FORMATS];
    size_t n = 0;
    int64_t now = 0, project_id = 0;
    bool is_there = false;
    enum fz_code code = sql_now(store->sql, &now, err);
    step->is_made = false;
    step->is_done = true;
    if (code == FZ_OK)
        code = may_begin(store, now, &is_there, err);
    if (code == FZ_OK && is_there)
        code = next_project(store, step->after, &project_id, &is_there, err);
    if (code != FZ_OK || !is_there)
        return code;
    step->is_done = false;
    code = find_formats(store, project_id, arena, formats, &n, err);
    for (size_t i = 0; code == FZ_OK && i < 2 * n; i++) {
        struct last last;
        bool due = false;
        step->key = (struct store_dictionary_key){
            project_id, formats[i / 2], i % 2 ? STORE_DICTIONARY_RESULT : STORE_DICTIONARY_BODY};
        code = is_due(store, &step->key, now, &last, &due, err);
        step->version = last.version + 1;
        if (code == FZ_OK && due)
            code = train(store, arena, step, now, err);
        if (step->is_made) /* the next step looks at this project again */
            return code;
    }
    step->after = project_id;
    return code;
}
