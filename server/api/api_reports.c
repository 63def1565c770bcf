/* Reports out: the list, one report in each of its formats, reprocess, delete. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/api/api_clash.h"
#include "server/api/api_download.h"
#include "server/api/api_json.h"
#include "server/api/api_private.h"
#include "server/report/annotate.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 500 };

/* ---- one report -------------------------------------------------------------------------- */

/* What is known of a report without a result. */
static enum fz_code
answer_columns(struct api_call *call, const struct store_report *columns, int status,
               struct fz_error *err)
{
    const char **notes = NULL;
    size_t n_notes = 0;
    struct store_project project = {0};
    enum fz_code code =
        store_project_by_id(call->store, columns->project_id, call->arena, &project, err);
    if (!code)
        code = api_clash_notes(call, columns->id, &notes, &n_notes, err);
    if (code)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    api_json_open(&out, NULL, '{');
    api_json_text(&out, "id", columns->id);
    api_json_text(&out, "project", project.name);
    api_json_text(&out, "status", columns->status);
    api_json_text(&out, "format", columns->format);
    api_json_time(&out, "received", columns->received_ms);
    api_json_text(&out, "error", columns->error);
    if (n_notes) {
        api_json_open(&out, "notes", '[');
        for (size_t i = 0; i < n_notes; i++)
            api_json_text(&out, NULL, notes[i]);
        api_json_close(&out, ']');
    }
    api_json_close(&out, '}');
    return api_answer(call, status, &out, err);
}

/* The body that a report was made from, where the answer is that text with names; empty where it is
 * to be rendered from the result. */
static enum fz_code
kept_body(struct api_call *call, const struct store_report *columns, enum report_form form,
          struct fz_span *ret, struct fz_error *err)
{
    bool rebuild;
    enum fz_code code = api_query_flag(call->request, "rebuild", &rebuild, err);
    *ret = (struct fz_span){0};
    if (code || rebuild || !report_keeps_text(columns->format, form))
        return code;
    *ret = call->report_body;
    if (ret->len)
        return FZ_OK;
    code = store_report_body(call->store, columns->project_id, columns->id, call->arena, ret, err);
    if (code == FZ_E_NOT_FOUND) { /* the body was deleted: what the result has is shown */
        *ret = (struct fz_span){0};
        code = FZ_OK;
    }
    return code;
}

/* The stored JSON read back and written in another format, or with a newer status. */
static enum fz_code
answer_rendered(struct api_call *call, const struct store_report *columns, struct fz_span result,
                enum api_format format, int status, struct fz_error *err)
{
    struct report report;
    struct report_envelope envelope;
    enum fz_code code = report_load_json(result, call->arena, &report, &envelope, err);
    if (code)
        return code;
    envelope.status = columns->status;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum report_form form = format == API_FORMAT_CRASH ? REPORT_FORM_CRASH
                            : format == API_FORMAT_IPS ? REPORT_FORM_IPS
                                                       : REPORT_FORM_JSON;
    const char *type = form == REPORT_FORM_JSON ? "application/json" : "text/plain; charset=utf-8";
    struct fz_span body;
    code = kept_body(call, columns, form, &body, err);
    if (!code)
        code = report_write(&report, &envelope, body, form, &out, NULL, err);
    if (!code)
        http_respond(call->request, status, type, fz_buffer_span(&out));
    return code;
}

enum fz_code
api_answer_report(struct api_call *call, const struct store_report *columns, struct fz_span result,
                  enum api_format format, int status, struct fz_error *err)
{
    bool is_queued = columns->status && strcmp(columns->status, "queued") == 0;
    if (result.len == 0) {
        if (format == API_FORMAT_JSON)
            return answer_columns(call, columns, status, err);
        return fz_fail(err, FZ_E_CONFLICT, "report %s has no result in this format: it is %s%s%s",
                       columns->id, columns->status, columns->error ? ": " : "",
                       columns->error ? columns->error : "");
    }
    /* A report that is being done again shows what it was, but not as if that were the end. */
    if (format != API_FORMAT_JSON || is_queued)
        return answer_rendered(call, columns, result, format, status, err);
    http_respond_json(call->request, status, result);
    return FZ_OK;
}

enum fz_code
api_answer_stored(struct api_call *call, const struct store_report *columns, enum api_format format,
                  int status, struct fz_error *err)
{
    struct fz_span result = {0};
    const char **notes = NULL;
    size_t n_notes = 0;
    enum fz_code code =
        store_report_result(call->store, call->project_id, columns->id, call->arena, &result, err);
    if (code == FZ_E_NOT_FOUND) {
        code = FZ_OK;
        result = (struct fz_span){0};
    }
    if (!code)
        code = api_clash_notes(call, columns->id, &notes, &n_notes, err);
    if (!code)
        code = api_clash_apply(call, notes, n_notes, &result, err);
    return code ? code : api_answer_report(call, columns, result, format, status, err);
}

static enum fz_code
get_report(struct api_call *call, struct fz_error *err)
{
    static const char *const known[] = {"format", "rebuild", NULL};
    char id[STORE_ID_TEXT];
    enum api_format format;
    struct store_report columns;
    enum fz_code code = api_check_query(call->request, known, err);
    if (!code)
        code = api_query_format(call->request, &format, err);
    if (!code)
        code = api_param_uuid(call->request, "id", "report", id, err);
    if (!code)
        code = store_report_get(call->store, call->project_id, id, call->arena, &columns, err);
    if (code)
        return code;
    /* What is readable is shown; what a browser could take for anything else is downloaded. */
    static const char *const extensions[] = {"json", "crash", "ips"};
    bool is_raw = format == API_FORMAT_RAW;
    const char *extension = is_raw ? api_download_extension(columns.format) : extensions[format];
    struct fz_span body = {0};
    if (!is_raw) {
        code = store_report_result(call->store, call->project_id, id, call->arena, &body, err);
        if (code && code != FZ_E_NOT_FOUND)
            return code;
        if (!code || format == API_FORMAT_JSON)
            api_download_report(call->request, false, &columns, extension);
        return api_answer_report(call, &columns, body, format, 200, err);
    }
    code = store_report_body(call->store, call->project_id, id, call->arena, &body, err);
    if (code)
        return code;
    api_download_report(call->request, true, &columns, extension);
    http_respond(call->request, 200, "application/octet-stream", body);
    return FZ_OK;
}

/* ---- the list ---------------------------------------------------------------------------- */

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

/* A time, or Unix time in seconds (milliseconds from 1e11 on). */
enum fz_code
api_query_time(const struct http_request *request, const char *name, int64_t *ret,
               struct fz_error *err)
{
    const char *text = http_query(request, name);
    uint64_t number;
    if (!text || parse_time(text, ret))
        return FZ_OK;
    if (!fz_text_u64(fz_span_cstr(text), &number) || number > INT64_MAX / 1000)
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.40s' is no time; write 2026-11-20T10:11:12Z or Unix seconds", name,
                       text);
    *ret = (int64_t)(number >= 100000000000u ? number : number * 1000);
    return FZ_OK;
}

static enum fz_code
read_filter(struct api_call *call, struct store_report_filter *ret, struct fz_error *err)
{
    static const char *const states[] = {"queued", "symbolicated", "partial", "unsymbolicated",
                                         "failed"};
    const struct {
        const char *name, **field;
    } texts[] = {
        {"status", &ret->status},
        {"app", &ret->app},
        {"version", &ret->version},
        {"build", &ret->build},
        {"os", &ret->os},
        {"device", &ret->device},
        {"arch", &ret->arch},
        {"signal", &ret->signal},
        {"exception", &ret->exception},
        {"uuid", &ret->uuid},
        {"function", &ret->function},
        {"file", &ret->file},
        {"q", &ret->q},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        const char *value = http_query(call->request, texts[i].name);
        *texts[i].field = value && *value ? value : NULL;
    }
    if (ret->status) {
        size_t i = 0;
        while (i < FZ_ARRAY_LEN(states) && strcmp(states[i], ret->status) != 0)
            i++;
        if (i == FZ_ARRAY_LEN(states))
            return fz_fail(err, FZ_E_MALFORMED,
                           "status: '%.40s' is none of queued, symbolicated, partial, "
                           "unsymbolicated, failed",
                           ret->status);
    }
    if (ret->uuid) {
        struct fz_uuid uuid;
        char *text = fz_arena_alloc(call->arena, FZ_UUID_TEXT);
        if (!text)
            return fz_arena_fail(call->arena, err);
        if (!fz_uuid_parse(fz_span_cstr(ret->uuid), &uuid))
            return fz_fail(err, FZ_E_MALFORMED, "uuid: '%.64s' is no UUID", ret->uuid);
        fz_uuid_format(&uuid, text);
        ret->uuid = text;
    }
    enum fz_code code = api_query_time(call->request, "since", &ret->since_ms, err);
    if (!code)
        code = api_query_time(call->request, "until", &ret->until_ms, err);
    return code;
}

static void
append_summary(struct fz_buffer *out, const struct store_report *report)
{
    api_json_open(out, NULL, '{');
    api_json_text(out, "id", report->id);
    api_json_text(out, "status", report->status);
    api_json_text(out, "format", report->format);
    api_json_time(out, "received", report->received_ms);
    api_json_time(out, "timestamp", report->timestamp_ms);
    api_json_open(out, "app", '{');
    api_json_text(out, "id", report->app_id);
    api_json_text(out, "name", report->app_name);
    api_json_text(out, "version", report->app_version);
    api_json_text(out, "build", report->app_build);
    api_json_close(out, '}');
    api_json_open(out, "os", '{');
    api_json_text(out, "name", report->os_name);
    api_json_text(out, "version", report->os_version);
    api_json_close(out, '}');
    api_json_open(out, "device", '{');
    api_json_text(out, "model", report->device_model);
    api_json_close(out, '}');
    api_json_text(out, "arch", report->arch);
    api_json_open(out, "crash", '{');
    api_json_text(out, "signal", report->signal);
    api_json_text(out, "exception", report->exception);
    api_json_text(out, "reason", report->reason);
    api_json_close(out, '}');
    if (report->top_function) {
        api_json_open(out, "top", '{');
        api_json_text(out, "function", report->top_function);
        api_json_text(out, "file", report->top_file);
        if (report->top_line > 0)
            api_json_u64(out, "line", (uint64_t)report->top_line);
        api_json_close(out, '}');
    }
    api_json_u64(out, "missing", report->n_missing);
    api_json_text(out, "error", report->error);
    api_json_close(out, '}');
}

static enum fz_code
list_reports(struct api_call *call, struct fz_error *err)
{
    static const char *const known[] = {"limit",     "cursor", "status", "app",      "version",
                                        "build",     "os",     "device", "arch",     "signal",
                                        "exception", "uuid",   "file",   "function", "q",
                                        "since",     "until",  "issue",  NULL};
    struct store_report_filter filter = {0};
    struct store_report *reports = NULL;
    size_t limit, n = 0;
    const char *cursor = NULL;
    enum fz_code code = api_check_query(call->request, known, err);
    if (!code && http_query(call->request, "issue"))
        code = fz_fail(err, FZ_E_MALFORMED,
                       "issue: this server does not group reports into issues yet");
    if (!code)
        code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &limit, err);
    if (!code)
        code = read_filter(call, &filter, err);
    if (!code)
        code = store_report_list(call->store, call->project_id, &filter,
                                 http_query(call->request, "cursor"), limit, call->arena, &reports,
                                 &n, &cursor, err);
    if (code)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    api_json_open(&out, NULL, '{');
    api_json_open(&out, "reports", '[');
    for (size_t i = 0; i < n; i++)
        append_summary(&out, &reports[i]);
    api_json_close(&out, ']');
    api_json_text(&out, "next_cursor", cursor);
    api_json_close(&out, '}');
    return api_answer(call, 200, &out, err);
}

/* ---- changes ----------------------------------------------------------------------------- */

static enum fz_code
reprocess_report(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "id", "report", id, err);
    if (!code)
        code = store_report_reprocess(call->store, call->project_id, id, err);
    if (code)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    api_json_open(&out, NULL, '{');
    api_json_text(&out, "id", id);
    api_json_text(&out, "status", "queued");
    api_json_close(&out, '}');
    return api_answer(call, 202, &out, err);
}

static enum fz_code
delete_report(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "id", "report", id, err);
    if (!code)
        code = store_report_delete(call->store, call->project_id, id, err);
    if (!code)
        http_respond(call->request, 204, "text/plain", (struct fz_span){0});
    return code;
}

void
api_report_list(void *app, struct http_request *request)
{
    api_run(app, request, list_reports);
}

void
api_report_get(void *app, struct http_request *request)
{
    api_run(app, request, get_report);
}

void
api_report_reprocess(void *app, struct http_request *request)
{
    api_run(app, request, reprocess_report);
}

void
api_report_delete(void *app, struct http_request *request)
{
    api_run(app, request, delete_report);
}
