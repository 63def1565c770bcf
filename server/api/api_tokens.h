/*
 * Everybody who may send requests (api_set.h), in memory, so that checking a token or a session
 * never waits for the database.
 *
 * One thread reads them again every half second; a token that was revoked, or a session that has ended, is refused at the latest
 * API_TOKENS_TRUST_MS later. A token that is not in the set may be new: its
 * request waits for the next reading, which all waiting requests share. The same thread is the
 * watchdog of the database: a reading that does not end means that the database hangs. Thread-safe.
 */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include "server/api/api_client.h"
#include "server/api/api_set.h"

enum { API_TOKENS_TRUST_MS = 3000, API_TOKENS_STUCK_MS = 1000 };

struct api_tokens; /* opaque */

/* Reads the set for the first time; fails as store_open() if that fails. */
FZ_MUST_CHECK enum fz_code api_tokens_start(const char *database_url,
                                            const struct store_web_limits *limits,
                                            struct api_tokens **ret, struct fz_error *err);
/* Ends the thread; waiters are called with UNAVAILABLE. */
void api_tokens_stop(struct api_tokens *tokens);

/* As api_set_find(). UNAVAILABLE: the set is too old to be trusted. */
FZ_MUST_CHECK enum fz_code api_tokens_find(struct api_tokens *tokens, const struct api_proof *proof,
                                           const char *project, struct api_grant *ret,
                                           struct fz_error *err);
/* As api_set_scopes() and api_set_session(). */
unsigned api_tokens_scopes(struct api_tokens *tokens, int64_t sender, int64_t project_id);
struct api_set_session api_tokens_session(struct api_tokens *tokens, const char *cookie);

/* The database has not answered for API_TOKENS_STUCK_MS. */
bool api_tokens_is_stuck(struct api_tokens *tokens);

/* A request that waits for a reading that begins after now. */
struct api_tokens_waiter {
    struct api_tokens_waiter *next; /* the set's */
    bool is_seen;                   /* the set's: the reading in progress counts for it */
    void (*done)(struct api_tokens_waiter *waiter, enum fz_code code, const struct fz_error *err);
};
/* `done` is called once, on the set's thread: FZ_OK, or why the set could not be read. `hurry`:
 * have it read now; otherwise the next regular time is early enough. */
void api_tokens_wait(struct api_tokens *tokens, bool hurry, struct api_tokens_waiter *waiter);

/* The same for a thread that may block. UNAVAILABLE after timeout_ms. */
FZ_MUST_CHECK enum fz_code api_tokens_read_now(struct api_tokens *tokens, int64_t timeout_ms,
                                               struct fz_error *err);

#endif
