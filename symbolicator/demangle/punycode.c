/*
 * Punycode (RFC 3492), as Swift and Rust mangle identifiers outside ASCII, and UTF-8.
 *
 *   vergenza_JFa  ->  verguenza with u-umlaut: "ue" is one insertion, encoded as J F a (Swift)
 */
#include "symbolicator/demangle/language.h"

enum {
    BASE = 36,
    T_MIN = 1,
    T_MAX = 26,
    SKEW = 38,
    DAMP = 700,
    FIRST_BIAS = 72,
    FIRST_CODE = 128,
    CODE_MAX = 0x10ffff,
};

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
read_delta(struct fz_span text, size_t *pos, uint32_t bias, uint8_t digit_26, uint32_t *ret)
{
    uint64_t value = 0, weight = 1;
    for (uint32_t k = BASE; *pos < text.len; k += BASE) {
        uint8_t c = text.data[(*pos)++];
        if (!(c >= 'a' && c <= 'z') && !(c >= digit_26 && c < digit_26 + 10))
            return false;
        uint32_t digit = c >= 'a' ? (uint32_t)(c - 'a') : (uint32_t)(c - digit_26) + 26;
        value += digit * weight;
        /* The threshold of this position (RFC 3492, 3.3): a smaller digit ends the number. */
        uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
        /* The limit keeps the sums of the caller within 32 bits. */
        if (value > INT32_MAX)
            return false;
        *ret = (uint32_t)value;
        if (digit < t)
            return true;
        weight *= BASE - t;
        if (weight > INT32_MAX)
            return false;
    }
    return false;
}

size_t
sym_demangle_punycode(struct fz_span basic, struct fz_span encoded, char digit_26, uint32_t *ret,
                      size_t room)
{
    uint32_t code = FIRST_CODE, bias = FIRST_BIAS, at = 0;
    size_t n = 0, pos = 0;
    if (basic.len > room)
        return 0;
    for (; n < basic.len; n++) {
        /* Only ASCII is copied as it is (RFC 3492, 3.1). */
        if (basic.data[n] >= 0x80)
            return 0;
        ret[n] = basic.data[n];
    }
    while (pos < encoded.len) {
        uint32_t delta = 0;
        if (n == room || !read_delta(encoded, &pos, bias, (uint8_t)digit_26, &delta))
            return 0;
        uint32_t sum = at + delta, n_codes = (uint32_t)n + 1;
        bias = adapt(delta, n_codes, n == basic.len);
        /* A delta counts positions over all code points: whole rounds raise the code, the rest is
         * the place. */
        code += sum / n_codes;
        at = sum % n_codes;
        if (code > CODE_MAX)
            return 0;
        /* Punycode inserts each code point where it belongs in the text */
        memmove(ret + at + 1, ret + at, (n - at) * sizeof(*ret));
        ret[at++] = code;
        n++;
    }
    return n;
}

void
sym_demangle_put_utf8(uint32_t code, struct fz_buffer *out)
{
    char bytes[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    /* 0xf00 >> len is the mark of a first byte: 0xc0, 0xe0 or 0xf0 for 2, 3 or 4 bytes. */
    bytes[0] = (char)(len == 1 ? code : (0xf00u >> len & 0xf0u) | code);
    fz_buffer_append(out, bytes, len);
}
