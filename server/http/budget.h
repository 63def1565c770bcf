/*
 * Budgets: how much memory or disk all requests together may hold, and how much of it one caller.
 *
 * A caller is a client (its address) and, once it is known, a token. While half of a budget is
 * free, anybody may have it. Beyond that one client gets no more than a quarter of the whole, and
 * one token no more than half through clients that hold much already, and three quarters in all, so
 * that whoever fills a budget leaves room for the others. Small holdings only count in the sum and
 * for their token, which may have seven eighths with them. Thread-safe.
 */
#ifndef HTTP_BUDGET_H
#define HTTP_BUDGET_H

#include <pthread.h>

#include "server/http/client.h"

enum {
    HTTP_BUDGET_BUCKETS = 256,
    HTTP_BUDGET_SMALL = 64 * 1024, /* a holding up to this size does not count as a share */
};

struct http_share; /* opaque: what one caller holds */

struct http_budget {
    const char *name; /* of the limit */
    uint64_t limit;
    pthread_mutex_t lock;
    uint64_t used;
    struct http_share *shares[HTTP_BUDGET_BUCKETS];
};

void http_budget_init(struct http_budget *budget, const char *name, uint64_t limit);
void http_budget_deinit(struct http_budget *budget);

/* What one request holds of one budget. */
struct http_holding {
    struct http_budget *budget; /* NULL: none yet */
    struct http_share *client, *token;
    uint64_t bytes;
};

/* Take `more` bytes for the client and the token (0: unknown), the same ones in each call for a
 * holding. LIMIT: its callers have their share; UNAVAILABLE: the budget is used up; the message
 * names the limit. */
FZ_MUST_CHECK enum fz_code http_budget_take(struct http_budget *budget,
                                            struct http_holding *holding,
                                            const struct http_client *client, int64_t token_id,
                                            uint64_t more, struct fz_error *err);
/* Give some of it back, or all. */
void http_budget_give(struct http_holding *holding, uint64_t less);
void http_budget_release(struct http_holding *holding);

#endif
