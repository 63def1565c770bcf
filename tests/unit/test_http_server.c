/* The server's life and the handlers' side; what goes over the wire is tests/e2e/http_*.py. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <pthread.h>
#define _DEFAULT_SOURCE /* getifaddrs */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/time.h"
#include "server/http/http.h"
#include "server/http/stream.h"

static struct http_request *_Atomic held; /* left unanswered by the handler of /hold */

static void
on_now(void *app, struct http_request *request)
{
    assert_string_equal(app, "app");
    http_add_header(request, "X-Good", "yes");
    http_add_header(request, "X-Bad", "no\r\nX-Injected: yes");
    http_respond_json(request, 200, fz_span_cstr("{}"));
}

static void
on_hold(void *app, struct http_request *request)
{
    (void)app;
    atomic_store(&held, request);
}

static void
on_slow(void *app, struct http_request *request)
{
    (void)app;
    fz_time_sleep_ms(100);
    http_respond_json(request, 200, fz_span_cstr("{}"));
}

static atomic_int n_read; /* requests of /slow whose header the server has read */

static enum fz_code
count_read(void *app, struct http_request *request, unsigned scope, int64_t *ret_project_id,
           int64_t *ret_token_id, int *ret_status, struct fz_error *err)
{
    (void)app, (void)request, (void)scope, (void)ret_status, (void)err;
    *ret_project_id = *ret_token_id = 1;
    atomic_fetch_add(&n_read, 1);
    return FZ_OK;
}

static const struct http_route routes[] = {
    {"GET", "/now", HTTP_BODY_NONE, 0, 0, 0, 0, "now", on_now, 0, NULL, NULL},
    {"GET", "/hold", HTTP_BODY_NONE, 0, 0, 0, 0, "hold", on_hold, 0, NULL, NULL},
    {"GET", "/slow", HTTP_BODY_NONE, 0, 0, 0, 1, "slow", on_slow, 0, NULL, NULL},
};

struct fixture {
    struct metrics *metrics;
    int metrics_fd;
    struct limits limits;
    struct http_server *server;
};

static enum fz_code
start(struct fixture *fixture, const char *where, struct fz_error *err)
{
    static char app[] = "app";
    struct http_config config = {.listen = where,
                                 .routes = routes,
                                 .n_routes = FZ_ARRAY_LEN(routes),
                                 .app = app,
                                 .authorize = count_read,
                                 .limits = &fixture->limits,
                                 .metrics = fixture->metrics};
    return http_start(&config, &fixture->server, err);
}

static int
set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fz_log_set_level(FZ_LOG_ERROR);
    atomic_store(&held, NULL); /* a test that failed may have left its own */
    fixture->limits = limits_default();
    *state = fixture;
    return (int)metrics_create(&fixture->metrics, &fixture->metrics_fd, NULL);
}

static int
tear_down(void **state)
{
    struct fixture *fixture = *state;
    http_stop(fixture->server, 1000);
    metrics_detach(fixture->metrics);
    close(fixture->metrics_fd);
    free(fixture);
    return 0;
}

static int
connect_to(const char *url)
{
    unsigned port = 0;
    assert_int_equal(sscanf(url, "http://127.0.0.1:%u", &port), 1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int
send_get(const char *url, const char *path)
{
    int fd = connect_to(url);
    char text[256];
    int len = snprintf(text, sizeof(text),
                       "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path);
    assert_int_equal(write(fd, text, (size_t)len), len);
    return fd;
}

/* All that comes until the connection ends. */
static void
read_all(int fd, struct fz_buffer *out)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        fz_buffer_append(out, bytes, (size_t)n);
    close(fd);
}

static void
expect(int fd, const char *start_line, const char *absent)
{
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    read_all(fd, &out);
    assert_memory_equal(fz_buffer_cstr(&out), start_line, strlen(start_line));
    if (absent)
        assert_null(strstr(fz_buffer_cstr(&out), absent));
    fz_buffer_deinit(&out);
}

static void
test_listen(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *where, *url; /* prefix; NULL: refused */
        enum fz_code code;
        const char *message;
    } cases[] = {
        {"127.0.0.1:0", "http://127.0.0.1:", FZ_OK, NULL},
        {"localhost:0", "http://127.0.0.1:", FZ_OK, NULL},
        {":0", "http://127.0.0.1:", FZ_OK, NULL},
        {"8480", NULL, FZ_E_MALFORMED, "'8480' is not an address to listen on: write ADDRESS:PORT"},
        {"127.0.0.1:", NULL, FZ_E_MALFORMED, "the port must be a number"},
        {"", NULL, FZ_E_MALFORMED, "the port is missing"},
        {"127.0.0.1:notaport", NULL, FZ_E_MALFORMED, "the port must be a number"},
        {"192.0.2.1:0", NULL, FZ_E_UNAVAILABLE, "cannot listen on 192.0.2.1:0: Cannot assign"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_error err = {.text = ""};
        print_message("%s\n", cases[i].where);
        assert_int_equal(start(fixture, cases[i].where, &err), cases[i].code);
        if (cases[i].code) {
            assert_non_null(strstr(err.text, cases[i].message));
            assert_null(fixture->server);
            continue;
        }
        if (strcmp(cases[i].where, "localhost:0") != 0) { /* may be ::1 here */
            assert_memory_equal(http_url(fixture->server), cases[i].url, strlen(cases[i].url));
            expect(send_get(http_url(fixture->server), "/now"), "HTTP/1.1 200 OK\r\n", "Injected");
        }
        http_stop(fixture->server, 1000);
        fixture->server = NULL;
    }
}

static void
test_port_taken(void **state)
{
    struct fixture *fixture = *state;
    struct fixture second = *fixture;
    struct fz_error err;
    assert_int_equal(start(fixture, "127.0.0.1:0", &err), FZ_OK);
    const char *where = http_url(fixture->server) + strlen("http://");
    assert_int_equal(start(&second, where, &err), FZ_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "Address already in use"));
}

/* What runs is finished and its client answered; then nobody listens any more. */
static void
test_stop_finishes(void **state)
{
    struct fixture *fixture = *state;
    struct fz_error err;
    assert_int_equal(start(fixture, "127.0.0.1:0", &err), FZ_OK);
    enum {
        N = 20
    }; /* more than there are handler threads, and done long before they would be too late */
    int fds[N];
    for (int i = 0; i < N; i++)
        fds[i] = send_get(http_url(fixture->server), "/slow");
    int idle = connect_to(http_url(fixture->server));
    /* Until all of them have been read; those still in the backlog are nobody's promise. */
    while (atomic_load(&fixture->metrics->http_connections) < N + 1 || atomic_load(&n_read) < N)
        fz_time_sleep_ms(5);
    http_stop(fixture->server, 10000);
    fixture->server = NULL;
    for (int i = 0; i < N; i++)
        expect(fds[i], "HTTP/1.1 200 OK\r\n", NULL);
    char byte;
    assert_int_equal(read(idle, &byte, 1), 0);
    close(idle);
    assert_int_equal(atomic_load(&fixture->metrics->http_connections), 0);
}

/* A handler that does not answer in time is not waited for; its late answer does no harm. */
static void
test_stop_gives_up(void **state)
{
    struct fixture *fixture = *state;
    struct fz_error err;
    assert_int_equal(start(fixture, "127.0.0.1:0", &err), FZ_OK);
    int fd = send_get(http_url(fixture->server), "/hold");
    while (!atomic_load(&held))
        fz_time_sleep_ms(5);
    int64_t before = fz_time_monotonic_ms();
    http_stop(fixture->server, 200);
    fixture->server = NULL;
    assert_in_range(fz_time_monotonic_ms() - before, 200, 2000);
    expect(fd, "HTTP/1.1 503 ", NULL);
    struct http_request *late = atomic_load(&held);
    assert_string_equal(http_header(late, "HOST"), "a");
    http_respond_json(late, 200, fz_span_cstr("{}"));
    atomic_store(&held, NULL);
}

struct pieces {
    int n, n_destroyed;
    enum http_stream_step step; /* of each */
};

static enum fz_code
produce(void *user, struct http_stream *stream, struct fz_buffer *out,
        enum http_stream_step *ret_step, struct fz_error *err)
{
    struct pieces *pieces = user;
    (void)stream, (void)err;
    pieces->n++;
    fz_buffer_text(out, "piece");
    *ret_step = pieces->step;
    return FZ_OK;
}

static void
count_destroyed(void *user)
{
    ((struct pieces *)user)->n_destroyed++;
}

/* A stream that comes too late, or for a client that has gone, is released without having been sent. */
static void
test_late_stream(void **state)
{
    struct fixture *fixture = *state;
    struct fz_error err;
    static const enum http_stream_step steps[] = {HTTP_STREAM_MORE, HTTP_STREAM_WAIT,
                                                  HTTP_STREAM_END};
    for (size_t i = 0; i < FZ_ARRAY_LEN(steps); i++) {
        struct pieces pieces = {.step = steps[i]};
        const struct http_source source = {
            .produce = produce, .destroy = count_destroyed, .user = &pieces};
        assert_int_equal(start(fixture, "127.0.0.1:0", &err), FZ_OK);
        int fd = send_get(http_url(fixture->server), "/hold");
        while (!atomic_load(&held))
            fz_time_sleep_ms(5);
        http_stop(fixture->server, 50);
        fixture->server = NULL;
        expect(fd, "HTTP/1.1 503 ", NULL);
        http_respond_stream(atomic_load(&held), "text/plain", &source);
        atomic_store(&held, NULL);
        assert_int_equal(pieces.n, 1);
        assert_int_equal(pieces.n_destroyed, 1);
        assert_int_equal(atomic_load(&fixture->metrics->http_streams), 0);
    }
}

/* An address of this machine that is not loopback; false if it has none. */
static bool
own_address(struct in_addr *ret)
{
    struct ifaddrs *list = NULL;
    bool found = false;
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
            continue;
        struct sockaddr_in v4;
        memcpy(&v4, at->ifa_addr, sizeof(v4));
        found = ntohl(v4.sin_addr.s_addr) >> 24 != 127;
        if (found)
            *ret = v4.sin_addr;
    }
    freeifaddrs(list);
    return found;
}

/* One address has its share of the connections; loopback is not counted. */
static void
test_per_address(void **state)
{
    struct fixture *fixture = *state;
    struct in_addr own = {0};
    if (!own_address(&own)) {
        print_message("this machine has only loopback addresses\n");
        skip();
    }
    fixture->limits.per_address = 3;
    struct fz_error err;
    unsigned port = 0;
    assert_int_equal(start(fixture, ":0", &err), FZ_OK);
    assert_int_equal(sscanf(http_url(fixture->server), "http://127.0.0.1:%u", &port), 1);
    int fds[5];
    for (size_t i = 0; i < FZ_ARRAY_LEN(fds); i++) {
        struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = own};
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
    }
    while (atomic_load(&fixture->metrics->http_connections_refused) < 2)
        fz_time_sleep_ms(5);
    for (int i = 0; i < 10; i++)
        expect(send_get(http_url(fixture->server), "/now"), "HTTP/1.1 200 OK\r\n", NULL);
    assert_int_equal(atomic_load(&fixture->metrics->http_connections_refused), 2);
    for (size_t i = 0; i < FZ_ARRAY_LEN(fds); i++)
        close(fds[i]);
}

/* The client goes away while the handler works. */
static void
test_client_gone(void **state)
{
    struct fixture *fixture = *state;
    struct fz_error err;
    assert_int_equal(start(fixture, "127.0.0.1:0", &err), FZ_OK);
    for (int i = 0; i < 20; i++) {
        int fd = send_get(http_url(fixture->server), "/hold");
        while (!atomic_load(&held))
            fz_time_sleep_ms(1);
        /* With a reset, or an orderly end. */
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        if (i % 2)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
        struct http_request *request = atomic_load(&held);
        atomic_store(&held, NULL);
        http_respond_json(request, 200, fz_span_cstr("{}"));
    }
    while (atomic_load(&fixture->metrics->http_connections))
        fz_time_sleep_ms(5);
    expect(send_get(http_url(fixture->server), "/now"), "HTTP/1.1 200 OK\r\n", NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_listen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_port_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_finishes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_gives_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_per_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client_gone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
