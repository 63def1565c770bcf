#include "server/http/pending.h"

#include "base/time.h"
#include "server/http/answer.h"
#include "server/http/request.h"
#include "server/http/server.h"

enum { START_MS = 1800 }; /* how long a request may wait for a thread */

void
http_pending_run_job(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->lock);
    /* Its time may have ended while it waited for this thread. */
    bool abandoned = request->abandoned;
    request->due_ms = 0; /* that was the limit of the wait for a thread */
    pthread_mutex_unlock(&server->lock);
    /* The client has its 503 already; the handler would work for nothing. */
    if (abandoned) {
        http_leave_queue(request);
        http_request_unref(request);
    } else
        request->route->handle(server->app, request);
}

void
http_leave_queue(struct http_request *request)
{
    http_load_leave(&request->server->load, &request->place);
}

/* No answer is due any more: libmicrohttpd goes on with the request. Under the lock, since
 * http_stop() must not find it answered and still suspended. */
static void
settle(struct http_request *request)
{
    request->is_pending = false;
    LIST_REMOVE(request, pending);
    atomic_store(&request->is_suspended, false);
    MHD_resume_connection(request->mhd);
}

/* Stop waiting for the answer, which will be dropped. Under the lock. */
static void
abandon(struct http_request *request)
{
    request->abandoned = true;
    settle(request);
}

void
http_pending_add(struct http_request *request, int64_t within_ms)
{
    struct http_server *server = request->server;
    int64_t now = fz_time_monotonic_ms();
    http_answer_keep_headers(request);
    /* For the thread that answers: the client may hang up first. */
    atomic_fetch_add(&request->refs, 1);
    pthread_mutex_lock(&server->lock);
    request->is_pending = true;
    request->due_ms = now + within_ms;
    LIST_INSERT_HEAD(&server->pending, request, pending);
    /* After http_pending_end_all() no one would end this request any more. */
    if (server->has_given_up)
        abandon(request);
    pthread_mutex_unlock(&server->lock);
}

void
http_pending_run(struct http_request *request)
{
    struct http_server *server = request->server;
    const struct http_route *route = request->route;
    http_pending_add(request, START_MS);
    if (route->flags & HTTP_ROUTE_QUICK) {
        http_pending_run_job(&request->job);
        return;
    }
    /* A thread that started the handler now would hang as well. */
    if (atomic_load(&server->stuck)) {
        pthread_mutex_lock(&server->lock);
        if (request->is_pending)
            abandon(request);
        pthread_mutex_unlock(&server->lock);
        http_request_unref(request); /* that of the handler, which does not run */
        return;
    }
    /* Reading requests have threads of their own, so that slow queries do not delay reports; and searches, so that they do
     * not delay what is found at once. */
    bool reads = strcmp(route->method, "GET") == 0;
    struct http_pool *pool = reads ? server->readers : server->handlers;
    http_pool_push(route->flags & HTTP_ROUTE_SEARCH ? server->searchers : pool, &request->job);
}

void
http_pending_end(struct http_request *request)
{
    struct http_server *server = request->server;
    if (server->on_change && request->route && strcmp(request->route->method, "GET") != 0)
        server->on_change(server->app, request);
    http_leave_queue(request);
    pthread_mutex_lock(&server->lock);
    if (request->is_pending)
        settle(request);
    pthread_mutex_unlock(&server->lock);
    http_request_unref(request);
}

void
http_pending_end_late(struct http_server *server)
{
    bool stuck = server->is_stuck && server->is_stuck(server->app);
    int64_t now = fz_time_monotonic_ms();
    atomic_store(&server->stuck, stuck);
    pthread_mutex_lock(&server->lock);
    for (struct http_request *request = LIST_FIRST(&server->pending), *next; request;
         request = next) {
        next = LIST_NEXT(request, pending); /* abandon() takes the request out of the list */
        /* With a hanging database, handlers cannot be interrupted, but their clients can be
         * answered. */
        if (stuck || (request->due_ms && now >= request->due_ms))
            abandon(request);
    }
    pthread_mutex_unlock(&server->lock);
}

void
http_answer_within(struct http_request *request, int64_t ms)
{
    struct http_server *server = request->server;
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&server->lock);
    /* The sweeper reads it at the same time. */
    request->due_ms = ms ? now + ms : 0;
    pthread_mutex_unlock(&server->lock);
}

void
http_pending_end_all(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->has_given_up = true;
    while (!LIST_EMPTY(&server->pending))
        abandon(LIST_FIRST(&server->pending));
    pthread_mutex_unlock(&server->lock);
}
