/*
 * What all parts of Rust's v0 names use: limits, characters, numbers, names, lists, back
 * references.
 *
 *   <base-62-number>   0-9 a-z A-Z, then "_"; one less than the value: "_" 0, "0_" 1, "10_" 63
 *   <identifier>       [u] <decimal length> [_] <bytes>    "u": Punycode (RFC 3492) after the last
 *                                                         underscore of the bytes
 */
#include "symbolicator/demangle/rust/rust.h"

#include "symbolicator/demangle/language.h"

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
    /* Steps count too: back references let few bytes print a path any number of times. */
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
    /* The digits are one less than the value, because "_" alone is 0. */
    if (__builtin_add_overflow(value, 1, &value))
        sym_rust_v0_fail(v);
    return v->failed ? 0 : value;
}

uint64_t
sym_rust_v0_tagged(struct sym_rust_v0 *v, char tag)
{
    /* Without the tag the number is 0, so that "s_" can be 1. */
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
    /* Punycode's delimiter is a hyphen, which symbols cannot have (RFC 2603). */
    while (split > 0 && bytes[split - 1] != '_')
        split--;
    ident.ascii = fz_span_make(bytes, split > 0 ? split - 1 : 0);
    ident.punycode = fz_span_make(bytes + split, len - split);
    if (ident.punycode.len == 0)
        sym_rust_v0_fail(v);
    return ident;
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
    size_t n =
        sym_demangle_punycode(ident.ascii, ident.punycode, '0', code_points, CODE_POINTS_MAX);
    v->failed = n == 0;
    for (size_t i = 0; i < n && !v->failed; i++) {
        /* Surrogates are halves of UTF-16, not characters. */
        v->failed = code_points[i] >= 0xd800 && code_points[i] < 0xe000;
        if (!v->failed)
            sym_demangle_put_utf8(code_points[i], v->out);
    }
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
    /* The name goes on after the reference. */
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
