/*
 * The parts of a report that say which app crashed, when and of what.
 */
#ifndef FRAMEZERO_DESCRIBE_H
#define FRAMEZERO_DESCRIBE_H

#include "capture.h"

struct framezero_description {
    const struct framezero_crash *crash;
    const struct framezero_record *record;
    struct framezero_images *images; /* those of the throw are marked */
    unsigned crashed;                /* index of the thread */
    uint32_t privacy;
};

/* The members timestamp, started, arch, app, os, device and user. */
void framezero_describe_origin(const struct framezero_record *record, struct framezero_writer *w);

/* The member crash: signal, exception and codes, the name and reason of an uncaught exception. */
void framezero_describe_crash(const struct framezero_description *about,
                              struct framezero_writer *w);

#endif
