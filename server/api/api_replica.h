/*
 * The read replica: a standby of PostgreSQL that lists, searches and reports are read from, while it has what the reader must see.
 *
 * A thread compares, ten times a second, how far the primary had written its log with how far the standby has applied it. What
 * the primary had committed by a moment that the standby has got to can be read there. It is not used while it is away or more
 * than limit replica_lag_s late, nor for whoever has changed something since that moment (through this process), nor for a
 * project after an event about it was sent. All functions but start and stop: from any thread, and do nothing with NULL.
 */
#ifndef API_REPLICA_H
#define API_REPLICA_H

#include "server/api/api_object.h"

struct api_replica; /* opaque */

/* The replica need not answer yet. */
FZ_MUST_CHECK enum fz_code api_replica_start(struct api *api, struct api_replica **ret,
                                             struct fz_error *err);
void api_replica_stop(struct api_replica *replica);

/* A connection to the replica, for the time of one call; NULL: the database is to be asked. */
struct store *api_replica_get(struct api_replica *replica, const struct http_request *request);
/* `failed`: it did not answer; then it is left alone until the thread finds it in order. */
void api_replica_put(struct api_replica *replica, struct store *store, bool failed);

/* A sender (http_token_id(); 0: unknown) has changed something. */
void api_replica_changed_by(struct api_replica *replica, int64_t sender);
/* Others hear of a change in the project. */
void api_replica_changed_in(struct api_replica *replica, int64_t project_id);

/* For /healthz and /metrics. */
struct api_replica_state {
    bool is_used;      /* it is there, and not too late */
    const char *word;  /* "ok", "late", "away" */
    int64_t lag_ms;    /* since the moment that it has got to; -1: it was never there */
    uint64_t n_reads;  /* calls that it has answered */
    uint64_t n_passed; /* that could have been, and were answered by the database */
};
struct api_replica_state api_replica_state(struct api_replica *replica);

#endif
