/*
 * When a delivery is attempted again, and when a channel gets a digest in place of single messages.
 *
 * Pure functions of what happened so far: the caller stores their results. Times are Unix
 * milliseconds.
 */
#ifndef ALERT_SCHEDULE_H
#define ALERT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/alert/alert.h"

/* ---- attempts ---- */

enum alert_verdict {
    ALERT_DELIVERED,
    ALERT_AGAIN,   /* attempt it again at when_ms */
    ALERT_GIVE_UP, /* this message cannot be delivered; others may */
    ALERT_DISABLE, /* nothing can be delivered through this channel any more: switch it off */
};

/* ALERT_ATTEMPTS_MAX attempts: at once, then after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, each
 * from the attempt before it (Standard Webhooks 1.0.0), 10 % earlier or later. */
enum { ALERT_ATTEMPTS_MAX = 10 };

struct alert_attempt {
    unsigned number; /* of the attempt that was made: 1 for the first */
    bool is_mail;
    const struct net_outcome *outcome;
    int64_t now_ms;
    uint32_t random; /* any number, for the jitter */
};

struct alert_next {
    enum alert_verdict verdict;
    int64_t when_ms;         /* ALERT_AGAIN: the next attempt */
    int64_t channel_from_ms; /* the receiver asks for less: no message of this channel before it; 0:
                                it does not */
    bool is_trouble;         /* people hear of it through another channel (channel.failing): after
                                about three hours, and when the channel is disabled */
};

/*
 * HTTP: 2xx is delivered, 410 disables the channel, everything else is attempted again; 429, 502, 503
 * and 504 slow the whole channel down. Retry-After is honoured up to a day. Mail: replies 550 to
 * 559, which are about the mail or its recipients, are given up. What cannot be sent at all
 * (NET_INVALID) disables the channel. After the last attempt the channel is disabled.
 */
void alert_next_attempt(const struct alert_attempt *attempt, struct alert_next *ret);

/* ---- storms ---- */

struct alert_storm_rules {
    unsigned per_hour;       /* single messages in any hour, at most; 0: no limit */
    int64_t digest_every_ms; /* a digest comes this long after the first message that it holds */
};

/* {30, 15 minutes} */
struct alert_storm_rules alert_storm_default(void);

/* Stored with the channel; zeros at first. */
struct alert_storm {
    int64_t free_at_ms;    /* see schedule.c */
    int64_t held_since_ms; /* 0: nothing waits for a digest */
};

/*
 * Is a message of this kind sent by itself? False: hold it for the digest. A third of per_hour may
 * come at once, the others evenly over the hour; while some are held, all are, so that they stay in
 * order. Except: issue.urgent does not wait for others, and a further third is reserved for it;
 * channel.failing, test and digest are always sent, and do not count.
 */
bool alert_storm_passes(const struct alert_storm_rules *rules, struct alert_storm *storm,
                        enum alert_kind kind, int64_t now_ms);

/* When the digest of what is held is due; 0: nothing is held. */
int64_t alert_storm_digest_ms(const struct alert_storm_rules *rules,
                              const struct alert_storm *storm, int64_t now_ms);

/* The digest was made: nothing is held. */
void alert_storm_digested(struct alert_storm *storm);

#endif
