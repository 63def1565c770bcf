/*
 * The outbox: what happened, and which of it is to be sent through which channel.
 *
 *   event     ── written in the transaction that causes it ──► due ── dispatch ──► deliveries
 *   delivery  ── waiting ──► leased ──► delivered, or waiting again, or failed
 *             ── held (the guard against storms) ──► part of a digest, which is a delivery itself
 *
 * At least once: a delivery whose sender is gone is claimed again when its lease is over, and all
 * attempts have the same message id. Nothing here is held while something is sent. A struct
 * store_duty makes one worker at a time do what is done for all. Conventions as in store.h.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "storage/store_channels.h"
#include "storage/store_query.h"

enum { STORE_MESSAGE_TEXT = 40 };

/* ---- events ---- */

struct store_event {
    int64_t project_id;
    enum store_event_kind kind;
    int64_t issue_id;    /* issues.id; 0 = none */
    int64_t channel_id;  /* CHANNEL_FAILING: that it is about; else 0 */
    int64_t due_ms;      /* not given to channels before; 0 = now */
    const char *version; /* "4.2 (421)"; NULL = none */
    const char *detail;  /* REGRESSED: the version of the fix; UNMUTED: why; NULL */
    const char *body;    /* JSON of server/alert; NULL: made of the issue when it is due */
    const char *const
        *marks;     /* reported once only: nothing happens if the project has all of them */
    size_t n_marks; /* 0 = always reported */
};
/* In a transaction of its own. *ret_is_new = false: the mark was there, or no channel is. */
FZ_MUST_CHECK enum fz_code store_event_raise(struct store *store, const struct store_event *event,
                                             bool *ret_is_new, struct fz_error *err);
/* Has the project this mark? */
FZ_MUST_CHECK enum fz_code store_event_is_marked(struct store *store, int64_t project_id,
                                                 const char *mark, bool *ret, struct fz_error *err);

struct store_event_due {
    int64_t id, at_ms, issue_id, channel_id;
    struct store_event event;
    const char *message, *project; /* project: its name */
};
/* Is there an event, a delivery or a digest that is due? Reads indexes only. */
struct store_outbox_work {
    bool has_events, has_deliveries, has_held, has_channels;
};
FZ_MUST_CHECK enum fz_code store_outbox_look(struct store *store, struct store_outbox_work *ret,
                                             struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_event_list_due(struct store *store, size_t max,
                                                struct fz_arena *arena,
                                                struct store_event_due **ret, size_t *ret_n,
                                                struct fz_error *err);

struct store_event_target {
    int64_t channel_id;
    bool is_held;
    int64_t free_at_ms, held_since_ms; /* of the channel from now on */
};
/* Store the event's body and a delivery for each target. `body` NULL: the event is dropped. Nothing
 * happens if the event was dispatched before. */
FZ_MUST_CHECK enum fz_code store_event_dispatch(struct store *store, int64_t event_id,
                                                const char *body,
                                                const struct store_event_target *targets, size_t n,
                                                struct fz_error *err);

/* What filters look at: a text or number of the issue or its newest report. */
struct store_event_fact {
    enum store_field field;
    const char *name, *text; /* name: of a tag */
    int64_t number;
};
/* What an event about an issue says. */
struct store_event_issue {
    int64_t number, merged_into; /* merged_into: 0 = it has its reports */
    const char *title, *kind, *assignee;
    int64_t state; /* enum store_issue_state */
    bool is_regressed, is_placeholder;
    int64_t first_ms, last_ms;
    uint64_t n_reports, n_users;
    const char *first_version, *last_version,
        *version; /* "4.2 (421)"; version: of the newest report */
    const struct store_event_fact *facts;
    size_t n_facts;
    struct fz_span stack; /* of the newest report, as struct store_grouping had it; may be empty */
    struct store_missing *missing; /* images without a symbol file of the newest report; some */
    size_t n_missing;
};
/* NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_event_issue_get(struct store *store, int64_t issue_id,
                                                 struct fz_arena *arena,
                                                 struct store_event_issue *ret,
                                                 struct fz_error *err);

/* ---- digests ---- */

struct store_held {
    enum store_event_kind kind;
    int64_t at_ms;
    const char *body; /* of the event */
};
struct store_held_list {
    struct store_held *shown;
    size_t n_shown;
    uint64_t n, n_by_kind[STORE_EVENT_KINDS];
    int64_t first_ms, last_id; /* last_id: for store_digest_add() */
};
/* What a channel holds. `shown` has at most `max`: new issues last, of which a storm mostly consists,
 * and otherwise the newest first. */
FZ_MUST_CHECK enum fz_code store_held_get(struct store *store, int64_t channel_id, size_t max,
                                          struct fz_arena *arena, struct store_held_list *ret,
                                          struct fz_error *err);
/* A digest of what is held up to last_id, due now. */
FZ_MUST_CHECK enum fz_code store_digest_add(struct store *store,
                                            const struct store_channel *channel, int64_t last_id,
                                            const char *body, struct fz_error *err);

/* ---- deliveries ---- */

/* Numbers are stored; WAITING and LEASED come first. */
enum store_delivery_state {
    STORE_DELIVERY_WAITING,
    STORE_DELIVERY_LEASED,
    STORE_DELIVERY_HELD,
    STORE_DELIVERY_DELIVERED,
    STORE_DELIVERY_FAILED,
    STORE_DELIVERY_DIGESTED, /* it is part of a digest */
    STORE_DELIVERY_PAUSED,   /* its channel is disabled */
    STORE_DELIVERY_STATES
};
/* "waiting", "delivered". */
const char *store_delivery_state_name(enum store_delivery_state state);

struct store_delivery {
    int64_t id, fence, event_id;
    unsigned n_attempts; /* that were made */
    unsigned n_tried;    /* of them, since it was sent again */
    enum store_event_kind kind;
    const char *message, *body;
    struct store_channel channel;
};
/*
 * Claim one that is due for lease_ms: of a channel that is enabled, may get something now, and has
 * no other delivery under way. *ret_found = false: there is none.
 */
FZ_MUST_CHECK enum fz_code store_delivery_claim(struct store *store, int64_t lease_ms,
                                                struct fz_arena *arena, struct store_delivery *ret,
                                                bool *ret_found, struct fz_error *err);

struct store_attempt {
    unsigned n; /* 1 for the first */
    int64_t at_ms, took_ms;
    const char *result; /* "answered", "refused", "failed", "invalid" */
    int status;         /* 0 = no answer */
    const char *error, *answer;
};
struct store_delivery_end {
    struct store_attempt attempt;    /* its n is set by storage */
    enum store_delivery_state state; /* WAITING: again at when_ms */
    int64_t when_ms;
    int64_t channel_from_ms; /* 0 = at once */
    const char *
        disable; /* why the channel is disabled now, unless it was changed since; NULL = it is not */
    const struct store_event *raised; /* an event that is caused by it; NULL */
};
/* CONFLICT: the lease was over, and another worker has it. */
FZ_MUST_CHECK enum fz_code store_delivery_finish(struct store *store,
                                                 const struct store_delivery *delivery,
                                                 const struct store_delivery_end *end,
                                                 struct fz_error *err);
/* Give it back, due at once, as if it had not been claimed. */
FZ_MUST_CHECK enum fz_code store_delivery_release(struct store *store,
                                                  const struct store_delivery *delivery,
                                                  struct fz_error *err);

struct store_delivery_row {
    int64_t id;
    enum store_event_kind kind;
    enum store_delivery_state state;
    const char *message;
    int64_t at_ms, due_ms, ended_ms; /* due 0: no attempt is due */
    struct store_attempt *attempts;
    size_t n_attempts;
};
/* Newest first; page->cursor as in struct store_page. NOT_FOUND: the channel. */
FZ_MUST_CHECK enum fz_code store_delivery_list(struct store *store, int64_t project_id,
                                               int64_t channel_id, struct store_page *page,
                                               struct fz_arena *arena,
                                               struct store_delivery_row **ret,
                                               struct fz_error *err);
/* Send it again, now, with all its attempts. NOT_FOUND: the channel has no such delivery. CONFLICT:
 * it is under way. */
FZ_MUST_CHECK enum fz_code store_delivery_resend(struct store *store, int64_t project_id,
                                                 int64_t channel_id, int64_t id,
                                                 struct fz_error *err);

/* ---- what one worker does for all ---- */

/* Take the duty `name` for `for_ms`, if no one has it. */
FZ_MUST_CHECK enum fz_code store_duty_take(struct store *store, const char *name, int64_t for_ms,
                                           bool *ret, struct fz_error *err);
/* Whoever has it keeps it for so long, unless it was given back for him. */
FZ_MUST_CHECK enum fz_code store_duty_keep(struct store *store, const char *name, int64_t for_ms,
                                           struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_duty_give_back(struct store *store, const char *name,
                                                struct fz_error *err);

/* Delete what ended 30 days ago, some of it; *ret_more: there may be more. */
FZ_MUST_CHECK enum fz_code store_outbox_sweep(struct store *store, bool *ret_more,
                                              struct fz_error *err);

#endif
