#include "storage/store_session_users.h"

#include <stdlib.h>
#include <string.h>

#include "base/hll.h"

enum { COUNT_MEMORY = 16 * 1024 * 1024 };

static const int64_t HOUR_MS = 3600 * 1000, DAY_MS = INT64_C(24) * 3600 * 1000,
                     KEPT_MS = INT64_C(25) * 3600 * 1000;

/* ---- by day ---- */

/* What is stored; empty if nothing is. Returns into `ret` the counters of both columns. */
static enum fz_code
read_day(struct sql *tx, const struct store_session_seen *seen, struct fz_hll *ret_users,
         struct fz_hll *ret_crashed, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(seen->project_id), sql_int(seen->day_ms),
                                     seen->release, seen->environment};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(tx,
                                  "SELECT users, crashed FROM session_users WHERE project_id = $1 "
                                  "AND day_ms = $2 AND release = $3 AND environment = $4",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        /* A damaged counter starts anew: sessions must not fail for ever because of it. */
        fz_ignore(fz_hll_merge_encoded(ret_users, sql_col_bytes(&rows, 0), NULL));
        fz_ignore(fz_hll_merge_encoded(ret_crashed, sql_col_bytes(&rows, 1), NULL));
    }
    return code;
}

static enum fz_code
see_day(struct sql *tx, const struct store_session_seen *seen, struct fz_error *err)
{
    struct fz_hll users = {{0}}, crashed = {{0}};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer users_bytes = fz_buffer_make(FZ_HLL_BYTES_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer crashed_bytes = fz_buffer_make(FZ_HLL_BYTES_MAX);
    enum fz_code code = read_day(tx, seen, &users, &crashed, err);
    if (code != FZ_OK)
        return code;
    bool is_changed = fz_hll_add(&users, seen->user);
    if (seen->has_crashed)
        is_changed = fz_hll_add(&crashed, seen->user) || is_changed;
    if (!is_changed)
        return FZ_OK;
    fz_hll_encode(&users, &users_bytes);
    fz_hll_encode(&crashed, &crashed_bytes);
    code = fz_buffer_done(&users_bytes, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&crashed_bytes, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(seen->project_id),
                                     sql_int(seen->day_ms),
                                     seen->release,
                                     seen->environment,
                                     sql_blob(fz_buffer_span(&users_bytes)),
                                     sql_blob(fz_buffer_span(&crashed_bytes))};
    return sql_exec(tx,
                    "INSERT INTO session_users (project_id, day_ms, release, environment, users, "
                    "crashed) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, day_ms, "
                    "release, environment) DO UPDATE SET users = excluded.users, crashed = "
                    "excluded.crashed",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- by hour ---- */

static enum fz_code
see_hour(struct sql *tx, const struct store_session_seen *seen, struct fz_error *err)
{
    struct fz_hll users = {{0}};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(FZ_HLL_BYTES_MAX);
    struct sql_value args[6] = {sql_int(seen->project_id), sql_int(seen->hour_ms), seen->release,
                                seen->environment};
    enum fz_code code;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query(tx,
                         "SELECT users FROM session_hours WHERE project_id = $1 AND hour_ms = $2 "
                         "AND release = $3 AND environment = $4",
                         args, 4, &rows, err);
        while (sql_row(&rows, &code, err))
            fz_ignore(fz_hll_merge_encoded(&users, sql_col_bytes(&rows, 0), NULL)); /* as above */
    }
    if (code != FZ_OK)
        return code;
    if (seen->has_user)
        fz_hll_add(&users, seen->user);
    fz_hll_encode(&users, &bytes);
    code = fz_buffer_done(&bytes, err);
    if (code != FZ_OK)
        return code;
    args[4] = sql_int(seen->n);
    args[5] = sql_blob(fz_buffer_span(&bytes));
    return sql_exec(tx,
                    "INSERT INTO session_hours (project_id, hour_ms, release, environment, n, "
                    "users) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, hour_ms, "
                    "release, environment) DO UPDATE SET n = session_hours.n + excluded.n, users "
                    "= excluded.users",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_session_seen(struct sql *tx, const struct store_session_seen *seen, struct fz_error *err)
{
    enum fz_code code = seen->has_user && seen->n >= 0 ? see_day(tx, seen, err) : FZ_OK;
    bool is_recent = seen->hour_ms && seen->hour_ms > seen->now_ms - KEPT_MS && seen->n > 0;
    return code == FZ_OK && is_recent ? see_hour(tx, seen, err) : code;
}

enum fz_code
store_session_hours_forget(struct sql *tx, int64_t project_id, int64_t now_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(now_ms - KEPT_MS)};
    return sql_exec(tx, "DELETE FROM session_hours WHERE project_id = $1 AND hour_ms < $2", args,
                    FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- numbers ---- */

struct users {
    struct store_session_count *count;
    struct fz_hll all, crashed;
};

/* In the order of bytes, which is not that of the database. */
static int
compare_users(const void *a, const void *b)
{
    const struct store_session_count *x = ((const struct users *)a)->count,
                                     *y = ((const struct users *)b)->count;
    int order = strcmp(x->release, y->release);
    return order ? order : strcmp(x->environment, y->environment);
}

enum { DAYS_AT_ONCE = 20, STEPS_MAX = 16 };

int64_t
store_session_users_step(int64_t since_ms, int64_t until_ms, int64_t from_ms)
{
    int64_t days = (until_ms - since_ms) / DAY_MS / STEPS_MAX + 1;
    days = days > DAYS_AT_ONCE ? days : DAYS_AT_ONCE;
    return until_ms - from_ms < days * DAY_MS ? until_ms : from_ms + days * DAY_MS - 1;
}

/* Those of the days from since_ms to until_ms. */
static enum fz_code
read_users(struct sql *sql, int64_t project_id, const struct store_session_range *range,
           struct users *users, size_t n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(range->since_ms),
                                     sql_int(range->until_ms),
                                     sql_text(range->release ? range->release : "")};
    char release[1024], environment[1024];
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql,
                                  "SELECT release, environment, users, crashed FROM session_users "
                                  "WHERE project_id = $1 AND day_ms >= $2 AND day_ms <= $3 AND "
                                  "(release = $4 OR $4 = '')",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct store_session_count count = {.release = release, .environment = environment};
        const struct users key = {.count = &count};
        sql_col_copy(&rows, 0, release, sizeof(release));
        sql_col_copy(&rows, 1, environment, sizeof(environment));
        struct users *found = bsearch(&key, users, n, sizeof(*users), compare_users);
        if (!found)
            continue;
        /* A damaged counter costs its day. */
        fz_ignore(fz_hll_merge_encoded(&found->all, sql_col_bytes(&rows, 2), NULL));
        fz_ignore(fz_hll_merge_encoded(&found->crashed, sql_col_bytes(&rows, 3), NULL));
    }
    return code;
}

static uint64_t
at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

enum fz_code
store_session_users_count(struct sql *sql, int64_t project_id,
                          const struct store_session_range *range,
                          struct store_session_count *counts, size_t n, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(COUNT_MEMORY);
    struct users *users = fz_arena_array(&arena, n, sizeof(*users));
    if (!users)
        return fz_arena_fail(&arena, err);
    if (n == 0)
        return FZ_OK;
    for (size_t i = 0; i < n; i++)
        users[i].count = &counts[i];
    qsort(users, n, sizeof(*users), compare_users);
    struct store_session_range step = *range;
    enum fz_code code = FZ_OK;
    step.since_ms -= step.since_ms % DAY_MS;
    for (int64_t since_ms = step.since_ms; code == FZ_OK && step.since_ms <= range->until_ms;
         step.since_ms = step.until_ms + 1) {
        step.until_ms = store_session_users_step(since_ms, range->until_ms, step.since_ms);
        code = read_users(sql, project_id, &step, users, n, err);
    }
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_session_count *count = users[i].count;
        uint64_t n_sessions = 0;
        for (size_t j = 0; j < STORE_SESSION_OUTCOMES; j++)
            n_sessions += count->n[j];
        /* An estimate may be more than there can be. */
        count->n_users = at_most(fz_hll_count(&users[i].all), n_sessions);
        count->n_crashed_users = at_most(fz_hll_count(&users[i].crashed), count->n_users);
    }
    return code;
}

/* ---- versions ---- */

enum fz_code
store_version_seen(struct sql *tx, int64_t version_id, int64_t now_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(version_id), sql_int(now_ms), sql_int(HOUR_MS)};
    /* To the hour, or each session would write. */
    return sql_exec(tx,
                    "INSERT INTO versions (version_id, project_id, first_ms, last_ms) SELECT id, "
                    "project_id, $2, $2 FROM terms WHERE id = $1 ON CONFLICT (version_id) DO "
                    "UPDATE SET last_ms = excluded.last_ms WHERE versions.last_ms < "
                    "excluded.last_ms - $3",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}
