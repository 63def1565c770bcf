#include "server/cli/symbolicate.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "server/cli/report_files.h"
#include "server/cli/symbolicate_missing.h"
#include "server/cli/symbolicate_output.h"
#include "server/config/term.h"
#include "server/ingest/ingest.h"
#include "server/process/limits.h"
#include "server/report/annotate.h"
#include "server/report/render.h"

static const char command[] = "symbolicate";

struct symbolicate {
    struct user_symbols *symbols;
    const struct symbolicate_options *options;
    struct limits limits;
    struct symbolicate_output output;
    struct symbolicate_missing missing;
    size_t n_done, n_failed;
    bool is_stopped; /* nothing can be written any more */
};

/* One report; `raw` is in the caller's memory. */
static enum fz_code
symbolicate_one(struct symbolicate *s, const char *name, struct fz_span raw, struct fz_error *err)
{
    /* Without the text that was sent, the report is written from the model. */
    struct fz_span text = s->options->rebuild ? (struct fz_span){NULL, 0} : raw;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(s->limits.report_memory);
    struct report report;
    bool kept = false;
    enum fz_code code = user_symbols_resolve(s->symbols, raw, &s->limits, &arena, &report, err);
    if (code != FZ_OK)
        return code;
    struct report_envelope envelope = {.id = report.id};
    if (s->options->variables && s->options->form == REPORT_FORM_CRASH)
        code = report_render_variables(&report, &envelope, &out, err);
    else
        code = report_write(&report, &envelope, text, (enum report_form)s->options->form, &out,
                            &kept, err);
    if (code != FZ_OK)
        return code;
    /* Before it is written: messages about symbols then precede the report they are about. */
    symbolicate_missing_add(&s->missing, s->symbols, &report);
    if (!kept) /* what is kept is kept to the byte */
        fz_buffer_text(&out, out.len && out.data[out.len - 1] == '\n' ? "" : "\n");
    code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    code = symbolicate_output_write(&s->output, name, fz_buffer_span(&out), kept, err);
    /* Where one report cannot be written, no other can. */
    s->is_stopped = code != FZ_OK;
    return code;
}

/* The reports of one body: an array and a MetricKit payload have several. */
static void
found(void *user, const char *name, struct fz_span body)
{
    struct symbolicate *s = user;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(s->limits.report_memory);
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut;
    if (s->is_stopped)
        return;
    /* Formats have no better message for nothing at all. */
    if (body.len == 0) {
        term_error(command, "%s: the file is empty", name);
        s->n_failed++;
        return;
    }
    if (ingest_split(body, &s->limits, &arena, &items, &n, &n_cut, &err) != FZ_OK) {
        term_error(command, "%s: %s", name, err.text);
        s->n_failed++;
        return;
    }
    /* The limit protects servers, but it holds for the user's own file too. */
    if (n_cut)
        term_error(command, "%s: %zu reports, of which %zu are read", name, n + n_cut, n);
    s->n_failed += n_cut;
    for (size_t i = 0; i < n && !s->is_stopped; i++) {
        enum fz_code code = items[i].code;
        err = items[i].err;
        if (code == FZ_OK)
            code = symbolicate_one(s, name, items[i].body, &err);
        s->n_done += code == FZ_OK;
        s->n_failed += code != FZ_OK;
        /* No one reads the output any more: that is not a message for each report that is left. */
        if (code == FZ_OK || s->output.is_gone)
            continue;
        if (n > 1)
            fz_ignore(fz_wrap(&err, "report %zu of %zu", i + 1, n)); /* keeps the code */
        term_error(command, "%s: %s", name, err.text);
    }
}

static void
failed(void *user, const char *name, const char *why)
{
    struct symbolicate *s = user;
    term_error(command, "%s: %s", name, why);
    s->n_failed++;
}

static void
show_summary(struct symbolicate *s)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    symbolicate_missing_show(&s->missing, &text);
    if (text.len)
        term_error(command, "%s", fz_buffer_cstr(&text));
    if (s->n_done + s->n_failed > 1)
        term_error(command, "%zu of %zu reports symbolicated%s%s", s->n_done,
                   s->n_done + s->n_failed, s->options->output ? " into " : "",
                   s->options->output ? s->options->output : "");
}

int
symbolicate_run(struct user_symbols *symbols, const struct symbolicate_options *options,
                const char **paths, size_t n_paths)
{
    FZ_CLEANUP(report_files_deinit) struct report_files inputs = report_files_make();
    struct symbolicate s = {.symbols = symbols, .options = options, .limits = limits_default()};
    struct fz_error err;
    for (size_t i = 0; i < n_paths; i++) {
        if (report_files_add(&inputs, paths[i], &err) != FZ_OK) {
            term_error(command, "%s", err.text);
            s.n_failed++;
        }
    }
    /* Before the work: a folder that cannot be made should not cost minutes. */
    if (symbolicate_output_open(&s.output, options, &inputs, &err) != FZ_OK)
        return term_failed(command, &err);
    const struct report_files_sink sink = {.found = found, .failed = failed, .user = &s};
    for (size_t i = 0; i < inputs.n && !s.is_stopped; i++)
        report_files_read(&inputs.list[i], &s.limits, &sink);
    /* A folder may hold files of which not one is a report. */
    if (s.n_done + s.n_failed == 0) {
        term_error(command, "no crash report was found");
        s.n_failed++;
    }
    if (!s.output.is_gone)
        show_summary(&s);
    symbolicate_missing_deinit(&s.missing);
    symbolicate_output_close(&s.output);
    return s.n_failed ? 1 : 0;
}
