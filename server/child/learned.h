/*
 * What a report teaches: names of the system's functions that it brought itself, for reports that
 * come without (storage/store_learned.h).
 */
#ifndef CHILD_LEARNED_H
#define CHILD_LEARNED_H

#include "base/arena.h"
#include "server/protocol/protocol.h"
#include "server/report/report.h"

/*
 * Collect them from a report that is resolved: of the images that are the system's by their path,
 * where no symbol file had a name. Sorted by UUID and start, each once, with the largest reach; at
 * most PROTO_LEARNED_MAX. Without memory there are none: the report does not fail for it.
 */
void child_learned_collect(const struct report *report, struct fz_arena *arena,
                           const struct proto_learned **ret, size_t *ret_n);

#endif
