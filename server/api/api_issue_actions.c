/* What people do with an issue: PATCH, comments, merge, split, and the log of it. */
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_handlers.h"
#include "server/api/api_issue.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_session.h"
#include "server/query/query.h"
#include "storage/store_issue_state.h"

enum { ACTIVITY_PAGE = 50, ACTIVITY_MAX = 200, TITLE_MAX = 512, NAME_MAX_BYTES = 256 };

/* What a request for a change needs. */
struct asked {
    int64_t number;
    const char *actor;
    json_t *root; /* owned */
};

static void
asked_deinit(struct asked *asked)
{
    json_decref(asked->root);
}

static enum fz_code
find_number(const struct api_call *call, int64_t *ret, struct fz_error *err)
{
    const char *text = http_param(call->request, "number");
    int64_t number = 0;
    if (!text || !fz_text_i64(fz_span_cstr(text), &number) || number < 1)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %.40s", text ? text : "");
    *ret = number;
    return FZ_OK;
}

static enum fz_code
read_asked(struct api_call *call, struct asked *ret, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    enum fz_code code = find_number(call, &ret->number, err);
    if (code == FZ_OK)
        code = api_sender_name(call, &ret->actor, err);
    if (code == FZ_OK)
        code = json_scan_load(http_body(call->request), &scan, NULL, &ret->root, err);
    if (code == FZ_OK && !json_is_object(ret->root))
        code = fz_fail(err, FZ_E_MALFORMED, "the body must be an object");
    return code;
}

static enum fz_code
wrong(struct api_call *call, const char *path, const char *want, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "path", path);
    json_write_close(&w, '}');
    call->detail = out.failed ? NULL : fz_arena_text(call->arena, fz_buffer_span(&out));
    return fz_fail(err, FZ_E_MALFORMED, "%s: must be %s", path, want);
}

/* ---- PATCH ---------------------------------------------------------------------------------- */

static enum fz_code
read_fix(struct api_call *call, const json_t *value, struct store_fix *ret, struct fz_error *err)
{
    const char *text = json_string_value(value);
    *ret = (struct store_fix){.is_next = text && strcmp(text, "next") == 0};
    if (ret->is_next)
        return FZ_OK;
    ret->version = text ? text : json_string_value(json_object_get(value, "version"));
    ret->build = json_string_value(json_object_get(value, "build"));
    if (!ret->version || !*ret->version || strlen(ret->version) > NAME_MAX_BYTES)
        return wrong(call, "resolved_in",
                     "\"next\", a version (\"4.2\"), {\"version\":\"4.2\",\"build\":\"45\"}, or a "
                     "list of these",
                     err);
    return FZ_OK;
}

static enum fz_code
read_fixes(struct api_call *call, const json_t *value, struct store_issue_change *ret,
           struct fz_error *err)
{
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    if (n > STORE_ISSUE_FIXES)
        return fz_fail(err, FZ_E_LIMIT, "resolved_in: %zu versions, at most %d", n,
                       STORE_ISSUE_FIXES);
    struct store_fix *fixes = fz_arena_array(call->arena, n, sizeof(*fixes));
    if (!fixes)
        return fz_arena_fail(call->arena, err);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code =
            read_fix(call, json_is_array(value) ? json_array_get(value, i) : value, &fixes[i], err);
    ret->fixes = fixes;
    ret->n_fixes = n;
    return code;
}

static bool
read_count(const json_t *value, uint64_t *ret)
{
    json_int_t n = json_integer_value(value);
    *ret = n > 0 && n <= 1000 * 1000 * 1000 ? (uint64_t)n : 0;
    return !value || *ret;
}

/* "2026-12-01T00:00:00Z", "next", or an object of conditions. */
static enum fz_code
read_ignore(struct api_call *call, const json_t *value, struct store_ignore *ret,
            struct fz_error *err)
{
    const json_t *time = json_is_string(value) ? value : json_object_get(value, "time");
    const char *text = json_string_value(time);
    bool is_age = false;
    *ret =
        (struct store_ignore){.next_version = json_is_true(json_object_get(value, "next_version"))};
    if (json_is_string(value) && strcmp(text, "next") == 0) {
        ret->next_version = true;
        return FZ_OK;
    }
    bool is_right = json_is_string(value) || json_is_object(value);
    if (time && (!text ||
                 !query_time_parse(fz_span_cstr(text), fz_time_now_ms(), &ret->until_ms, &is_age) ||
                 is_age))
        is_right = false;
    is_right = is_right && read_count(json_object_get(value, "reports"), &ret->n_reports) &&
               read_count(json_object_get(value, "users"), &ret->n_users);
    if (!is_right || (!ret->until_ms && !ret->n_reports && !ret->n_users && !ret->next_version))
        return wrong(call, "ignore_until",
                     "a time (\"2026-12-01T00:00:00Z\"), \"next\" for the next version, or an "
                     "object with time, reports, users, next_version",
                     err);
    return FZ_OK;
}

static enum fz_code
read_state(struct api_call *call, const json_t *root, struct store_issue_change *ret,
           struct fz_error *err)
{
    static const char *const names[] = {"open", "resolved", "ignored"};
    const json_t *state = json_object_get(root, "state");
    const json_t *fixes = json_object_get(root, "resolved_in");
    const json_t *until = json_object_get(root, "ignore_until");
    const char *name = state   ? json_string_value(state)
                       : fixes ? names[STORE_ISSUE_RESOLVED]
                       : until ? names[STORE_ISSUE_IGNORED]
                               : NULL;
    size_t i = 0;
    if (!state && !name)
        return FZ_OK;
    while (i < FZ_ARRAY_LEN(names) && (!name || strcmp(name, names[i]) != 0))
        i++;
    if (i == FZ_ARRAY_LEN(names))
        return wrong(call, "state", "open, resolved or ignored", err);
    ret->set_state = true;
    ret->state = (enum store_issue_state)i;
    if (fixes && !json_is_null(fixes) && ret->state != STORE_ISSUE_RESOLVED)
        return wrong(call, "resolved_in", "absent unless the state is resolved", err);
    if (until && !json_is_null(until) && ret->state != STORE_ISSUE_IGNORED)
        return wrong(call, "ignore_until", "absent unless the state is ignored", err);
    enum fz_code code = FZ_OK;
    if (fixes && !json_is_null(fixes))
        code = read_fixes(call, fixes, ret, err);
    if (code == FZ_OK && until && !json_is_null(until))
        code = read_ignore(call, until, &ret->ignore, err);
    return code;
}

/* A text or null; `set` says whether it is there. */
static enum fz_code
read_text(struct api_call *call, const struct asked *asked, const char *key, size_t max, bool *set,
          const char **ret, struct fz_error *err)
{
    const json_t *value = json_object_get(asked->root, key);
    *set = value != NULL;
    *ret = json_string_value(value);
    if (value && !json_is_null(value) && (!*ret || strlen(*ret) > max))
        return wrong(call, key, "a text that is not too long, or null", err);
    return FZ_OK;
}

static enum fz_code
check_members(const json_t *root, const char *known, struct fz_error *err)
{
    const char *key;
    json_t *value;
    /* jansson's loop takes no pointer to const. */
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (!api_is_choice(known, key))
            return fz_fail(err, FZ_E_MALFORMED, "'%.40s' is not one of: %s", key, known);
    }
    return FZ_OK;
}

/* The issue as it is now, without its numbers. */
static enum fz_code
answer_state(struct api_call *call, int64_t number, struct fz_error *err)
{
    struct store_issue issue;
    struct store_issue_terms terms;
    enum fz_code code =
        store_issue_get(call->store, call->project_id, number, call->arena, &issue, err);
    if (code == FZ_OK)
        code = store_issue_terms(call->store, call->project_id, number, call->arena, &terms, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_i64(&w, "number", issue.number);
    json_write_text(&w, "title", issue.title);
    json_write_text(&w, "kind", issue.kind);
    json_write_text(&w, "state", api_issue_state_name(issue.state));
    json_write_bool(&w, "regressed", issue.is_regressed);
    api_issue_write_terms(&w, &issue, &terms);
    json_write_text(&w, "assignee", issue.assignee);
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_issue_patch(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(asked_deinit) struct asked asked = {0};
    struct store_issue_change change = {0};
    enum fz_code code = read_asked(call, &asked, err);
    if (code == FZ_OK)
        code = check_members(asked.root, "state, resolved_in, ignore_until, assignee, title", err);
    if (code == FZ_OK)
        code = read_state(call, asked.root, &change, err);
    if (code == FZ_OK)
        code = read_text(call, &asked, "assignee", NAME_MAX_BYTES, &change.set_assignee,
                         &change.assignee, err);
    if (code == FZ_OK)
        code = read_text(call, &asked, "title", TITLE_MAX, &change.set_title, &change.title, err);
    if (code == FZ_OK && !change.set_state && !change.set_assignee && !change.set_title)
        code = fz_fail(err, FZ_E_MALFORMED,
                       "nothing to change: state, resolved_in, ignore_until, assignee or title");
    change.actor = asked.actor;
    if (code == FZ_OK)
        code = store_issue_change(call->store, call->project_id, asked.number, &change, err);
    return code == FZ_OK ? answer_state(call, asked.number, err) : code;
}

/* ---- comments, merge, split ----------------------------------------------------------------- */

static enum fz_code
answer_activity(struct api_call *call, int64_t number, int status, size_t limit, const char *cursor,
                struct fz_error *err)
{
    struct store_page page = {.cursor = cursor, .limit = limit};
    struct store_activity *list;
    enum fz_code code =
        store_activity_list(call->store, call->project_id, number, &page, call->arena, &list, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "activity", '[');
    for (size_t i = 0; i < page.n; i++) {
        json_write_open(&w, NULL, '{');
        json_write_time(&w, "at", list[i].at_ms);
        json_write_text(&w, "actor", list[i].actor);
        json_write_text(&w, "kind", list[i].kind);
        if (list[i].number != number)
            json_write_i64(&w, "issue", list[i].number);
        json_write_raw(&w, "detail", list[i].detail);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_text(&w, "next_cursor", page.next);
    return api_answer(call, status, &w, '}', err);
}

enum fz_code
api_issue_activity(struct api_call *call, struct fz_error *err)
{
    struct store_issue issue;
    bool is_redirected = false;
    size_t limit = 0;
    enum fz_code code = api_query_limit(call->request, ACTIVITY_PAGE, ACTIVITY_MAX, &limit, err);
    if (code == FZ_OK)
        code = api_issue_find(call, "/activity", &issue, &is_redirected, err);
    return code == FZ_OK && !is_redirected
               ? answer_activity(call, issue.number, 200, limit,
                                 http_query(call->request, "cursor"), err)
               : code;
}

enum fz_code
api_issue_comment(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(asked_deinit) struct asked asked = {0};
    enum fz_code code = read_asked(call, &asked, err);
    if (code != FZ_OK)
        return code;
    const char *text = json_string_value(json_object_get(asked.root, "text"));
    if (!text)
        return wrong(call, "text", "the comment's text", err);
    code = store_issue_comment(call->store, call->project_id, asked.number, asked.actor, text, err);
    return code == FZ_OK ? answer_activity(call, asked.number, 201, 1, NULL, err) : code;
}

enum fz_code
api_issue_merge(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(asked_deinit) struct asked asked = {0};
    enum fz_code code = read_asked(call, &asked, err);
    if (code != FZ_OK)
        return code;
    json_int_t into = json_integer_value(json_object_get(asked.root, "into"));
    if (into < 1)
        return wrong(call, "into", "the number of the issue that gets the reports", err);
    code = store_issue_merge(call->store, call->project_id, asked.number, into, asked.actor, err);
    return code == FZ_OK ? answer_state(call, into, err) : code;
}

enum fz_code
api_issue_split(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(asked_deinit) struct asked asked = {0};
    int64_t number = 0;
    enum fz_code code = read_asked(call, &asked, err);
    if (code != FZ_OK)
        return code;
    const char *variant = json_string_value(json_object_get(asked.root, "variant"));
    if (!variant || !*variant)
        return wrong(call, "variant", "a variant of the issue, as reports and its list name it",
                     err);
    code = store_issue_split(call->store, call->project_id, asked.number, variant, asked.actor,
                             &number, err);
    return code == FZ_OK ? answer_state(call, number, err) : code;
}
