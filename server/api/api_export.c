/*
 * What there is, for other programs: reports and issues as JSON Lines, issues and versions as CSV.
 *
 * An answer is a page: X-Next-Cursor says where the next one begins, and is missing on the last one. So no answer holds more in
 * memory than EXPORT_BYTES and what one report takes.
 */
#include "server/api/api_export.h"

#include <stdio.h>
#include <string.h>

#include "base/json/walk.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_escape.h"
#include "server/api/api_fetch.h"
#include "server/api/api_handlers.h"
#include "server/api/api_hide.h"
#include "server/api/api_issue.h"
#include "server/api/api_report_issue.h"
#include "server/api/api_search.h"
#include "server/api/api_versions.h"
#include "storage/store_report_search.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 1000,
    VERSIONS_MAX = 5000,
    REPORTS_AT_ONCE = 10, /* read between two looks at the size of the answer */
    EXPORT_BYTES = 16 * 1024 * 1024
};

static const char lines_type[] = "application/x-ndjson", csv_type[] = "text/csv; charset=utf-8";

static enum fz_code
send_export(struct api_call *call, const char *type, const struct fz_buffer *out,
            const char *next_cursor, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(out, err);
    if (code != FZ_OK)
        return code;
    if (next_cursor)
        http_add_header(call->request, "X-Next-Cursor", next_cursor);
    http_add_header(call->request, "Content-Disposition",
                    type == csv_type ? "attachment; filename=\"export.csv\""
                                     : "attachment; filename=\"export.jsonl\"");
    http_respond(call->request, 200, type, fz_buffer_span(out));
    return FZ_OK;
}

/* ---- reports ---- */

/* One that has no result yet: what lists show of it. */
static enum fz_code
append_summary_line(const struct store_report *report, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    api_append_summary(&w, report);
    fz_buffer_char(out, '\n');
    return FZ_OK;
}

enum fz_code
api_export_report(struct api_call *call, const struct store_report *report, bool with_values,
                  struct fz_span *ret, struct fz_error *err)
{
    bool is_hidden = false;
    enum fz_code code = api_fetch(call, report->id, STORE_REPORT_RESULT, 3, ret, err);
    if (code == FZ_OK && ret->len)
        code = api_report_issue(call, report, ret, err);
    if (code != FZ_OK || !ret->len)
        return code;
    /* Asking is not enough: the token needs the scope, too. */
    if (with_values)
        return api_hide_values(call, report, ret, err);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer copy = fz_buffer_make(0);
    api_hide_copy(*ret, false, &copy, &is_hidden);
    code = fz_buffer_done(&copy, err);
    const char *text = code == FZ_OK ? fz_arena_text(call->arena, fz_buffer_span(&copy)) : NULL;
    if (code == FZ_OK && !text)
        return fz_arena_fail(call->arena, err);
    *ret = text ? fz_span_cstr(text) : *ret;
    return code;
}

static enum fz_code
append_report(struct api_call *call, const struct store_report *report, bool with_values,
              struct fz_buffer *out, struct fz_error *err)
{
    struct fz_span json = {NULL, 0};
    enum fz_code code = api_export_report(call, report, with_values, &json, err);
    /* Deleted since the list was read. */
    if (code == FZ_E_NOT_FOUND)
        return FZ_OK;
    if (code != FZ_OK)
        return code;
    if (!json.len)
        return append_summary_line(report, out);
    /* Parts of it are as the client sent them, with line breaks. */
    json_walk_compact(json, out);
    fz_buffer_char(out, '\n');
    return FZ_OK;
}

enum fz_code
api_export_reports(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    const struct store_report_search search = {&query, STORE_NEWEST_FIRST};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    size_t limit = 0, n = 0;
    bool with_values = false;
    enum fz_code code = api_search_read(call, "limit, cursor, variables", &query, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err);
    if (code == FZ_OK)
        code = api_query_flag(call->request, "variables", &with_values, err);
    do {
        struct store_report *reports = NULL;
        size_t left = limit - n;
        page.limit = left < REPORTS_AT_ONCE ? left : REPORTS_AT_ONCE;
        if (code == FZ_OK)
            code = store_report_search(call->store, call->project_id, &search, &page, call->arena,
                                       &reports, err);
        for (size_t i = 0; code == FZ_OK && i < page.n; i++)
            code = append_report(call, &reports[i], with_values, &out, err);
        n += page.n;
        page.cursor = page.next;
    } while (code == FZ_OK && page.next && n < limit && out.len < EXPORT_BYTES);
    return code == FZ_OK ? send_export(call, lines_type, &out, page.next, err) : code;
}

/* ---- issues ---- */

static void
append_time(struct fz_buffer *out, int64_t ms)
{
    char text[FZ_TIME_TEXT];
    fz_time_format(ms, text);
    fz_buffer_printf(out, ",%s", ms ? text : "");
}

static void
append_text(struct fz_buffer *out, const char *text)
{
    fz_buffer_char(out, ',');
    api_csv_text(out, text);
}

static void
append_issue_row(struct fz_buffer *out, const struct store_issue *issue)
{
    fz_buffer_printf(out, "%lld", (long long)issue->number);
    append_text(out, issue->title);
    append_text(out, issue->kind);
    append_text(out, api_issue_state_name(issue->state));
    fz_buffer_printf(out, ",%d,%llu,%llu", issue->is_regressed,
                     (unsigned long long)issue->n_reports, (unsigned long long)issue->n_users);
    append_time(out, issue->first_ms);
    append_time(out, issue->last_ms);
    append_text(out, issue->first_version);
    append_text(out, issue->first_build);
    append_text(out, issue->last_version);
    append_text(out, issue->last_build);
    append_text(out, issue->assignee);
    fz_buffer_text(out, "\r\n");
}

static void
append_issue_line(struct fz_buffer *out, const struct store_listed_issue *listed)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    api_issue_write(&w, &listed->issue);
    api_issue_write_trend(&w, listed->trend);
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
}

static enum fz_code
read_is_csv(struct api_call *call, bool *ret, struct fz_error *err)
{
    const char *format = http_query(call->request, "format");
    *ret = format && strcmp(format, "csv") == 0;
    return !format || *ret || strcmp(format, "jsonl") == 0
               ? FZ_OK
               : fz_fail(err, FZ_E_MALFORMED, "format: '%.40s' is not one of jsonl, csv", format);
}

enum fz_code
api_export_issues(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    const struct store_issue_search search = {.query = &query, .sort = STORE_ISSUES_BY_USERS};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    struct store_issue_page issues = {.n = 0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    bool is_csv = false;
    enum fz_code code = api_search_read(call, "format, limit, cursor", &query, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = read_is_csv(call, &is_csv, err);
    if (code == FZ_OK)
        code = store_issue_list(call->store, call->project_id, &search, &page, call->arena, &issues,
                                err);
    if (code != FZ_OK)
        return code;
    if (is_csv)
        fz_buffer_text(
            &out,
            "number,title,kind,state,regressed,reports,users,first_seen,last_seen,first_version,"
            "first_build,last_version,last_build,assignee\r\n");
    for (size_t i = 0; i < issues.n; i++) {
        if (is_csv)
            append_issue_row(&out, &issues.issues[i].issue);
        else
            append_issue_line(&out, &issues.issues[i]);
    }
    return send_export(call, is_csv ? csv_type : lines_type, &out, page.next, err);
}

/* ---- versions ---- */

static void
append_share(struct fz_buffer *out, uint64_t part, uint64_t all)
{
    char text[API_SHARE_TEXT];
    api_share_text(part, all, text);
    fz_buffer_printf(out, ",%s", all ? text : "");
}

static void
append_version_row(struct fz_buffer *out, const struct store_version *v,
                   const struct store_version_list *list)
{
    api_csv_text(out, v->version);
    append_text(out, v->build);
    append_text(out, !v->is_ordered ? "unordered" : v->is_invented ? "invented" : "");
    append_time(out, v->first_ms);
    append_time(out, v->last_ms);
    fz_buffer_printf(out, ",%llu,%llu,%llu", (unsigned long long)v->n_reports,
                     (unsigned long long)v->n_users, (unsigned long long)v->use.n_sessions);
    append_share(out, v->use.n_sessions - v->use.n_crashed, v->use.n_sessions);
    fz_buffer_printf(out, ",%llu", (unsigned long long)v->use.n_users);
    append_share(out, v->use.n_users - v->use.n_crashed_users, v->use.n_users);
    append_share(out, v->use.n_sessions, list->use.n_sessions);
    append_share(out, v->use.n_users, list->use.n_users);
    append_share(out, v->day.n_sessions, list->day.n_sessions);
    append_share(out, v->day.n_users, list->day.n_users);
    fz_buffer_printf(out, ",%llu,%llu,%llu\r\n", (unsigned long long)v->n_new,
                     (unsigned long long)v->n_regressed, (unsigned long long)v->n_fixed);
}

enum fz_code
api_export_versions(struct api_call *call, struct fz_error *err)
{
    struct store_version_range range;
    struct store_version_list list;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum fz_code code = api_versions_read(call, VERSIONS_MAX, VERSIONS_MAX, &range, &list, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_text(&out, "version,build,note,first_seen,last_seen,reports,users,sessions,crash_"
                         "free_sessions,session_users,"
                         "crash_free_users,adoption_sessions,adoption_users,adoption_sessions_24h,"
                         "adoption_users_24h,"
                         "new_issues,regressed_issues,fixed_issues\r\n");
    for (size_t i = 0; i < list.n; i++)
        append_version_row(&out, &list.versions[i], &list);
    return send_export(call, csv_type, &out, NULL, err);
}
