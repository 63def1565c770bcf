/* One report: out in each of its formats, reprocess, delete. */
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "server/api/api_answer.h"
#include "server/api/api_download.h"
#include "server/api/api_fetch.h"
#include "server/api/api_handlers.h"
#include "server/api/api_hide.h"
#include "server/api/api_others.h"
#include "server/api/api_query.h"
#include "server/api/api_report_issue.h"
#include "server/report/annotate.h"

/* ---- one report -------------------------------------------------------------------------- */

/* The memory for an answer, as a multiple of the result's size: one copy of the JSON, or the JSON
 * read back into a tree. */
static unsigned
weight_of(enum api_format format)
{
    return format == API_FORMAT_JSON ? 2 : 8;
}

/* The answer for a report without a result. */
static enum fz_code
answer_columns(struct api_call *call, const struct store_report *columns, int status,
               struct fz_error *err)
{
    struct api_others others = {.n_notes = 0};
    struct store_project project = {0};
    enum fz_code code =
        store_project_by_id(call->store, columns->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        code = api_others_find(call, columns, &others, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "id", columns->id);
    json_write_text(&w, "project", project.name);
    json_write_text(&w, "status", store_report_status_name(columns->status));
    json_write_text(&w, "format", columns->format);
    json_write_time(&w, "received", columns->received_ms);
    json_write_text(&w, "error", api_stored_error(columns->error));
    if (others.n_notes) {
        json_write_open(&w, "notes", '[');
        for (size_t i = 0; i < others.n_notes; i++)
            json_write_text(&w, NULL, others.notes[i]);
        json_write_close(&w, ']');
    }
    return api_answer(call, status, &w, '}', err);
}

/* The body that a report was made from, if the answer is that text with names added; empty if it is
 * rendered from the result. */
static enum fz_code
original_body(struct api_call *call, const struct store_report *columns, enum report_form form,
              struct fz_span *ret, struct fz_error *err)
{
    bool rebuild;
    enum fz_code code = api_query_flag(call->request, "rebuild", &rebuild, err);
    *ret = (struct fz_span){0};
    if (code != FZ_OK || rebuild || !report_keeps_text(columns->format, form))
        return code;
    *ret = call->report_body;
    /* Who may not see the body gets the result, which has marks. */
    if (ret->len || api_hides_body(call, columns))
        return FZ_OK;
    code = api_fetch(call, columns->id, STORE_REPORT_BODY, 2, ret, err);
    if (code == FZ_E_NOT_FOUND) { /* the body was deleted: render the result */
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
    if (code != FZ_OK)
        return code;
    /* The stored text has the status of its own processing. */
    envelope.status = store_report_status_name(columns->status);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    enum report_form form = format == API_FORMAT_CRASH ? REPORT_FORM_CRASH
                            : format == API_FORMAT_IPS ? REPORT_FORM_IPS
                                                       : REPORT_FORM_JSON;
    const char *type = form == REPORT_FORM_JSON ? "application/json" : "text/plain; charset=utf-8";
    struct fz_span body;
    code = original_body(call, columns, form, &body, err);
    bool shows_values = false;
    if (code == FZ_OK && form == REPORT_FORM_CRASH)
        code = api_query_flag(call->request, "variables", &shows_values, err);
    /* With a body, names go into the sender's own text, so that tools that parse it still can. */
    if (code == FZ_OK)
        code = shows_values ? report_render_variables(&report, &envelope, &out, err)
                            : report_write(&report, &envelope, body, form, &out, NULL, err);
    if (code == FZ_OK)
        http_respond(call->request, status, type, fz_buffer_span(&out));
    return code;
}

enum fz_code
api_answer_report(struct api_call *call, const struct store_report *columns, struct fz_span result,
                  enum api_format format, int status, struct fz_error *err)
{
    bool is_queued = columns->status == STORE_REPORT_QUEUED;
    /* Every report goes out through here. */
    enum fz_code code = api_hide_values(call, columns, &result, err);
    if (code != FZ_OK)
        return code;
    /* Queued for the first time, or failed. */
    if (result.len == 0) {
        if (format == API_FORMAT_JSON)
            return answer_columns(call, columns, status, err);
        return fz_fail(err, FZ_E_CONFLICT, "report %s has no result in this format: it is %s%s%s",
                       columns->id, store_report_status_name(columns->status),
                       columns->error ? ": " : "",
                       columns->error ? api_stored_error(columns->error) : "");
    }
    /* A report that is being processed again shows its old result, but with the status queued. */
    if (format != API_FORMAT_JSON || is_queued)
        return answer_rendered(call, columns, result, format, status, err);
    http_respond_json(call->request, status, result);
    return FZ_OK;
}

/* With what is not in the result: other reports, the issue. */
static enum fz_code
answer_result(struct api_call *call, const struct store_report *columns, struct fz_span result,
              enum api_format format, int status, struct fz_error *err)
{
    struct api_others others;
    enum fz_code code = api_others_find(call, columns, &others, err);
    if (code == FZ_OK)
        code = api_others_apply(call, &others, &result, err);
    if (code == FZ_OK)
        code = api_report_issue(call, columns, &result, err);
    return code != FZ_OK ? code : api_answer_report(call, columns, result, format, status, err);
}

enum fz_code
api_answer_stored(struct api_call *call, const struct store_report *columns, enum api_format format,
                  int status, struct fz_error *err)
{
    struct fz_span result = {0};
    enum fz_code code =
        api_fetch(call, columns->id, STORE_REPORT_RESULT, weight_of(format), &result, err);
    if (code == FZ_E_NOT_FOUND) {
        code = FZ_OK;
        result = (struct fz_span){0};
    }
    return code != FZ_OK ? code : answer_result(call, columns, result, format, status, err);
}

enum fz_code
api_report_get(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum api_format format;
    struct store_report columns;
    enum fz_code code = api_query_format(call->request, &format, err);
    if (code == FZ_OK)
        code = api_param_uuid(call->request, "id", "report", id, err);
    if (code == FZ_OK)
        code = store_report_get(call->store, call->project_id, id, call->arena, &columns, err);
    if (code != FZ_OK)
        return code;
    /* A browser may show the formats of the server; a raw body is foreign and only downloaded. */
    static const char *const extensions[] = {"json", "crash", "ips"};
    bool is_raw = format == API_FORMAT_RAW;
    const char *extension = is_raw ? api_download_extension(columns.format) : extensions[format];
    struct fz_span body = {0};
    if (!is_raw) {
        code = api_fetch(call, id, STORE_REPORT_RESULT, weight_of(format), &body, err);
        if (code != FZ_OK && code != FZ_E_NOT_FOUND)
            return code;
        /* An error has no file name. */
        if (code == FZ_OK || format == API_FORMAT_JSON)
            api_download_report(call->request, false, &columns, extension);
        return answer_result(call, &columns, code != FZ_OK ? (struct fz_span){0} : body, format,
                             200, err);
    }
    code = api_fetch_body(call, &columns, 1, &body, err);
    if (code != FZ_OK)
        return code;
    /* Always an attachment: a foreign body must not be shown by the browser as a page of this
     * server. */
    api_download_report(call->request, true, &columns, extension);
    http_respond(call->request, 200, "application/octet-stream", body);
    return FZ_OK;
}

/* ---- changes ----------------------------------------------------------------------------- */

enum fz_code
api_report_reprocess(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "id", "report", id, err);
    /* The old result stays readable until the new one is stored. */
    if (code == FZ_OK)
        code = store_report_reprocess(call->store, call->project_id, id, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "id", id);
    json_write_text(&w, "status", "queued");
    return api_answer(call, 202, &w, '}', err);
}

enum fz_code
api_report_delete(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "id", "report", id, err);
    if (code == FZ_OK)
        code = store_report_delete(call->store, call->project_id, id, err);
    if (code == FZ_OK)
        http_respond(call->request, 204, "text/plain", (struct fz_span){0});
    return code;
}
