/*
 * Many clients that POST reports and wait for the acknowledgement of each.
 *
 *   bench_acks_load PORT TARGET TOKEN FILE CLIENTS SECONDS [RATE]
 *
 * FILE is the body; the 16 times '0' in it become a number of their own in each request, so that no two reports are
 * the same. Each client keeps its connection. With RATE they send so many requests a second together, as long as there is a
 * client that is free, and a latency begins when the request was due. Prints the number of 200s and 202s, of refusals (429 and 503),
 * of other answers, and latencies in milliseconds.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 256,
    LATENCIES_MAX = 1 << 20,
    HEAD_MAX = 1024,
    ANSWER_MAX = 8192,
    NUMBER_LEN = 16
};

static struct {
    int port;
    const char *target, *token;
    char *body;
    size_t body_len, number_at;
    double end_s;
    double began_s, rate; /* requests a second; 0 = as many as there can be */
    atomic_ullong number, n_due;
} load;

struct client {
    pthread_t thread;
    unsigned long n_ok, n_other, n_refused;
    float *latencies_ms;
    size_t n_latencies;
    double refusal_max_ms;
};

static double
now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    int on = 1, sock = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) != 0) {
        perror("bench_acks_load: connect");
        exit(1);
    }
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return sock;
}

static int
send_all(int sock, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(sock, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return 0;
        bytes += n;
        len -= (size_t)n;
    }
    return 1;
}

/* The status of one answer, whose body is read to its end; 0: the connection is lost. */
static int
read_answer(int sock)
{
    char answer[ANSWER_MAX + 1];
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(sock, answer + len, ANSWER_MAX - len, 0);
        if (n <= 0)
            return 0;
        len += (size_t)n;
        answer[len] = '\0';
        const char *end = strstr(answer, "\r\n\r\n");
        const char *length = strcasestr(answer, "\r\ncontent-length:");
        if (!end)
            continue;
        size_t want = (size_t)(end + 4 - answer) + (length ? strtoul(length + 17, NULL, 10) : 0);
        if (len >= want)
            return atoi(answer + 9);
        if (want > ANSWER_MAX)
            return 0;
    }
}

/* Wait until the next request is due; returns when that was. */
static double
wait_due(void)
{
    if (load.rate <= 0)
        return now_s();
    double due = load.began_s + (double)atomic_fetch_add(&load.n_due, 1) / load.rate;
    double left = due - now_s();
    /* A server that is overloaded is not owed the requests of the past: those are dropped. */
    if (left < -1)
        return now_s();
    if (left > 0) {
        struct timespec nap = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&nap, NULL);
    }
    return due;
}

static void *
run_client(void *arg)
{
    struct client *client = arg;
    char head[HEAD_MAX], number[NUMBER_LEN + 1];
    char *body = malloc(load.body_len);
    memcpy(body, load.body, load.body_len);
    int head_len = snprintf(head, sizeof(head),
                            "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                            load.target, load.token, load.body_len);
    int sock = open_connection();
    while (now_s() < load.end_s) {
        snprintf(number, sizeof(number), "%016llu", atomic_fetch_add(&load.number, 1));
        memcpy(body + load.number_at, number, NUMBER_LEN);
        double began = wait_due();
        int status = send_all(sock, head, (size_t)head_len) && send_all(sock, body, load.body_len)
                         ? read_answer(sock)
                         : 0;
        if (status == 429 || status == 503) {
            double took_ms = (now_s() - began) * 1e3;
            client->n_refused++;
            client->refusal_max_ms =
                took_ms > client->refusal_max_ms ? took_ms : client->refusal_max_ms;
            continue;
        }
        if (status == 202 || status == 200) {
            client->n_ok++;
            if (client->n_latencies < LATENCIES_MAX / CLIENTS_MAX)
                client->latencies_ms[client->n_latencies++] = (float)((now_s() - began) * 1e3);
            continue;
        }
        client->n_other++;
        if (status == 0) {
            close(sock);
            sock = open_connection();
        }
    }
    close(sock);
    free(body);
    return NULL;
}

static int
compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void
read_body(const char *path)
{
    FILE *file = fopen(path, "rb");
    load.body = malloc(1 << 22);
    load.body_len = file ? fread(load.body, 1, (1 << 22) - 1, file) : 0;
    load.body[load.body_len] = '\0';
    const char *number = strstr(load.body, "0000000000000000");
    if (!number) {
        fprintf(stderr, "bench_acks_load: %s: no place for a number (16 times '0')\n", path);
        exit(2);
    }
    load.number_at = (size_t)(number - load.body);
    fclose(file);
}

int
main(int argc, char **argv)
{
    static struct client clients[CLIENTS_MAX];
    static float latencies[LATENCIES_MAX];
    if (argc != 7 && argc != 8) {
        fprintf(stderr, "usage: bench_acks_load PORT TARGET TOKEN FILE CLIENTS SECONDS [RATE]\n");
        return 2;
    }
    long n = strtol(argv[5], NULL, 10);
    if (n < 1 || n > CLIENTS_MAX)
        return 2;
    load.port = atoi(argv[1]);
    load.target = argv[2];
    load.token = argv[3];
    read_body(argv[4]);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Numbers of an earlier run are not used again. */
    atomic_store(&load.number, (unsigned long long)now.tv_sec * 1000000);
    double began = now_s();
    load.began_s = began;
    load.rate = argc == 8 ? strtod(argv[7], NULL) : 0;
    load.end_s = began + strtod(argv[6], NULL);
    for (long i = 0; i < n; i++) {
        clients[i].latencies_ms = latencies + i * (LATENCIES_MAX / CLIENTS_MAX);
        pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
    }
    unsigned long n_ok = 0, n_other = 0, n_refused = 0;
    double refusal_max_ms = 0;
    size_t n_latencies = 0;
    for (long i = 0; i < n; i++) {
        pthread_join(clients[i].thread, NULL);
        n_ok += clients[i].n_ok;
        n_other += clients[i].n_other;
        n_refused += clients[i].n_refused;
        if (clients[i].refusal_max_ms > refusal_max_ms)
            refusal_max_ms = clients[i].refusal_max_ms;
        memmove(latencies + n_latencies, clients[i].latencies_ms,
                clients[i].n_latencies * sizeof(*latencies));
        n_latencies += clients[i].n_latencies;
    }
    qsort(latencies, n_latencies, sizeof(*latencies), compare);
    printf("{\"acks\": %lu, \"others\": %lu, \"refused\": %lu, \"refusal_max_ms\": %.3f, "
           "\"seconds\": %.3f, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
           n_ok, n_other, n_refused, refusal_max_ms, now_s() - began,
           n_latencies ? (double)latencies[n_latencies / 2] : 0.0,
           n_latencies ? (double)latencies[n_latencies * 99 / 100] : 0.0);
    free(load.body);
    return 0;
}
