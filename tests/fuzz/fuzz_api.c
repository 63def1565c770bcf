/*
 * A request to any route of the server, with credentials that count: bodies of logins, sessions and links, cookies, forms,
 * queries, rules, parameters of exports and events, what uploaders and clients of other servers send.
 *
 * The first line is the credential (A admin token, C cookie of a session, I ingest key, N none), the method and the target, then
 * come lines of further header fields, an empty line and the body. The server has a database and a framezero-child, but no
 * worker. Whatever is asked for, no answer is 500, and the server goes on serving.
 */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "server/api/api.h"
#include "server/clients/clients.h"
#include "server/http/server.h"
#include "server/web/web.h"
#include "storage/store.h"
#include "storage/store_web_sessions.h"

enum { FIRST_MS = 600 * 1000, MORE_MS = 50, TABLES_MAX = 32, REQUEST_MAX = 128 * 1024 };

static const char admin_token[] = "fz_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                  ingest_key[] = "0123456789abcdef0123456789abcdef",
                  secret[] = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";
static const struct store_web_limits session_limits = {86400000, 86400000};

static struct {
    struct http_server *http;
    struct api *api;
    struct store *store;
    char dir[64], database[128], blobs[128], temp[128];
} the;

static void
must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_api: %s\n", what);
    abort();
}

static void
must_ok(enum fz_code code, const struct fz_error *err)
{
    must(code == FZ_OK, err->text);
}

/* They count again: an input may have deleted the user or revoked the tokens. */
static void
give_credentials(void)
{
    static unsigned n;
    char email[32];
    const struct store_user_role role = {.role = STORE_ROLE_ADMIN};
    struct store_web_session session = {.via = STORE_VIA_PASSWORD, .address = "", .agent = ""};
    int64_t id;
    struct fz_error err;
    snprintf(email, sizeof(email), "ann%u@example.com", ++n);
    const struct store_user user = {.email = email, .name = "Ann"};
    fz_ignore(store_token_add(the.store, 0, STORE_SCOPE_ADMIN, "a", admin_token, &id, &err));
    fz_ignore(store_token_add(the.store, 1, STORE_SCOPE_INGEST, "i", ingest_key, &id, &err));
    must_ok(store_user_add(the.store, &user, &role, &session.user_id, &err), &err);
    fz_ignore(store_web_session_add(the.store, &session, &session_limits, secret, &id, &err));
}

static void
remove_all(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", the.dir);
    fz_ignore(system(command) != 0);
}

static void
make_store(void)
{
    struct fz_error err;
    unsigned n;
    snprintf(the.dir, sizeof(the.dir), "%s/fuzz-api-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(the.dir) != NULL, "no folder");
    atexit(remove_all);
    snprintf(the.database, sizeof(the.database), "sqlite:%s/framezero.db", the.dir);
    snprintf(the.blobs, sizeof(the.blobs), "file:%s/blobs", the.dir);
    snprintf(the.temp, sizeof(the.temp), "%s/tmp", the.dir);
    must(mkdir(the.temp, 0700) == 0, "no folder");
    must_ok(store_migrate(the.database, &n, &err), &err);
    must_ok(store_open(the.database, &the.store, &err), &err);
    give_credentials();
}

static void
start(void)
{
    static struct limits limits;
    static struct outbox_setup alerts;
    static struct api_login login = {"https://crash.example.com",
                                     "",
                                     "",
                                     "",
                                     "",
                                     86400000,
                                     86400000,
                                     NULL,
                                     NULL,
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     ""};
    static struct web *web;
    const struct api_routes *tables[TABLES_MAX];
    struct metrics *metrics = NULL;
    int metrics_fd = -1;
    size_t n_clients, n_web, n = 0;
    struct fz_error err;
    fz_log_set_level(FZ_LOG_ERROR);
    make_store();
    limits = limits_default();
    limits.passwords = 1;
    must_ok(metrics_create(&metrics, &metrics_fd, &err), &err);
    must_ok(web_create(&limits, &login, metrics, &web, &err), &err);
    const struct api_routes *const *clients = clients_all(&n_clients), *const *pages =
                                                                           web_all(&n_web);
    must(n_clients + n_web <= TABLES_MAX, "too many tables");
    for (size_t i = 0; i < n_clients; i++)
        tables[n++] = clients[i];
    for (size_t i = 0; i < n_web; i++)
        tables[n++] = pages[i];
    const struct api_config config = {.clients = tables,
                                      .n_clients = n,
                                      .database_url = the.database,
                                      .blobs = {.url = the.blobs},
                                      .limits = &limits,
                                      .metrics = metrics,
                                      .symbolicate_v5_project = "default",
                                      .cors_origins = "https://a.example.com",
                                      .alerts = &alerts,
                                      .login = &login,
                                      .web = web};
    must_ok(api_create(&config, &the.api, &err), &err);
    struct http_config http = {.listen = "127.0.0.1:0",
                               .temp_dir = the.temp,
                               .authorize = api_authorize,
                               .is_stuck = api_is_stuck,
                               .app = the.api,
                               .limits = &limits,
                               .metrics = metrics};
    http.routes = api_routes(the.api, &http.n_routes);
    must_ok(http_start(&http, &the.http, &err), &err);
    /* There is no worker to wait for. */
    api_stop_waiting(the.api);
}

/* What a message of a channel would be sent to is not this machine's. */
static bool
would_send(struct fz_span target)
{
    return fz_text_contains(target, "test") || fz_text_contains(target, "%74") ||
           fz_text_contains(target, "%54") || fz_text_contains(target, "%65") ||
           fz_text_contains(target, "%73");
}

/* The request as it is sent; false: it is not one. */
static bool
make_request(struct fz_span in, struct fz_buffer *out)
{
    size_t end = fz_text_find(in, "\n");
    if (end == SIZE_MAX || end < 5 || in.data[1] != ' ')
        return false;
    struct fz_span line = fz_span_make(in.data + 2, end - 2), rest = fz_span_from(in, end + 1);
    if (fz_text_contains(line, "/channels/") && would_send(line))
        return false;
    fz_buffer_append(out, line.data, line.len);
    fz_buffer_text(out, " HTTP/1.1\r\nHost: crash.example.com\r\nConnection: close\r\n");
    if (in.data[0] == 'A')
        fz_buffer_printf(out, "Authorization: Bearer %s\r\n", admin_token);
    else if (in.data[0] == 'I')
        fz_buffer_printf(out, "Authorization: Bearer %s\r\n", ingest_key);
    else if (in.data[0] == 'C')
        fz_buffer_printf(out, "Cookie: __Host-framezero=%s\r\nSec-Fetch-Site: same-origin\r\n",
                         secret);
    while ((end = fz_text_find(rest, "\n")) != SIZE_MAX && end > 0) {
        fz_buffer_append(out, rest.data, end);
        fz_buffer_text(out, "\r\n");
        rest = fz_span_from(rest, end + 1);
    }
    rest = end == 0 ? fz_span_from(rest, 1) : fz_span_make(NULL, 0);
    fz_buffer_printf(out, "Content-Length: %zu\r\n\r\n", rest.len);
    if (rest.len)
        fz_buffer_append(out, rest.data, rest.len);
    return !out->failed && out->len < REQUEST_MAX;
}

/* The status of the answer, 0 without one. The rest of it is read while it comes at once: an answer that is a stream, or
 * that waits for a worker, has no end here. */
static int
read_status(int fd)
{
    char bytes[65536], head[16] = "";
    size_t len = 0;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, len ? MORE_MS : FIRST_MS);
        ssize_t n = ready > 0 ? recv(fd, bytes, sizeof(bytes), 0) : 0;
        must(ready > 0 || len > 0, "no answer");
        if (n <= 0)
            break;
        /* Until then it may wait for the rest of a body that it refuses. */
        if (len == 0)
            must(shutdown(fd, SHUT_WR) == 0, "the side cannot be ended");
        for (ssize_t i = 0; i < n && len + (size_t)i < sizeof(head) - 1; i++)
            head[len + (size_t)i] = bytes[i];
        len += (size_t)n;
    }
    must(len == 0 || memcmp(head, "HTTP/1.1 ", 9) == 0, "the answer is not HTTP");
    return len ? (int)strtol(head + 9, NULL, 10) : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer request = fz_buffer_make(0);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fds[2], room = 2 * REQUEST_MAX;
    if (!the.http)
        start();
    if (!make_request(fz_span_make(size ? data : NULL, size), &request))
        return 0;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "no pair of sockets");
    must(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == 0, "no room");
    must(send(fds[0], request.data, request.len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
             (ssize_t)request.len,
         "the pair is full");
    must(MHD_add_connection(the.http->daemon, fds[1], (const struct sockaddr *)&peer,
                            sizeof(peer)) == MHD_YES,
         "the connection is not taken");
    int status = read_status(fds[0]);
    close(fds[0]);
    if (status == 401 && data[0] != 'N')
        give_credentials();
    if (status == 500)
        fprintf(stderr, "%.*s\n", (int)(request.len < 400 ? request.len : 400),
                (const char *)request.data);
    must(status != 500, "an internal error");
    return 0;
}
