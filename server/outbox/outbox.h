/*
 * The outbox at work: events become messages for channels, and are sent.
 *
 * Each worker has one thread for it, so that a receiver that hangs never delays a report. The thread
 * has a connection of its own, on which no transaction is open while something is sent. What is done
 * for all (events, digests, looking for urgent issues) one worker at a time does; deliveries are
 * shared by all. docs/alerts.md has the users' view, storage/store_outbox.h the states.
 */
#ifndef OUTBOX_H
#define OUTBOX_H

#include "server/alert/alert.h"
#include "server/process/limits.h"
#include "storage/store_outbox.h"

/* What holds for everything that a process sends. Texts are borrowed. */
struct outbox_setup {
    struct net_rules rules;
    struct net_mail_server mail;
    const char *server; /* how people reach the server, for links; NULL = no links */
    const char *from;   /* of mail; NULL or "" = no mail */
};

struct outbox_config {
    const char *database_url;
    const struct outbox_setup *setup;
    const struct limits *limits;
};

struct outbox; /* opaque */

/* Start the thread. It goes on whatever happens to the database; what fails is logged. */
FZ_MUST_CHECK enum fz_code outbox_start(const struct outbox_config *config, struct outbox **ret,
                                        struct fz_error *err);
/* End it. What is being sent is broken off, and sent by another worker. NULL is allowed. */
void outbox_stop(struct outbox *outbox);

/* ---- for the API ---- */

/* The kinds of both modules are the same in number and order. */
const char *outbox_kind_name(enum store_event_kind kind);

/* A stored channel as it is checked and sent to; in the arena. MALFORMED: its kind. */
FZ_MUST_CHECK enum fz_code outbox_channel(const struct store_channel *from, int64_t now_ms,
                                          struct fz_arena *arena, struct alert_channel *ret,
                                          struct fz_error *err);

/* Send a test message once, and say what came of it. `by`: who asked for it. */
FZ_MUST_CHECK enum fz_code outbox_test(const struct outbox_setup *setup,
                                       const struct store_channel *channel, const char *project,
                                       const char *by, struct net_outcome *ret,
                                       struct fz_error *err);
/* "answered", "invalid", "refused", "failed". */
const char *outbox_result_name(enum net_result result);

#endif
