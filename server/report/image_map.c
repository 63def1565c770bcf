#include "server/report/image_map.h"

#include <stdlib.h>

/* What an image of unknown size reaches at most: Mach-O's own offsets into an image are 32 bits. */
static const uint64_t REACH_MAX = UINT64_C(1) << 32;

int
report_image_at(const struct report *report, uint64_t addr)
{
    uint64_t nearest = 0; /* the highest start of any image at or below addr */
    int unsized = -1;     /* the image of unknown size that starts highest at or below addr */
    bool any = false;
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        /* An image without address and size is a name only, and would hold every address. */
        if (image->addr > addr || (image->addr == 0 && image->size == 0))
            continue;
        if (image->size) {
            /* The first one wins where ranges overlap; the order is the report's. */
            if (addr - image->addr < image->size)
                return (int)i;
        } else if (unsized < 0 || image->addr > report->images[unsized].addr) {
            unsized = (int)i;
        }
        if (!any || image->addr > nearest)
            nearest = image->addr;
        any = true;
    }
    /* An image of unknown size ends where the next one begins. */
    if (unsized < 0 || report->images[unsized].addr != nearest || addr - nearest >= REACH_MAX)
        return -1;
    return unsized;
}

static int
by_start(const void *a, const void *b)
{
    uint64_t left = ((const struct report_image_piece *)a)->start;
    uint64_t right = ((const struct report_image_piece *)b)->start;
    return left < right ? -1 : left > right;
}

enum fz_code
report_image_map_make(const struct report *report, struct fz_arena *arena,
                      struct report_image_map *ret, struct fz_error *err)
{
    struct report_image_map map = {.report = report};
    /* Each image begins and ends a piece, hence two for each. */
    map.pieces = fz_arena_array(arena, report->n_images, 2 * sizeof(*map.pieces));
    if (!map.pieces)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        uint64_t end;
        map.pieces[map.n++].start = image->addr;
        /* One that ends at the top of the address space ends no piece. */
        if (!__builtin_add_overflow(image->addr, image->size ? image->size : REACH_MAX, &end))
            map.pieces[map.n++].start = end;
    }
    if (map.n)
        qsort(map.pieces, map.n, sizeof(*map.pieces), by_start);
    *ret = map;
    return FZ_OK;
}

int
report_image_map_at(struct report_image_map *map, uint64_t addr)
{
    size_t low = 0, high = map->n; /* the first piece that begins after addr */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->pieces[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    /* Below the first image. */
    if (low == 0)
        return -1;
    struct report_image_piece *piece = &map->pieces[low - 1];
    if (!piece->asked) {
        piece->asked = true;
        piece->image = report_image_at(map->report, addr);
    }
    return piece->image;
}
