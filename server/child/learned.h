/*
 * Names of the system's functions that a report brings, for later reports that come without them
 * (storage/store_learned.h).
 */
#ifndef CHILD_LEARNED_H
#define CHILD_LEARNED_H

#include "base/arena.h"
#include "server/protocol/protocol.h"
#include "server/report/report.h"

/*
 * Collect the names from a resolved report: of images whose path is the system's, where no symbol
 * file had a name. Sorted by UUID and start, each once, with the largest reach; at most
 * PROTO_LEARNED_MAX. If memory runs out there are none; the report does not fail for that.
 */
void child_learned_collect(const struct report *report, struct fz_arena *arena,
                           struct proto_learned **ret, size_t *ret_n);

#endif
