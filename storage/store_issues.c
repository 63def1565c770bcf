#include "storage/store_issues.h"

#include "base/text.h"
#include "storage/store_fact_query.h"
#include "storage/store_moves.h"

#define SELECT_ISSUE                                                                             \
    "SELECT i.number, i.title, i.kind, i.state, i.is_regressed, i.is_placeholder, "              \
    "coalesce((SELECT m.number FROM issues m WHERE m.id = i.merged_into), 0), i.first_ms, "      \
    "i.last_ms, f.text, f.detail, l.text, l.detail, i.n_reports, i.n_users, i.assignee, "        \
    "r.exception, r.signal, r.reason FROM issues i LEFT JOIN terms f ON f.id = i.first_version " \
    "LEFT JOIN terms l ON l.id = "                                                               \
    "i.last_version LEFT JOIN reports r ON r.key = i.newest_report AND r.project_id = "          \
    "i.project_id AND r.received_ms <= i.last_ms AND r.transient = 0"

static void
read_issue(struct sql_rows *rows, struct fz_arena *arena, struct store_issue *ret)
{
    *ret = (struct store_issue){
        .number = sql_col_int(rows, 0),
        .title = sql_col_text(rows, 1, arena),
        .kind = sql_col_text(rows, 2, arena),
        .state = (enum store_issue_state)sql_col_int(rows, 3),
        .is_regressed = sql_col_int(rows, 4) != 0,
        .is_placeholder = sql_col_int(rows, 5) != 0,
        .merged_into = sql_col_int(rows, 6),
        .first_ms = sql_col_int(rows, 7),
        .last_ms = sql_col_int(rows, 8),
        .first_version = sql_col_some_text(rows, 9, arena),
        .first_build = sql_col_some_text(rows, 10, arena),
        .last_version = sql_col_some_text(rows, 11, arena),
        .last_build = sql_col_some_text(rows, 12, arena),
        .n_reports = (uint64_t)sql_col_int(rows, 13),
        .n_users = (uint64_t)sql_col_int(rows, 14),
        .assignee = sql_col_some_text(rows, 15, arena),
        .exception = sql_col_some_text(rows, 16, arena),
        .signal = sql_col_some_text(rows, 17, arena),
        .reason = sql_col_some_text(rows, 18, arena),
    };
}

enum fz_code
store_issue_get(struct store *store, int64_t project_id, int64_t number, struct fz_arena *arena,
                struct store_issue *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(number)};
    struct store_issue issue = {.number = 0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql, SELECT_ISSUE " WHERE i.project_id = $1 AND i.number = $2", args,
                  FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %lld", (long long)number);
    if (code != FZ_OK)
        return code;
    read_issue(&rows, arena, &issue);
    code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = issue;
    return code;
}

enum fz_code
store_issues_get(struct store *store, int64_t project_id, const struct store_ids *numbers,
                 struct fz_arena *arena, struct store_issue **ret, struct fz_error *err)
{
    struct store_issue *issues = fz_arena_array(arena, numbers->n, sizeof(*issues));
    struct store_sql q;
    if (!issues)
        return fz_arena_fail(arena, err);
    *ret = issues;
    if (numbers->n == 0)
        return FZ_OK;
    store_sql_init(&q, store, arena);
    store_sql_add(&q, SELECT_ISSUE " WHERE i.project_id = ? AND i.number", sql_int(project_id));
    store_sql_in_any(&q, numbers);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    while (sql_row(&rows, &code, err)) {
        size_t at = store_ids_find(numbers, sql_col_int(&rows, 0));
        if (at < numbers->n)
            read_issue(&rows, arena, &issues[at]);
    }
    for (size_t i = 0; code == FZ_OK && i < numbers->n; i++) {
        if (!issues[i].number)
            code =
                fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %lld", (long long)numbers->list[i]);
    }
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_report_find_issue(struct store *store, int64_t project_id, const char *id,
                        struct fz_arena *arena, struct store_report_issue *ret,
                        struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    struct store_report_issue found = {.number = 0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT i.number, v.sha256, i.title, v.label, s.body FROM reports r JOIN facts f "
        "ON f.project_id = r.project_id AND f.received_ms = r.received_ms AND "
        "f.report_key = r.key JOIN variants v ON v.id = f.variant_id JOIN issues i ON "
        "i.id = v.issue_id JOIN stacks s ON s.key = f.stack_key WHERE r.key = " STORE_REPORT_KEY
        " AND r.is_grouped = 1",
        args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "the report belongs to no issue");
    if (code != FZ_OK)
        return code;
    found.number = sql_col_int(&rows, 0);
    struct fz_span variant = sql_col_bytes(&rows, 1);
    if (variant.len == FZ_SHA256_LEN)
        fz_text_hex(variant, found.variant);
    found.title = sql_col_text(&rows, 2, arena);
    found.label = sql_col_text(&rows, 3, arena);
    code = store_unpack(sql_col_bytes(&rows, 4), arena, &found.stack, err);
    if (code == FZ_OK)
        code = sql_next(&rows, &row, err);
    if (code == FZ_OK)
        *ret = found;
    return code;
}

enum fz_code
store_issue_lock(struct sql *tx, int64_t project_id, int64_t number, struct fz_arena *arena,
                 struct store_issue_row *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(number)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_lock(tx, project_id, true, err);
    if (code == FZ_OK)
        code = sql_query(tx,
                         "SELECT id, state, is_regressed, is_placeholder, title_is_ours, "
                         "n_reports, n_users, title, assignee, coalesce((SELECT m.number FROM "
                         "issues m WHERE m.id = issues.merged_into), 0) FROM issues WHERE "
                         "project_id = $1 AND number = $2",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %lld", (long long)number);
    int64_t merged_into = sql_col_int(&rows, 9);
    if (merged_into)
        return fz_fail(err, FZ_E_CONFLICT, "issue %lld was merged into issue %lld: change that one",
                       (long long)number, (long long)merged_into);
    *ret = (struct store_issue_row){.id = sql_col_int(&rows, 0),
                                    .number = number,
                                    .state = (enum store_issue_state)sql_col_int(&rows, 1),
                                    .is_regressed = sql_col_int(&rows, 2) != 0,
                                    .is_placeholder = sql_col_int(&rows, 3) != 0,
                                    .title_is_ours = sql_col_int(&rows, 4) != 0,
                                    .n_reports = sql_col_int(&rows, 5),
                                    .n_users = sql_col_int(&rows, 6),
                                    .title = sql_col_text(&rows, 7, arena),
                                    .assignee = sql_col_some_text(&rows, 8, arena)};
    return ret->title ? FZ_OK : fz_arena_fail(arena, err);
}
