/*
 * A report as it came with only the names of its frames added, as Apple's symbolicatecrash does.
 *
 * All other bytes stay as they are: line ends, other encodings than UTF-8, text before and after
 * the report. Only UTF-16 becomes UTF-8. A frame that has a name keeps it, unless a symbol file has
 * its file and line and the report does not.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "server/report/render.h"

enum report_form { REPORT_FORM_JSON, REPORT_FORM_CRASH, REPORT_FORM_IPS };

/* Can a report of this format be written in that form as it came? "crash" and "text" are texts, and
 * an .ips may contain one. */
bool report_keeps_text(const char *format, enum report_form form);

/*
 * Write the report in that form. `raw` is the body that it was made from: if that is a text of the
 * form, it is annotated; else, or if it is empty, the report is rendered from the model. *ret_kept
 * (may be NULL) says which.
 */
FZ_MUST_CHECK enum fz_code report_write(const struct report *report,
                                        const struct report_envelope *envelope, struct fz_span raw,
                                        enum report_form form, struct fz_buffer *out,
                                        bool *ret_kept, struct fz_error *err);

#endif
