/*
 * What there is, for other programs: reports and issues as JSON Lines, issues and versions as CSV.
 *
 * Without ?limit= and ?cursor= reports and issues are streamed, all of them. With either the answer is a page: X-Next-Cursor says
 * where the next one begins, and is missing on the last one; no page holds more in memory than EXPORT_BYTES and what ten reports
 * take.
 */
#include "server/api/api_export.h"

#include <stdio.h>
#include <string.h>

#include "base/json/walk.h"
#include "base/list.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_escape.h"
#include "server/api/api_fetch.h"
#include "server/api/api_handlers.h"
#include "server/api/api_hide.h"
#include "server/api/api_issue.h"
#include "server/api/api_report_issue.h"
#include "server/api/api_search.h"
#include "server/api/api_stream.h"
#include "server/api/api_versions.h"
#include "storage/store_report_search.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 1000,
    VERSIONS_MAX = 5000,
    REPORTS_AT_ONCE = 10,   /* read between two looks at the size of a page */
    STREAMED_REPORTS = 100, /* rows that a stream reads at once, and keeps meanwhile */
    STREAMED_ISSUES = 500,  /* read at once: about one piece; all issues are counted for them */
    CURSOR_TEXT = 160,
    EXPORT_BYTES = 16 * 1024 * 1024
};

static const char lines_type[] = "application/x-ndjson", csv_type[] = "text/csv; charset=utf-8";

static void
add_file_name(struct api_call *call, const char *type)
{
    http_add_header(call->request, "Content-Disposition",
                    type == csv_type ? "attachment; filename=\"export.csv\""
                                     : "attachment; filename=\"export.jsonl\"");
}

static enum fz_code
send_export(struct api_call *call, const char *type, const struct fz_buffer *out,
            const char *next_cursor, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(out, err);
    if (code != FZ_OK)
        return code;
    if (next_cursor)
        http_add_header(call->request, "X-Next-Cursor", next_cursor);
    add_file_name(call, type);
    http_respond(call->request, 200, type, fz_buffer_span(out));
    return FZ_OK;
}

/* Is it a page that the request asks for? */
static bool
wants_page(const struct api_call *call)
{
    return http_query(call->request, "limit") || http_query(call->request, "cursor");
}

/* Where the next page begins, beyond the arena that the cursor is in; "" = nowhere. */
static void
keep_cursor(char cursor[CURSOR_TEXT], const char *next)
{
    snprintf(cursor, CURSOR_TEXT, "%s", next ? next : "");
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

static enum fz_code
send_report_page(struct api_call *call, const struct store_query *query, bool with_values,
                 struct fz_error *err)
{
    const struct store_report_search search = {query, STORE_NEWEST_FIRST};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    size_t limit = 0, n = 0;
    enum fz_code code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err);
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

/* A stream of reports. */
struct reports {
    struct store_query query;
    bool with_values;
    bool is_last;         /* the rows are the last ones */
    struct fz_arena rows; /* of the reports below */
    struct store_report *list;
    size_t n, at; /* the next one */
    char cursor[CURSOR_TEXT];
};

static enum fz_code
read_rows(struct api_call *call, struct reports *reports, struct fz_error *err)
{
    const struct store_report_search search = {&reports->query, STORE_NEWEST_FIRST};
    struct store_page page = {.cursor = *reports->cursor ? reports->cursor : NULL,
                              .limit = STREAMED_REPORTS};
    fz_arena_deinit(&reports->rows);
    fz_arena_init(&reports->rows, call->arena->cap);
    reports->n = reports->at = 0;
    enum fz_code code = store_report_search(call->store, call->project_id, &search, &page,
                                            &reports->rows, &reports->list, err);
    if (code != FZ_OK)
        return code;
    reports->n = page.n;
    reports->is_last = !page.next;
    keep_cursor(reports->cursor, page.next);
    return FZ_OK;
}

/* In an arena of its own: together, large reports would take more than one call may. */
static enum fz_code
stream_report(struct api_call *call, const struct store_report *report, bool with_values,
              struct fz_buffer *out, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(call->arena->cap);
    struct fz_arena *before = call->arena;
    call->arena = &arena;
    enum fz_code code = append_report(call, report, with_values, out, err);
    call->arena = before;
    /* Others may read a large one now. */
    api_gate_leave(call);
    /* A buffer that is full would never reach the size of a piece. */
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}

static enum fz_code
stream_reports(struct api_call *call, void *state, struct fz_buffer *out,
               enum http_stream_step *ret_step, struct fz_error *err)
{
    struct reports *reports = state;
    enum fz_code code = FZ_OK;
    bool is_done = false;
    while (code == FZ_OK && !is_done && out->len < HTTP_STREAM_PIECE) {
        if (reports->at < reports->n)
            code =
                stream_report(call, &reports->list[reports->at++], reports->with_values, out, err);
        else if (reports->is_last)
            is_done = true;
        else
            code = read_rows(call, reports, err);
    }
    *ret_step = is_done ? HTTP_STREAM_END : HTTP_STREAM_MORE;
    return code;
}

static void
end_reports(void *state)
{
    struct reports *reports = state;
    fz_arena_deinit(&reports->rows);
}

enum fz_code
api_export_reports(struct api_call *call, struct fz_error *err)
{
    struct reports *reports = fz_arena_alloc(call->arena, sizeof(*reports));
    if (!reports)
        return fz_arena_fail(call->arena, err);
    enum fz_code code = api_search_read(call, "limit, cursor, variables", &reports->query, err);
    if (code == FZ_OK)
        code = api_query_flag(call->request, "variables", &reports->with_values, err);
    if (code != FZ_OK)
        return code;
    if (wants_page(call))
        return send_report_page(call, &reports->query, reports->with_values, err);
    add_file_name(call, lines_type);
    const struct api_stream stream = {
        .content_type = lines_type, .piece = stream_reports, .state = reports, .end = end_reports};
    return api_stream_answer(call, &stream, err);
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

static void
append_issue_names(struct fz_buffer *out)
{
    fz_buffer_text(
        out, "number,title,kind,state,regressed,reports,users,first_seen,last_seen,first_version,"
             "first_build,last_version,last_build,assignee\r\n");
}

static void
append_issue(struct fz_buffer *out, const struct store_listed_issue *listed, bool is_csv)
{
    if (is_csv)
        append_issue_row(out, &listed->issue);
    else
        append_issue_line(out, listed);
}

static enum fz_code
send_issue_page(struct api_call *call, const struct store_query *query, bool is_csv,
                struct fz_error *err)
{
    const struct store_issue_search search = {.query = query, .sort = STORE_ISSUES_BY_USERS};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    struct store_issue_page issues = {.n = 0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum fz_code code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = store_issue_list(call->store, call->project_id, &search, &page, call->arena, &issues,
                                err);
    if (code != FZ_OK)
        return code;
    if (is_csv)
        append_issue_names(&out);
    for (size_t i = 0; i < issues.n; i++)
        append_issue(&out, &issues.issues[i], is_csv);
    return send_export(call, is_csv ? csv_type : lines_type, &out, page.next, err);
}

/* A stream of issues. */
struct issues {
    struct store_query query;
    bool is_csv, has_begun;
    char cursor[CURSOR_TEXT];
    uint8_t *sent; /* a bit for each number; in `arena` */
    size_t n_sent; /* bytes */
    struct fz_arena arena;
};

/* An issue gets an earlier first report when another is merged into it, and so a later place in the list. *ret_is_new: it was
 * not sent yet. */
static enum fz_code
mark_sent(struct issues *issues, int64_t number, bool *ret_is_new, struct fz_error *err)
{
    size_t byte = (size_t)number / 8, room = issues->n_sent;
    uint8_t bit = (uint8_t)(1u << (number % 8));
    if (byte >= room) {
        uint8_t *grown = fz_list_grow_in(&issues->arena, issues->sent, &room, byte + 1, 1);
        if (!grown)
            return fz_arena_fail(&issues->arena, err);
        issues->sent = grown;
        issues->n_sent = room;
    }
    *ret_is_new = !(issues->sent[byte] & bit);
    issues->sent[byte] |= bit;
    return FZ_OK;
}

static enum fz_code
stream_issues(struct api_call *call, void *state, struct fz_buffer *out,
              enum http_stream_step *ret_step, struct fz_error *err)
{
    struct issues *issues = state;
    /* Not by users, as pages are: that order changes while the stream goes on, and issues would be missing. */
    const struct store_issue_search search = {.query = &issues->query,
                                              .sort = STORE_ISSUES_BY_FIRST_SEEN};
    struct store_page page = {.cursor = *issues->cursor ? issues->cursor : NULL,
                              .limit = STREAMED_ISSUES};
    struct store_issue_page found = {.n = 0};
    enum fz_code code =
        store_issue_list(call->store, call->project_id, &search, &page, call->arena, &found, err);
    if (code == FZ_OK && issues->is_csv && !issues->has_begun)
        append_issue_names(out);
    issues->has_begun = true;
    for (size_t i = 0; code == FZ_OK && i < found.n; i++) {
        bool is_new = false;
        code = mark_sent(issues, found.issues[i].issue.number, &is_new, err);
        if (is_new)
            append_issue(out, &found.issues[i], issues->is_csv);
    }
    keep_cursor(issues->cursor, page.next);
    *ret_step = page.next ? HTTP_STREAM_MORE : HTTP_STREAM_END;
    return code;
}

static void
end_issues(void *state)
{
    struct issues *issues = state;
    fz_arena_deinit(&issues->arena);
}

enum fz_code
api_export_issues(struct api_call *call, struct fz_error *err)
{
    struct issues *issues = fz_arena_alloc(call->arena, sizeof(*issues));
    if (!issues)
        return fz_arena_fail(call->arena, err);
    fz_arena_init(&issues->arena, call->arena->cap);
    enum fz_code code = api_search_read(call, "format, limit, cursor", &issues->query, err);
    if (code == FZ_OK)
        code = read_is_csv(call, &issues->is_csv, err);
    if (code != FZ_OK)
        return code;
    if (wants_page(call))
        return send_issue_page(call, &issues->query, issues->is_csv, err);
    const char *type = issues->is_csv ? csv_type : lines_type;
    add_file_name(call, type);
    const struct api_stream stream = {
        .content_type = type, .piece = stream_issues, .state = issues, .end = end_issues};
    return api_stream_answer(call, &stream, err);
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
