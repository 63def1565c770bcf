#include "server/ingest/text/text.h"

#include "base/text.h"
#include "server/ingest/containers/encoding.h"

enum { QUOTES_MAX = 16 };

struct fz_span
text_clean(struct ingest_builder *b, struct fz_span body)
{
    FZ_CLEANUP(fz_buffer_deinit)
    struct fz_buffer decoded = fz_buffer_make(4 * b->limits->report_inflated_bytes);
    if (body.len >= 3 && memcmp(body.data, "\xef\xbb\xbf", 3) == 0)
        body = text_from(body, 3);
    if (body.len && !fz_text_is_utf8(body)) {
        encoding_append_single(&decoded, body);
        body = fz_buffer_span(&decoded);
    }
    char *copy = b->failed || decoded.failed ? NULL : fz_text_clean_utf8(b->arena, body);
    if (!copy) {
        b->failed = true;
        return (struct fz_span){NULL, 0};
    }
    size_t len = strlen(copy);
    for (size_t i = 0; i + 1 < len; i++) {
        if ((uint8_t)copy[i] == 0xc2 && (uint8_t)copy[i + 1] == 0xa0)
            copy[i] = copy[i + 1] = ' ';
    }
    return fz_span_make(copy, len);
}

bool
text_is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

struct fz_span
text_from(struct fz_span text, size_t at)
{
    return at >= text.len ? (struct fz_span){NULL, 0} : fz_span_make(text.data + at, text.len - at);
}

struct fz_span
text_until(struct fz_span text, size_t end)
{
    return end == 0 ? (struct fz_span){NULL, 0}
                    : fz_span_make(text.data, end < text.len ? end : text.len);
}

struct fz_span
text_trim(struct fz_span text)
{
    size_t start = 0, end = text.len;
    while (end > 0 && (text_is_space(text.data[end - 1]) || text.data[end - 1] == '\n'))
        end--;
    while (start < end && (text_is_space(text.data[start]) || text.data[start] == '\n'))
        start++;
    return text_from(text_until(text, end), start);
}

bool
text_has_prefix(struct fz_span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && (len == 0 || memcmp(text.data, prefix, len) == 0);
}

bool
text_has_suffix(struct fz_span text, const char *suffix)
{
    size_t len = strlen(suffix);
    return text.len >= len && (len == 0 || memcmp(text.data + text.len - len, suffix, len) == 0);
}

size_t
text_find(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; len && i + len <= text.len; i++) {
        const uint8_t *first = memchr(text.data + i, word[0], text.len - len + 1 - i);
        if (!first)
            break;
        i = (size_t)(first - text.data);
        if (memcmp(first, word, len) == 0)
            return i;
    }
    return SIZE_MAX;
}

size_t
text_find_last(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = text.len; len && i-- > 0;) {
        if (len <= text.len - i && text.data[i] == (uint8_t)word[0] &&
            memcmp(text.data + i, word, len) == 0)
            return i;
    }
    return SIZE_MAX;
}

struct fz_span
text_word(struct fz_span *text)
{
    struct fz_span all = text_trim(*text);
    size_t len = 0;
    while (len < all.len && !text_is_space(all.data[len]))
        len++;
    *text = text_trim(text_from(all, len));
    return text_until(all, len);
}

bool
text_take_hex(struct fz_span *text, uint64_t *ret)
{
    size_t end = 2;
    if (text->len < 3 || text->data[0] != '0' || (text->data[1] | 0x20) != 'x')
        return false;
    while (end < text->len && fz_text_hex_digit((char)text->data[end]) >= 0)
        end++;
    if (end < text->len) {
        uint8_t next = text->data[end];
        if ((next >= '0' && next <= '9') || (unsigned)(next | 0x20) - 'a' < 26 || next == '_' ||
            next >= 0x80)
            return false;
    }
    if (!fz_text_hex_u64(text_until(*text, end), ret))
        return false;
    *text = text_from(*text, end);
    return true;
}

bool
text_take_decimal(struct fz_span *text, uint64_t *ret)
{
    size_t end = 0;
    while (end < text->len && text->data[end] >= '0' && text->data[end] <= '9')
        end++;
    if (end == 0 || !fz_text_u64(text_until(*text, end), ret))
        return false;
    *text = text_from(*text, end);
    return true;
}

struct text_lines
text_lines_start(struct fz_span text)
{
    return (struct text_lines){.rest = text};
}

bool
text_lines_next(struct text_lines *lines, struct fz_span *ret)
{
    struct fz_span rest = lines->rest;
    if (rest.len == 0)
        return false;
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '\n' && rest.data[end] != '\r')
        end++;
    struct fz_span line = text_until(rest, end);
    lines->line = rest.data;
    lines->number++;
    if (end + 1 < rest.len && rest.data[end] == '\r' && rest.data[end + 1] == '\n')
        end++;
    lines->rest = text_from(rest, end + 1);
    /* "> > Thread 0 Crashed:"; no line of a report begins with such a mark. */
    for (int i = 0; i < QUOTES_MAX && line.len && line.data[0] == '>'; i++) {
        line = text_from(line, 1);
        if (line.len && line.data[0] == ' ')
            line = text_from(line, 1);
    }
    struct fz_span trimmed = text_trim(line);
    lines->indent = trimmed.len ? (size_t)(trimmed.data - line.data) : 0;
    *ret = trimmed;
    return true;
}

const char *
text_keep(struct ingest_builder *b, struct fz_span text)
{
    if (b->failed || text.len == 0)
        return NULL;
    const char *copy = fz_arena_text(b->arena, text);
    b->failed = !copy;
    return copy;
}

void *
text_grow(struct ingest_builder *b, void *items, size_t n, size_t *room, size_t size)
{
    if (n < *room || b->failed)
        return b->failed ? NULL : items;
    size_t more = *room ? *room * 2 : 8;
    void *grown = ingest_alloc(b, more, size);
    if (!grown)
        return NULL;
    if (n)
        memcpy(grown, items, n * size);
    *room = more;
    return grown;
}
