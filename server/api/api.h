/*
 * The HTTP API of docs/api: the routes and what they do, on storage, ingest and the report model.
 *
 * Life: api_create(), http_start() with api_routes() and api_authorize(), and at the end
 * api_stop_waiting(), http_stop(), api_destroy() in this order, so that every request is answered
 * and every accepted report is committed. Handlers run on any thread of the HTTP server.
 */
#ifndef API_H
#define API_H

#include "server/http/http.h"
#include "server/outbox/outbox.h"
#include "storage/blob/blob.h"

struct api;        /* opaque */
struct api_routes; /* a table of routes, api_client.h */
struct web;        /* server/web/web.h */

/* How many workers this process looks after are running; -1 = it has none (--workers 0).
 */
typedef int (*api_workers_fn)(void *user);

/* How people log in. */
struct api_login {
    const char *public_url;          /* how browsers reach the server; "" = not known */
    const char *proxy_user_header;   /* in which a trusted proxy names the user; "" = none */
    const char *proxy_role;          /* of users that it names for the first time; "" = none */
    const char *proxy_groups_header; /* in which it names the user's groups; "" = none */
    const char *proxy_groups;        /* GROUP=ROLE,... */
    int64_t idle_ms, max_ms;         /* of a session, as struct store_web_limits */
    void (*on_setup)(void *user);    /* the setup link was used; may be NULL */
    void *on_setup_user;
    /* The OpenID provider, as the settings of its name. */
    const char *oidc_issuer; /* "" = none */
    const char *oidc_client_id, *oidc_client_secret, *oidc_name, *oidc_domains, *oidc_role;
    const char *oidc_internal, *oidc_ca;
};

/* What the server's disks still have room for, and the bytes that are free; any thread. */
enum api_disk { API_DISK_OK, API_DISK_NO_SYMBOLS, API_DISK_NO_REPORTS };
typedef enum api_disk (*api_disk_fn)(void *user, uint64_t *ret_free);

struct api_config {
    const char *database_url;
    const char *replica_url; /* a standby that is read from; NULL or "" = none */
    struct blob_config blobs;
    const struct limits *limits;        /* borrowed until api_destroy() */
    struct metrics *metrics;            /* the same */
    const char *symbolicate_v5_project; /* open to all for /symbolicate/v5; NULL or "" = none */
    const char *cors_origins;           /* whose pages may use the API; NULL or "" = none */
    const struct api_login *login;      /* borrowed; how people log in */
    struct web *web;                    /* borrowed; for the handlers of server/web */
    const struct outbox_setup *alerts;  /* borrowed; how messages of channels are sent */
    unsigned upload_wait_s;             /* POST /symbols answers 202 after this time */
    const struct api_routes *const *clients; /* tables of others, after the API's own */
    size_t n_clients;
    api_disk_fn disk; /* NULL: there is room for anything */
    void *disk_user;
    api_workers_fn workers; /* for /readyz; may be NULL */
    void *workers_user;
};

/* Opens the database (which must be migrated) and the blobs, starts the committer and the watcher.
 */
FZ_MUST_CHECK enum fz_code api_create(const struct api_config *config, struct api **ret,
                                      struct fz_error *err);
/* No request may be running any more. Commits what is queued. */
void api_destroy(struct api *api);
void api_destroyp(struct api **api);

/* The table for http_start(), with the limits of the configuration; lives as long as the api. */
const struct http_route *api_routes(const struct api *api, size_t *ret_n);

/* The http_authorize_fn; `app` is the struct api. */
FZ_MUST_CHECK enum fz_code api_authorize(void *app, struct http_request *request, unsigned scope,
                                         int64_t *ret_project_id, int64_t *ret_token_id,
                                         int *ret_status, struct fz_error *err);

/* The http_stuck_fn: the database hangs. */
bool api_is_stuck(void *app);
/* The http_changed_fn: what the sender reads next must have what it has changed. */
void api_changed(void *app, const struct http_request *request);

/* From now on no request waits for a job: each is answered as at its deadline. */
void api_stop_waiting(struct api *api);

#endif
