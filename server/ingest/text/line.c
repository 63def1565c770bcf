#include "server/ingest/text/line.h"

#include "base/encoding.h"
#include "base/text.h"

enum { QUOTES_MAX = 16 };

struct fz_span
ingest_text_clean(struct ingest_builder *b, struct fz_span body)
{
    FZ_CLEANUP(fz_buffer_deinit)
    struct fz_buffer decoded = fz_buffer_make(4 * b->limits->report_inflated_bytes);
    if (body.len >= 3 && memcmp(body.data, "\xef\xbb\xbf", 3) == 0)
        body = fz_span_from(body, 3);
    /* Old systems write names of apps and threads in their own encoding, in a text that is ASCII
     * otherwise. */
    if (body.len && !fz_text_is_utf8(body)) {
        fz_encoding_append_single(&decoded, body);
        body = fz_buffer_span(&decoded);
    }
    char *copy = b->failed || decoded.failed ? NULL : fz_text_clean_utf8(b->arena, body);
    if (!copy) {
        b->failed = true;
        return (struct fz_span){NULL, 0};
    }
    size_t len = strlen(copy);
    /* Mail programs and web pages make no-break spaces out of the columns. */
    for (size_t i = 0; i + 1 < len; i++) {
        if ((uint8_t)copy[i] == 0xc2 && (uint8_t)copy[i + 1] == 0xa0)
            copy[i] = copy[i + 1] = ' ';
    }
    return fz_span_make(copy, len);
}

struct fz_span
ingest_text_word(struct fz_span *text)
{
    struct fz_span all = fz_text_trim(*text);
    size_t len = 0;
    while (len < all.len && !fz_text_is_blank(all.data[len]))
        len++;
    *text = fz_text_trim(fz_span_from(all, len));
    return fz_span_until(all, len);
}

bool
ingest_text_cut_hex(struct fz_span *text, uint64_t *ret)
{
    size_t end = 2;
    if (text->len < 3 || text->data[0] != '0' || (text->data[1] | 0x20) != 'x')
        return false;
    while (end < text->len && fz_text_hex_digit((char)text->data[end]) >= 0)
        end++;
    if (end < text->len) {
        uint8_t next = text->data[end];
        /* "0x1fg" is a word, not a number. */
        if ((next >= '0' && next <= '9') || (unsigned)(next | 0x20) - 'a' < 26 || next == '_' ||
            next >= 0x80)
            return false;
    }
    if (!fz_text_hex_u64(fz_span_until(*text, end), ret))
        return false;
    *text = fz_span_from(*text, end);
    return true;
}

bool
ingest_text_cut_decimal(struct fz_span *text, uint64_t *ret)
{
    size_t end = 0;
    while (end < text->len && text->data[end] >= '0' && text->data[end] <= '9')
        end++;
    if (end == 0 || !fz_text_u64(fz_span_until(*text, end), ret))
        return false;
    *text = fz_span_from(*text, end);
    return true;
}

struct ingest_text_lines
ingest_text_lines_start(struct fz_span text)
{
    return (struct ingest_text_lines){.rest = text};
}

bool
ingest_text_lines_next(struct ingest_text_lines *lines, struct fz_span *ret)
{
    struct fz_span rest = lines->rest;
    if (rest.len == 0)
        return false;
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '\n' && rest.data[end] != '\r')
        end++;
    struct fz_span line = fz_span_until(rest, end);
    lines->line = rest.data;
    lines->number++;
    /* A CR alone ends a line too. */
    if (end + 1 < rest.len && rest.data[end] == '\r' && rest.data[end + 1] == '\n')
        end++;
    lines->rest = fz_span_from(rest, end + 1);
    /* "> > Thread 0 Crashed:" in an answered mail; no line of a report begins with '>' itself. */
    for (int i = 0; i < QUOTES_MAX && line.len && line.data[0] == '>'; i++) {
        line = fz_span_from(line, 1);
        if (line.len && line.data[0] == ' ')
            line = fz_span_from(line, 1);
    }
    struct fz_span trimmed = fz_text_trim(line);
    lines->indent = trimmed.len ? (size_t)(trimmed.data - line.data) : 0;
    *ret = trimmed;
    return true;
}

struct fz_span
ingest_text_after(struct fz_span text, const char *key, const char *end)
{
    size_t at = fz_text_find(text, key);
    if (at == SIZE_MAX)
        return (struct fz_span){NULL, 0};
    struct fz_span rest = fz_span_from(text, at + strlen(key));
    return end ? fz_span_until(rest, fz_text_find(rest, end)) : rest;
}

size_t
ingest_text_last_group(struct fz_span text)
{
    size_t depth = 0;
    for (size_t i = fz_span_ends(text, ")") ? text.len : 0; i-- > 0;) {
        if (text.data[i] == ')')
            depth++;
        else if (text.data[i] == '(' && --depth == 0)
            return i;
    }
    return SIZE_MAX;
}
