/*
 * The parts of Apple's .ips, one file each. Private to this folder.
 */
#ifndef REPORT_IPS_PARTS_H
#define REPORT_IPS_PARTS_H

#include "server/report/apple.h"
#include "server/report/extra.h"

struct report_ips {
    struct json_write w;
    const struct report *r;
    const json_t *extra; /* NULL = none */
    size_t *places;      /* of the report's images in usedImages: placeholders are between them */
    size_t n_places;     /* of all, with the placeholders that came */
    size_t nowhere;      /* the place of the placeholder for addresses in no image */
    bool outside;        /* a frame points at `nowhere` */
};

/* crash.c: exception, termination, asi. */
void report_ips_crash(struct report_ips *ips);

/* stacks.c: threads and lastExceptionBacktrace; sets ips->outside. */
void report_ips_stacks(struct report_ips *ips);

/* images.c: where each image goes; NO_MEMORY. Then usedImages. */
FZ_MUST_CHECK enum fz_code report_ips_place_images(struct report_ips *ips, struct fz_error *err);
void report_ips_images(struct report_ips *ips);

#endif
