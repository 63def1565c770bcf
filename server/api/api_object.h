/*
 * The object that all requests share, and its database connections.
 */
#ifndef API_OBJECT_H
#define API_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "server/api/api_client.h"
#include "server/api/api_fetch.h"
#include "server/api/api_rate.h"
#include "server/api/api_tokens.h"
#include "storage/store.h"
#include "storage/store_committer.h"
#include "storage/store_fact_cache.h"

struct api_watcher; /* api_watch.h */
struct api_events;  /* api_events.h */
struct api_replica; /* api_replica.h */

enum { API_POOL_MAX = 32, API_ROUTES_MAX = 256 };

struct api_counts { /* for /metrics; guarded by its lock */
    pthread_mutex_t lock;
    bool is_busy, is_known;
    int64_t at_ms; /* monotonic; 0 = never */
    struct store_counts last;
};

struct api_ungrouped {      /* for /readyz, which needs no token */
    _Atomic int64_t due_ms; /* monotonic: when it is counted again */
    _Atomic uint64_t n;
};

struct api_pool { /* connections that are not in use; guarded by pool_lock */
    struct store *stores[API_POOL_MAX];
    size_t n;
};

struct api {
    struct api_config config;
    struct blob_store *blobs;
    struct store_fact_cache *fact_cache;
    struct store_committer *committer;
    struct children_intake *intake;
    struct api_watcher *watcher;
    struct api_events *events;
    struct api_replica *replica; /* NULL: there is none */
    struct api_tokens *tokens;
    struct api_rate *rate, *address_rate;
    struct api_rate *wrong_tokens; /* decides 429 or 401, never whether a valid token passes */
    struct api_usage *usage;
    struct api_counts counts;
    struct api_ungrouped ungrouped;
    struct api_gate gate;
    struct http_route routes[API_ROUTES_MAX];
    struct api_route rows[API_ROUTES_MAX]; /* each with the defaults of its table */
    size_t n_routes;
    atomic_uint n_tests; /* of channels, under way */
    atomic_uint n_moves; /* of reports to other issues, under way: commits may take long */
    pthread_mutex_t pool_lock;
    struct api_pool pool, pool_of_all;
    _Atomic int64_t open_after_ms; /* no new connection before, by the monotonic clock */
    _Atomic bool has_row_security;
};

/* A database connection for the time of a call; give it back with api_store_put(). It sees the rows of one project alone where the
 * database has row security (storage/store_row_security.h). */
FZ_MUST_CHECK enum fz_code api_store_get(struct api *api, int64_t project_id, struct store **ret,
                                         struct fz_error *err);
/* One that sees all: for what is counted or decided over all projects, in no one's name. Routes say so in their table. */
FZ_MUST_CHECK enum fz_code api_store_get_all(struct api *api, struct store **ret,
                                             struct fz_error *err);
void api_store_put(struct api *api, struct store *store);
/* What a new connection for requests needs to know, from `database_url`. `is_confined`: as of api_store_get(), and no project is
 * chosen yet. */
FZ_MUST_CHECK enum fz_code api_store_open(struct api *api, const char *database_url,
                                          bool is_confined, struct store **ret,
                                          struct fz_error *err);
void api_store_close_all(struct api *api);
/* Whether row security is on, by a connection that sees all: those that are not as they should be are not lent any more. */
void api_store_renew(struct api *api, struct store *store);
/* Is the connection as it should be by now? */
bool api_store_is_right(const struct api *api, const struct store *store);
/* What the call reads from the database from now on may take limit query_s, if its route is a GET. */
void api_limit_time(struct api_call *call);

/* Is the request's token or login still valid, and has it this scope in the request's project? From any thread, for answers that
 * take long; true while the database is away. */
bool api_still_may(struct api *api, const struct http_request *request, unsigned scope);

/* Has the request's token this scope? */
bool api_token_may(struct api *api, const struct http_request *request, unsigned scope);

#endif
