/* The list of reports: filters, order, pages, and the number of reports that match. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_query.h"
#include "server/api/api_search.h"
#include "server/report/columns.h"
#include "storage/store_report_search.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 500, COUNT_MAX = 100000 };

/* ---- query ------------------------------------------------------------------------------- */

static enum fz_code
read_order(struct api_call *call, enum store_report_order *ret, struct fz_error *err)
{
    static const struct {
        const char *name;
        enum store_report_order order;
    } orders[] = {{"-received", STORE_NEWEST_FIRST},
                  {"received", STORE_OLDEST_FIRST},
                  {"-timestamp", STORE_CRASHED_LAST_FIRST},
                  {"timestamp", STORE_CRASHED_FIRST_FIRST}};
    const char *text = http_query(call->request, "sort");
    *ret = STORE_NEWEST_FIRST;
    for (size_t i = 0; text && i < FZ_ARRAY_LEN(orders); i++) {
        if (strcmp(text, orders[i].name) == 0) {
            *ret = orders[i].order;
            return FZ_OK;
        }
    }
    return text ? fz_fail(err, FZ_E_MALFORMED,
                          "sort: '%.40s' is not one of received, -received, timestamp, -timestamp "
                          "(-: the newest first)",
                          text)
                : FZ_OK;
}

/* ---- answer ------------------------------------------------------------------------------ */

/* How long the name of the object is that the path's member is in; 0 if it is in none. */
static size_t
object_len(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? (size_t)(dot - path) : 0;
}

static bool
is_known(const struct fz_column *column, const union fz_value *value)
{
    return fz_column_is_text(column) ? value->text != NULL : value->number != 0;
}

static void
append_value(struct json_write *w, const char *key, const struct fz_column *column,
             const union fz_value *value)
{
    switch (column->type) {
    case FZ_COLUMN_TEXT:
    case FZ_COLUMN_LONG_TEXT:
        json_write_text(w, key, value->text);
        break;
    case FZ_COLUMN_NUMBER:
        /* 0 is "not known", which the API leaves out. */
        if (value->number > 0)
            json_write_u64(w, key, (uint64_t)value->number);
        break;
    case FZ_COLUMN_TIME:
        json_write_time(w, key, value->number);
        break;
    }
}

/* The columns from list[0] on that are members of one object; returns how many they are. */
static size_t
append_object(struct json_write *w, const struct fz_column *list, size_t n,
              const union fz_value *values)
{
    char name[32];
    size_t len = object_len(list->path), n_members = 0;
    bool any = false;
    /* The table has the members of an object side by side. */
    while (n_members < n && list[n_members].path &&
           strncmp(list[n_members].path, list->path, len + 1) == 0) {
        any = any || is_known(&list[n_members], &values[n_members]);
        n_members++;
    }
    bool is_optional = list->path[len - 1] == '?';
    /* A client takes an object that is there for one with content. */
    if (is_optional && !any)
        return n_members;
    /* The mark of an optional object is not part of its name. */
    snprintf(name, sizeof(name), "%.*s", (int)(is_optional ? len - 1 : len), list->path);
    json_write_open(w, name, '{');
    for (size_t i = 0; i < n_members; i++)
        append_value(w, list[i].path + len + 1, &list[i], &values[i]);
    json_write_close(w, '}');
    return n_members;
}

static void
append_columns(struct json_write *w, const union fz_value *values)
{
    const struct fz_column *list = report_columns.list;
    for (size_t i = 0; i < report_columns.n;) {
        if (list[i].path && object_len(list[i].path)) {
            i += append_object(w, &list[i], report_columns.n - i, &values[i]);
            continue;
        }
        if (list[i].path)
            append_value(w, list[i].path, &list[i], &values[i]);
        i++;
    }
}

void
api_append_summary(struct json_write *w, const struct store_report *report)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "id", report->id);
    json_write_text(w, "status", store_report_status_name(report->status));
    json_write_text(w, "format", report->format);
    append_columns(w, report->values);
    json_write_u64(w, "missing", report->n_missing);
    /* A worker may have stored a text with hosts and paths. */
    json_write_text(w, "error", api_stored_error(report->error));
    json_write_close(w, '}');
}

/* "count", and "count_more" where there are more than are counted. */
static enum fz_code
append_count(struct api_call *call, const struct store_query *query, struct json_write *w,
             struct fz_error *err)
{
    uint64_t n;
    const char *wanted = http_query(call->request, "count");
    if (!wanted || strcmp(wanted, "false") == 0)
        return FZ_OK;
    if (strcmp(wanted, "true") != 0)
        return fz_fail(err, FZ_E_MALFORMED, "count: '%.40s' is not true or false", wanted);
    /* Bounded, since a project may have millions of rows: one more than is shown says that there
     * are more. */
    enum fz_code code = store_report_search_count(call->store, call->project_id, query,
                                                  COUNT_MAX + 1, call->arena, &n, err);
    if (code != FZ_OK)
        return code;
    json_write_u64(w, "count", n > COUNT_MAX ? COUNT_MAX : n);
    if (n > COUNT_MAX)
        json_write_bool(w, "count_more", true);
    return FZ_OK;
}

enum fz_code
api_report_page(struct api_call *call, const struct store_query *query, struct fz_error *err)
{
    struct store_report *reports = NULL;
    struct store_report_search search = {.query = query};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = read_order(call, &search.order, err);
    if (code == FZ_OK)
        code = store_report_search(call->store, call->project_id, &search, &page, call->arena,
                                   &reports, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "reports", '[');
    for (size_t i = 0; i < page.n; i++)
        api_append_summary(&w, &reports[i]);
    json_write_close(&w, ']');
    /* Only on request: counting may take longer than the page. */
    code = append_count(call, query, &w, err);
    json_write_text(&w, "next_cursor", page.next);
    if (page.n == 0)
        api_search_write_notes(call, &w);
    return code != FZ_OK ? code : api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_report_list(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    enum fz_code code = api_search_read(call, "sort, count, limit, cursor", &query, err);
    return code == FZ_OK ? api_report_page(call, &query, err) : code;
}
