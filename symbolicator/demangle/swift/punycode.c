/*
 * Swift's variant of Punycode (RFC 3492): "_" between the basic characters and the rest, "A" to "J"
 * for the digits 26 to 35, and ASCII characters that symbols cannot have as U+D800 + code.
 *
 *   vergenza_JFa  ->  verguenza with u-umlaut: "ue" is one insertion, encoded as J F a
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/buffer.h"

enum {
    BASE = 36,
    T_MIN = 1,
    T_MAX = 26,
    SKEW = 38,
    DAMP = 700,
    FIRST_BIAS = 72,
    FIRST_CODE = 128,
    CODE_MAX = 0x10ffff,
    ASCII_CODES = 0xd800, /* plus the ASCII characters that symbols cannot have */
    CODES_MAX = 8192,     /* inserting takes time by their square */
};

static int
digit(uint8_t c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    /* RFC 3492 has the digits 0 to 9 here. */
    return c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

static uint32_t
adapt(uint32_t delta, uint32_t n_codes, bool first)
{
    /* RFC 3492, 6.1: the first delta is much larger than the ones after it. */
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / n_codes;
    uint32_t k = 0;
    for (; delta > ((BASE - T_MIN) * T_MAX) / 2; k += BASE)
        delta /= BASE - T_MIN;
    return k + ((BASE - T_MIN + 1) * delta) / (delta + SKEW);
}

/* One number of variable length from `pos`; false if it is malformed. */
static bool
read_delta(struct fz_span text, size_t *pos, uint32_t bias, uint32_t *ret)
{
    uint64_t value = 0, weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        int d = *pos < text.len ? digit(text.data[(*pos)++]) : -1;
        if (d < 0)
            return false;
        value += (uint64_t)d * weight;
        /* The threshold of this position (RFC 3492, 3.3): a smaller digit ends the number. */
        uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
        /* The limit keeps the sums of decode() within 32 bits. */
        if (value > INT32_MAX)
            return false;
        if ((uint32_t)d < t)
            break;
        weight *= BASE - t;
        if (weight > INT32_MAX)
            return false;
    }
    *ret = (uint32_t)value;
    return true;
}

static void
append_utf8(struct fz_buffer *out, uint32_t code)
{
    if (code < 0x80) {
        fz_buffer_char(out, (char)code);
    } else if (code < 0x800) {
        fz_buffer_char(out, (char)(0xc0 | code >> 6));
        fz_buffer_char(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        fz_buffer_char(out, (char)(0xe0 | code >> 12));
        fz_buffer_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        fz_buffer_char(out, (char)(0xf0 | code >> 18));
        fz_buffer_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (code & 0x3f)));
    }
}

static bool
is_code(uint32_t code)
{
    return code <= CODE_MAX && (code < ASCII_CODES + 0x80 || code > 0xdfff);
}

/* Decode `text` into `codes`, which has room for all; returns their number, or 0 if malformed. */
static uint32_t
decode(struct fz_span text, uint32_t *codes)
{
    uint32_t n = 0, code = FIRST_CODE, bias = FIRST_BIAS, at = 0;
    size_t pos = 0;
    /* The last underscore separates: the basic characters may contain others. */
    for (size_t i = text.len; i-- > 0 && pos == 0;) {
        if (text.data[i] == '_')
            pos = i + 1;
    }
    for (size_t i = 0; i + 1 < pos; i++) {
        /* Only ASCII is copied as it is (RFC 3492, 3.1). */
        if (text.data[i] >= 0x80)
            return 0;
        codes[n++] = text.data[i];
    }
    for (bool first = true; pos < text.len; first = false) {
        uint32_t delta;
        if (!read_delta(text, &pos, bias, &delta) || delta > UINT32_MAX - at)
            return 0;
        /* A delta counts positions over all code points: whole rounds raise the code, the rest
         * is the place. */
        uint32_t sum = at + delta;
        bias = adapt(delta, n + 1, first);
        code += sum / (n + 1);
        at = sum % (n + 1);
        if (!is_code(code))
            return 0;
        /* Punycode inserts each code point where it belongs in the text */
        memmove(codes + at + 1, codes + at, (n - at) * sizeof(*codes));
        codes[at++] = code;
        n++;
    }
    return n;
}

struct fz_span
sym_swift_punycode(struct fz_span text, struct fz_arena *arena)
{
    struct fz_span none = {NULL, 0};
    uint32_t *codes = text.len > CODES_MAX ? NULL : fz_arena_array(arena, text.len, sizeof(*codes));
    /* Each code point needs at least one byte of the text, so `codes` cannot overflow. */
    uint32_t n = codes ? decode(text, codes) : 0;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    for (uint32_t i = 0; i < n; i++)
        append_utf8(&out, codes[i] >= ASCII_CODES && codes[i] < ASCII_CODES + 0x80
                              ? codes[i] - ASCII_CODES
                              : codes[i]);
    const char *copy = n > 0 ? fz_arena_text(arena, fz_buffer_span(&out)) : NULL;
    return copy ? fz_span_make(copy, out.len) : none;
}
