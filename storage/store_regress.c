#include "storage/store_regress.h"

#include <string.h>

#include "base/version.h"
#include "storage/store_activity.h"
#include "storage/store_issue_state.h"
#include "storage/store_newest.h"

struct closed {
    int64_t id;
    enum store_issue_state state;
    int64_t state_ms, now_ms;
    int64_t n_reports, n_users;
    int64_t until_ms, until_reports, until_users; /* 0 = no condition */
    const char *above_version, *above_build;
};

struct fix {
    const char *version, *build, *newest, *newest_build;
    bool is_after;
};

struct news {
    const struct store_recorded *recorded;
    const char *version, *build;
    const char *fixed_in; /* the fix that it breaks; NULL */
};

static enum fz_code
read_closed(struct store_record *record, int64_t id, struct closed *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(record->store->sql,
                  "SELECT state, state_ms, n_reports, n_users, ignore_until_ms, ignore_reports, "
                  "ignore_users, ignore_version, ignore_build FROM issues WHERE id = $1 AND "
                  "merged_into IS NULL",
                  args, 1, &rows, err);
    bool row = sql_row(&rows, &code, err);
    *ret = (struct closed){.id = id};
    if (code != FZ_OK || !row)
        return code;
    ret->state = (enum store_issue_state)sql_col_int(&rows, 0);
    ret->state_ms = sql_col_int(&rows, 1);
    ret->n_reports = sql_col_int(&rows, 2);
    ret->n_users = sql_col_int(&rows, 3);
    ret->until_ms = sql_col_int(&rows, 4);
    ret->until_reports = sql_col_int(&rows, 5);
    ret->until_users = sql_col_int(&rows, 6);
    ret->above_version = sql_col_text(&rows, 7, record->arena);
    ret->above_build = sql_col_text(&rows, 8, record->arena);
    return FZ_OK;
}

static enum fz_code
read_fixes(struct store_record *record, int64_t id, struct fix **ret, size_t *ret_n,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    struct sql_list list = {.arena = record->arena, .item = sizeof(struct fix)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(record->store->sql,
                                  "SELECT version, build, newest, newest_build, is_after FROM "
                                  "issue_fixes WHERE issue_id = $1",
                                  args, 1, &rows, err);
    for (struct fix *fix; (fix = sql_list_next(&rows, &list, &code, err));)
        *fix = (struct fix){sql_col_text(&rows, 0, record->arena),
                            sql_col_text(&rows, 1, record->arena),
                            sql_col_text(&rows, 2, record->arena),
                            sql_col_text(&rows, 3, record->arena), sql_col_int(&rows, 4) != 0};
    return sql_list_done(&list, code, ret, ret_n);
}

static struct news
news_of(const struct store_record *record, const struct store_recorded *recorded)
{
    const struct fz_columns *columns = &record->store->columns;
    const union fz_value *values = recorded->done->values;
    return (struct news){recorded, fz_columns_text(columns, values, "app_version"),
                         fz_columns_text(columns, values, "app_build"), NULL};
}

/* ---- resolved ---- */

static enum fz_code
breaks_fix(struct store_record *record, const struct fix *fix, const struct news *news, bool *ret,
           struct fz_error *err)
{
    const struct fz_version_fix at = {fix->version, fix->build, fix->newest, fix->newest_build};
    bool is_invented = false;
    *ret = false;
    if (!news->version || !fz_version_is_ordered(news->version))
        return FZ_OK;
    bool is_regression =
        fix->is_after ? fz_version_compare(news->version, news->build, fix->version, fix->build) > 0
                      : fz_version_is_regression(&at, news->version, news->build);
    if (!is_regression)
        return FZ_OK;
    enum fz_code code = store_version_is_invented(record->store->sql, record->project_id,
                                                  news->version, fix->version, &is_invented, err);
    if (code == FZ_OK)
        *ret = !is_invented;
    return code;
}

static enum fz_code
reopen(struct store_record *record, const struct closed *issue, enum store_issue_event event,
       const struct news *news, const char *because, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue->id), sql_int(event == STORE_ISSUE_REGRESSED)};
    const struct store_happened what = {.project_id = record->project_id,
                                        .issue_id = issue->id,
                                        .event = event,
                                        .report = news->recorded->id,
                                        .version = news->version,
                                        .build = news->build,
                                        .because = because,
                                        .fixed_in = news->fixed_in};
    enum fz_code code = sql_exec(record->store->sql,
                                 "UPDATE issues SET state = 0, is_regressed = CASE WHEN $2 = 1 "
                                 "THEN 1 ELSE is_regressed END, ignore_until_ms = NULL, "
                                 "ignore_reports = NULL, ignore_users = NULL, ignore_version = "
                                 "NULL, ignore_build = NULL WHERE id = $1",
                                 args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(record->store->sql, "DELETE FROM issue_fixes WHERE issue_id = $1", args, 1,
                        NULL, err);
    return code == FZ_OK ? store_issue_happened(record->store->sql, &what, err) : code;
}

/* A report that waited for its names is new to this issue, but may be older than the fix. */
static bool
counts_for(const struct closed *issue, const struct store_recorded *recorded)
{
    const struct store_fact *fact = &recorded->fact;
    return fact->issue_id == issue->id &&
           (!recorded->has_waited || fact->received_ms >= issue->state_ms);
}

static enum fz_code
check_resolved(struct store_record *record, const struct closed *issue, struct fz_error *err)
{
    struct fix *fixes = NULL;
    size_t n = 0;
    enum fz_code code = read_fixes(record, issue->id, &fixes, &n, err);
    for (size_t i = 0; code == FZ_OK && i < record->n_news; i++) {
        if (!counts_for(issue, record->news[i]))
            continue;
        struct news news = news_of(record, record->news[i]);
        /* Resolved before any version was known: whatever comes now comes after the fix. */
        bool is_regression = n == 0;
        for (size_t j = 0; code == FZ_OK && !is_regression && j < n; j++) {
            code = breaks_fix(record, &fixes[j], &news, &is_regression, err);
            news.fixed_in = fixes[j].version;
        }
        if (code == FZ_OK && is_regression)
            return reopen(record, issue, STORE_ISSUE_REGRESSED, &news, NULL, err);
    }
    return code;
}

/* ---- ignored ---- */

static enum fz_code
is_above(struct store_record *record, const struct closed *issue, const struct news *news,
         bool *ret, struct fz_error *err)
{
    const struct fix next = {issue->above_version, issue->above_build, NULL, NULL, true};
    *ret = false;
    if (!issue->above_version)
        return FZ_OK;
    return breaks_fix(record, &next, news, ret, err);
}

static enum fz_code
check_ignored(struct store_record *record, const struct closed *issue, struct fz_error *err)
{
    const char *because = NULL;
    enum fz_code code = FZ_OK;
    if (issue->until_ms && issue->now_ms >= issue->until_ms)
        because = "time";
    else if (issue->until_reports && issue->n_reports >= issue->until_reports)
        because = "reports";
    else if (issue->until_users && issue->n_users >= issue->until_users)
        because = "users";
    for (size_t i = 0; code == FZ_OK && i < record->n_news; i++) {
        bool above = false;
        if (!counts_for(issue, record->news[i]))
            continue;
        const struct news news = news_of(record, record->news[i]);
        if (!because)
            code = is_above(record, issue, &news, &above, err);
        if (code == FZ_OK && (because || above))
            return reopen(record, issue, STORE_ISSUE_UNMUTED, &news, because ? because : "version",
                          err);
    }
    return code;
}

enum fz_code
store_regress_check(struct store_record *record, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    int64_t now = 0;
    if (record->deltas.n_closed && record->n_news)
        code = sql_now(record->store->sql, &now, err);
    for (size_t i = 0; code == FZ_OK && record->n_news && i < record->deltas.n_closed; i++) {
        struct closed issue;
        code = read_closed(record, record->deltas.closed[i], &issue, err);
        issue.now_ms = now;
        if (code == FZ_OK && issue.state == STORE_ISSUE_RESOLVED)
            code = check_resolved(record, &issue, err);
        else if (code == FZ_OK && issue.state == STORE_ISSUE_IGNORED)
            code = check_ignored(record, &issue, err);
    }
    return code;
}
