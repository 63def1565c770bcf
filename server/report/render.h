/*
 * Writing reports: the symbolicated JSON of the API and Apple's two formats; and reading that JSON
 * back.
 */
#ifndef REPORT_RENDER_H
#define REPORT_RENDER_H

#include "base/buffer.h"
#include "server/report/report.h"

/* What the model does not know: where and when the report was taken in. */
struct report_envelope {
    const char *id, *project, *status; /* status NULL: report_status() */
    int64_t received_ms;               /* 0 = leave out */
    const char *const *same_crash;     /* ids of other reports of this crash */
    size_t n_same_crash;
};

/* The symbolicated report of docs/api (one JSON object, no newline at the end). Unknown keys are
 * left out, never null. */
FZ_MUST_CHECK enum fz_code report_render_json(const struct report *report,
                                              const struct report_envelope *envelope,
                                              struct fz_buffer *out, struct fz_error *err);

/* Apple's crash text (the layout of report version 104): inlined calls on lines of their own, with
 * file and line. */
FZ_MUST_CHECK enum fz_code report_render_crash(const struct report *report,
                                               const struct report_envelope *envelope,
                                               struct fz_buffer *out, struct fz_error *err);

/* The same with the variables of each frame and inlined call under its line, as a debugger's `bt full`
 * has them. No other text has values: a crash text and an .ips are made to be passed on. */
FZ_MUST_CHECK enum fz_code report_render_variables(const struct report *report,
                                                   const struct report_envelope *envelope,
                                                   struct fz_buffer *out, struct fz_error *err);

/* Apple's .ips: header line, newline, body; frames with symbol, symbolLocation, sourceFile,
 * sourceLine, inline. */
FZ_MUST_CHECK enum fz_code report_render_ips(const struct report *report,
                                             const struct report_envelope *envelope,
                                             struct fz_buffer *out, struct fz_error *err);

/* Read back what report_render_json() wrote. The texts of *ret_envelope are in the arena. */
FZ_MUST_CHECK enum fz_code report_load_json(struct fz_span json, struct fz_arena *arena,
                                            struct report *ret,
                                            struct report_envelope *ret_envelope,
                                            struct fz_error *err);

#endif
