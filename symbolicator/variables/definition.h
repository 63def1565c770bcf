/*
 * Definitions of types that a unit only declares: "struct item;" with its members in another unit
 * of the same file.
 */
#ifndef VARIABLES_DEFINITION_H
#define VARIABLES_DEFINITION_H

#include "symbolicator/variables/context.h"

/*
 * The definition that belongs to a structure, class, union or enumeration: the one of its name.
 *
 * AVAILABLE: *ret is it, and it may be `type` itself. NO_DEBUG_INFO: there is none, or there are
 * several that are not the same. LIMIT: the file has more than is searched. The first call for an
 * image lists its definitions.
 */
enum sym_availability variables_definition_find(const struct variables_die *type,
                                                struct variables_die *ret);
/* The same for the Objective-C class `name` of an image, where it is implemented. */
bool variables_definition_class(struct variables_image *image, struct fz_span name,
                                struct variables_die *ret);

#endif
