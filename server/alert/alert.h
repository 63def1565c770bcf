/*
 * Alerts: what happened, as a message for a channel.
 *
 *   code = alert_render(&event, &channel, &sender, &arena, &message, err);
 *   alert_send(&message, &mail_server, &rules, &outcome);
 *   alert_next_attempt(&attempt, &next);                       (schedule.h)
 *
 * An event is stored as JSON by whoever causes it (alert_event_write) and read back for each attempt
 * (alert_event_read). Rendering is pure. An event has no place for values of variables, registers or
 * memory, so that no message has them. All texts of an event count as hostile: each is cleaned, cut
 * and escaped for its target (escape.h).
 */
#ifndef ALERT_H
#define ALERT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/net/net_mail.h"
#include "base/net/net_request.h"

/* ---- events ---- */

enum alert_kind {
    ALERT_ISSUE_CREATED,
    ALERT_ISSUE_REGRESSED,
    ALERT_ISSUE_URGENT,
    ALERT_ISSUE_UNMUTED,
    ALERT_SYMBOLS_MISSING,
    ALERT_RELEASE_UNHEALTHY,
    ALERT_INGEST_LIMITED,
    ALERT_CHANNEL_FAILING,
    ALERT_DIGEST,
    ALERT_TEST,
    ALERT_N_KINDS,
};

/* "issue.created", the `type` of a webhook. Static. */
const char *alert_kind_name(enum alert_kind kind);
bool alert_kind_parse(struct fz_span name, enum alert_kind *ret);

enum { ALERT_FRAMES_MAX = 10, ALERT_SYMBOLS_MAX = 20, ALERT_ITEMS_MAX = 20 };

struct alert_frame {
    const char *function, *module, *file; /* NULL: not known */
    uint64_t line;                        /* 0: not known */
};

/* A dSYM that is missing. */
struct alert_symbol {
    const char *name, *uuid, *arch;
};

struct alert_issue {
    uint64_t number; /* 0: the event has no issue */
    const char *title, *culprit;
    const struct alert_frame *frames; /* own frames first; ALERT_FRAMES_MAX are shown */
    size_t n_frames;
    uint64_t n_reports, n_users; /* n_users 0: not known */
    int64_t first_seen_ms, last_seen_ms;
    const char *first_version, *last_version;
    const char *resolved_in; /* regressed: the version it was resolved in */
    const char *reason;      /* unmuted: until what it was ignored: "reports", "users", "time",
                                "version" */
};

/* issue.urgent: what happened within the window before the event. */
struct alert_burst {
    int64_t window_s;
    uint64_t n_reports, n_users, n_sessions, n_crashed; /* n_sessions 0: the app sends none */
};

struct alert_release {
    int64_t since_ms;
    uint64_t n_sessions, n_crashed;
    unsigned threshold_ppm; /* crash-free sessions of a million, at least */
};

struct alert_limit {
    const char *name; /* "report_bytes_per_day" */
    uint64_t value;
    int64_t since_ms, until_ms; /* until: when it begins anew; 0: not known */
};

struct alert_trouble {
    const char *channel, *error;
    uint64_t n_attempts;
    int64_t since_ms;
    bool is_disabled;
};

/* One of the events that a digest collects. */
struct alert_item {
    enum alert_kind kind;
    int64_t time_ms;
    uint64_t number; /* of the issue; 0: none */
    const char *title, *version;
};

struct alert_event {
    enum alert_kind kind;
    const char
        *id; /* "msg_...": webhook-id and Message-ID, the same in all attempts; letters, digits,
                       '.', '-', '_' */
    int64_t time_ms;
    const char *project, *version; /* version: "4.2 (421)" that the event is about; NULL: none */
    const char *path;              /* at the server, "/issues/12?project=shop"; NULL: none */
    struct alert_issue issue;
    const struct alert_symbol *symbols; /* missing; also of issue.created */
    size_t n_symbols;
    uint64_t n_unlisted; /* further ones, which `symbols` does not have */
    uint64_t n_waiting;  /* reports that wait for them */
    struct alert_burst burst;
    struct alert_release release;
    struct alert_limit limit;
    struct alert_trouble trouble;
    const struct alert_item *items; /* digest: some */
    size_t n_items;
    uint64_t n_events;                 /* digest: all */
    uint64_t n_by_kind[ALERT_N_KINDS]; /* digest: of them, if that is known */
    int64_t since_ms; /* digest: the first one; symbols.missing: the first report */
    const char *by;   /* test: who asked for it */
};

/*
 * Append the event as JSON: {"type","timestamp","data"}, the body of a webhook. Under 20,000 bytes
 * whatever the event has: long texts are cut, and of long lists the first entries are written. With
 * a `server` ("https://crashes.example.com", or NULL) `data` has the link and `text`, one sentence.
 */
FZ_MUST_CHECK enum fz_code alert_event_write(const struct alert_event *event, const char *server,
                                             struct fz_buffer *out, struct fz_error *err);

/* Read it back; `id` is stored beside it. What has another shape than it was written is absent.
 * MALFORMED: not JSON, no known type. Texts are in the arena. */
FZ_MUST_CHECK enum fz_code alert_event_read(struct fz_span json, const char *id,
                                            struct fz_arena *arena, struct alert_event *ret,
                                            struct fz_error *err);

/* ---- channels ---- */

enum alert_channel_kind {
    ALERT_CHANNEL_WEBHOOK, /* Standard Webhooks */
    ALERT_CHANNEL_SLACK,
    ALERT_CHANNEL_MATTERMOST,
    ALERT_CHANNEL_DISCORD,
    ALERT_CHANNEL_TEAMS, /* a Workflows URL */
    ALERT_CHANNEL_MAIL,
    ALERT_CHANNEL_N_KINDS,
};

/* "webhook", "slack", "mattermost", "discord", "teams", "mail". Static. */
const char *alert_channel_kind_name(enum alert_channel_kind kind);
bool alert_channel_kind_parse(struct fz_span name, enum alert_channel_kind *ret);

enum { ALERT_SECRETS_MAX = 4 };

struct alert_channel {
    enum alert_channel_kind kind;
    const char *url;                        /* all but mail; a secret of most services */
    const char *secrets[ALERT_SECRETS_MAX]; /* webhook: "whsec_...", the newest first; more than one
                                               while the secret is rotated */
    size_t n_secrets;
    const char *const *to; /* mail */
    size_t n_to;
};

/* Before a channel is stored. MALFORMED, DENIED: texts for the user. */
FZ_MUST_CHECK enum fz_code alert_channel_check(const struct alert_channel *channel,
                                               const struct net_guard *guard, struct fz_error *err);

/* ---- messages ---- */

struct alert_sender {
    const char *server; /* how people reach it: "https://crashes.example.com"; NULL: no links */
    const char *from;   /* address of mails */
    int64_t now_ms;     /* of the attempt */
};

struct alert_message {
    bool is_mail;
    struct net_request request; /* all but mail */
    struct net_mail mail;
};

/* The message of an event; its memory is the arena's, and the event's and the channel's.
 * MALFORMED: the channel is not one. */
FZ_MUST_CHECK enum fz_code alert_render(const struct alert_event *event,
                                        const struct alert_channel *channel,
                                        const struct alert_sender *sender, struct fz_arena *arena,
                                        struct alert_message *ret, struct fz_error *err);

/* Send it once. `server` may be NULL where there is no mail. */
void alert_send(const struct alert_message *message, const struct net_mail_server *server,
                const struct net_rules *rules, struct net_outcome *ret);

#endif
