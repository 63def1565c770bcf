/*
 * A message without what changes from run to run, so that one text of the program is one text again:
 *
 *   "-[Cart total]: unrecognized selector sent to instance 0x2812f3a40"  ─►  "... instance <hex>"
 *   "index 7 beyond bounds [0 .. 3]"                                     ─►  "index # beyond bounds [# .. #]"
 *   "/var/mobile/.../1F0C3A52-7E0B-4D5C-9A57-3B5E6C1D2E3F/a.db is busy"  ─►  ".../<uuid>/a.db is busy"
 *
 * One pass over words: a word is judged by its letters and digits. What the app quotes stays, since
 * it is most often the name of a key or a class, unless it follows "=".
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "server/group/parts.h"

/* Read at most: the result is much shorter. */
enum { INPUT_MAX = 8192, UUID_LEN = 36 };

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t
count_hex(const char *text)
{
    size_t n = 0;
    while (isxdigit((unsigned char)text[n]))
        n++;
    return n;
}

/* 8-4-4-4-12 hex digits. */
static bool
is_uuid(const char *text)
{
    for (size_t i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return !is_word(text[UUID_LEN]);
}

/* "0x10", and bare hex of eight digits or more that is not a word: one of them is a decimal digit. */
static size_t
hex_len(const char *text)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        size_t n = count_hex(text + 2);
        return n && !is_word(text[2 + n]) ? 2 + n : 0;
    }
    size_t n = count_hex(text), digits = 0;
    if (n < 8 || is_word(text[n]))
        return 0;
    for (size_t i = 0; i < n; i++)
        digits += isdigit((unsigned char)text[i]) != 0;
    return digits && digits < n ? n : 0;
}

/* An IPv4 address, a date "2026-11-23", a time "10:11:12.345", a version "1.2.3", a number: digits
 * with what joins them. Units stay: "12ms" is "#ms". */
static size_t
number_len(const char *text)
{
    size_t n = 0;
    while (isdigit((unsigned char)text[n]) ||
           (n && strchr(".,:-", text[n]) && text[n] && isdigit((unsigned char)text[n + 1])))
        n++;
    /* "1.5e-07" */
    if (n && (text[n] == 'e' || text[n] == 'E')) {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t digits = strspn(text + n + 1 + sign, "0123456789");
        if (digits && !is_word(text[n + 1 + sign + digits]))
            n += 1 + sign + digits;
    }
    return n;
}

/* The length of a URL or an e-mail address that starts here, 0 if none does. */
static size_t
address_len(const char *text, const char **ret)
{
    size_t n = strcspn(text, " \t\r\n\"'<>()[]{},;");
    const char *at = memchr(text, '@', n);
    size_t scheme = 0;
    while (isalnum((unsigned char)text[scheme]) || text[scheme] == '+' || text[scheme] == '-')
        scheme++;
    if (scheme && isalpha((unsigned char)*text) && fz_text_has_prefix(text + scheme, "://")) {
        *ret = "<url>";
        return n;
    }
    if (at && at > text && memchr(at, '.', n - (size_t)(at - text)) && is_word(at[1])) {
        *ret = "<email>";
        return n;
    }
    return 0;
}

/* A quoted text after "=" is a value: 'key="abc"'. */
static size_t
value_len(const char *text, char before)
{
    if (before != '=' || (*text != '"' && *text != '\''))
        return 0;
    const char *end = strchr(text + 1, *text);
    return end ? (size_t)(end - text) + 1 : 0;
}

/* What changes at this place, and what stands for it; 0 = nothing. `before` is the byte before. */
static size_t
changing_len(const char *text, char before, const char **ret)
{
    size_t n = value_len(text, before);
    if (n) {
        *ret = "\"\"";
        return n;
    }
    if (is_word(before))
        return 0;
    *ret = "<uuid>";
    if (is_uuid(text))
        return UUID_LEN;
    *ret = "<hex>";
    if ((n = hex_len(text)) > 0)
        return n;
    *ret = "#";
    size_t sign = *text == '-' && isdigit((unsigned char)text[1]) && before != ']';
    if ((n = number_len(text + sign)) > 0)
        return n + sign;
    for (size_t i = 0; i < 2; i++) {
        static const char *const words[] = {"nan", "inf"};
        if (strncasecmp(text, words[i], 3) == 0 && !is_word(text[3]))
            return 3;
    }
    return address_len(text, ret);
}

const char *
group_message(const char *text, struct fz_arena *arena)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* A copy, so that no search goes beyond its end. */
    text = fz_arena_text(arena, fz_span_make(text, strnlen(text, INPUT_MAX)));
    if (!text)
        return NULL;
    const char *end = text + strlen(text);
    char before = ' ';
    while (text < end && out.len <= GROUP_MESSAGE_MAX) {
        const char *instead = NULL;
        size_t n = changing_len(text, before, &instead);
        if (n) {
            fz_buffer_text(&out, instead);
        } else {
            n = 1;
            /* Any white space is one blank, also between lines. */
            bool is_blank = (unsigned char)*text <= ' ' || *text == 0x7f;
            if (!is_blank)
                fz_buffer_char(&out, *text);
            else if (out.len && out.data[out.len - 1] != ' ')
                fz_buffer_char(&out, ' ');
        }
        before = text[n - 1];
        text += n < (size_t)(end - text) ? n : (size_t)(end - text);
    }
    if (out.failed)
        return NULL;
    size_t len = out.len < GROUP_MESSAGE_MAX ? out.len : GROUP_MESSAGE_MAX;
    while (len && len < out.len && ((uint8_t)out.data[len] & 0xc0) == 0x80)
        len--; /* not inside a character */
    return fz_arena_text(arena, fz_text_trim(fz_span_make(out.data, len)));
}
