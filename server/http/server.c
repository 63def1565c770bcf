/*
 * The server's life: socket, daemon, threads; who owes an answer; the orderly end.
 */
#include "server/http/internal.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/time.h"

enum { BACKLOG = 1024, BODY_THREADS = 2, READERS = 12, DEFAULT_THREADS = 16, SPARE_FILES = 256 };

/* Split "host:port", "[v6]:port", ":port". */
static enum fz_code
split_listen(const char *listen_on, char host[128], char port[16], struct fz_error *err)
{
    const char *colon = strrchr(listen_on, ':');
    size_t host_len = colon ? (size_t)(colon - listen_on) : 0;
    const char *start = listen_on;
    if (host_len >= 2 && start[0] == '[' && start[host_len - 1] == ']') {
        start++;
        host_len -= 2;
    }
    if (!colon || host_len >= 128 || strlen(colon + 1) >= 16 || !colon[1])
        return fz_fail(err, FZ_E_MALFORMED, "'%s' is no address to listen on; 127.0.0.1:8480 is",
                       listen_on);
    memcpy(host, start, host_len);
    host[host_len] = '\0';
    snprintf(port, 16, "%s", colon + 1);
    return FZ_OK;
}

static int
open_socket(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->ai_protocol);
    if (fd < 0)
        return -1;
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->ai_family == AF_INET6) /* ":8480" serves IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static enum fz_code
listen_on(struct http_server *server, const char *where, struct fz_error *err)
{
    char host[128], port[16];
    enum fz_code code = split_listen(where, host, port, err);
    if (code != FZ_OK)
        return code;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(*host ? host : NULL, port, &hints, &list);
    if (failed)
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot listen on %s: %s", where,
                       gai_strerror(failed));
    /* Without a host the one IPv6 socket takes both families, if the machine has IPv6. */
    for (int want_v6 = *host ? 0 : 1; server->listen_fd < 0 && want_v6 >= 0; want_v6--) {
        for (struct addrinfo *at = list; at && server->listen_fd < 0; at = at->ai_next) {
            if (*host || (at->ai_family == AF_INET6) == (want_v6 == 1))
                server->listen_fd = open_socket(at);
        }
    }
    freeaddrinfo(list);
    if (server->listen_fd < 0) {
        fz_fail_errno(err, "cannot listen on %s", where);
        return FZ_E_UNAVAILABLE;
    }
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    char name[INET6_ADDRSTRLEN + 32], number[16];
    if (getsockname(server->listen_fd, (struct sockaddr *)&bound, &len) != 0 ||
        getnameinfo((struct sockaddr *)&bound, len, name, sizeof(name), number, sizeof(number),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return fz_fail_errno(err, "cannot tell the address of %s", where);
    bool any = strcmp(name, "::") == 0 || strcmp(name, "0.0.0.0") == 0;
    bool v6 = !any && strchr(name, ':');
    snprintf(server->url, sizeof(server->url), "http://%s%s%s:%s", v6 ? "[" : "",
             any ? "127.0.0.1" : name, v6 ? "]" : "", number);
    return FZ_OK;
}

static void
run_body_job(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    http_body_work(request);
    if (request->body_complete && !request->body_code) {
        http_server_hand_over(request);
        return;
    }
    /* Now and not with the next bytes: the client's time runs even if it never sends them. */
    fz_ignore(!http_conn_go_on(request->conn)); /* ended meanwhile: found out next */
    atomic_store(&request->elsewhere, false);
    MHD_resume_connection(request->mhd);
}

static void
run_handler_job(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->lock);
    bool abandoned = request->abandoned;
    request->due_ms = 0;
    pthread_mutex_unlock(&server->lock);
    if (abandoned)
        http_request_unref(request);
    else
        request->route->handle(server->app, request);
}

/* Nobody owes an answer any more: libmicrohttpd goes on with the request. Under the lock, since
 * http_stop() must not find it answered and still suspended. */
static void
settle(struct http_request *request)
{
    request->owed = false;
    if (request->prev_owed)
        request->prev_owed->next_owed = request->next_owed;
    else
        request->server->owed = request->next_owed;
    if (request->next_owed)
        request->next_owed->prev_owed = request->prev_owed;
    atomic_store(&request->elsewhere, false);
    MHD_resume_connection(request->mhd);
}

/* Stop waiting for the answer, which will be dropped. Under the lock. */
static void
abandon(struct http_request *request)
{
    request->abandoned = true;
    settle(request);
}

void
http_server_owe(struct http_request *request, int64_t within_ms)
{
    struct http_server *server = request->server;
    int64_t now = fz_time_monotonic_ms();
    http_answer_keep_headers(request);
    atomic_fetch_add(&request->refs, 1);
    pthread_mutex_lock(&server->lock);
    request->owed = true;
    request->due_ms = now + within_ms;
    request->prev_owed = NULL;
    request->next_owed = server->owed;
    if (request->next_owed)
        request->next_owed->prev_owed = request;
    server->owed = request;
    if (server->gives_up)
        abandon(request);
    pthread_mutex_unlock(&server->lock);
}

void
http_server_hand_over(struct http_request *request)
{
    struct http_server *server = request->server;
    const struct http_route *route = request->route;
    http_server_owe(request, HTTP_START_MS);
    if (route->flags & HTTP_ROUTE_QUICK) {
        run_handler_job(&request->job);
        return;
    }
    if (atomic_load(&server->stuck)) {
        pthread_mutex_lock(&server->lock);
        if (request->owed)
            abandon(request);
        pthread_mutex_unlock(&server->lock);
        http_request_unref(request); /* the handler's, which will not see it */
        return;
    }
    /* What only reads has threads of its own: slow queries do not hold up what comes in. */
    bool reads = strcmp(route->method, "GET") == 0;
    http_pool_push(reads ? server->readers : server->handlers, &request->job);
}

void
http_server_hand_back(struct http_request *request)
{
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->lock);
    if (request->owed)
        settle(request);
    pthread_mutex_unlock(&server->lock);
    http_request_unref(request);
}

void
http_server_answer_late(struct http_server *server)
{
    bool stuck = server->is_stuck && server->is_stuck(server->app);
    int64_t now = fz_time_monotonic_ms();
    atomic_store(&server->stuck, stuck);
    pthread_mutex_lock(&server->lock);
    for (struct http_request *request = server->owed, *next; request; request = next) {
        next = request->next_owed;
        if (stuck || (request->due_ms && now >= request->due_ms))
            abandon(request);
    }
    pthread_mutex_unlock(&server->lock);
}

void
http_answer_within(struct http_request *request, int64_t ms)
{
    struct http_server *server = request->server;
    int64_t now = fz_time_monotonic_ms();
    pthread_mutex_lock(&server->lock);
    request->due_ms = ms ? now + ms : 0;
    pthread_mutex_unlock(&server->lock);
}

void
http_server_unref(struct http_server *server)
{
    if (atomic_fetch_sub(&server->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->changed);
    http_budget_deinit(&server->body_memory);
    http_budget_deinit(&server->unknown_memory);
    http_budget_deinit(&server->unknown_disk);
    http_contents_deinit(&server->contents);
    free(server->route_metrics);
    free(server->temp_dir);
    free(server);
}

static enum fz_code
make_server(const struct http_config *config, struct http_server **ret, struct fz_error *err)
{
    struct http_proxies proxies = {.n = 0};
    enum fz_code code =
        http_proxies_parse(config->trusted_proxies ? config->trusted_proxies : "", &proxies, err);
    if (code != FZ_OK)
        return code;
    struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    atomic_init(&server->refs, 1);
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &clock);
    pthread_condattr_destroy(&clock);
    server->listen_fd = -1;
    server->routes = config->routes;
    server->n_routes = config->n_routes;
    server->authorize = config->authorize;
    server->is_stuck = config->is_stuck;
    server->app = config->app;
    if (config->cors_origins && *config->cors_origins)
        server->cors_origins = config->cors_origins;
    server->limits = *config->limits;
    http_budget_init(&server->body_memory, "body_memory", server->limits.body_memory);
    http_budget_init(&server->unknown_memory, "unknown_memory", server->limits.unknown_memory);
    http_budget_init(&server->unknown_disk, "unknown_disk", server->limits.unknown_disk);
    server->proxies = proxies;
    server->metrics = config->metrics;
    server->temp_dir = strdup(config->temp_dir ? config->temp_dir : "/tmp");
    server->route_metrics = calloc(config->n_routes + 1, sizeof(struct metrics_route *));
    http_contents_init(&server->contents, server->temp_dir, server->limits.answer_memory,
                       server->limits.answer_disk);
    if (!server->temp_dir || !server->route_metrics) {
        http_server_unref(server);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < config->n_routes; i++)
        server->route_metrics[i] = metrics_route(config->metrics, config->routes[i].name);
    server->route_metrics[config->n_routes] = metrics_route(config->metrics, "none");
    *ret = server;
    return FZ_OK;
}

/* A connection is a descriptor; the usual soft limit of 1,024 would end the party early. */
static void
raise_file_limit(rlim_t want)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= want)
        return;
    files.rlim_cur =
        files.rlim_max == RLIM_INFINITY || files.rlim_max > want ? want : files.rlim_max;
    fz_ignore(setrlimit(RLIMIT_NOFILE, &files)); /* then fewer connections fit */
}

/* libmicrohttpd would decode %XX in place; uri.c does it, once and with care. */
static size_t
keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
    (void)arg, (void)mhd;
    return strlen(text);
}

static enum fz_code
start_daemon(struct http_server *server, struct fz_error *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    /* Strict lines are left to header.c, which answers in the API's form; Host too. */
#if MHD_VERSION >= 0x00097701
    struct MHD_OptionItem strict[] = {{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
                                      {MHD_OPTION_END, 0, NULL}};
#else
    struct MHD_OptionItem strict[] = {{MHD_OPTION_END, 0, NULL}};
#endif
    server->daemon = MHD_start_daemon(
        flags, 0, http_conn_accept, server, http_request_on_data, server,           /* */
        MHD_OPTION_LISTEN_SOCKET, server->listen_fd,                                /* */
        MHD_OPTION_CONNECTION_LIMIT, server->limits.connections + HTTP_SPARE_CONNS, /* */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEADER_MEMORY,             /* */
        MHD_OPTION_CONNECTION_TIMEOUT, 0U,                                          /* see conn.c */
        MHD_OPTION_NOTIFY_CONNECTION, http_conn_notify, server,                     /* */
        MHD_OPTION_NOTIFY_COMPLETED, http_request_on_completed, server,             /* */
        MHD_OPTION_URI_LOG_CALLBACK, http_request_on_line, server,                  /* */
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,                           /* */
        MHD_OPTION_ARRAY, strict, MHD_OPTION_END);
    if (!server->daemon)
        return fz_fail(err, FZ_E_UNAVAILABLE, "libmicrohttpd does not start on %s", server->url);
    return FZ_OK;
}

/* The parts in the order in which they need each other. */
static enum fz_code
start_parts(struct http_server *server, const struct http_config *config, struct fz_error *err)
{
    enum fz_code code = listen_on(server, config->listen, err);
    if (code == FZ_OK)
        code = http_pool_create(BODY_THREADS, run_body_job, &server->body_threads, err);
    if (code == FZ_OK)
        code = http_pool_create(config->n_threads ? config->n_threads : DEFAULT_THREADS,
                                run_handler_job, &server->handlers, err);
    if (code == FZ_OK)
        code = http_pool_create(BODY_THREADS, run_body_job, &server->file_threads, err);
    if (code == FZ_OK)
        code = http_pool_create(READERS, run_handler_job, &server->readers, err);
    if (code == FZ_OK && pthread_create(&server->sweeper, NULL, http_conn_sweep, server) != 0)
        code = fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    else if (code == FZ_OK)
        server->sweeping = true;
    if (code == FZ_OK)
        code = start_daemon(server, err);
    return code;
}

enum { LAST_WORDS_MS = 1000 };

/* Wait until no request is on its way, at most until `deadline_ms`; true if so. */
static bool
wait_quiet(struct http_server *server, int64_t deadline_ms)
{
    bool quiet = false;
    for (;;) {
        http_conn_end_idle(server);
        pthread_mutex_lock(&server->lock);
        int64_t now = fz_time_monotonic_ms();
        quiet = server->n_active == 0;
        if (!quiet && now < deadline_ms) {
            /* Woken now and then as well, for connections that have just fallen idle. */
            int64_t until = now + HTTP_SWEEP_MS < deadline_ms ? now + HTTP_SWEEP_MS : deadline_ms;
            struct timespec at = {.tv_sec = (time_t)(until / 1000),
                                  .tv_nsec = (long)(until % 1000) * 1000000};
            pthread_cond_timedwait(&server->changed, &server->lock, &at);
        }
        pthread_mutex_unlock(&server->lock);
        if (quiet || now >= deadline_ms)
            return quiet;
    }
}

static void
give_up(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->gives_up = true;
    while (server->owed)
        abandon(server->owed);
    pthread_mutex_unlock(&server->lock);
}

/* Everything that was started, in the order in which it may end. */
static void
end_parts(struct http_server *server)
{
    if (server->daemon)
        give_up(server);
    /* Body threads may still resume connections, so they end before the daemon does. */
    http_pool_destroy(server->body_threads);
    http_pool_destroy(server->file_threads);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    http_pool_destroy(server->handlers);
    http_pool_destroy(server->readers);
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
    enum fz_code code = make_server(config, &server, err);
    if (code != FZ_OK)
        return code;
    raise_file_limit((rlim_t)server->limits.connections + SPARE_FILES);
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
    /* libmicrohttpd may still hold the socket in its hands, so it is closed later; but nobody is to
     * wait in its queue. */
    shutdown(server->listen_fd, SHUT_RDWR);
    if (!wait_quiet(server, fz_time_monotonic_ms() + grace_ms)) {
        give_up(server);
        /* The event loop has yet to send what the waiting clients are told now. */
        wait_quiet(server, fz_time_monotonic_ms() + LAST_WORDS_MS);
    }
    end_parts(server);
}
