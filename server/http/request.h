/*
 * A request on its way: from the request line to the end of its answer.
 *
 * One thread touches a request at a time: libmicrohttpd's, or, while its connection is suspended,
 * a body or handler thread. What several threads see is guarded by server->lock and says so.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "server/http/answer.h"
#include "server/http/budget.h"
#include "server/http/framing.h"
#include "server/http/http.h"
#include "server/http/inflate.h"
#include "server/http/load.h"
#include "server/http/pool.h"
#include "server/http/uri.h"

struct http_conn;

enum { HTTP_ID_TEXT = 65 /* of a request's name */ };

struct http_memory { /* its room is charged to the request's holding */
    uint8_t *data;
    size_t len, room;
};

enum http_step {
    HTTP_STEP_NEW,       /* the request line was read */
    HTTP_STEP_AUTHORIZE, /* authorisation goes on elsewhere */
    HTTP_STEP_BODY,      /* the body is being taken in */
    HTTP_STEP_DISCARD,   /* refused; the rest of a small body is read and dropped */
    HTTP_STEP_DRAIN,     /* refused and answered; read until the client hangs up */
    HTTP_STEP_WORK,      /* body or handler threads have it */
    HTTP_STEP_SENT,      /* the answer was queued */
};

struct http_request {
    struct http_job job;
    struct http_server *server;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    /* One for the MHD side, one for a handler that is to answer. */
    _Atomic unsigned refs;
    enum http_step step;
    bool is_pending; /* guarded by server->lock: a handler is to answer */
    bool abandoned;  /* guarded by server->lock: the client is answered without the handler, with
                       `late`; what the handler answers is dropped */
    int64_t due_ms;  /* guarded by server->lock: when the answer is due, 0 = no limit */
    LIST_ENTRY(http_request) pending; /* guarded by server->lock */
    char id[HTTP_ID_TEXT];
    struct http_client client; /* the peer until the header was read */
    char *notes;               /* for the log line; owned */
    int64_t started_us;
    uint64_t bytes_in, bytes_out;
    size_t drained;
    bool active; /* counted in server->n_active */
    char method[16];
    char path[96]; /* without the query, cut; for the log line of what has no route */
    enum fz_code uri_code;
    struct fz_error uri_error;
    size_t raw_uri_len;
    struct http_uri uri;
    struct http_params params;
    const struct http_route *route; /* NULL until found */
    struct metrics_route *metrics;
    struct http_field *fields; /* owned; only as many as there are: thousands of clients may wait */
    char *header_text;         /* owned: what `fields` point into, each text with a NUL after it */
    size_t n_headers, header_size;
    struct http_framing framing;
    enum http_coding coding;
    int64_t project_id, token_id;
    struct http_place place; /* in server->load */
    uint64_t own_max;        /* of this body, below the route's; 0 = the route's */

    struct http_holding memory, disk; /* what this request holds of the server's budgets */
    struct http_memory body;          /* HTTP_BODY_MEMORY: as sent, then inflated */
    struct http_memory stage;         /* HTTP_BODY_FILE: not written yet */
    int fd;                           /* HTTP_BODY_FILE; -1 */
    uint64_t file_size;
    struct http_inflate *inflate;
    _Atomic bool is_suspended; /* another thread has it: bytes of the body have to wait */
    bool body_complete;
    enum fz_code body_code; /* why the body was refused */
    int body_status;
    struct fz_error body_error;
    uint64_t refused_limit; /* for the error's detail; 0 = no limit */
    struct http_answer answer;
    struct http_answer late; /* in its place once the request is abandoned; guarded by server->lock
                                until then */
};

/* The last reference frees it. */
void http_request_unref(struct http_request *request);

/* 1 to 64 letters, digits, '.', '_' and '-'. */
bool http_request_id_is_sane(const char *text);
/* A random name; later the client's own, if its header has a sane one. */
void http_request_id_make(struct http_request *request);
void http_request_id_take(struct http_request *request);

/* One line, and the counters. `status` 0: no answer of ours went out. */
void http_log_request(struct http_request *request, int status, int64_t took_us, bool delivered);

#endif
