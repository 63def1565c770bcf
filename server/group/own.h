/*
 * Whose code a frame is: by its image, by its source file and by the module of a Swift name.
 *
 * Private to this folder. The texts are the names of the rules, as reports show them.
 */
#ifndef GROUP_OWN_H
#define GROUP_OWN_H

#include "server/group/group.h"

/* Of all images, with what their frames show: without a path, an image whose functions have files
 * is not the system's. NULL when memory is out. */
enum group_origin *group_find_origins(const struct report *report, struct fz_arena *arena);
const char *group_origin_rule(enum group_origin origin);
/* Why the code of this source file is not the app's, although its image is; NULL: it may be. */
const char *group_file_rule(const char *file);
bool group_module_is_system(const char *module);
/* The module in a mangled Swift name, without reading the rest of it; empty if it has none, or
 * where only the demangler could find it. */
struct fz_span group_module_of(const char *mangled);

#endif
