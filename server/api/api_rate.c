#include "server/api/api_rate.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 1024 };

static const int64_t MINUTE_MS = 60 * 1000;

struct api_rate {
    pthread_mutex_t lock;
    unsigned per_minute;
    struct slot {
        int64_t token_id, started_ms;
        unsigned n;
    } slots[SLOTS];
};

enum fz_code
api_rate_create(unsigned per_minute, struct api_rate **ret, struct fz_error *err)
{
    struct api_rate *rate = calloc(1, sizeof(*rate));
    if (!rate)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&rate->lock, NULL);
    rate->per_minute = per_minute;
    *ret = rate;
    return FZ_OK;
}

void
api_rate_destroy(struct api_rate *rate)
{
    if (!rate)
        return;
    pthread_mutex_destroy(&rate->lock);
    free(rate);
}

unsigned
api_rate_count(struct api_rate *rate, int64_t token_id, int64_t now_ms)
{
    if (rate->per_minute == 0)
        return 0;
    unsigned wait_s = 0;
    struct slot *slot = &rate->slots[(uint64_t)token_id % SLOTS];
    pthread_mutex_lock(&rate->lock);
    int64_t age_ms = now_ms - slot->started_ms;
    if (slot->token_id != token_id || slot->n == 0 || age_ms >= MINUTE_MS) {
        *slot = (struct slot){token_id, now_ms, 0};
        age_ms = 0;
    }
    if (slot->n >= rate->per_minute)
        wait_s = (unsigned)((MINUTE_MS - age_ms + 999) / 1000);
    else
        slot->n++;
    pthread_mutex_unlock(&rate->lock);
    return wait_s;
}
