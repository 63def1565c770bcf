/*
 * Text in values: quotes and escapes, C strings in memory.
 */
#include "base/text.h"
#include "symbolicator/variables/value.h"

static const char *
escape_of(uint8_t c)
{
    switch (c) {
    case '\0':
        return "\\0";
    case '\a':
        return "\\a";
    case '\b':
        return "\\b";
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\v':
        return "\\v";
    case '\f':
        return "\\f";
    case '\r':
        return "\\r";
    case '\x1b':
        return "\\e";
    case '\\':
        return "\\\\";
    default:
        return NULL;
    }
}

void
variables_string_append(struct fz_buffer *out, struct fz_span text, bool is_cut)
{
    fz_buffer_char(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint8_t c = text.data[i];
        const char *escape = escape_of(c);
        size_t len = fz_text_utf8_len(fz_span_from(text, i));
        if (escape)
            fz_buffer_text(out, escape);
        else if (c == '"')
            fz_buffer_text(out, "\\\"");
        else if (len == 0 || c < 0x20 || c == 0x7f)
            fz_buffer_printf(out, "\\x%02x", (unsigned)c);
        else
            fz_buffer_append(out, text.data + i, len);
        i += len ? len : 1;
    }
    fz_buffer_text(out, is_cut ? "\"..." : "\"");
}

bool
variables_string_at(struct variables_value *value, uint64_t address, struct fz_buffer *out)
{
    unsigned max = value->variables->limits.string_bytes;
    struct fz_span bytes = sym_process_bytes(value->variables->process, address, (size_t)max + 1);
    if (bytes.len == 0)
        return false;
    const uint8_t *nul = memchr(bytes.data, 0, bytes.len);
    size_t len = nul ? (size_t)(nul - bytes.data) : bytes.len;
    bool is_cut = !nul || len > max;
    if (len > max)
        len = max;
    /* A character that the limit cuts in two is left out. */
    for (unsigned n = 0; is_cut && n < 3 && len > 0 && (bytes.data[len - 1] & 0x80) &&
                         !fz_text_is_utf8(fz_span_make(bytes.data, len));
         n++)
        len--;
    variables_string_append(out, fz_span_make(bytes.data, len), is_cut);
    return true;
}

/* UTF-8 of a code point that is one. */
static void
append_code_point(struct fz_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        fz_buffer_char(out, (char)c);
    } else if (c < 0x800) {
        fz_buffer_char(out, (char)(0xc0 | c >> 6));
        fz_buffer_char(out, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        fz_buffer_char(out, (char)(0xe0 | c >> 12));
        fz_buffer_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (c & 0x3f)));
    } else {
        fz_buffer_char(out, (char)(0xf0 | c >> 18));
        fz_buffer_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (c & 0x3f)));
    }
}

void
variables_string_char(struct fz_buffer *out, const char *prefix, uint32_t c)
{
    const char *escape = c < 0x80 ? escape_of((uint8_t)c) : NULL;
    fz_buffer_printf(out, "%s'", prefix);
    if (escape)
        fz_buffer_text(out, escape);
    else if (c == '\'')
        fz_buffer_text(out, "\\'");
    else if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0x100 && !*prefix))
        fz_buffer_printf(out, "\\x%02x", (unsigned)c);
    else if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        fz_buffer_printf(out, "\\x%x", (unsigned)c);
    else
        append_code_point(out, c);
    fz_buffer_char(out, '\'');
}
