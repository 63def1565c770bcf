/*
 * Expressions of a frame: to the place of a value, or to a number.
 */
#ifndef VARIABLES_EXPRESSION_H
#define VARIABLES_EXPRESSION_H

#include "symbolicator/variables/context.h"

/* Where a value of `size` bytes is that the expression describes. Never fails: a place that cannot
 * be found has the reason. */
struct variables_place variables_expression_place(struct variables_frame *frame,
                                                  const struct sym_dwarf_unit *unit,
                                                  struct fz_span expr, uint64_t size);
/* The number that an expression leaves, pushed `initial` first if it is not NULL: a frame base, the
 * value of a parameter at a call, the offset of a member. */
enum sym_availability variables_expression_number(struct variables_frame *frame,
                                                  const struct sym_dwarf_unit *unit,
                                                  struct fz_span expr, const uint64_t *initial,
                                                  uint64_t *ret);
/* The register that the expression is, and nothing else; -1 if it is another one. */
int variables_expression_register(struct fz_span expr);

#endif
