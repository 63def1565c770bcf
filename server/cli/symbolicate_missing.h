/*
 * Which images of all reports of a run have no symbols: one line at the end.
 */
#ifndef CLI_SYMBOLICATE_MISSING_H
#define CLI_SYMBOLICATE_MISSING_H

#include "base/buffer.h"
#include "server/cli/user_symbols.h"
#include "server/report/report.h"

struct missing_image; /* opaque */

struct symbolicate_missing {
    struct missing_image *list; /* every image that a frame is in, once */
    size_t n, room;
    bool is_cut; /* no memory for more */
};

void symbolicate_missing_deinit(struct symbolicate_missing *missing);

/* Add the images of a resolved report. What is wrong with a symbol file that was given for one is
 * reported at once, on standard error. */
void symbolicate_missing_add(struct symbolicate_missing *missing, struct user_symbols *symbols,
                             const struct report *report);

/* "missing symbols for 2 of 40 images: Shop UUID (arm64), ...; pass --dsym PATH, or upload them".
 * Nothing if none is missing. */
void symbolicate_missing_show(struct symbolicate_missing *missing, struct fz_buffer *out);

#endif
