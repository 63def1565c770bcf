/*
 * The watcher: one thread that checks for every waiting request whether its job is done, and for streams of events what has
 * changed.
 *
 * A thousand waiting clients cost one thread and one connection: it sleeps until a commit, and then
 * checks the jobs of all of them.
 */
#ifndef API_WATCH_H
#define API_WATCH_H

#include "server/api/api_client.h"
#include "server/api/api_query.h"

struct api_watcher; /* opaque */

enum api_wait_kind {
    API_WAIT_REPORT,    /* 200 with the report; at the deadline 202 */
    API_WAIT_STATUS,    /* 200 with the report's id, status and format; at the deadline 202 */
    API_WAIT_TRANSIENT, /* 200 with the report, which is gone then; at the deadline 503 */
    API_WAIT_UPLOAD,    /* 201 with the upload's result; at the deadline 202 */
    API_WAIT_CHECK,     /* what `check` answers */
};

struct api_wait {
    struct api_wait *next; /* the watcher's */
    struct api_watcher *watcher;
    enum api_wait_kind kind;
    struct http_request *request;
    int64_t project_id;
    char id[STORE_ID_TEXT];
    enum api_format format;
    char report_format[PROTO_WORD_MAX + 1]; /* for the 202 */
    api_finished_fn finished;  /* answers in place of the report itself; NULL = the report */
    int64_t deadline_ms;       /* monotonic */
    api_check_fn check;        /* API_WAIT_CHECK */
    void *user;                /* for it; malloc, ends with the wait */
    bool is_looked, is_queued; /* the watcher's: in this round */
};

FZ_MUST_CHECK enum fz_code api_watcher_start(struct api *api, struct api_watcher **ret,
                                             struct fz_error *err);
/* A copy of `wait` (malloc) whose deadline is within_ms from now. */
FZ_MUST_CHECK enum fz_code api_wait_create(const struct api_wait *wait, int64_t within_ms,
                                           struct api_wait **ret, struct fz_error *err);
/* `wait` is taken; the request will be answered. */
void api_wait_begin(struct api_wait *wait);
/* From now on answer every request at once, as at its deadline. */
void api_watcher_hurry(struct api_watcher *watcher);
void api_watcher_stop(struct api_watcher *watcher);

#endif
