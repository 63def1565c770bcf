/*
 * Images that only frames name: which image of the report belongs to a load address or a UUID.
 *
 * Some formats have no list of images, or leave images out of it, but their frames say where their
 * image begins. A hash table finds the image again, so that each frame costs the same.
 */
#ifndef INGEST_COMMON_IMAGE_MAP_H
#define INGEST_COMMON_IMAGE_MAP_H

#include "server/ingest/common/builder.h"

/* What images are known by; the member that a format does not use stays zero. */
struct ingest_image_key {
    struct fz_uuid uuid;
    uint64_t addr;
};

struct ingest_image_map {
    struct ingest_builder *b;
    struct ingest_image_slot {
        struct ingest_image_key key;
        int image; /* number in the report + 1, 0 = free */
    } * slots;
    size_t n_slots;
    size_t n_listed; /* images that the report had already */
    bool is_cut;     /* an image was refused; that is noted once */
};

/* An empty map, `b` keeps it; with `by_addr` the images that the report lists are in it. */
struct ingest_image_map ingest_image_map_make(struct ingest_builder *b, bool by_addr);
/* The number of the key's image, -1 if it has none. */
int ingest_image_map_find(const struct ingest_image_map *map, const struct ingest_image_key *key);
/* The same; a new key gets a new image at the report's end, empty but for UUID and address. -1 beyond
 * the limit (noted) or when memory is out. */
int ingest_image_map_add(struct ingest_image_map *map, const struct ingest_image_key *key);
/* Exchange two images in the report and here. */
void ingest_image_map_swap(struct ingest_image_map *map, int one, int other);
/* Sort the images that are not listed by their address; the numbers of images change. */
void ingest_image_map_sort(struct ingest_image_map *map);

#endif
