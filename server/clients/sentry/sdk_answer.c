/* Answers to Sentry's SDKs, and handing one event to the API. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "server/clients/sentry/sdk.h"

void
sentry_write_error(const struct fz_error *err, int status, const char *detail_json,
                   struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    (void)status;
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "detail", err->text);
    json_write_open(&w, "causes", '[');
    if (detail_json)
        json_write_text(&w, NULL, detail_json);
    else if (err->offset >= 0)
        json_write_text(&w, NULL, fz_code_name(err->code));
    json_write_close(&w, ']');
    json_write_close(&w, '}');
}

void
sentry_fail(struct http_request *request, int status, const struct fz_error *err)
{
    char text[sizeof(err->text)];
    size_t n = 0;
    for (; err->text[n]; n++) /* a header's value is ASCII */
        text[n] = err->text[n] >= ' ' && err->text[n] <= '~' ? err->text[n] : '?';
    text[n] = '\0';
    if (status != 429) /* sentry_limited() has added it */
        http_add_header(request, "X-Sentry-Error", text);
    http_respond_error_status(request, status ? status : fz_code_http_status(err->code), err, NULL);
}

void
sentry_answer_id(struct http_request *request, const char *id)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "id", id && *id ? id : NULL);
    json_write_close(&w, '}');
    http_respond_json(request, 200, fz_buffer_span(&out));
}

void
sentry_limited(struct http_request *request, enum api_takes takes, unsigned wait_s,
               const char *scope, const char *limit)
{
    char text[128];
    /* Sessions may be sent while events are limited, and vice versa. */
    snprintf(text, sizeof(text), "%u:%s:%s:%s", wait_s,
             takes == API_TAKES_SESSIONS         ? "session"
             : takes == API_TAKES_CLIENT_REPORTS ? "internal"
                                                 : "default;error;attachment",
             strcmp(scope, "project") == 0 ? "project" : "key", limit);
    http_add_header(request, "X-Sentry-Rate-Limits", text);
    http_add_header(request, "X-Sentry-Error", limit);
}

static void
taken(struct http_request *request, const struct api_taken *taken, void *user)
{
    (void)user;
    if (taken->n == 0)
        sentry_fail(request, 0, taken->first);
    else
        sentry_answer_id(request, taken->items[0].id);
}

enum fz_code
sentry_intake(struct api *api, struct http_request *request, const struct sentry_sender *sender,
              struct fz_span body, struct fz_arena *arena, struct fz_error *err)
{
    const struct api_intake intake = {
        .api = api,
        .request = request,
        .project_id = sender->project_id,
        .body = body,
        .arena = arena,
        .answer = taken,
    };
    return api_intake(&intake, err);
}

static void
append_item(struct fz_buffer *out, const char *type, const struct sentry_file *file,
            struct fz_span bytes)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "type", type);
    json_write_u64(&w, "length", bytes.len);
    if (file && file->name)
        json_write_text(&w, "filename", file->name);
    if (file && file->type)
        json_write_text(&w, "content_type", file->type);
    if (file && file->kind)
        json_write_text(&w, "attachment_type", file->kind);
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
    fz_buffer_append(out, bytes.data, bytes.len);
    fz_buffer_char(out, '\n');
}

enum fz_code
sentry_make_envelope(struct fz_span event, const struct sentry_file *files, size_t n_files,
                     struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_buffer_text(&out, "{}\n");
    append_item(&out, "event", NULL, event);
    for (size_t i = 0; i < n_files; i++)
        append_item(&out, "attachment", &files[i], files[i].bytes);
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    char *copy = fz_arena_text(arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(arena, err);
    *ret = fz_span_make(copy, out.len);
    return FZ_OK;
}
