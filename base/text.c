#include "base/text.h"

/* The digit's value and one; 0 = no digit. A table: branches on the kind of digit
 * cannot be predicted in an address. */
static const uint8_t HEX_DIGITS[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

int
fz_text_hex_digit(char c)
{
    return HEX_DIGITS[(uint8_t)c] - 1;
}

void
fz_text_hex(struct fz_span bytes, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        ret[2 * i] = digits[bytes.data[i] >> 4];
        ret[2 * i + 1] = digits[bytes.data[i] & 15];
    }
    ret[2 * bytes.len] = '\0';
}

bool
fz_text_unhex(struct fz_span text, uint8_t *ret)
{
    /* Half a byte is more likely a cut than a number. */
    if (text.len % 2)
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = fz_text_hex_digit((char)text.data[i]);
        int low = fz_text_hex_digit((char)text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret[i / 2] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
    }
    return true;
}

bool
fz_text_is_hex(const char *text, size_t len)
{
    return text && strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static bool
parse_digits(struct fz_span text, unsigned radix, uint64_t *ret)
{
    uint64_t value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = fz_text_hex_digit((char)text.data[i]);
        if (digit < 0 || (unsigned)digit >= radix || __builtin_mul_overflow(value, radix, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *ret = value;
    return true;
}

static bool
has_0x(struct fz_span text)
{
    return text.len > 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'X');
}

bool
fz_text_u64(struct fz_span text, uint64_t *ret)
{
    if (has_0x(text))
        return parse_digits(fz_span_make(text.data + 2, text.len - 2), 16, ret);
    return parse_digits(text, 10, ret);
}

bool
fz_text_hex_u64(struct fz_span text, uint64_t *ret)
{
    if (has_0x(text))
        text = fz_span_make(text.data + 2, text.len - 2);
    uint64_t value = 0, lost = 0;
    bool is_hex = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = HEX_DIGITS[text.data[i]];
        is_hex &= digit > 0;
        /* Collected here and looked at after the loop, to keep branches out of it. */
        lost |= value >> 60;
        value = value << 4 | ((digit - 1) & 15);
    }
    if (!is_hex || lost)
        return false;
    *ret = value;
    return true;
}

bool
fz_text_i64(struct fz_span text, int64_t *ret)
{
    bool negative = text.len && text.data[0] == '-';
    if (text.len && (text.data[0] == '-' || text.data[0] == '+'))
        text = fz_span_make(text.data + 1, text.len - 1);
    uint64_t value;
    if (!parse_digits(text, 10, &value) || value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static int
base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    /* The standard and the URL alphabet (RFC 4648, 4 and 5) differ in these two. */
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return -1;
}

enum fz_code
fz_text_base64_decode(struct fz_span text, struct fz_arena *arena, struct fz_span *ret,
                      struct fz_error *err)
{
    uint8_t *out = fz_arena_alloc(arena, text.len / 4 * 3 + 3);
    if (!out)
        return fz_arena_fail(arena, err);
    size_t len = 0, n_digits = 0;
    uint32_t group = 0;
    bool padded = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        if (c == '=') {
            padded = true;
            continue;
        }
        int digit = base64_digit(c);
        /* A digit after padding: two texts were joined, and the bytes of the second would be
         * wrong. */
        if (digit < 0 || padded)
            return fz_fail_at(err, FZ_E_MALFORMED, i, "base64: byte 0x%02x at %zu is not base64", c,
                              i);
        group = group << 6 | (uint32_t)digit;
        if (++n_digits % 4 == 0) {
            out[len++] = (uint8_t)(group >> 16);
            out[len++] = (uint8_t)(group >> 8);
            out[len++] = (uint8_t)group;
            group = 0;
        }
    }
    switch (n_digits % 4) {
    case 1:
        return fz_fail_at(err, FZ_E_MALFORMED, text.len, "base64: ends inside a byte at %zu",
                          text.len);
    case 2:
        out[len++] = (uint8_t)(group >> 4);
        break;
    case 3:
        out[len++] = (uint8_t)(group >> 10);
        out[len++] = (uint8_t)(group >> 2);
        break;
    default:
        break;
    }
    *ret = fz_span_make(out, len);
    return FZ_OK;
}

void
fz_text_base64_append(struct fz_buffer *out, struct fz_span bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        /* Three bytes are four digits; what is missing at the end is padded with '='. */
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        if (left > 1)
            group |= (uint32_t)bytes.data[i + 1] << 8;
        if (left > 2)
            group |= bytes.data[i + 2];
        char quad[4] = {digits[group >> 18], digits[group >> 12 & 63], '=', '='};
        if (left > 1)
            quad[2] = digits[group >> 6 & 63];
        if (left > 2)
            quad[3] = digits[group & 63];
        fz_buffer_append(out, quad, sizeof(quad));
    }
}

void
fz_text_base64url_append(struct fz_buffer *out, struct fz_span bytes)
{
    size_t start = out->len;
    fz_text_base64_append(out, bytes);
    while (out->len > start && out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
    for (size_t i = start; i < out->len; i++)
        out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

bool
fz_text_has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool
fz_text_has_suffix(const char *text, const char *suffix)
{
    size_t len = strlen(text), tail = strlen(suffix);
    return len >= tail && memcmp(text + len - tail, suffix, tail) == 0;
}

const char *
fz_text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool
fz_text_is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

struct fz_span
fz_text_trim(struct fz_span text)
{
    size_t start = 0, end = text.len;
    while (end > 0 && (fz_text_is_blank(text.data[end - 1]) || text.data[end - 1] == '\n'))
        end--;
    while (start < end && (fz_text_is_blank(text.data[start]) || text.data[start] == '\n'))
        start++;
    return fz_span_from(fz_span_until(text, end), start);
}

size_t
fz_text_find(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    /* memchr() for the first byte is many times faster than a comparison at each. */
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

bool
fz_text_contains(struct fz_span text, const char *word)
{
    return fz_text_find(text, word) != SIZE_MAX;
}

size_t
fz_text_find_last(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = text.len; len && i-- > 0;) {
        if (len <= text.len - i && text.data[i] == (uint8_t)word[0] &&
            memcmp(text.data + i, word, len) == 0)
            return i;
    }
    return SIZE_MAX;
}
