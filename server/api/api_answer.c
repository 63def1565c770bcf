/* Answers that several routes give. */
#include "server/api/api_answer.h"

#include <stdio.h>
#include <string.h>

#include "server/upload/upload.h"

struct json_write
api_begin(struct api_call *call, char bracket)
{
    struct json_write w = json_write_start(&call->out);
    json_write_open(&w, NULL, bracket);
    return w;
}

enum fz_code
api_answer_written(struct api_call *call, int status, struct fz_error *err)
{
    enum fz_code code = fz_buffer_done(&call->out, err);
    if (code == FZ_OK)
        http_respond_json(call->request, status, fz_buffer_span(&call->out));
    return code;
}

enum fz_code
api_answer(struct api_call *call, int status, struct json_write *w, char bracket,
           struct fz_error *err)
{
    json_write_close(w, bracket);
    return api_answer_written(call, status, err);
}

const char *
api_stored_error(const char *text)
{
    /* The error of a job that failed inside the server names hosts and paths. */
    if (text &&
        (strstr(text, "database") || strstr(text, " /") || *text == '/' || strstr(text, "blob")))
        return "an internal error; the log of the workers has it";
    return text;
}

/* ---- reports and uploads that are not done -------------------------------------------------- */

void
api_write_status(struct json_write *w, const char *id, const char *status,
                 const char *report_format)
{
    json_write_text(w, "id", id);
    json_write_text(w, "status", status);
    json_write_text(w, "format", report_format);
}

void
api_answer_status(struct http_request *request, int http_status, const char *id, const char *status,
                  const char *report_format)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(256);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    api_write_status(&w, id, status, report_format);
    json_write_close(&w, '}');
    http_respond_json(request, http_status, fz_buffer_span(&out));
}

void
api_answer_queued(struct http_request *request, const char *id, const char *report_format)
{
    api_answer_status(request, 202, id, "queued", report_format);
}

enum fz_code
api_upload_json(const struct store_upload *upload, struct fz_arena *arena, struct json_write *w,
                struct fz_error *err)
{
    struct upload_result result;
    /* Read before anything is written: a result that cannot be read must become an error, not half
     * an object. */
    if (upload->state == STORE_UPLOAD_DONE) {
        enum fz_code code = upload_result_read(upload->result, arena, &result, err);
        if (code != FZ_OK)
            return code;
    }

    json_write_open(w, NULL, '{');
    json_write_text(w, "upload", upload->id);
    json_write_text(w, "status", store_upload_state_name(upload->state));
    /* A raw body has no name of its own. */
    json_write_text(w, "name", upload->name && *upload->name ? upload->name : NULL);
    json_write_u64(w, "size", upload->size);
    json_write_time(w, "received", upload->created_ms);
    if (upload->state == STORE_UPLOAD_DONE)
        upload_result_write(w, "result", &result);
    if (upload->state == STORE_UPLOAD_FAILED) {
        json_write_open(w, "error", '{');
        json_write_text(w, "code", fz_code_name((enum fz_code)upload->error_code));
        json_write_text(w, "message", upload->error ? api_stored_error(upload->error) : "");
        json_write_close(w, '}');
        json_write_bool(w, "kept", upload->is_kept);
    }
    json_write_close(w, '}');
    return fz_buffer_done(w->out, err);
}

void
api_answer_upload_queued(struct http_request *request, const char *id)
{
    /* RFC 9110, 15.3.3: a 202 says where the client can ask for the result. */
    char location[64 + STORE_ID_TEXT];
    snprintf(location, sizeof(location), "/api/v1/uploads/%s", id);
    http_add_header(request, "Location", location);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "status", "queued");
    json_write_text(&w, "upload", id);
    json_write_close(&w, '}');
    http_respond_json(request, 202, fz_buffer_span(&out));
}

const char *
api_path_detail(struct api_call *call, const char *path, int64_t offset)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct json_write w = json_write_start(&text);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "path", path);
    if (offset >= 0)
        json_write_i64(&w, "offset", offset);
    json_write_close(&w, '}');
    return fz_buffer_done(&text, NULL) == FZ_OK ? fz_arena_text(call->arena, fz_buffer_span(&text))
                                                : NULL;
}
