/*
 * What all parts of Rust's v0 names use: limits, characters, numbers, names, lists, back
 * references.
 *
 *   <base-62-number>   0-9 a-z A-Z, then "_"; one less than the value: "_" 0, "0_" 1, "10_" 63
 *   <identifier>       [u] <decimal length> [_] <bytes>    "u": Punycode (RFC 3492) after the last
 *                                                         underscore of the bytes
 */
#include "symbolicator/demangle/rust/rust.h"

/* Inserting a code point moves those after it, so the time is quadratic. */
enum { CODE_POINTS_MAX = 1024 };
enum { DEPTH_MAX = 500, STEPS_MAX = 1 << 18 };

void
sym_rust_v0_fail(struct sym_rust_v0 *v)
{
    v->failed = true;
}

bool
sym_rust_v0_enter(struct sym_rust_v0 *v)
{
    if (++v->depth > DEPTH_MAX || ++v->n_steps > STEPS_MAX || v->out->failed)
        v->failed = true;
    return !v->failed;
}

void
sym_rust_v0_leave(struct sym_rust_v0 *v)
{
    v->depth--;
}

char
sym_rust_v0_next(struct sym_rust_v0 *v)
{
    if (v->failed || v->pos >= v->in.len) {
        v->failed = true;
        return '\0';
    }
    return (char)v->in.data[v->pos++];
}

bool
sym_rust_v0_eat(struct sym_rust_v0 *v, char c)
{
    if (v->failed || v->pos >= v->in.len || v->in.data[v->pos] != (uint8_t)c)
        return false;
    v->pos++;
    return true;
}

uint64_t
sym_rust_v0_base62(struct sym_rust_v0 *v)
{
    uint64_t value = 0;
    if (sym_rust_v0_eat(v, '_'))
        return 0;
    while (!v->failed && !sym_rust_v0_eat(v, '_')) {
        char c = sym_rust_v0_next(v);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'z' ? c - 'a' + 10
                    : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                           : -1;
        if (digit < 0 || __builtin_mul_overflow(value, 62, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            sym_rust_v0_fail(v);
    }
    if (__builtin_add_overflow(value, 1, &value))
        sym_rust_v0_fail(v);
    return v->failed ? 0 : value;
}

uint64_t
sym_rust_v0_tagged(struct sym_rust_v0 *v, char tag)
{
    uint64_t value = sym_rust_v0_eat(v, tag) ? sym_rust_v0_base62(v) + 1 : 0;
    return v->failed ? 0 : value;
}

static size_t
read_length(struct sym_rust_v0 *v)
{
    size_t len = 0;
    char c = sym_rust_v0_next(v);
    if (c < '0' || c > '9')
        sym_rust_v0_fail(v);
    if (c == '0' || v->failed) /* no leading zeros: a digit after it belongs to the name */
        return 0;
    len = (size_t)(c - '0');
    /* A length above that of the name fails below; without the bound it could overflow here. */
    while (v->pos < v->in.len && v->in.data[v->pos] >= '0' && v->in.data[v->pos] <= '9' &&
           len <= v->in.len)
        len = len * 10 + (size_t)(v->in.data[v->pos++] - '0');
    return len;
}

struct sym_rust_ident
sym_rust_v0_ident(struct sym_rust_v0 *v)
{
    struct sym_rust_ident ident = {{NULL, 0}, {NULL, 0}};
    bool is_punycode = sym_rust_v0_eat(v, 'u');
    size_t len = read_length(v);
    fz_ignore(
        sym_rust_v0_eat(v, '_')); /* separates the length from a name that begins with a digit */
    if (v->failed || len > v->in.len - v->pos) {
        sym_rust_v0_fail(v);
        return ident;
    }
    const uint8_t *bytes = v->in.data + v->pos;
    v->pos += len;
    if (!is_punycode) {
        ident.ascii = fz_span_make(bytes, len);
        return ident;
    }
    size_t split = len;
    while (split > 0 && bytes[split - 1] != '_')
        split--;
    ident.ascii = fz_span_make(bytes, split > 0 ? split - 1 : 0);
    ident.punycode = fz_span_make(bytes + split, len - split);
    if (ident.punycode.len == 0)
        sym_rust_v0_fail(v);
    return ident;
}

void
sym_rust_put_utf8(uint32_t code_point, struct fz_buffer *out)
{
    char bytes[4];
    size_t len = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, code_point >>= 6)
        bytes[i] = (char)(0x80 | (code_point & 0x3f));
    /* 0xf00 >> len is the mark of a first byte: 0xc0, 0xe0 or 0xf0 for 2, 3 or 4 bytes. */
    bytes[0] = (char)(len == 1 ? code_point : (0xf00u >> len & 0xf0u) | code_point);
    fz_buffer_append(out, bytes, len);
}

/* RFC 3492, 6.1. */
static uint32_t
adapt_bias(uint32_t delta, uint32_t n_points, bool is_first)
{
    uint32_t k = 0;
    delta /= is_first ? 700 : 2;
    delta += delta / n_points;
    for (; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

/* The variable-length number at *pos; false if there is none or it is too large. */
static bool
read_delta(struct fz_span code, size_t *pos, uint32_t bias, uint32_t *ret)
{
    uint32_t value = 0, weight = 1;
    for (uint32_t k = 36; *pos < code.len; k += 36) {
        uint8_t c = code.data[(*pos)++];
        uint32_t digit, step, threshold = k <= bias ? 1 : k - bias >= 26 ? 26 : k - bias;
        if (c >= 'a' && c <= 'z')
            digit = (uint32_t)(c - 'a');
        else if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0') + 26;
        else
            return false;
        if (__builtin_mul_overflow(digit, weight, &step) ||
            __builtin_add_overflow(value, step, &value))
            return false;
        *ret = value;
        if (digit < threshold)
            return true;
        if (__builtin_mul_overflow(weight, 36 - threshold, &weight))
            return false;
    }
    return false;
}

/* RFC 3492, 6.2. The number of code points; 0 if it is not Punycode. */
static size_t
decode_punycode(struct sym_rust_ident ident, uint32_t ret[CODE_POINTS_MAX])
{
    size_t n = 0, pos = 0;
    uint32_t code_point = 0x80, index = 0, bias = 72;
    if (ident.ascii.len > CODE_POINTS_MAX)
        return 0;
    for (; n < ident.ascii.len; n++)
        ret[n] = ident.ascii.data[n];
    while (pos < ident.punycode.len) {
        uint32_t delta = 0;
        bool is_first = n == ident.ascii.len;
        if (n == CODE_POINTS_MAX || !read_delta(ident.punycode, &pos, bias, &delta) ||
            __builtin_add_overflow(index, delta, &index))
            return 0;
        n++;
        bias = adapt_bias(delta, (uint32_t)n, is_first);
        if (__builtin_add_overflow(code_point, index / n, &code_point) || code_point > 0x10ffff ||
            (code_point >= 0xd800 && code_point < 0xe000))
            return 0;
        index %= (uint32_t)n;
        memmove(ret + index + 1, ret + index, (n - 1 - index) * sizeof(*ret));
        ret[index++] = code_point;
    }
    return n;
}

void
sym_rust_v0_put_ident(struct sym_rust_v0 *v, struct sym_rust_ident ident)
{
    if (v->failed || v->n_skips > 0)
        return;
    if (ident.punycode.len == 0) {
        sym_rust_v0_put_span(v, ident.ascii);
        return;
    }
    uint32_t code_points[CODE_POINTS_MAX];
    size_t n = decode_punycode(ident, code_points);
    if (n == 0)
        sym_rust_v0_fail(v);
    for (size_t i = 0; i < n; i++)
        sym_rust_put_utf8(code_points[i], v->out);
}

void
sym_rust_v0_put_span(struct sym_rust_v0 *v, struct fz_span text)
{
    if (!v->failed && v->n_skips == 0)
        fz_buffer_append(v->out, text.data, text.len);
}

void
sym_rust_v0_put(struct sym_rust_v0 *v, const char *text)
{
    sym_rust_v0_put_span(v, fz_span_cstr(text));
}

void
sym_rust_v0_put_number(struct sym_rust_v0 *v, uint64_t number, bool hex)
{
    if (!v->failed && v->n_skips == 0)
        fz_buffer_printf(v->out, hex ? "%llx" : "%llu", (unsigned long long)number);
}

size_t
sym_rust_v0_list(struct sym_rust_v0 *v, sym_rust_v0_print_fn *print, bool flag,
                 const char *separator)
{
    size_t n = 0;
    for (; !v->failed && !sym_rust_v0_eat(v, 'E'); n++) {
        if (n > 0)
            sym_rust_v0_put(v, separator);
        print(v, flag);
    }
    return n;
}

void
sym_rust_v0_backref(struct sym_rust_v0 *v, sym_rust_v0_print_fn *print, bool flag)
{
    size_t own = v->pos - 1;
    uint64_t target = sym_rust_v0_base62(v);
    if (target >= own) /* only to the left: otherwise it would never end */
        sym_rust_v0_fail(v);
    if (v->failed || v->n_skips > 0)
        return;
    size_t after = v->pos;
    v->pos = (size_t)target;
    print(v, flag);
    v->pos = after;
}

void
sym_rust_v0_path(struct sym_rust_v0 *v, bool is_value)
{
    v->path(v, is_value);
}
