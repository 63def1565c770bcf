#include "server/report/annotate/parts.h"

#include "base/encoding.h"

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
    /* A crash text without frames is complete as it is: nothing could be found in it. */
    if (ok || (n_all == 0 && is_crash))
        return true;
    /* The renderer writes to the same buffer next. */
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
    bool big = false, kept = false;
    if (raw.len && report_keeps_text(report->format, form)) {
        /* The names to write are UTF-8, and ingest read it as UTF-8 too. */
        if (fz_encoding_is_utf16(raw, &big)) {
            fz_encoding_append_text(&text, raw, big);
            if (text.failed)
                return fz_buffer_done(&text, err);
            raw = fz_buffer_span(&text);
        }
        kept = annotate(report, raw, form, out);
    }
    /* The caller then knows whether the text is the client's own. */
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
