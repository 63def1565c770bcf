#include "storage/store_issue_state.h"

#include <string.h>

#include "base/json/write.h"
#include "base/version.h"
#include "storage/store_activity.h"
#include "storage/store_changed.h"
#include "storage/store_moves.h"
#include "storage/store_newest.h"
#include "storage/store_terms.h"

enum { WORK_MEMORY = 16 * 1024 * 1024, SWEEP_MOST = 100 };

static const char *const state_names[] = {"open", "resolved", "ignored"};

/* One change under way. */
struct work {
    struct sql *tx;
    struct fz_arena *arena;
    int64_t project_id, now_ms;
    const struct store_issue_change *change;
    struct store_issue_row issue;
};

static enum fz_code
note(struct work *w, const char *kind, struct fz_buffer *detail, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(detail, err);
    const struct store_activity_new entry = {w->project_id, w->issue.id, w->change->actor, kind,
                                             fz_buffer_cstr(detail)};
    return code == FZ_OK ? store_activity_add(w->tx, &entry, err) : code;
}

/* ---- state ---- */

static void
write_was(const struct work *w, struct json_write *json)
{
    json_write_open(json, "was", '{');
    json_write_text(json, "state", state_names[w->issue.state]);
    if (w->issue.is_regressed)
        json_write_bool(json, "regressed", true);
    json_write_close(json, '}');
}

/* `fix` in a version that may be the newest one's. */
static enum fz_code
put_fix(struct work *w, const struct store_fix *fix, const struct store_known_version *newest,
        struct json_write *json, struct fz_error *err)
{
    const char *version = fix->is_next ? newest->version : fix->version;
    const char *build = fix->is_next ? newest->build : fix->build;
    if (!fix->is_next && (!version || !fz_version_is_ordered(version)))
        return fz_fail(err, FZ_E_MALFORMED,
                       "the fix: '%s' is not a version with numbers, like 4.2 or 4.2.1",
                       version ? version : "");
    /* "next" without any version until now: the first one that comes. */
    if (!version)
        return FZ_OK;
    const struct sql_value args[] = {
        sql_int(w->issue.id),
        sql_text_clean(w->arena, version, STORE_TERM_BYTES),
        sql_text_clean(w->arena, build ? build : "", STORE_TERM_BYTES / 2),
        sql_int(fix->is_next),
        sql_text(newest->version ? newest->version : ""),
        sql_text(newest->build ? newest->build : "")};
    json_write_open(json, NULL, '{');
    json_write_text(json, fix->is_next ? "after" : "version", version);
    if (build && *build)
        json_write_text(json, "build", build);
    json_write_close(json, '}');
    return sql_exec(w->tx,
                    "INSERT INTO issue_fixes (issue_id, version, build, is_after, newest, "
                    "newest_build) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (issue_id, version, "
                    "build, is_after) DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
put_fixes(struct work *w, const struct store_known_version *newest, struct json_write *json,
          struct fz_error *err)
{
    const struct store_issue_change *change = w->change;
    /* Fixed as of now, wherever that was: from the highest version on. */
    const struct store_fix now = {newest->version, newest->build, false};
    enum fz_code code = FZ_OK;
    json_write_open(json, "fixes", '[');
    if (change->n_fixes == 0 && newest->version)
        code = put_fix(w, &now, newest, json, err);
    for (size_t i = 0; code == FZ_OK && i < change->n_fixes; i++)
        code = put_fix(w, &change->fixes[i], newest, json, err);
    json_write_close(json, ']');
    return code;
}

static struct sql_value
int_or_null(bool is_set, int64_t number)
{
    struct sql_value value = sql_int(number);
    value.is_null = !is_set;
    return value;
}

static void
write_ignore(const struct store_ignore *ignore, struct json_write *json)
{
    json_write_time(json, "until", ignore->until_ms);
    if (ignore->n_reports)
        json_write_u64(json, "reports", ignore->n_reports);
    if (ignore->n_users)
        json_write_u64(json, "users", ignore->n_users);
    if (ignore->next_version)
        json_write_bool(json, "next_version", true);
}

static enum fz_code
store_state(struct work *w, const struct store_known_version *newest, struct fz_error *err)
{
    const struct store_issue_change *change = w->change;
    const bool is_ignored = change->state == STORE_ISSUE_IGNORED;
    const struct store_ignore *ignore = &change->ignore;
    const bool next = is_ignored && ignore->next_version;
    /* Before the first version, any is above. */
    const char *above = newest->version ? newest->version : "0";
    const struct sql_value args[] = {
        sql_int(w->issue.id),
        sql_int(change->state),
        sql_int(w->now_ms),
        int_or_null(is_ignored && ignore->until_ms, ignore->until_ms),
        int_or_null(is_ignored && ignore->n_reports,
                    w->issue.n_reports + (int64_t)ignore->n_reports),
        int_or_null(is_ignored && ignore->n_users, w->issue.n_users + (int64_t)ignore->n_users),
        sql_text(next ? above : NULL),
        sql_text(next && newest->build ? newest->build : NULL)};
    enum fz_code code = sql_exec(
        w->tx,
        "UPDATE issues SET state = $2, is_regressed = 0, state_ms = $3, ignore_until_ms = $4, "
        "ignore_reports = $5, ignore_users = $6, ignore_version = $7, ignore_build = $8 WHERE id = "
        "$1",
        args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK
               ? sql_exec(w->tx, "DELETE FROM issue_fixes WHERE issue_id = $1", args, 1, NULL, err)
               : code;
}

static enum fz_code
set_state(struct work *w, struct fz_error *err)
{
    static const char *const kinds[] = {"reopened", "resolved", "ignored"};
    const struct store_issue_change *change = w->change;
    struct store_known_version newest = {NULL, NULL};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    enum fz_code code = FZ_OK;
    if (change->state == STORE_ISSUE_IGNORED && change->ignore.until_ms &&
        change->ignore.until_ms <= w->now_ms)
        return fz_fail(err, FZ_E_MALFORMED, "the time until which it is ignored has passed");
    if (change->state != STORE_ISSUE_OPEN)
        code = store_newest_version(w->tx, w->project_id, w->arena, &newest, err);
    if (code == FZ_OK)
        code = store_state(w, &newest, err);
    json_write_open(&json, NULL, '{');
    write_was(w, &json);
    if (code == FZ_OK && change->state == STORE_ISSUE_RESOLVED)
        code = put_fixes(w, &newest, &json, err);
    if (change->state == STORE_ISSUE_IGNORED)
        write_ignore(&change->ignore, &json);
    json_write_close(&json, '}');
    return code == FZ_OK ? note(w, kinds[change->state], &detail, err) : code;
}

/* ---- assignee and title ---- */

static enum fz_code
set_assignee(struct work *w, struct fz_error *err)
{
    const char *to = w->change->assignee && *w->change->assignee ? w->change->assignee : NULL;
    const struct sql_value args[] = {
        sql_int(w->issue.id), to ? sql_text_clean(w->arena, to, STORE_TEXT_SHORT) : sql_text(NULL)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    enum fz_code code = sql_exec(w->tx, "UPDATE issues SET assignee = $2 WHERE id = $1", args,
                                 FZ_ARRAY_LEN(args), NULL, err);
    json_write_open(&json, NULL, '{');
    json_write_text(&json, "was", w->issue.assignee);
    json_write_text(&json, "assignee", to);
    json_write_close(&json, '}');
    return code == FZ_OK ? note(w, "assigned", &detail, err) : code;
}

static enum fz_code
set_title(struct work *w, struct fz_error *err)
{
    const char *title = w->change->title && *w->change->title ? w->change->title : NULL;
    const struct sql_value args[] = {sql_int(w->issue.id),
                                     sql_text_clean(w->arena, title, STORE_TERM_BYTES)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    enum fz_code code =
        title ? sql_exec(w->tx, "UPDATE issues SET title = $2, title_is_ours = 0 WHERE id = $1",
                         args, FZ_ARRAY_LEN(args), NULL, err)
              : store_issue_retitle(w->tx, w->issue.id, true, err);
    json_write_open(&json, NULL, '{');
    json_write_text(&json, "was", w->issue.title);
    json_write_text(&json, "title", title);
    json_write_close(&json, '}');
    return code == FZ_OK ? note(w, "renamed", &detail, err) : code;
}

/* ---- all together ---- */

static enum fz_code
begin(struct store *store, int64_t number, struct work *w, struct sql **ret_tx,
      struct fz_error *err)
{
    enum fz_code code = sql_begin(store->sql, ret_tx, err);
    w->tx = store->sql;
    if (code == FZ_OK)
        code = store_issue_lock(w->tx, w->project_id, number, w->arena, &w->issue, err);
    return code == FZ_OK ? sql_now(w->tx, &w->now_ms, err) : code;
}

static enum fz_code
change_issue(struct store *store, int64_t project_id, int64_t number,
             const struct store_issue_change *change, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(WORK_MEMORY);
    struct work w = {.arena = &arena, .project_id = project_id, .change = change};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = begin(store, number, &w, &tx, err);
    if (code == FZ_OK && change->set_state)
        code = set_state(&w, err);
    if (code == FZ_OK && change->set_assignee)
        code = set_assignee(&w, err);
    if (code == FZ_OK && change->set_title)
        code = set_title(&w, err);
    if (code == FZ_OK)
        code = store_changed_issue(store, project_id, w.issue.id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_issue_change(struct store *store, int64_t project_id, int64_t number,
                   const struct store_issue_change *change, struct fz_error *err)
{
    int n_tries = 0;
    enum fz_code code;
    if (change->n_fixes > STORE_ISSUE_FIXES)
        return fz_fail(err, FZ_E_LIMIT, "fixes: %zu, at most %d", change->n_fixes,
                       STORE_ISSUE_FIXES);
    do
        code = change_issue(store, project_id, number, change, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}

static enum fz_code
comment(struct store *store, int64_t project_id, int64_t number,
        const struct store_issue_change *by, const char *text, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(WORK_MEMORY);
    struct work w = {.arena = &arena, .project_id = project_id, .change = by};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = begin(store, number, &w, &tx, err);
    json_write_open(&json, NULL, '{');
    json_write_text(&json, "text", text);
    json_write_close(&json, '}');
    if (code == FZ_OK)
        code = note(&w, "commented", &detail, err);
    if (code == FZ_OK)
        code = store_changed_issue(store, project_id, w.issue.id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_issue_comment(struct store *store, int64_t project_id, int64_t number, const char *actor,
                    const char *text, struct fz_error *err)
{
    const struct store_issue_change by = {.actor = actor};
    int n_tries = 0;
    enum fz_code code;
    if (!*text)
        return fz_fail(err, FZ_E_MALFORMED, "the comment has no text");
    if (strlen(text) > STORE_COMMENT_BYTES)
        return fz_fail(err, FZ_E_LIMIT, "the comment has %zu bytes, at most %d are allowed",
                       strlen(text), STORE_COMMENT_BYTES);
    do
        code = comment(store, project_id, number, &by, text, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}

/* ---- reading ---- */

static enum fz_code
read_terms(struct store *store, int64_t project_id, int64_t number, struct fz_arena *arena,
           struct store_issue_terms *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(number)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT title_is_ours, ignore_until_ms, ignore_reports, ignore_users, "
                  "ignore_version, ignore_build FROM issues WHERE project_id = $1 AND number = $2",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue %lld", (long long)number);
    if (code != FZ_OK)
        return code;
    *ret = (struct store_issue_terms){.title_is_ours = sql_col_int(&rows, 0) != 0,
                                      .until_ms = sql_col_int(&rows, 1),
                                      .n_reports = (uint64_t)sql_col_int(&rows, 2),
                                      .n_users = (uint64_t)sql_col_int(&rows, 3),
                                      .above_version = sql_col_text(&rows, 4, arena),
                                      .above_build = sql_col_text(&rows, 5, arena)};
    return sql_next(&rows, &row, err);
}

enum fz_code
store_issue_terms(struct store *store, int64_t project_id, int64_t number, struct fz_arena *arena,
                  struct store_issue_terms *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(number)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_fix)};
    struct store_issue_terms terms;
    enum fz_code code = read_terms(store, project_id, number, arena, &terms, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = sql_query(store->sql,
                     "SELECT f.version, f.build, f.is_after FROM issues i JOIN issue_fixes f ON "
                     "f.issue_id = i.id WHERE i.project_id = $1 AND i.number = $2 ORDER BY "
                     "f.version, f.build",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_fix *fix; (fix = sql_list_next(&rows, &list, &code, err));) {
        const char *build = sql_col_text(&rows, 1, arena);
        *fix = (struct store_fix){sql_col_text(&rows, 0, arena), build && *build ? build : NULL,
                                  sql_col_int(&rows, 2) != 0};
    }
    code = sql_list_done(&list, code, &terms.fixes, &terms.n_fixes);
    if (code == FZ_OK)
        *ret = terms;
    return code;
}

/* ---- time ---- */

static enum fz_code
unmute(struct store *store, int64_t id, int64_t project_id, int64_t now_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(now_ms)};
    const struct store_happened what = {
        .project_id = project_id, .issue_id = id, .event = STORE_ISSUE_UNMUTED, .because = "time"};
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE issues SET state = 0, ignore_until_ms = NULL, ignore_reports = "
                        "NULL, ignore_users = NULL, ignore_version = NULL, ignore_build = NULL "
                        "WHERE id = $1 AND state = 2 AND ignore_until_ms <= $2",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n)
        code = store_issue_happened(tx, &what, err);
    if (code == FZ_OK && n)
        code = store_changed_issue(store, project_id, id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_issue_sweep(struct store *store, uint64_t *ret_n, struct fz_error *err)
{
    struct due {
        int64_t id, project_id;
    } due[SWEEP_MOST];
    int64_t now = 0;
    size_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code == FZ_OK) {
        const struct sql_value args[] = {sql_int(now), sql_int(SWEEP_MOST)};
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query(store->sql,
                         "SELECT id, project_id FROM issues WHERE ignore_until_ms IS NOT NULL AND "
                         "ignore_until_ms <= $1 AND state = 2 AND merged_into IS NULL LIMIT $2",
                         args, FZ_ARRAY_LEN(args), &rows, err);
        while (n < SWEEP_MOST && sql_row(&rows, &code, err))
            due[n++] = (struct due){sql_col_int(&rows, 0), sql_col_int(&rows, 1)};
    }
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = unmute(store, due[i].id, due[i].project_id, now, err);
    if (code == FZ_OK)
        *ret_n = n;
    return code;
}
