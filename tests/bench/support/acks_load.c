/*
 * Many clients that POST reports and wait for the acknowledgement of each, in one thread.
 *
 *   bench_acks_load PORT TARGET TOKEN FILE CLIENTS SECONDS [RATE]
 *
 * FILE is the body; the 16 times '0' in it become a number of their own in each request, so that no two reports are
 * the same. Each client keeps its connection. Without RATE each sends its next request when it has its answer. With RATE so many
 * requests a second become due, whatever the server does, and a client that is free sends each; those for which there is none
 * within a second are dropped. The latency of an answer begins when the request was due, that of a refusal when its first byte was
 * sent. How late this program was (from when a request was due to its first byte, for want of a free client or of time; and the longest
 * time in which it did not look at its sockets) is printed as well: it is none of the server's. Prints the number of 200s and 202s,
 * of refusals (429 and 503), of other answers and of requests dropped, and latencies in milliseconds.
 *
 * If it may, the program takes a priority above all others, so that its own waits for a processor are not the server's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 8192,
    LATENCIES_MAX = 1 << 20,
    HEAD_MAX = 1024,
    ANSWER_MAX = 8192,
    NUMBER_LEN = 16,
    EVENTS = 4096
};

struct client {
    int sock;
    int is_busy, is_blocked;
    char number[NUMBER_LEN + 1];
    size_t sent;
    char answer[ANSWER_MAX + 1];
    size_t answer_len;
    double due_s, sent_s;
    struct client *next_free;
};

struct latencies {
    float *ms;
    size_t n;
};

static struct {
    int port, epoll;
    char *body;
    size_t body_len, number_at;
    char head[HEAD_MAX];
    size_t head_len;
    double began_s, rate; /* requests a second; 0 = as many as there can be */
    unsigned long long number, n_due;
    struct client *free;
    size_t n_busy;
    unsigned long n_other, n_dropped;
    double looked_s, longest_s; /* between two looks at the sockets */
    struct latencies ok, refused, late;
} load;

static double
now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static void
note(struct latencies *to, double since_s, double now)
{
    if (to->n < LATENCIES_MAX)
        to->ms[to->n] = (float)((now - since_s) * 1e3);
    to->n++;
}

static void
watch(struct client *client, int op, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = client};
    must(epoll_ctl(load.epoll, op, client->sock, &event) == 0, "bench_acks_load: epoll_ctl");
}

static void
open_connection(struct client *client)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->sock = socket(AF_INET, SOCK_STREAM, 0);
    must(client->sock >= 0 && connect(client->sock, (struct sockaddr *)&to, sizeof(to)) == 0,
         "bench_acks_load: connect");
    setsockopt(client->sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    must(fcntl(client->sock, F_SETFL, O_NONBLOCK) == 0, "bench_acks_load: fcntl");
    watch(client, EPOLL_CTL_ADD, EPOLLIN);
}

/* The connection is lost: the request counts as answered with something else. */
static void
reopen(struct client *client)
{
    close(client->sock);
    client->is_blocked = 0;
    open_connection(client);
}

/* The request's bytes, from `client->sent` on: the head, the body with the client's own number in it. In one call, since this program
 * shares the processors with the server. */
static ssize_t
send_some(struct client *client)
{
    struct iovec parts[] = {
        {load.head, load.head_len},
        {load.body, load.number_at},
        {client->number, NUMBER_LEN},
        {load.body + load.number_at + NUMBER_LEN, load.body_len - load.number_at - NUMBER_LEN},
    };
    enum { N_PARTS = sizeof(parts) / sizeof(parts[0]) };
    size_t skip = client->sent, at = 0;
    while (at < N_PARTS - 1 && skip >= parts[at].iov_len)
        skip -= parts[at++].iov_len;
    parts[at].iov_base = (char *)parts[at].iov_base + skip;
    parts[at].iov_len -= skip;
    struct msghdr message = {.msg_iov = parts + at, .msg_iovlen = N_PARTS - at};
    return sendmsg(client->sock, &message, MSG_NOSIGNAL);
}

/* Returns 0 when the connection is lost. */
static int
go_on_sending(struct client *client)
{
    size_t all = load.head_len + load.body_len;
    while (client->sent < all) {
        ssize_t n = send_some(client);
        if (n < 0 && errno == EAGAIN) {
            client->is_blocked = 1;
            watch(client, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return 1;
        }
        if (n <= 0)
            return 0;
        client->sent += (size_t)n;
    }
    if (client->is_blocked)
        watch(client, EPOLL_CTL_MOD, EPOLLIN);
    client->is_blocked = 0;
    return 1;
}

/* The status once the answer is complete; 0 before; -1: the connection is lost. */
static int
read_answer(struct client *client)
{
    for (;;) {
        ssize_t n = recv(client->sock, client->answer + client->answer_len,
                         ANSWER_MAX - client->answer_len, 0);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return -1;
        client->answer_len += (size_t)n;
        client->answer[client->answer_len] = '\0';
        const char *end = strstr(client->answer, "\r\n\r\n");
        const char *length = strcasestr(client->answer, "\r\ncontent-length:");
        if (!end)
            continue;
        size_t want =
            (size_t)(end + 4 - client->answer) + (length ? strtoul(length + 17, NULL, 10) : 0);
        if (client->answer_len >= want)
            return atoi(client->answer + 9);
        if (want > ANSWER_MAX)
            return -1;
    }
}

static void
begin(struct client *client, double due_s)
{
    client->is_busy = 1;
    client->due_s = due_s;
    client->sent_s = now_s();
    note(&load.late, due_s, client->sent_s);
    client->sent = client->answer_len = 0;
    snprintf(client->number, sizeof(client->number), "%016llu", load.number++);
    load.n_busy++;
}

static void
end(struct client *client)
{
    client->is_busy = 0;
    client->next_free = load.free;
    load.free = client;
    load.n_busy--;
}

static void
lose(struct client *client)
{
    if (client->is_busy) {
        load.n_other++;
        end(client);
    }
    reopen(client);
}

static void
handle(struct client *client, uint32_t events)
{
    if (!client->is_busy) {
        /* The server has closed a connection that was idle. */
        reopen(client);
        return;
    }
    if ((events & EPOLLOUT) && !go_on_sending(client)) {
        lose(client);
        return;
    }
    int status = events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? read_answer(client) : 0;
    if (status == 0)
        return;
    if (status < 0) {
        lose(client);
        return;
    }
    if (status == 202 || status == 200)
        note(&load.ok, client->due_s, now_s());
    else if (status == 429 || status == 503)
        note(&load.refused, client->sent_s, now_s());
    else
        load.n_other++;
    /* A refusal may come before the body was sent: what is left of it would be taken for a request. */
    int is_cut = client->sent < load.head_len + load.body_len ||
                 strcasestr(client->answer, "\r\nconnection: close");
    end(client);
    if (is_cut)
        reopen(client);
}

/* Give what is due to clients that are free; returns how long nothing else is due, in ms. */
static int
send_due(double now)
{
    enum { LONGEST_MS = 50 };
    while (load.free) {
        double due = now;
        if (load.rate > 0) {
            due = load.began_s + (double)load.n_due / load.rate;
            if (due > now) {
                double left_ms = (due - now) * 1e3;
                return left_ms > LONGEST_MS ? LONGEST_MS : (int)left_ms;
            }
            load.n_due++;
            if (now - due > 1) {
                load.n_dropped++;
                continue;
            }
        }
        struct client *client = load.free;
        load.free = client->next_free;
        begin(client, due);
        if (!go_on_sending(client))
            lose(client);
    }
    return LONGEST_MS;
}

static void
run(double end_s)
{
    static struct epoll_event events[EVENTS];
    for (double now = now_s(); now < end_s; now = now_s()) {
        int wait_ms = send_due(now);
        /* At most a thousand times a second: woken by each answer, this program would take the server's processor for every one. */
        if (load.rate > 0) {
            static const struct timespec rest = {.tv_nsec = 1000 * 1000};
            nanosleep(&rest, NULL);
            wait_ms = 0;
        }
        int n = epoll_wait(load.epoll, events, EVENTS, wait_ms);
        double looked_s = now_s();
        if (load.rate > 0 && load.looked_s > 0 && looked_s - load.looked_s > load.longest_s)
            load.longest_s = looked_s - load.looked_s;
        load.looked_s = looked_s;
        for (int i = 0; i < n; i++)
            handle(events[i].data.ptr, events[i].events);
    }
}

static int
compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void
sort(struct latencies *of)
{
    qsort(of->ms, of->n < LATENCIES_MAX ? of->n : LATENCIES_MAX, sizeof(float), compare);
}

static double
at_percent(const struct latencies *of, size_t percent)
{
    size_t n = of->n < LATENCIES_MAX ? of->n : LATENCIES_MAX;
    return n ? (double)of->ms[percent < 100 ? n * percent / 100 : n - 1] : 0;
}

static void
read_body(const char *path)
{
    enum { BODY_MAX = 1 << 22 };
    FILE *file = fopen(path, "rb");
    char *body = malloc(BODY_MAX);
    must(file && body, path);
    load.body_len = fread(body, 1, BODY_MAX - 1, file);
    body[load.body_len] = '\0';
    const char *number = strstr(body, "0000000000000000");
    if (!number) {
        fprintf(stderr, "bench_acks_load: %s: no place for a number (16 times '0')\n", path);
        exit(2);
    }
    load.number_at = (size_t)(number - body);
    load.body = body;
    fclose(file);
}

static void
start(char **argv, long n)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct sched_param first = {.sched_priority = 2};
    /* Refused to most users; then it waits like others. */
    (void)sched_setscheduler(0, SCHED_RR, &first);
    load.port = atoi(argv[1]);
    read_body(argv[4]);
    load.head_len =
        (size_t)snprintf(load.head, sizeof(load.head),
                         "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                         argv[2], argv[3], load.body_len);
    load.ok.ms = calloc(LATENCIES_MAX, sizeof(float));
    load.refused.ms = calloc(LATENCIES_MAX, sizeof(float));
    load.late.ms = calloc(LATENCIES_MAX, sizeof(float));
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct client *clients = calloc((size_t)n, sizeof(*clients));
    must(load.ok.ms && load.refused.ms && load.late.ms && load.epoll >= 0 && clients,
         "bench_acks_load: start");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Numbers of an earlier run are not used again. */
    load.number = (unsigned long long)now.tv_sec * 1000000;
    for (long i = 0; i < n; i++) {
        open_connection(&clients[i]);
        clients[i].next_free = load.free;
        load.free = &clients[i];
    }
}

int
main(int argc, char **argv)
{
    long n = argc == 7 || argc == 8 ? strtol(argv[5], NULL, 10) : 0;
    if (n < 1 || n > CLIENTS_MAX) {
        fprintf(stderr, "usage: bench_acks_load PORT TARGET TOKEN FILE CLIENTS SECONDS [RATE]\n");
        return 2;
    }
    start(argv, n);
    load.rate = argc == 8 ? strtod(argv[7], NULL) : 0;
    load.began_s = now_s();
    run(load.began_s + strtod(argv[6], NULL));
    double took_s = now_s() - load.began_s;
    sort(&load.ok);
    sort(&load.refused);
    sort(&load.late);
    printf("{\"acks\": %zu, \"others\": %lu, \"refused\": %zu, \"dropped\": %lu, "
           "\"in_flight\": %zu, \"seconds\": %.3f, \"refusal_p50_ms\": %.3f, "
           "\"refusal_p99_ms\": %.3f, \"refusal_max_ms\": %.3f, \"p50_ms\": %.3f, "
           "\"p99_ms\": %.3f, \"late_p99_ms\": %.3f, \"late_max_ms\": %.3f, "
           "\"stall_max_ms\": %.3f}\n",
           load.ok.n, load.n_other, load.refused.n, load.n_dropped, load.n_busy, took_s,
           at_percent(&load.refused, 50), at_percent(&load.refused, 99),
           at_percent(&load.refused, 100), at_percent(&load.ok, 50), at_percent(&load.ok, 99),
           at_percent(&load.late, 99), at_percent(&load.late, 100), load.longest_s * 1e3);
    return 0;
}
