#include "storage/store_tally_share.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "storage/store_fact_cache.h"
#include "storage/store_private.h"

/* Of fewer facts a list takes some 30 ms. */
enum { FACTS_MIN = 400000 };
/* What is counted, and what is counted next. */
enum { BATCHES = 2 };

struct store_tally_share {
    struct store_tally *tally;
    struct store_fact_scan *scan;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. The first n_lent batches from `first` on, in a ring, are the thread's, the others the caller's. */
    size_t first, n_lent;
    bool has_ended; /* no batch will come */
    struct store_fact_lent lent[BATCHES];
    struct store_tally other; /* its issues, sums and users are its own; the rest is only read */
    enum fz_code code;
    struct fz_error err;
};

void
store_set_share_from(struct store *store, uint64_t facts)
{
    store->share_from = facts;
}

/* Let go of the batch. */
static void
drop_lent(struct store_fact_lent *lent)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++) {
        store_fact_kept_drop(lent->kept[i]);
        lent->kept[i] = NULL;
    }
}

static void *
count_batches(void *user)
{
    struct store_tally_share *share = user;
    pthread_mutex_lock(&share->lock);
    while (!share->has_ended || share->n_lent) {
        if (!share->n_lent) {
            pthread_cond_wait(&share->changed, &share->lock);
            continue;
        }
        struct store_fact_lent *lent = &share->lent[share->first];
        pthread_mutex_unlock(&share->lock);
        if (share->code == FZ_OK)
            share->code = store_tally_count(&share->other, &lent->batch, &share->err);
        drop_lent(lent);
        pthread_mutex_lock(&share->lock);
        share->first = (share->first + 1) % BATCHES;
        share->n_lent--;
    }
    pthread_mutex_unlock(&share->lock);
    return NULL;
}

static void
destroy(struct store_tally_share *share)
{
    for (int i = 0; i < BATCHES; i++) {
        drop_lent(&share->lent[i]);
        free(share->lent[i].at);
    }
    store_distinct_deinit(&share->other.users);
    fz_platform_large_drop(share->other.issues, share->tally->n * sizeof(*share->other.issues));
    free(share->other.sums);
    pthread_cond_destroy(&share->changed);
    pthread_mutex_destroy(&share->lock);
    free(share);
}

static enum fz_code
make_other(struct store_tally_share *share, struct fz_error *err)
{
    const struct store_tally *tally = share->tally;
    struct store_tally *other = &share->other;
    *other = *tally;
    enum fz_code code = store_distinct_like(&tally->users, &other->users, err);
    /* Half a megabyte of each thousand issues that there are. */
    other->issues = fz_platform_large(tally->n * sizeof(*other->issues));
    other->sums = calloc(tally->n + 1, sizeof(*other->sums));
    if (code != FZ_OK || !other->issues || !other->sums)
        return code == FZ_OK ? fz_fail(err, FZ_E_NO_MEMORY, "out of memory") : code;
    memcpy(other->sums, tally->sums, tally->n * sizeof(*other->sums));
    return FZ_OK;
}

/*
 * After store_tally_count_expect(). `*ret` is NULL where it is not worth it: of so few facts that a list is fast without it, which
 * leaves the other cores to other requests, or on one core.
 */
static enum fz_code
open_share(struct store_tally *tally, struct store_fact_scan *scan, uint64_t n_facts,
           struct store_tally_share **ret, struct fz_error *err)
{
    uint64_t from = tally->store->share_from;
    bool is_worth_it = from ? n_facts >= from : fz_platform_n_cores() > 1 && n_facts >= FACTS_MIN;
    *ret = NULL;
    if (!is_worth_it)
        return FZ_OK;
    struct store_tally_share *share = calloc(1, sizeof(*share));
    if (!share)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    share->tally = tally;
    share->scan = scan;
    pthread_mutex_init(&share->lock, NULL);
    pthread_cond_init(&share->changed, NULL);
    enum fz_code code = make_other(share, err);
    /* Without a thread it is slower, and right. */
    if (code == FZ_OK && fz_platform_thread(&share->thread, count_batches, share) == 0)
        *ret = share;
    else
        destroy(share);
    return code;
}

/* `batch` is the last one of the scan. */
static enum fz_code
count_shared(struct store_tally_share *share, const struct store_fact_batch *batch,
             struct fz_error *err)
{
    pthread_mutex_lock(&share->lock);
    bool is_lent = share->n_lent < BATCHES &&
                   store_fact_scan_lend(share->scan, batch,
                                        &share->lent[(share->first + share->n_lent) % BATCHES]);
    share->n_lent += is_lent;
    if (is_lent)
        pthread_cond_signal(&share->changed);
    pthread_mutex_unlock(&share->lock);
    return is_lent ? FZ_OK : store_tally_count(share->tally, batch, err);
}

/* Also after a failure `code`, which it returns then. */
static enum fz_code
close_share(struct store_tally_share *share, enum fz_code code, struct fz_error *err)
{
    if (!share)
        return code;
    pthread_mutex_lock(&share->lock);
    share->has_ended = true;
    pthread_cond_signal(&share->changed);
    pthread_mutex_unlock(&share->lock);
    pthread_join(share->thread, NULL);
    if (code == FZ_OK && share->code != FZ_OK) {
        code = share->code;
        if (err)
            *err = share->err;
    }
    if (code == FZ_OK)
        code = store_tally_count_add(share->tally, &share->other, err);
    destroy(share);
    return code;
}

enum fz_code
store_tally_facts(struct store_tally *tally, const struct store_fact_query *facts,
                  struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_USER,
                                                     STORE_FACT_VERSION, STORE_FACT_RECEIVED};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    struct store_fact_scan *scan = NULL;
    struct store_tally_share *share = NULL;
    struct store_fact_batch batch;
    enum fz_code code = store_tally_count_start(tally, err);
    if (code == FZ_OK && facts->is_empty)
        return store_tally_count_end(tally, err);
    if (code == FZ_OK)
        code = store_fact_scan_open(facts, &want, &scan, err);
    uint64_t n_facts = code == FZ_OK ? store_fact_scan_expects(scan) : 0;
    for (bool is_first = true; store_fact_scan_next(scan, &batch, &code, err); is_first = false) {
        if (is_first)
            code = store_tally_count_expect(tally, n_facts, &batch, err);
        if (code == FZ_OK && is_first)
            code = open_share(tally, scan, n_facts, &share, err);
        if (code == FZ_OK)
            code = share ? count_shared(share, &batch, err) : store_tally_count(tally, &batch, err);
    }
    code = close_share(share, code, err);
    store_fact_scan_close(scan);
    return code == FZ_OK ? store_tally_count_end(tally, err) : code;
}
