/*
 * Values: the variables of the frames that were unwound. Private to resolve.
 */
#ifndef RESOLVE_VALUES_H
#define RESOLVE_VALUES_H

#include "server/resolve/resolve.h"
#include "server/resolve/stack.h"

/* Bytes of variables as JSON, and CPU time, that one report may need. */
enum { RESOLVE_VALUES_BYTES = 1024 * 1024, RESOLVE_VALUES_CPU_MS = 2000 };

/*
 * Add the variables of each function and inlined call to the symbols of the frames: the crashed
 * thread's first, then those of the other threads. What does not fit into the limits is left out,
 * with a note. Nothing is added for a report whose stacks were not unwound.
 *
 * Errors: LIMIT, NO_MEMORY of `arena`; what is wrong with a symbol file is the availability of a
 * value.
 */
FZ_MUST_CHECK enum fz_code resolve_values_add(struct report *report, struct resolve_stacks *stacks,
                                              const struct resolve_options *options,
                                              struct fz_arena *arena, struct fz_error *err);

#endif
