/*
 * Channels, events and deliveries in the cases of the contract.
 */
#ifndef OUTBOX_CASE_H
#define OUTBOX_CASE_H

#include "contract.h"

#include "storage/store_outbox.h"

/* A webhook of all events. */
int64_t outbox_channel(struct contract *c, int64_t project);
struct store_channel outbox_channel_of(struct contract *c, int64_t id);
/* False: the mark (may be NULL) was there, or no channel is. */
bool outbox_raise_kind(struct contract *c, int64_t project, enum store_event_kind kind,
                       const char *mark);
bool outbox_raise(struct contract *c, int64_t project, const char *mark);
/* Events that are due; how many. */
size_t outbox_due(struct contract *c, struct store_event_due **ret);
/* Give every event that is due to the channel. */
void outbox_dispatch(struct contract *c, int64_t channel_id, bool is_held);
bool outbox_claim(struct contract *c, struct store *store, struct store_delivery *ret);
struct store_delivery_end outbox_end(enum store_delivery_state state);
/* Deliveries of the channel; how many. */
size_t outbox_log(struct contract *c, int64_t channel_id, struct store_delivery_row **ret);

#endif
