/*
 * Start and stop of the server: socket, daemon, threads.
 */
#include "server/http/http.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/file.h"
#include "base/time.h"
#include "server/http/callbacks.h"
#include "server/http/conn.h"
#include "server/http/filter.h"
#include "server/http/pending.h"
#include "server/http/server.h"
#include "server/http/streaming.h"

enum {
    BACKLOG = 1024,
    BODY_THREADS = 2,
    READERS_MIN = 4,
    READERS_MAX = 12,
    SEARCHERS_MIN = 2, /* so that a slow search does not hold up all others */
    SEARCHERS_MAX = 8,
    HANDLERS = 16,
    STREAM_THREADS = 4,
    SWEEP_MS = 100,
    FIRST_NICE = 10, /* ten times the share of others */
    LISTEN_WAIT_MS = 2000,
    LISTEN_EVERY_MS = 20,
};

static int
open_socket(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->ai_protocol);
    if (fd < 0)
        return -1;
    int on = 1, off = 0;
    /* A restarted server must not wait for the old connections to leave TIME_WAIT. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->ai_family == AF_INET6) /* ":8480" serves IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    /* close() must not hide why it failed. */
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* Without a host the one IPv6 socket takes both families, if the machine has IPv6. */
static int
open_first(const struct addrinfo *list, bool has_host)
{
    int fd = -1;
    for (int want_v6 = has_host ? 0 : 1; fd < 0 && want_v6 >= 0; want_v6--) {
        for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
            if (has_host || (at->ai_family == AF_INET6) == (want_v6 == 1))
                fd = open_socket(at);
        }
    }
    return fd;
}

static enum fz_code
listen_on(struct http_server *server, const char *where, struct fz_error *err)
{
    struct fz_address address;
    char port[16];
    enum fz_code code = fz_address_parse(where, &address, err);
    if (code != FZ_OK)
        return code;
    const char *host = address.host;
    snprintf(port, sizeof(port), "%u", address.port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(*host ? host : NULL, port, &hints, &list);
    if (failed)
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot listen on %s: %s", where,
                       gai_strerror(failed));
    /* A server that was killed has its socket until the last of its threads is gone. */
    int64_t end = fz_time_monotonic_ms() + LISTEN_WAIT_MS;
    while ((server->listen_fd = open_first(list, *host != '\0')) < 0 && errno == EADDRINUSE &&
           fz_time_monotonic_ms() < end)
        fz_time_sleep_ms(LISTEN_EVERY_MS);
    freeaddrinfo(list);
    if (server->listen_fd < 0) {
        fz_fail_errno(err, "cannot listen on %s", where);
        return FZ_E_UNAVAILABLE;
    }
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    char name[INET6_ADDRSTRLEN + 32], number[16];
    /* With port 0 only the system knows which one it is. */
    if (getsockname(server->listen_fd, (struct sockaddr *)&bound, &len) != 0 ||
        getnameinfo((struct sockaddr *)&bound, len, name, sizeof(name), number, sizeof(number),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return fz_fail_errno(err, "cannot read the address of %s", where);
    /* A URL for people and tests: the address "any" cannot be connected to everywhere. */
    bool any = strcmp(name, "::") == 0 || strcmp(name, "0.0.0.0") == 0;
    bool v6 = !any && strchr(name, ':');
    snprintf(server->url, sizeof(server->url), "http://%s%s%s:%s", v6 ? "[" : "",
             any ? "127.0.0.1" : name, v6 ? "]" : "", number);
    return FZ_OK;
}

/* A connection is a descriptor; the usual soft limit of 1,024 is too low. */
static void
raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        fz_ignore(setrlimit(RLIMIT_NOFILE, &files)); /* then fewer connections fit */
    }
}

/* libmicrohttpd would decode %XX in place; uri.c does it after the split into segments and pairs.
 */
static size_t
leave_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
    (void)arg, (void)mhd;
    return strlen(text);
}

/* All clients wait for libmicrohttpd's thread, which does little for each: in overload the many threads and children that work on
 * reports would leave it a small part of a processor, and refusals would take seconds. It inherits this priority. */
static int
raise_priority(void)
{
    int before = getpriority(PRIO_PROCESS, 0);
    fz_ignore(setpriority(PRIO_PROCESS, 0, before - FIRST_NICE)); /* not everybody may */
    return before;
}

static enum fz_code
start_daemon(struct http_server *server, struct fz_error *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    /* header.c checks lines and Host itself, since its answers have the API's form. */
#if MHD_VERSION >= 0x00097701
    struct MHD_OptionItem strict[] = {{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
                                      {MHD_OPTION_END, 0, NULL}};
#else
    struct MHD_OptionItem strict[] = {{MHD_OPTION_END, 0, NULL}};
#endif
    int nice = raise_priority();
    server->daemon = MHD_start_daemon(
        flags, 0, http_conn_accept, server, http_request_on_data, server,           /* */
        MHD_OPTION_LISTEN_SOCKET, server->listen_fd,                                /* */
        MHD_OPTION_CONNECTION_LIMIT, server->limits.connections + HTTP_SPARE_CONNS, /* */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEADER_MEMORY,             /* */
        MHD_OPTION_CONNECTION_TIMEOUT, 0U,                                          /* see conn.c */
        MHD_OPTION_NOTIFY_CONNECTION, http_request_on_connection, server,           /* */
        MHD_OPTION_NOTIFY_COMPLETED, http_request_on_completed, server,             /* */
        MHD_OPTION_URI_LOG_CALLBACK, http_request_on_line, server,                  /* */
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL,                          /* */
        MHD_OPTION_ARRAY, strict, MHD_OPTION_END);
    fz_ignore(setpriority(PRIO_PROCESS, 0, nice)); /* lower always goes */
    if (!server->daemon)
        return fz_fail(err, FZ_E_UNAVAILABLE, "libmicrohttpd does not start on %s", server->url);
    return FZ_OK;
}

/* The sweeper's thread: ends what is late, of requests and of connections. */
static void *
sweep(void *arg)
{
    struct http_server *server = arg;
    bool ends = false;
    while (!ends) {
        /* Deadlines are seconds long, so a tenth is exact enough. */
        fz_time_sleep_ms(SWEEP_MS);
        http_pending_end_late(server);
        http_stream_sweep(server, atomic_load(&server->stuck));
        http_conn_end_late(server);
        http_load_look(&server->load, fz_time_monotonic_ms());
        pthread_mutex_lock(&server->lock);
        ends = server->sweeper_ends;
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

/* So many for each core. More would take time from reports: threads that yield get little each, and together much. */
static unsigned
count_threads(long for_each, long least, long most)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN) * for_each;
    return (unsigned)(n < least ? least : n > most ? most : n);
}

/* The parts in the order of their dependencies. */
static enum fz_code
start_parts(struct http_server *server, const struct http_config *config, struct fz_error *err)
{
    enum fz_code code = listen_on(server, config->listen, err);
    if (code == FZ_OK)
        code = http_pool_create(BODY_THREADS, HTTP_POOL_NORMAL, http_request_run_body,
                                &server->body_threads, err);
    if (code == FZ_OK)
        code = http_pool_create(HANDLERS, HTTP_POOL_NORMAL, http_pending_run_job, &server->handlers,
                                err);
    if (code == FZ_OK)
        code = http_pool_create(BODY_THREADS, HTTP_POOL_YIELDS, http_request_run_body,
                                &server->file_threads, err);
    if (code == FZ_OK)
        code = http_pool_create(count_threads(2, READERS_MIN, READERS_MAX), HTTP_POOL_YIELDS,
                                http_pending_run_job, &server->readers, err);
    if (code == FZ_OK)
        code = http_pool_create(count_threads(1, SEARCHERS_MIN, SEARCHERS_MAX), HTTP_POOL_YIELDS,
                                http_pending_run_job, &server->searchers, err);
    if (code == FZ_OK)
        code = http_pool_create(STREAM_THREADS, HTTP_POOL_YIELDS, http_stream_run_job,
                                &server->stream_threads, err);
    if (code == FZ_OK && pthread_create(&server->sweeper, NULL, sweep, server) != 0)
        code = fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    else if (code == FZ_OK)
        server->sweeping = true;
    if (code == FZ_OK)
        code = start_daemon(server, err);
    return code;
}

enum { LAST_ANSWERS_MS = 1000 };

/* Wait until no request is on its way, at most until `deadline_ms`; true if so. */
static bool
wait_quiet(struct http_server *server, int64_t deadline_ms)
{
    bool quiet = false;
    for (;;) {
        http_conn_end_idle(server);
        http_stream_end_idle(server);
        pthread_mutex_lock(&server->lock);
        int64_t now = fz_time_monotonic_ms();
        quiet = server->n_active == 0;
        if (!quiet && now < deadline_ms) {
            /* Also wake at intervals, for connections that have become idle. */
            int64_t until = now + SWEEP_MS < deadline_ms ? now + SWEEP_MS : deadline_ms;
            struct timespec at = {.tv_sec = (time_t)(until / 1000),
                                  .tv_nsec = (long)(until % 1000) * 1000000};
            pthread_cond_timedwait(&server->changed, &server->lock, &at);
        }
        pthread_mutex_unlock(&server->lock);
        if (quiet || now >= deadline_ms)
            return quiet;
    }
}

/* Stop what was started; a part ends before those it uses. */
static void
end_parts(struct http_server *server)
{
    if (server->daemon) {
        http_pending_end_all(server);
        http_stream_end_all(server);
    }
    /* Body threads may still resume connections, so they end before the daemon does. */
    http_pool_destroy(server->body_threads);
    http_pool_destroy(server->file_threads);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    http_pool_destroy(server->handlers);
    http_pool_destroy(server->readers);
    http_pool_destroy(server->searchers);
    http_pool_destroy(server->stream_threads);
    if (server->sweeping) {
        pthread_mutex_lock(&server->lock);
        server->sweeper_ends = true;
        pthread_mutex_unlock(&server->lock);
        pthread_join(server->sweeper, NULL);
    }
    fz_closep(&server->listen_fd);
    http_server_unref(server);
}

enum fz_code
http_start(const struct http_config *config, struct http_server **ret, struct fz_error *err)
{
    struct http_server *server = NULL;
    enum fz_code code = http_server_create(config, &server, err);
    if (code != FZ_OK)
        return code;
    raise_file_limit();
    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = start_parts(server, config, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != FZ_OK) {
        end_parts(server);
        return code;
    }
    *ret = server;
    return FZ_OK;
}

const char *
http_url(const struct http_server *server)
{
    return server->url;
}

void
http_stop(struct http_server *server, int64_t grace_ms)
{
    if (!server)
        return;
    atomic_store(&server->stopping, true);
    MHD_quiesce_daemon(server->daemon);
    /* libmicrohttpd may still use the socket, so it is closed later; shutdown() refuses the clients
     * in its queue now. */
    shutdown(server->listen_fd, SHUT_RDWR);
    if (!wait_quiet(server, fz_time_monotonic_ms() + grace_ms)) {
        http_pending_end_all(server);
        http_stream_end_all(server);
        /* The event loop has yet to send these last answers. */
        wait_quiet(server, fz_time_monotonic_ms() + LAST_ANSWERS_MS);
    }
    end_parts(server);
}
