/* Where a variable is: its constant, its location at the pc, or its value at the call. */
#ifndef VARIABLES_LOCATE_H
#define VARIABLES_LOCATE_H

#include "symbolicator/variables/context.h"

/* `die`: DW_TAG_variable or DW_TAG_formal_parameter. `size`: of its type. */
struct variables_place variables_locate(struct variables_frame *frame,
                                        const struct variables_die *die, uint64_t size);
/* Is the variable at a fixed address, static or global? *ret: the address in the file. */
bool variables_locate_static(const struct variables_die *die, uint64_t *ret);

#endif
