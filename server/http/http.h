/*
 * The HTTP server: connections, deadlines, limits, bodies, routing, answers. Independent of
 * reports.
 *
 * One libmicrohttpd thread (epoll) reads requests; a pool of threads runs handlers; a connection is
 * suspended meanwhile. A handler answers exactly once with http_respond*(), from any thread, now or
 * later; after that the request is gone.
 */
#ifndef HTTP_H
#define HTTP_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "server/http/client.h"
#include "server/http/inflate.h"
#include "server/process/limits.h"
#include "server/process/metrics.h"

struct http_server;  /* opaque */
struct http_request; /* opaque */

enum http_body {
    HTTP_BODY_NONE,   /* a body is refused with 413 unless empty */
    HTTP_BODY_MEMORY, /* collected in memory, inflated (gzip, deflate, zstd) up to the route's limit
                       */
    HTTP_BODY_FILE, /* streamed, inflated, to an unlinked temporary file in server's temp folder */
};

typedef void (*http_handler_fn)(void *app, struct http_request *request);

/* The JSON of an error as a route's clients want it, for all answers with a status of 400 and above
 * that http_respond_error*() and this module itself give. detail_json may be NULL. */
typedef void (*http_write_error_fn)(const struct fz_error *err, int status, const char *detail_json,
                                    struct fz_buffer *out);

enum {
    HTTP_ROUTE_CORS = 1,     /* every answer carries Access-Control-Allow-Origin: * */
    HTTP_ROUTE_LOOSE = 2,    /* empty path segments do not count: "//a/b/" is "/a/b" */
    HTTP_ROUTE_ANYWHERE = 4, /* loose, after any other segments: "/x/a/b" is "/a/b" */
    HTTP_ROUTE_ORIGINS = 8,  /* pages of http_config.cors_origins may read its answers */
    HTTP_ROUTE_ETAG = 16,    /* its 200 carries an ETag, and If-None-Match is answered with 304 */
    HTTP_ROUTE_QUICK = 32,   /* the handler never waits: it runs on the HTTP
                               thread, and answers while everything else hangs */
    HTTP_ROUTE_SEARCH =
        64, /* a GET that may count all reports of a project: as many at once as there are cores */
    HTTP_ROUTE_QUEUES =
        128, /* takes what the server stores only so fast: beyond limit reports_waiting
                                it is refused with 503 at once */
};

struct http_route {
    const char *method;  /* "GET"; HEAD is answered by GET routes */
    const char *pattern; /* "/api/v1/reports/{id}": a {name} matches one non-empty path segment */
    enum http_body body;
    uint64_t max_bytes,
        max_inflated_bytes; /* of the body as sent, and inflated; 0 for HTTP_BODY_NONE */
    unsigned max_body_s;    /* 0: only the minimum rate counts */
    unsigned scope;         /* given to authorize; 0 = open to all (authorize is not called) */
    const char *name;       /* for logs and metrics: "report_post" */
    http_handler_fn handle;
    unsigned flags;                  /* HTTP_ROUTE_* */
    http_write_error_fn write_error; /* NULL: {"error":{"code","message","detail"}} */
    const void *user;                /* the app's own, for http_route_user() */
};

/*
 * Called on the HTTP thread after the header and before any body is read, for routes with a scope.
 * Returns FZ_OK and sets *ret_project_id, *ret_token_id (kept in the request), or another code
 * (DENIED, LIMIT, UNAVAILABLE...) with *ret_status (401, 403, 429, 503...) and the message. It may
 * read headers, query and path parameters, and add headers to the answer (Retry-After).
 */
typedef enum fz_code (*http_authorize_fn)(void *app, struct http_request *request, unsigned scope,
                                          int64_t *ret_project_id, int64_t *ret_token_id,
                                          int *ret_status, struct fz_error *err);

/* Within http_authorize_fn, when it cannot decide at once: the function returns FZ_OK, and
 * http_authorize_end() is called once, by any thread, now or later, with what the function would
 * have returned. It may add headers to the answer before. */
void http_authorize_later(struct http_request *request);
void http_authorize_end(struct http_request *request, enum fz_code code, int status,
                        int64_t project_id, int64_t token_id, const struct fz_error *err);

/* True while something that handlers need hangs: requests are then answered with 503 at once, also
 * those that handlers are working on. Called by the sweeper, ten times a second. */
typedef bool (*http_stuck_fn)(void *app);
/* A request other than a GET has been handled, and its answer is sent next. From any thread. */
typedef void (*http_changed_fn)(void *app, const struct http_request *request);

/* Within http_authorize_fn: the body of this request, as sent and inflated, may have at most so
 * many bytes (1 or more), even if the route allows more. */
void http_limit_body(struct http_request *request, uint64_t max_bytes);

struct http_config {
    const char *listen;   /* "127.0.0.1:8480", "[::1]:0", ":8480"; port 0 = any free one */
    const char *temp_dir; /* for HTTP_BODY_FILE */
    const struct http_route *routes;
    size_t n_routes;
    http_authorize_fn authorize;
    http_stuck_fn is_stuck;    /* NULL: never */
    http_changed_fn on_change; /* NULL: no one wants to know */
    void *app;
    const char *cors_origins; /* for HTTP_ROUTE_ORIGINS, "https://a.example, …" or "*"; borrowed;
                                 NULL or "" = none */
    const struct limits *limits;
    const char *trusted_proxies; /* as http_proxies_parse(); NULL: none */
    struct metrics *metrics;
};

FZ_MUST_CHECK enum fz_code http_start(const struct http_config *config, struct http_server **ret,
                                      struct fz_error *err);
/* "http://127.0.0.1:8480" as really bound. Borrowed. */
const char *http_url(const struct http_server *server);
/* Stop listening, let running requests finish for up to grace_ms, then end. */
void http_stop(struct http_server *server, int64_t grace_ms);

/* The `user` of the request's route. Also in authorize. */
const void *http_route_user(const struct http_request *request);

/* Within a handler; all borrowed until the answer is given. NULL if absent. */
const char *http_param(const struct http_request *request,
                       const char *name); /* of the pattern, percent-decoded */
const char *http_query(const struct http_request *request,
                       const char *name); /* of the query string, decoded */
/* The name of the i-th parameter of the query string, decoded, as http_query() knows it; NULL past
 * the last. For refusing unknown ones by name. */
const char *http_query_name(const struct http_request *request, size_t i);
const char *http_query_value(const struct http_request *request, size_t i);
const char *http_header(const struct http_request *request,
                        const char *name); /* case-insensitive */
size_t http_header_count(const struct http_request *request, const char *name);
/* Where the request comes from, also if trusted proxies passed it on: a key to count by, and the
 * text. Also in authorize. */
void http_request_client(const struct http_request *request, struct http_client *ret);
/* Its text alone ("192.0.2.7", "2001:db8::1"). */
const char *http_client_ip(const struct http_request *request);
/* Was it passed on by a trusted proxy? Only then its headers about the user are the proxy's. */
bool http_from_proxy(const struct http_request *request);
struct fz_span http_body(const struct http_request *request); /* HTTP_BODY_MEMORY */
int http_body_fd(const struct http_request *request,
                 uint64_t *ret_size); /* HTTP_BODY_FILE; at position 0; borrowed */
/* The handler no longer needs the body and the answer may take long: free its memory or file now.
 */
void http_drop_body(struct http_request *request);
/* As http_authorize_fn has set them. */
int64_t http_project_id(const struct http_request *request);
int64_t http_token_id(const struct http_request *request);

/* Answer with JSON that is copied; status 200 to 599. */
void http_respond_json(struct http_request *request, int status, struct fz_span json);
void http_respond(struct http_request *request, int status, const char *content_type,
                  struct fz_span body);
/* 200 with a file that was compressed before, in the coding that the client likes best: forms[i] is the
 * file in coding i, or empty; forms[HTTP_CODING_IDENTITY] is there. */
void http_respond_packed(struct http_request *request, const char *content_type,
                         const struct fz_span forms[HTTP_CODINGS_N]);
/* {"error":{"code","message","detail"}} with the status of the code (http_respond_error_status: a
 * given one). `detail_json` may be NULL; then err->offset, if set, gives {"offset":N}. LIMIT,
 * UNAVAILABLE add Retry-After where it helps. */
void http_respond_error(struct http_request *request, const struct fz_error *err);
void http_respond_error_status(struct http_request *request, int status, const struct fz_error *err,
                               const char *detail_json);
/* The answer is due within so many ms from now, otherwise the client gets 503 and a
 * later answer is dropped. 0: no limit. */
void http_answer_within(struct http_request *request, int64_t ms);
/* What to answer with in place of that 503: JSON, copied. */
void http_set_fallback(struct http_request *request, int status, struct fz_span json);
/* UNAVAILABLE, NO_MEMORY and INTERNAL come from inside the server: their text may name hosts and
 * paths, so it goes to the log, and the client gets a fixed one. This one sends the text as it is,
 * for errors that were written for the client. */
void http_respond_public(struct http_request *request, int status, const struct fz_error *err,
                         const char *detail_json);
/* Of HTTP_ROUTE_QUEUES, from any thread: the request's part of the work is done, and its answer waits for something else. */
void http_leave_queue(struct http_request *request);
/* A header for the answer that will be given; before http_respond*(). Copied. */
void http_add_header(struct http_request *request, const char *name, const char *value);
/* A note that is added to this request's log line. */
void http_log_note(struct http_request *request, const char *key, const char *value);

#endif
