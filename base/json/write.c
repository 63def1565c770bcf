#include "base/json/write.h"

#include "base/text.h"
#include "base/time.h"

enum { U64_TEXT = 20 };

struct json_write
json_write_start(struct fz_buffer *out)
{
    return (struct json_write){.out = out};
}

static void
begin_item(struct json_write *w, const char *key)
{
    if (w->comma)
        fz_buffer_char(w->out, ',');
    w->comma = true;
    if (!key)
        return;
    /* Escaped as values are: keys of tags come from reports. */
    fz_text_json_append(w->out, fz_span_cstr(key));
    fz_buffer_char(w->out, ':');
}

void
json_write_open(struct json_write *w, const char *key, char bracket)
{
    begin_item(w, key);
    fz_buffer_char(w->out, bracket);
    /* The first member of what is opened has no comma before it. */
    w->comma = false;
}

void
json_write_close(struct json_write *w, char bracket)
{
    fz_buffer_char(w->out, bracket);
    w->comma = true;
}

void
json_write_text(struct json_write *w, const char *key, const char *text)
{
    if (text)
        json_write_span(w, key, fz_span_cstr(text));
}

void
json_write_span(struct json_write *w, const char *key, struct fz_span text)
{
    begin_item(w, key);
    fz_text_json_append(w->out, text);
}

/* printf is a third of a report's rendering time, so numbers are written by hand. */
static void
put_digits(struct fz_buffer *out, uint64_t value, unsigned radix)
{
    static const char digits[] = "0123456789abcdef";
    char text[U64_TEXT];
    size_t at = sizeof(text);
    do {
        text[--at] = digits[value % radix];
        value /= radix;
    } while (value);
    fz_buffer_append(out, text + at, sizeof(text) - at);
}

void
json_write_hex(struct json_write *w, const char *key, uint64_t value)
{
    begin_item(w, key);
    fz_buffer_text(w->out, "\"0x");
    put_digits(w->out, value, 16);
    fz_buffer_char(w->out, '"');
}

void
json_write_u64(struct json_write *w, const char *key, uint64_t value)
{
    begin_item(w, key);
    put_digits(w->out, value, 10);
}

void
json_write_i64(struct json_write *w, const char *key, int64_t value)
{
    begin_item(w, key);
    if (value < 0)
        fz_buffer_char(w->out, '-');
    /* Negated as unsigned: the lowest int64_t has no positive counterpart. */
    put_digits(w->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

void
json_write_bool(struct json_write *w, const char *key, bool value)
{
    begin_item(w, key);
    fz_buffer_text(w->out, value ? "true" : "false");
}

void
json_write_null(struct json_write *w, const char *key)
{
    begin_item(w, key);
    fz_buffer_text(w->out, "null");
}

void
json_write_time(struct json_write *w, const char *key, int64_t unix_ms)
{
    char text[FZ_TIME_TEXT];
    /* 0: the time is not known. */
    if (unix_ms == 0)
        return;
    fz_time_format(unix_ms, text);
    json_write_text(w, key, text);
}

void
json_write_raw(struct json_write *w, const char *key, const char *json)
{
    if (!json || !*json)
        return;
    begin_item(w, key);
    fz_buffer_text(w->out, json);
}
