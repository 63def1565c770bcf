/*
 * learned_names: which of a report's names are news, keeping those, and finding names again.
 *
 * A report brings some hundred names, and nearly always all of them are known. So one query finds
 * what is new before the transaction of the report's end begins, and mostly nothing is written.
 * Both queries ask for many rows by one value each: fixed-width records that are taken apart with
 * substr(). The table is only asked in scalar subqueries, so that no planner turns one index lookup
 * per record into a pass over all names of a project.
 */
#include "storage/store_learned.h"

#include <stdio.h>

#include "storage/store_private.h"

/* A known name that a report brings again is written again only after this much time. */
static const int64_t FRESH_MS = INT64_C(30) * 24 * 3600 * 1000;
/* substr() of a text counts characters from its beginning: 4,096 records in one query take SQLite
 * 360 ms, in sixteen 30 ms. */
enum { DIGITS = 10, AT_ONCE = 256, TRIM_AT_ONCE = 10000 };

/* Numbers below 2^32, DIGITS characters each. */
static void
put_number(char *to, uint32_t number)
{
    char text[DIGITS + 1];
    snprintf(text, sizeof(text), "%0*lu", (int)DIGITS, (unsigned long)number);
    memcpy(to, text, DIGITS);
}

/* ---- storing ---- */

/* UUIDs as one value, and starts and reaches as another. */
static enum fz_code
pack(const struct store_learned *list, size_t n, struct fz_arena *arena, struct sql_value ret[2],
     struct fz_error *err)
{
    uint8_t *uuids = fz_arena_array(arena, n, 16);
    char *numbers = fz_arena_array(arena, n + 1, 2 * DIGITS);
    if (!uuids || !numbers)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        memcpy(uuids + 16 * i, list[i].uuid.bytes, 16);
        put_number(numbers + 2 * DIGITS * i, list[i].start);
        put_number(numbers + 2 * DIGITS * i + DIGITS, list[i].reach);
    }
    numbers[2 * DIGITS * n] = '\0';
    ret[0] = sql_blob(fz_span_make(uuids, 16 * n));
    ret[1] = sql_text(numbers);
    return FZ_OK;
}

/* A transient report leaves no names: it was sent only to be symbolicated. */
static enum fz_code
is_transient(struct store *store, const struct store_job *job, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject)};
    int64_t transient = 0;
    enum fz_code code =
        sql_number(store->sql, "SELECT transient FROM report_ids WHERE project_id = $1 AND id = $2",
                   args, FZ_ARRAY_LEN(args), &transient, NULL, err);
    *ret = transient != 0;
    return code;
}

/* What is asked, and the names that turned out to be new. */
struct inquiry {
    struct store *store;
    int64_t project_id, fresh_since_ms;
    struct store_learned *news; /* room for all */
    size_t n_news;
};

/* Those of `list` that are not known, or not as far, or were not brought lately. */
static enum fz_code
find_news(struct inquiry *q, const struct store_learned *list, size_t n, struct fz_arena *arena,
          struct fz_error *err)
{
    struct sql_value packed[2];
    enum fz_code code = pack(list, n, arena, packed, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(q->project_id), packed[0], packed[1],
                                     sql_int((int64_t)n), sql_int(q->fresh_since_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t n_rows = 0;
    code = sql_query(q->store->sql,
                     "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE "
                     "i + 1 < $4) SELECT i, (SELECT 1 FROM learned_names l WHERE l.project_id "
                     "= $1 AND l.uuid = substr($2, 16 * i + 1, 16) AND l.start = "
                     "CAST(substr($3, 20 * i + 1, 10) AS bigint) AND l.reach >= "
                     "CAST(substr($3, 20 * i + 11, 10) AS bigint) AND l.seen_ms > $5) FROM at",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t at = sql_col_int(&rows, 0);
        bool known = sql_col_int(&rows, 1) != 0;
        /* Bounded twice: a faulty query must not write past the array. */
        if (!known && at >= 0 && (uint64_t)at < n && n_rows++ < n)
            q->news[q->n_news++] = list[at];
    }
    return code;
}

enum fz_code
store_learned_news(struct store *store, const struct store_job *job, struct store_report_done *done,
                   struct fz_arena *arena, struct fz_error *err)
{
    int64_t now = 0;
    bool transient = false;
    if (done->n_learned == 0)
        return FZ_OK;
    struct inquiry q = {.store = store, .project_id = done->learned_shared ? 0 : job->project_id};
    /* Room for all of them: the first report of a new system version brings only news. */
    q.news = fz_arena_array(arena, done->n_learned, sizeof(*q.news));
    if (!q.news)
        return fz_arena_fail(arena, err);
    enum fz_code code = is_transient(store, job, &transient, err);
    if (code == FZ_OK)
        code = sql_now(store->sql, &now, err);
    q.fresh_since_ms = now - FRESH_MS;
    for (size_t i = 0; code == FZ_OK && !transient && i < done->n_learned; i += AT_ONCE) {
        size_t n = done->n_learned - i < AT_ONCE ? done->n_learned - i : AT_ONCE;
        code = find_news(&q, done->learned + i, n, arena, err);
    }
    if (code != FZ_OK)
        return code;
    done->learned = q.news;
    done->n_learned = q.n_news;
    return FZ_OK;
}

enum fz_code
store_learned_add(struct store *store, const struct store_job *job,
                  const struct store_report_done *done, struct fz_arena *arena,
                  struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = FZ_OK;
    if (done->n_learned > 0)
        code = sql_now(store->sql, &now, err);
    for (size_t i = 0; code == FZ_OK && i < done->n_learned; i++) {
        /* Few: what is known was left out before the transaction. */
        const struct store_learned *one = &done->learned[i];
        const struct sql_value args[] = {sql_int(done->learned_shared ? 0 : job->project_id),
                                         sql_blob(fz_span_make(one->uuid.bytes, 16)),
                                         sql_int(one->start),
                                         sql_int(one->reach),
                                         sql_text_clean(arena, one->name, STORE_LEARNED_NAME),
                                         sql_int(now)};
        code = sql_exec(store->sql,
                        "INSERT INTO learned_names (project_id, uuid, start, reach, name, seen_ms) "
                        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, uuid, start) DO "
                        "UPDATE SET reach = CASE WHEN excluded.reach > learned_names.reach THEN "
                        "excluded.reach ELSE learned_names.reach END, seen_ms = excluded.seen_ms",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code;
}

/* ---- finding ---- */

enum fz_code
store_learned_find(struct store *store, int64_t project_id,
                   const struct store_learned_question *question, struct fz_arena *arena,
                   struct store_learned *ret, struct fz_error *err)
{
    const struct fz_uuid *uuid = &question->uuid;
    const uint32_t *offsets = question->offsets;
    size_t n = question->n;
    /* substr() of a text takes time in the square of its length, see above. */
    if (n > STORE_LEARNED_ASK)
        return fz_fail(err, FZ_E_LIMIT, "%zu offsets, at most %d", n, (int)STORE_LEARNED_ASK);
    char *numbers = fz_arena_array(arena, n + 1, DIGITS);
    if (!numbers)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        /* Of a fixed width, so that substr() finds each by its number. */
        put_number(numbers + DIGITS * i, offsets[i]);
        ret[i] = (struct store_learned){.uuid = *uuid};
    }
    if (n == 0)
        return FZ_OK;
    numbers[DIGITS * n] = '\0';
    const struct sql_value args[] = {sql_int(project_id), sql_blob(fz_span_make(uuid->bytes, 16)),
                                     sql_text(numbers), sql_int((int64_t)n)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* The nearest start decides: what follows it is not part of an earlier function, however far
     * that one was said to reach. */
    enum fz_code code = sql_query(
        store->sql,
        "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 < $4), "
        "asked (i, place) AS MATERIALIZED (SELECT i, CAST(substr($3, 10 * i + 1, 10) AS bigint) "
        "FROM at), "
        "near (i, place, start) AS MATERIALIZED (SELECT i, place, (SELECT l.start FROM "
        "learned_names l WHERE "
        "l.project_id = $1 AND l.uuid = $2 AND l.start <= place ORDER BY l.start DESC LIMIT 1) "
        "FROM asked) SELECT i, start, (SELECT l.reach FROM learned_names l WHERE l.project_id = $1 "
        "AND l.uuid = $2 AND l.start = near.start), (SELECT l.name FROM learned_names l WHERE "
        "l.project_id = $1 AND l.uuid = $2 AND l.start = near.start AND l.start + l.reach >= "
        "near.place) FROM near WHERE start IS NOT NULL",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t at = sql_col_int(&rows, 0);
        if (at < 0 || (uint64_t)at >= n)
            continue;
        ret[at].start = (uint32_t)sql_col_int(&rows, 1);
        ret[at].reach = (uint32_t)sql_col_int(&rows, 2);
        ret[at].name = sql_col_text(&rows, 3, arena);
    }
    return code;
}

/* ---- forgetting ---- */

static enum fz_code
trim_project(struct store *store, int64_t project_id, int64_t max, uint64_t *ret_n,
             struct fz_error *err)
{
    bool over = false;
    const struct sql_value args[] = {sql_int(project_id), sql_int(max), sql_int(TRIM_AT_ONCE)};
    *ret_n = 0;
    /* Asked first, since a DELETE waits for the writer's turn. */
    enum fz_code code = sql_number(store->sql,
                                   "SELECT 1 FROM learned_names WHERE project_id = $1 ORDER BY "
                                   "seen_ms DESC LIMIT 1 OFFSET $2",
                                   args, 2, NULL, &over, err);
    if (code != FZ_OK || !over)
        return code;
    return sql_exec(store->sql,
                    "DELETE FROM learned_names WHERE (project_id, uuid, start) IN (SELECT "
                    "project_id, uuid, start FROM learned_names WHERE project_id = $1 ORDER BY "
                    "seen_ms DESC LIMIT $3 OFFSET $2)",
                    args, FZ_ARRAY_LEN(args), ret_n, err);
}

enum fz_code
store_learned_trim(struct store *store, int64_t max, uint64_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024 * 1024);
    struct store_project *projects;
    size_t n = 0;
    uint64_t sum, dropped;
    enum fz_code code = store_project_list(store, &arena, &projects, &n, err);
    if (code == FZ_OK)
        code = trim_project(store, 0, max, &sum, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        code = trim_project(store, projects[i].id, max, &dropped, err);
        sum += dropped;
    }
    if (code == FZ_OK)
        *ret_n = sum;
    return code;
}
