/*
 * How far children on this machine are locked in: asked once, for the log and for /healthz.
 */
#ifndef CHILDREN_LEVEL_H
#define CHILDREN_LEVEL_H

#include "server/process/limits.h"
#include "server/protocol/level.h"

/* Start a child, wait until it is ready, end it. Fails as child_process_ready() does. */
FZ_MUST_CHECK enum fz_code children_level_probe(const struct limits *limits,
                                                struct proto_level *ret, struct fz_error *err);

/* A line in the log; a warning if the locks that are there do not keep a child from files or from other processes. */
void children_level_log(const struct proto_level *level);

#endif
