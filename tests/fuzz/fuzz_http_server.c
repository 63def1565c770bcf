/*
 * A connection to the HTTP server: the input is what the client sends, over a pair of sockets.
 *
 * The routes answer at once and take no token. Whatever is sent, the server answers in HTTP/1.1 or not at all, ends the
 * connection once the client has ended its side, and goes on serving.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "server/http/server.h"

/* Long: a campaign that is held, or has no time of the CPU, is no hang. */
enum { ANSWER_MS = 600 * 1000 };

static void
on_request(void *app, struct http_request *request)
{
    (void)app;
    uint64_t size = 0;
    struct fz_span body = http_body(request);
    fz_ignore(http_body_fd(request, &size)); /* -1 for the others */
    if (body.len > 10000 || size > 100000)
        abort();
    http_respond_json(request, 200, fz_span_cstr("{}"));
}

static const struct http_route routes[] = {
    {"GET", "/items/{id}", HTTP_BODY_NONE, 0, 0, 0, 0, "item", on_request, 0, NULL, NULL},
    {"POST", "/memory", HTTP_BODY_MEMORY, 10000, 10000, 0, 0, "memory", on_request, 0, NULL, NULL},
    {"POST", "/file", HTTP_BODY_FILE, 100000, 100000, 0, 0, "file", on_request, HTTP_ROUTE_LOOSE,
     NULL, NULL},
};

static void
must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_http_server: %s\n", what);
    abort();
}

/* Started with the first input, and never stopped. */
static struct http_server *
start(void)
{
    static struct http_server *server;
    static struct limits limits;
    struct metrics *metrics = NULL;
    int metrics_fd = -1;
    struct fz_error err;
    if (server)
        return server;
    fz_log_set_level(FZ_LOG_ERROR);
    limits = limits_default();
    must(metrics_create(&metrics, &metrics_fd, &err) == FZ_OK, "no metrics");
    struct http_config config = {.listen = "127.0.0.1:0",
                                 .routes = routes,
                                 .n_routes = FZ_ARRAY_LEN(routes),
                                 .limits = &limits,
                                 .metrics = metrics};
    must(http_start(&config, &server, &err) == FZ_OK, err.text);
    return server;
}

/* What the server sends until it ends the connection; only the start is kept. */
static size_t
read_all(int fd, char start_of[16])
{
    char bytes[4096];
    size_t len = 0;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        must(poll(&wait, 1, ANSWER_MS) > 0, "the server does not end the connection");
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        if (n <= 0)
            return len;
        for (ssize_t i = 0; i < n && len + (size_t)i < 16; i++)
            start_of[len + (size_t)i] = bytes[i];
        len += (size_t)n;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_server *server = start();
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char start_of[16] = "";
    int fds[2];
    if (size > 64 * 1024) /* what the pair's buffer takes */
        return 0;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "no pair of sockets");
    must(send(fds[0], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size,
         "the pair is full");
    must(shutdown(fds[0], SHUT_WR) == 0, "the side cannot be ended");
    must(MHD_add_connection(server->daemon, fds[1], (const struct sockaddr *)&peer, sizeof(peer)) ==
             MHD_YES,
         "the connection is not taken");
    size_t len = read_all(fds[0], start_of);
    must(len == 0 || (len > 12 && memcmp(start_of, "HTTP/1.1 ", 9) == 0), "the answer is not HTTP");
    close(fds[0]);
    return 0;
}
