#include "server/http/budget.h"

#include <stdlib.h>
#include <string.h>

/* All fields are guarded by the budget's lock. */
struct http_share {
    struct http_share *next;
    struct fz_ip key;
    bool is_token;
    unsigned n_holdings;
    uint64_t used;
};

void
http_budget_init(struct http_budget *budget, const char *name, uint64_t limit)
{
    memset(budget, 0, sizeof(*budget));
    budget->name = name;
    budget->limit = limit;
    pthread_mutex_init(&budget->lock, NULL);
}

void
http_budget_deinit(struct http_budget *budget)
{
    pthread_mutex_destroy(&budget->lock); /* without holdings there are no shares */
}

/* FNV-1a. */
static size_t
bucket_of(const struct fz_ip *key, bool is_token)
{
    /* Two seeds: a token and an address with the same bytes are in different buckets. */
    uint32_t hash = is_token ? 2166136261u : 84696351u;
    for (size_t i = 0; i < sizeof(key->bytes); i++)
        hash = (hash ^ key->bytes[i]) * 16777619u;
    return (hash ^ hash >> 16) % HTTP_BUDGET_BUCKETS;
}

/* Found or made; NULL: no memory. Under the lock. */
static struct http_share *
join_share(struct http_budget *budget, const struct fz_ip *key, bool is_token)
{
    struct http_share **at = &budget->shares[bucket_of(key, is_token)];
    for (; *at; at = &(*at)->next) {
        if ((*at)->is_token == is_token && memcmp(&(*at)->key, key, sizeof(*key)) == 0) {
            (*at)->n_holdings++;
            return *at;
        }
    }
    struct http_share *share = calloc(1, sizeof(*share));
    if (!share)
        return NULL;
    *share = (struct http_share){.key = *key, .is_token = is_token, .n_holdings = 1};
    *at = share;
    return share;
}

/* Under the lock. */
static void
leave_share(struct http_budget *budget, struct http_share *share)
{
    if (!share || --share->n_holdings > 0)
        return;
    struct http_share **at = &budget->shares[bucket_of(&share->key, share->is_token)];
    /* Buckets are short, so a link back in each share would not pay off. */
    while (*at != share)
        at = &(*at)->next;
    *at = share->next;
    free(share);
}

/* Under the lock. */
static bool
join(struct http_budget *budget, struct http_holding *holding, const struct http_client *client,
     int64_t token_id)
{
    struct fz_ip key = {{0}};
    /* A token has a key of the same form, so one table holds both kinds. */
    memcpy(key.bytes, &token_id, sizeof(token_id));
    holding->client = join_share(budget, &client->key, false);
    holding->token = token_id ? join_share(budget, &key, true) : NULL;
    if (holding->client && (holding->token || !token_id)) {
        holding->budget = budget;
        return true;
    }
    /* All or nothing: a holding with one share alone could not be given back. */
    leave_share(budget, holding->client);
    leave_share(budget, holding->token);
    holding->client = holding->token = NULL;
    return false;
}

/* Under the lock. */
static bool
is_over_share(const struct http_budget *budget, const struct http_holding *holding, uint64_t more)
{
    uint64_t limit = budget->limit, small = HTTP_BUDGET_SMALL;
    /* Of a small budget, many small holdings would fill the whole. */
    if (small > limit / 64)
        small = limit / 64;
    /* Shares matter only when it becomes tight: one sender alone may use half. */
    if (budget->used + more <= limit / 2)
        return false;
    /* A sender with a public key and many addresses must leave room for other tokens. */
    uint64_t of_token = holding->token ? holding->token->used + more : 0;
    if (of_token > limit - limit / 8)
        return true;
    if (holding->bytes + more <= small)
        return false;
    if (holding->client->used + more > limit / 4 || of_token > limit - limit / 4)
        return true;
    return of_token > limit / 2 && holding->client->used + more > limit / 16;
}

enum fz_code
http_budget_take(struct http_budget *budget, struct http_holding *holding,
                 const struct http_client *client, int64_t token_id, uint64_t more,
                 struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    pthread_mutex_lock(&budget->lock);
    if (!holding->budget && !join(budget, holding, client, token_id)) {
        code = FZ_E_NO_MEMORY;
    } else if (more > budget->limit - budget->used) {
        code = FZ_E_UNAVAILABLE;
    } else if (is_over_share(budget, holding, more)) {
        code = FZ_E_LIMIT;
    } else {
        budget->used += more;
        holding->bytes += more;
        holding->client->used += more;
        /* The token is charged besides its client, since it may come from many addresses. */
        if (holding->token)
            holding->token->used += more;
    }
    if (code != FZ_OK && holding->budget &&
        holding->bytes == 0) { /* it may try another budget next */
        leave_share(budget, holding->client);
        leave_share(budget, holding->token);
        *holding = (struct http_holding){0};
    }
    pthread_mutex_unlock(&budget->lock);
    if (code == FZ_E_UNAVAILABLE)
        return fz_fail(err, code, "the server is busy: all of limit %s is in use", budget->name);
    if (code == FZ_E_LIMIT)
        return fz_fail(err, code, "%s or its token has its share of limit %s in use", client->text,
                       budget->name);
    return code != FZ_OK ? fz_fail(err, code, "out of memory") : FZ_OK;
}

/* Under the lock. */
static void
give(struct http_holding *holding, uint64_t less)
{
    holding->budget->used -= less;
    holding->bytes -= less;
    holding->client->used -= less;
    if (holding->token)
        holding->token->used -= less;
}

void
http_budget_give(struct http_holding *holding, uint64_t less)
{
    struct http_budget *budget = holding->budget;
    if (!budget || !less)
        return;
    pthread_mutex_lock(&budget->lock);
    give(holding, less);
    pthread_mutex_unlock(&budget->lock);
}

void
http_budget_release(struct http_holding *holding)
{
    struct http_budget *budget = holding->budget;
    if (!budget)
        return;
    pthread_mutex_lock(&budget->lock);
    give(holding, holding->bytes);
    leave_share(budget, holding->client);
    leave_share(budget, holding->token);
    pthread_mutex_unlock(&budget->lock);
    *holding = (struct http_holding){0};
}
