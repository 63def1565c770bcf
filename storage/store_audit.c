#include "storage/store_audit.h"

#include <string.h>

#include "base/text.h"
#include "storage/store_private.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

/* A text that may be long, of a request. */
static const char *
cut(const char *text, char room[STORE_AUDIT_TEXT + 1])
{
    size_t len = text ? strlen(text) : 0;
    if (len <= STORE_AUDIT_TEXT)
        return text;
    len = STORE_AUDIT_TEXT;
    /* Not within a character. */
    while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
        len--;
    memcpy(room, text, len);
    room[len] = '\0';
    return room;
}

enum fz_code
store_audit_add(struct store *store, const struct store_audit *entry, struct fz_error *err)
{
    char actor[STORE_AUDIT_TEXT + 1], object[STORE_AUDIT_TEXT + 1], detail[STORE_AUDIT_TEXT + 1];
    int64_t now = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_int(entry->project_id),
                                     sql_int(now),
                                     sql_int(entry->sender_id),
                                     sql_text(cut(entry->actor, actor)),
                                     sql_text(entry->address),
                                     sql_text(entry->action),
                                     sql_text(cut(entry->object, object)),
                                     sql_text(cut(entry->detail, detail))};
    const struct sql_value old[] = {sql_int(now - STORE_AUDIT_DAYS * DAY_MS)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO audit (project_id, at_ms, sender_id, actor, address, action, "
                        "object, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM audit WHERE at_ms < $1", old, 1, NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
read_cursor(const struct store_page *page, int64_t *ret, struct fz_error *err)
{
    *ret = INT64_MAX;
    if (page->cursor && (!fz_text_i64(fz_span_cstr(page->cursor), ret) || *ret <= 0))
        return fz_fail(err, FZ_E_MALFORMED, "cursor: '%.40s' is not one of this list",
                       page->cursor);
    return FZ_OK;
}

enum fz_code
store_audit_list(struct store *store, const struct store_audit_filter *filter,
                 struct store_page *page, struct fz_arena *arena, struct store_audit **ret,
                 struct fz_error *err)
{
    int64_t before;
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_audit)};
    enum fz_code code = read_cursor(page, &before, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_int(filter->project_id),
                                     sql_int(filter->with_global),
                                     sql_text(filter->action ? filter->action : ""),
                                     sql_text(filter->actor ? filter->actor : ""),
                                     sql_int(filter->since_ms),
                                     sql_int(filter->until_ms ? filter->until_ms : INT64_MAX),
                                     sql_int(before),
                                     sql_int((int64_t)page->limit + 1)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = sql_query(
        store->sql,
        "SELECT id, at_ms, project_id, sender_id, actor, address, action, object, detail "
        "FROM audit WHERE (project_id = $1 OR (project_id = 0 AND $2 = 1)) AND (action = "
        "$3 OR $3 = '') AND (actor = $4 OR $4 = '') AND at_ms >= $5 AND at_ms < $6 AND id "
        "< $7 ORDER BY id DESC LIMIT $8",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_audit *entry; (entry = sql_list_next(&rows, &list, &code, err));)
        *entry = (struct store_audit){.id = sql_col_int(&rows, 0),
                                      .at_ms = sql_col_int(&rows, 1),
                                      .project_id = sql_col_int(&rows, 2),
                                      .sender_id = sql_col_int(&rows, 3),
                                      .actor = sql_col_text(&rows, 4, arena),
                                      .address = sql_col_text(&rows, 5, arena),
                                      .action = sql_col_text(&rows, 6, arena),
                                      .object = sql_col_text(&rows, 7, arena),
                                      .detail = sql_col_text(&rows, 8, arena)};
    size_t n = 0;
    code = sql_list_done(&list, code, ret, &n);
    if (code != FZ_OK)
        return code;
    page->next = NULL;
    if (n > page->limit) {
        n = page->limit;
        page->next = fz_arena_printf(arena, "%lld", (long long)(*ret)[n - 1].id);
        if (!page->next)
            return fz_arena_fail(arena, err);
    }
    page->n = n;
    return FZ_OK;
}
