/*
 * GET /api/v1/events: what changes in a project, as server-sent events; docs/api/events.md is its contract.
 *
 * All streams together cost the watcher's thread and connection (api_watch.h): it reads what was counted of each project that
 * somebody watches, and wakes the streams. Between two messages a stream holds a socket and a few KB.
 */
#ifndef API_EVENTS_H
#define API_EVENTS_H

#include "server/api/api_client.h"

struct api_events; /* opaque */

FZ_MUST_CHECK enum fz_code api_events_create(struct api *api, struct api_events **ret,
                                             struct fz_error *err);
/* No stream is left. May be NULL. */
void api_events_destroy(struct api_events *events);

/* What is called, on any thread, when there is a new stream: it has the watcher look. Before the first request. */
void api_events_on_join(struct api_events *events, void (*call)(void *watcher), void *watcher);

/* Is there a stream? Any thread. */
bool api_events_is_watched(const struct api_events *events);
/* On the watcher's thread, several times a second while there are streams. `has_changed`: something may have been committed
 * since the last call. */
void api_events_look(struct api_events *events, struct store *store, bool has_changed);

FZ_MUST_CHECK enum fz_code api_events_get(struct api_call *call, struct fz_error *err);

#endif
