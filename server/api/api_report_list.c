/* The list of reports: filters, order, pages, and the number of reports that match. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_query.h"
#include "server/report/columns.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 500, COUNT_MAX = 100000 };

/* ---- filter ------------------------------------------------------------------------------ */

/* Values are separated by commas, except where a part of a text is looked for: that may hold one.
 */
static bool
has_values(const struct store_filter *filter)
{
    return filter->match == FZ_MATCH_EQUAL || filter->match == FZ_MATCH_ANY_CASE;
}

struct wheres {
    struct store_report_where list[STORE_WHERE_MAX];
    size_t n;
    unsigned group;
};

static enum fz_code
add_where(struct wheres *wheres, const struct store_filter *filter, const char *value,
          struct fz_error *err)
{
    /* Each value is a condition of the query, so an endless URL must not make an endless one. */
    if (wheres->n == STORE_WHERE_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "more than %d filter values", (int)STORE_WHERE_MAX);
    wheres->list[wheres->n++] = (struct store_report_where){filter->name, value, wheres->group};
    return FZ_OK;
}

/* Each of the comma-separated values, and the whole, which may be one value that has commas itself
 * ("iPhone15,2"). A part of digits alone continues a device's model: "iPhone15,2,iPhone14,3". */
static enum fz_code
add_values(struct api_call *call, struct wheres *wheres, const struct store_filter *filter,
           const char *value, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    const char *at = value;
    bool is_device = strcmp(filter->name, "device") == 0;
    while (code == FZ_OK && *at) {
        size_t len = strcspn(at, ",");
        /* A model has a comma of its own, which does not end the value. */
        if (is_device && len && at[len] == ',') {
            size_t digits = strspn(at + len + 1, "0123456789");
            char after = at[len + 1 + digits];
            if (digits && (after == ',' || after == '\0'))
                len += 1 + digits;
        }
        /* Storage takes texts that end with a NUL. */
        const char *one = fz_arena_text(call->arena, fz_span_make(at, len));
        if (!one)
            return fz_arena_fail(call->arena, err);
        if (len)
            code = add_where(wheres, filter, one, err);
        at += len + (at[len] == ',');
    }
    if (code == FZ_OK && strchr(value, ',') && !filter->choices &&
        strcmp(filter->name, "uuid") != 0)
        code = add_where(wheres, filter, value, err);
    return code;
}

/* A misspelt value of a fixed set would silently list nothing. */
static enum fz_code
check_values(const struct wheres *wheres, size_t from, const struct store_filter *filter,
             struct fz_error *err)
{
    /* Only the values of this parameter: others were checked when they were added. */
    for (size_t i = from; filter->choices && i < wheres->n; i++) {
        if (!api_is_choice(filter->choices, wheres->list[i].value))
            return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not one of %s", filter->name,
                           wheres->list[i].value, filter->choices);
    }
    return FZ_OK;
}

/* All values of one parameter, however often it is given: a report matches if one of them does. Of
 * tags each must match. */
static enum fz_code
add_filter(struct api_call *call, struct wheres *wheres, const struct store_filter *filter,
           struct fz_error *err)
{
    const char *name;
    size_t from = wheres->n;
    enum fz_code code = FZ_OK;
    /* Values of one group are alternatives, groups must all match. */
    wheres->group++;
    for (size_t i = 0; code == FZ_OK && (name = http_query_name(call->request, i)); i++) {
        const char *value = http_query_value(call->request, i);
        if (strcmp(name, filter->name) != 0 || !value || !*value)
            continue;
        /* Each tag is a group of its own, so all of them must match. */
        if (filter->match == FZ_MATCH_TAG)
            wheres->group++;
        code = has_values(filter) ? add_values(call, wheres, filter, value, err)
                                  : add_where(wheres, filter, value, err);
    }
    return code == FZ_OK ? check_values(wheres, from, filter, err) : code;
}

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

static enum fz_code
read_filter(struct api_call *call, struct wheres *wheres, struct store_report_filter *ret,
            struct fz_error *err)
{
    size_t n = 0;
    const struct store_filter *filters = store_report_filters(call->store, &n);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = add_filter(call, wheres, &filters[i], err);
    if (code == FZ_OK)
        code = read_order(call, &ret->order, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "since", &ret->since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "until", &ret->until_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "crashed_since", &ret->crashed_since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "crashed_until", &ret->crashed_until_ms, err);
    ret->where = wheres->list;
    ret->n_where = wheres->n;
    return code;
}

static enum fz_code
check_names(struct api_call *call, struct fz_error *err)
{
    static const char others[] =
        "since, until, crashed_since, crashed_until, sort, count, limit, cursor, issue";
    size_t n = 0;
    const struct store_filter *filters = store_report_filters(call->store, &n);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer known = fz_buffer_make(0);
    for (size_t i = 0; i < n; i++)
        fz_buffer_printf(&known, "%s, ", filters[i].name);
    fz_buffer_text(&known, others);
    enum fz_code code = fz_buffer_done(&known, err);
    if (code == FZ_OK)
        code = api_check_query(call->request, fz_buffer_cstr(&known), err);
    /* Known to the check above only for this message, which says more than "unknown". */
    if (code == FZ_OK && http_query(call->request, "issue"))
        code = fz_fail(err, FZ_E_MALFORMED,
                       "issue: this server does not group reports into issues yet");
    return code;
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

static void
append_summary(struct json_write *w, const struct store_report *report)
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
append_count(struct api_call *call, const struct store_report_filter *filter, struct json_write *w,
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
    enum fz_code code = store_report_count(call->store, call->project_id, filter, COUNT_MAX + 1,
                                           call->arena, &n, err);
    if (code != FZ_OK)
        return code;
    json_write_u64(w, "count", n > COUNT_MAX ? COUNT_MAX : n);
    if (n > COUNT_MAX)
        json_write_bool(w, "count_more", true);
    return FZ_OK;
}

enum fz_code
api_report_list(struct api_call *call, struct fz_error *err)
{
    /* On the stack: the filter points into it until the query has run. */
    struct wheres wheres = {.n = 0};
    struct store_report_filter filter = {0};
    struct store_report *reports = NULL;
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    enum fz_code code = check_names(call, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = read_filter(call, &wheres, &filter, err);
    if (code == FZ_OK)
        code = store_report_list(call->store, call->project_id, &filter, &page, call->arena,
                                 &reports, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "reports", '[');
    for (size_t i = 0; i < page.n; i++)
        append_summary(&w, &reports[i]);
    json_write_close(&w, ']');
    /* Only on request: counting may take longer than the page. */
    code = append_count(call, &filter, &w, err);
    json_write_text(&w, "next_cursor", page.next);
    return code != FZ_OK ? code : api_answer(call, 200, &w, '}', err);
}
