/*
 * Numbers of the DWARF stack machine: the generic type (an address) and the base types of DWARF 5
 * (2.5.1): integers of 1 to 8 bytes, float and double.
 */
#ifndef VARIABLES_NUMBER_H
#define VARIABLES_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum variables_number_kind { NUMBER_GENERIC, NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT };

struct variables_number {
    uint64_t bits; /* those above `size` bytes are 0 */
    uint8_t kind;  /* enum variables_number_kind */
    uint8_t size;  /* in bytes: 1 to 8; of floats 4 or 8 */
};

struct variables_number variables_number_make(uint64_t bits, unsigned kind, unsigned size);
/* As a signed integer, sign-extended. */
int64_t variables_number_signed(struct variables_number number);
/* The value in another type: integers are cut or extended, floats rounded toward zero. */
struct variables_number variables_number_convert(struct variables_number number, unsigned kind,
                                                 unsigned size);
/* DW_OP_abs, neg, not. False: the operation is not defined for the type. */
bool variables_number_unary(unsigned op, struct variables_number a, struct variables_number *ret);
/* DW_OP_and, div, minus, mod, mul, or, plus, shl, shr, shra, xor, eq, ge, gt, le, lt, ne: `a` is
 * the deeper one. False: types that differ, division by zero, not defined for floats. */
bool variables_number_binary(unsigned op, struct variables_number a, struct variables_number b,
                             struct variables_number *ret);

#endif
