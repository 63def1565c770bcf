/*
 * Events for the outbox, written in the transaction that causes them. Private to storage.
 *
 * While a project has no channel that is enabled, nothing is written.
 */
#ifndef STORE_EVENT_H
#define STORE_EVENT_H

#include "storage/store_outbox.h"
#include "storage/store_private.h"

/* Wait so long for the names of a new issue. */
static const int64_t STORE_EVENT_NAMES_MS = 10 * 60 * 1000;

/* Inside the transaction. */
FZ_MUST_CHECK enum fz_code store_event_add(struct sql *tx, const struct store_event *event,
                                           struct fz_error *err);
/* The issue has its names: what waited for them is due. */
FZ_MUST_CHECK enum fz_code store_event_named(struct sql *tx, int64_t issue_id,
                                             struct fz_error *err);

#endif
