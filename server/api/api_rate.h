/*
 * How many events each key has sent in the running minute.
 *
 * Thread-safe. Counts are this process's own; a table of fixed size, in which the key that was seen
 * last keeps a contested place.
 */
#ifndef API_RATE_H
#define API_RATE_H

#include "base/error.h"
#include <stdint.h>

struct api_rate; /* opaque */

/* `per_minute` 0: no limit. */
FZ_MUST_CHECK enum fz_code api_rate_create(unsigned per_minute, struct api_rate **ret,
                                           struct fz_error *err);
void api_rate_destroy(struct api_rate *rate);

/* Count one event; 0 if it is within the limit, else the seconds until the minute is over. now_ms
 * is monotonic. */
unsigned api_rate_count(struct api_rate *rate, int64_t token_id, int64_t now_ms);

#endif
