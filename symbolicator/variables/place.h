/*
 * Places of values: reading bytes and bits of them, parts of them, putting them together.
 */
#ifndef VARIABLES_PLACE_H
#define VARIABLES_PLACE_H

#include "symbolicator/variables/context.h"

/* No value, for this reason. */
struct variables_place variables_place_none(enum sym_availability why);
struct variables_place variables_place_memory(uint64_t address);
/* Bytes that are all known; they must outlive the place. */
struct variables_place variables_place_bytes(const uint8_t *bytes, size_t n);

/* The part from byte `offset` on. */
struct variables_place variables_place_at(const struct variables_place *place, uint64_t offset);

/* Copy `n` bytes from byte `offset` on; AVAILABLE, else the reason. `to` may be partly written. */
enum sym_availability variables_place_read(const struct sym_variables *variables,
                                           const struct variables_place *place, uint64_t offset,
                                           size_t n, void *to);
/* An unsigned number of 1 to 8 bytes in the byte order of the process. */
enum sym_availability variables_place_uint(const struct sym_variables *variables,
                                           const struct variables_place *place, uint64_t offset,
                                           unsigned size, uint64_t *ret);
/* `n` bits (1 to 64) from bit `offset` on, counted from the lowest bit of the first byte. */
enum sym_availability variables_place_bits(const struct sym_variables *variables,
                                           const struct variables_place *place, uint64_t offset,
                                           unsigned n, uint64_t *ret);

/* Bytes in the making: all unknown at first, then filled piece by piece. */
struct variables_pieces {
    struct sym_variables *variables;
    uint8_t *bytes, *known, *why;
    size_t n;      /* bytes */
    uint64_t bits; /* filled so far */
};
/* False: more than VARIABLES_VALUE_BYTES_MAX, or no memory. */
bool variables_pieces_make(struct sym_variables *variables, uint64_t n,
                           struct variables_pieces *ret);
/* Append `n_bits` bits of `from`, beginning at its bit `offset`; what is unknown there is unknown
 * here, with its reason. */
void variables_pieces_add(struct variables_pieces *pieces, const struct variables_place *from,
                          uint64_t offset, uint64_t n_bits);
struct variables_place variables_pieces_done(const struct variables_pieces *pieces);

#endif
