/*
 * The parts of the Symbolication API between symbolicate_v5.c (routes, who may ask),
 * batch.c (the request, and the report that it becomes) and answer.c.
 * Private to this folder.
 */
#ifndef CLIENTS_SYMBOLICATE_V5_H
#define CLIENTS_SYMBOLICATE_V5_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "server/api/api_client.h"
#include "server/process/limits.h"

/* The profiler asks for at most 10,000 frames at once, unless one module alone has more. */
enum { V5_JOBS_MAX = 256, V5_FRAMES_MAX = 65536 };

struct v5_module {
    const char *name, *id;
    size_t image; /* its number in the report; SIZE_MAX while it has no frame */
};

struct v5_job {
    struct v5_module *modules;
    size_t n_modules;
    const json_t *stacks; /* borrowed from the root */
};

struct v5_batch {
    json_t *root; /* owned */
    struct v5_job *jobs;
    size_t n_jobs;
    const struct v5_module **images; /* those with frames, in the order of the report */
    size_t n_images, n_frames;       /* of the report */
};

/* The request as jobs, in the arena; every frame is checked. The caller ends *ret with
 * clients_v5_end(), also after a failure. */
FZ_MUST_CHECK enum fz_code clients_v5_read(struct fz_span body, const struct limits *limits,
                                           struct fz_arena *arena, struct v5_batch *ret,
                                           struct fz_error *err);
void clients_v5_end(struct v5_batch *batch);

/* A frame of a checked request: its module (NULL: none) and offset. False if it is not one. */
bool clients_v5_frame(const struct v5_job *job, const json_t *pair, struct v5_module **ret_module,
                      uint64_t *ret_offset);
/* Is the frame in the report? Others cannot have a name. */
bool clients_v5_is_sent(const struct v5_module *module, uint64_t offset);

/* The native report of all frames. */
void clients_v5_report(const struct v5_batch *batch, const struct limits *limits,
                       struct fz_buffer *out);

/* The answer, with what the finished report knows; empty if no frame needs a name. */
FZ_MUST_CHECK enum fz_code clients_v5_answer(const struct v5_batch *batch, struct fz_span report,
                                             struct fz_arena *arena, struct fz_buffer *out,
                                             struct fz_error *err);

extern const struct api_routes clients_symbolicate_v5;

#endif
