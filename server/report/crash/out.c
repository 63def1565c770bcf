/* Lines of Apple's crash text, whatever the texts in them are: what all parts write with. */
#include "server/report/crash/parts.h"

#include <stdio.h>

#include "base/text.h"

/* Characters that a terminal acts upon (C0, DEL, C1), that turn the reading direction, and bytes of
 * a text that was cut inside a character. */
static bool
is_unsafe(const uint8_t *c, size_t len)
{
    /* Length 0: a byte that is not UTF-8. */
    if (len <= 1)
        return len == 0 || c[0] < 0x20 || c[0] == 0x7f;
    if (len == 2)
        return c[0] == 0xc2 && c[1] < 0xa0;
    if (len != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

void
report_crash_span(struct fz_buffer *out, struct fz_span text)
{
    struct fz_span rest;
    size_t start = 0, i = 0;
    while (fz_span_sub(text, i, text.len - i, &rest) && rest.len) {
        size_t len = fz_text_utf8_len(rest);
        if (is_unsafe(rest.data, len)) {
            /* In runs: nearly all texts have nothing to replace. */
            fz_buffer_append(out, text.data + start, i - start);
            fz_buffer_char(out, '?');
            start = i + (len ? len : 1);
        }
        i += len ? len : 1;
    }
    if (i > start)
        fz_buffer_append(out, text.data + start, i - start);
}

void
report_crash_text(struct fz_buffer *out, const char *text)
{
    report_crash_span(out, fz_span_cstr(text));
}

/* Would the line be read as a heading or a frame? */
static bool
looks_like_structure(struct fz_span line, bool frames)
{
    static const char *const headings[] = {"Thread ", "Binary Images", "Last Exception", "EOF"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(headings); i++) {
        size_t len = strlen(headings[i]);
        if (line.len >= len && memcmp(line.data, headings[i], len) == 0)
            return true;
    }
    return !frames && line.len && *line.data >= '0' && *line.data <= '9';
}

void
report_crash_inline(struct fz_buffer *out, const char *heading, struct fz_span text)
{
    const uint8_t *end = text.len ? memchr(text.data, '\n', text.len) : NULL;
    size_t first = end ? (size_t)(end - text.data) : text.len;
    struct fz_span rest = {NULL, 0};
    if (first < text.len)
        rest = fz_span_make(text.data + first + 1, text.len - first - 1);
    fz_buffer_printf(out, "%s: ", heading);
    report_crash_span(out, fz_span_make(text.data, first));
    fz_buffer_char(out, '\n');
    report_crash_block(out, rest, false);
}

void
report_crash_block(struct fz_buffer *out, struct fz_span text, bool frames)
{
    for (size_t at = 0; at < text.len;) {
        const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
        size_t next = end ? (size_t)(end - text.data) : text.len;
        struct fz_span line = fz_span_make(text.data + at, next - at);
        /* Messages of an app may have Windows' line ends. */
        if (line.len && line.data[line.len - 1] == '\r')
            line.len--;
        /* Indented, so that a message with "Thread 9 Crashed:" in it is not read as a thread. */
        if (looks_like_structure(line, frames))
            fz_buffer_text(out, "    ");
        report_crash_span(out, line);
        fz_buffer_char(out, '\n');
        at = next + 1;
    }
}

void
report_crash_section(struct report_crash_out *c, const char *heading, const char *path)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (!report_crash_take(c, path, heading, &text))
        return;
    fz_buffer_printf(c->out, "%s:\n", heading);
    report_crash_block(c->out, fz_buffer_span(&text), false);
    /* Texts of an .ips that end with a line break leave an empty line in Apple's. */
    if (c->is_ips && text.len && text.data[text.len - 1] == '\n')
        fz_buffer_char(c->out, '\n');
    fz_buffer_char(c->out, '\n');
}

bool
report_crash_take(struct report_crash_out *c, const char *path, const char *heading,
                  struct fz_buffer *ret)
{
    /* Only an .ips has these members; another format's extras may use the same names. */
    if (path && c->is_ips && report_extra_text(c->extra, path, ret))
        return true;
    if (!heading || !report_extra_text(c->extra, heading, ret))
        return false;
    /* What is left in extra is written by put_remaining() at the end. */
    json_object_del(c->extra, heading);
    return true;
}

void
report_crash_field(struct report_crash_out *c, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    char label[32];
    snprintf(label, sizeof(label), "%s:", key);
    /* The columns of values in Apple's texts: 23 on macOS before 26, else 21. */
    int columns = c->is_mac && !c->is_mac26 ? 23 : 21;
    fz_buffer_printf(c->out, "%-*s", columns, label);
    if (strlen(label) >= (size_t)columns)
        fz_buffer_char(c->out, ' ');
    report_crash_text(c->out, value);
    fz_buffer_char(c->out, '\n');
}

void
report_crash_extra(struct report_crash_out *c, const char *key, const char *path)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (report_crash_take(c, path, key, &text))
        report_crash_field(c, key, fz_buffer_cstr(&text));
}
