#include "storage/store_report_filter.h"

#include <stdio.h>

#include "base/text.h"

enum { LIST_MAX = 1000 };

/* ---- cursors ---- */

const char *
store_cursor_make(struct fz_arena *arena, int64_t time_ms, const char *id)
{
    char plain[64];
    int len = snprintf(plain, sizeof(plain), "%lld.%s", (long long)time_ms, id);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_text_base64_append(&text, fz_span_make(plain, (size_t)len));
    size_t n = text.len;
    /* Without padding and with the URL alphabet (RFC 4648, 5): cursors go into query strings. */
    while (n && text.data[n - 1] == '=')
        n--;
    char *cursor = text.failed ? NULL : fz_arena_text(arena, fz_span_make(text.data, n));
    for (char *c = cursor; c && *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return cursor;
}

enum fz_code
store_cursor_parse(const char *cursor, struct fz_arena *arena, int64_t *ret_time_ms, char *ret_id,
                   struct fz_error *err)
{
    static const char message[] = "the cursor is not one of this list's";
    struct fz_span plain = {NULL, 0};
    /* Ours are shorter; a longer one is not worth decoding. */
    if (strlen(cursor) > 100 ||
        fz_text_base64_decode(fz_span_cstr(cursor), arena, &plain, NULL) != FZ_OK || plain.len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    const uint8_t *dot = memchr(plain.data, '.', plain.len);
    /* A client may send anything: nothing of the text is trusted. */
    size_t n_time = dot ? (size_t)(dot - plain.data) : plain.len;
    size_t n_id = plain.len - n_time - (dot ? 1 : 0);
    int64_t time_ms;
    if (n_id == 0 || n_id >= STORE_ID_TEXT || memchr(plain.data, '\0', plain.len) ||
        !fz_text_i64(fz_span_make(plain.data, n_time), &time_ms))
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    memcpy(ret_id, plain.data + n_time + 1, n_id);
    ret_id[n_id] = '\0';
    *ret_time_ms = time_ms;
    return FZ_OK;
}

/* Lists by the time of the crash have cursors of their own: a cursor of the other kind would skip
 * reports silently. */
static const char CRASHED_MARK = 't';

static bool
is_by_crash(const struct store_report_filter *filter)
{
    return filter && (filter->order == STORE_CRASHED_LAST_FIRST ||
                      filter->order == STORE_CRASHED_FIRST_FIRST);
}

static bool
is_rising(const struct store_report_filter *filter)
{
    return filter &&
           (filter->order == STORE_OLDEST_FIRST || filter->order == STORE_CRASHED_FIRST_FIRST);
}

/* ---- the list ---- */

static enum fz_code
add_cursor(struct store_report_query *query, const struct store_report_filter *filter,
           const char *cursor, struct fz_error *err)
{
    int64_t time_ms;
    char id[STORE_ID_TEXT];
    if (!cursor)
        return FZ_OK;
    bool by_crash = is_by_crash(filter);
    /* Base64 of a digit or a minus sign never begins with this letter. */
    if ((*cursor == CRASHED_MARK) != by_crash)
        return fz_fail(err, FZ_E_MALFORMED, "the cursor is not one of this list's");
    cursor += by_crash;
    enum fz_code code = store_cursor_parse(cursor, query->arena, &time_ms, id, err);
    if (code != FZ_OK)
        return code;
    if (!store_is_id(id))
        return fz_fail(err, FZ_E_MALFORMED, "the cursor is not one of this list's");
    /* Arguments are borrowed until the rows are closed, which is after this function. */
    const char *copy = fz_arena_strdup(query->arena, id);
    if (!copy)
        return fz_arena_fail(query->arena, err);
    query->args[query->n_args++] = sql_int(time_ms);
    query->args[query->n_args++] = sql_text(copy);
    fz_buffer_printf(&query->text, " AND (%s, id) %c ($%zu, $%zu)",
                     by_crash ? "timestamp_ms" : "received_ms", is_rising(filter) ? '>' : '<',
                     query->n_args - 1, query->n_args);
    return FZ_OK;
}

static const char *
next_cursor(const struct store_report *last, const struct store_report_filter *filter,
            struct fz_arena *arena)
{
    if (!is_by_crash(filter))
        return store_cursor_make(arena, last->received_ms, last->id);
    const char *cursor = store_cursor_make(arena, last->timestamp_ms, last->id);
    return cursor ? fz_arena_printf(arena, "%c%s", CRASHED_MARK, cursor) : NULL;
}

static enum fz_code
read_page(const struct store *store, struct sql_rows *rows,
          const struct store_report_filter *filter, struct store_page *page, struct fz_arena *arena,
          struct store_report **ret, struct fz_error *err)
{
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_report)};
    const char *next = NULL;
    enum fz_code code = FZ_OK;
    for (struct store_report *one; (one = sql_list_next(rows, &list, &code, err));) {
        if (list.n > page->limit) { /* one more was asked for, only to know that it is there */
            list.n--;
            next = next_cursor(one - 1, filter, arena);
            if (!next)
                return fz_arena_fail(arena, err);
            break;
        }
        code = store_report_read(store, rows, arena, one, err);
    }
    if (code == FZ_OK)
        page->next = next;
    return sql_list_done(&list, code, ret, &page->n);
}

static enum fz_code
run_list(struct store *store, struct store_report_query *query,
         const struct store_report_filter *filter, const struct store_page *page,
         struct sql_rows *ret, struct fz_error *err)
{
    fz_buffer_printf(&query->text, "SELECT %s FROM reports WHERE project_id = $1 AND transient = 0",
                     store->select_report);
    enum fz_code code = store_report_query_filter(query, store, filter, err);
    if (code == FZ_OK)
        code = add_cursor(query, filter, page->cursor, err);
    if (code != FZ_OK)
        return code;
    const char *column = is_by_crash(filter) ? "timestamp_ms" : "received_ms";
    const char *way = is_rising(filter) ? "ASC" : "DESC";
    fz_buffer_printf(&query->text, " ORDER BY %s %s, id %s", column, way, way);
    /* One row more than wanted shows that there is another page. */
    store_report_query_add(query, " LIMIT ?", sql_int((int64_t)page->limit + 1));
    code = fz_buffer_done(&query->text, err);
    return code == FZ_OK ? sql_query_once(store->sql, fz_buffer_cstr(&query->text), query->args,
                                          query->n_args, ret, err)
                         : code;
}

enum fz_code
store_report_list(struct store *store, int64_t project_id, const struct store_report_filter *filter,
                  struct store_page *page, struct fz_arena *arena, struct store_report **ret,
                  struct fz_error *err)
{
    if (page->limit == 0 || page->limit > LIST_MAX)
        page->limit = LIST_MAX;
    struct store_report_query query = {.arena = arena, .like = store->sql->driver->like};
    query.args[query.n_args++] = sql_int(project_id);
    fz_buffer_init(&query.text, 0);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = run_list(store, &query, filter, page, &rows, err);
    fz_buffer_deinit(&query.text);
    return code == FZ_OK ? read_page(store, &rows, filter, page, arena, ret, err) : code;
}

enum fz_code
store_report_count(struct store *store, int64_t project_id,
                   const struct store_report_filter *filter, uint64_t most, struct fz_arena *arena,
                   uint64_t *ret, struct fz_error *err)
{
    struct store_report_query query = {.arena = arena, .like = store->sql->driver->like};
    query.args[query.n_args++] = sql_int(project_id);
    fz_buffer_init(&query.text, 0);
    fz_buffer_text(&query.text, "SELECT count(*) FROM (SELECT 1 FROM reports WHERE project_id = $1 "
                                "AND transient = 0");
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_report_query_filter(&query, store, filter, err);
    /* A page only shows that there are more: counting all would read all. */
    store_report_query_add(&query, " LIMIT ?) AS found", sql_int((int64_t)most));
    if (code == FZ_OK)
        code = fz_buffer_done(&query.text, err);
    if (code == FZ_OK)
        code = sql_query_once(store->sql, fz_buffer_cstr(&query.text), query.args, query.n_args,
                              &rows, err);
    fz_buffer_deinit(&query.text);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK)
        *ret = row ? (uint64_t)sql_col_int(&rows, 0) : 0;
    return code;
}
