/*
 * The parts of annotate.h, one file each. Private to this folder.
 */
#ifndef REPORT_ANNOTATE_PARTS_H
#define REPORT_ANNOTATE_PARTS_H

#include "server/report/annotate.h"

/* What the report's own line or object says of a frame. */
struct annotate_named {
    bool has_name, has_place; /* place: file and line */
};

/* Does the symbol file know more of the frame than the report says itself? */
bool annotate_is_better(const struct report_frame *frame, struct annotate_named own);

/* Each appends the annotated report and gives the number of frames of the model whose place was
 * found. Only memory can fail, which `out` remembers. */
size_t annotate_crash(const struct report *report, struct fz_span raw, struct fz_buffer *out);
/* `raw` from the header of the .ips on; 0 and nothing appended if there is none. */
size_t annotate_ips(const struct report *report, struct fz_span raw, struct fz_buffer *out);

#endif
