/*
 * Variables whose address was given away, so that their value may have changed without a word of it
 * in the DWARF.
 */
#ifndef VARIABLES_ESCAPE_H
#define VARIABLES_ESCAPE_H

#include "symbolicator/variables/type.h"

/* Remember a variable of the frame: where it is, or the value that it has without being in memory.
 * `out` must stay where it is until variables_escape_mark(). */
void variables_escape_note(struct variables_frame *frame, const struct variables_type *type,
                           const struct variables_place *place, struct sym_variable *out);
/* Mark the values that may be stale, of all variables of the frame that were noted. */
void variables_escape_mark(struct variables_frame *frame);

#endif
