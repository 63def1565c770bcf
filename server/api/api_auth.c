#include "server/api/api_auth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The table is bounded and set-associative: a full set gives up its oldest entry. An attacker with
 * many addresses can push entries out, and then gets 401 where it would have been 429. */
enum { SETS = 256, WAYS = 4, MINUTE_MS = 60000 };

/* The wrong tokens of one client. */
struct failures {
    struct http_address client;
    int64_t since_ms;  /* start of its minute */
    unsigned failures; /* 0: the entry is empty */
};

struct api_auth {
    pthread_mutex_t lock;
    unsigned failures_per_minute;
    struct failures entries[SETS][WAYS];
};

enum fz_code
api_auth_create(unsigned failures_per_minute, struct api_auth **ret, struct fz_error *err)
{
    struct api_auth *auth = calloc(1, sizeof(*auth));
    if (!auth)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&auth->lock, NULL);
    auth->failures_per_minute = failures_per_minute;
    *ret = auth;
    return FZ_OK;
}

void
api_auth_destroy(struct api_auth *auth)
{
    if (!auth)
        return;
    pthread_mutex_destroy(&auth->lock);
    free(auth);
}

/* FNV-1a; only spreads entries, nothing secret depends on it. */
static size_t
set_of(const struct http_address *client)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof(client->bytes); i++)
        hash = (hash ^ client->bytes[i]) * 16777619u;
    return (hash ^ hash >> 16) % SETS;
}

/* The entry of the client, or NULL and (if wanted) the entry to overwrite for it. */
static struct failures *
find_entry(struct api_auth *auth, const struct http_address *client, struct failures **ret_victim)
{
    struct failures *set = auth->entries[set_of(client)], *victim = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].failures && memcmp(&set[i].client, client, sizeof(*client)) == 0)
            return &set[i];
        if (!set[i].failures || (victim->failures && set[i].since_ms < victim->since_ms))
            victim = &set[i];
    }
    if (ret_victim)
        *ret_victim = victim;
    return NULL;
}

unsigned
api_auth_wait_s(struct api_auth *auth, const struct http_address *client, int64_t now_ms)
{
    unsigned seconds = 0;
    pthread_mutex_lock(&auth->lock);
    const struct failures *entry = find_entry(auth, client, NULL);
    if (entry && entry->failures >= auth->failures_per_minute &&
        now_ms - entry->since_ms < MINUTE_MS)
        seconds = (unsigned)((MINUTE_MS - (now_ms - entry->since_ms)) / 1000) + 1;
    pthread_mutex_unlock(&auth->lock);
    return seconds;
}

void
api_auth_failed(struct api_auth *auth, const struct http_address *client, int64_t now_ms)
{
    pthread_mutex_lock(&auth->lock);
    struct failures *victim = NULL, *entry = find_entry(auth, client, &victim);
    if (!entry || now_ms - entry->since_ms >= MINUTE_MS) {
        if (!entry)
            entry = victim;
        *entry = (struct failures){.client = *client, .since_ms = now_ms};
    }
    entry->failures++;
    pthread_mutex_unlock(&auth->lock);
}
