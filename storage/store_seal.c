/*
 * How no change is missed.
 *
 * A transaction that changes facts holds the project's lock, shared or exclusive. It compares the time of each with
 * projects.sealed_ms, which it reads under that lock, and does nothing more for later ones: that is every report that is fresh.
 * Sealing a day, or what is over of it, is:
 *
 * 1. A transaction with the lock exclusive: raise sealed_ms to the end of what is sealed, set the state of the day to SEALING.
 *    Whoever has changed facts before has committed; whoever does later finds a fact of which it must report the day.
 * 2. Read the facts, without any lock.
 * 3. A transaction without the project's lock: store the columns, set the state from SEALING to SEALED. A change since 1 has set
 *    it to CHANGED, or has the row locked and will: then the columns are rolled back, or not valid a moment later.
 *
 * A list reads the state of a day and its columns in one statement. Columns that are kept in memory are those of one sealing,
 * which has a random number (store_fact_cache.h). Step 1 sets it; step 3 happens at most once after each step 1, so there are no
 * two kinds of columns under one number.
 */
#include "storage/store_seal.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/random.h"
#include "base/time.h"
#include "storage/store_block.h"
#include "storage/store_fact_days.h"
#include "storage/store_fact_texts.h"

const struct store_seal_rules store_seal_rules = {.least = 200,
                                                  .least_more = 1000,
                                                  .part_ms = 3600000,
                                                  .after_ms = 10 * 60 * 1000,
                                                  .quiet_ms = 5 * 60 * 1000};

/* ---- which day ---- */

struct sealing {
    struct store *store;
    const struct store_seal_rules *rules;
    int64_t over_ms; /* parts of days before this time are over */
    int64_t project_id, day;
    int64_t until_ms; /* facts of the day before this time are sealed */
    int64_t sealing;  /* its number */
    bool is_known;    /* it has a row in fact_days */
    enum store_day_state state;
    int64_t *keys[2]; /* received_ms and report_key of all facts, to which the tags are assigned */
    size_t n;
};

/* A day that has changed and is quiet now, or whose sealing was broken off; some of it is over. */
static enum fz_code
find_changed(struct sealing *s, int64_t now_ms, bool *ret_found, struct fz_error *err)
{
    /* The part of today that is over may be empty, while programs of the version before report its changes. */
    const struct sql_value args[] = {sql_int(now_ms - s->rules->quiet_ms),
                                     sql_int(now_ms + s->rules->after_ms), sql_int(s->over_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* A time that is ahead is of a clock that was set back since. */
    enum fz_code code =
        sql_query(s->store->sql,
                  "SELECT project_id, day, state FROM fact_days WHERE state IN (0, 2, 4) AND "
                  "(changed_ms <= $1 OR changed_ms > $2) AND day * 86400000 < $3 ORDER BY "
                  "changed_ms LIMIT 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code == FZ_OK && *ret_found) {
        s->project_id = sql_col_int(&rows, 0);
        s->day = sql_col_int(&rows, 1);
        s->state = (enum store_day_state)sql_col_int(&rows, 2);
        s->is_known = true;
    }
    return code;
}

/* A day that has not all columns, since a version before has sealed it; the newest one. */
static enum fz_code
find_old(struct sealing *s, bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(STORE_FACT_COLUMNS - 1)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(s->store->sql,
                  "SELECT d.project_id, d.day FROM fact_days d WHERE d.state = 1 AND NOT EXISTS "
                  "(SELECT 1 FROM fact_columns c WHERE c.project_id = d.project_id AND c.day = "
                  "d.day AND c.field = $1 AND c.sealing = d.sealing) ORDER BY d.day DESC LIMIT 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code == FZ_OK && *ret_found) {
        s->project_id = sql_col_int(&rows, 0);
        s->day = sql_col_int(&rows, 1);
        s->state = STORE_DAY_SEALED;
        s->is_known = true;
    }
    return code;
}

/* The day of the first fact, but for `n_before`, that was never looked at, if it is before end_ms. */
static enum fz_code
find_new(struct sealing *s, int64_t end_ms, uint64_t n_before, bool *ret_found,
         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(end_ms), sql_int((int64_t)n_before)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        s->store->sql,
        "SELECT id, received_ms FROM (SELECT p.id, (SELECT f.received_ms FROM facts f WHERE "
        "f.project_id = p.id AND f.received_ms >= p.sealed_ms AND f.received_ms < $1 ORDER BY "
        "f.received_ms LIMIT 1 OFFSET $2) AS received_ms FROM projects p) AS firsts WHERE "
        "received_ms IS NOT NULL LIMIT 1",
        args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code == FZ_OK && *ret_found) {
        s->project_id = sql_col_int(&rows, 0);
        s->day = sql_col_int(&rows, 1) / STORE_DAY_MS;
        s->is_known = false;
    }
    return code;
}

static enum fz_code
find(struct sealing *s, int64_t now_ms, bool *ret_found, struct fz_error *err)
{
    s->over_ms = now_ms - s->rules->after_ms;
    s->over_ms -= s->over_ms % s->rules->part_ms;
    enum fz_code code = find_new(s, s->over_ms - s->over_ms % STORE_DAY_MS, 0, ret_found, err);
    if (code == FZ_OK && !*ret_found)
        code = find_changed(s, now_ms, ret_found, err);
    if (code == FZ_OK && !*ret_found)
        /* Each sealing of today stores all of its facts again. */
        code = find_new(s, s->over_ms, s->rules->least_more - 1, ret_found, err);
    if (code == FZ_OK && !*ret_found)
        code = find_old(s, ret_found, err);
    if (code == FZ_OK && *ret_found) {
        int64_t end_ms = (s->day + 1) * STORE_DAY_MS;
        s->until_ms = end_ms < s->over_ms ? end_ms : s->over_ms;
    }
    return code;
}

/* ---- its state ---- */

/* Step 1 of the description. */
static enum fz_code
begin(struct sealing *s, int64_t now_ms, struct fz_error *err)
{
    fz_random(&s->sealing, sizeof(s->sealing));
    const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day), sql_int(now_ms),
                                     sql_int(s->sealing), sql_int(s->until_ms)};
    const struct sql_value ends[] = {sql_int(s->project_id), sql_int(s->day), sql_int(s->until_ms)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(s->store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, s->project_id, true, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE projects SET sealed_ms = CASE WHEN sealed_ms < $3 THEN $3 ELSE "
                        "sealed_ms END, sealed_before = CASE WHEN sealed_before <= $2 THEN $2 + 1 "
                        "ELSE sealed_before END WHERE id = $1 AND (sealed_ms < $3 OR "
                        "sealed_before <= $2)",
                        ends, FZ_ARRAY_LEN(ends), NULL, err);
    /* If this is broken off, the day is looked at again after a while. */
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO fact_days (project_id, day, state, changed_ms, sealing, "
                        "until_ms, until_sealing) VALUES ($1, $2, 2, $3, $4, $5, $4) ON CONFLICT "
                        "(project_id, day) DO UPDATE SET state = 2, changed_ms = "
                        "excluded.changed_ms, sealing = excluded.sealing, until_ms = "
                        "excluded.until_ms, until_sealing = excluded.until_sealing",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* From SEALING; *ret = false: it has changed meanwhile, or another one seals it until another time. */
static enum fz_code
set_state(struct sql *tx, const struct sealing *s, enum store_day_state state, bool *ret,
          struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day), sql_int(state),
                                     sql_int((int64_t)s->n), sql_int(s->sealing)};
    uint64_t n = 0;
    enum fz_code code = sql_exec(tx,
                                 "UPDATE fact_days SET state = $3, n = $4 WHERE project_id = $1 "
                                 "AND day = $2 AND state = 2 AND sealing = $5",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK)
        *ret = n > 0;
    return code;
}

static enum fz_code
count(struct sealing *s, struct fz_error *err)
{
    int64_t n = 0;
    const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day * STORE_DAY_MS),
                                     sql_int(s->until_ms), sql_int(STORE_SEAL_DAY_MAX + 1)};
    enum fz_code code =
        sql_number(s->store->sql,
                   "SELECT count(*) FROM (SELECT 1 FROM facts WHERE project_id = $1 AND "
                   "received_ms >= $2 AND received_ms < $3 LIMIT $4) AS found",
                   args, FZ_ARRAY_LEN(args), &n, NULL, err);
    s->n = (size_t)n;
    return code;
}

/* ---- its columns ---- */

enum { AT_ONCE = 6 /* columns: a day of two million facts takes 100 MB */ };

struct columns {
    struct fz_buffer blocks[STORE_FACT_COLUMNS];
};

static struct columns
columns_make(void)
{
    struct columns columns;
    for (int i = 0; i < STORE_FACT_COLUMNS; i++)
        fz_buffer_init(&columns.blocks[i], 0);
    return columns;
}

static void
columns_deinit(struct columns *columns)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++)
        fz_buffer_deinit(&columns->blocks[i]);
}

static void
drop_arrays(int64_t **arrays, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(arrays[i]);
        arrays[i] = NULL;
    }
}

static enum fz_code
make_arrays(int64_t **arrays, size_t n_arrays, size_t n, struct fz_error *err)
{
    for (size_t i = 0; i < n_arrays; i++) {
        arrays[i] = calloc(n + 1, sizeof(**arrays));
        if (!arrays[i])
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    return FZ_OK;
}

/* Fill arrays with columns of all facts of the day; CONFLICT: there are more or fewer than before. */
static enum fz_code
read_facts(const struct sealing *s, const char *const *names, size_t n_names, int64_t **arrays,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day * STORE_DAY_MS),
                                     sql_int(s->until_ms)};
    struct sql_ints ints = {.n_columns = 0};
    size_t n = 0;
    enum fz_code code =
        sql_ints_open(s->store->sql, names,
                      "FROM facts WHERE project_id = $1 AND received_ms >= $2 AND received_ms < $3 "
                      "ORDER BY received_ms, report_key",
                      args, FZ_ARRAY_LEN(args), &ints, err);
    for (int64_t row[SQL_INTS]; sql_ints_next(&ints, row, &code, err) && n <= s->n; n++) {
        for (size_t i = 0; i < n_names && n < s->n; i++)
            arrays[i][n] = row[i];
    }
    sql_ints_close(&ints);
    if (code == FZ_OK && n != s->n)
        code = fz_fail(err, FZ_E_CONFLICT, "the facts of day %lld have changed", (long long)s->day);
    return code;
}

/* Columns `first` and the ones after it. */
static enum fz_code
make_some(const struct sealing *s, int first, struct columns *columns, struct fz_error *err)
{
    const char *names[AT_ONCE + 1] = {NULL};
    int64_t *arrays[AT_ONCE] = {NULL};
    size_t n = 0;
    while (n < AT_ONCE && first + (int)n <= STORE_FACT_COUNTED) {
        names[n] = store_fact_column_names[first + (int)n];
        n++;
    }
    enum fz_code code = make_arrays(arrays, n, s->n, err);
    if (code == FZ_OK)
        code = read_facts(s, names, n, arrays, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        store_block_encode(arrays[i], s->n, &columns->blocks[first + (int)i]);
    drop_arrays(arrays, AT_ONCE);
    return code;
}

static enum fz_code
read_tags(const struct sealing *s, int64_t *counts, int64_t **ret, size_t *ret_n,
          struct fz_error *err)
{
    static const char *const names[] = {"f.received_ms", "f.report_key", "g.term_id", NULL};
    const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day * STORE_DAY_MS),
                                     sql_int(s->until_ms)};
    struct sql_ints ints = {.n_columns = 0};
    size_t at = 0, room = 0;
    enum fz_code code = sql_ints_open(
        s->store->sql, names,
        "FROM facts f JOIN fact_tags g ON g.report_key = f.report_key AND g.received_ms = "
        "f.received_ms WHERE f.project_id = $1 AND f.received_ms >= $2 AND f.received_ms < $3 "
        "ORDER BY f.received_ms, f.report_key, g.term_id",
        args, FZ_ARRAY_LEN(args), &ints, err);
    for (int64_t row[3]; sql_ints_next(&ints, row, &code, err);) {
        while (at < s->n && (s->keys[0][at] != row[0] || s->keys[1][at] != row[1]))
            at++;
        int64_t *tags = at < s->n && *ret_n < STORE_BLOCK_MAX
                            ? fz_list_grow(NULL, *ret, &room, *ret_n + 1, sizeof(*tags))
                            : NULL;
        if (!tags) {
            code = at < s->n ? fz_fail(err, FZ_E_NO_MEMORY, "out of memory")
                             : fz_fail(err, FZ_E_CONFLICT, "the facts of day %lld have changed",
                                       (long long)s->day);
            break;
        }
        *ret = tags;
        tags[(*ret_n)++] = row[2];
        counts[at]++;
    }
    sql_ints_close(&ints);
    return code;
}

static enum fz_code
make_tags(const struct sealing *s, struct columns *columns, struct fz_error *err)
{
    int64_t *counts = NULL, *tags = NULL;
    size_t n = 0;
    enum fz_code code = make_arrays(&counts, 1, s->n, err);
    if (code == FZ_OK)
        code = read_tags(s, counts, &tags, &n, err);
    if (code == FZ_OK) {
        store_block_encode(counts, s->n, &columns->blocks[STORE_FACT_TAG_COUNT]);
        store_block_encode(tags, n, &columns->blocks[STORE_FACT_TAG_IDS]);
    }
    free(counts);
    free(tags);
    return code;
}

/* What only the rows of reports say; s->keys are those of the facts. */
static enum fz_code
make_texts(const struct sealing *s, struct columns *columns, struct fz_error *err)
{
    int64_t *arrays[STORE_FACT_OF_ROW] = {NULL};
    const struct store_fact_places places = {.project_id = s->project_id,
                                             .day = s->day,
                                             .received_ms = s->keys[0],
                                             .report_keys = s->keys[1],
                                             .n = s->n};
    enum fz_code code = make_arrays(arrays, STORE_FACT_OF_ROW, s->n, err);
    if (code == FZ_OK)
        code = store_fact_texts_read(s->store, &places, arrays, err);
    for (int i = 0; code == FZ_OK && i < STORE_FACT_OF_ROW; i++)
        store_block_encode(arrays[i], s->n, &columns->blocks[STORE_FACT_TEXT_FIRST + i]);
    drop_arrays(arrays, STORE_FACT_OF_ROW);
    return code;
}

/* The two that order the facts, their tags and texts. */
static enum fz_code
make_keys(struct sealing *s, struct columns *columns, struct fz_error *err)
{
    static const char *const names[] = {"received_ms", "report_key", NULL};
    enum fz_code code = make_arrays(s->keys, 2, s->n, err);
    if (code == FZ_OK)
        code = read_facts(s, names, 2, s->keys, err);
    if (code == FZ_OK)
        code = make_tags(s, columns, err);
    if (code == FZ_OK)
        code = make_texts(s, columns, err);
    for (size_t i = 0; code == FZ_OK && i < s->n; i++) {
        s->keys[0][i] -= s->day * STORE_DAY_MS;
        /* Negative keys are random, and would need 8 bytes each. */
        s->keys[1][i] = s->keys[1][i] > 0 ? s->keys[1][i] : 0;
    }
    if (code == FZ_OK) {
        store_block_encode(s->keys[0], s->n, &columns->blocks[STORE_FACT_RECEIVED]);
        store_block_encode(s->keys[1], s->n, &columns->blocks[STORE_FACT_REPORT]);
    }
    drop_arrays(s->keys, 2);
    return code;
}

/* Step 3 of the description. */
static enum fz_code
store_columns(const struct sealing *s, struct columns *columns, bool *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(s->store->sql, &tx, err);
    if (code == FZ_OK)
        code = set_state(tx, s, STORE_DAY_SEALED, ret, err);
    for (int i = 1; code == FZ_OK && *ret && i < STORE_FACT_COLUMNS; i++) {
        const struct sql_value args[] = {sql_int(s->project_id), sql_int(s->day), sql_int(i),
                                         sql_blob(fz_buffer_span(&columns->blocks[i])),
                                         sql_int(s->sealing)};
        code = sql_exec(tx,
                        "INSERT INTO fact_columns (project_id, day, field, body, sealing) VALUES "
                        "($1, $2, $3, $4, $5) ON CONFLICT (project_id, day, field) DO UPDATE SET "
                        "body = excluded.body, sealing = excluded.sealing",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
seal(struct sealing *s, bool *ret, struct fz_error *err)
{
    FZ_CLEANUP(columns_deinit) struct columns columns = columns_make();
    enum fz_code code = FZ_OK;
    for (int first = 1; code == FZ_OK && first <= STORE_FACT_COUNTED; first += AT_ONCE)
        code = make_some(s, first, &columns, err);
    if (code == FZ_OK)
        code = make_keys(s, &columns, err);
    for (int i = 1; code == FZ_OK && i < STORE_FACT_COLUMNS; i++)
        code = fz_buffer_done(&columns.blocks[i], err);
    if (code == FZ_OK)
        code = store_columns(s, &columns, ret, err);
    /* Facts that came or went in between: the day is CHANGED by now, and has its turn again. */
    return code == FZ_E_CONFLICT ? FZ_OK : code;
}

enum fz_code
store_seal_day(struct store *store, const struct store_seal_rules *rules, struct store_sealed *ret,
               struct fz_error *err)
{
    struct sealing s = {.store = store, .rules = rules};
    int64_t now_ms = 0;
    bool found = false, is_sealed = false;
    *ret = (struct store_sealed){.is_done = false};
    enum fz_code code = sql_now(store->sql, &now_ms, err);
    if (code == FZ_OK)
        code = find(&s, now_ms, &found, err);
    ret->is_done = code == FZ_OK && !found;
    if (code != FZ_OK || !found)
        return code;
    ret->was_damaged = s.is_known && s.state == STORE_DAY_DAMAGED;
    code = begin(&s, now_ms, err);
    if (code == FZ_OK)
        code = count(&s, err);
    if (code == FZ_OK && (s.n < rules->least || s.n > STORE_SEAL_DAY_MAX))
        return set_state(store->sql, &s, STORE_DAY_SMALL, &found, err);
    if (code == FZ_OK)
        code = seal(&s, &is_sealed, err);
    if (code == FZ_OK && is_sealed)
        ret->n = s.n;
    return code;
}
