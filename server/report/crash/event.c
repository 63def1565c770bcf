/* What happened, in Apple's crash text: the exception, how the process ended, what it said. */
#include "server/report/crash/parts.h"

#include <stdio.h>

/* The labels of this part are aligned on macOS only. */
static void
put_line(struct report_crash_out *c, const char *key, const char *gap, const char *value)
{
    if (!value || !*value)
        return;
    bool is_exception = strncmp(key, "Exception", 9) == 0;
    /* Only the columns differ between these layouts, but readers compare texts. */
    if (c->is_mac && !(c->is_mac26 && is_exception)) {
        report_crash_field(c, key, value);
        return;
    }
    char label[32];
    snprintf(label, sizeof(label), "%s:", key);
    if (c->is_mac26)
        fz_buffer_printf(c->out, "%-19s", label);
    else
        fz_buffer_printf(c->out, "%s%s", label, gap);
    report_crash_text(c->out, value);
    fz_buffer_char(c->out, '\n');
}

static void
put_type(struct report_crash_out *c)
{
    const struct report_crash *crash = &c->r->crash;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer said = fz_buffer_make(0);
    char text[256] = "";
    /* A KSCrash user report, a Sentry message: Apple's text has no heading for them. */
    if (!c->is_crash && !c->is_ips)
        put_line(c, "Event", "           ", c->r->kind);
    if (report_crash_take(c, NULL, "Exception Type", &said))
        snprintf(text, sizeof(text), "%s", fz_buffer_cstr(&said)); /* with more than a signal */
    else if (crash->mach && crash->signal)
        snprintf(text, sizeof(text), "%s (%s)", crash->mach, crash->signal);
    else if (crash->mach || crash->signal || crash->exception)
        snprintf(text, sizeof(text), "%s",
                 crash->mach     ? crash->mach
                 : crash->signal ? crash->signal
                                 : crash->exception);
    put_line(c, "Exception Type", "  ", text);
}

static void
put_note(struct report_crash_out *c)
{
    static const struct {
        const char *key, *note;
    } notes[] = {{"isSimulated", "SIMULATED (this is NOT a crash)"},
                 {"isCorpse", "EXC_CORPSE_NOTIFY"},
                 {"isNonFatal", "NON-FATAL CONDITION (this is NOT a crash)"}};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer said = fz_buffer_make(0);
    if (report_crash_take(c, NULL, "Exception Note", &said))
        put_line(c, "Exception Note", "  ", fz_buffer_cstr(&said));
    for (size_t i = 0; c->is_ips && i < FZ_ARRAY_LEN(notes); i++) {
        const json_t *flag = json_object_get(c->extra, notes[i].key);
        if (!flag || json_is_false(flag))
            continue;
        put_line(c, "Exception Note", "  ", notes[i].note);
        /* A simulated crash has no other note in Apple's texts. */
        if (i == 0)
            return;
    }
}

static void
put_exception(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer codes = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    char subtype[256];
    put_type(c);
    report_apple_subtype(&c->r->crash, subtype, sizeof(subtype));
    report_apple_codes(&c->r->crash, &codes);
    /* macOS before 26 has no subtype line, and PLCrashReporter writes "Exception Codes:
     * SEGV_MAPERR at 0x10". */
    bool only_codes = (c->is_mac && !c->is_mac26) || (codes.len == 0 && !c->r->crash.mach);
    /* The subtype says where the access failed; it is the line that people look for. */
    put_line(c, only_codes ? "Exception Codes" : "Exception Subtype", " ", subtype);
    if (report_crash_take(c, "exception.message", "Exception Message", &text))
        put_line(c, "Exception Message", " ", fz_buffer_cstr(&text));
    put_line(c, "Exception Codes", " ", codes.len ? fz_buffer_cstr(&codes) : NULL);
    fz_buffer_clear(&text);
    if (report_crash_take(c, NULL, "Exception Codes", &text))
        put_line(c, "Exception Codes", " ", fz_buffer_cstr(&text));
}

/* "VM Region Info: 0x10 is not in any region.  ..." and a table. */
static void
put_regions(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (!report_crash_take(c, "vmRegionInfo", "VM Region Info", &text))
        return;
    report_crash_inline(c->out, "VM Region Info", fz_buffer_span(&text));
    if (c->is_mac)
        fz_buffer_char(c->out, '\n');
}

/* "SIGNAL 11 Segmentation fault: 11", then reasons and details on lines of their own. */
static bool
put_termination(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer space = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer code = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer rest = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
    if (!json_is_object(json_object_get(c->extra, "termination")) || !c->is_ips)
        return false;
    report_crash_take(c, "termination.namespace", NULL, &space);
    report_crash_take(c, "termination.code", NULL, &code);
    report_crash_take(c, "termination.indicator", NULL, &rest);
    fz_buffer_printf(&line,
                     c->is_mac26 ? "Namespace %s, Code %s, %s"
                     : c->is_mac ? "Namespace %s, Code %s %s"
                                 : "%s %s %s",
                     fz_buffer_cstr(&space), fz_buffer_cstr(&code), fz_buffer_cstr(&rest));
    put_line(c, "Termination Reason", " ", fz_buffer_cstr(&line));
    static const char *const texts[] = {"termination.reasons", "termination.details"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        fz_buffer_clear(&rest);
        if (report_crash_take(c, texts[i], NULL, &rest))
            report_crash_block(c->out, fz_buffer_span(&rest), false);
    }
    return true;
}

static void
put_end(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer by = fz_buffer_make(0);
    size_t before = c->out->len;
    if (report_crash_take(c, NULL, "Termination Signal", &text))
        put_line(c, "Termination Signal", " ", fz_buffer_cstr(&text));
    if (!put_termination(c))
        put_line(c, "Termination Reason", " ", c->r->crash.termination);
    fz_buffer_clear(&text);
    if (report_crash_take(c, "termination.byPid", NULL, &by)) {
        /* A process that had ended before the report was written has a number only. */
        if (!report_crash_take(c, "termination.byProc", NULL, &text))
            fz_buffer_text(&text, "<unknown>");
        fz_buffer_printf(&text, " [%s]", fz_buffer_cstr(&by));
        put_line(c, "Terminating Process", " ", fz_buffer_cstr(&text));
    } else if (report_crash_take(c, "termination.byProc", "Terminating Process", &text)) {
        put_line(c, "Terminating Process", " ", fz_buffer_cstr(&text));
    }
    /* An empty line ends the part, unless the part is empty. */
    if (c->out->len > before)
        fz_buffer_char(c->out, '\n');
}

/* The process lived on: "Highlighted by Thread" is Apple's word for the thread to look at. */
static void
put_triggered(struct report_crash_out *c)
{
    const struct report_thread *thread = report_apple_crashed(c->r);
    /* macOS has it in the head ("Crashed Thread"). */
    if (!thread || (c->is_mac && c->is_crash))
        return;
    fz_buffer_printf(c->out, "%s by Thread:  %lld\n", c->is_crash ? "Triggered" : "Highlighted",
                     (long long)report_apple_index(c->r, thread));
}

static void
put_said(struct report_crash_out *c)
{
    const struct report_crash *crash = &c->r->crash;
    const json_t *asi = c->is_ips ? json_object_get(c->extra, "asi") : NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *image;
    json_t *list;
    if (json_is_object(asi)) {
        fz_buffer_text(c->out, "Application Specific Information:\n");
        json_object_foreach((json_t *)(uintptr_t)asi, image, list)
        {
            fz_buffer_clear(&text);
            if (report_extra_text(asi, image, &text))
                report_crash_block(c->out, fz_buffer_span(&text), false);
        }
        /* Two empty lines, as macOS leaves there. */
        fz_buffer_text(c->out, "\n\n");
        return;
    }
    /* Other formats have the exception and its reason apart; Apple's text has one sentence. */
    report_apple_thrown(crash, &text);
    if (text.len == 0 && crash->n_messages == 0)
        return;
    fz_buffer_text(c->out, "Application Specific Information:\n");
    report_crash_block(c->out, fz_buffer_span(&text), false);
    for (size_t i = 0; i < crash->n_messages; i++)
        report_crash_block(c->out, fz_span_cstr(crash->messages[i]), false);
    fz_buffer_char(c->out, '\n');
}

static const json_t *
backtraces(const struct report_crash_out *c)
{
    return c->is_ips && c->is_mac ? json_object_get(c->extra, "asiBacktraces") : NULL;
}

/* The text after the address of the frame in `text`; NULL if the address is not in it. */
static const char *
after_address(const char *text, const struct report_frame *frame)
{
    char address[24];
    /* As macOS prints it: 16 digits after a blank. */
    snprintf(address, sizeof(address), " 0x%016llx", (unsigned long long)frame->addr);
    const char *at = text ? strstr(text, address) : NULL;
    return at ? at + strlen(address) : NULL;
}

static bool
is_said(const struct report_crash_out *c)
{
    const struct report *r = c->r;
    const char *text = json_string_value(json_array_get(backtraces(c), 0));
    for (size_t i = 0; i < r->n_exception_frames && text; i++)
        /* The text of an exception's backtrace is the same stack: it is then not written twice. */
        text = after_address(text, &r->exception_frames[i]);
    return text && r->n_exception_frames;
}

/* Names that a symbol file gave take the place of those in the text. */
static bool
is_better(const struct report_frame *frame)
{
    const struct report_symbol *last =
        frame->n_symbols ? &frame->symbols[frame->n_symbols - 1] : NULL;
    return last && last->file && (!last->source || strcmp(last->source, "client") != 0);
}

static void
put_said_stack(struct report_crash_out *c, const char *text)
{
    const struct report *r = c->r;
    for (size_t i = 0; *text; i++) {
        size_t len = strcspn(text, "\n");
        const struct report_frame *frame =
            i < r->n_exception_frames ? &r->exception_frames[i] : NULL;
        /* Line by line: the n-th line is the n-th frame, as is_said() has found. */
        const char *after = frame && is_better(frame) ? after_address(text, frame) : NULL;
        if (after && after < text + len) {
            size_t head = (size_t)(after - text);
            for (size_t k = 0; k < frame->n_symbols; k++) {
                report_crash_span(c->out, fz_span_make(text, head));
                fz_buffer_char(c->out, ' ');
                report_crash_symbol(c->out, &frame->symbols[k]);
                fz_buffer_char(c->out, '\n');
            }
        } else {
            report_crash_block(c->out, fz_span_make(text, len), true);
        }
        text += len + (text[len] == '\n');
    }
}

static void
put_backtraces(struct report_crash_out *c)
{
    const json_t *list = backtraces(c);
    /* Its frames are those of the model, which may have better names. */
    bool said = is_said(c);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        fz_buffer_printf(c->out, "Application Specific Backtrace %zu:\n", i);
        if (text && i == 0 && said)
            put_said_stack(c, text);
        else
            report_crash_block(c->out, fz_span_cstr(text), true);
    }
    if (json_array_size(list))
        fz_buffer_text(c->out, "\n\n");
}

void
report_crash_event(struct report_crash_out *c)
{
    put_exception(c);
    if (c->is_mac) {
        put_note(c);
        fz_buffer_char(c->out, '\n');
        put_end(c);
        if (c->is_mac26)
            fz_buffer_char(c->out, '\n');
        put_regions(c);
    } else {
        put_regions(c);
        put_note(c);
        put_end(c);
    }
    size_t before = c->out->len;
    put_triggered(c);
    if (!c->is_mac || c->out->len > before)
        fz_buffer_char(c->out, '\n');
    put_said(c);
    report_crash_section(c, "Application Specific Signatures", "asiSignatures");
    put_backtraces(c);
    report_crash_section(c, "Dyld Error Message", "fatalDyldError");
    if (!is_said(c))
        report_crash_exception_stack(c);
    report_crash_section(c, "Kernel Triage", "ktriageinfo");
}
