/*
 * Constants in Rust's v0 names: the values of const generics and the lengths of arrays.
 *
 *   j7b_                      123                     numbers: type, [n for minus,] hex digits, "_"
 *   c41_  b1_                 'A'  true
 *   e616263_                  *"abc"                  str: UTF-8 in hex; a reference to it is "abc"
 *   Rh1_  Qh1_                &1  &mut 1
 *   Ah1_h2_E  Th1_E           [1, 2]  (1,)
 *   V path U | T...E | S...E  Path | Path(1) | Path { field: 1 }
 *
 * All after the first two lines are expressions, which have braces as generic arguments.
 */
#include "symbolicator/demangle/rust/rust.h"

#include "base/attr.h"
#include "base/text.h"
#include "symbolicator/demangle/language.h"

/* Hex digits up to "_", which is consumed. */
static struct fz_span
read_nibbles(struct sym_rust_v0 *v)
{
    size_t start = v->pos;
    while (!v->failed && !sym_rust_v0_eat(v, '_')) {
        char c = sym_rust_v0_next(v);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            sym_rust_v0_fail(v);
    }
    return v->failed ? fz_span_make(NULL, 0) : fz_span_make(v->in.data + start, v->pos - start - 1);
}

/* The digits of a number, without leading zeros, and its value if it has 64 bits. */
static struct fz_span
read_number(struct sym_rust_v0 *v, uint64_t *ret)
{
    struct fz_span digits = read_nibbles(v);
    /* RFC 2603 allows one spelling of each number only. */
    if (digits.len == 0 || (digits.len > 1 && digits.data[0] == '0'))
        sym_rust_v0_fail(v);
    *ret = 0;
    for (size_t i = 0; i < digits.len && digits.len <= 16; i++)
        *ret = *ret << 4 | (uint64_t)fz_text_hex_digit((char)digits.data[i]);
    return digits;
}

const char *
sym_rust_v0_basic_type(char tag)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void
print_integer(struct sym_rust_v0 *v, char tag)
{
    uint64_t value;
    struct fz_span digits = read_number(v, &value);
    /* Values above 64 bits stay in hex, as rustc-demangle prints them. */
    if (digits.len <= 16) {
        sym_rust_v0_put_number(v, value, false);
    } else {
        sym_rust_v0_put(v, "0x");
        sym_rust_v0_put_span(v, digits);
    }
    /* LLVM's demangler leaves the type out; rustc's prints it with {} and not with {:#}. */
    if (v->style == RUST_PLAIN)
        sym_rust_v0_put(v, sym_rust_v0_basic_type(tag));
}

/* False for control and format characters, marks that combine with the character before them, and
 * code points for private use. */
static bool
is_printable(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},        {0x300, 0x36f},
        {0x483, 0x489},   {0x591, 0x5bd},     {0x61c, 0x61c},      {0x64b, 0x65f},
        {0x180b, 0x180f}, {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff},    {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f},   {0x20d0, 0x20ff},    {0xe000, 0xf8ff},
        {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},   {0xfeff, 0xfeff},    {0xfff0, 0xfffb},
        {0xfffe, 0xffff}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(hidden); i++) {
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    }
    return true;
}

/* As in a Rust literal within `quote`. */
static void
print_escaped(struct sym_rust_v0 *v, uint32_t c, char quote, uint32_t last_shown)
{
    static const char escaped[] = "\0\t\r\n\\", letters[] = "0trn\\";
    if (v->failed || v->n_skips > 0)
        return;
    /* memchr(), because the NUL is one of the characters. */
    const char *found = c < 0x80 ? memchr(escaped, (int)c, sizeof(escaped) - 1) : NULL;
    if (found)
        fz_buffer_printf(v->out, "\\%c", letters[found - escaped]);
    else if (c == (uint32_t)quote)
        fz_buffer_printf(v->out, "\\%c", quote);
    else if (c <= last_shown && is_printable(c))
        sym_demangle_put_utf8(c, v->out);
    else
        fz_buffer_printf(v->out, "\\u{%x}", (unsigned)c);
}

static void
print_char(struct sym_rust_v0 *v)
{
    uint64_t value;
    struct fz_span digits = read_number(v, &value);
    if (digits.len > 6 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        sym_rust_v0_fail(v);
    sym_rust_v0_put(v, "'");
    /* LLVM escapes characters that few fonts have; rustc's own demangler does not. */
    if (!v->failed)
        print_escaped(v, (uint32_t)value, '\'', v->style == RUST_LLVM ? 0xffff : 0x10ffff);
    sym_rust_v0_put(v, "'");
}

/* The code point of a well-formed sequence. */
static uint32_t
decode_utf8(const uint8_t *bytes, size_t len)
{
    uint32_t c = len == 1 ? bytes[0] : bytes[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (bytes[i] & 0x3fu);
    return c;
}

static void
print_text(struct sym_rust_v0 *v)
{
    struct fz_span nibbles = read_nibbles(v);
    /* Two digits are one byte of UTF-8. */
    if (nibbles.len % 2 != 0)
        sym_rust_v0_fail(v);
    if (v->failed || v->n_skips > 0)
        return;
    /* Decoded as a whole, because an escape can be decided only for a complete character. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(nibbles.len);
    for (size_t i = 0; i < nibbles.len; i += 2)
        fz_buffer_char(&bytes, (char)(fz_text_hex_digit((char)nibbles.data[i]) << 4 |
                                      fz_text_hex_digit((char)nibbles.data[i + 1])));
    if (bytes.failed || !fz_text_is_utf8(fz_buffer_span(&bytes)))
        sym_rust_v0_fail(v);
    sym_rust_v0_put(v, "\"");
    for (size_t i = 0; i < bytes.len && !v->failed;) {
        struct fz_span rest = fz_span_make(bytes.data + i, bytes.len - i);
        size_t len = fz_text_utf8_len(rest);
        print_escaped(v, decode_utf8(rest.data, len), '"', 0x10ffff);
        i += len;
    }
    sym_rust_v0_put(v, "\"");
}

static void
print_field(struct sym_rust_v0 *v, bool unused)
{
    (void)unused;
    fz_ignore(sym_rust_v0_tagged(v, 's')); /* distinguishes fields that macros made */
    sym_rust_v0_put_ident(v, sym_rust_v0_ident(v));
    sym_rust_v0_put(v, ": ");
    sym_rust_v0_const(v, true);
}

static void
print_variant(struct sym_rust_v0 *v)
{
    sym_rust_v0_path(v, true);
    switch (sym_rust_v0_next(v)) {
    case 'U':
        break;
    case 'T':
        sym_rust_v0_put(v, "(");
        fz_ignore(sym_rust_v0_list(v, sym_rust_v0_const, true, ", "));
        sym_rust_v0_put(v, ")");
        break;
    case 'S':
        sym_rust_v0_put(v, " { ");
        fz_ignore(sym_rust_v0_list(v, print_field, true, ", "));
        sym_rust_v0_put(v, " }");
        break;
    default:
        sym_rust_v0_fail(v);
    }
}

static void
print_expression(struct sym_rust_v0 *v, char tag)
{
    switch (tag) {
    case 'e':
        sym_rust_v0_put(v, "*");
        print_text(v);
        break;
    case 'R':
    case 'Q':
        sym_rust_v0_put(v, tag == 'R' ? "&" : "&mut ");
        sym_rust_v0_const(v, true);
        break;
    case 'A':
        sym_rust_v0_put(v, "[");
        fz_ignore(sym_rust_v0_list(v, sym_rust_v0_const, true, ", "));
        sym_rust_v0_put(v, "]");
        break;
    case 'T':
        sym_rust_v0_put(v, "(");
        sym_rust_v0_put(v, sym_rust_v0_list(v, sym_rust_v0_const, true, ", ") == 1 ? ",)" : ")");
        break;
    case 'V':
        print_variant(v);
        break;
    default:
        sym_rust_v0_fail(v);
    }
}

/* A constant without braces. False if `tag` does not begin one. */
static bool
print_literal(struct sym_rust_v0 *v, char tag, bool is_part)
{
    uint64_t value;
    if (tag == 'p') {
        sym_rust_v0_put(v, "_");
    } else if (tag == 'b') {
        read_number(v, &value);
        if (value > 1)
            sym_rust_v0_fail(v);
        sym_rust_v0_put(v, value ? "true" : "false");
    } else if (tag == 'c') {
        print_char(v);
    } else if (tag == 'B') {
        sym_rust_v0_backref(v, sym_rust_v0_const, is_part);
    } else if (tag == 'R' && sym_rust_v0_eat(v, 'e')) {
        print_text(v); /* "abc" and not &*"abc" */
    } else if (tag && strchr("htmyoj", tag)) {
        print_integer(v, tag);
    } else if (tag && strchr("aslxni", tag)) {
        sym_rust_v0_put(v, sym_rust_v0_eat(v, 'n') ? "-" : "");
        print_integer(v, tag);
    } else {
        return false;
    }
    return true;
}

void
sym_rust_v0_const(struct sym_rust_v0 *v, bool is_part)
{
    if (!sym_rust_v0_enter(v))
        return;
    char tag = sym_rust_v0_next(v);
    if (!print_literal(v, tag, is_part)) {
        sym_rust_v0_put(v, is_part ? "" : "{");
        print_expression(v, tag);
        sym_rust_v0_put(v, is_part ? "" : "}");
    }
    sym_rust_v0_leave(v);
}
