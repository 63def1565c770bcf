/*
 * Captured memory in bodies of reports: taken away at the end of their processing, kept beside them
 * for a time if the project wants it.
 */
#include "storage/store_privacy.h"

#include "storage/store_dictionary.h"
#include "storage/store_private.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

enum fz_code
store_project_set_privacy(struct store *store, int64_t id, const struct store_privacy *privacy,
                          struct fz_error *err)
{
    const char *allow = privacy->redact_allow, *deny = privacy->redact_deny;
    if (privacy->memory_days < 1 || privacy->memory_days > STORE_MEMORY_DAYS_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "memory is kept for 1 to %d days",
                       (int)STORE_MEMORY_DAYS_MAX);
    const struct sql_value args[] = {sql_int(id),
                                     sql_int(privacy->values),
                                     sql_int(privacy->keep_memory),
                                     sql_int(privacy->memory_days),
                                     sql_text(allow && *allow ? allow : NULL),
                                     sql_text(deny && *deny ? deny : NULL)};
    uint64_t n = 0;
    enum fz_code code =
        sql_exec(store->sql,
                 "UPDATE projects SET show_values = $2, keep_memory = $3, memory_days = $4, "
                 "redact_allow = $5, redact_deny = $6 WHERE id = $1",
                 args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)id);
    return code;
}

/* ---- bodies ---- */

enum fz_code
store_report_full_body(struct store *store, int64_t project_id, const char *id,
                       struct fz_arena *arena, struct store_full_body *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (!store_is_id(id))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such report");
    enum fz_code code = sql_query(
        store->sql,
        "SELECT coalesce(m.body, b.body), CASE WHEN m.body IS NULL THEN r.memory ELSE 0 "
        "END, r.received_ms FROM reports r JOIN report_bodies b ON b.report_key = r.key LEFT JOIN "
        "report_memory m ON m.report_key = r.key WHERE r.key = " STORE_REPORT_KEY,
        args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such report");
    struct store_full_body found = {.memory = (enum store_memory)sql_col_int(&rows, 1),
                                    .received_ms = sql_col_int(&rows, 2)};
    code = store_unpack_column(store, &rows, 0, arena, &found.bytes, err);
    if (code == FZ_OK)
        *ret = found;
    return code;
}

/* The body as it was sent moves to its own table. */
static enum fz_code
keep_body(struct store *store, int64_t key, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(key), sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(store->sql,
                        "INSERT INTO report_memory (report_key, project_id, stored_ms, body) "
                        "SELECT r.key, r.project_id, $2, b.body FROM reports r JOIN report_bodies "
                        "b ON b.report_key = r.key WHERE r.key = $1 ON CONFLICT DO NOTHING",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

static enum fz_code
find_body(struct store *store, const struct store_job *job, int64_t *ret_key,
          enum store_memory *ret_memory, bool *ret_keeps, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(job->project_id), sql_text(job->subject)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT r.key, r.memory, p.keep_memory FROM reports r JOIN projects p ON p.id = "
                  "r.project_id WHERE r.key = " STORE_REPORT_KEY,
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_CONFLICT, "report %s was deleted", job->subject);
    if (code != FZ_OK)
        return code;
    *ret_key = sql_col_int(&rows, 0);
    *ret_memory = (enum store_memory)sql_col_int(&rows, 1);
    *ret_keeps = sql_col_int(&rows, 2) != 0;
    return FZ_OK;
}

enum fz_code
store_body_strip(struct store *store, const struct store_job *job, struct fz_span packed,
                 enum store_memory *ret, struct fz_error *err)
{
    int64_t key = 0;
    enum store_memory memory = STORE_MEMORY_NONE;
    bool keeps = false;
    *ret = STORE_MEMORY_NONE;
    if (packed.len == 0)
        return FZ_OK;
    *ret = STORE_MEMORY_REMOVED;
    enum fz_code code = find_body(store, job, &key, &memory, &keeps, err);
    /* Done again: the body has no memory already. */
    if (code != FZ_OK || memory == STORE_MEMORY_REMOVED)
        return code;
    if (keeps)
        code = keep_body(store, key, err);
    const struct sql_value args[] = {sql_int(key), sql_blob(packed)};
    if (code == FZ_OK)
        code = sql_exec(store->sql, "UPDATE report_bodies SET body = $2 WHERE report_key = $1",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

/* ---- the sweep ---- */

/* A sweep of retention has seen this time, or waits because of it (store_retention_hold()). */
#define CLOCK_IS_RIGHT                                                                        \
    "NOT EXISTS (SELECT 1 FROM retention s WHERE s.project_id = p.id AND s.swept_ms > 0 AND " \
    "s.swept_ms < $1 - 7 * $2)"

enum fz_code
store_sweep_memory(struct store *store, uint64_t *n, struct fz_error *err)
{
    static const char *const texts[] = {
        "DELETE FROM report_memory WHERE report_key IN (SELECT m.report_key FROM report_memory m "
        "JOIN projects p ON p.id = m.project_id WHERE p.keep_memory = 0 OR (m.stored_ms < $1 - "
        "p.memory_days * $2 AND " CLOCK_IS_RIGHT ") LIMIT 200)",
        /* A report that cannot be read is kept for a time, so that the cause can be found. */
        "DELETE FROM report_bodies WHERE report_key IN (SELECT r.key FROM reports r JOIN projects "
        "p ON p.id = r.project_id WHERE r.status = 'failed' AND r.transient = 0 AND r.memory = 0 "
        "AND r.received_ms < "
        "$1 - p.memory_days * $2 AND " CLOCK_IS_RIGHT
        " AND EXISTS (SELECT 1 FROM report_bodies b WHERE b.report_key = r.key) LIMIT 200)",
        "UPDATE reports SET memory = 2, has_body = 0 WHERE status = 'failed' AND transient = 0 AND "
        "memory = 0 "
        "AND "
        "NOT EXISTS (SELECT 1 FROM report_bodies b WHERE b.report_key = reports.key) AND "
        "received_ms + $2 < $1"};
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(now), sql_int(DAY_MS)};
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(texts); i++) {
        uint64_t n_dropped = 0;
        code = sql_exec(store->sql, texts[i], args, FZ_ARRAY_LEN(args), &n_dropped, err);
        *n += n_dropped;
    }
    return code;
}
