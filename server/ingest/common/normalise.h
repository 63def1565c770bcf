/*
 * The last step for every format: short texts without white space around them, names of codes, what
 * a termination code means, which text is the reason. Private to server/ingest.
 */
#ifndef INGEST_COMMON_NORMALISE_H
#define INGEST_COMMON_NORMALISE_H

#include "base/arena.h"
#include "server/report/report.h"

/*
 * Complete what the format left open; what it has set stays, except
 * - white space around short texts, and short texts of white space only: they are removed;
 * - a reason that is a line about the simulator or the dynamic linker: it moves to the messages.
 * False when memory is out.
 */
bool ingest_normalise(struct report *report, struct fz_arena *arena);

#endif
