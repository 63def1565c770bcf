#include "base/json/write.h"

#include <assert.h>

#include "base/text.h"
#include "base/time.h"

enum { U64_TEXT = 20 };

struct json_write
json_write_start(struct fz_buffer *out)
{
    return (struct json_write){.out = out};
}

/* The comma and the key, and room for `more` bytes of the value; NULL: the buffer is failed. Written at once: a report has a
 * dozen members for each of a thousand frames. */
static char *
begin_item(struct json_write *w, const char *key, size_t more)
{
    bool comma = w->comma;
    w->comma = true;
    if (!key) {
        char *to = fz_buffer_room(w->out, more + comma);
        if (to && comma)
            *to++ = ',';
        return to;
    }
    struct fz_span name = fz_span_cstr(key);
    bool is_plain = fz_text_json_plain(name) == name.len;
    char *to = fz_buffer_room(w->out, more + comma + (is_plain ? name.len + 3 : 0));
    if (!to)
        return NULL;
    if (comma)
        *to++ = ',';
    if (!is_plain) {
        /* Escaped as values are: keys of tags come from reports. */
        fz_buffer_grow_to(w->out, to);
        fz_text_json_append(w->out, name);
        fz_buffer_char(w->out, ':');
        return fz_buffer_room(w->out, more);
    }
    *to++ = '"';
    memcpy(to, name.data, name.len);
    to += name.len;
    *to++ = '"';
    *to++ = ':';
    return to;
}

static void
put(struct json_write *w, const char *key, const char *text, size_t len)
{
    char *to = begin_item(w, key, len);
    if (!to)
        return;
    memcpy(to, text, len);
    fz_buffer_grow_to(w->out, to + len);
}

void
json_write_open(struct json_write *w, const char *key, char bracket)
{
    put(w, key, &bracket, 1);
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
    if (fz_text_json_plain(text) < text.len) {
        put(w, key, "", 0);
        fz_text_json_append(w->out, text);
        return;
    }
    char *to = begin_item(w, key, text.len + 2);
    if (!to)
        return;
    *to++ = '"';
    if (text.len)
        memcpy(to, text.data, text.len);
    to[text.len] = '"';
    fz_buffer_grow_to(w->out, to + text.len + 1);
}

/* The eight hexadecimal digits of `value` as a word whose first byte is that of the highest one. */
static uint64_t
hex_word(uint32_t value)
{
    static const uint64_t ones = 0x0101010101010101;
    uint64_t x = value;
    x = (x << 16 | x) & 0x0000ffff0000ffff;
    x = (x << 8 | x) & 0x00ff00ff00ff00ff;
    x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
    /* A letter is 39 beyond the character that follows '9'. */
    uint64_t letters = (x + 6 * ones) >> 4 & ones;
    x += '0' * ones + letters * ('a' - '9' - 1);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? x : __builtin_bswap64(x);
}

/* printf is a third of a report's rendering time, so numbers are written by hand: "0x..." in quotes, of at most HEX_MAX bytes. Returns
 * the end; up to 16 bytes beyond it are overwritten. */
enum { HEX_MAX = 20, HEX_ROOM = HEX_MAX + 16 };
static char *
put_hex(char *to, uint64_t value)
{
    size_t n = (size_t)(67 - __builtin_clzll(value | 1)) / 4;
    /* The first digit to the top: all sixteen places are written, and those after the n digits are zeros. */
    value <<= 64 - 4 * n;
    uint64_t high = hex_word((uint32_t)(value >> 32)), low = hex_word((uint32_t)value);
    memcpy(to, "\"0x", 3);
    memcpy(to + 3, &high, sizeof(high));
    memcpy(to + 3 + sizeof(high), &low, sizeof(low));
    to[3 + n] = '"';
    return to + n + 4;
}

void
json_write_hex(struct json_write *w, const char *key, uint64_t value)
{
    char *to = begin_item(w, key, HEX_ROOM);
    if (to)
        fz_buffer_grow_to(w->out, put_hex(to, value));
}

/* The digits at the end of `text`. Returns where they begin. */
static size_t
put_digits(char text[U64_TEXT + 1], uint64_t value)
{
    size_t at = U64_TEXT + 1;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return at;
}

static void
write_number(struct json_write *w, const char *key, bool is_negative, uint64_t value)
{
    char text[U64_TEXT + 1];
    size_t at = put_digits(text, value);
    if (is_negative)
        text[--at] = '-';
    put(w, key, text + at, sizeof(text) - at);
}

void
json_write_u64(struct json_write *w, const char *key, uint64_t value)
{
    write_number(w, key, false, value);
}

void
json_write_i64(struct json_write *w, const char *key, int64_t value)
{
    /* Negated as unsigned: the lowest int64_t has no positive counterpart. */
    write_number(w, key, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void
json_write_bool(struct json_write *w, const char *key, bool value)
{
    put(w, key, value ? "true" : "false", value ? 4 : 5);
}

void
json_write_null(struct json_write *w, const char *key)
{
    put(w, key, "null", 4);
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
    put(w, key, json, strlen(json));
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct json_key
json_key_make(const char *name)
{
    struct json_key key = {.len = strlen(name) + 4};
    assert(key.len < sizeof(key.lead) && fz_text_json_plain(fz_span_cstr(name)) == strlen(name));
    memcpy(key.lead, ",\"", 2);
    memcpy(key.lead + 2, name, key.len - 4);
    memcpy(key.lead + key.len - 2, "\":", 2);
    return key;
}

/* The key, and room for `more` bytes after it, which is more than JSON_KEY_MAX; NULL: the buffer is failed. */
static char *
begin_key(struct json_write *w, const struct json_key *key, size_t more)
{
    char *to = fz_buffer_room(w->out, JSON_KEY_MAX + more);
    if (!to)
        return NULL;
    size_t skip = !w->comma;
    w->comma = true;
    memcpy(to, key->lead + skip, sizeof(key->lead) - 1);
    return to + key->len - skip;
}

void
json_write_key_hex(struct json_write *w, const struct json_key *key, uint64_t value)
{
    char *to = begin_key(w, key, HEX_ROOM);
    if (to)
        fz_buffer_grow_to(w->out, put_hex(to, value));
}

void
json_write_key_u64(struct json_write *w, const struct json_key *key, uint64_t value)
{
    char text[U64_TEXT + 1], *to = begin_key(w, key, sizeof(text));
    if (!to)
        return;
    size_t at = put_digits(text, value), n = sizeof(text) - at;
    for (size_t i = 0; i < n; i++)
        to[i] = text[at + i];
    fz_buffer_grow_to(w->out, to + n);
}

void
json_write_key_empty(struct json_write *w, const struct json_key *key)
{
    char *to = begin_key(w, key, 2);
    if (!to)
        return;
    memcpy(to, "[]", 2);
    fz_buffer_grow_to(w->out, to + 2);
}

struct json_piece
json_write_piece(const struct json_write *w, size_t start)
{
    return (struct json_piece){start, w->out->len - start};
}

void
json_write_again(struct json_write *w, const struct json_piece *piece)
{
    /* The room first: it may move the buffer that the piece is in. */
    char *to = fz_buffer_room(w->out, piece->len);
    if (!to)
        return;
    memcpy(to, w->out->data + piece->at, piece->len);
    fz_buffer_grow_to(w->out, to + piece->len);
}
