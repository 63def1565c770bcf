/* The BCSymbolMaps of one upload, and the property lists that say which image each is for. */
#include <stdlib.h>

#include "symbolicator/macho/symbol_map.h"

static const char MAP_SUFFIX[] = ".bcsymbolmap", LINK_SUFFIX[] = ".plist";
enum { MAPS_MAX = 64, SHOWN_NAME = 96 };

struct entry {
    struct fz_uuid uuid;
    struct sym_symbol_map map;
    bool is_used;
};

struct link {
    struct fz_uuid image, map;
};

struct sym_maps {
    struct fz_arena arena;
    struct link links[MAPS_MAX];
    struct entry maps[MAPS_MAX];
    size_t n_links, n_maps;
    struct sym_symbol_map given; /* for every slice; n = 0: none */
};

enum fz_code
sym_maps_create(size_t cap, struct sym_maps **ret, struct fz_error *err)
{
    struct sym_maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    fz_arena_init(&maps->arena, cap);
    *ret = maps;
    return FZ_OK;
}

void
sym_maps_destroy(struct sym_maps *maps)
{
    if (!maps)
        return;
    fz_arena_deinit(&maps->arena);
    free(maps);
}

void
sym_maps_destroyp(struct sym_maps **maps)
{
    sym_maps_destroy(*maps);
    *maps = NULL;
}

bool
sym_maps_wants(const char *name, struct fz_span head)
{
    struct fz_uuid uuid;
    return sym_symbol_map_has_magic(head) || sym_symbol_map_path_uuid(name, LINK_SUFFIX, &uuid);
}

enum fz_code
sym_maps_give(struct sym_maps *maps, struct fz_span bytes, struct fz_error *err)
{
    return sym_symbol_map_read(bytes, &maps->arena, &maps->given, err);
}

bool
sym_maps_is_given(const struct sym_maps *maps)
{
    return maps->given.n > 0;
}

static bool
add_map(struct sym_maps *maps, const char *name, struct fz_span bytes, struct fz_uuid *ret,
        struct sym_problems *problems)
{
    struct entry entry = {.is_used = false};
    struct fz_error why;
    if (!sym_symbol_map_path_uuid(name, MAP_SUFFIX, &entry.uuid)) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SYMBOL_MAP,
                        "%.*s: name it <UUID>.bcsymbolmap; the file itself does not say which "
                        "image it is for",
                        SHOWN_NAME, name);
        return false;
    }
    if (maps->n_maps == MAPS_MAX) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SYMBOL_MAP, "more than %d BCSymbolMaps",
                        MAPS_MAX);
        return false;
    }
    if (sym_symbol_map_read(bytes, &maps->arena, &entry.map, &why) != FZ_OK) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SYMBOL_MAP, "%.*s: %s", SHOWN_NAME, name,
                        why.text);
        return false;
    }
    maps->maps[maps->n_maps++] = entry;
    *ret = entry.uuid;
    return true;
}

bool
sym_maps_add(struct sym_maps *maps, const char *name, struct fz_span bytes,
             struct sym_map_file *ret, struct sym_problems *problems)
{
    struct link link;
    *ret = (struct sym_map_file){.is_map = sym_symbol_map_has_magic(bytes)};
    if (ret->is_map)
        return add_map(maps, name, bytes, &ret->uuid, problems);
    /* Every dSYM has property lists; one without DBGOriginalUUID is not about a map. */
    if (!sym_symbol_map_path_uuid(name, LINK_SUFFIX, &link.image) ||
        !sym_symbol_map_original(bytes, &link.map) || maps->n_links == MAPS_MAX)
        return false;
    maps->links[maps->n_links++] = link;
    ret->uuid = link.image;
    ret->map = link.map;
    return true;
}

struct fz_uuid
sym_maps_wanted(const struct sym_maps *maps, const struct fz_uuid *image)
{
    /* Without a property list the map has the UUID of the image. */
    struct fz_uuid wanted = *image;
    for (size_t i = 0; i < maps->n_links; i++) {
        if (fz_uuid_equal(&maps->links[i].image, image))
            wanted = maps->links[i].map;
    }
    return wanted;
}

const struct sym_symbol_map *
sym_maps_find(struct sym_maps *maps, const struct fz_uuid *image)
{
    /* A map that the user names has no file name to go by: it is for every image. */
    if (sym_maps_is_given(maps))
        return &maps->given;
    struct fz_uuid wanted = sym_maps_wanted(maps, image);
    for (size_t i = 0; i < maps->n_maps; i++) {
        if (fz_uuid_equal(&maps->maps[i].uuid, &wanted)) {
            /* For sym_maps_report_unused(). */
            maps->maps[i].is_used = true;
            return &maps->maps[i].map;
        }
    }
    return NULL;
}

void
sym_maps_report_unused(const struct sym_maps *maps, struct sym_problems *problems)
{
    for (size_t i = 0; i < maps->n_maps; i++) {
        char uuid[FZ_UUID_TEXT];
        if (maps->maps[i].is_used)
            continue;
        fz_uuid_format(&maps->maps[i].uuid, uuid);
        sym_problem_add(problems, SYM_PROBLEM_UNUSED_SYMBOL_MAP,
                        "no dSYM in this upload needs the BCSymbolMap %s; it is kept for one that "
                        "was or will be uploaded separately",
                        uuid);
    }
}
