#include "server/alert/escape.h"

#include <string.h>

#include "base/text.h"

/* One character of the target: the bytes, and how many UTF-16 units they are. */
struct piece {
    char bytes[12];
    size_t units;
};

static const char ELLIPSIS[] = "\xe2\x80\xa6", REPLACEMENT[] = "\xef\xbf\xbd";
/* U+200B: no width, and no space for those who copy the text. */
#define NO_WIDTH "\xe2\x80\x8b"

static struct piece
piece_of(const char *bytes, size_t units)
{
    struct piece piece = {.units = units};
    memcpy(piece.bytes, bytes, strlen(bytes));
    return piece;
}

static uint32_t
code_point(const uint8_t *bytes, size_t len)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = bytes[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (bytes[i] & 0x3f);
    return c;
}

/* Does it break a line, or separate? */
static bool
is_break(uint32_t c)
{
    return c == '\n' || c == '\r' || c == '\t' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* C0 and C1 controls, and the marks of direction (UAX #9), which make "gpj.exe" of "exe.jpg". */
static bool
is_hidden(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static struct piece
escape_ascii(enum alert_target target, char c, char next)
{
    bool is_slack = target == ALERT_SLACK || target == ALERT_SLACK_CODE;
    bool is_code = target == ALERT_CODE || target == ALERT_SLACK_CODE;
    char text[] = {c, '\0'}, escaped[] = {'\\', c, '\0'};
    if (is_slack && c == '&')
        return piece_of("&amp;", 5);
    if (is_slack && c == '<')
        return piece_of("&lt;", 4);
    if (is_slack && c == '>')
        return piece_of("&gt;", 4);
    if (is_code && c == '`')
        return piece_of("'", 1);
    if (target == ALERT_MARKDOWN && c == '@')
        return piece_of("\\@" NO_WIDTH, 3);
    if (target == ALERT_MARKDOWN && strchr("!\"#$%&'()*+,-./:;<=>?[\\]^_`{|}~", c))
        return piece_of(escaped, 2);
    if (target == ALERT_CARD && c == '{' && next == '{')
        return piece_of("{" NO_WIDTH, 2);
    return piece_of(text, 1);
}

/* The first character of the text; *ret_len is how many bytes it has. */
static struct piece
next_piece(enum alert_target target, struct fz_span text, size_t *ret_len)
{
    size_t len = fz_text_utf8_len(text);
    struct piece piece = {.units = 1};
    *ret_len = len ? len : 1;
    if (len == 0)
        return piece_of(REPLACEMENT, 1);
    uint32_t c = code_point(text.data, len);
    if (is_break(c))
        return piece_of(" ", 1);
    if (is_hidden(c))
        return piece_of("?", 1);
    if (len == 1)
        return escape_ascii(target, (char)c, text.len > 1 ? (char)text.data[1] : '\0');
    memcpy(piece.bytes, text.data, len);
    piece.units = len == 4 ? 2 : 1;
    return piece;
}

void
alert_escape(struct fz_buffer *out, enum alert_target target, const char *text, size_t max)
{
    size_t used = 0, cut = out->len, len;
    for (struct fz_span rest = fz_span_cstr(text); rest.len; rest = fz_span_from(rest, len)) {
        struct piece piece = next_piece(target, rest, &len);
        if (used + piece.units > max) {
            /* Back to where the ellipsis has room. */
            if (!out->failed && out->data && max > 0)
                fz_buffer_grow_to(out, out->data + cut);
            fz_buffer_text(out, max > 0 ? ELLIPSIS : "");
            return;
        }
        fz_buffer_text(out, piece.bytes);
        used += piece.units;
        if (used + 1 <= max)
            cut = out->len;
    }
}

const char *
alert_plain(struct fz_arena *arena, const char *text, size_t max)
{
    if (!text)
        return NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    alert_escape(&out, ALERT_PLAIN, text, max);
    return out.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&out));
}

void
alert_write_escaped(struct json_write *w, const char *key, enum alert_target target,
                    const char *text, size_t max)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer escaped = fz_buffer_make(0);
    alert_escape(&escaped, target, text, max);
    json_write_text(w, key, fz_buffer_cstr(&escaped));
    w->out->failed |= escaped.failed;
}

void
alert_append_code(struct fz_buffer *out, enum alert_target target, const struct alert_lines *from,
                  size_t max)
{
    enum { MORE_ROOM = 32, ROOM_FOR_FENCES = 9 };
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    size_t n = 0, used = 0;
    size_t room = max > MORE_ROOM + ROOM_FOR_FENCES ? max - MORE_ROOM - ROOM_FOR_FENCES : 0;
    for (; n < from->n_lines; n++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
        alert_escape(&line, target, from->lines[n], SIZE_MAX);
        fz_buffer_char(&line, '\n');
        text.failed |= line.failed;
        /* The bytes are at least as many as the units that the limit is in. */
        if (line.len > room - used)
            break;
        used += line.len;
        fz_buffer_append(&text, line.data, line.len);
    }
    uint64_t n_more = from->is_list ? from->n_more + (from->n_lines - n) : 0;
    if (n_more > 0)
        fz_buffer_printf(&text, "and %llu more\n", (unsigned long long)n_more);
    out->failed |= text.failed;
    if (text.len > 0)
        fz_buffer_printf(out, "```\n%s```\n", fz_buffer_cstr(&text));
}
