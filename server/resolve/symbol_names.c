#include "server/resolve/symbol_names.h"

#include <string.h>

#include "base/text.h"

static const char MAP_SUFFIX[] = ".bcsymbolmap", LINK_SUFFIX[] = ".plist";
enum { SHOWN_NAME = 96 };

void
symbol_names_init(struct symbol_names *names, size_t cap)
{
    memset(names, 0, sizeof(*names));
    fz_arena_init(&names->arena, cap);
}

void
symbol_names_deinit(struct symbol_names *names)
{
    fz_arena_deinit(&names->arena);
}

bool
symbol_names_wants(const char *name, struct fz_span head)
{
    struct fz_uuid uuid;
    return sym_symbol_map_has_magic(head) || sym_symbol_map_path_uuid(name, LINK_SUFFIX, &uuid);
}

static bool
add_map(struct symbol_names *names, const char *name, struct fz_span bytes,
        struct sym_problems *problems)
{
    struct symbol_names_map map = {.is_used = false};
    struct fz_error why;
    if (!sym_symbol_map_path_uuid(name, MAP_SUFFIX, &map.uuid))
        sym_problem_add(problems, "bad_symbol_map",
                        "%.*s: a BCSymbolMap is called <UUID>.bcsymbolmap; nothing else tells what "
                        "it is for",
                        SHOWN_NAME, name);
    else if (names->n_maps == SYMBOL_NAMES_MAX)
        sym_problem_add(problems, "bad_symbol_map", "more than %d BCSymbolMaps", SYMBOL_NAMES_MAX);
    else if (sym_symbol_map_read(bytes, &names->arena, &map.map, &why) != FZ_OK)
        sym_problem_add(problems, "bad_symbol_map", "%.*s: %s", SHOWN_NAME, name, why.text);
    else {
        names->maps[names->n_maps++] = map;
        return true;
    }
    return false;
}

bool
symbol_names_add(struct symbol_names *names, const char *name, struct fz_span bytes,
                 bool *ret_is_map, struct sym_problems *problems)
{
    struct symbol_names_link link;
    *ret_is_map = sym_symbol_map_has_magic(bytes);
    if (*ret_is_map)
        return add_map(names, name, bytes, problems);
    if (!sym_symbol_map_path_uuid(name, LINK_SUFFIX, &link.image) ||
        !sym_symbol_map_original(bytes, &link.map) || names->n_links == SYMBOL_NAMES_MAX)
        return false;
    names->links[names->n_links++] = link;
    return true;
}

struct fz_uuid
symbol_names_map_of(const struct symbol_names *names, const struct fz_uuid *image)
{
    struct fz_uuid wanted = *image;
    for (size_t i = 0; i < names->n_links; i++) {
        if (fz_uuid_equal(&names->links[i].image, image))
            wanted = names->links[i].map;
    }
    return wanted;
}

const struct sym_symbol_map *
symbol_names_find(struct symbol_names *names, const struct fz_uuid *image)
{
    if (names->given.n)
        return &names->given;
    struct fz_uuid wanted = symbol_names_map_of(names, image);
    for (size_t i = 0; i < names->n_maps; i++) {
        if (fz_uuid_equal(&names->maps[i].uuid, &wanted)) {
            names->maps[i].is_used = true;
            return &names->maps[i].map;
        }
    }
    return NULL;
}

void
symbol_names_tell_unused(const struct symbol_names *names, struct sym_problems *problems)
{
    for (size_t i = 0; i < names->n_maps; i++) {
        char uuid[FZ_UUID_TEXT];
        fz_uuid_format(&names->maps[i].uuid, uuid);
        if (!names->maps[i].is_used)
            sym_problem_add(problems, "unused_symbol_map",
                            "the BCSymbolMap %s is of no dSYM in this upload; it is kept for one "
                            "that is there or comes",
                            uuid);
    }
}
