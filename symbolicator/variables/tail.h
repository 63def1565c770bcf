/*
 * Tail calls: the functions between a caller and a frame that have left the stack.
 *
 * A caller's call site names "middle", but on the stack is "last", which middle called as its last
 * act, by a jump. The DWARF of middle has a call site for that, DW_AT_call_tail_call, with what it
 * passed. This counts only if there is one way from the one function to the other.
 */
#ifndef VARIABLES_TAIL_H
#define VARIABLES_TAIL_H

#include "symbolicator/variables/context.h"

/* Do two DIEs name one function? A declaration in another unit has its linkage name, or in C its
 * name. */
bool variables_tail_is_same(const struct variables_die *a, const struct variables_die *b);

/* The first call site in a function that `is_wanted` accepts; each one is given to it once. */
bool variables_tail_site(const struct variables_die *function,
                         bool (*is_wanted)(void *user, const struct variables_die *site),
                         void *user, struct variables_die *ret);

/* The only way from `from` to `to`, none (n 0) if they are the same function. False: there is no
 * way, there are several, or not all can be seen. */
bool variables_tail_path(const struct variables_die *from, const struct variables_die *to,
                         struct variables_tail *ret);

#endif
