/*
 * BCSymbolMap: the names that a bitcode build hid behind "__hidden#12_", for its dSYM.
 *
 *   BCSymbolMap Version: 2.0
 *   -[Shop checkout:]             the name of __hidden#0_
 *   _work_step                    the name of __hidden#1_
 *
 * An archive keeps it as BCSymbolMaps/<UUID>.bcsymbolmap. The dSYM of a recompiled image says in
 * Contents/Resources/<UUID of the image>.plist (DBGOriginalUUID) which map is its own; without such
 * a file the map has the image's UUID. Foreign bytes; nothing is kept beside the arena.
 */
#ifndef SYM_SYMBOL_MAP_H
#define SYM_SYMBOL_MAP_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/uuid.h"

struct sym_symbol_map {
    const char *text;      /* of the names, each with its NUL */
    const uint32_t *names; /* offsets in text */
    size_t n;
    bool adds_underscore; /* version 1.0 holds the names of the symbol table without Mach-O's */
};

/* True if the bytes begin as such a map does, of whatever version. */
bool sym_symbol_map_has_magic(struct fz_span file);

/*
 * Read a map; names lie in the arena.
 *
 * UNSUPPORTED: no map, or of a version that is not known. LIMIT: 2 GiB or more, or the arena.
 */
FZ_MUST_CHECK enum fz_code sym_symbol_map_read(struct fz_span file, struct fz_arena *arena,
                                               struct sym_symbol_map *ret, struct fz_error *err);

/* True for "__hidden#12_" with 1 to 3 underscores before it. */
bool sym_symbol_map_is_hidden(struct fz_span name);

/* The name behind a hidden one, NUL-terminated in the map; `name` itself if it is not hidden or the
 * map does not have it. `map` may be NULL. */
struct fz_span sym_symbol_map_name(const struct sym_symbol_map *map, struct fz_span name);

/* The UUID in a path that ends in "<UUID><suffix>". False if there is none. */
bool sym_symbol_map_path_uuid(const char *path, const char *suffix, struct fz_uuid *ret);

/* DBGOriginalUUID of the property list (XML) that lies in a dSYM. False if there is none. */
bool sym_symbol_map_original(struct fz_span plist, struct fz_uuid *ret);

#endif
