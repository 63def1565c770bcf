#include "base/encoding.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"

enum { LOOKED_AT = 512, UNITS_MIN = 8, REPLACEMENT = 0xfffd };

static void
append(struct fz_buffer *out, uint32_t c)
{
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    fz_buffer_char(out, (char)(lead[more] | c >> (6 * more)));
    while (more-- > 0)
        fz_buffer_char(out, (char)(0x80 | ((c >> (6 * more)) & 0x3f)));
}

/* ---- UTF-16 -------------------------------------------------------------------------------- */

bool
fz_encoding_is_utf16(struct fz_span head, bool *ret_big_endian)
{
    size_t zeros[2] = {0, 0}, n = (head.len < LOOKED_AT ? head.len : LOOKED_AT) / 2;
    /* A few bytes with zeros may be anything. */
    if (n < UNITS_MIN)
        return false;
    bool little = head.data[0] == 0xff && head.data[1] == 0xfe;
    bool big = head.data[0] == 0xfe && head.data[1] == 0xff;
    for (size_t i = 0; i < 2 * n; i++)
        zeros[i % 2] += head.data[i] == 0;
    /* The heads of reports are in English: nearly all of their characters are below 256. */
    if (!little && !big) {
        big = zeros[0] >= n - n / 8 && zeros[1] <= n / 32;
        little = zeros[1] >= n - n / 8 && zeros[0] <= n / 32;
    }
    *ret_big_endian = big;
    return little || big;
}

static uint32_t
next_utf16(struct fz_reader *r)
{
    uint32_t c = fz_read_u16(r);
    if (c >= 0xd800 && c < 0xdc00 && fz_read_left(r) >= 2) {
        size_t before = r->pos;
        uint32_t low = fz_read_u16(r);
        if (low >= 0xdc00 && low < 0xe000)
            return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        /* The second unit is a character of its own, and only the first one is lost. */
        fz_read_seek(r, before);
    }
    return c >= 0xd800 && c < 0xe000 ? REPLACEMENT : c;
}

void
fz_encoding_append_utf16(struct fz_buffer *out, struct fz_reader *r)
{
    while (fz_read_left(r) >= 2) {
        uint32_t c = next_utf16(r);
        if (c == 0)
            break;
        append(out, c);
    }
}

void
fz_encoding_append_text(struct fz_buffer *out, struct fz_span text, bool big_endian)
{
    struct fz_reader r = fz_reader_make(text, "UTF-16");
    r.big_endian = big_endian;
    while (fz_read_left(&r) >= 2 && !out->failed) {
        uint32_t c = next_utf16(&r);
        /* Only the first character is a byte order mark. */
        if (c != 0xfeff || r.pos > 2)
            append(out, c ? c : REPLACEMENT);
    }
}

/* ---- one byte a character ------------------------------------------------------------------ */

/* 0x80 and up of Apple's Mac Roman. */
static const uint16_t mac_roman[] = {
    0x00c4, 0x00c5, 0x00c7, 0x00c9, 0x00d1, 0x00d6, 0x00dc, 0x00e1, 0x00e0, 0x00e2, 0x00e4, 0x00e3,
    0x00e5, 0x00e7, 0x00e9, 0x00e8, 0x00ea, 0x00eb, 0x00ed, 0x00ec, 0x00ee, 0x00ef, 0x00f1, 0x00f3,
    0x00f2, 0x00f4, 0x00f6, 0x00f5, 0x00fa, 0x00f9, 0x00fb, 0x00fc, 0x2020, 0x00b0, 0x00a2, 0x00a3,
    0x00a7, 0x2022, 0x00b6, 0x00df, 0x00ae, 0x00a9, 0x2122, 0x00b4, 0x00a8, 0x2260, 0x00c6, 0x00d8,
    0x221e, 0x00b1, 0x2264, 0x2265, 0x00a5, 0x00b5, 0x2202, 0x2211, 0x220f, 0x03c0, 0x222b, 0x00aa,
    0x00ba, 0x03a9, 0x00e6, 0x00f8, 0x00bf, 0x00a1, 0x00ac, 0x221a, 0x0192, 0x2248, 0x2206, 0x00ab,
    0x00bb, 0x2026, 0x00a0, 0x00c0, 0x00c3, 0x00d5, 0x0152, 0x0153, 0x2013, 0x2014, 0x201c, 0x201d,
    0x2018, 0x2019, 0x00f7, 0x25ca, 0x00ff, 0x0178, 0x2044, 0x20ac, 0x2039, 0x203a, 0xfb01, 0xfb02,
    0x2021, 0x00b7, 0x201a, 0x201e, 0x2030, 0x00c2, 0x00ca, 0x00c1, 0x00cb, 0x00c8, 0x00cd, 0x00ce,
    0x00cf, 0x00cc, 0x00d3, 0x00d4, 0xf8ff, 0x00d2, 0x00da, 0x00db, 0x00d9, 0x0131, 0x02c6, 0x02dc,
    0x00af, 0x02d8, 0x02d9, 0x02da, 0x00b8, 0x02dd, 0x02db, 0x02c7};

/* 0x80 to 0x9f of Windows' Latin, which is ISO Latin 1 elsewhere; 0: not used. */
static const uint16_t windows[] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                   0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                   0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

static uint32_t
from_mac(uint8_t byte)
{
    return mac_roman[byte - 0x80];
}

static uint32_t
from_latin(uint8_t byte)
{
    uint32_t c = byte < 0xa0 ? windows[byte - 0x80] : byte;
    return c ? c : REPLACEMENT;
}

static bool
is_ascii_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters with accents that are not in the middle of Unicode's Latin 1, such as multiplication. */
static bool
is_accented(uint32_t c)
{
    return c >= 0xc0 && c <= 0xff && c != 0xd7 && c != 0xf7;
}

static bool
is_small(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff);
}

/* How well a byte reads as `c` in its place: letters belong in words, and a capital does not follow
 * a small letter; quotes and dashes belong at the edges. */
static int
score(uint32_t c, uint8_t before, uint8_t after)
{
    bool in_word = is_ascii_letter(before) || is_ascii_letter(after);
    bool inside = is_ascii_letter(before) && is_ascii_letter(after);
    /* The strongest sign: no one wrote a byte that the encoding does not have. */
    if (c == REPLACEMENT)
        return -4;
    if (is_accented(c))
        return !in_word                                            ? -1
               : !is_small(c) && before >= 'a' && before <= 'z'    ? -2
               : !is_small(c) && !inside && is_ascii_letter(after) ? 1
                                                                   : 2;
    /* Typographic dashes and quotes; an apostrophe may be within a word. */
    if (c >= 0x2010 && c <= 0x2026)
        return c == 0x2019 || !inside ? 2 : -1;
    return c == 0xa0 || c == 0xa9 || c == 0xae || c == 0x2122 || c == 0xab || c == 0xbb ? 1 : 0;
}

static bool
is_mac(struct fz_span text)
{
    int mac = 0, latin = 0;
    for (size_t i = 0; i < text.len;) {
        struct fz_span rest = fz_span_make(text.data + i, text.len - i);
        size_t len = fz_text_utf8_len(rest);
        if (len == 0) {
            uint8_t before = i ? text.data[i - 1] : ' ';
            uint8_t after = i + 1 < text.len ? text.data[i + 1] : ' ';
            mac += score(from_mac(text.data[i]), before, after);
            latin += score(from_latin(text.data[i]), before, after);
        }
        i += len ? len : 1;
    }
    return mac > latin;
}

void
fz_encoding_append_single(struct fz_buffer *out, struct fz_span text)
{
    bool mac = is_mac(text);
    for (size_t i = 0; i < text.len && !out->failed;) {
        size_t len = fz_text_utf8_len(fz_span_make(text.data + i, text.len - i));
        if (len)
            fz_buffer_append(out, text.data + i, len);
        else
            append(out, mac ? from_mac(text.data[i]) : from_latin(text.data[i]));
        i += len ? len : 1;
    }
}
