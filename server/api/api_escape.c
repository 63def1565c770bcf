#include "server/api/api_escape.h"

#include <string.h>

static const char zero_width_space[] = "\xe2\x80\x8b";

/* U+202A to U+202E, U+2066 to U+2069: what follows is shown in another order than it is in. */
static bool
is_direction(const uint8_t *c)
{
    return c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
                            (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

/* Control characters of Unicode's second block (C1), and its line and paragraph separators. */
static size_t
odd_len(const uint8_t *c)
{
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
        return 2;
    return c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9) ? 3 : 0;
}

/* One character that is not what it seems, replaced; returns how many bytes it had, 0 for any other. */
static size_t
append_odd(struct fz_buffer *out, const uint8_t *c)
{
    if (*c < ' ' || *c == 0x7f) {
        fz_buffer_char(out, ' ');
        return 1;
    }
    if (is_direction(c)) {
        fz_buffer_char(out, '?');
        return 3;
    }
    size_t len = odd_len(c);
    if (len)
        fz_buffer_char(out, ' ');
    return len;
}

/* ---- CSV ---- */

static bool
is_formula(const char *text)
{
    static const char *const signs[] = {
        "=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    /* White space, control characters, U+00A0 and a byte order mark are skipped by some. */
    for (;;) {
        if ((uint8_t)*text <= ' ' && *text)
            text++;
        else if (strncmp(text, "\xc2\xa0", 2) == 0)
            text += 2;
        else if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
            text += 3;
        else
            break;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(signs); i++) {
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return true;
    }
    return false;
}

void
api_csv_text(struct fz_buffer *out, const char *text)
{
    const char *c = text ? text : "";
    fz_buffer_char(out, '"');
    if (is_formula(c))
        fz_buffer_char(out, '\'');
    while (*c) {
        size_t odd = append_odd(out, (const uint8_t *)c);
        c += odd;
        if (odd)
            continue;
        if (*c == '"')
            fz_buffer_char(out, '"');
        fz_buffer_char(out, *c++);
    }
    fz_buffer_char(out, '"');
}

/* ---- Markdown ---- */

void
api_md_text(struct fz_buffer *out, const char *text)
{
    /* CommonMark 2.4: a backslash before any of these makes it plain. */
    static const char special[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    const char *c = text ? text : "";
    while (*c) {
        size_t odd = append_odd(out, (const uint8_t *)c);
        c += odd;
        if (odd)
            continue;
        if (strchr(special, *c))
            fz_buffer_char(out, '\\');
        fz_buffer_char(out, *c);
        /* Trackers look for @name and #12 in the text that is left when Markdown was read. */
        if (*c == '@' || *c == '#')
            fz_buffer_text(out, zero_width_space);
        c++;
    }
}

void
api_md_code(struct fz_buffer *out, const char *text)
{
    const char *c = text ? text : "";
    while (*c) {
        size_t odd = append_odd(out, (const uint8_t *)c);
        if (!odd)
            fz_buffer_char(out, *c);
        c += odd ? odd : 1;
    }
}

void
api_md_fence(struct fz_buffer *out, struct fz_span lines)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < lines.len; i++) {
        run = lines.data[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        fz_buffer_char(out, '`');
    fz_buffer_text(out, "text\n");
    fz_buffer_append(out, lines.data, lines.len);
    for (size_t i = 0; i <= longest; i++)
        fz_buffer_char(out, '`');
    fz_buffer_char(out, '\n');
}
