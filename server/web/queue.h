/*
 * Work of logins that takes long, on a few threads of its own: a fixed number runs at once, a fixed
 * number waits, and no thread that answers other requests is kept.
 */
#ifndef WEB_QUEUE_H
#define WEB_QUEUE_H

#include <stdbool.h>

#include "base/error.h"

struct web_queue; /* opaque */

struct web_task {
    void (*run)(
        struct web_task *task); /* once, on a thread of the queue; the task is its own again */
    struct web_task *next;      /* the queue's */
};

FZ_MUST_CHECK enum fz_code web_queue_start(unsigned n_threads, unsigned n_waiting,
                                           struct web_queue **ret, struct fz_error *err);
/* After the tasks that wait. */
void web_queue_stop(struct web_queue *queue);

/* False: too many wait already; the task is still the caller's. */
bool web_queue_push(struct web_queue *queue, struct web_task *task);

#endif
