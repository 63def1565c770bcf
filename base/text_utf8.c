/* Texts as UTF-8: is it, repaired, escaped for JSON, made visible. */
#include "base/text.h"

#include <stdio.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool
is_continuation(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
size_t
fz_text_utf8_len(struct fz_span bytes)
{
    if (bytes.len == 0)
        return 0;
    const uint8_t *p = bytes.data;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return bytes.len >= 2 && is_continuation(p[1]) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        if (bytes.len < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
            return 0;
        /* Overlong forms, and surrogates (U+D800 to U+DFFF). */
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
            return 0;
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (bytes.len < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) ||
            !is_continuation(p[3]))
            return 0;
        /* Overlong forms, and what is above U+10FFFF. */
        if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}

static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;

static uint64_t
load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

bool
fz_text_is_utf8(struct fz_span bytes)
{
    size_t i = 0;
    while (i < bytes.len) {
        /* Nearly all is ASCII. */
        const uint8_t *p = bytes.data + i;
        for (; bytes.len - i >= 4 * sizeof(uint64_t); i += 4 * sizeof(uint64_t), p += 32) {
            if ((load_word(p) | load_word(p + 8) | load_word(p + 16) | load_word(p + 24)) & highs)
                break;
        }
        for (; bytes.len - i >= sizeof(uint64_t) && (load_word(bytes.data + i) & highs) == 0;)
            i += sizeof(uint64_t);
        if (i == bytes.len)
            break;
        size_t len = fz_text_utf8_len(fz_span_make(bytes.data + i, bytes.len - i));
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

char *
fz_text_clean_utf8(struct fz_arena *arena, struct fz_span bytes)
{
    size_t n_bad = 0;
    for (size_t i = 0; i < bytes.len;) {
        size_t len = fz_text_utf8_len(fz_span_make(bytes.data + i, bytes.len - i));
        n_bad += len == 0 || bytes.data[i] == 0;
        i += len ? len : 1;
    }
    if (n_bad == 0)
        return fz_arena_text(arena, bytes);
    /* Three bytes for one could overflow the sum below. */
    if (bytes.len > SIZE_MAX / 4)
        return NULL;
    /* A bad byte becomes the three of U+FFFD. */
    char *out = fz_arena_alloc(arena, bytes.len + 2 * n_bad + 1);
    if (!out)
        return NULL;
    size_t at = 0;
    for (size_t i = 0; i < bytes.len;) {
        size_t len = fz_text_utf8_len(fz_span_make(bytes.data + i, bytes.len - i));
        if (len == 0 || bytes.data[i] == 0) {
            memcpy(out + at, REPLACEMENT, 3);
            at += 3;
            i++;
        } else {
            memcpy(out + at, bytes.data + i, len);
            at += len;
            i += len;
        }
    }
    return out;
}

/* Words as in base/json/scan.c. */
static bool
word_is_plain(uint64_t word)
{
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\', del = word ^ ones * 0x7f;
    uint64_t hit = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
                   ((del - ones) & ~del) | ((word - ones * 0x20) & ~word) | word;
    return (hit & highs) == 0;
}

size_t
fz_text_json_plain(struct fz_span text)
{
    const uint8_t *p = text.data;
    size_t i = 0;
    for (; text.len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        if (!word_is_plain(load_word(p + i)))
            return i;
    }
    if (i == text.len)
        return i;
    /* The rest together with bytes that were looked at before, or that are in it twice: most keys are shorter than a word. */
    uint32_t first, last;
    if (text.len >= sizeof(uint64_t))
        return word_is_plain(load_word(p + text.len - sizeof(uint64_t))) ? text.len : i;
    if (text.len >= sizeof(first)) {
        memcpy(&first, p, sizeof(first));
        memcpy(&last, p + text.len - sizeof(last), sizeof(last));
        return word_is_plain((uint64_t)first << 32 | last) ? text.len : 0;
    }
    while (i < text.len && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

/* From the first byte on that may need an escape. */
static void
append_escaped(struct fz_buffer *out, struct fz_span text)
{
    size_t start = 0, i = 0;
    while (i < text.len) {
        uint8_t c = text.data[i];
        size_t len = fz_text_utf8_len(fz_span_make(text.data + i, text.len - i));
        /* Appended in runs: most texts have nothing to escape. */
        if (len && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            i += len;
            continue;
        }
        if (i > start)
            fz_buffer_append(out, text.data + start, i - start);
        if (len == 0)
            fz_buffer_append(out, REPLACEMENT, 3);
        else if (c == '"' || c == '\\')
            fz_buffer_printf(out, "\\%c", c);
        else if (c == '\n')
            fz_buffer_text(out, "\\n");
        else
            fz_buffer_printf(out, "\\u%04x", c);
        start = ++i;
    }
    if (i > start)
        fz_buffer_append(out, text.data + start, i - start);
}

void
fz_text_json_append(struct fz_buffer *out, struct fz_span text)
{
    size_t plain = fz_text_json_plain(text);
    char *to = fz_buffer_room(out, plain + 2);
    if (!to)
        return;
    *to++ = '"';
    if (plain)
        memcpy(to, text.data, plain);
    to += plain;
    if (plain == text.len)
        *to++ = '"';
    fz_buffer_grow_to(out, to);
    if (plain == text.len)
        return;
    append_escaped(out, fz_span_make(text.data + plain, text.len - plain));
    fz_buffer_char(out, '"');
}

/* U+0080 to U+009F (C1), U+061C, U+200B to U+200F without the joiners of scripts, U+2028 to U+202E, U+2060 to U+2069, U+FEFF. */
static bool
is_unseen(uint32_t c)
{
    return (c >= 0x80 && c <= 0x9f) || c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff;
}

/* The code point of a sequence of two or three bytes, which fz_text_utf8_len() has found well-formed. */
static uint32_t
short_code_point(const uint8_t *p, size_t len)
{
    return len == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                    : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

size_t
fz_text_visible(struct fz_span text, char *ret, size_t room)
{
    enum { NOT_UTF8 = 0xfffd };
    size_t at = 0;
    for (size_t i = 0; i < text.len && room;) {
        const uint8_t *p = text.data + i;
        size_t len = fz_text_utf8_len(fz_span_make(p, text.len - i));
        uint32_t c = len == 0 ? NOT_UTF8 : len == 1 ? *p : len < 4 ? short_code_point(p, len) : 0;
        char piece[8];
        int n = len < 4 && (c < 0x20 || c == 0x7f || c == NOT_UTF8 || is_unseen(c))
                    ? snprintf(piece, sizeof(piece), "\\u%04x", (unsigned)c)
                    : 0;
        size_t piece_len = n > 0 ? (size_t)n : len;
        if (piece_len > room - 1 - at)
            break;
        memcpy(ret + at, n > 0 ? piece : (const char *)p, piece_len);
        at += piece_len;
        i += len ? len : 1;
    }
    if (room)
        ret[at] = '\0';
    return at;
}

const char *
fz_text_visible_copy(struct fz_arena *arena, const char *text)
{
    enum { LONGEST = 6 }; /* "\u001b" for one byte */
    size_t len = strlen(text), room;
    if (__builtin_mul_overflow(len, (size_t)LONGEST, &room) || room == SIZE_MAX)
        return NULL;
    char *copy = fz_arena_alloc(arena, room + 1);
    if (copy)
        fz_text_visible(fz_span_make(text, len), copy, room + 1);
    return copy;
}
