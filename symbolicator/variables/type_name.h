/* The names of types in C's notation, in which what is declared is in the middle: "int (*)[4]". */
#ifndef VARIABLES_TYPE_NAME_H
#define VARIABLES_TYPE_NAME_H

#include "symbolicator/variables/context.h"

/* Append the name of the type with this DIE; UINT64_MAX is void. */
void variables_type_name(struct variables_image *image, uint64_t offset, struct fz_buffer *out);
/* The mangled name of a Swift type; empty if it has none. */
struct fz_span variables_type_mangled(const struct variables_die *die);
/* The length of an array's dimension from its DW_TAG_subrange_type; false: it has no bound. */
bool variables_type_bound(const struct variables_die *range, uint64_t *ret);

#endif
