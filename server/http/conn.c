/*
 * Connections: how many there may be, and how long each may take.
 *
 * libmicrohttpd's own timeout counts inactivity only, so a client that sends one byte a second
 * never times out. Here each connection has a phase with a deadline or a minimum rate, and a
 * sweeper thread shuts down the socket of each one that misses it; libmicrohttpd then sees the end
 * of file and cleans up.
 */
#include "server/http/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "server/http/server.h"

static struct fz_ip
address_of(const struct sockaddr *address)
{
    struct fz_ip ip = {{0}};
    if (address->sa_family == AF_INET6) {
        /* Copied: the address may not be aligned for this type. */
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof(v6));
        memcpy(ip.bytes, &v6.sin6_addr, sizeof(ip.bytes));
    } else if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        /* As IPv4-mapped IPv6, so that one comparison serves both families. */
        ip.bytes[10] = ip.bytes[11] = 0xff;
        memcpy(&ip.bytes[12], &v4.sin_addr, 4);
    }
    return ip;
}

/* The table is full: end the connection that has been idle for longest, if there is one. Those that
 * were ended leave the table a moment later, and libmicrohttpd has HTTP_SPARE_CONNS places more.
 * Under the lock. */
static bool
make_room(struct http_server *server)
{
    struct http_conn *idle = NULL;
    for (struct http_conn *conn = LIST_FIRST(&server->conns); conn; conn = LIST_NEXT(conn, link)) {
        /* No request has begun, so no client loses an answer. */
        bool is_idle = conn->phase == HTTP_PHASE_HEADER && !conn->line_seen;
        if (is_idle && (!idle || conn->phase_ms < idle->phase_ms))
            idle = conn;
    }
    if (!idle || server->n_conns >= server->limits.connections + HTTP_SPARE_CONNS)
        return false;
    idle->phase = HTTP_PHASE_DEAD;
    shutdown(idle->fd, SHUT_RDWR);
    return true;
}

enum MHD_Result
http_conn_accept(void *arg, const struct sockaddr *address, socklen_t len FZ_UNUSED)
{
    struct http_server *server = arg;
    struct fz_ip ip = address_of(address);
    struct http_client peer;
    http_client_of(&ip, &peer);
    /* A proxy, or a program on this machine, may send for many clients. */
    bool many = http_address_is_loopback(&ip) || http_proxies_trust(&server->proxies, &ip);
    pthread_mutex_lock(&server->lock);
    bool welcome = true;
    if (!many) {
        unsigned same = 0;
        for (const struct http_conn *conn = LIST_FIRST(&server->conns); conn;
             conn = LIST_NEXT(conn, link))
            same += memcmp(&conn->peer.key, &peer.key, sizeof(peer.key)) == 0;
        welcome = same < server->limits.per_address;
    }
    if (welcome && server->n_conns >= server->limits.connections)
        welcome = make_room(server);
    pthread_mutex_unlock(&server->lock);
    if (!welcome)
        atomic_fetch_add(&server->metrics->http_connections_refused, 1);
    return welcome ? MHD_YES : MHD_NO;
}

static struct http_conn *
conn_create(struct http_server *server, struct MHD_Connection *mhd)
{
    struct http_conn *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return NULL;
    conn->server = server;
    /* No request line yet: a new connection has header_s for it, a reused one HTTP_IDLE_MS. */
    conn->first = true;
    conn->phase_ms = fz_time_monotonic_ms();
    conn->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (peer)
        conn->address = address_of(peer->client_addr);
    http_client_of(&conn->address, &conn->peer);
    pthread_mutex_lock(&server->lock);
    LIST_INSERT_HEAD(&server->conns, conn, link);
    server->n_conns++;
    pthread_mutex_unlock(&server->lock);
    atomic_fetch_add(&server->metrics->http_connections, 1);
    return conn;
}

static void
conn_destroy(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    LIST_REMOVE(conn, link);
    server->n_conns--;
    pthread_mutex_unlock(&server->lock);
    atomic_fetch_sub(&server->metrics->http_connections, 1);
    free(conn);
}

void
http_conn_notify(void *arg, struct MHD_Connection *mhd, void **socket_context,
                 enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = arg;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = conn_create(server, mhd);
    } else if (*socket_context) {
        /* Called before the descriptor is closed, so the sweeper never meets a reused one. */
        conn_destroy(*socket_context);
        *socket_context = NULL;
    }
}

bool
http_conn_enter(struct http_conn *conn, enum http_phase phase)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    bool alive = conn->phase != HTTP_PHASE_DEAD;
    if (alive) {
        conn->phase = phase;
        conn->phase_ms = conn->window_ms = now;
        conn->window_bytes = 0;
        conn->paused_ms = 0;
        /* The next request line of this connection has not come yet. */
        conn->line_seen = false;
        conn->first = conn->first && phase == HTTP_PHASE_HEADER;
    }
    pthread_mutex_unlock(&conn->server->lock);
    return alive;
}

bool
http_conn_stop_reading(struct http_conn *conn, bool *ret_begun)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    bool reads = conn->phase == HTTP_PHASE_HEADER || conn->phase == HTTP_PHASE_BODY;
    *ret_begun = conn->phase == HTTP_PHASE_BODY || conn->line_seen;
    if (reads) {
        conn->phase = HTTP_PHASE_DRAIN;
        conn->phase_ms = now;
    }
    pthread_mutex_unlock(&conn->server->lock);
    return reads;
}

void
http_conn_line_seen(struct http_conn *conn)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    conn->line_seen = true;
    /* On the first request the time since accept counts too: a client gets header_s once, not
     * once to connect and once to send. */
    if (!conn->first)
        conn->phase_ms = now;
    pthread_mutex_unlock(&conn->server->lock);
}

void
http_conn_progress(struct http_conn *conn, size_t len)
{
    pthread_mutex_lock(&conn->server->lock);
    conn->window_bytes += len;
    pthread_mutex_unlock(&conn->server->lock);
}

void
http_conn_touch(struct http_conn *conn)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    conn->phase_ms = now;
    if (conn->phase == HTTP_PHASE_RUNNING)
        conn->phase = HTTP_PHASE_ANSWER;
    pthread_mutex_unlock(&conn->server->lock);
}

void
http_conn_hold(struct http_conn *conn)
{
    pthread_mutex_lock(&conn->server->lock);
    if (conn->phase == HTTP_PHASE_ANSWER)
        conn->phase = HTTP_PHASE_RUNNING;
    pthread_mutex_unlock(&conn->server->lock);
}

void
http_conn_must_take(struct http_conn *conn)
{
    /* Counts for bytes that were not acknowledged and for those that a full receiver keeps back (tcp(7)). */
    unsigned ms = conn->server->limits.answer_s * 1000;
    fz_ignore(
        setsockopt(conn->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms))); /* then later */
}

bool
http_conn_has_hung_up(const struct http_conn *conn)
{
    char byte;
    ssize_t n = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void
http_conn_pause(struct http_conn *conn)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    /* While the server writes the last piece to disk, the client is not slow. */
    if (conn->phase == HTTP_PHASE_BODY) {
        conn->phase = HTTP_PHASE_RUNNING;
        conn->paused_ms = now;
    }
    pthread_mutex_unlock(&conn->server->lock);
}

bool
http_conn_go_on(struct http_conn *conn)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&conn->server->lock);
    bool alive = conn->phase != HTTP_PHASE_DEAD;
    if (conn->phase == HTTP_PHASE_RUNNING) {
        conn->phase = HTTP_PHASE_BODY;
        /* The pause is not the client's: both clocks go on where they stopped. */
        conn->phase_ms += now - conn->paused_ms;
        conn->window_ms += now - conn->paused_ms;
    }
    pthread_mutex_unlock(&conn->server->lock);
    return alive;
}

/* The body's whole time, and its rate over windows of HTTP_BODY_GRACE_MS. */
static bool
body_is_late(struct http_conn *conn, const struct limits *limits, int64_t now)
{
    if (conn->body_max_s && now - conn->phase_ms > (int64_t)conn->body_max_s * 1000)
        return true;
    int64_t window = now - conn->window_ms;
    /* Over a shorter time, a network that stalls for a moment would look like a slow client. */
    if (window < HTTP_BODY_GRACE_MS)
        return false;
    if (conn->window_bytes < (uint64_t)limits->min_body_rate * (uint64_t)window / 1000)
        return true;
    conn->window_ms = now;
    conn->window_bytes = 0;
    return false;
}

static bool
is_late(struct http_conn *conn, const struct limits *limits, int64_t now)
{
    int64_t age = now - conn->phase_ms;
    switch (conn->phase) {
    case HTTP_PHASE_HEADER: {
        /* A client may rest between requests for longer than a header may take. */
        bool idle = !conn->first && !conn->line_seen;
        return age > (idle ? HTTP_IDLE_MS : (int64_t)limits->header_s * 1000);
    }
    case HTTP_PHASE_BODY:
        return body_is_late(conn, limits, now);
    case HTTP_PHASE_ANSWER:
        return age > (int64_t)limits->answer_s * 1000;
    case HTTP_PHASE_DRAIN:
        return age > HTTP_DRAIN_MS;
    /* A handler has its own deadline, see pending.c. */
    case HTTP_PHASE_RUNNING:
    case HTTP_PHASE_DEAD:
        return false;
    }
    return false;
}

/* Answer a client that was too slow with 408 if nothing was answered yet, and end its connection.
 * Under the lock: the MHD thread cannot begin an answer meanwhile, and the descriptor stays open.
 */
static void
end_late(struct http_server *server, struct http_conn *conn)
{
    /* Written here and not by answer.c, since no request may exist yet, and the MHD thread owns
     * the one that does. */
    static const char body[] = "{\"error\":{\"code\":\"limit\",\"message\":\"the request took too "
                               "long to arrive\"}}";
    /* A 408 cannot follow an answer that has begun; between two requests a client expects none. */
    bool reading =
        conn->phase == HTTP_PHASE_BODY || (conn->phase == HTTP_PHASE_HEADER && conn->line_seen);
    if (reading) {
        char text[512];
        int len = snprintf(text, sizeof(text),
                           "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
                           "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                           sizeof(body) - 1, body);
        if (len > 0) {
            ssize_t n_sent = send(conn->fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
            (void)n_sent; /* a client that does not read gets no answer */
        }
    }
    /* An idle or a drained connection has lost nothing, so its end is not counted as a timeout. */
    bool counts = conn->phase != HTTP_PHASE_DRAIN && (reading || conn->phase != HTTP_PHASE_HEADER);
    if (counts || conn->first)
        atomic_fetch_add(&server->metrics->http_timeouts, 1);
    conn->phase = HTTP_PHASE_DEAD;
    shutdown(conn->fd, SHUT_RDWR);
}

void
http_conn_end_late(struct http_server *server)
{
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&server->lock);
    for (struct http_conn *conn = LIST_FIRST(&server->conns); conn; conn = LIST_NEXT(conn, link)) {
        if (is_late(conn, &server->limits, now))
            end_late(server, conn);
    }
    pthread_mutex_unlock(&server->lock);
}

void
http_conn_end_idle(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (struct http_conn *conn = LIST_FIRST(&server->conns); conn; conn = LIST_NEXT(conn, link)) {
        /* It waits for nothing, so its end loses nothing, and the server need not wait for it. */
        if (conn->phase == HTTP_PHASE_HEADER && !conn->line_seen) {
            conn->phase = HTTP_PHASE_DEAD;
            shutdown(conn->fd, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&server->lock);
}
