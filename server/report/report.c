#include "server/report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void
report_note(struct report *report, struct fz_arena *arena, const char *fmt, ...)
{
    char text[256];
    /* A damaged report can give one for each of its frames. */
    if (report->n_notes >= REPORT_NOTES_MAX)
        return;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    /* vsnprintf() fails only for a wrong format; a note is not worth an error. */
    if (len < 0)
        return;
    if (!report->notes)
        report->notes = fz_arena_array(arena, REPORT_NOTES_MAX, sizeof(*report->notes));
    /* Cutting may have split a character, and the words of a note may quote the report. */
    const char *note = report->notes ? fz_text_clean_utf8(arena, fz_span_cstr(text)) : NULL;
    if (note)
        report->notes[report->n_notes++] = note;
}

bool
report_executable_name(const char *image_name, struct fz_arena *arena, const char **ret)
{
    /* Xcode 16 builds apps for debugging so. */
    static const char debug[] = ".debug.dylib";
    size_t len = image_name ? strlen(image_name) : 0, tail = sizeof(debug) - 1;
    /* Xcode's previews and debug builds move the app's code to dylibs, and the executable is a
     * stub. */
    *ret = image_name && strcmp(image_name, "__preview.dylib") != 0 ? image_name : NULL;
    if (len <= tail || strcmp(image_name + len - tail, debug) != 0)
        return true;
    *ret = fz_arena_text(arena, fz_span_make(image_name, len - tail));
    return *ret != NULL;
}

struct report_thread *
report_crashed_thread(const struct report *report)
{
    /* What the report says of the crash counts more than the mark of a thread; without both the
     * first thread is the main one. */
    for (size_t i = 0; i < report->n_threads && report->crash.thread >= 0; i++) {
        if (report->threads[i].index == report->crash.thread)
            return &report->threads[i];
    }
    /* Then the mark that formats set on a thread itself. */
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->threads[i].crashed)
            return &report->threads[i];
    }
    return report->n_threads ? &report->threads[0] : NULL;
}

bool
report_ends_run(const struct report *report)
{
    static const char *const ending[] = {"crash", "memory"}, *const living[] = {"error", "message"};
    if (!report->kind)
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(ending); i++) {
        if (strcmp(report->kind, ending[i]) == 0)
            return true;
    }
    /* Handled by code that runs on, whatever the app wrote into its report. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(living); i++) {
        if (strcmp(report->kind, living[i]) == 0)
            return false;
    }
    return report->crash.termination != NULL;
}

static void
count_names(const struct report_frame *frames, size_t n, bool *named, bool *lacking)
{
    for (size_t i = 0; i < n; i++) {
        if (frames[i].n_symbols)
            *named = true;
        /* No symbol file could name an address in no image, so it does not make the report
         * partial. */
        else if (frames[i].status != REPORT_FRAME_UNKNOWN_IMAGE)
            *lacking = true;
    }
}

enum report_status
report_status(const struct report *report)
{
    bool named = false, lacking = false;
    for (size_t i = 0; i < report->n_threads; i++)
        count_names(report->threads[i].frames, report->threads[i].n_frames, &named, &lacking);
    count_names(report->exception_frames, report->n_exception_frames, &named, &lacking);
    return !named ? REPORT_UNSYMBOLICATED : lacking ? REPORT_PARTIAL : REPORT_SYMBOLICATED;
}

bool
report_add_client_symbol(struct report_frame *frame, struct fz_arena *arena,
                         const struct report_symbol *symbol)
{
    if (!symbol->function || !*symbol->function || frame->n_client >= REPORT_CLIENT_SYMBOLS_MAX)
        return true;
    /* Copied for each: a frame seldom has more than one. */
    struct report_symbol *grown = fz_arena_array(arena, frame->n_client + 1, sizeof(*grown));
    if (!grown)
        return false;
    if (frame->n_client)
        memcpy(grown, frame->client, frame->n_client * sizeof(*grown));
    grown[frame->n_client] = *symbol;
    grown[frame->n_client].source = "client";
    frame->client = grown;
    frame->n_client++;
    return true;
}

const char *const report_status_names[] = {[REPORT_UNSYMBOLICATED] = "unsymbolicated",
                                           [REPORT_PARTIAL] = "partial",
                                           [REPORT_SYMBOLICATED] = "symbolicated"};

const char *const report_frame_status_names[] = {
    [REPORT_FRAME_SYMBOLICATED] = "symbolicated",
    [REPORT_FRAME_MISSING_SYMBOL_FILE] = "missing_symbol_file",
    [REPORT_FRAME_NO_SYMBOL] = "no_symbol",
    [REPORT_FRAME_UNKNOWN_IMAGE] = "unknown_image",
    [REPORT_FRAME_MALFORMED_SYMBOL_FILE] = "malformed_symbol_file"};

const char *const report_trust_names[] = {[REPORT_TRUST_GIVEN] = "given",
                                          [REPORT_TRUST_CONTEXT] = "context",
                                          [REPORT_TRUST_CFI] = "cfi",
                                          [REPORT_TRUST_COMPACT] = "compact",
                                          [REPORT_TRUST_FRAME_POINTER] = "frame_pointer",
                                          [REPORT_TRUST_LINK_REGISTER] = "link_register"};

const char *const report_variable_kind_names[] = {[REPORT_VARIABLE_PARAM] = "param",
                                                  [REPORT_VARIABLE_LOCAL] = "local",
                                                  [REPORT_VARIABLE_GLOBAL] = "global",
                                                  [REPORT_VARIABLE_THIS] = "this"};

const char *const report_availability_names[] = {
    [REPORT_VALUE_AVAILABLE] = "available",
    [REPORT_VALUE_ENTRY_VALUE] = "entry_value",
    [REPORT_VALUE_PARTIAL] = "partial",
    [REPORT_VALUE_OPTIMIZED_OUT] = "optimized_out",
    [REPORT_VALUE_REGISTER_NOT_RECOVERABLE] = "register_not_recoverable",
    [REPORT_VALUE_MEMORY_NOT_CAPTURED] = "memory_not_captured",
    [REPORT_VALUE_UNSUPPORTED] = "unsupported",
    [REPORT_VALUE_NO_DEBUG_INFO] = "no_debug_info",
    [REPORT_VALUE_REDACTED] = "redacted",
    [REPORT_VALUE_LIMIT] = "limit"};

const char *const report_image_state_names[] = {[REPORT_IMAGE_UNUSED] = "unused",
                                                [REPORT_IMAGE_FOUND] = "found",
                                                [REPORT_IMAGE_MISSING] = "missing",
                                                [REPORT_IMAGE_FAILED] = "failed"};
