/* The activity of issues: who did what to them, and what happened to them by itself. */
#include "storage/store_activity.h"

#include <stdlib.h>

#include "base/json/write.h"
#include "storage/store_event.h"
#include "storage/store_issue_state.h"

const char store_actor[] = "framezero";

/* ---- writing ---- */

enum fz_code
store_activity_add(struct sql *tx, const struct store_activity_new *entry, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {
        sql_int(entry->project_id), sql_int(entry->issue_id), sql_int(now),
        sql_text(entry->actor),     sql_text(entry->kind),    sql_text(entry->detail)};
    return code == FZ_OK ? sql_exec(tx,
                                    "INSERT INTO issue_activity (project_id, issue_id, at_ms, "
                                    "actor, kind, detail) VALUES ($1, $2, $3, $4, $5, $6)",
                                    args, FZ_ARRAY_LEN(args), NULL, err)
                         : code;
}

/* People hear of it: unless a new issue gets its names soon. */
static enum fz_code
add_event(struct sql *tx, const struct store_happened *what, struct fz_error *err)
{
    static const enum store_event_kind kinds[] = {
        [STORE_ISSUE_CREATED] = STORE_EVENT_ISSUE_CREATED,
        [STORE_ISSUE_REGRESSED] = STORE_EVENT_ISSUE_REGRESSED,
        [STORE_ISSUE_UNMUTED] = STORE_EVENT_ISSUE_UNMUTED};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer version = fz_buffer_make(0);
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    fz_buffer_text(&version, what->version ? what->version : "");
    if (what->version && what->build && *what->build)
        fz_buffer_printf(&version, " (%s)", what->build);
    if (code == FZ_OK)
        code = fz_buffer_done(&version, err);
    const struct store_event event = {
        .project_id = what->project_id,
        .kind = kinds[what->event],
        .issue_id = what->issue_id,
        .due_ms = what->waits_for_names ? now + STORE_EVENT_NAMES_MS : 0,
        .version = version.len ? fz_buffer_cstr(&version) : NULL,
        .detail = what->event == STORE_ISSUE_REGRESSED ? what->fixed_in : what->because};
    return code == FZ_OK ? store_event_add(tx, &event, err) : code;
}

enum fz_code
store_issue_happened(struct sql *tx, const struct store_happened *what, struct fz_error *err)
{
    static const char *const kinds[] = {[STORE_ISSUE_CREATED] = "created",
                                        [STORE_ISSUE_REGRESSED] = "regressed",
                                        [STORE_ISSUE_UNMUTED] = "unmuted"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    json_write_open(&json, NULL, '{');
    json_write_text(&json, "version", what->version);
    json_write_text(&json, "build", what->build);
    json_write_text(&json, "report", what->report);
    json_write_text(&json, "because", what->because);
    json_write_close(&json, '}');
    enum fz_code code = fz_buffer_done(&detail, err);
    const struct store_activity_new entry = {.project_id = what->project_id,
                                             .issue_id = what->issue_id,
                                             .actor = store_actor,
                                             .kind = kinds[what->event],
                                             .detail = fz_buffer_cstr(&detail)};
    if (code == FZ_OK)
        code = add_event(tx, what, err);
    return code == FZ_OK ? store_activity_add(tx, &entry, err) : code;
}

/* ---- reading ---- */

enum fz_code
store_activity_list(struct store *store, int64_t project_id, int64_t number,
                    struct store_page *page, struct fz_arena *arena, struct store_activity **ret,
                    struct fz_error *err)
{
    struct store_issue issue;
    int64_t before = INT64_MAX;
    if (page->cursor) {
        char *end;
        before = strtoll(page->cursor, &end, 10);
        if (before <= 0 || *end || !*page->cursor)
            return fz_fail(err, FZ_E_MALFORMED, "cursor: '%s' is not one of this list",
                           page->cursor);
    }
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_activity)};
    enum fz_code code = store_issue_get(store, project_id, number, arena, &issue, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(project_id), sql_int(number), sql_int(before),
                                     sql_int((int64_t)page->limit + 1)};
    int64_t id = 0, last = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* What was done to an issue that became part of this one is its history, too. */
    code = sql_query(store->sql,
                     "SELECT a.id, i.number, a.at_ms, a.actor, a.kind, a.detail FROM "
                     "issue_activity a JOIN issues i ON i.id = a.issue_id WHERE a.issue_id IN "
                     "(SELECT id FROM issues WHERE project_id = $1 AND number = $2 UNION ALL "
                     "SELECT m.id FROM issues t JOIN issues m ON m.merged_into = t.id WHERE "
                     "t.project_id = $1 AND t.number = $2) AND a.id < $3 ORDER BY a.id DESC LIMIT "
                     "$4",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    page->next = NULL;
    for (struct store_activity *entry; (entry = sql_list_next(&rows, &list, &code, err));) {
        last = id;
        id = sql_col_int(&rows, 0);
        *entry = (struct store_activity){.number = sql_col_int(&rows, 1),
                                         .at_ms = sql_col_int(&rows, 2),
                                         .actor = sql_col_text(&rows, 3, arena),
                                         .kind = sql_col_text(&rows, 4, arena),
                                         .detail = sql_col_text(&rows, 5, arena)};
    }
    size_t n = 0;
    code = sql_list_done(&list, code, ret, &n);
    if (code != FZ_OK)
        return code;
    if (n > page->limit) {
        n = page->limit;
        page->next = fz_arena_printf(arena, "%lld", (long long)last);
        if (!page->next)
            return fz_arena_fail(arena, err);
    }
    page->n = n;
    return FZ_OK;
}
