#include "storage/store_watch.h"

#include "storage/store_private.h"

static const int64_t HOUR_MS = 3600 * 1000, DAY_MS = INT64_C(24) * 3600 * 1000,
                     SAMPLE_MS = 60 * 1000, SAMPLES_KEEP_MS = INT64_C(2) * 24 * 3600 * 1000;

/* Reports of one issue that are looked at: a storm is urgent long before. */
enum { REPORTS_MAX = 50000 };

/* ---- rules ---- */

enum fz_code
store_watch_rules_get(struct store *store, int64_t project_id, struct store_watch_rules *ret,
                      struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT urgent_ppm, urgent_users, urgent_window_s, healthy_ppm, "
                                  "healthy_sessions FROM projects WHERE id = $1",
                                  args, 1, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)project_id);
    if (code == FZ_OK)
        *ret = (struct store_watch_rules){
            (unsigned)sql_col_int(&rows, 0), (unsigned)sql_col_int(&rows, 1),
            (unsigned)sql_col_int(&rows, 2), (unsigned)sql_col_int(&rows, 3),
            (unsigned)sql_col_int(&rows, 4)};
    return code;
}

enum fz_code
store_watch_rules_set(struct store *store, int64_t project_id,
                      const struct store_watch_rules *rules, struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(project_id),      sql_int(rules->urgent_ppm),  sql_int(rules->urgent_users),
        sql_int(rules->window_s), sql_int(rules->healthy_ppm), sql_int(rules->healthy_sessions)};
    return sql_exec(store->sql,
                    "UPDATE projects SET urgent_ppm = $2, urgent_users = $3, urgent_window_s = $4, "
                    "healthy_ppm = $5, healthy_sessions = $6 WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- bursts ---- */

struct candidate {
    int64_t issue_id;
};

static enum fz_code
list_candidates(struct store *store, int64_t project_id, const struct store_burst_range *range,
                struct fz_arena *arena, struct candidate **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(range->since_ms),
                                     sql_int((int64_t)range->least)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct candidate)};
    /* Few issues have so many reports, and were seen just now. */
    enum fz_code code = sql_query(store->sql,
                                  "SELECT id FROM issues WHERE project_id = $1 AND merged_into IS "
                                  "NULL AND last_ms >= $2 AND n_reports >= $3 AND state = 0 ORDER "
                                  "BY last_ms DESC LIMIT 1000",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct candidate *one; (one = sql_list_next(&rows, &list, &code, err));)
        one->issue_id = sql_col_int(&rows, 0);
    return sql_list_done(&list, code, ret, ret_n);
}

static enum fz_code
count_burst(struct store *store, int64_t since_ms, struct fz_arena *arena, struct store_burst *ret,
            struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(ret->issue_id), sql_int(since_ms),
                                     sql_int(REPORTS_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows versions = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT count(*), count(DISTINCT CASE WHEN user_id > 0 THEN user_id END) FROM (SELECT "
        "f.user_id FROM variants v JOIN facts f ON f.variant_id = v.id AND f.received_ms >= $2 "
        "WHERE v.issue_id = $1 AND v.last_ms >= $2 AND f.is_counted = 1 LIMIT $3) AS r",
        args, FZ_ARRAY_LEN(args), &rows, err);
    if (sql_row(&rows, &code, err)) {
        ret->n_reports = (uint64_t)sql_col_int(&rows, 0);
        ret->n_users = (uint64_t)sql_col_int(&rows, 1);
    }
    sql_rows_close(&rows);
    if (code == FZ_OK)
        code = sql_query(
            store->sql,
            "SELECT t.text, t.detail FROM (SELECT r.version_id, count(*) AS n FROM (SELECT "
            "f.version_id FROM variants v JOIN facts f ON f.variant_id = v.id AND f.received_ms >= "
            "$2 WHERE v.issue_id = $1 AND v.last_ms >= $2 AND f.is_counted = 1 LIMIT $3) AS r "
            "GROUP BY r.version_id) AS c JOIN terms t ON t.id = c.version_id ORDER BY c.n DESC, "
            "t.id LIMIT 1",
            args, FZ_ARRAY_LEN(args), &versions, err);
    ret->version = "";
    if (sql_row(&versions, &code, err)) {
        const char *text = sql_col_text(&versions, 0, arena),
                   *detail = sql_col_text(&versions, 1, arena);
        ret->version = detail && *detail ? fz_arena_printf(arena, "%s (%s)", text, detail) : text;
    }
    return code == FZ_OK && !ret->version ? fz_arena_fail(arena, err) : code;
}

enum fz_code
store_burst_list(struct store *store, int64_t project_id, const struct store_burst_range *range,
                 struct fz_arena *arena, struct store_burst **ret, size_t *ret_n,
                 struct fz_error *err)
{
    struct candidate *list = NULL;
    size_t n = 0, n_bursts = 0;
    struct store_burst *bursts = fz_arena_array(arena, range->max, sizeof(*bursts));
    if (!bursts)
        return fz_arena_fail(arena, err);
    enum fz_code code = list_candidates(store, project_id, range, arena, &list, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n && n_bursts < range->max; i++) {
        struct store_burst one = {.issue_id = list[i].issue_id};
        code = count_burst(store, range->since_ms, arena, &one, err);
        if (code == FZ_OK && one.n_reports >= range->least)
            bursts[n_bursts++] = one;
    }
    if (code != FZ_OK)
        return code;
    *ret = bursts;
    *ret_n = n_bursts;
    return FZ_OK;
}

enum fz_code
store_burst_hours(struct store *store, int64_t issue_id, uint64_t ret[STORE_WATCH_HOURS],
                  size_t *ret_n, struct fz_error *err)
{
    int64_t now = 0, first_ms = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    int64_t hour = now / HOUR_MS, first_hour = hour - STORE_WATCH_HOURS;
    const struct sql_value args[] = {sql_int(issue_id), sql_int(first_hour), sql_int(hour)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    for (size_t i = 0; i < STORE_WATCH_HOURS; i++)
        ret[i] = 0;
    if (code == FZ_OK)
        code = sql_number(store->sql, "SELECT first_ms FROM issues WHERE id = $1", args, 1,
                          &first_ms, NULL, err);
    if (code == FZ_OK)
        code = sql_query(store->sql,
                         "SELECT h.hour, CAST(sum(h.n) AS bigint) FROM variants v JOIN issue_hours "
                         "h ON h.variant_id = v.id WHERE v.issue_id = $1 AND h.hour >= $2 AND "
                         "h.hour < $3 GROUP BY h.hour",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t at = sql_col_int(&rows, 0) - first_hour;
        if (at >= 0 && at < STORE_WATCH_HOURS)
            ret[at] = (uint64_t)sql_col_int(&rows, 1);
    }
    int64_t since = hour - first_ms / HOUR_MS;
    *ret_n = since < 0 ? 0 : since > STORE_WATCH_HOURS ? STORE_WATCH_HOURS : (size_t)since;
    return code;
}

/* ---- sessions ---- */

static enum fz_code
two_numbers(struct sql *sql, const char *query, const struct sql_value *args, size_t n_args,
            int64_t ret[2], bool *ret_found, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql, query, args, n_args, &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (*ret_found) {
        ret[0] = sql_col_int(&rows, 0);
        ret[1] = sql_col_int(&rows, 1);
    }
    return code;
}

/* One row for each day, release and environment: few, whatever the number of sessions. */
static enum fz_code
sum_sessions(struct sql *sql, int64_t project_id, int64_t since_day_ms, int64_t ret[2],
             struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(since_day_ms)};
    bool found;
    return two_numbers(sql,
                       "SELECT CAST(coalesce(sum(healthy + errored + abnormal + crashed), 0) AS "
                       "bigint), CAST(coalesce(sum(crashed), 0) AS bigint) FROM session_counts "
                       "WHERE project_id = $1 AND day_ms >= $2",
                       args, FZ_ARRAY_LEN(args), ret, &found, err);
}

static enum fz_code
put_sample(struct sql *sql, int64_t project_id, int64_t now, const int64_t sums[2],
           struct fz_error *err)
{
    const struct sql_value recent[] = {sql_int(project_id), sql_int(now - SAMPLE_MS)};
    const struct sql_value args[] = {sql_int(project_id), sql_int(now), sql_int(sums[0]),
                                     sql_int(sums[1])};
    const struct sql_value old[] = {sql_int(project_id), sql_int(now - SAMPLES_KEEP_MS)};
    bool is_recent = false;
    enum fz_code code = sql_number(sql,
                                   "SELECT 1 FROM session_samples WHERE project_id = $1 AND at_ms "
                                   "> $2 LIMIT 1",
                                   recent, FZ_ARRAY_LEN(recent), NULL, &is_recent, err);
    if (code != FZ_OK || is_recent)
        return code;
    code = sql_exec(sql,
                    "INSERT INTO session_samples (project_id, at_ms, n, n_crashed) VALUES ($1, $2, "
                    "$3, $4) ON CONFLICT (project_id, at_ms) DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_exec(sql,
                                    "DELETE FROM session_samples WHERE project_id = $1 AND at_ms < "
                                    "$2",
                                    old, FZ_ARRAY_LEN(old), NULL, err)
                         : code;
}

enum fz_code
store_session_sample(struct store *store, int64_t project_id, int64_t window_ms,
                     struct store_recent_sessions *ret, struct fz_error *err)
{
    int64_t now = 0, sums[2] = {0}, before[2] = {0};
    bool found = false;
    enum fz_code code = sql_now(store->sql, &now, err);
    int64_t today_ms = now - now % DAY_MS;
    if (code == FZ_OK)
        code = sum_sessions(store->sql, project_id, 0, sums, err);
    const struct sql_value args[] = {sql_int(project_id), sql_int(now - window_ms)};
    if (code == FZ_OK)
        code = two_numbers(store->sql,
                           "SELECT n, n_crashed FROM session_samples WHERE project_id = $1 AND "
                           "at_ms <= $2 ORDER BY at_ms DESC LIMIT 1",
                           args, FZ_ARRAY_LEN(args), before, &found, err);
    if (code == FZ_OK && !found)
        /* The samples begin within the window: what they began with was before it. */
        code = two_numbers(store->sql,
                           "SELECT n, n_crashed FROM session_samples WHERE project_id = $1 ORDER "
                           "BY at_ms LIMIT 1",
                           args, 1, before, &found, err);
    /* The first sample: today's are as recent as is known. */
    if (code == FZ_OK && !found) {
        int64_t all[2] = {0};
        code = sum_sessions(store->sql, project_id, today_ms, all, err);
        before[0] = sums[0] - all[0];
        before[1] = sums[1] - all[1];
    }
    if (code == FZ_OK)
        code = put_sample(store->sql, project_id, now, sums, err);
    if (code == FZ_OK)
        *ret = (struct store_recent_sessions){
            .n = sums[0] > before[0] ? (uint64_t)(sums[0] - before[0]) : 0,
            .n_crashed = sums[1] > before[1] ? (uint64_t)(sums[1] - before[1]) : 0,
            .has_any = sums[0] > 0};
    return code;
}
