/*
 * Which expression describes a variable at an address: an expression alone, .debug_loc (DWARF 2 to
 * 4, 7.7.3), .debug_loclists (DWARF 5, 2.6.2 and 7.29).
 */
#ifndef VARIABLES_LOCATION_H
#define VARIABLES_LOCATION_H

#include "symbolicator/variables/context.h"

enum variables_found {
    LOCATION_FOUND,
    LOCATION_NONE,   /* no entry covers the address */
    LOCATION_BROKEN, /* the list cannot be read up to an entry that does */
};

/* The expression at the address `pc` of the file. `die` is the one that has the attribute. */
enum variables_found variables_location_at(const struct variables_die *die,
                                           const struct variables_attr *attr, uint64_t pc,
                                           struct fz_span *ret);
/* Is it one expression for all of the scope? */
bool variables_location_is_single(const struct variables_attr *attr);

#endif
