/* The list of reports: filters, order, pages, and the number of reports that match. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_private.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 500, COUNT_MAX = 100000 };

/* ---- times ------------------------------------------------------------------------------- */

/* RFC 3339, a date alone, or one whose '+' of the zone was not percent-encoded. */
static bool
parse_time(const char *text, int64_t *ret)
{
    char mended[64];
    size_t len = strlen(text);
    if (fz_time_parse(fz_span_cstr(text), ret))
        return true;
    if (len > 40)
        return false;
    snprintf(mended, sizeof(mended), "%s%s", text, len == 10 ? "T00:00:00Z" : "");
    if (len > 16 && mended[len - 6] == ' ')
        mended[len - 6] = '+';
    return fz_time_parse(fz_span_cstr(mended), ret);
}

/* "90s", "30m", "24h", "7d", "2w": so long ago. */
static bool
parse_ago(const char *text, int64_t *ret)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}, {'w', 604800000}};
    size_t len = strlen(text);
    uint64_t n;
    if (len < 2 || !fz_text_u64(fz_span_make(text, len - 1), &n) || n > 1000000)
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(units); i++) {
        if (text[len - 1] != units[i].letter)
            continue;
        int64_t at = fz_time_now_ms() - (int64_t)n * units[i].ms;
        *ret = at > 0 ? at : 1; /* 0 would be "no such filter" */
        return true;
    }
    return false;
}

enum fz_code
api_query_time(const struct http_request *request, const char *name, int64_t *ret,
               struct fz_error *err)
{
    const char *text = http_query(request, name);
    uint64_t number;
    if (!text || parse_time(text, ret) || parse_ago(text, ret))
        return FZ_OK;
    if (!fz_text_u64(fz_span_cstr(text), &number) || number > INT64_MAX / 1000)
        return fz_fail(
            err, FZ_E_MALFORMED,
            "%s: '%.40s' is not a time; write 2026-11-20T10:11:12Z, Unix seconds, or how "
            "long ago: 30m, 24h, 7d",
            name, text);
    *ret = (int64_t)(number >= 100000000000u ? number : number * 1000);
    return FZ_OK;
}

/* ---- filter ------------------------------------------------------------------------------ */

/* Fields whose values are separated by commas; a part of a function's name or a tag may hold one. */
static bool
has_values(enum store_report_field field)
{
    return field != STORE_BY_FUNCTION && field != STORE_BY_FILE && field != STORE_BY_Q &&
           field != STORE_BY_TAG;
}

struct wheres {
    struct store_report_where list[STORE_WHERE_MAX];
    size_t n;
    unsigned group;
};

static enum fz_code
add_where(struct wheres *wheres, enum store_report_field field, const char *value,
          struct fz_error *err)
{
    if (wheres->n == STORE_WHERE_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "more than %d filter values", (int)STORE_WHERE_MAX);
    wheres->list[wheres->n++] = (struct store_report_where){field, value, wheres->group};
    return FZ_OK;
}

/* Each of the comma-separated values, and the whole, which may be one value that has commas itself
 * ("iPhone15,2"). A part of digits alone continues a device's model: "iPhone15,2,iPhone14,3". */
static enum fz_code
add_values(struct api_call *call, struct wheres *wheres, enum store_report_field field,
           const char *value, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    const char *at = value;
    bool is_device = field == STORE_BY_DEVICE;
    while (code == FZ_OK && *at) {
        size_t len = strcspn(at, ",");
        if (is_device && len && at[len] == ',') {
            size_t digits = strspn(at + len + 1, "0123456789");
            char after = at[len + 1 + digits];
            if (digits && (after == ',' || after == '\0'))
                len += 1 + digits;
        }
        const char *one = fz_arena_text(call->arena, fz_span_make(at, len));
        if (!one)
            return fz_arena_fail(call->arena, err);
        if (len)
            code = add_where(wheres, field, one, err);
        at += len + (at[len] == ',');
    }
    if (code == FZ_OK && strchr(value, ',') && field != STORE_BY_STATUS && field != STORE_BY_KIND &&
        field != STORE_BY_UUID)
        code = add_where(wheres, field, value, err);
    return code;
}

/* The fields that have a fixed set of values: a misspelt one would list nothing without a word. */
static enum fz_code
check_values(const struct wheres *wheres, struct fz_error *err)
{
    static const struct {
        enum store_report_field field;
        const char *values; /* each between spaces */
        const char *text;
    } sets[] = {
        {STORE_BY_STATUS, " queued symbolicated partial unsymbolicated failed ",
         "queued, symbolicated, partial, unsymbolicated, failed"},
        {STORE_BY_KIND, " crash hang cpu disk_write launch memory error message ",
         "crash, hang, cpu, disk_write, launch, memory, error, message"},
    };
    for (size_t i = 0; i < wheres->n; i++) {
        const struct store_report_where *where = &wheres->list[i];
        for (size_t k = 0; k < FZ_ARRAY_LEN(sets); k++) {
            char wanted[32];
            int len = snprintf(wanted, sizeof(wanted), " %s ", where->value);
            if (where->field == sets[k].field &&
                (len >= (int)sizeof(wanted) || strchr(where->value, ' ') ||
                 !strstr(sets[k].values, wanted)))
                return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not one of %s",
                               store_report_field_name(where->field), where->value, sets[k].text);
        }
    }
    return FZ_OK;
}

/* All values of one parameter, however often it is given: a report matches if one of them does. Of tags each must
 * match. */
static enum fz_code
add_field(struct api_call *call, struct wheres *wheres, enum store_report_field field,
          struct fz_error *err)
{
    const char *name;
    enum fz_code code = FZ_OK;
    wheres->group++;
    for (size_t i = 0; !code && (name = http_query_name(call->request, i)); i++) {
        const char *value = http_query_value(call->request, i);
        if (strcmp(name, store_report_field_name(field)) != 0 || !value || !*value)
            continue;
        if (field == STORE_BY_TAG)
            wheres->group++;
        code = has_values(field) ? add_values(call, wheres, field, value, err)
                                 : add_where(wheres, field, value, err);
    }
    return code;
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
    enum fz_code code = FZ_OK;
    for (size_t i = 0; !code && i < STORE_BY_COUNT; i++)
        code = add_field(call, wheres, (enum store_report_field)i, err);
    if (code == FZ_OK)
        code = check_values(wheres, err);
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
    static const char *const others[] = {"since", "until", "crashed_since", "crashed_until", "sort",
                                         "count", "limit", "cursor",        "issue"};
    const char *known[STORE_BY_COUNT + FZ_ARRAY_LEN(others) + 1];
    for (size_t i = 0; i < STORE_BY_COUNT; i++)
        known[i] = store_report_field_name((enum store_report_field)i);
    memcpy(known + STORE_BY_COUNT, others, sizeof(others));
    known[STORE_BY_COUNT + FZ_ARRAY_LEN(others)] = NULL;
    enum fz_code code = api_check_query(call->request, known, err);
    if (code == FZ_OK && http_query(call->request, "issue"))
        code = fz_fail(err, FZ_E_MALFORMED,
                       "issue: this server does not group reports into issues yet");
    return code;
}

/* ---- answer ------------------------------------------------------------------------------ */

static void
append_about(struct json_write *w, const struct store_report *report)
{
    json_write_open(w, "app", '{');
    json_write_text(w, "id", report->app_id);
    json_write_text(w, "name", report->app_name);
    json_write_text(w, "version", report->app_version);
    json_write_text(w, "build", report->app_build);
    json_write_close(w, '}');
    json_write_text(w, "release", report->release);
    json_write_text(w, "environment", report->environment);
    json_write_open(w, "os", '{');
    json_write_text(w, "name", report->os_name);
    json_write_text(w, "version", report->os_version);
    json_write_text(w, "build", report->os_build);
    json_write_close(w, '}');
    json_write_open(w, "device", '{');
    json_write_text(w, "model", report->device_model);
    json_write_close(w, '}');
    json_write_text(w, "arch", report->arch);
    if (report->user) {
        json_write_open(w, "user", '{');
        json_write_text(w, "id", report->user);
        json_write_close(w, '}');
    }
}

static void
append_summary(struct json_write *w, const struct store_report *report)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "id", report->id);
    json_write_text(w, "status", report->status);
    json_write_text(w, "format", report->format);
    json_write_text(w, "kind", report->kind);
    json_write_time(w, "received", report->received_ms);
    json_write_time(w, "timestamp", report->timestamp_ms);
    append_about(w, report);
    json_write_open(w, "crash", '{');
    json_write_text(w, "signal", report->signal);
    json_write_text(w, "mach", report->mach);
    json_write_text(w, "code", report->code);
    json_write_text(w, "exception", report->exception);
    json_write_text(w, "reason", report->reason);
    json_write_close(w, '}');
    if (report->top_function) {
        json_write_open(w, "top", '{');
        json_write_text(w, "function", report->top_function);
        json_write_text(w, "file", report->top_file);
        if (report->top_line > 0)
            json_write_u64(w, "line", (uint64_t)report->top_line);
        json_write_close(w, '}');
    }
    json_write_u64(w, "missing", report->n_missing);
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
    enum fz_code code = store_report_count(call->store, call->project_id, filter, COUNT_MAX + 1,
                                           call->arena, &n, err);
    if (code != FZ_OK)
        return code;
    json_write_u64(w, "count", n > COUNT_MAX ? COUNT_MAX : n);
    if (n > COUNT_MAX)
        json_write_bool(w, "count_more", true);
    return FZ_OK;
}

static enum fz_code
list_reports(struct api_call *call, struct fz_error *err)
{
    struct wheres wheres = {.n = 0};
    struct store_report_filter filter = {0};
    struct store_report *reports = NULL;
    size_t limit, n = 0;
    const char *cursor = NULL;
    enum fz_code code = check_names(call, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &limit, err);
    if (code == FZ_OK)
        code = read_filter(call, &wheres, &filter, err);
    if (code == FZ_OK)
        code = store_report_list(call->store, call->project_id, &filter,
                                 http_query(call->request, "cursor"), limit, call->arena, &reports,
                                 &n, &cursor, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "reports", '[');
    for (size_t i = 0; i < n; i++)
        append_summary(&w, &reports[i]);
    json_write_close(&w, ']');
    code = append_count(call, &filter, &w, err);
    json_write_text(&w, "next_cursor", cursor);
    json_write_close(&w, '}');
    return code != FZ_OK ? code : api_answer(call, 200, &out, err);
}

void
api_report_list(void *app, struct http_request *request)
{
    api_run(app, request, list_reports);
}
