/*
 * The children that `serve` has read what clients send: bodies are detected, checked and split in
 * them, never in the process that holds sockets, tokens and the database.
 *
 * A child reads the bodies of one project only, so that no body of another is in its memory when it
 * is taken over. Children are started when they are needed, and kept.
 */
#ifndef CHILDREN_INTAKE_H
#define CHILDREN_INTAKE_H

#include "base/arena.h"
#include "base/error.h"
#include "server/process/limits.h"
#include "server/process/metrics.h"
#include "server/protocol/intake.h"
#include "server/protocol/level.h"

struct children_intake; /* opaque; any thread */

/* Starts a child to see that it works, and logs how far it is locked in; those for requests are started later. `limits` and `metrics` (may be NULL) are borrowed. */
FZ_MUST_CHECK enum fz_code children_intake_create(const struct limits *limits,
                                                  struct metrics *metrics,
                                                  struct children_intake **ret,
                                                  struct fz_error *err);
/* No request may be running any more. */
void children_intake_destroy(struct children_intake *pool);

/* How far the children are locked in; false: the one that was asked has not started. */
bool children_intake_level(const struct children_intake *pool, struct proto_level *ret);

struct children_result {
    struct proto_intake found;
    struct fz_span made; /* the bodies that the child made, in the arena */
    bool is_unchecked;   /* the child died of the body, twice or of a limit: nothing was found */
};

/*
 * Have a child read `body`, which came for this project; request->len and body are filled in here.
 * MALFORMED, UNSUPPORTED, LIMIT: the child rejects it. UNAVAILABLE, NO_MEMORY: the system is short of
 * something, and the body is not to blame.
 */
FZ_MUST_CHECK enum fz_code children_intake_read(struct children_intake *pool, int64_t project_id,
                                                const struct proto_intake_request *request,
                                                struct fz_span body, struct fz_arena *arena,
                                                struct children_result *ret, struct fz_error *err);

/* The bytes of an item. */
struct fz_span children_item_body(const struct children_result *result,
                                  const struct proto_item *item, struct fz_span body);

#endif
