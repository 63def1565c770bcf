#include "storage/store_usage.h"

#include "base/random.h"
#include "storage/store_changes.h"
#include "storage/store_private.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

unsigned
store_usage_slot(void)
{
    uint8_t byte;
    fz_random(&byte, sizeof(byte));
    /* 256 is a multiple of it, so all slots are as likely. */
    return byte % STORE_CHANGE_SLOTS;
}

enum fz_code
store_usage_count(struct sql *sql, unsigned slot, int64_t now_ms, const struct store_usage *usage,
                  struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(usage->project_id),     sql_int(now_ms / DAY_MS),
                                     sql_int(usage->kind),           sql_int((int64_t)slot),
                                     sql_int((int64_t)usage->bytes), sql_int((int64_t)usage->n)};
    return sql_exec(sql,
                    "INSERT INTO usage (project_id, day, kind, slot, bytes, n) "
                    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (day, project_id, kind, slot) "
                    "DO UPDATE SET bytes = usage.bytes + excluded.bytes, n = usage.n + excluded.n",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_usage_add(struct store *store, int64_t project_id, enum store_usage_kind kind, uint64_t bytes,
                struct fz_error *err)
{
    const struct store_usage usage = {project_id, kind, bytes, 1};
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    return code != FZ_OK ? code
                         : store_usage_count(store->sql, store->usage_slot, now, &usage, err);
}

enum fz_code
store_usage_today(struct store *store, struct fz_arena *arena, struct store_usage **ret,
                  size_t *ret_n, int64_t *ret_day, int64_t *ret_left_ms, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(now / DAY_MS)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_usage)};
    code =
        sql_query(store->sql,
                  "SELECT project_id, kind, CAST(sum(bytes) AS bigint), CAST(sum(n) AS bigint) "
                  "FROM usage WHERE day = $1 GROUP BY project_id, kind ORDER BY project_id, kind",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_usage *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_usage){.project_id = sql_col_int(&rows, 0),
                                    .kind = (enum store_usage_kind)sql_col_int(&rows, 1),
                                    .bytes = (uint64_t)sql_col_int(&rows, 2),
                                    .n = (uint64_t)sql_col_int(&rows, 3)};
    code = sql_list_done(&list, code, ret, ret_n);
    if (code != FZ_OK)
        return code;
    *ret_day = now / DAY_MS;
    /* A duration and not a time: the caller's clock may differ from the database's. */
    *ret_left_ms = DAY_MS - now % DAY_MS;
    return FZ_OK;
}

enum fz_code
store_usage_forget(struct store *store, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    /* Days are numbers, so this needs no calendar. */
    const struct sql_value args[] = {sql_int(now / DAY_MS - STORE_USAGE_DAYS)};
    return sql_exec(store->sql, "DELETE FROM usage WHERE day < $1", args, FZ_ARRAY_LEN(args), NULL,
                    err);
}

/* ---- quotas of single projects ---- */

static void
read_quota(struct sql_rows *rows, struct store_quota *ret)
{
    *ret = (struct store_quota){.project_id = sql_col_int(rows, 0),
                                .reports = (uint64_t)sql_col_int(rows, 1),
                                .report_bytes = (uint64_t)sql_col_int(rows, 2),
                                .symbol_bytes = (uint64_t)sql_col_int(rows, 3)};
}

enum fz_code
store_quota_get(struct store *store, int64_t project_id, struct store_quota *ret,
                struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool is_there = false;
    enum fz_code code = sql_query(store->sql,
                                  "SELECT id, quota_reports, quota_report_bytes, "
                                  "quota_symbol_bytes FROM projects WHERE id = $1",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &is_there, err);
    if (code == FZ_OK && !is_there)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)project_id);
    if (code == FZ_OK)
        read_quota(&rows, ret);
    return code;
}

enum fz_code
store_quota_set(struct store *store, const struct store_quota *quota, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(quota->project_id), sql_int((int64_t)quota->reports),
                                     sql_int((int64_t)quota->report_bytes),
                                     sql_int((int64_t)quota->symbol_bytes)};
    uint64_t n = 0;
    if ((quota->reports | quota->report_bytes | quota->symbol_bytes) >> STORE_QUOTA_BITS)
        return fz_fail(err, FZ_E_MALFORMED, "a quota is a number below 2^%d", STORE_QUOTA_BITS);
    enum fz_code code = sql_exec(store->sql,
                                 "UPDATE projects SET quota_reports = $2, quota_report_bytes = $3, "
                                 "quota_symbol_bytes = $4 WHERE id = $1",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld",
                       (long long)quota->project_id);
    return code;
}

enum fz_code
store_quota_list(struct store *store, struct fz_arena *arena, struct store_quota **ret,
                 size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_quota)};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT id, quota_reports, quota_report_bytes, quota_symbol_bytes FROM projects "
        "WHERE quota_reports > 0 OR quota_report_bytes > 0 OR quota_symbol_bytes > 0 ORDER BY id",
        NULL, 0, &rows, err);
    for (struct store_quota *one; (one = sql_list_next(&rows, &list, &code, err));)
        read_quota(&rows, one);
    return sql_list_done(&list, code, ret, ret_n);
}
