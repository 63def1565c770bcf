/*
 * What the files of the API share: the object, one call, JSON out, the watcher.
 */
#ifndef API_PRIVATE_H
#define API_PRIVATE_H

#include "base/arena.h"
#include "server/api/api_client.h"
#include "server/api/api_fetch.h"
#include "server/api/api_rate.h"
#include "server/api/api_tokens.h"
#include "storage/store.h"
#include "storage/store_committer.h"
#include <pthread.h>

enum { API_POOL_MAX = 32, API_ROUTES_MAX = 256 };

struct api_watcher; /* opaque, see api_watch.h */

struct api_counts { /* for /metrics; guarded by its lock */
    pthread_mutex_t lock;
    bool is_busy, is_known;
    int64_t at_ms; /* monotonic; 0 = never */
    struct store_counts last;
};

struct api {
    struct api_config config;
    struct blob_store *blobs;
    struct store_committer *committer;
    struct api_watcher *watcher;
    struct api_auth *auth;
    struct api_tokens *tokens;
    struct api_rate *rate, *address_rate;
    struct api_usage *usage;
    struct api_counts counts;
    struct api_gate gate;
    struct http_route routes[API_ROUTES_MAX];
    size_t n_routes;
    pthread_mutex_t pool_lock;
    struct store *pool[API_POOL_MAX]; /* connections that nobody uses now */
    size_t n_pool;
};

/* A database connection for the time of a call; give it back with api_store_put(). */
FZ_MUST_CHECK enum fz_code api_store_get(struct api *api, struct store **ret, struct fz_error *err);
void api_store_put(struct api *api, struct store *store);

/* Has the request's token this scope? */
bool api_token_may(struct api *api, const struct http_request *request, unsigned scope);

/* Refuse query parameters that are not among `known` (NULL-terminated; project and key are always
 * known): MALFORMED with the name and the list. */
FZ_MUST_CHECK enum fz_code api_check_query(const struct http_request *request,
                                           const char *const *known, struct fz_error *err);
/* ?limit=: `fallback` without one; MALFORMED unless 1 to `max`. */
FZ_MUST_CHECK enum fz_code api_query_limit(const struct http_request *request, size_t fallback,
                                           size_t max, size_t *ret, struct fz_error *err);
/* ?since= and its like: RFC 3339, or Unix seconds or milliseconds; *ret stays without one. */
FZ_MUST_CHECK enum fz_code api_query_time(const struct http_request *request, const char *name,
                                          int64_t *ret, struct fz_error *err);
/* A pattern parameter that is a UUID in any spelling, as 32 hex digits; NOT_FOUND if it is none
 * (nothing can have that id). `what` is for the message. */
FZ_MUST_CHECK enum fz_code api_param_uuid(const struct http_request *request, const char *name,
                                          const char *what, char ret[FZ_UUID_TEXT],
                                          struct fz_error *err);
/* The formats a report is given in (?format=). */
enum api_format { API_FORMAT_JSON, API_FORMAT_CRASH, API_FORMAT_IPS, API_FORMAT_RAW };
FZ_MUST_CHECK enum fz_code api_query_format(const struct http_request *request,
                                            enum api_format *ret, struct fz_error *err);

/* A parameter that is 1 or true; 0, false or absent. */
FZ_MUST_CHECK enum fz_code api_query_flag(const struct http_request *request, const char *name,
                                          bool *ret, struct fz_error *err);

/* Answer with a report that was found: its columns, and its result as the worker stored it (empty
 * while it is queued for the first time or has failed). CONFLICT: `format` needs a result. */
FZ_MUST_CHECK enum fz_code api_answer_report(struct api_call *call,
                                             const struct store_report *columns,
                                             struct fz_span result, enum api_format format,
                                             int status, struct fz_error *err);
/* The same with the result fetched from the database. */
FZ_MUST_CHECK enum fz_code api_answer_stored(struct api_call *call,
                                             const struct store_report *columns,
                                             enum api_format format, int status,
                                             struct fz_error *err);

/* Handlers, by file. */
void api_report_post(void *app, struct http_request *request); /* api_submit.c */
void api_symbolicate(void *app, struct http_request *request);
void api_report_list(void *app, struct http_request *request); /* api_reports.c */
void api_report_get(void *app, struct http_request *request);
void api_report_reprocess(void *app, struct http_request *request);
void api_report_delete(void *app, struct http_request *request);
void api_attachment_get(void *app, struct http_request *request); /* api_attachments.c */
void api_session_list(void *app, struct http_request *request);   /* api_sessions.c */
void api_symbol_post(void *app, struct http_request *request);    /* api_upload.c */
void api_upload_get(void *app, struct http_request *request);
void api_symbol_list(void *app, struct http_request *request); /* api_symbols.c */
void api_symbol_get(void *app, struct http_request *request);
void api_symbol_delete(void *app, struct http_request *request);
void api_symbol_known(void *app, struct http_request *request);
void api_symbol_missing(void *app, struct http_request *request);
void api_project_get(void *app, struct http_request *request); /* api_project.c */
void api_project_put(void *app, struct http_request *request);
void api_healthz(void *app, struct http_request *request); /* api_status.c */
void api_readyz(void *app, struct http_request *request);
void api_openapi(void *app, struct http_request *request);
void api_metrics(void *app, struct http_request *request);   /* api_metrics.c */
void api_page(void *app, struct http_request *request);      /* api_page.c */
void api_preflight(void *app, struct http_request *request); /* api_preflight.c */

/* For every path that pages of other origins may use: a route for its OPTIONS requests. */
void api_add_preflights(struct api *api);

#endif
