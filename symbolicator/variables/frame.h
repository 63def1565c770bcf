/*
 * Frames: the function of a frame, and what holds for all of its variables.
 */
#ifndef VARIABLES_FRAME_H
#define VARIABLES_FRAME_H

#include "symbolicator/variables/context.h"

/* Frame `i` of a chain. False: there is no DWARF for it. */
bool variables_frame_make(struct sym_variables *variables, const struct sym_unwind_chain *chain,
                          size_t i, struct variables_frame *ret);

/* The value that register `reg` had when the function of the frame was called, from the call site
 * in its caller: a variables_entry_fn. */
enum sym_availability variables_frame_entry(struct variables_frame *frame, int reg, uint64_t *ret);

#endif
