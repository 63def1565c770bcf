/*
 * Between the sockets and libmicrohttpd: bytes whose framing is not sound never reach it (wire.h), and their sender gets a 400.
 *
 * libmicrohttpd 0.9 has no hook there, and a pair of sockets for each connection would cost a copy and two system calls for
 * each piece of a body. It calls recv(), though, which the dynamic linker takes from this program: filter.c defines it. For a
 * descriptor that is not a client's, and on every thread but libmicrohttpd's, that is recvfrom() and nothing else. A request of 17
 * KB costs half a microsecond, of 200 or more that an acknowledged report takes.
 */
#ifndef HTTP_FILTER_H
#define HTTP_FILTER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct http_conn;
struct http_server;

struct http_filter {
    struct http_conn **by_fd; /* libmicrohttpd's thread */
    size_t n;
};

/* libmicrohttpd's callback: http_conn_notify(), and the connection's bytes are judged from now on. */
void http_filter_notify(void *server, struct MHD_Connection *mhd, void **socket_context,
                        enum MHD_ConnectionNotificationCode what);
void http_filter_deinit(struct http_filter *filter);

/* The header of another request was read. False: the filter has not seen it, so its lines were not judged. */
bool http_filter_has_seen(struct http_conn *conn);
/* A request was answered. If the bytes after it are not sound, they are refused now. */
void http_filter_go_on(struct http_conn *conn);

#endif
