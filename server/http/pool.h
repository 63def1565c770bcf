/*
 * A fixed number of threads that run one function over queued items, first in, first out.
 *
 * The queue is intrusive (struct http_job inside the item), so that queueing cannot fail.
 */
#ifndef HTTP_POOL_H
#define HTTP_POOL_H

#include "base/error.h"

struct http_pool; /* opaque */

struct http_job {
    struct http_job *next;
};

typedef void (*http_job_fn)(struct http_job *job);

/* HTTP_POOL_YIELDS: where cores are scarce, the other threads of the process have them first. */
enum http_pool_priority { HTTP_POOL_NORMAL, HTTP_POOL_YIELDS };

FZ_MUST_CHECK enum fz_code http_pool_create(unsigned n_threads, enum http_pool_priority priority,
                                            http_job_fn run, struct http_pool **ret,
                                            struct fz_error *err);
void http_pool_push(struct http_pool *pool, struct http_job *job);
/* Run what is queued, then end the threads. */
void http_pool_destroy(struct http_pool *pool);

#endif
