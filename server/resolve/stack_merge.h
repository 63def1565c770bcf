/*
 * Two chains of one thread, the client's and the unwound one, to one. Private to this folder.
 */
#ifndef RESOLVE_STACK_MERGE_H
#define RESOLVE_STACK_MERGE_H

#include "server/resolve/stack.h"

/* Give the frames of thread `number` the better of both chains, and its links. Errors: LIMIT,
 * NO_MEMORY of `arena`. */
FZ_MUST_CHECK enum fz_code resolve_stack_merge(struct resolve_stacks *stacks, struct report *report,
                                               size_t number, struct fz_arena *arena,
                                               struct fz_error *err);

/*
 * For threads that were not unwound: leave out the second of two equal callers, which KSCrash lists as
 * lr and as the first frame record. After the frames have names: in recursion both may be right, so
 * they stay if the newest frame is of the function that it returns to.
 */
void resolve_stack_drop_repeated(const struct resolve_stacks *stacks, struct report *report,
                                 struct fz_arena *arena);

#endif
