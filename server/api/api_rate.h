/*
 * How many requests, or wrong tokens, each sender has sent in its current minute.
 *
 * Thread-safe. Counts are this process's own. The table has a fixed size; with very many senders at
 * once the one whose minute began first loses its place, and starts anew.
 */
#ifndef API_RATE_H
#define API_RATE_H

#include "base/error.h"
#include "server/http/http.h"

struct api_rate; /* opaque */

/* Who sends what: a token or an address, and a kind of requests. Compared byte by byte. */
struct api_rate_key {
    uint64_t who[2];
    uint64_t kind;
};

struct api_rate_key api_rate_of_client(const struct http_request *request, uint64_t kind);

/* `per_minute` 0: no limit. */
FZ_MUST_CHECK enum fz_code api_rate_create(unsigned per_minute, struct api_rate **ret,
                                           struct fz_error *err);
void api_rate_destroy(struct api_rate *rate);

/* Count one request; 0 if it is within the limit, else the seconds until the minute is over. now_ms
 * is monotonic. */
unsigned api_rate_count(struct api_rate *rate, const struct api_rate_key *key, int64_t now_ms);
/* The same without counting. */
unsigned api_rate_wait_s(struct api_rate *rate, const struct api_rate_key *key, int64_t now_ms);

#endif
