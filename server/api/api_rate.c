#include "server/api/api_rate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 1024, WAYS = 4 };

static const int64_t MINUTE_MS = 60 * 1000;

struct slot {
    struct api_rate_key key;
    int64_t started_ms;
    unsigned n; /* 0: the slot is empty */
};

struct api_rate {
    pthread_mutex_t lock;
    unsigned per_minute;
    struct slot slots[SETS][WAYS];
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

/* FNV-1a; only spreads the senders. */
static size_t
set_of(const struct api_rate_key *key)
{
    const uint8_t *bytes = (const uint8_t *)key;
    /* All of the key: one address may be in several kinds. */
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof(*key); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return (size_t)((hash ^ hash >> 32) % SETS);
}

struct api_rate_key
api_rate_of_client(const struct http_request *request, uint64_t kind)
{
    struct http_client client;
    struct api_rate_key key = {.kind = kind};
    http_request_client(request, &client);
    memcpy(key.who, client.key.bytes, sizeof(key.who));
    return key;
}

/* The sender's slot, whose minute may be over; NULL, and the one to overwrite for it. */
static struct slot *
find_slot(struct api_rate *rate, const struct api_rate_key *key, struct slot **ret_victim)
{
    /* A fixed table: senders, however many, take no memory. One that is pushed out starts a new
     * minute, so an attacker with many addresses gets 401 where it would have been 429. */
    struct slot *set = rate->slots[set_of(key)], *victim = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].n && memcmp(&set[i].key, key, sizeof(*key)) == 0)
            return &set[i];
        if (victim->n && (!set[i].n || set[i].started_ms < victim->started_ms))
            victim = &set[i];
    }
    *ret_victim = victim;
    return NULL;
}

static unsigned
wait_of(const struct api_rate *rate, const struct slot *slot, int64_t now_ms)
{
    int64_t left_ms = slot->started_ms + MINUTE_MS - now_ms;
    /* Rounded up: a client that came back too early would be refused again. */
    return slot->n >= rate->per_minute && left_ms > 0 ? (unsigned)((left_ms + 999) / 1000) : 0;
}

unsigned
api_rate_count(struct api_rate *rate, const struct api_rate_key *key, int64_t now_ms)
{
    if (rate->per_minute == 0)
        return 0;
    pthread_mutex_lock(&rate->lock);
    struct slot *victim = NULL, *slot = find_slot(rate, key, &victim);
    if (!slot || now_ms - slot->started_ms >= MINUTE_MS) {
        slot = slot ? slot : victim;
        /* A new minute, or a sender that takes the place of another. */
        *slot = (struct slot){.key = *key, .started_ms = now_ms};
    }
    unsigned wait_s = wait_of(rate, slot, now_ms);
    slot->n += wait_s == 0;
    pthread_mutex_unlock(&rate->lock);
    return wait_s;
}

unsigned
api_rate_wait_s(struct api_rate *rate, const struct api_rate_key *key, int64_t now_ms)
{
    pthread_mutex_lock(&rate->lock);
    struct slot *victim = NULL;
    const struct slot *slot = find_slot(rate, key, &victim);
    unsigned wait_s = slot ? wait_of(rate, slot, now_ms) : 0;
    pthread_mutex_unlock(&rate->lock);
    return wait_s;
}
