/* Answers to Sentry's SDKs, and handing one event to the API. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "server/clients/sentry/sdk.h"

void
sentry_write_error(const struct fz_error *err, int status FZ_UNUSED, const char *detail_json,
                   struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
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

void
sentry_answer_accepted(struct http_request *request, const struct api_accepted *accepted,
                       void *user FZ_UNUSED)
{
    /* All items were refused one by one; the first says why. */
    if (accepted->n == 0)
        sentry_fail(request, 0, accepted->first);
    else
        sentry_answer_id(request, accepted->items[0].id);
}
