/*
 * Channels: where a project's alerts go, and of what.
 *
 * URLs and secrets are stored as they are, since messages are sent with them; what is shown of them
 * is the API's to decide. Conventions as in store.h.
 */
#ifndef STORE_CHANNELS_H
#define STORE_CHANNELS_H

#include "storage/store.h"

enum { STORE_CHANNELS_MAX = 50 }; /* of a project */

/* A secret that was replaced counts for this time. */
static const int64_t STORE_SECRET_OVERLAP_MS = INT64_C(24) * 3600 * 1000;

/* What happens. Numbers are stored: never change one. */
enum store_event_kind {
    STORE_EVENT_ISSUE_CREATED,
    STORE_EVENT_ISSUE_REGRESSED,
    STORE_EVENT_ISSUE_URGENT,
    STORE_EVENT_ISSUE_UNMUTED,
    STORE_EVENT_SYMBOLS_MISSING,
    STORE_EVENT_RELEASE_UNHEALTHY,
    STORE_EVENT_INGEST_LIMITED,
    STORE_EVENT_CHANNEL_FAILING,
    STORE_EVENT_DIGEST,
    STORE_EVENT_TEST,
    STORE_EVENT_KINDS
};

struct store_channel {
    int64_t id, project_id;
    const char *name, *kind, *target; /* target: a URL; of mail, addresses, one a line */
    const char *secret, *old_secret;  /* NULL = none; the old one counts until old_until_ms */
    int64_t old_until_ms;
    const char *filter; /* in the query language, "" = everything */
    unsigned events;    /* 1 << enum store_event_kind */
    unsigned per_hour, digest_s;
    int64_t created_ms;
    bool is_enabled;
    const char *why_disabled; /* NULL: by a user, or not at all */
    /* What the outbox keeps with it. */
    int64_t free_at_ms, held_since_ms; /* struct alert_storm */
    int64_t from_ms;                   /* nothing is sent before */
    uint64_t n_failed;                 /* attempts in succession */
    int64_t failing_ms;                /* since when; 0 = the last attempt succeeded */
    int64_t delivered_ms;              /* 0 = never */
};

/* Its name, kind, target, secret, filter, events, per_hour and digest_s count. LIMIT: the project
 * has STORE_CHANNELS_MAX. */
FZ_MUST_CHECK enum fz_code store_channel_add(struct store *store,
                                             const struct store_channel *channel, int64_t *ret_id,
                                             struct fz_error *err);
/* In the order in which they were made. project_id 0: those of all projects that are enabled. */
FZ_MUST_CHECK enum fz_code store_channel_list(struct store *store, int64_t project_id,
                                              struct fz_arena *arena, struct store_channel **ret,
                                              size_t *ret_n, struct fz_error *err);
/* NOT_FOUND: the project has no such channel. */
FZ_MUST_CHECK enum fz_code store_channel_get(struct store *store, int64_t project_id, int64_t id,
                                             struct fz_arena *arena, struct store_channel *ret,
                                             struct fz_error *err);
/* Store its name, target, filter, events, per_hour and digest_s. `sets_enabled`: and whether it is enabled; that it is forgets past
 * failures. Else this stays, since an attempt may just have disabled it. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_channel_change(struct store *store,
                                                const struct store_channel *channel,
                                                bool sets_enabled, struct fz_error *err);
/* The secret becomes the old one, which counts for STORE_SECRET_OVERLAP_MS more. *ret_until_ms: until
 * when. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_channel_rotate(struct store *store, int64_t project_id, int64_t id,
                                                const char *secret, int64_t *ret_until_ms,
                                                struct fz_error *err);
/* With all that was or is to be delivered through it. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_channel_delete(struct store *store, int64_t project_id, int64_t id,
                                                struct fz_error *err);

#endif
