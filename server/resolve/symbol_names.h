/*
 * The BCSymbolMaps of one upload, and which image each is for.
 *
 * In an .xcarchive a map may lie behind the dSYM that wants it; so slices with hidden names wait
 * until the archive has been read. See symbolicator/macho/symbol_map.h.
 */
#ifndef RESOLVE_SYMBOL_NAMES_H
#define RESOLVE_SYMBOL_NAMES_H

#include "symbolicator/symbolicator.h"

enum { SYMBOL_NAMES_MAX = 64 };

struct symbol_names_link {
    struct fz_uuid image, map;
};

struct symbol_names_map {
    struct fz_uuid uuid;
    struct sym_symbol_map map;
    bool is_used;
};

struct symbol_names {
    struct fz_arena arena;
    struct symbol_names_link links[SYMBOL_NAMES_MAX];
    struct symbol_names_map maps[SYMBOL_NAMES_MAX];
    size_t n_links, n_maps;
    struct sym_symbol_map given; /* for every slice; n = 0: none */
};

void symbol_names_init(struct symbol_names *names, size_t cap);
void symbol_names_deinit(struct symbol_names *names);

/* True if a member of this name that begins with these bytes is to be given to
 * symbol_names_add(). */
bool symbol_names_wants(const char *name, struct fz_span head);

/* Remember a map or the property list that tells of one. What is broken or too much is a problem.
 * True if it was taken: then it is the last one of maps or links, and *ret_is_map says of which. */
bool symbol_names_add(struct symbol_names *names, const char *name, struct fz_span bytes,
                      bool *ret_is_map, struct sym_problems *problems);

/* Which map an image's names are in, whether it is there or not. */
struct fz_uuid symbol_names_map_of(const struct symbol_names *names, const struct fz_uuid *image);

/* The map of an image, borrowed; NULL if there is none. */
const struct sym_symbol_map *symbol_names_find(struct symbol_names *names,
                                               const struct fz_uuid *image);

/* Tell the maps that nothing in the upload wanted. */
void symbol_names_tell_unused(const struct symbol_names *names, struct sym_problems *problems);

#endif
