/* The operations of the stack machine that work on its stack, on constants and on memory alone. */
#ifndef VARIABLES_OPERATORS_H
#define VARIABLES_OPERATORS_H

#include "symbolicator/variables/machine.h"

enum variables_operated { OPERATE_DONE, OPERATE_FAILED, OPERATE_UNKNOWN /* not one of these */ };

/* `start`: where the expression begins, which branches stay within. */
enum variables_operated variables_operate(struct variables_machine *machine, const uint8_t *start,
                                          unsigned op);

#endif
