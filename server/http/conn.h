/*
 * Connections: how many there may be, and how long each may take.
 *
 * A connection belongs to libmicrohttpd's thread; what other threads see of it is guarded by
 * server->lock.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include <microhttpd.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "server/http/client.h"
#include "server/http/wire.h"

struct http_server;

enum {
    HTTP_BODY_GRACE_MS = 5000, /* the minimum rate counts over windows of this length */
    HTTP_IDLE_MS = 60 * 1000,  /* between two requests of a connection */
    HTTP_DRAIN_MS = 2000,      /* how long a refused body is still read */
    HTTP_SPARE_CONNS = 64,     /* beyond the limit, while those that were ended are cleaned up */
};

/* What a connection is waiting for; decides which deadline counts. */
enum http_phase {
    HTTP_PHASE_HEADER,  /* the client: a request line, or the rest of the header */
    HTTP_PHASE_BODY,    /* the client: more of the body */
    HTTP_PHASE_RUNNING, /* the server */
    HTTP_PHASE_ANSWER,  /* the client: taking the answer */
    HTTP_PHASE_DRAIN,   /* the client: hanging up after a refusal */
    HTTP_PHASE_DEAD,    /* shut down by the sweeper */
};

struct http_conn {
    LIST_ENTRY(http_conn) link; /* guarded by server->lock, as are the next six */
    enum http_phase phase;
    int64_t phase_ms;             /* monotonic: when the phase began */
    int64_t window_ms, paused_ms; /* body: the current rate window; time the server made it wait */
    uint64_t window_bytes;        /* body: bytes that came in the window */
    unsigned body_max_s;          /* body: whole time, 0 = no limit */
    bool first, line_seen;        /* header: of the first request; request line is there */
    struct http_server *server;
    int fd;
    struct fz_ip address; /* the peer's */
    struct http_client peer;
    /* libmicrohttpd's thread, for filter.h: what has come in, and what has become of it. */
    struct http_wire wire;
    uint64_t n_headers, n_answered; /* of requests */
    struct http_request *request;   /* whose line was read, until libmicrohttpd has completed it */
    int refused_status;             /* by the filter; 0 = not */
};

/* libmicrohttpd's callbacks. */
enum MHD_Result http_conn_accept(void *server, const struct sockaddr *address, socklen_t len);
void http_conn_notify(void *server, struct MHD_Connection *mhd, void **socket_context,
                      enum MHD_ConnectionNotificationCode what);

/* False if the sweeper was faster: the connection is shut down. */
bool http_conn_enter(struct http_conn *conn, enum http_phase phase);
/* From reading a request to DRAIN; false if none is being read. *ret_begun: its request line was there. */
bool http_conn_stop_reading(struct http_conn *conn, bool *ret_begun);
void http_conn_line_seen(struct http_conn *conn);
/* Body bytes came in. */
void http_conn_progress(struct http_conn *conn, size_t len);
/* The answer moves on. */
void http_conn_touch(struct http_conn *conn);
/* The server has to make more of the answer before it moves on. */
void http_conn_hold(struct http_conn *conn);
/* For an answer of small pieces that may all be in the kernel's buffers: the kernel ends the connection if the client takes
 * nothing of them for answer_s seconds. */
void http_conn_must_take(struct http_conn *conn);
/* Has the client closed the connection, or its side of it? While the connection is suspended. */
bool http_conn_has_hung_up(const struct http_conn *conn);
/* The server makes the client wait within a body, and goes on. */
void http_conn_pause(struct http_conn *conn);
bool http_conn_go_on(struct http_conn *conn);

/* Shut down the connections that take longer than they may, and those that wait for no request. */
void http_conn_end_late(struct http_server *server);
void http_conn_end_idle(struct http_server *server);

#endif
