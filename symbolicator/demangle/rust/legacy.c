/*
 * Rust's legacy mangling: a nested C++ name with escapes for characters that C++ names cannot have.
 *
 *   _ZN 8$BP$test 4foob 17h05af221e174051e9 E      *test::foob::h05af221e174051e9
 *
 *   $SP$ @   $BP$ *   $RF$ &   $LT$ <   $GT$ >   $LP$ (   $RP$ )   $C$ ,   $u7e$ that code point
 *   ..   ::  (a single dot stays)
 *   _$   $   at the start of a part, which cannot begin with a dollar
 *
 * After an unknown escape, the rest of its part stays unchanged.
 */
#include "symbolicator/demangle/rust/rust.h"

#include "base/attr.h"
#include "base/text.h"
#include "symbolicator/demangle/language.h"

/* Shorter ones can be C++: a variable can have the name `h`. */
enum { HASH_DIGITS_CERTAIN = 4 };

static size_t
prefix_len(struct fz_span name)
{
    if (name.len >= 3 && memcmp(name.data, "_ZN", 3) == 0)
        return 3;
    return name.len >= 2 && memcmp(name.data, "ZN", 2) == 0 ? 2 : 0;
}

/* The part at *pos, which is advanced past it. False if there is none. */
static bool
next_part(struct fz_span name, size_t *pos, struct fz_span *ret)
{
    size_t len = 0, at = *pos;
    /* A length above that of the name fails below; without the bound it could overflow here. */
    while (at < name.len && name.data[at] >= '0' && name.data[at] <= '9' && len < name.len)
        len = len * 10 + (size_t)(name.data[at++] - '0');
    if (at == *pos || len >= name.len - at) /* "E" must follow */
        return false;
    *ret = fz_span_make(name.data + at, len);
    *pos = at + len;
    return true;
}

static bool
is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_hash(struct fz_span part, size_t n_digits_min)
{
    if (part.len < 1 + n_digits_min || part.data[0] != 'h')
        return false;
    for (size_t i = 1; i < part.len; i++) {
        if (!is_hex(part.data[i]))
            return false;
    }
    return true;
}

/* The code point of "u<lower case hex>"; 0 if it is not one, or a control character. */
static uint32_t
escaped_code_point(struct fz_span escape)
{
    uint32_t code_point = 0;
    if (escape.len < 2 || escape.len > 7 || escape.data[0] != 'u')
        return 0;
    for (size_t i = 1; i < escape.len; i++) {
        uint8_t c = escape.data[i];
        if (!is_hex(c) || (c >= 'A' && c <= 'F'))
            return 0;
        code_point = code_point << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    /* As rustc-demangle, which leaves escapes of control characters as they are. */
    bool is_control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
    bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
    return is_control || is_surrogate || code_point > 0x10ffff ? 0 : code_point;
}

/* The escape at the start of `text`: its length with both dollars and its character; 0 if there is
 * none. */
static size_t
read_escape(struct fz_span text, uint32_t *ret)
{
    static const struct {
        const char *escape;
        char c;
    } escapes[] = {
        {"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
        {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','},
    };
    const uint8_t *end =
        text.len > 1 && text.data[0] == '$' ? memchr(text.data + 1, '$', text.len - 1) : NULL;
    if (!end)
        return 0;
    struct fz_span escape = fz_span_make(text.data + 1, (size_t)(end - text.data) - 1);
    *ret = escaped_code_point(escape);
    for (size_t i = 0; i < FZ_ARRAY_LEN(escapes) && *ret == 0; i++) {
        if (fz_span_is(escape, escapes[i].escape))
            *ret = (uint32_t)escapes[i].c;
    }
    return *ret ? escape.len + 2 : 0;
}

static struct fz_span
skip(struct fz_span text, size_t len)
{
    return fz_span_make(text.data + len, text.len - len);
}

static void
put_part(struct fz_span rest, struct fz_buffer *out)
{
    /* rustc puts the underscore there, because a symbol's name cannot begin with a dollar
     * everywhere. */
    if (rest.len >= 2 && rest.data[0] == '_' && rest.data[1] == '$')
        rest = skip(rest, 1);
    while (rest.len > 0) {
        uint32_t code_point = 0;
        size_t plain = 0, escape_len = read_escape(rest, &code_point);
        while (plain < rest.len && rest.data[plain] != '$' && rest.data[plain] != '.')
            plain++;
        if (escape_len > 0) {
            sym_demangle_put_utf8(code_point, out);
            rest = skip(rest, escape_len);
        } else if (plain > 0) {
            fz_buffer_append(out, rest.data, plain);
            rest = skip(rest, plain);
        } else if (rest.data[0] == '.') {
            bool is_pair = rest.len >= 2 && rest.data[1] == '.';
            fz_buffer_text(out, is_pair ? "::" : ".");
            rest = skip(rest, is_pair ? 2 : 1);
        } else {
            fz_buffer_append(out, rest.data, rest.len);
            return;
        }
    }
}

size_t
sym_rust_legacy_demangle(struct fz_span name, bool with_hash, struct fz_buffer *out)
{
    size_t start = prefix_len(name), pos = start;
    struct fz_span part;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] >= 0x80)
            return 0;
    }
    while (next_part(name, &pos, &part))
        ;
    if (start == 0 || pos == start || pos >= name.len || name.data[pos] != 'E')
        return 0;
    size_t end = pos;
    bool is_first = true;
    for (pos = start; next_part(name, &pos, &part); is_first = false) {
        if (!with_hash && pos == end && is_hash(part, 0))
            break;
        if (!is_first)
            fz_buffer_text(out, "::");
        put_part(part, out);
    }
    return end + 1;
}

bool
sym_rust_legacy_is_certain(struct fz_span name)
{
    size_t pos = prefix_len(name), n_parts = 0;
    struct fz_span part = {NULL, 0};
    uint32_t code_point;
    while (pos > 0 && next_part(name, &pos, &part)) {
        n_parts++;
        for (size_t i = 0; i < part.len; i++) {
            struct fz_span rest = skip(part, i);
            if ((rest.len >= 2 && rest.data[0] == '.' && rest.data[1] == '.') ||
                read_escape(rest, &code_point) > 0)
                return true;
        }
    }
    /* C++ has no nested name of one part, except after a substitution. */
    return n_parts == 1 || is_hash(part, HASH_DIGITS_CERTAIN);
}
