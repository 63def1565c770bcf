/*
 * The parts of a Bugsnag event: bugsnag.c (outer form, origin, what happened) and stacks.c (stacks,
 * and the images that their frames name). Private to this folder.
 */
#ifndef INGEST_BUGSNAG_H
#define INGEST_BUGSNAG_H

#include "server/ingest/common/json_member.h"

/* Threads and images of an event; `caught` says that a signal or a Mach exception stopped the
 * reporting thread, so that its frame 0 may be exact. Memory failures stay in b->failed. */
void ingest_bugsnag_read_stacks(struct ingest_builder *b, const json_t *event, bool caught);

#endif
