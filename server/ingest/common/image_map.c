#include "server/ingest/common/image_map.h"

#include <stdlib.h>

enum { NOT_FOUND = -1, SLOTS_MIN = 16 };

/* The slot that holds the key, or the free one where it belongs. */
static struct ingest_image_slot *
slot_of(const struct ingest_image_map *map, const struct ingest_image_key *key)
{
    uint64_t hash;
    memcpy(&hash, key->uuid.bytes, sizeof(hash));
    hash = (hash ^ key->addr) * UINT64_C(0x9e3779b97f4a7c15);
    /* The product's upper half depends on all bits of the key; addresses differ in few of them. */
    size_t at = (size_t)(hash >> 32) & (map->n_slots - 1);
    while (map->slots[at].image && (map->slots[at].key.addr != key->addr ||
                                    !fz_uuid_equal(&map->slots[at].key.uuid, &key->uuid)))
        at = (at + 1) & (map->n_slots - 1);
    return &map->slots[at];
}

struct ingest_image_map
ingest_image_map_make(struct ingest_builder *b, bool by_addr)
{
    struct ingest_image_map map = {.b = b, .n_slots = SLOTS_MIN, .n_listed = b->report->n_images};
    /* It grows: slots for all that the limit allows are 256 KB, which would be cleared for each report. */
    while (map.n_slots <= map.n_listed * 2)
        map.n_slots *= 2;
    map.slots = ingest_alloc(b, map.n_slots, sizeof(*map.slots));
    for (size_t i = 0; by_addr && !b->failed && i < map.n_listed; i++) {
        struct ingest_image_key key = {.addr = b->report->images[i].addr};
        *slot_of(&map, &key) = (struct ingest_image_slot){key, (int)i + 1};
    }
    return map;
}

/* At most half of the slots are taken, so a search ends soon. */
static void
make_room(struct ingest_image_map *map)
{
    if (map->b->report->n_images * 2 < map->n_slots)
        return;
    struct ingest_image_map grown = *map;
    grown.n_slots *= 2;
    grown.slots = ingest_alloc(map->b, grown.n_slots, sizeof(*grown.slots));
    if (!grown.slots)
        return;
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->slots[i].image)
            *slot_of(&grown, &map->slots[i].key) = map->slots[i];
    }
    *map = grown;
}

int
ingest_image_map_find(const struct ingest_image_map *map, const struct ingest_image_key *key)
{
    return map->slots ? slot_of(map, key)->image - 1 : NOT_FOUND;
}

int
ingest_image_map_add(struct ingest_image_map *map, const struct ingest_image_key *key)
{
    make_room(map);
    /* The slots may be missing. */
    if (map->b->failed)
        return NOT_FOUND;
    struct ingest_image_slot *slot = slot_of(map, key);
    if (slot->image)
        return slot->image - 1;
    struct report_image image = {
        .uuid = key->uuid, .has_uuid = !fz_uuid_is_nil(&key->uuid), .addr = key->addr};
    int number = ingest_add_image(map->b, &image);
    if (number != NOT_FOUND)
        /* Only what the report has: an image beyond the limit is tried again with each frame. */
        *slot = (struct ingest_image_slot){*key, number + 1};
    else if (!map->b->failed && !map->is_cut)
        ingest_note(map->b, "images: more than %zu, frames in others are not named",
                    map->b->limits->images);
    map->is_cut = map->is_cut || number == NOT_FOUND;
    return number;
}

void
ingest_image_map_swap(struct ingest_image_map *map, int one, int other)
{
    struct report_image *images = map->b->report->images, image = images[one];
    images[one] = images[other];
    images[other] = image;
    for (size_t i = 0; i < map->n_slots; i++) {
        int *number = &map->slots[i].image;
        *number = *number == one + 1 ? other + 1 : *number == other + 1 ? one + 1 : *number;
    }
}

static int
by_addr(const void *a, const void *b)
{
    const struct report_image *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void
ingest_image_map_sort(struct ingest_image_map *map)
{
    struct report *r = map->b->report;
    if (r->n_images > map->n_listed)
        qsort(r->images + map->n_listed, r->n_images - map->n_listed, sizeof(*r->images), by_addr);
}
