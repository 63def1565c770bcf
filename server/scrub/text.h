/*
 * Parts of texts with marks, for the files of this module.
 */
#ifndef SCRUB_TEXT_H
#define SCRUB_TEXT_H

#include "base/buffer.h"
#include "server/scrub/find.h"

/* `text` itself if nothing is masked, else a copy in the arena, which ends with a NUL; empty if that is out of
 * memory. `keeps_runs`: as in struct scrub_find. */
struct fz_span scrub_span(struct scrub *scrub, struct fz_span text, bool keeps_runs);
/* Append the mark of a kind, and count it. */
void scrub_mark(struct scrub *scrub, enum scrub_kind kind, struct fz_buffer *out);

#endif
