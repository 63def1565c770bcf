#include "server/api/api_json.h"

#include <inttypes.h>

#include "base/text.h"
#include "base/time.h"

static void
begin(struct fz_buffer *out, const char *key)
{
    if (out->len > 0) {
        char last = out->data[out->len - 1];
        if (last != '{' && last != '[')
            fz_buffer_char(out, ',');
    }
    if (key) {
        fz_text_json_append(out, fz_span_cstr(key));
        fz_buffer_char(out, ':');
    }
}

void
api_json_open(struct fz_buffer *out, const char *key, char bracket)
{
    begin(out, key);
    fz_buffer_char(out, bracket);
}

void
api_json_close(struct fz_buffer *out, char bracket)
{
    fz_buffer_char(out, bracket);
}

void
api_json_text(struct fz_buffer *out, const char *key, const char *text)
{
    if (!text)
        return;
    begin(out, key);
    fz_text_json_append(out, fz_span_cstr(text));
}

void
api_json_u64(struct fz_buffer *out, const char *key, uint64_t value)
{
    begin(out, key);
    fz_buffer_printf(out, "%" PRIu64, value);
}

void
api_json_time(struct fz_buffer *out, const char *key, int64_t unix_ms)
{
    if (unix_ms == 0)
        return;
    char text[FZ_TIME_TEXT];
    fz_time_format(unix_ms, text);
    api_json_text(out, key, text);
}

void
api_json_raw(struct fz_buffer *out, const char *key, const char *json)
{
    if (!json || !*json)
        return;
    begin(out, key);
    fz_buffer_text(out, json);
}
