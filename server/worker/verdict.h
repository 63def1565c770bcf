/*
 * The verdict on an uploaded symbol file in one word, with what to do about it: for build scripts
 * and for the people who read their logs. Pure.
 */
#ifndef WORKER_VERDICT_H
#define WORKER_VERDICT_H

#include "server/protocol/protocol.h"

struct verdict {
    const char *code; /* "ok", "truncated", "unusable", "not_linked", "encrypted", "hidden_names",
                         "no_dwarf", "no_lines", "symbols_only", "map"; static */
    bool retry;       /* the same upload may succeed later: the file was not complete */
    const char *todo; /* what to do, for people; NULL for "ok" and "map"; static */
};

/* The worst that can be said of the slice. */
struct verdict verdict_of(const struct proto_slice *slice);

#endif
