/* The namespaces and classes that a type is declared in: "std::__1::". */
#ifndef VARIABLES_CONTAINER_H
#define VARIABLES_CONTAINER_H

#include "symbolicator/variables/context.h"

/* Append the qualification of a DIE with "::" after each part. Nothing for languages without. */
void variables_container_append(const struct variables_die *die, struct fz_buffer *out);
/* True if the DIE is directly in a namespace of this name, or in an inline one in it. */
bool variables_container_is(const struct variables_die *die, const char *name);
/* The offsets of the unit's variables outside of functions, in the order of the DWARF. */
size_t variables_container_variables(struct variables_image *image,
                                     const struct sym_dwarf_unit *unit, const uint64_t **ret);

#endif
