/*
 * The parts of Apple's .ips, one file each. Private to this folder.
 */
#ifndef REPORT_RENDER_IPS_H
#define REPORT_RENDER_IPS_H

#include "server/report/extra.h"
#include "server/report/render_apple.h"

struct ips {
    struct json_write w;
    const struct report *r;
    const json_t *extra; /* NULL = none */
    size_t *places;      /* of the report's images in usedImages: placeholders lie between them */
    size_t n_places;     /* of all, with the placeholders that came */
    size_t nowhere;      /* the place of the placeholder for addresses in no image */
    bool outside;        /* a frame points at `nowhere` */
};

/* render_ips.c: was the report an .ips, so that its extras have the names of .ips? */
bool render_ips_is_ips(const struct report *r);

/* render_ips_crash.c: exception, termination, asi. */
void render_ips_crash(struct ips *ips);

/* render_ips_stacks.c: threads and lastExceptionBacktrace; sets ips->outside. */
void render_ips_stacks(struct ips *ips);

/* render_ips_images.c: where each image goes; NO_MEMORY. Then usedImages. */
FZ_MUST_CHECK enum fz_code render_ips_place_images(struct ips *ips, struct fz_error *err);
void render_ips_images(struct ips *ips);

#endif
