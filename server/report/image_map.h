/*
 * report_image_at() for many addresses: the same answers, each asked for once.
 *
 * The address space is cut at every place where the answer can change; between two cuts it is the
 * same for all addresses and remembered. A report of 512 threads, 1,024 frames and 4,096 images
 * would otherwise take ten seconds.
 */
#ifndef REPORT_IMAGE_MAP_H
#define REPORT_IMAGE_MAP_H

#include "base/arena.h"
#include "server/report/report.h"

struct report_image_piece {
    uint64_t start;
    int image; /* meaningful once asked */
    bool asked;
};

struct report_image_map {
    const struct report *report;       /* borrowed; its images must not change */
    struct report_image_piece *pieces; /* by start */
    size_t n;
};

/* LIMIT, NO_MEMORY: the arena. */
FZ_MUST_CHECK enum fz_code report_image_map_make(const struct report *report,
                                                 struct fz_arena *arena,
                                                 struct report_image_map *ret,
                                                 struct fz_error *err);
int report_image_map_at(struct report_image_map *map, uint64_t addr);

#endif
