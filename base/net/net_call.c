#include "base/net/net_call.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/text.h"
#include "base/time.h"

enum { CONNECT_MS = 10000, ANSWER_BYTES_MAX = 64 * 1024, HEADER_BYTES_MAX = 64 * 1024 };

void
net_call_invalid(struct net_outcome *outcome, const char *text)
{
    outcome->result = NET_INVALID;
    snprintf(outcome->text, sizeof(outcome->text), "%s", text);
}

/* ---- what libcurl calls ------------------------------------------------------------------ */

static bool
read_ip(const struct curl_sockaddr *address, struct fz_ip *ret)
{
    /* Copies, because libcurl's structure need not be aligned for these. */
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *ret = (struct fz_ip){.bytes = {[10] = 0xff, [11] = 0xff}};
    if (address->family == AF_INET && address->addrlen >= sizeof(v4)) {
        memcpy(&v4, &address->addr, sizeof(v4));
        memcpy(&ret->bytes[12], &v4.sin_addr, 4);
        return true;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(v6)) {
        memcpy(&v6, &address->addr, sizeof(v6));
        memcpy(ret->bytes, &v6.sin6_addr, 16);
        return true;
    }
    return false; /* a Unix socket, or what is still to be invented */
}

/* The last moment before a connection: this address is the one that connect() gets. */
static curl_socket_t
open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct net_call *call = user;
    struct fz_ip ip;
    if (purpose != CURLSOCKTYPE_IPCXN || address->socktype != SOCK_STREAM ||
        !read_ip(address, &ip)) {
        snprintf(call->refused, sizeof(call->refused), "has an address that is not of TCP");
        return CURL_SOCKET_BAD;
    }
    if (call->guard && !net_guard_allows(call->guard, call->host, &ip)) {
        char text[INET6_ADDRSTRLEN] = "";
        bool is_v4 = fz_ip_is_v4(&ip);
        inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &ip.bytes[12] : ip.bytes, text, sizeof(text));
        snprintf(call->refused, sizeof(call->refused), "is %s, %s", text,
                 net_address_kind_name(net_address_kind(&ip)));
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    fz_ignore(fcntl(fd, F_SETFD, FD_CLOEXEC)); /* only a bad descriptor makes it fail */
    call->has_socket = true;
    return fd;
}

static void
keep(struct net_outcome *outcome, const char *from, size_t len)
{
    size_t room = NET_ANSWER_MAX - outcome->answer_len;
    size_t n = len < room ? len : room;
    memcpy(outcome->answer + outcome->answer_len, from, n);
    outcome->answer_len += n;
    outcome->answer[outcome->answer_len] = '\0';
}

static size_t
write_answer(char *from, size_t size, size_t n, void *user)
{
    struct net_call *call = user;
    if (call->answer) {
        fz_buffer_append(call->answer, from, size * n);
        return call->answer->failed ? 0 : size * n;
    }
    keep(call->outcome, from, size * n);
    call->n_answer_bytes += size * n;
    /* Anything else ends the transfer: what is not kept need not be read. */
    return call->n_answer_bytes > ANSWER_BYTES_MAX ? 0 : size * n;
}

/* A line of a response: of HTTP the header, of SMTP all. */
static size_t
read_line(char *line, size_t size, size_t n, void *user)
{
    struct net_call *call = user;
    long status = 0;
    size_t len = size * n;
    call->n_header_bytes += len;
    if (call->n_header_bytes > HEADER_BYTES_MAX)
        return 0;
    if (call->is_mail) {
        keep(call->outcome, line, len);
    } else if (len <= 2 && (len == 0 || line[0] == '\r' || line[0] == '\n')) {
        curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
        /* 1xx is followed by another one. */
        call->has_answer = status >= 200;
    }
    return len;
}

/* Called at least once a second. */
static int
check_cancelled(void *user, curl_off_t d FZ_UNUSED, curl_off_t d_now FZ_UNUSED,
                curl_off_t u FZ_UNUSED, curl_off_t u_now FZ_UNUSED)
{
    atomic_bool *is_cancelled = user;
    return atomic_load(is_cancelled) ? 1 : 0;
}

/* ---- one transfer ------------------------------------------------------------------------ */

static bool
set_up(struct net_call *call, const char *schemes, const struct net_rules *rules)
{
    CURL *curl = call->curl;
    long timeout_ms = (long)(rules->timeout_ms > 0 ? rules->timeout_ms : NET_TIMEOUT_MS);
    bool good =
        curl_easy_setopt(curl, CURLOPT_CURLU, call->url) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, schemes) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, call) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
        /* "" means none, whatever the environment says; NULL would ask it. */
        curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout_ms < CONNECT_MS ? timeout_ms : (long)CONNECT_MS);
    if (rules->is_cancelled) {
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_cancelled);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, rules->is_cancelled);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    }
    /* libcurl would use SIGALRM for timeouts, which is not safe with threads. */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->error);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
    if (rules->ca_file && *rules->ca_file) {
        good = good && curl_easy_setopt(curl, CURLOPT_CAINFO, rules->ca_file) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK;
    }
    for (const char *const *entry = rules->resolve; good && entry && *entry; entry++) {
        struct curl_slist *more = curl_slist_append(call->resolve, *entry);
        good = more != NULL;
        if (more)
            call->resolve = more;
    }
    curl_easy_setopt(curl, CURLOPT_RESOLVE, call->resolve);
    return good;
}

bool
net_call_open(struct net_call *call, const char *url, const char *schemes,
              const struct net_rules *rules)
{
    struct fz_error err;
    enum fz_code code = net_url_parse(url, schemes, &call->url, call->host, &err);
    if (code != FZ_OK) {
        net_call_invalid(call->outcome, err.text);
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    call->outcome->result = NET_FAILED;
    call->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_easy_init() : NULL;
    if (!call->curl || !set_up(call, schemes, rules)) {
        snprintf(call->outcome->text, sizeof(call->outcome->text),
                 "libcurl could not be set up: out of memory, or too old");
        return false;
    }
    return true;
}

void
net_call_perform(struct net_call *call)
{
    struct net_outcome *outcome = call->outcome;
    int64_t start_ms = fz_time_monotonic_ms();
    long status = 0;
    curl_off_t retry_after_s = 0;
    CURLcode result = curl_easy_perform(call->curl);
    curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    outcome->took_ms = fz_time_monotonic_ms() - start_ms;
    outcome->status = (int)status;
    outcome->retry_after_s = retry_after_s > 0 ? retry_after_s : 0;
    const char *why = call->error[0] ? call->error : curl_easy_strerror(result);
    if (call->answer && call->answer->over_cap)
        why = "the answer is too long";
    /* A body that is cut or too long changes nothing about the status, unless all of it is needed. */
    if (call->answer ? result == CURLE_OK : call->is_mail ? result == CURLE_OK : call->has_answer) {
        outcome->result = NET_ANSWERED;
        if (!call->is_mail && (status < 200 || status > 299))
            snprintf(outcome->text, sizeof(outcome->text), "%s answered with status %ld",
                     call->host, status);
    } else if (!call->has_socket && call->refused[0]) {
        outcome->result = NET_REFUSED;
        snprintf(outcome->text, sizeof(outcome->text),
                 "%s %s, which the server may not connect to; the operator can allow it with the "
                 "setting %s",
                 call->host, call->refused, call->setting ? call->setting : "alert-internal");
    } else {
        outcome->result = NET_FAILED;
        snprintf(outcome->text, sizeof(outcome->text), "%s: %s", call->host, why);
        if (!call->is_mail)
            outcome->status = 0;
    }
}

void
net_call_close(struct net_call *call)
{
    curl_easy_cleanup(call->curl);
    curl_slist_free_all(call->resolve);
    curl_url_cleanup(call->url);
}
