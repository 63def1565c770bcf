#include "write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char hex_digits[] = "0123456789abcdef";

static void
flush(struct framezero_writer *w)
{
    size_t done = 0;
    while (!w->failed && done < w->used) {
        ssize_t n = write(w->fd, w->buffer + done, w->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            w->failed = true;
    }
    w->used = 0;
}

static void
put(struct framezero_writer *w, char c)
{
    if (w->used == sizeof(w->buffer))
        flush(w);
    /* A file that grows without end would be refused by the server anyway. */
    if (++w->total > FRAMEZERO_WRITE_MAX)
        w->failed = true;
    if (!w->failed)
        w->buffer[w->used++] = c;
}

static void
put_all(struct framezero_writer *w, const char *text)
{
    for (; *text; text++)
        put(w, *text);
}

void
framezero_write_start(struct framezero_writer *w, int fd)
{
    w->fd = fd;
    w->failed = false;
    w->needs_comma = false;
    w->n_base64_left = 0;
    w->used = w->total = 0;
}

bool
framezero_write_finish(struct framezero_writer *w)
{
    put(w, '\n');
    flush(w);
    return !w->failed;
}

static void
begin(struct framezero_writer *w, const char *key)
{
    if (w->needs_comma)
        put(w, ',');
    w->needs_comma = true;
    if (key) {
        put(w, '"');
        put_all(w, key);
        put(w, '"');
        put(w, ':');
    }
}

void
framezero_write_open(struct framezero_writer *w, const char *key, char bracket)
{
    begin(w, key);
    put(w, bracket);
    w->needs_comma = false;
}

void
framezero_write_close(struct framezero_writer *w, char bracket)
{
    put(w, bracket);
    w->needs_comma = true;
}

/* ---- texts ------------------------------------------------------------------------------------ */

/* The length of the UTF-8 sequence at `text`, 0 if it is not one (RFC 3629: no surrogates, no overlong forms). */
static size_t
sequence_length(const uint8_t *text, size_t n)
{
    uint8_t first = text[0];
    if (first < 0x80)
        return 1;
    size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    uint8_t second = text[1];
    bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
               (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return bad ? 0 : len;
}

static void
put_escaped(struct framezero_writer *w, uint8_t c)
{
    if (c == '"' || c == '\\') {
        put(w, '\\');
        put(w, (char)c);
    } else if (c < 0x20) {
        put_all(w, "\\u00");
        put(w, hex_digits[c >> 4]);
        put(w, hex_digits[c & 15]);
    } else {
        put(w, (char)c);
    }
}

void
framezero_write_text(struct framezero_writer *w, const char *key, const char *text, size_t n)
{
    if (!text || n == 0 || !*text)
        return;
    const char *zero = memchr(text, 0, n);
    n = zero ? (size_t)(zero - text) : n;
    begin(w, key);
    put(w, '"');
    for (size_t i = 0; i < n;) {
        size_t len = sequence_length((const uint8_t *)text + i, n - i);
        if (len == 0)
            put(w, '?');
        for (size_t k = 0; k < len; k++)
            put_escaped(w, (uint8_t)text[i + k]);
        i += len ? len : 1;
    }
    put(w, '"');
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static void
put_decimal(struct framezero_writer *w, uint64_t value, unsigned digits)
{
    char text[20];
    unsigned n = 0;
    do
        text[n++] = (char)('0' + value % 10);
    while ((value /= 10) && n < sizeof(text));
    for (unsigned i = n; i < digits; i++)
        put(w, '0');
    while (n)
        put(w, text[--n]);
}

void
framezero_write_number(struct framezero_writer *w, const char *key, int64_t value)
{
    begin(w, key);
    if (value < 0)
        put(w, '-');
    put_decimal(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

void
framezero_write_hex(struct framezero_writer *w, const char *key, uint64_t value)
{
    begin(w, key);
    put_all(w, "\"0x");
    unsigned shift = 60;
    while (shift && !(value >> shift))
        shift -= 4;
    for (;; shift -= 4) {
        put(w, hex_digits[value >> shift & 15]);
        if (shift == 0)
            break;
    }
    put(w, '"');
}

void
framezero_write_bool(struct framezero_writer *w, const char *key, bool value)
{
    begin(w, key);
    put_all(w, value ? "true" : "false");
}

void
framezero_write_vector(struct framezero_writer *w, const char *key, const uint8_t bytes[16])
{
    begin(w, key);
    put_all(w, "\"0x");
    for (int i = 15; i >= 0; i--) {
        put(w, hex_digits[bytes[i] >> 4]);
        put(w, hex_digits[bytes[i] & 15]);
    }
    put(w, '"');
}

void
framezero_uuid_text(const uint8_t uuid[16], char text[37])
{
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *text++ = '-';
        *text++ = hex_digits[uuid[i] >> 4];
        *text++ = hex_digits[uuid[i] & 15];
    }
    *text = '\0';
}

void
framezero_write_uuid(struct framezero_writer *w, const char *key, const uint8_t uuid[16])
{
    char text[37];
    framezero_uuid_text(uuid, text);
    framezero_write_text(w, key, text, sizeof(text));
}

/* ISO 8601 in UTC. The days of the civil calendar are counted in years that begin in March, so that the leap day is the
 * last one: 2000-03-01 is day 11017 after 1970-01-01. */
void
framezero_write_date(struct framezero_writer *w, const char *key, uint64_t unix_ms)
{
    uint64_t seconds = unix_ms / 1000, days = seconds / 86400 + 719468;
    uint64_t era = days / 146097, day = days % 146097;
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    uint64_t month = (5 * day + 2) / 153;
    uint64_t in_month = day - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    year += era * 400 + (month <= 2);
    begin(w, key);
    put(w, '"');
    put_decimal(w, year, 4);
    put(w, '-');
    put_decimal(w, month, 2);
    put(w, '-');
    put_decimal(w, in_month, 2);
    put(w, 'T');
    put_decimal(w, seconds / 3600 % 24, 2);
    put(w, ':');
    put_decimal(w, seconds / 60 % 60, 2);
    put(w, ':');
    put_decimal(w, seconds % 60, 2);
    put(w, '.');
    put_decimal(w, unix_ms % 1000, 3);
    put_all(w, "Z\"");
}

/* ---- base64 ----------------------------------------------------------------------------------- */

static void
put_base64(struct framezero_writer *w, const uint8_t bytes[3], unsigned n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits =
        (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0) | (n > 2 ? bytes[2] : 0u);
    put(w, digits[bits >> 18]);
    put(w, digits[bits >> 12 & 63]);
    put(w, n > 1 ? digits[bits >> 6 & 63] : '=');
    put(w, n > 2 ? digits[bits & 63] : '=');
}

void
framezero_write_bytes_begin(struct framezero_writer *w, const char *key)
{
    begin(w, key);
    put(w, '"');
    w->n_base64_left = 0;
}

void
framezero_write_bytes(struct framezero_writer *w, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w->base64_left[w->n_base64_left++] = bytes[i];
        if (w->n_base64_left == 3) {
            put_base64(w, w->base64_left, 3);
            w->n_base64_left = 0;
        }
    }
}

void
framezero_write_bytes_end(struct framezero_writer *w)
{
    if (w->n_base64_left)
        put_base64(w, w->base64_left, w->n_base64_left);
    put(w, '"');
}
