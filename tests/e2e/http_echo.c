/*
 * A server without storage, so that tests can check the HTTP side alone.
 *
 * Prints its URL on one line and serves until standard input ends. Limits come as NAME=VALUE
 * arguments, and trusted_proxies=LIST. Tokens are "good" and
 * "good" with one more character.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "server/http/http.h"
#include "server/http/stream.h"

enum { SMALL = 10000, INFLATED = 4 * 1024 * 1024, UPLOAD = 8 * 1024 * 1024 };

static void
echo(struct http_request *request, struct fz_span body)
{
    char hash[FZ_SHA256_TEXT], text[512];
    fz_sha256_hex(body, hash);
    snprintf(text, sizeof(text), "{\"len\":%zu,\"sha256\":\"%s\"}", body.len, hash);
    http_respond_json(request, 200, fz_span_cstr(text));
}

static void
on_memory(void *app, struct http_request *request)
{
    (void)app;
    echo(request, http_body(request));
}

static void
on_file(void *app, struct http_request *request)
{
    (void)app;
    uint64_t size;
    int fd = http_body_fd(request, &size);
    struct fz_map map;
    struct fz_error err;
    if (fz_map_open_fd(fd, &map, &err)) {
        http_respond_error(request, &err);
        return;
    }
    if (map.bytes.len != size)
        abort();
    echo(request, map.bytes);
    fz_map_close(&map);
}

static void
on_item(void *app, struct http_request *request)
{
    (void)app;
    struct fz_buffer json;
    fz_buffer_init(&json, 0);
    fz_buffer_text(&json, "{\"id\":");
    fz_text_json_append(&json, fz_span_cstr(http_param(request, "id")));
    const char *query = http_query(request, "q");
    fz_buffer_text(&json, ",\"q\":");
    fz_text_json_append(&json, fz_span_cstr(query ? query : "(none)"));
    fz_buffer_text(&json, "}");
    http_log_note(request, "seen", "yes \"really\"");
    http_respond_json(request, 200, fz_buffer_span(&json));
    fz_buffer_deinit(&json);
}

static void *
answer_later(void *arg)
{
    struct http_request *request = arg;
    const char *ms = http_query(request, "ms");
    fz_time_sleep_ms(ms ? atoi(ms) : 100);
    http_respond_json(request, 200, fz_span_cstr("{\"late\":true}"));
    return NULL;
}

static void
on_later(void *app, struct http_request *request)
{
    (void)app;
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_later, request) == 0)
        pthread_detach(thread);
}

static void
on_big(void *app, struct http_request *request)
{
    (void)app;
    const char *text = http_query(request, "bytes");
    size_t len = text ? (size_t)atol(text) : 0;
    char *body = malloc(len + 1);
    if (!body)
        abort();
    memset(body, 'x', len);
    http_respond(request, 200, "text/plain", fz_span_make(body, len));
    free(body);
}

static void
on_fail(void *app, struct http_request *request)
{
    (void)app;
    const char *text = http_query(request, "code");
    struct fz_error err;
    fz_ignore(fz_fail_at(&err, (enum fz_code)(text ? atoi(text) : 1), 7, "as \"asked\""));
    http_respond_error(request, &err);
}

/* ---- requests that wait until all are let go ---- */

enum { HELD_MAX = 64 };

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_request *held[HELD_MAX]; /* guarded by held_lock */
static size_t n_held;

static void
on_hold(void *app, struct http_request *request)
{
    (void)app;
    http_answer_within(request, 0);
    if (http_query(request, "leaves"))
        http_leave_queue(request);
    pthread_mutex_lock(&held_lock);
    if (n_held == HELD_MAX)
        abort();
    held[n_held++] = request;
    pthread_mutex_unlock(&held_lock);
}

static void
on_held(void *app, struct http_request *request)
{
    (void)app;
    char text[32];
    pthread_mutex_lock(&held_lock);
    snprintf(text, sizeof(text), "{\"held\":%zu}", n_held);
    for (; n_held && http_query(request, "release"); n_held--)
        http_respond_json(held[n_held - 1], 200, fz_span_cstr("{}"));
    pthread_mutex_unlock(&held_lock);
    http_respond_json(request, 200, fz_span_cstr(text));
}

/* ---- streams ---- */

struct lines { /* pieces of `bytes` each, all lines with their number */
    struct http_request *request;
    long n, pieces, bytes, fails_at, ms;
};

static atomic_long n_begun, n_produced, n_destroyed;

static long
number_of(const struct http_request *request, const char *name, long fallback)
{
    const char *text = http_query(request, name);
    return text ? atol(text) : fallback;
}

static enum fz_code
produce_lines(void *user, struct http_stream *stream, struct fz_buffer *out,
              enum http_stream_step *ret_step, struct fz_error *err)
{
    struct lines *lines = user;
    (void)stream;
    atomic_fetch_add(&n_produced, 1);
    /* Readable until the end, also for a client that has gone. */
    if (!http_query(lines->request, "pieces"))
        abort();
    fz_time_sleep_ms(lines->ms);
    if (lines->n == lines->fails_at)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the database at 10.0.0.7 is gone");
    for (long len = 0; len < lines->bytes; len += 64)
        fz_buffer_printf(out, "%-20ld%-43ld\n", lines->n, len);
    *ret_step = ++lines->n < lines->pieces ? HTTP_STREAM_MORE : HTTP_STREAM_END;
    return FZ_OK;
}

static void
free_lines(void *user)
{
    atomic_fetch_add(&n_destroyed, 1);
    free(user);
}

static void
on_stream(void *app, struct http_request *request)
{
    (void)app;
    struct lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        abort();
    *lines = (struct lines){.request = request,
                            .pieces = number_of(request, "pieces", 1),
                            .bytes = number_of(request, "bytes", 64),
                            .fails_at = number_of(request, "fails_at", -1),
                            .ms = number_of(request, "ms", 0)};
    struct http_source source = {.produce = produce_lines, .destroy = free_lines, .user = lines};
    http_add_header(request, "X-Kind", "lines");
    atomic_fetch_add(&n_begun, 1);
    http_respond_stream(request, "text/plain", &source);
}

struct listener {
    struct listener *next;
    struct http_stream *stream; /* NULL until it has produced once */
    long n_seen, ms;
};

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static struct listener *listeners; /* guarded by events_lock, as is the next one */
static long n_events;

/* The events that came since the last call, or a comment that keeps the connection alive. */
static enum fz_code
produce_events(void *user, struct http_stream *stream, struct fz_buffer *out,
               enum http_stream_step *ret_step, struct fz_error *err)
{
    struct listener *listener = user;
    (void)err;
    atomic_fetch_add(&n_produced, 1);
    pthread_mutex_lock(&events_lock);
    if (listener->n_seen == n_events)
        fz_buffer_text(out, ": still here\n\n");
    while (listener->n_seen < n_events)
        fz_buffer_printf(out, "data: %ld\n\n", ++listener->n_seen);
    listener->stream = stream;
    pthread_mutex_unlock(&events_lock);
    /* What comes now is not in `out`: its wake must not be lost. */
    fz_time_sleep_ms(listener->ms);
    *ret_step = HTTP_STREAM_WAIT;
    return FZ_OK;
}

static void
free_listener(void *user)
{
    struct listener *listener = user;
    pthread_mutex_lock(&events_lock);
    struct listener **at = &listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    pthread_mutex_unlock(&events_lock);
    atomic_fetch_add(&n_destroyed, 1);
    free(listener);
}

static void
on_events(void *app, struct http_request *request)
{
    (void)app;
    struct listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        abort();
    atomic_fetch_add(&n_begun, 1);
    pthread_mutex_lock(&events_lock);
    listener->n_seen = n_events;
    listener->ms = number_of(request, "ms", 0);
    listener->next = listeners;
    listeners = listener;
    pthread_mutex_unlock(&events_lock);
    struct http_source source = {.produce = produce_events,
                                 .destroy = free_listener,
                                 .user = listener,
                                 .idle_ms = (unsigned)number_of(request, "idle_ms", 0),
                                 .is_plain = number_of(request, "plain", 1) != 0};
    http_respond_stream(request, "text/event-stream", &source);
}

static void
on_wake(void *app, struct http_request *request)
{
    (void)app;
    pthread_mutex_lock(&events_lock);
    n_events++;
    for (struct listener *at = listeners; at; at = at->next) {
        if (at->stream)
            http_stream_wake(at->stream);
    }
    pthread_mutex_unlock(&events_lock);
    http_respond_json(request, 200, fz_span_cstr("{}"));
}

/* What streams have done so far. */
static void
on_counts(void *app, struct http_request *request)
{
    (void)app;
    char text[128];
    snprintf(text, sizeof(text), "{\"begun\":%ld,\"produced\":%ld,\"destroyed\":%ld}",
             atomic_load(&n_begun), atomic_load(&n_produced), atomic_load(&n_destroyed));
    http_respond_json(request, 200, fz_span_cstr(text));
}

static enum fz_code
authorize(void *app, struct http_request *request, unsigned scope, int64_t *ret_project_id,
          int64_t *ret_token_id, int *ret_status, struct fz_error *err)
{
    (void)app;
    const char *token = http_header(request, "authorization");
    *ret_status = token ? 403 : 401;
    if (!token || strncmp(token, "Bearer good", 11) != 0 || strlen(token) > 12)
        return fz_fail(err, FZ_E_DENIED, "no token with scope %u", scope);
    *ret_project_id = 1;
    *ret_token_id = token[11] ? token[11] : 1;
    return FZ_OK;
}

static const struct http_route routes[] = {
    {"POST", "/memory", HTTP_BODY_MEMORY, SMALL, INFLATED, 0, 0, "memory", on_memory, 0, NULL,
     NULL},
    {"POST", "/slow", HTTP_BODY_MEMORY, SMALL, INFLATED, 2, 0, "slow", on_memory, 0, NULL, NULL},
    {"POST", "/large", HTTP_BODY_MEMORY, UPLOAD, UPLOAD, 0, 0, "large", on_memory, 0, NULL, NULL},
    {"POST", "/file", HTTP_BODY_FILE, UPLOAD, 2 * UPLOAD, 0, 0, "file", on_file, 0, NULL, NULL},
    {"POST", "/known", HTTP_BODY_MEMORY, UPLOAD, UPLOAD, 0, 1, "known", on_memory, 0, NULL, NULL},
    {"POST", "/private", HTTP_BODY_MEMORY, SMALL, SMALL, 0, 1, "private", on_memory, 0, NULL, NULL},
    {"POST", "/hold", HTTP_BODY_MEMORY, SMALL, SMALL, 0, 0, "hold", on_hold, HTTP_ROUTE_QUEUES,
     NULL, NULL},
    {"GET", "/held", HTTP_BODY_NONE, 0, 0, 0, 0, "held", on_held, 0, NULL, NULL},
    {"GET", "/items/{id}", HTTP_BODY_NONE, 0, 0, 0, 0, "item", on_item, 0, NULL, NULL},
    {"DELETE", "/items/{id}", HTTP_BODY_NONE, 0, 0, 0, 0, "item_delete", on_item, 0, NULL, NULL},
    {"GET", "/later", HTTP_BODY_NONE, 0, 0, 0, 0, "later", on_later, 0, NULL, NULL},
    {"GET", "/big", HTTP_BODY_NONE, 0, 0, 0, 0, "big", on_big, 0, NULL, NULL},
    {"GET", "/stream", HTTP_BODY_NONE, 0, 0, 0, 0, "stream", on_stream, 0, NULL, NULL},
    {"GET", "/events", HTTP_BODY_NONE, 0, 0, 0, 0, "events", on_events, 0, NULL, NULL},
    {"GET", "/counts", HTTP_BODY_NONE, 0, 0, 0, 0, "counts", on_counts, 0, NULL, NULL},
    {"POST", "/wake", HTTP_BODY_MEMORY, SMALL, SMALL, 0, 0, "wake", on_wake, 0, NULL, NULL},
    {"GET", "/fail", HTTP_BODY_NONE, 0, 0, 0, 0, "fail", on_fail, 0, NULL, NULL},
};

int
main(int argc, char **argv)
{
    struct limits limits = limits_default();
    const char *temp = getenv("TMPDIR");
    const char *proxies = NULL;
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value)
            *value++ = '\0';
        if (value && strcmp(argv[i], "trusted_proxies") == 0) {
            proxies = value;
            continue;
        }
        if (!value || limits_set(&limits, argv[i], value) != 0) {
            fprintf(stderr, "http_echo: no such limit: %s\n", argv[i]);
            return 2;
        }
    }
    struct fz_error err;
    struct metrics *metrics;
    int metrics_fd;
    struct http_server *server;
    if (metrics_create(&metrics, &metrics_fd, &err)) {
        fprintf(stderr, "http_echo: %s\n", err.text);
        return 1;
    }
    struct http_config config = {.listen = "127.0.0.1:0",
                                 .temp_dir = temp ? temp : "/tmp",
                                 .routes = routes,
                                 .n_routes = FZ_ARRAY_LEN(routes),
                                 .authorize = authorize,
                                 .limits = &limits,
                                 .trusted_proxies = proxies,
                                 .metrics = metrics};
    if (http_start(&config, &server, &err)) {
        fprintf(stderr, "http_echo: %s\n", err.text);
        return 1;
    }
    printf("%s\n", http_url(server));
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    const char *grace_ms = getenv("GRACE_MS");
    http_stop(server, grace_ms ? atoi(grace_ms) : 5000);
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    metrics_print(metrics, NULL, &text);
    printf("%s", fz_buffer_cstr(&text));
    fz_buffer_deinit(&text);
    metrics_detach(metrics);
    close(metrics_fd);
    return 0;
}
