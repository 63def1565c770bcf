/* The list of issues, and the values that there are to select by. */
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "server/api/api_handlers.h"
#include "server/api/api_issue.h"
#include "server/api/api_query.h"
#include "server/api/api_search.h"

enum {
    LIST_DEFAULT = 50,
    LIST_MAX = 500,
    VALUES_DEFAULT = 20,
    VALUES_MAX = 100,
    REASON_BYTES = 200
};

/* ---- what an issue looks like ------------------------------------------------------------ */

const char *
api_issue_state_name(enum store_issue_state state)
{
    static const char *const names[] = {[STORE_ISSUE_OPEN] = "open",
                                        [STORE_ISSUE_RESOLVED] = "resolved",
                                        [STORE_ISSUE_IGNORED] = "ignored"};
    return names[state];
}

void
api_issue_write(struct json_write *w, const struct store_issue *issue)
{
    json_write_i64(w, "number", issue->number);
    json_write_text(w, "title", issue->title);
    if (*issue->kind)
        json_write_text(w, "kind", issue->kind);
    json_write_text(w, "state", api_issue_state_name(issue->state));
    json_write_bool(w, "regressed", issue->is_regressed);
    if (issue->is_placeholder)
        json_write_bool(w, "placeholder", true);
    json_write_time(w, "first_seen", issue->first_ms);
    json_write_time(w, "last_seen", issue->last_ms);
    json_write_text(w, "first_version", issue->first_version);
    json_write_text(w, "first_build", issue->first_build);
    json_write_text(w, "last_version", issue->last_version);
    json_write_text(w, "last_build", issue->last_build);
    json_write_u64(w, "reports", issue->n_reports);
    json_write_u64(w, "users", issue->n_users);
    json_write_text(w, "assignee", issue->assignee);
}

void
api_issue_write_trend(struct json_write *w, const uint32_t *trend)
{
    json_write_open(w, "trend", '[');
    for (size_t i = 0; i < STORE_TREND; i++)
        json_write_u64(w, NULL, trend[i]);
    json_write_close(w, ']');
}

void
api_issue_write_terms(struct json_write *w, const struct store_issue *issue,
                      const struct store_issue_terms *terms)
{
    if (issue->state == STORE_ISSUE_RESOLVED) {
        json_write_open(w, "resolved_in", '[');
        for (size_t i = 0; i < terms->n_fixes; i++) {
            json_write_open(w, NULL, '{');
            json_write_text(w, terms->fixes[i].is_next ? "after" : "version",
                            terms->fixes[i].version);
            json_write_text(w, "build", terms->fixes[i].build);
            json_write_close(w, '}');
        }
        json_write_close(w, ']');
    }
    if (issue->state == STORE_ISSUE_IGNORED) {
        json_write_open(w, "ignore_until", '{');
        json_write_time(w, "time", terms->until_ms);
        if (terms->n_reports)
            json_write_u64(w, "reports", terms->n_reports);
        if (terms->n_users)
            json_write_u64(w, "users", terms->n_users);
        json_write_text(w, "after", terms->above_version);
        json_write_close(w, '}');
    }
}

/* ---- the list ---------------------------------------------------------------------------- */

static enum fz_code
read_sort(struct api_call *call, enum store_issue_sort *ret, struct fz_error *err)
{
    static const char *const names[] = {[STORE_ISSUES_BY_USERS] = "users",
                                        [STORE_ISSUES_BY_REPORTS] = "reports",
                                        [STORE_ISSUES_BY_LAST_SEEN] = "last_seen",
                                        [STORE_ISSUES_BY_FIRST_SEEN] = "first_seen",
                                        [STORE_ISSUES_BY_TREND] = "trend"};
    const char *text = http_query(call->request, "sort");
    *ret = STORE_ISSUES_BY_USERS;
    for (size_t i = 0; text && i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum store_issue_sort)i;
            return FZ_OK;
        }
    }
    return text
               ? fz_fail(err, FZ_E_MALFORMED,
                         "sort: '%.40s' is not one of users, reports, last_seen, first_seen, trend",
                         text)
               : FZ_OK;
}

/* What its newest report says. A reason may be as long as a text of a report. */
static void
write_crash(struct json_write *w, const struct store_issue *issue)
{
    struct fz_span reason = fz_span_cstr(issue->reason ? issue->reason : "");
    json_write_text(w, "exception", issue->exception);
    json_write_text(w, "signal", issue->signal);
    if (reason.len == 0)
        return;
    if (reason.len > REASON_BYTES)
        reason.len = REASON_BYTES;
    /* Not within a character. */
    while (reason.len < strlen(issue->reason) && (issue->reason[reason.len] & 0xc0) == 0x80)
        reason.len--;
    json_write_span(w, "reason", reason);
}

enum fz_code
api_issue_list(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    struct store_issue_page issues = {0};
    struct store_issue_search search = {.query = &query};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    enum fz_code code = api_search_read(call, "sort, limit, cursor", &query, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = read_sort(call, &search.sort, err);
    if (code == FZ_OK)
        code = store_issue_list(call->store, call->project_id, &search, &page, call->arena, &issues,
                                err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "issues", '[');
    for (size_t i = 0; i < issues.n; i++) {
        json_write_open(&w, NULL, '{');
        api_issue_write(&w, &issues.issues[i].issue);
        write_crash(&w, &issues.issues[i].issue);
        api_issue_write_trend(&w, issues.issues[i].trend);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_time(&w, "trend_start", issues.trend.start_ms);
    json_write_i64(&w, "trend_step_ms", issues.trend.step_ms);
    json_write_text(&w, "next_cursor", page.next);
    if (issues.n == 0)
        api_search_write_notes(call, &w);
    return api_answer(call, 200, &w, '}', err);
}

/* ---- values ------------------------------------------------------------------------------ */

/* "version", "env", "tag" for names of tags, "tag.channel" for its values. */
static enum fz_code
read_field(struct api_call *call, struct store_value_search *ret, struct fz_error *err)
{
    const char *name = http_query(call->request, "field");
    if (!name)
        return fz_fail(err, FZ_E_MALFORMED, "field: missing; it is a key of the query language");
    bool is_tag = strncmp(name, "tag.", 4) == 0 && name[4];
    ret->field = is_tag ? STORE_FIELD_TAG : store_field_find(fz_span_cstr(name));
    ret->tag = is_tag ? name + 4 : NULL;
    if (ret->field < STORE_FIELDS)
        return FZ_OK;
    struct fz_suggest suggest;
    fz_suggest_start(&suggest, name);
    for (size_t i = 0; i < STORE_FIELDS; i++)
        fz_suggest_try(&suggest, store_field_row((enum store_field)i)->name);
    return fz_fail(err, FZ_E_MALFORMED, "field: '%.40s' is not a key of the query language%s", name,
                   fz_suggest_question(&suggest));
}

enum fz_code
api_value_list(struct api_call *call, struct fz_error *err)
{
    struct store_value_search search = {.prefix = http_query(call->request, "prefix")};
    struct store_value *values = NULL;
    size_t n = 0;
    enum fz_code code =
        api_query_limit(call->request, VALUES_DEFAULT, VALUES_MAX, &search.limit, err);
    if (code == FZ_OK)
        code = read_field(call, &search, err);
    if (!search.prefix)
        search.prefix = "";
    if (code == FZ_OK && strlen(search.prefix) > STORE_QUERY_TEXT)
        code = fz_fail(err, FZ_E_MALFORMED, "prefix: more than %d bytes", (int)STORE_QUERY_TEXT);
    if (code == FZ_OK)
        code = store_values(call->store, call->project_id, &search, call->arena, &values, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "values", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "value", values[i].text);
        if (values[i].n)
            json_write_u64(&w, "reports", values[i].n);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}
