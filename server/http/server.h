/*
 * The server object, which its connections and requests share.
 *
 * Threads. libmicrohttpd's one thread owns every connection and moves a request forward
 * (callbacks.c). Body threads inflate and write (body.c), handler threads run handlers (pending.c),
 * a sweeper ends what takes too long (http.c). What several threads see is guarded by `lock` and
 * says so.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http/budget.h"
#include "server/http/content.h"
#include "server/http/filter.h"
#include "server/http/http.h"
#include "server/http/load.h"
#include "server/http/pool.h"

enum {
    /* A connection's memory, also while it is idle: header, then pieces of the body. */
    HTTP_HEADER_MEMORY = 20 * 1024
};

struct http_server {
    struct MHD_Daemon *daemon;
    int listen_fd;
    char url[96];
    char *temp_dir;
    const struct http_route *routes;
    struct metrics_route **route_metrics; /* one per route, the last for requests without one */
    size_t n_routes;
    http_authorize_fn authorize;
    http_stuck_fn is_stuck;
    http_changed_fn on_change;
    void *app;
    const char *cors_origins; /* NULL = none */
    struct limits limits;
    struct http_proxies proxies;
    struct metrics *metrics; /* NULL once the server has ended */
    struct http_pool *readers, *searchers,
        *handlers; /* for GET; for HTTP_ROUTE_SEARCH; for the rest */
    struct http_pool *body_threads, *file_threads;
    struct http_pool *stream_threads; /* for what streamed answers produce */
    pthread_t sweeper;
    bool sweeping;
    pthread_mutex_t lock;
    pthread_cond_t changed;                 /* a request ended, or the server is to stop */
    LIST_HEAD(http_conns, http_conn) conns; /* guarded by lock */
    size_t n_conns, n_active; /* guarded by lock; active: between header and end of the answer */
    LIST_HEAD(http_requests, http_request) pending; /* guarded by lock */
    LIST_HEAD(http_streams, http_stream) streams;   /* guarded by lock, as is the next one */
    unsigned n_streams;                             /* that count for limit `streams` */
    bool sweeper_ends, has_given_up;                /* guarded by lock */
    _Atomic bool stopping, stuck;
    /* Bodies in memory, of senders with a known token and of senders without; and on disk, of the
     * latter only. */
    struct http_budget body_memory, unknown_memory, unknown_disk;
    struct http_load load;         /* requests of HTTP_ROUTE_QUEUES */
    struct http_contents contents; /* of answers */
    struct http_filter filter;
    _Atomic unsigned refs; /* the owner's and one per request */
};

/* The object alone, nothing is started. */
FZ_MUST_CHECK enum fz_code http_server_create(const struct http_config *config,
                                              struct http_server **ret, struct fz_error *err);
/* The last reference, the owner's or a request's, frees it. */
void http_server_unref(struct http_server *server);

#endif
