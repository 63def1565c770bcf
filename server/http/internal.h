/*
 * The objects behind http.h: a server, its connections, a request on its way.
 *
 * Threads. libmicrohttpd's one thread owns every connection and moves a request forward
 * (request.c). Body threads inflate and write (body.c), handler threads run handlers (server.c), a
 * sweeper ends connections that are too slow (conn.c). A request is touched by one of them at a
 * time: while it is suspended it belongs to the body or handler side. What several threads see is
 * guarded by server->lock and says so.
 */
#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "server/http/budget.h"
#include "server/http/content.h"
#include "server/http/framing.h"
#include "server/http/http.h"
#include "server/http/inflate.h"
#include "server/http/pool.h"
#include "server/http/uri.h"

enum {
    HTTP_HEADER_MEMORY = 32 * 1024, /* a connection's memory: header, then pieces of the body */
    HTTP_BODY_GRACE_MS = 5000,      /* the minimum rate counts over windows of this length */
    HTTP_IDLE_MS = 60 * 1000,       /* between two requests of a connection */
    HTTP_DRAIN_MS = 2000,           /* how long a refused body is still read, */
    HTTP_DRAIN_BYTES = 16 * 1024 * 1024, /* and how much of it */
    HTTP_SWEEP_MS = 100,
    HTTP_SPARE_CONNS = 64,        /* beyond the limit, while those that were ended are cleaned up */
    HTTP_JUDGE_MS = 1500,         /* how long finding out whether to let a request in may take, */
    HTTP_START_MS = 1800,         /* and waiting for a thread */
    HTTP_SMALL_BODY = 64 * 1024,  /* a refused body up to this is read, the connection kept */
    HTTP_ID_TEXT = 65,            /* of a request's name */
    HTTP_STAGE = 256 * 1024,      /* a streamed body goes to disk in steps of this size, */
    HTTP_STAGE_SMALL = 64 * 1024, /* or of this one while nobody knows who sends it */
};

/* What a connection is waiting for; decides which deadline counts. */
enum http_phase {
    HTTP_PHASE_HEADER,  /* the client: a request line, or the rest of the header */
    HTTP_PHASE_BODY,    /* the client: more of the body */
    HTTP_PHASE_RUNNING, /* us */
    HTTP_PHASE_ANSWER,  /* the client: taking the answer */
    HTTP_PHASE_DRAIN,   /* the client: hanging up after a refusal */
    HTTP_PHASE_DEAD,    /* shut down by the sweeper */
};

struct http_conn {
    struct http_conn *prev, *next; /* guarded by server->lock, as are the next six */
    enum http_phase phase;
    int64_t phase_ms;             /* monotonic: when the phase began */
    int64_t window_ms, paused_ms; /* body: the current rate window; time we made it wait */
    uint64_t window_bytes;        /* body: bytes that came in the window */
    unsigned body_max_s;          /* body: whole time, 0 = no limit */
    bool first, line_seen;        /* header: of the first request; request line is there */
    struct http_server *server;
    int fd;
    struct http_address address; /* the peer's */
    struct http_client peer;
};

struct http_memory { /* its room is charged to the request's holding */
    uint8_t *data;
    size_t len, room;
};

enum http_step {
    HTTP_STEP_NEW,     /* the request line was read */
    HTTP_STEP_JUDGE,   /* whether to let it in is being found out */
    HTTP_STEP_BODY,    /* the body is being taken in */
    HTTP_STEP_DISCARD, /* refused; the rest of a small body is read and dropped */
    HTTP_STEP_DRAIN,   /* refused and told so; read until the client hangs up */
    HTTP_STEP_WORK,    /* with the body or handler threads */
    HTTP_STEP_SENT,    /* the answer was queued */
};

struct http_answer {
    int status; /* 0: none yet */
    char content_type[96];
    uint8_t *body; /* owned */
    size_t len;
    struct http_content *content; /* owned: in its place if it is long */
    struct http_extra {
        struct http_extra *next;
        char *name, *value;
    } * headers; /* owned */
    bool close;
};

struct http_request {
    struct http_job job;
    struct http_server *server;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    /* One for the MHD side, one for whoever owes an answer. */
    _Atomic unsigned refs;
    enum http_step step;
    bool owed;      /* guarded by server->lock: a handler is to answer */
    bool abandoned; /* guarded by server->lock: the client is answered without the handler, with
                       `late`; what the handler answers is dropped */
    int64_t due_ms; /* guarded by server->lock: when the answer is due, 0 = no limit */
    struct http_request *prev_owed, *next_owed; /* guarded by server->lock */
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
    char *header_text; /* owned: the fields as NUL-terminated texts */
    struct http_pair headers[HTTP_MAX_HEADERS];
    struct http_field fields[HTTP_MAX_HEADERS];
    size_t n_headers, header_size;
    struct http_framing framing;
    enum http_coding coding;
    int64_t project_id, token_id;
    uint64_t own_max; /* of this body, below the route's; 0 = the route's */

    struct http_holding memory, disk; /* what this request holds of the server's budgets */
    struct http_memory body;          /* HTTP_BODY_MEMORY: as sent, then inflated */
    struct http_memory stage;         /* HTTP_BODY_FILE: not written yet */
    int fd;                           /* HTTP_BODY_FILE; -1 */
    uint64_t file_size;
    struct http_inflate *inflate;
    _Atomic bool elsewhere; /* another thread has it: the body's bytes have to wait */
    bool body_complete;
    enum fz_code body_code; /* why the body was refused */
    int body_status;
    struct fz_error body_error;
    uint64_t refused_limit; /* told in the error's detail; 0 = none */
    struct http_answer answer;
    struct http_answer late; /* in its place once the request is abandoned; guarded by server->lock
                                until then */
};

struct http_server {
    struct MHD_Daemon *daemon;
    int listen_fd;
    char url[96];
    char *temp_dir;
    const struct http_route *routes;
    struct metrics_route **route_metrics; /* one a route, the last for requests without one */
    size_t n_routes;
    http_authorize_fn authorize;
    http_stuck_fn is_stuck;
    void *app;
    const char *cors_origins; /* NULL = none */
    struct limits limits;
    struct http_proxies proxies;
    struct metrics *metrics;              /* NULL once the server has ended */
    struct http_pool *readers, *handlers; /* readers: for GET */
    struct http_pool *body_threads, *file_threads;
    pthread_t sweeper;
    bool sweeping;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a request ended, or the server is to stop */
    struct http_conn *conns;
    size_t n_conns, n_active; /* guarded by lock; active: between header and end of the answer */
    struct http_request *owed;
    bool sweeper_ends, gives_up; /* guarded by lock */
    _Atomic bool stopping, stuck;
    /* Bodies in memory, of those whose token is known and of those who have not shown one; and on
     * disk, of the latter only. */
    struct http_budget body_memory, unknown_memory, unknown_disk;
    struct http_contents contents; /* of answers */
    _Atomic unsigned refs;         /* the owner's and one a request */
};

/* conn.c */
enum MHD_Result http_conn_accept(void *server, const struct sockaddr *address, socklen_t len);
void http_conn_notify(void *server, struct MHD_Connection *mhd, void **socket_context,
                      enum MHD_ConnectionNotificationCode what);
/* False if the sweeper was faster: the connection is shut down. */
bool http_conn_enter(struct http_conn *conn, enum http_phase phase);
void http_conn_line_seen(struct http_conn *conn);
/* Body bytes came in. */
void http_conn_progress(struct http_conn *conn, size_t len);
/* The answer moves on. */
void http_conn_touch(struct http_conn *conn);
/* We keep the client waiting within a body, and go on. */
void http_conn_pause(struct http_conn *conn);
bool http_conn_go_on(struct http_conn *conn);
void *http_conn_sweep(void *server); /* the sweeper's thread */
void http_conn_end_idle(struct http_server *server);

/* request.c: libmicrohttpd's callbacks. */
void *http_request_on_line(void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_request_on_data(void *server, struct MHD_Connection *mhd, const char *url,
                                     const char *method, const char *version, const char *data,
                                     size_t *data_len, void **context);
void http_request_on_completed(void *server, struct MHD_Connection *mhd, void **context,
                               enum MHD_RequestTerminationCode code);
void http_request_unref(struct http_request *request);

/* server.c */
void http_server_unref(struct http_server *server);
/* Somebody else is to answer the request, whose connection is suspended, or to decide about it. */
void http_server_owe(struct http_request *request, int64_t within_ms);
/* The request is whole and its connection suspended: a handler thread takes over. */
void http_server_hand_over(struct http_request *request);
/* request->answer is filled: send it. Drops the reference of whoever owed the answer. */
void http_server_hand_back(struct http_request *request);
/* On the sweeper's thread: answer those whose time is over. */
void http_server_answer_late(struct http_server *server);

/* header.c: from the header alone, what is to become of the request. FZ_OK, or the refusal in
 * request->body_*. request->step is HTTP_STEP_JUDGE afterwards if that is still to be found out;
 * then http_header_admit() is to be called after http_authorize_end(). */
FZ_MUST_CHECK enum fz_code http_header_judge(struct http_request *request, const char *method,
                                             const char *version);
FZ_MUST_CHECK enum fz_code http_header_admit(struct http_request *request);

/* body.c */
/* How many bytes the body may have as sent. */
uint64_t http_body_max(const struct http_request *request);
/* Take bytes as sent. *ret_full: they are to be worked on by a body thread before more come. */
FZ_MUST_CHECK enum fz_code http_body_add(struct http_request *request, struct fz_span bytes,
                                         bool *ret_full);
/* On a body thread: inflate, write. */
void http_body_work(struct http_request *request);
void http_body_deinit(struct http_request *request);
/* A file without a name; -1 with errno. */
int http_open_temp(const char *folder);
FZ_MUST_CHECK enum fz_code http_body_refuse(struct http_request *request, int status,
                                            enum fz_code code, uint64_t limit, const char *fmt, ...)
    FZ_PRINTF(5, 6);

/* respond.c */
/* The answer that the client gets. On the HTTP thread, with the request in its hands. */
struct http_answer *http_answer_of(struct http_request *request);
/* Fill request->answer with the error. */
void http_answer_error(struct http_request *request, int status, const struct fz_error *err,
                       const char *detail_json);
/* The refusal in request->body_*, as an answer. */
void http_answer_refusal(struct http_request *request);
/* What was added so far is for the late answer too. Before another thread gets the request. */
void http_answer_keep_headers(struct http_request *request);
/* Whatever has not been answered in time: fill request->late, unless there is a fallback. */
void http_answer_late(struct http_request *request);
enum MHD_Result http_answer_queue(struct http_request *request);
/* Past libmicrohttpd, which cannot answer while a body comes in: write the answer at once. */
void http_answer_send_now(struct http_request *request);
void http_answer_deinit(struct http_answer *answer);

/* request_id.c */
/* 1 to 64 letters, digits, '.', '_' and '-'. */
bool http_request_id_is_sane(const char *text);
/* A random name; later the client's own, if its header has a sane one. */
void http_request_id_make(struct http_request *request);
void http_request_id_take(struct http_request *request);

/* public.c */
/* The error as a client may see it: what came from inside the server is logged, and replaced. */
void http_public_error(const struct http_request *request, const struct fz_error *err,
                       struct fz_error *ret);

/* cors.c */
/* Add what pages of other origins need to read the answer; the route is known. */
void http_cors_answer(struct http_request *request);

/* access.c */
/* One line, and the counters. `status` 0: no answer of ours went out. */
void http_log_request(struct http_request *request, int status, int64_t took_us, bool delivered);

#endif
