#include "server/api/api_auth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Both tables are bounded and set-associative: a full set gives up its oldest entry. An attacker
 * with many addresses can push entries out, which costs a database look-up, not a wrong answer. */
enum { SETS = 256, WAYS = 4, MINUTE_MS = 60000, IP_TEXT = 48 };

struct entry {
    char key[FZ_SHA256_TEXT]; /* "" = empty */
    int64_t seen_ms;
    struct api_grant grant;
};

struct guesser {
    char ip[IP_TEXT]; /* "" = empty */
    int64_t since_ms; /* start of its minute */
    unsigned failures;
};

struct api_auth {
    pthread_mutex_t lock;
    unsigned failures_per_minute;
    struct entry entries[SETS][WAYS];
    struct guesser guessers[SETS][WAYS];
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

/* FNV-1a; only spreads entries, nothing secret rests on it. */
static size_t
set_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return (hash ^ hash >> 16) % SETS;
}

/* The entry of the key, or NULL and (if wanted) the entry to overwrite for it. */
static struct entry *
find_entry(struct api_auth *auth, const char *key, struct entry **ret_victim)
{
    struct entry *set = auth->entries[set_of(key)], *victim = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (strcmp(set[i].key, key) == 0)
            return &set[i];
        if (!set[i].key[0] || (victim->key[0] && set[i].seen_ms < victim->seen_ms))
            victim = &set[i];
    }
    if (ret_victim)
        *ret_victim = victim;
    return NULL;
}

enum api_auth_found
api_auth_find(struct api_auth *auth, const char key[FZ_SHA256_TEXT], int64_t now_ms,
              struct api_grant *ret)
{
    enum api_auth_found found = API_AUTH_UNKNOWN;
    pthread_mutex_lock(&auth->lock);
    const struct entry *entry = find_entry(auth, key, NULL);
    if (entry) {
        found = now_ms - entry->seen_ms <= API_AUTH_TRUST_MS ? API_AUTH_FRESH : API_AUTH_STALE;
        *ret = entry->grant;
    }
    pthread_mutex_unlock(&auth->lock);
    return found;
}

void
api_auth_remember(struct api_auth *auth, const char key[FZ_SHA256_TEXT], int64_t now_ms,
                  const struct api_grant *grant)
{
    pthread_mutex_lock(&auth->lock);
    struct entry *victim = NULL, *entry = find_entry(auth, key, &victim);
    if (!entry)
        entry = victim;
    memcpy(entry->key, key, sizeof(entry->key));
    entry->seen_ms = now_ms;
    entry->grant = *grant;
    pthread_mutex_unlock(&auth->lock);
}

void
api_auth_forget(struct api_auth *auth, const char key[FZ_SHA256_TEXT])
{
    pthread_mutex_lock(&auth->lock);
    struct entry *entry = find_entry(auth, key, NULL);
    if (entry)
        memset(entry, 0, sizeof(*entry));
    pthread_mutex_unlock(&auth->lock);
}

static struct guesser *
find_guesser(struct api_auth *auth, const char *ip, struct guesser **ret_victim)
{
    struct guesser *set = auth->guessers[set_of(ip)], *victim = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (strncmp(set[i].ip, ip, IP_TEXT - 1) == 0 && set[i].ip[0])
            return &set[i];
        if (!set[i].ip[0] || (victim->ip[0] && set[i].since_ms < victim->since_ms))
            victim = &set[i];
    }
    if (ret_victim)
        *ret_victim = victim;
    return NULL;
}

unsigned
api_auth_braked_s(struct api_auth *auth, const char *ip, int64_t now_ms)
{
    unsigned seconds = 0;
    pthread_mutex_lock(&auth->lock);
    const struct guesser *guesser = find_guesser(auth, ip, NULL);
    if (guesser && guesser->failures >= auth->failures_per_minute &&
        now_ms - guesser->since_ms < MINUTE_MS)
        seconds = (unsigned)((MINUTE_MS - (now_ms - guesser->since_ms)) / 1000) + 1;
    pthread_mutex_unlock(&auth->lock);
    return seconds;
}

void
api_auth_failed(struct api_auth *auth, const char *ip, int64_t now_ms)
{
    pthread_mutex_lock(&auth->lock);
    struct guesser *victim = NULL, *guesser = find_guesser(auth, ip, &victim);
    if (!guesser || now_ms - guesser->since_ms >= MINUTE_MS) {
        if (!guesser)
            guesser = victim;
        memset(guesser, 0, sizeof(*guesser));
        strncpy(guesser->ip, ip, IP_TEXT - 1);
        guesser->since_ms = now_ms;
    }
    guesser->failures++;
    pthread_mutex_unlock(&auth->lock);
}
