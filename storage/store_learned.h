/*
 * Names of the system's functions, learned from reports that brought them.
 *
 * A name belongs to the image's UUID and the offset of the function's start from the image's load
 * address. Where the function ends is unknown, so the name holds up to the last address for which a
 * report had it (`reach`), and never beyond the next known start. store_job_finish_report() stores
 * them. A connection belongs to one thread, as everywhere in storage.
 */
#ifndef STORE_LEARNED_H
#define STORE_LEARNED_H

#include "storage/store_jobs.h"

enum {
    STORE_LEARNED_ASK = 256,             /* offsets of one question */
    STORE_LEARNED_NAME = 1024,           /* bytes of a name */
    STORE_LEARNED_ROWS = 2 * 1000 * 1000 /* names that a project keeps */
};

/* Offsets of an image whose names are wanted. */
struct store_learned_question {
    struct fz_uuid uuid;
    const uint32_t *offsets;
    size_t n;
};

/* The names for these offsets of an image, at most STORE_LEARNED_ASK; ret[i].name stays NULL where
 * none is known. `project_id` 0: those that all projects share. LIMIT: too many. */
FZ_MUST_CHECK enum fz_code store_learned_find(struct store *store, int64_t project_id,
                                              const struct store_learned_question *question,
                                              struct fz_arena *arena, struct store_learned *ret,
                                              struct fz_error *err);

/* Of every project (and of those that are shared) keep the `max` names that reports brought last.
 * Deletes a bounded number at a time: *ret_n of them, 0 when there are no more than that. */
FZ_MUST_CHECK enum fz_code store_learned_trim(struct store *store, int64_t max, uint64_t *ret_n,
                                              struct fz_error *err);

#endif
