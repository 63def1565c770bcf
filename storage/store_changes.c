#include "storage/store_changes.h"

#include <string.h>

#include "storage/store_changed.h"

static struct sql_value
or_null(int64_t id)
{
    struct sql_value value = sql_int(id);
    value.is_null = id == 0;
    return value;
}

enum fz_code
store_changed_count(struct store *store, const struct store_changed *changed, struct fz_error *err)
{
    const uint64_t *n = changed->n;
    uint64_t sum = 0;
    for (size_t i = 0; i < STORE_CHANGES_N; i++)
        sum += n[i];
    const struct sql_value args[] = {sql_int(changed->project_id),
                                     sql_int((int64_t)store->usage_slot),
                                     sql_int((int64_t)n[STORE_CHANGE_RECEIVED]),
                                     sql_int((int64_t)n[STORE_CHANGE_REPORT]),
                                     sql_int((int64_t)n[STORE_CHANGE_ISSUE]),
                                     sql_int((int64_t)n[STORE_CHANGE_NEW_ISSUE]),
                                     sql_int((int64_t)n[STORE_CHANGE_UPLOAD]),
                                     sql_int((int64_t)n[STORE_CHANGE_UNBLOCKED]),
                                     sql_int((int64_t)n[STORE_CHANGE_SYMBOLS]),
                                     sql_text(changed->received),
                                     sql_text(changed->report),
                                     or_null(changed->issue_id),
                                     or_null(changed->new_issue_id),
                                     sql_text(changed->upload)};
    enum fz_code code = FZ_OK;
    if (sum)
        code = sql_exec(
            store->sql,
            "INSERT INTO project_changes AS c (project_id, slot, n_received, n_reports, n_issues, "
            "n_new_issues, n_uploads, n_unblocked, n_symbols, received, report, issue_id, "
            "new_issue_id, upload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
            "$14) ON CONFLICT (project_id, slot) DO UPDATE SET n_received = c.n_received + "
            "excluded.n_received, n_reports = c.n_reports + excluded.n_reports, n_issues = "
            "c.n_issues + excluded.n_issues, n_new_issues = c.n_new_issues + "
            "excluded.n_new_issues, n_uploads = c.n_uploads + excluded.n_uploads, n_unblocked = "
            "c.n_unblocked + excluded.n_unblocked, n_symbols = c.n_symbols + excluded.n_symbols, "
            "received = coalesce(excluded.received, c.received), report = "
            "coalesce(excluded.report, c.report), issue_id = coalesce(excluded.issue_id, "
            "c.issue_id), new_issue_id = coalesce(excluded.new_issue_id, c.new_issue_id), upload "
            "= coalesce(excluded.upload, c.upload)",
            args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        sql_notify(store->sql);
    return code;
}

enum fz_code
store_changed_issue(struct store *store, int64_t project_id, int64_t issue_id, struct fz_error *err)
{
    const struct store_changed changed = {
        .project_id = project_id, .n = {[STORE_CHANGE_ISSUE] = 1}, .issue_id = issue_id};
    return store_changed_count(store, &changed, err);
}

/* ---- reading ---- */

/* One slot of one kind. `column`: where its id is; -1: it has none. */
static void
add_news(struct sql_rows *rows, int64_t n, int column, struct store_news *news)
{
    if (n <= 0)
        return;
    news->n += (uint64_t)n;
    if (column < 0 || news->n_ids == STORE_CHANGE_IDS)
        return;
    char *id = news->ids[news->n_ids];
    sql_col_copy(rows, column, id, STORE_ID_TEXT);
    for (size_t i = 0; i < news->n_ids; i++) {
        if (strcmp(news->ids[i], id) == 0)
            return;
    }
    news->n_ids += *id != '\0';
}

enum fz_code
store_changes_read(struct store *store, int64_t project_id, struct store_changes *state,
                   struct store_news ret[STORE_CHANGES_N], struct fz_error *err)
{
    enum { NUMBERS = 1, IDS = NUMBERS + STORE_CHANGES_N };
    static const int columns[STORE_CHANGES_N] = {
        [STORE_CHANGE_RECEIVED] = IDS,   [STORE_CHANGE_REPORT] = IDS + 1,
        [STORE_CHANGE_ISSUE] = IDS + 2,  [STORE_CHANGE_NEW_ISSUE] = IDS + 3,
        [STORE_CHANGE_UPLOAD] = IDS + 4, [STORE_CHANGE_UNBLOCKED] = -1,
        [STORE_CHANGE_SYMBOLS] = -1,
    };
    const struct sql_value args[] = {sql_int(project_id)};
    struct store_changes next = *state; /* a reading that breaks off changes nothing */
    memset(ret, 0, STORE_CHANGES_N * sizeof(*ret));
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* A merged issue has the number of the one it is part of. */
    enum fz_code code = sql_query(
        store->sql,
        "SELECT c.slot, c.n_received, c.n_reports, c.n_issues, c.n_new_issues, c.n_uploads, "
        "c.n_unblocked, c.n_symbols, c.received, c.report, CAST(coalesce(im.number, i.number) AS "
        "text), CAST(coalesce(nm.number, n.number) AS text), c.upload FROM project_changes c LEFT "
        "JOIN issues i ON i.id = c.issue_id LEFT JOIN issues im ON im.id = i.merged_into LEFT JOIN "
        "issues n ON n.id = c.new_issue_id LEFT JOIN issues nm ON nm.id = n.merged_into WHERE "
        "c.project_id = $1 ORDER BY c.slot",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t *slot = next.slots[(uint64_t)sql_col_int(&rows, 0) % STORE_CHANGE_SLOTS];
        for (int i = 0; i < STORE_CHANGES_N; i++) {
            int64_t n = sql_col_int(&rows, NUMBERS + i);
            if (state->is_read)
                add_news(&rows, n - slot[i], columns[i], &ret[i]);
            next.sums[i] += n - slot[i];
            slot[i] = n;
        }
    }
    next.is_read = true;
    if (code == FZ_OK)
        *state = next;
    return code;
}
