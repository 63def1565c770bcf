/*
 * DWARF expressions of call frame information: a rule of a register, or of the CFA.
 *
 * Only what DWARF 5, 6.4.2 allows there: registers, memory, arithmetic, branches.
 */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include "symbolicator/process/process.h"

/* Evaluate `expr`; *first (may be NULL) is pushed before. False if an operation is not allowed, a
 * register is unknown, memory was not captured, or it takes too many steps. */
bool unwind_evaluate(struct sym_process *process, const struct sym_registers *registers,
                     struct fz_span expr, const uint64_t *first, uint64_t *ret);

#endif
