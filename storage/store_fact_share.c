#include "storage/store_fact_share.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/platform.h"
#include "storage/store_fact_cache.h"
#include "storage/store_private.h"

/* Of fewer facts a list takes some 10 ms. */
enum { FACTS_MIN = 400000 };
/* What is counted, and what is counted next. */
enum { DAYS = 2 };

struct share {
    const struct store_counter *counter;
    struct store_fact_scan *scan;
    pthread_t thread;
    struct fz_platform_cores cores;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. The first n_lent days from `first` on, in a ring, are the thread's, the others the caller's. */
    size_t first, n_lent;
    bool has_ended; /* no day will come */
    struct store_fact_day lent[DAYS];
    void *other; /* owned */
    enum fz_code code;
    struct fz_error err;
};

void
store_set_share_from(struct store *store, uint64_t facts)
{
    store->share_from = facts;
}

static enum fz_code
count_day(struct share *share, struct store_fact_day *day)
{
    struct store_fact_batch batch;
    enum fz_code code = store_fact_scan_read(share->scan, day, &batch, &share->err);
    if (code == FZ_OK && batch.n)
        code = share->counter->count(share->other, &batch, &share->err);
    return code;
}

static void *
count_days(void *user)
{
    struct share *share = user;
    pthread_mutex_lock(&share->lock);
    while (!share->has_ended || share->n_lent) {
        if (!share->n_lent) {
            pthread_cond_wait(&share->changed, &share->lock);
            continue;
        }
        struct store_fact_day *day = &share->lent[share->first];
        pthread_mutex_unlock(&share->lock);
        if (share->code == FZ_OK)
            share->code = count_day(share, day);
        store_fact_day_drop(day);
        pthread_mutex_lock(&share->lock);
        share->first = (share->first + 1) % DAYS;
        share->n_lent--;
    }
    pthread_mutex_unlock(&share->lock);
    return NULL;
}

static void
destroy(struct share *share)
{
    for (int i = 0; i < DAYS; i++)
        store_fact_day_deinit(&share->lent[i]);
    share->counter->drop(share->other);
    pthread_cond_destroy(&share->changed);
    pthread_mutex_destroy(&share->lock);
    free(share);
}

/*
 * `*ret` is NULL where it is not worth it: of so few facts that a list is fast without it, which leaves the other cores to other
 * requests, or on one core.
 */
static enum fz_code
open_share(const struct store *store, const struct store_counter *counter,
           struct store_fact_scan *scan, struct share **ret, struct fz_error *err)
{
    uint64_t n_facts = store_fact_scan_expects(scan), from = store->share_from;
    bool is_worth_it = from ? n_facts >= from : fz_platform_n_cores() > 1 && n_facts >= FACTS_MIN;
    void *other = NULL;
    *ret = NULL;
    if (!is_worth_it)
        return FZ_OK;
    enum fz_code code = counter->make(counter->own, &other, err);
    struct share *share = code == FZ_OK ? calloc(1, sizeof(*share)) : NULL;
    if (!share) {
        counter->drop(other);
        return code == FZ_OK ? fz_fail(err, FZ_E_NO_MEMORY, "out of memory") : code;
    }
    share->counter = counter;
    share->scan = scan;
    share->other = other;
    pthread_mutex_init(&share->lock, NULL);
    pthread_cond_init(&share->changed, NULL);
    /* Without a thread it is slower, and right. */
    if (fz_platform_thread_beside(&share->thread, count_days, share, &share->cores) == 0)
        *ret = share;
    else
        destroy(share);
    return FZ_OK;
}

/* Lend the next day, if the other thread has few to do. */
static bool
lend(struct share *share, enum fz_code *code, struct fz_error *err)
{
    pthread_mutex_lock(&share->lock);
    struct store_fact_day *day = &share->lent[(share->first + share->n_lent) % DAYS];
    bool has_room = share->n_lent < DAYS;
    pthread_mutex_unlock(&share->lock);
    /* Without the lock: it may be a statement that begins to read rows. */
    bool is_lent = has_room && store_fact_scan_lend(share->scan, day, code, err);
    if (!is_lent)
        return false;
    pthread_mutex_lock(&share->lock);
    share->n_lent++;
    pthread_cond_signal(&share->changed);
    pthread_mutex_unlock(&share->lock);
    return true;
}

/* Also after a failure `code`, which it returns then. */
static enum fz_code
close_share(struct share *share, enum fz_code code, struct fz_error *err)
{
    if (!share)
        return code;
    pthread_mutex_lock(&share->lock);
    share->has_ended = true;
    pthread_cond_signal(&share->changed);
    pthread_mutex_unlock(&share->lock);
    pthread_join(share->thread, NULL);
    fz_platform_cores_back(&share->cores);
    if (code == FZ_OK && share->code != FZ_OK) {
        code = share->code;
        if (err)
            *err = share->err;
    }
    if (code == FZ_OK)
        code = share->counter->add(share->counter->own, share->other, err);
    destroy(share);
    return code;
}

enum fz_code
store_facts_count(const struct store_fact_query *facts, const struct store_fact_want *want,
                  const struct store_counter *counter, struct fz_error *err)
{
    struct store_fact_scan *scan = NULL;
    struct share *share = NULL;
    struct store_fact_batch batch;
    enum fz_code code = store_fact_scan_open(facts, want, &scan, err);
    if (code == FZ_OK)
        code = open_share(facts->store, counter, scan, &share, err);
    while (true) {
        if (share && lend(share, &code, err))
            continue;
        if (!store_fact_scan_next(scan, &batch, &code, err))
            break;
        code = counter->count(counter->own, &batch, err);
    }
    code = close_share(share, code, err);
    store_fact_scan_close(scan);
    return code;
}
