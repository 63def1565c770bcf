/*
 * Frames in the JSON of a report, and what else its parts have in common.
 *
 * Private to this folder. The members are those of docs/api; failures are the buffer's.
 */
#ifndef REPORT_RENDER_FRAMES_H
#define REPORT_RENDER_FRAMES_H

#include "base/json/write.h"
#include "server/report/report.h"

/* The member `frames`, and `frames_cut` if n_cut is not 0. */
void report_write_frames(struct json_write *w, const struct report *r,
                         const struct report_frame *frames, size_t n, size_t n_cut);

/* The image's UUID, if it has one. */
void report_write_uuid(struct json_write *w, const char *key, const struct report_image *image);
/* Nothing at all for an empty list. */
void report_write_list(struct json_write *w, const char *key, const char *const *texts, size_t n);

#endif
