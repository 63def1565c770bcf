/*
 * The parts of annotate.h, one file each. Private to this folder.
 */
#ifndef REPORT_ANNOTATE_PARTS_H
#define REPORT_ANNOTATE_PARTS_H

#include "server/report/annotate.h"

/* Each appends the annotated report and returns the number of frames of the model that were found
 * in it. Only memory can fail, which stays in `out`. */
size_t annotate_crash(const struct report *report, struct fz_span raw, struct fz_buffer *out);
/* `raw` from the header of the .ips on; 0 and nothing appended if it has no .ips. */
size_t annotate_ips(const struct report *report, struct fz_span raw, struct fz_buffer *out);

#endif
