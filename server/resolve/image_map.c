#include "server/resolve/image_map.h"

#include <stdlib.h>

/* An image of unknown size reaches at most so far (report_image_at()). */
static const uint64_t UNKNOWN_REACH = UINT64_C(1) << 32;

static int
by_start(const void *a, const void *b)
{
    uint64_t left = ((const struct resolve_image_piece *)a)->start;
    uint64_t right = ((const struct resolve_image_piece *)b)->start;
    return left < right ? -1 : left > right;
}

enum fz_code
resolve_image_map_make(const struct report *report, struct fz_arena *arena,
                       struct resolve_image_map *ret, struct fz_error *err)
{
    struct resolve_image_map map = {.report = report};
    map.pieces = fz_arena_array(arena, report->n_images, 2 * sizeof(*map.pieces));
    if (!map.pieces)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        uint64_t end;
        map.pieces[map.n++].start = image->addr;
        if (!__builtin_add_overflow(image->addr, image->size ? image->size : UNKNOWN_REACH, &end))
            map.pieces[map.n++].start = end;
    }
    if (map.n)
        qsort(map.pieces, map.n, sizeof(*map.pieces), by_start);
    *ret = map;
    return FZ_OK;
}

int
resolve_image_map_at(struct resolve_image_map *map, uint64_t addr)
{
    size_t low = 0, high = map->n; /* the first piece that begins after addr */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->pieces[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return -1;
    struct resolve_image_piece *piece = &map->pieces[low - 1];
    if (!piece->asked) {
        piece->asked = true;
        piece->image = report_image_at(map->report, addr);
    }
    return piece->image;
}
