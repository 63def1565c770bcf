/*
 * The parts of the outbox's thread: what one pass does. Each opens and ends its own transactions.
 */
#ifndef OUTBOX_PARTS_H
#define OUTBOX_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/outbox/outbox.h"

enum { OUTBOX_ARENA = 32 * 1024 * 1024 };

struct outbox {
    struct outbox_config config;
    struct outbox_setup setup; /* with is_cancelled */
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool is_stopping; /* also what breaks off a transfer */
    bool in_trouble;
    int64_t watched_ms; /* monotonic: when outbox_watch() was last tried */
};

/* outbox_dispatch.c: give the events that are due to channels, and make digests. */
FZ_MUST_CHECK enum fz_code outbox_dispatch(struct outbox *outbox, struct fz_error *err);
FZ_MUST_CHECK enum fz_code outbox_digest(struct outbox *outbox, struct fz_error *err);
/* outbox_deliver.c: send one that is due; *ret_any = false: there was none. */
FZ_MUST_CHECK enum fz_code outbox_deliver(struct outbox *outbox, bool *ret_any,
                                          struct fz_error *err);
/* outbox_watch.c: look for what no transaction causes. */
FZ_MUST_CHECK enum fz_code outbox_watch(struct outbox *outbox, struct fz_error *err);

/* outbox_event.c: an event about an issue. *ret_drop: it is not worth a message any more. */
struct outbox_fact_list {
    const struct store_event_fact *facts;
    size_t n;
};
FZ_MUST_CHECK enum fz_code outbox_event_make(struct store *store, const struct store_event_due *due,
                                             struct fz_arena *arena, struct alert_event *ret,
                                             struct outbox_fact_list *ret_facts, bool *ret_drop,
                                             struct fz_error *err);
/* Does the channel's filter let it pass? One that cannot be read any more does. */
FZ_MUST_CHECK enum fz_code outbox_filter_passes(const struct store_channel *channel,
                                                const struct outbox_fact_list *facts,
                                                int64_t now_ms, bool *ret, struct fz_error *err);

#endif
