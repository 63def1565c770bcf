/*
 * What the API offers to client protocols (server/clients): the paths under which other products'
 * clients send reports and symbol files. A protocol is a table of routes and handlers; it finds its
 * client's token, passes bodies on, and answers in that client's form.
 */
#ifndef API_CLIENT_H
#define API_CLIENT_H

#include "base/arena.h"
#include "base/json/write.h"
#include "server/api/api.h"
#include "server/children/intake.h"
#include "storage/blob/blob.h"
#include "storage/store_jobs.h"

/* ---- routes --------------------------------------------------------------------------------- */

enum api_body {
    API_BODY_NONE,
    API_BODY_REPORT,   /* in memory, limits report_bytes and report_inflated_bytes */
    API_BODY_ENVELOPE, /* the same with room for attachments: envelope_bytes... */
    API_BODY_SYMBOLS,  /* in a file, limit symbol_bytes */
    API_BODY_CHUNKS,   /* in a file, limit chunk_request_bytes and some more for the form */
    API_BODY_JSON,     /* in memory, limit json_bytes */
    API_BODY_LOGIN,    /* in memory, a few KB: comes before anything is known of its sender */
};

/* What a route takes in, for rate limits and quotas; each kind is counted separately. */
enum api_takes {
    API_TAKES_NOTHING,
    API_TAKES_REPORTS,
    API_TAKES_PASSING, /* what is not kept, or counted elsewhere: rates, no quota */
    API_TAKES_SESSIONS,
    API_TAKES_CLIENT_REPORTS, /* what an SDK dropped; it reports so after it was limited */
    API_TAKES_SYMBOLS,
    API_TAKES_ENVELOPES, /* depends on the body: the handler calls api_admit() */
};

/* A request is refused by a limit: add what the client's protocol requires besides
 * Retry-After. `scope` is "key", "address" or "project". */
typedef void (*api_limited_fn)(struct http_request *request, enum api_takes takes, unsigned wait_s,
                               const char *scope, const char *limit);

enum { API_TOKEN_ROOM = 512 };

/* For api_authorize_token(): every token has one of these. */
enum { API_ANY_SCOPE = 0xffff };

/* Where a client puts its token; NULL: it sent none (then the places of our own API count). `room`
 * may hold it. Runs on the HTTP thread before the body is read: header, query and path only. */
typedef const char *(*api_find_token_fn)(const struct http_request *request,
                                         char room[API_TOKEN_ROOM]);

struct api_call;

/* A handler's work: answers the request and returns FZ_OK, or fails without answering. */
typedef enum fz_code (*api_work_fn)(struct api_call *call, struct fz_error *err);

/* A row of a table is one line: method, pattern, name, and what differs from the table's defaults.
 */
struct api_route {
    const char *method, *pattern; /* a {project} in it is the project's name or number, and must be
                                     the token's */
    const char *name;
    unsigned scope; /* 0: open to all; the handler then calls api_authorize_token() itself */
    enum api_body body;
    enum api_takes takes;     /* API_TAKES_NOTHING: what the body says, reports or symbol files */
    unsigned flags;           /* HTTP_ROUTE_*, besides those of the defaults */
    bool token_may_come_late; /* a request without one is let in with a body of late_token_bytes at
                                 most; its http_token_id() is 0, and the handler must find the token
                                 in the body and call api_authorize_token() */
    http_handler_fn handle;   /* app is the struct api; or */
    api_work_fn run;          /* what api_run() is to run */
    bool
        reads_replica; /* nothing is written and nothing else than storage is answered from: a replica may do */
    const char *
        sees_all; /* why its statements see the rows of all projects, where the database has row security; NULL: they
                             see those of the request's project. Not with reads_replica */
    const char *query; /* what `run` knows in the query, "limit, cursor", "" for nothing: all else
                          is refused; NULL: the handler looks itself, if anyone does */
    const void *user;  /* for the handler */
    api_find_token_fn find_token;
    http_write_error_fn write_error;
    api_limited_fn limited; /* may be NULL */
};

struct api_routes {
    const struct api_route *rows;
    size_t n;
    struct api_route defaults; /* for the members that a row leaves 0; flags are added */
};

/* The request's route, with the defaults of its table. */
const struct api_route *api_route_of(const struct http_request *request);

/* What follows "Authorization: Bearer"; NULL without it. Borrowed from the request. */
const char *api_bearer(const struct http_request *request);

struct api_grant {                /* what a token or a login allows */
    int64_t token_id, project_id; /* project of the call; token_id < 0: the user -token_id */
    unsigned scopes;              /* of enum store_scope */
};

/* Does this token allow `scope` in the project that the request names? For tokens in the
 * body. *ret_status is 401, 403, 404, 429...; wrong tokens count as those in a header do. */
FZ_MUST_CHECK enum fz_code api_authorize_token(struct api *api, struct http_request *request,
                                               const char *token, unsigned scope,
                                               struct api_grant *ret, int *ret_status,
                                               struct fz_error *err);

/* Answers an OPTIONS request of a browser: 200 with what may be sent to a HTTP_ROUTE_CORS route. */
void api_cors_options(void *app, struct http_request *request);

/* ---- one call ------------------------------------------------------------------------------- */

/* One request whose handler needs the database. */
struct api_call {
    struct api *api;
    struct http_request *request;
    struct store *store;
    struct fz_arena *arena; /* of the call */
    struct fz_buffer out;   /* the JSON that it answers with */
    int64_t project_id;
    void *user;                 /* of api_run() */
    const char *detail;         /* JSON for the error's `detail`, in the arena; NULL = none */
    int status;                 /* of the answer if the work fails; 0 = as its code says */
    struct fz_span report_body; /* of a report that is not stored any more; empty = it is */
    bool must_not_wait;         /* on a thread that others wait for */
    uint64_t gated;             /* api_fetch.h */
};

/* Run `work` with a connection, an arena and call->user; a failure becomes the answer. */
void api_run(void *app, struct http_request *request, api_work_fn work, void *user);

/* The call is about this project, as has only turned out now: its token came late. */
void api_call_enter(struct api_call *call, int64_t project_id);

/* Begin the JSON that the call answers with, an object or an array; api_answer() writes its closing
 * bracket and sends it, or fails if the JSON could not be held. Once per call. */
struct json_write api_begin(struct api_call *call, char bracket);
FZ_MUST_CHECK enum fz_code api_answer(struct api_call *call, int status, struct json_write *w,
                                      char bracket, struct fz_error *err);
/* Send call->out, which is complete. */
FZ_MUST_CHECK enum fz_code api_answer_written(struct api_call *call, int status,
                                              struct fz_error *err);

/* The project of this name or number, if the request's token may use it, else NOT_FOUND. For names
 * in a body. */
FZ_MUST_CHECK enum fz_code api_find_project(struct api_call *call, const char *name, int64_t *ret,
                                            struct fz_error *err);
/*
 * Count a request that brings this, and check it against the rate limits of its key and address and
 * the quota of its project. LIMIT with *ret_status 429; headers are added by then. Done for every
 * token that api_authorize_token() accepts, for what the route takes; a handler calls it itself if
 * the route says API_TAKES_ENVELOPES or lets in requests without a token.
 */
FZ_MUST_CHECK enum fz_code api_admit(struct api *api, struct http_request *request,
                                     const struct api_grant *grant, enum api_takes takes,
                                     int *ret_status, struct fz_error *err);
/* Count what a child found beside reports: runs of the app, and what a client did not send. */
FZ_MUST_CHECK enum fz_code api_count_found(struct store *store, int64_t project_id,
                                           const struct proto_intake *found, struct fz_arena *arena,
                                           struct fz_error *err);
/* Why a job failed, from its row, as a client may see it: without hosts and paths. NULL stays
 * NULL. */
const char *api_stored_error(const char *text);
/* An upload of the call's project was taken in: it counts for the quota. */
FZ_MUST_CHECK enum fz_code api_count_upload(struct api_call *call, uint64_t bytes,
                                            struct fz_error *err);

const struct limits *api_limits(const struct api *api);
/* api_config.web. */
struct web *api_web(const struct api *api);
struct blob_store *api_blobs(const struct api *api);
struct metrics *api_metrics_of(const struct api *api); /* may be NULL */

/* ---- symbols in ----------------------------------------------------------------------------- */

/* Keep `len` bytes of `fd` from `offset` on as an upload of the call's project, and queue its job.
 * `name` is the client's, any bytes; ret->name is what became of it. */
FZ_MUST_CHECK enum fz_code api_upload_add(struct api_call *call, int fd, uint64_t offset,
                                          uint64_t len, const char *name, struct store_upload *ret,
                                          struct fz_error *err);

/*
 * Is what a request waits for done? Then answers it and sets *ret_done, else leaves both alone.
 * `is_late`: the time is over, so it must answer. A failure becomes the answer, except UNAVAILABLE
 * before the time is over. On the watcher's thread, after every change in the database, so it must
 * be quick.
 */
typedef enum fz_code (*api_check_fn)(struct api_call *call, void *user, bool is_late,
                                     bool *ret_done, struct fz_error *err);

/* Have the request answered by `check` within wait_ms (negative: as long as for POST /symbols).
 * `user` (malloc, may be NULL) is taken, even on failure. */
FZ_MUST_CHECK enum fz_code api_wait(struct api_call *call, api_check_fn check, void *user,
                                    int64_t wait_ms, struct fz_error *err);

/* ---- reports in ----------------------------------------------------------------------------- */

/* What became of the reports of one body. */
struct api_accepted {
    const struct store_report_new *items; /* stored, or known before (is_duplicate) */
    size_t n;                             /* 0 only with n_runs */
    size_t n_runs;                        /* run summaries, which are counted as sessions */
    size_t n_refused;                     /* reports in the body that cannot be read */
    const struct fz_error *first; /* why the first of those was refused; NULL if n_refused is 0 */
};

/* Answers the request; called once, when all of them are on disk, on the committer's thread: must
 * not block. `user` is api_intake.user. */
typedef void (*api_accepted_fn)(struct http_request *request, const struct api_accepted *accepted,
                                void *user);

struct api_intake {
    struct api *api;
    struct http_request *request;
    int64_t project_id;
    bool transient;      /* only passing through: hidden, never a duplicate, exactly one report */
    bool counts_runs;    /* KSCrash's run summaries may come, too; else they are refused */
    struct fz_span body; /* lives until the answer: the request's, or in `arena` */
    struct proto_intake_request kind; /* what body it is; kind.kind 0 = any reports */
    const char *own_format;           /* the server made the body, in this format; NULL = it came
                                           from outside, and a child reads it */
    const struct children_result
        *result;            /* of api_intake_read(), in `arena`; NULL = not read yet */
    struct fz_arena *arena; /* taken over if not NULL (its content moves); NULL = a new one */
    api_accepted_fn answer;
    void *user; /* e.g. in the arena; lives as long */
};

/* Have a child read the body; the result is in intake->arena. For bodies that ask for more than
 * reports. */
FZ_MUST_CHECK enum fz_code api_intake_read(const struct api_intake *intake,
                                           struct children_result *ret, struct fz_error *err);

/*
 * Take in all reports of a body: read by a child, stored in one durable commit each with its job. Run
 * summaries are counted before, unless `result` is given.
 * After FZ_OK `answer` is called, or the request is answered with an error if storing failed. On
 * failure nothing was answered and the arena is still the caller's: the codes of children_intake_read(), or
 * those of the first report if all are rejected.
 */
FZ_MUST_CHECK enum fz_code api_intake(const struct api_intake *intake, struct fz_error *err);

/* A finished report that is not stored, as JSON: answers the request and returns FZ_OK, or fails
 * without answering. On the watcher's thread, so it must not wait. */
typedef enum fz_code (*api_finished_fn)(struct api_call *call, struct fz_span report,
                                        struct fz_error *err);

/*
 * Symbolicate `body` (one report, in call->arena) as POST /api/v1/symbolicate does, and have
 * `finished` answer. After FZ_OK the request will be answered: by `finished`, or with an error, at
 * the latest after 30 seconds; call->arena is empty then. On failure nothing was answered.
 */
FZ_MUST_CHECK enum fz_code api_symbolicate_body(struct api_call *call, struct fz_span body,
                                                api_finished_fn finished, struct fz_error *err);

/* A project that the configuration names, not the request. */
FZ_MUST_CHECK enum fz_code api_open_project(struct api_call *call, const char *name,
                                            struct store_project *ret, struct fz_error *err);
/* The project whose symbols /symbolicate/v5 gives to those without a token; NULL: none. */
const char *api_open_symbols_project(const struct api *api);

#endif
