/* With it, glibc's recv() is inline, and clang takes the one below for the same. */
#undef _FORTIFY_SOURCE
#include "server/http/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/json/write.h"
#include "base/list.h"
#include "base/log.h"
#include "server/http/conn.h"
#include "server/http/server.h"

/* recv() has no other parameter that leads to the server. Set on libmicrohttpd's thread alone. */
static _Thread_local const struct http_filter *filter_of_thread;

static void
add(struct http_conn *conn)
{
    struct http_filter *filter = &conn->server->filter;
    size_t fd = (size_t)conn->fd;
    if (fd >= filter->n) {
        size_t room = filter->n, before = filter->n;
        struct http_conn **grown =
            fz_list_grow(NULL, filter->by_fd, &room, fd + 1, sizeof(filter->by_fd[0]));
        if (!grown)
            return;
        memset(grown + before, 0, (room - before) * sizeof(grown[0]));
        filter->by_fd = grown;
        filter->n = room;
    }
    filter->by_fd[fd] = conn;
    filter_of_thread = filter;
}

void
http_filter_notify(void *server, struct MHD_Connection *mhd, void **socket_context,
                   enum MHD_ConnectionNotificationCode what)
{
    struct http_filter *filter = &((struct http_server *)server)->filter;
    struct http_conn *conn = *socket_context;
    /* Before the descriptor is closed, and may be that of another connection. */
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && conn && (size_t)conn->fd < filter->n)
        filter->by_fd[conn->fd] = NULL;
    http_conn_notify(server, mhd, socket_context, what);
    /* Without memory for that, the check in header.c refuses its requests. */
    if (what == MHD_CONNECTION_NOTIFY_STARTED && *socket_context)
        add(*socket_context);
}

void
http_filter_deinit(struct http_filter *filter)
{
    free(filter->by_fd);
    *filter = (struct http_filter){0};
}

bool
http_filter_has_seen(struct http_conn *conn)
{
    return ++conn->n_headers <= conn->wire.n_headers;
}

/* ---- refusals ---------------------------------------------------------------------------- */

static size_t
write_refusal(enum http_wire_fault fault, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct json_write w = json_write_start(&body);
    int status = http_wire_status(fault);
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "error", '{');
    json_write_text(&w, "code",
                    fz_code_name(status == 413 || status == 414 ? FZ_E_LIMIT : FZ_E_MALFORMED));
    json_write_text(&w, "message", http_wire_text(fault));
    json_write_close(&w, '}');
    json_write_close(&w, '}');
    fz_buffer_printf(out,
                     "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                     "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                     status, MHD_get_reason_phrase_for((unsigned)status), body.len);
    fz_buffer_append(out, body.data, body.len);
    return body.len;
}

/* Answer the client past libmicrohttpd, and drop what else it sends until it hangs up. */
static void
refuse(struct http_conn *conn)
{
    enum http_wire_fault fault = conn->wire.fault;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    bool has_request;
    conn->refused_status = http_wire_status(fault);
    /* Before an answer that has not been given, a client would take this one for it. */
    if (!http_conn_stop_reading(conn, &has_request))
        return;
    size_t len = write_refusal(fault, &text);
    /* A few hundred bytes fit into the empty send buffer. */
    ssize_t n_sent = send(conn->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)n_sent; /* a client that does not read gets no answer */
    shutdown(conn->fd, SHUT_WR);
    if (has_request)
        return; /* it has a line in the log when it ends */
    fz_log(FZ_LOG_INFO, "request", "id=- method=- route=none status=%d out=%zu ip=%s fault=\"%s\"",
           conn->refused_status, len, conn->peer.text, http_wire_text(fault));
    atomic_fetch_add(
        &conn->server->route_metrics[conn->server->n_routes]->by_class[conn->refused_status / 100],
        1);
}

void
http_filter_go_on(struct http_conn *conn)
{
    const struct http_wire *wire = &conn->wire;
    conn->n_answered++;
    if (wire->fault != HTTP_WIRE_SOUND && !conn->refused_status &&
        conn->n_answered >= wire->n_messages)
        refuse(conn);
}

/* ---- recv -------------------------------------------------------------------------------- */

/* A connection that was refused: its bytes are read, so that closing it does not reset it, and dropped. */
static ssize_t
drop(int fd, void *buf, size_t len)
{
    ssize_t n;
    /* Until nothing is left, since epoll reports only what is new. The client cannot hold this up: the sweeper ends the
     * connection, and one round takes what the kernel's buffer has. */
    for (int round = 0; round < 64; round++) {
        n = recvfrom(fd, buf, len, 0, NULL, NULL);
        if (n <= 0)
            return n;
    }
    errno = EAGAIN;
    return -1;
}

/*
 * The client has hung up in the middle of a request, and what it had sent is read. epoll has reported its end together with these
 * bytes, and libmicrohttpd does not read again before it reports something new: this does.
 */
static void
notice_end(int fd)
{
    char byte;
    if (recvfrom(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) == 0)
        shutdown(fd, SHUT_RD);
}

/* `n` bytes that were read of at most `len`. */
static ssize_t
pass_on(struct http_conn *conn, void *buf, size_t n, size_t len)
{
    size_t ended;
    size_t n_sound = http_wire_feed(&conn->wire, fz_span_make(buf, n), &ended);
    if (conn->wire.fault == HTTP_WIRE_SOUND && n < len && ended < n)
        notice_end(conn->fd);
    if (conn->wire.fault == HTTP_WIRE_SOUND)
        return (ssize_t)n_sound;
    /* The requests before it are served, and answered first. */
    if (ended > 0)
        return (ssize_t)ended;
    refuse(conn);
    errno = EAGAIN;
    return -1;
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
    const struct http_filter *filter = filter_of_thread;
    struct http_conn *conn = filter && fd >= 0 && (size_t)fd < filter->n ? filter->by_fd[fd] : NULL;
    if (!conn || (flags & MSG_PEEK))
        return recvfrom(fd, buf, len, flags, NULL, NULL);
    /* Only one thread reads a connection, and it is this one. */
    if (conn->wire.fault != HTTP_WIRE_SOUND) {
        if (!conn->refused_status)
            refuse(conn);
        return drop(fd, buf, len);
    }
    ssize_t n = recvfrom(fd, buf, len, flags, NULL, NULL);
    return n > 0 ? pass_on(conn, buf, (size_t)n, len) : n;
}
