#include "storage/store_private.h"

#include <stdio.h>

#include "base/text.h"

enum { LIST_MAX = 1000 };

/* ---- cursors ---- */

const char *
store_cursor_make(struct fz_arena *arena, int64_t time_ms, const char *id)
{
    char plain[64];
    int len = snprintf(plain, sizeof(plain), "%lld.%s", (long long)time_ms, id);
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    fz_text_base64_append(&text, fz_span_make(plain, (size_t)len));
    size_t n = text.len;
    while (n && text.data[n - 1] == '=')
        n--;
    char *cursor = text.failed ? NULL : fz_arena_text(arena, fz_span_make(text.data, n));
    fz_buffer_deinit(&text);
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
    if (strlen(cursor) > 100 ||
        fz_text_base64_decode(fz_span_cstr(cursor), arena, &plain, NULL) != FZ_OK || plain.len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    const uint8_t *dot = memchr(plain.data, '.', plain.len);
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

/* ---- filters ---- */

/* A query that grows: its text is put together from constants only, everything foreign is an
 * argument. */
struct query {
    struct fz_buffer text;
    struct sql_value args[SQL_MAX_PARAMS];
    size_t n_args;
    struct fz_arena *arena;
    const char *like;
};

/* A condition in which each '?' stands for the one new argument. */
static void
add(struct query *query, const char *condition, struct sql_value value)
{
    query->args[query->n_args++] = value;
    for (const char *c = condition; *c; c++) {
        if (*c == '?')
            fz_buffer_printf(&query->text, "$%zu", query->n_args);
        else if (*c == '~')
            fz_buffer_printf(&query->text, "%s $%zu ESCAPE '!'", query->like, query->n_args);
        else
            fz_buffer_char(&query->text, *c);
    }
}

static void
add_equal(struct query *query, const char *condition, const char *text)
{
    if (text)
        add(query, condition, sql_text(text));
}

/* A condition in which each '~' stands for "contains the text". */
static void
add_contains(struct query *query, const char *condition, const char *text)
{
    if (!text)
        return;
    char *pattern = fz_arena_alloc(query->arena, 2 * strlen(text) + 3);
    if (!pattern) {
        add(query, condition, (struct sql_value){.kind = SQL_BAD});
        return;
    }
    char *to = pattern;
    *to++ = '%';
    for (const char *c = text; *c; c++) {
        if (*c == '%' || *c == '_' || *c == '!')
            *to++ = '!';
        *to++ = *c;
    }
    *to = '%';
    add(query, condition, sql_text(pattern));
}

static enum fz_code
add_uuid(struct query *query, const char *text, struct fz_error *err)
{
    struct fz_uuid uuid;
    if (!text)
        return FZ_OK;
    if (!fz_uuid_parse(fz_span_cstr(text), &uuid))
        return fz_fail(err, FZ_E_MALFORMED, "the filter uuid is no UUID");
    uint8_t *bytes = fz_arena_alloc(query->arena, sizeof(uuid.bytes));
    if (!bytes)
        return fz_arena_fail(query->arena, err);
    memcpy(bytes, uuid.bytes, sizeof(uuid.bytes));
    add(query,
        " AND image_set IN (SELECT set_key FROM image_set_items WHERE project_id = $1 AND uuid = "
        "?)",
        sql_blob(fz_span_make(bytes, sizeof(uuid.bytes))));
    return FZ_OK;
}

static enum fz_code
add_filter(struct query *query, const struct store_report_filter *filter, struct fz_error *err)
{
    if (!filter)
        return FZ_OK;
    add_equal(query, " AND status = ?", filter->status);
    add_equal(query, " AND (lower(app_id) = lower(?) OR lower(app_name) = lower(?))", filter->app);
    add_equal(query, " AND app_version = ?", filter->version);
    add_equal(query, " AND app_build = ?", filter->build);
    add_equal(query, " AND (lower(os_name) = lower(?) OR os_version = ?)", filter->os);
    add_equal(query, " AND device_model = ?", filter->device);
    add_equal(query, " AND arch = ?", filter->arch);
    add_equal(query, " AND signal = ?", filter->signal);
    add_equal(query, " AND exception = ?", filter->exception);
    add_contains(query, " AND top_function ~", filter->function);
    add_contains(query, " AND top_file ~", filter->file);
    add_contains(query,
                 " AND (id ~ OR app_id ~ OR app_name ~ OR signal ~ OR exception ~ OR reason ~ OR "
                 "top_function ~ OR top_file ~ OR error ~)",
                 filter->q);
    if (filter->since_ms)
        add(query, " AND received_ms >= ?", sql_int(filter->since_ms));
    if (filter->until_ms)
        add(query, " AND received_ms < ?", sql_int(filter->until_ms));
    return add_uuid(query, filter->uuid, err);
}

static enum fz_code
add_cursor(struct query *query, const char *cursor, struct fz_error *err)
{
    int64_t time_ms;
    char id[STORE_ID_TEXT];
    if (!cursor)
        return FZ_OK;
    enum fz_code code = store_cursor_parse(cursor, query->arena, &time_ms, id, err);
    if (code != FZ_OK)
        return code;
    if (!store_is_id(id))
        return fz_fail(err, FZ_E_MALFORMED, "the cursor is not one of this list's");
    const char *copy = fz_arena_strdup(query->arena, id);
    if (!copy)
        return fz_arena_fail(query->arena, err);
    query->args[query->n_args++] = sql_int(time_ms);
    query->args[query->n_args++] = sql_text(copy);
    fz_buffer_printf(&query->text, " AND (received_ms, id) < ($%zu, $%zu)", query->n_args - 1,
                     query->n_args);
    return FZ_OK;
}

/* ---- the list ---- */

static enum fz_code
read_page(struct sql_rows *rows, size_t limit, struct fz_arena *arena, struct store_report **ret,
          size_t *ret_n, const char **ret_cursor, struct fz_error *err)
{
    struct store_report *list = NULL;
    size_t n = 0, room = 0;
    bool row = false;
    enum fz_code code = FZ_OK;
    *ret_cursor = NULL;
    while ((code = sql_next(rows, &row, err)) == FZ_OK && row) {
        if (n == limit) {
            *ret_cursor = store_cursor_make(arena, list[n - 1].received_ms, list[n - 1].id);
            if (!*ret_cursor)
                return fz_arena_fail(arena, err);
            break;
        }
        list = store_grow(arena, list, n, &room, sizeof(*list));
        if (!list)
            return fz_arena_fail(arena, err);
        store_report_read(rows, arena, &list[n++]);
    }
    *ret = list;
    *ret_n = n;
    return code;
}

static enum fz_code
run_list(struct store *store, struct query *query, const struct store_report_filter *filter,
         const char *cursor, size_t limit, struct sql_rows *ret, struct fz_error *err)
{
    fz_buffer_printf(&query->text, "SELECT %s FROM reports WHERE project_id = $1 AND transient = 0",
                     store_report_columns);
    enum fz_code code = add_filter(query, filter, err);
    if (code == FZ_OK)
        code = add_cursor(query, cursor, err);
    if (code != FZ_OK)
        return code;
    add(query, " ORDER BY received_ms DESC, id DESC LIMIT ?", sql_int((int64_t)limit + 1));
    code = fz_buffer_done(&query->text, err);
    return code == FZ_OK ? sql_query_once(store->sql, fz_buffer_cstr(&query->text), query->args,
                                          query->n_args, ret, err)
                         : code;
}

enum fz_code
store_report_list(struct store *store, int64_t project_id, const struct store_report_filter *filter,
                  const char *cursor, size_t limit, struct fz_arena *arena,
                  struct store_report **ret, size_t *ret_n, const char **ret_cursor,
                  struct fz_error *err)
{
    if (limit == 0 || limit > LIST_MAX)
        limit = LIST_MAX;
    struct query query = {.arena = arena, .like = sql_driver(store->sql)->like};
    query.args[query.n_args++] = sql_int(project_id);
    fz_buffer_init(&query.text, 0);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = run_list(store, &query, filter, cursor, limit, &rows, err);
    fz_buffer_deinit(&query.text);
    struct store_report *list = NULL;
    size_t n = 0;
    const char *next = NULL;
    if (code == FZ_OK)
        code = read_page(&rows, limit, arena, &list, &n, &next, err);
    if (code != FZ_OK)
        return code;
    *ret = list;
    *ret_n = n;
    *ret_cursor = next;
    return FZ_OK;
}
