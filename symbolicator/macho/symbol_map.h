/*
 * Reading a BCSymbolMap, and the names it restores.
 *
 *   BCSymbolMap Version: 2.0
 *   -[Shop checkout:]             the name of __hidden#0_
 *   _work_step                    the name of __hidden#1_
 *
 * An archive keeps it as BCSymbolMaps/<UUID>.bcsymbolmap. The dSYM of a recompiled image names its
 * map in Contents/Resources/<UUID of the image>.plist (DBGOriginalUUID); without that file the map
 * has the image's UUID.
 */
#ifndef SYM_MACHO_SYMBOL_MAP_H
#define SYM_MACHO_SYMBOL_MAP_H

#include "symbolicator/symbolicator.h"

/* True if the bytes begin as a BCSymbolMap of any version does. */
bool sym_symbol_map_has_magic(struct fz_span file);

/* True for "__hidden#12_" with 1 to 3 leading underscores. */
bool sym_symbol_map_is_hidden(struct fz_span name);

/* The name that replaces a hidden one, NUL-terminated in the map; `name` itself if it is not hidden
 * or the map does not have it. `map` may be NULL. */
struct fz_span sym_symbol_map_name(const struct sym_symbol_map *map, struct fz_span name);

/* The UUID in a path that ends in "<UUID><suffix>". False if it does not. */
bool sym_symbol_map_path_uuid(const char *path, const char *suffix, struct fz_uuid *ret);

/* DBGOriginalUUID of the property list (XML) in a dSYM: which map it needs. False if it has
 * none. */
bool sym_symbol_map_original(struct fz_span plist, struct fz_uuid *ret);

#endif
