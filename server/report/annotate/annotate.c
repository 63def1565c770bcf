#include "server/report/annotate/parts.h"

bool
report_keeps_text(const char *format, enum report_form form)
{
    if (!format)
        return false;
    bool is_ips = strcmp(format, "ips") == 0;
    if (form == REPORT_FORM_IPS)
        return is_ips;
    return form == REPORT_FORM_CRASH &&
           (is_ips || strcmp(format, "crash") == 0 || strcmp(format, "text") == 0);
}

static size_t
count_frames(const struct report *report)
{
    size_t n = report->n_exception_frames;
    for (size_t i = 0; i < report->n_threads; i++)
        n += report->threads[i].n_frames;
    return n;
}

static void
append_utf8(struct fz_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        fz_buffer_char(out, (char)c);
    } else if (c < 0x800) {
        fz_buffer_char(out, (char)(0xc0 | c >> 6));
        fz_buffer_char(out, (char)(0x80 | (c & 0x3f)));
    } else {
        if (c < 0x10000) {
            fz_buffer_char(out, (char)(0xe0 | c >> 12));
        } else {
            fz_buffer_char(out, (char)(0xf0 | c >> 18));
            fz_buffer_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
        }
        fz_buffer_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
        fz_buffer_char(out, (char)(0x80 | (c & 0x3f)));
    }
}

/* UTF-16 with its byte order mark, or without where every second byte of the start is 0. */
static bool
is_utf16(struct fz_span raw, bool *ret_big, size_t *ret_start)
{
    const uint8_t *b = raw.data;
    if (raw.len < 4)
        return false;
    bool has_mark = (b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff);
    bool big = has_mark ? b[0] == 0xfe : b[0] == 0 && b[2] == 0;
    bool little = !has_mark && b[1] == 0 && b[3] == 0 && b[0] && b[2];
    *ret_big = big;
    *ret_start = has_mark ? 2 : 0;
    return has_mark || little || (big && b[1] && b[3]);
}

static void
convert_utf16(struct fz_span raw, bool big, size_t start, struct fz_buffer *out)
{
    const uint8_t *b = raw.data;
    uint32_t high = 0;
    for (size_t i = start; i + 1 < raw.len; i += 2) {
        uint32_t unit = big ? (uint32_t)b[i] << 8 | b[i + 1] : (uint32_t)b[i + 1] << 8 | b[i];
        bool is_low = unit >= 0xdc00 && unit < 0xe000;
        if (high)
            append_utf8(out, is_low ? 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00) : 0xfffd);
        if (high && is_low) {
            high = 0;
            continue;
        }
        high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
        if (!high)
            append_utf8(out, is_low ? 0xfffd : unit);
    }
}

/* The text with names; false if it is not one whose frames could be found again. */
static bool
annotate(const struct report *report, struct fz_span raw, enum report_form form,
         struct fz_buffer *out)
{
    size_t start = out->len, n_all = count_frames(report);
    size_t n =
        form == REPORT_FORM_IPS ? annotate_ips(report, raw, out) : annotate_crash(report, raw, out);
    /* Lines of other texts may look like frames by chance: there, all must be found. */
    bool is_crash = strcmp(report->format, "crash") == 0;
    bool ok = n > 0 && (n == n_all || strcmp(report->format, "text") != 0);
    if (ok || (n_all == 0 && is_crash))
        return true;
    if (!out->failed)
        out->len = start;
    return false;
}

enum fz_code
report_write(const struct report *report, const struct report_envelope *envelope,
             struct fz_span raw, enum report_form form, struct fz_buffer *out, bool *ret_kept,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    size_t start = 0;
    bool big = false, kept = false;
    if (raw.len && report_keeps_text(report->format, form)) {
        if (is_utf16(raw, &big, &start)) {
            convert_utf16(raw, big, start, &text);
            if (text.failed)
                return fz_buffer_done(&text, err);
            raw = fz_buffer_span(&text);
        }
        kept = annotate(report, raw, form, out);
    }
    if (ret_kept)
        *ret_kept = kept;
    if (kept)
        return fz_buffer_done(out, err);
    switch (form) {
    case REPORT_FORM_CRASH:
        return report_render_crash(report, envelope, out, err);
    case REPORT_FORM_IPS:
        return report_render_ips(report, envelope, out, err);
    case REPORT_FORM_JSON:
        break;
    }
    return report_render_json(report, envelope, out, err);
}
