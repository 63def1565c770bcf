#include "server/http/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

/* A tenth of the time of a thread with 0. Not SCHED_IDLE: it may hold a lock that others wait for. */
enum { YIELDING_NICE = 10 };

struct http_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct http_job *first, **last; /* guarded by lock */
    bool ending;                    /* guarded by lock */
    http_job_fn run;
    enum http_pool_priority priority;
    unsigned n_threads;
    pthread_t threads[];
};

static void *
work(void *arg)
{
    struct http_pool *pool = arg;
    /* In Linux this sets the thread alone. Where it may not, it is as fast as the others. */
    if (pool->priority == HTTP_POOL_YIELDS)
        fz_ignore(setpriority(PRIO_PROCESS, 0, YIELDING_NICE));
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        /* Before `ending` is looked at: what was queued is still done, since its requests wait
         * for it. */
        struct http_job *job = pool->first;
        if (job) {
            pool->first = job->next;
            if (!pool->first)
                pool->last = &pool->first;
            pthread_mutex_unlock(&pool->lock);
            pool->run(job);
            pthread_mutex_lock(&pool->lock);
        } else if (pool->ending) {
            break;
        } else {
            pthread_cond_wait(&pool->wake, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum fz_code
http_pool_create(unsigned n_threads, enum http_pool_priority priority, http_job_fn run,
                 struct http_pool **ret, struct fz_error *err)
{
    struct http_pool *pool = calloc(1, sizeof(*pool) + n_threads * sizeof(pool->threads[0]));
    if (!pool)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->last = &pool->first;
    pool->run = run;
    pool->priority = priority;
    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n_threads < n_threads &&
           pthread_create(&pool->threads[pool->n_threads], NULL, work, pool) == 0)
        pool->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->n_threads < n_threads) {
        http_pool_destroy(pool);
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start %u threads", n_threads);
    }
    *ret = pool;
    return FZ_OK;
}

void
http_pool_push(struct http_pool *pool, struct http_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&pool->lock);
    *pool->last = job;
    pool->last = &job->next;
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

void
http_pool_destroy(struct http_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    /* All of them: each thread ends by itself once the queue is empty. */
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
