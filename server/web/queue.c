#include "server/web/queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct web_queue {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    struct web_task *first, **last;
    unsigned n_tasks, n_waiting; /* those that wait; at most */
    bool is_stopped;
    unsigned n_threads;
    pthread_t threads[];
};

static void *
run(void *user)
{
    struct web_queue *queue = user;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct web_task *task = queue->first;
        if (!task && queue->is_stopped)
            break;
        if (!task) {
            pthread_cond_wait(&queue->wake, &queue->lock);
            continue;
        }
        queue->first = task->next;
        if (!queue->first)
            queue->last = &queue->first;
        queue->n_tasks--;
        pthread_mutex_unlock(&queue->lock);
        task->run(task);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

bool
web_queue_push(struct web_queue *queue, struct web_task *task)
{
    pthread_mutex_lock(&queue->lock);
    bool has_room = queue->n_tasks < queue->n_waiting && !queue->is_stopped;
    if (has_room) {
        task->next = NULL;
        *queue->last = task;
        queue->last = &task->next;
        queue->n_tasks++;
        pthread_cond_signal(&queue->wake);
    }
    pthread_mutex_unlock(&queue->lock);
    return has_room;
}

static void
stopp(struct web_queue **queue)
{
    web_queue_stop(*queue);
}

enum fz_code
web_queue_start(unsigned n_threads, unsigned n_waiting, struct web_queue **ret,
                struct fz_error *err)
{
    FZ_CLEANUP(stopp)
    struct web_queue *queue = calloc(1, sizeof(struct web_queue) + n_threads * sizeof(pthread_t));
    if (!queue)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    queue->n_waiting = n_waiting;
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->wake, NULL);
    while (queue->n_threads < n_threads &&
           pthread_create(&queue->threads[queue->n_threads], NULL, run, queue) == 0)
        queue->n_threads++;
    if (queue->n_threads < n_threads)
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    *ret = fz_take(&queue);
    return FZ_OK;
}

void
web_queue_stop(struct web_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->is_stopped = true;
    pthread_cond_broadcast(&queue->wake);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->n_threads; i++)
        pthread_join(queue->threads[i], NULL);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->wake);
    free(queue);
}
