/*
 * The parts of a MetricKit diagnostic, one file each. Private to this folder.
 */
#ifndef INGEST_APPLE_METRICKIT_H
#define INGEST_APPLE_METRICKIT_H

#include "server/ingest/common/image_map.h"
#include "server/ingest/common/json_member.h"

/* metrickit_about.c: diagnosticMetaData. */
void ingest_metrickit_read_about(struct ingest_builder *b, const json_t *meta);

enum ingest_metrickit_stacks {
    METRICKIT_OF_CRASH,  /* a stack is one thread */
    METRICKIT_SAMPLED,   /* trees of samples: hangs, CPU, disk writes, launches */
    METRICKIT_BY_LOOKING /* sampled if they branch */
};

/* metrickit_stacks.c: "callStacks" into b->report: threads, and images made of the frames
 * (MetricKit has no list of them). Each path from a root of a tree to a leaf becomes a thread. */
void ingest_metrickit_read_stacks(struct ingest_builder *b, const json_t *stacks,
                                  enum ingest_metrickit_stacks kind);

/* metrickit_images.c: the images, the app's own one first. `numbers` below count in
 * report->images. */
struct ingest_image_map ingest_metrickit_images_make(struct ingest_builder *b,
                                                     const json_t *stacks);
/* The image of a frame and the frame's offset in it; -1 if it has no image. */
int ingest_metrickit_image_of(const struct ingest_image_map *images, const json_t *frame,
                              uint64_t *ret_offset);

/* The frames below a frame: its one subFrame, or what it branches into; NULL for a leaf. */
const json_t *ingest_metrickit_below(const json_t *frame);

/* Is the frame in code where threads begin (dyld, libsystem_pthread)? */
bool ingest_metrickit_is_thread_start(const json_t *frame);

#endif
