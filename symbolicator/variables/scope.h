/*
 * The scopes of a frame: the function, the inlined calls and the blocks that cover its pc, and the
 * DIEs of their variables.
 */
#ifndef VARIABLES_SCOPE_H
#define VARIABLES_SCOPE_H

#include "symbolicator/variables/context.h"

struct variables_scope_item {
    struct variables_die die;
    unsigned level; /* of blocks in blocks; 0 = of the function itself */
    bool is_param;
    bool is_abstract; /* only the abstract instance has it: this copy of the code has none */
};

/* One function or inlined call. */
struct variables_scope {
    struct variables_die die;
    struct variables_scope_item
        *items; /* parameters, then the variables of the inner blocks first */
    size_t n, room, n_cut;
    uint32_t line; /* where it is: of the pc, or of the call that was inlined; 0 = not known */
};

/* From the innermost inlined call to the function; at most VARIABLES_SCOPES_MAX. Memory: the arena
 * of the results. *ret_is_cut: some were left out. */
size_t variables_scopes(struct variables_frame *frame,
                        struct variables_scope ret[VARIABLES_SCOPES_MAX], bool *ret_is_cut);

#endif
