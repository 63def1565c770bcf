#include "storage/store_committer.h"

#include <pthread.h>
#include <stdlib.h>

#include "storage/store_dictionary.h"
#include "storage/store_private.h"

/* What one commit takes, and what may wait for it. */
enum { BATCH_ITEMS = 256, WAITING_ITEMS = 16384 };
static const size_t BATCH_BYTES = 8 * 1024 * 1024, WAITING_BYTES = 64 * 1024 * 1024;

struct waiting {
    struct waiting *next;
    struct store_packed packed;
    store_commit_fn done;
    void *user;
};

struct store_committer {
    struct store *store; /* the thread's, once it runs */
    pthread_t thread;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    struct waiting *first, **last;
    size_t n_waiting, waiting_bytes; /* with what is being committed */
    bool stop;
    struct store_committer_stats stats;
};

struct batch {
    struct waiting *nodes[BATCH_ITEMS];
    struct store_packed packed[BATCH_ITEMS];
    size_t n, bytes;
};

/* ---- the thread ---- */

/* Wait for work and take as much of it as one commit should hold; at least one item. False: nothing
 * is left and the thread is to end. */
static bool
take_batch(struct store_committer *committer, struct batch *batch)
{
    batch->n = 0;
    batch->bytes = 0;
    pthread_mutex_lock(&committer->lock);
    while (!committer->first && !committer->stop)
        /* No timeout: whatever came while a batch was committed is the next batch, which is why
         * batches grow under load. */
        pthread_cond_wait(&committer->wake, &committer->lock);
    while (committer->first && batch->n < BATCH_ITEMS) {
        struct waiting *node = committer->first;
        /* A single report larger than a batch is committed alone. */
        if (batch->n && batch->bytes + node->packed.body_len > BATCH_BYTES)
            break;
        committer->first = node->next;
        if (!committer->first)
            committer->last = &committer->first;
        batch->bytes += node->packed.body_len;
        /* Copied, since the insertion takes them as one array. */
        batch->packed[batch->n] = node->packed;
        batch->nodes[batch->n++] = node;
    }
    pthread_mutex_unlock(&committer->lock);
    return batch->n > 0;
}

static void
finish(struct waiting *node, enum fz_code code, const char *text)
{
    node->done(node->user, node->packed.item, code, text);
    free(node->packed.body);
    free(node);
}

/* The result of an item of a batch that is on disk. */
static void
finish_committed(struct waiting *node)
{
    enum fz_code code = node->packed.item->code;
    const char *text = "";
    if (code == FZ_E_MALFORMED)
        text = "the report's id, hash or format is not usable";
    else if (code == FZ_E_NOT_FOUND)
        text = "there is no such project";
    else if (code != FZ_OK)
        text = "there is a report with this id already";
    finish(node, code, text);
}

static struct store_dictionary_key
key_of(const struct store_report_new *item)
{
    return (struct store_dictionary_key){item->project_id, item->format, STORE_DICTIONARY_BODY};
}

/* Callers take the dictionaries that are in memory; here is the connection that loads them. */
static void
look_for_dictionaries(struct store *store, const struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct store_dictionary_key key = key_of(batch->packed[i].item);
        store_dictionary_release(store_dictionary_newest(store, &key));
    }
}

/* One transaction for all; if it fails for another reason than the state of the database, one each,
 * so that an item that cannot be stored does not take the others with it. Returns the number of
 * failed ones. */
static size_t
commit_batch(struct store *store, struct batch *batch, size_t *ret_commits)
{
    struct fz_error err = {0};
    enum fz_code code = store_report_insert_packed(store, batch->packed, batch->n, &err);
    if (code == FZ_E_UNAVAILABLE) {
        /* Perhaps only an idle connection that was cut. Storing twice is harmless: the second time
         * they are duplicates of themselves. */
        code = store_report_insert_packed(store, batch->packed, batch->n, &err);
    }
    *ret_commits = 1;
    if (code == FZ_OK) {
        for (size_t i = 0; i < batch->n; i++)
            finish_committed(batch->nodes[i]);
        return 0;
    }
    /* The whole batch was rolled back, so each item can be stored again. */
    /* If the database is gone, each item would wait for it again. */
    bool each = code != FZ_E_UNAVAILABLE && batch->n > 1;
    size_t n_failed = 0;
    *ret_commits = 0;
    for (size_t i = 0; i < batch->n; i++) {
        if (each)
            code = store_report_insert_packed(store, &batch->packed[i], 1, &err);
        if (code == FZ_OK) {
            ++*ret_commits;
            finish_committed(batch->nodes[i]);
        } else {
            n_failed++;
            /* The sender gets 503 or 500 and keeps its report. */
            finish(batch->nodes[i], code, err.text);
        }
    }
    return n_failed;
}

static void *
run(void *user)
{
    struct store_committer *committer = user;
    struct batch batch;
    while (take_batch(committer, &batch)) {
        size_t n_commits = 0;
        look_for_dictionaries(committer->store, &batch);
        size_t n_failed = commit_batch(committer->store, &batch, &n_commits);
        pthread_mutex_lock(&committer->lock);
        /* Only now: what is being committed counts as waiting, or memory would have no limit. */
        committer->n_waiting -= batch.n;
        committer->waiting_bytes -= batch.bytes;
        committer->stats.n_commits += n_commits;
        committer->stats.n_items += batch.n - n_failed;
        committer->stats.n_failures += n_failed;
        pthread_mutex_unlock(&committer->lock);
    }
    return NULL;
}

/* ---- its callers ---- */

enum fz_code
store_committer_start(const char *database_url, struct store_committer **ret, struct fz_error *err)
{
    struct store_committer *committer = calloc(1, sizeof(*committer));
    if (!committer)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    committer->last = &committer->first;
    enum fz_code code = store_open(database_url, &committer->store, err);
    if (code != FZ_OK) {
        free(committer);
        return code;
    }
    pthread_mutex_init(&committer->lock, NULL);
    pthread_cond_init(&committer->wake, NULL);
    if (pthread_create(&committer->thread, NULL, run, committer) != 0) {
        pthread_cond_destroy(&committer->wake);
        pthread_mutex_destroy(&committer->lock);
        store_close(committer->store);
        free(committer);
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start the thread that commits");
    }
    *ret = committer;
    return FZ_OK;
}

void
store_committer_stop(struct store_committer *committer)
{
    if (!committer)
        return;
    pthread_mutex_lock(&committer->lock);
    committer->stop = true;
    pthread_cond_signal(&committer->wake);
    pthread_mutex_unlock(&committer->lock);
    /* The thread commits all that is waiting before it ends. */
    pthread_join(committer->thread, NULL);
    pthread_cond_destroy(&committer->wake);
    pthread_mutex_destroy(&committer->lock);
    store_close(committer->store);
    free(committer);
}

static enum fz_code
enqueue(struct store_committer *committer, struct waiting *node, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    pthread_mutex_lock(&committer->lock);
    /* Refused rather than lost: the thread may have taken its last batch. */
    if (committer->stop) {
        code = fz_fail(err, FZ_E_UNAVAILABLE, "the server is stopping");
    } else if (committer->n_waiting >= WAITING_ITEMS ||
               node->packed.body_len > WAITING_BYTES - committer->waiting_bytes) {
        code = fz_fail(err, FZ_E_UNAVAILABLE, "too many reports are waiting to be stored");
    } else {
        committer->n_waiting++;
        committer->waiting_bytes += node->packed.body_len;
        *committer->last = node;
        /* At the end: reports are committed in the order they came. */
        committer->last = &node->next;
        pthread_cond_signal(&committer->wake);
    }
    pthread_mutex_unlock(&committer->lock);
    return code;
}

enum fz_code
store_committer_submit(struct store_committer *committer, struct store_report_new *item,
                       store_commit_fn done, void *user, struct fz_error *err)
{
    struct waiting *node = calloc(1, sizeof(*node));
    if (!node)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *node = (struct waiting){.packed.item = item, .done = done, .user = user};
    /* Here and not on the committing thread: callers are many. */
    const struct store_dictionary_key key = key_of(item);
    FZ_CLEANUP(store_dictionary_releasep)
    struct store_dictionary *dictionary =
        store_dictionary_peek(committer->store->dictionaries, &key);
    enum fz_code code = store_pack_with(item->body, dictionary, NULL, &node->packed.body,
                                        &node->packed.body_len, err);
    if (code == FZ_OK)
        code = enqueue(committer, node, err);
    if (code != FZ_OK) {
        free(node->packed.body);
        free(node);
    }
    return code;
}

void
store_committer_stats(struct store_committer *committer, struct store_committer_stats *ret)
{
    pthread_mutex_lock(&committer->lock);
    *ret = committer->stats;
    pthread_mutex_unlock(&committer->lock);
}
