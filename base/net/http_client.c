#include "base/net/http_client.h"

#include <ctype.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/time.h"

enum {
    TRIES = 6,
    PAUSE_MIN_MS = 500,
    PAUSE_MAX_MS = 60000,
    RETRY_AFTER_MAX_S = 86400,
    ANSWER_MAX_BYTES = 64 * 1024 * 1024,
    CONNECT_S = 15,
    PROGRESS_MS = 200,
};

struct net_http {
    struct net_http_config config;
    CURL *curl;
    struct curl_slist *headers;
    struct fz_buffer answer;
    /* of the current request */
    struct fz_span body;
    size_t sent;
    int64_t retry_after_ms, shown_ms;
    char location[256];
};

/* ---- what libcurl calls ------------------------------------------------------------------ */

static size_t
read_body(char *to, size_t size, size_t n, void *user)
{
    struct net_http *http = user;
    size_t left = http->body.len - http->sent;
    size_t len = size * n < left ? size * n : left;
    if (len > 0)
        memcpy(to, http->body.data + http->sent, len);
    http->sent += len;
    return len;
}

/* libcurl sends a body again when the server closes a connection that was kept open. */
static int
seek_body(void *user, curl_off_t offset, int origin)
{
    struct net_http *http = user;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > http->body.len)
        return CURL_SEEKFUNC_CANTSEEK;
    http->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t
write_answer(char *from, size_t size, size_t n, void *user)
{
    struct net_http *http = user;
    fz_buffer_append(&http->answer, from, size * n);
    return http->answer.failed ? 0 : size * n;
}

/* "Name: value\r\n" */
static size_t
read_header(char *line, size_t size, size_t n, void *user)
{
    struct net_http *http = user;
    static const char retry[] = "Retry-After:", location[] = "Location:";
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)(size * n < 255 ? size * n : 255), line);
    text[strcspn(text, "\r\n")] = '\0';
    if (strncasecmp(text, retry, strlen(retry)) == 0) {
        /* The header may also be a date, which counts as 0: the growing pauses apply. */
        long seconds = strtol(text + strlen(retry), NULL, 10);
        http->retry_after_ms =
            seconds > 0 && seconds <= RETRY_AFTER_MAX_S ? (int64_t)seconds * 1000 : 0;
    } else if (strncasecmp(text, location, strlen(location)) == 0) {
        const char *value = text + strlen(location);
        snprintf(http->location, sizeof(http->location), "%s", value + strspn(value, " "));
    }
    return size * n;
}

static int
show_progress(void *user, curl_off_t down_total FZ_UNUSED, curl_off_t down FZ_UNUSED,
              curl_off_t up_total, curl_off_t up)
{
    struct net_http *http = user;
    int64_t now_ms = fz_time_monotonic_ms();
    if (up_total > 0 && (now_ms - http->shown_ms > PROGRESS_MS || up == up_total)) {
        http->shown_ms = now_ms;
        http->config.progress(http->config.user, (int)(up * 100 / up_total));
    }
    return 0;
}

/* ---- one request ------------------------------------------------------------------------- */

static void
set_up(struct net_http *http, const char *url, const struct fz_span *body)
{
    CURL *curl = http->curl;
    /* This forgets the options and keeps the connection. */
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "framezero/" FZ_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    /* libcurl would use SIGALRM for timeouts, which is not safe with threads. */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, http);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, http);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
        curl_easy_setopt(curl, CURLOPT_READDATA, http);
        curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
        curl_easy_setopt(curl, CURLOPT_SEEKDATA, http);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        if (http->config.progress) {
            curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
            curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show_progress);
            curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http);
        }
    }
    http->body = body ? *body : (struct fz_span){0};
    http->sent = 0;
    http->retry_after_ms = 0;
    /* What the request before it answered must not count for this one. */
    http->location[0] = '\0';
    fz_buffer_clear(&http->answer);
}

static bool
is_worth_a_retry(CURLcode result, long status)
{
    switch (status) {
    case 429:
    case 502:
    case 503:
    case 504:
        return true;
    default:
        /* Errors that another attempt cannot change; CURLE_WRITE_ERROR is an answer above the
         * limit. */
        return result != CURLE_OK && result != CURLE_URL_MALFORMAT &&
               result != CURLE_UNSUPPORTED_PROTOCOL && result != CURLE_WRITE_ERROR &&
               result != CURLE_PEER_FAILED_VERIFICATION;
    }
}

static int64_t
pause_before_retry(struct net_http *http, const char *why, int64_t pause_ms)
{
    int64_t wait_ms = http->retry_after_ms > pause_ms ? http->retry_after_ms : pause_ms;
    /* A server may ask for hours; a build waits for this. */
    if (wait_ms > PAUSE_MAX_MS)
        wait_ms = PAUSE_MAX_MS;
    if (http->config.retry)
        http->config.retry(http->config.user, why, wait_ms);
    fz_time_sleep_ms(wait_ms);
    return pause_ms * 2;
}

enum fz_code
net_http_send(struct net_http *http, const char *path, const struct fz_span *body,
              struct net_http_answer *ret_answer, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer url = fz_buffer_make(0);
    fz_buffer_printf(&url, "%s%s", http->config.server, path);
    enum fz_code code = fz_buffer_done(&url, err);
    if (code != FZ_OK)
        return code;
    int64_t pause_ms = PAUSE_MIN_MS;
    for (int i = 1;; i++) {
        long status = 0;
        set_up(http, fz_buffer_cstr(&url), body);
        CURLcode result = curl_easy_perform(http->curl);
        /* Only where a percentage was shown, which the next message must not follow in its line. */
        if (http->shown_ms)
            http->config.progress(http->config.user, -1);
        http->shown_ms = 0;
        curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
        /* A server that refuses early need not have read the body: its answer counts. */
        bool is_answered = result == CURLE_OK || (result == CURLE_SEND_ERROR && status >= 400);
        if (is_answered && !is_worth_a_retry(CURLE_OK, status)) {
            *ret_answer = (struct net_http_answer){.status = status,
                                                   .body = fz_buffer_span(&http->answer),
                                                   .location = http->location};
            return FZ_OK;
        }
        char why[160];
        snprintf(why, sizeof(why), "HTTP status %ld", status);
        if (!is_answered)
            snprintf(why, sizeof(why), "%s", curl_easy_strerror(result));
        if (i == TRIES || !is_worth_a_retry(result, status))
            return fz_fail(err, FZ_E_UNAVAILABLE, "%s: %s (tried %d times)", http->config.server,
                           why, i);
        pause_ms = pause_before_retry(http, why, pause_ms);
    }
}

void
net_http_append_query(struct fz_buffer *path, const char *key, const char *value)
{
    fz_buffer_printf(path, "%c%s=", strchr(fz_buffer_cstr(path), '?') ? '&' : '?', key);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c < 0x80 && (isalnum(*c) || strchr("-._~", *c)))
            fz_buffer_char(path, (char)*c);
        else
            fz_buffer_printf(path, "%%%02X", *c);
    }
}

/* ---- life -------------------------------------------------------------------------------- */

enum fz_code
net_http_open(const struct net_http_config *config, struct net_http **ret_http,
              struct fz_error *err)
{
    char header[1024];
    FZ_CLEANUP(net_http_closep) struct net_http *http = calloc(1, sizeof(*http));
    if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    http->config = *config;
    signal(SIGPIPE, SIG_IGN);
    fz_buffer_init(&http->answer, ANSWER_MAX_BYTES);
    http->curl = curl_easy_init();
    snprintf(header, sizeof(header), "Authorization: Bearer %s", config->token);
    http->headers = curl_slist_append(NULL, header);
    /* On failure the list stays as it was, and net_http_close() frees it. */
    struct curl_slist *more =
        curl_slist_append(http->headers, "Content-Type: application/octet-stream");
    if (!http->curl || !more)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret_http = fz_take(&http);
    return FZ_OK;
}

void
net_http_close(struct net_http *http)
{
    if (!http)
        return;
    curl_slist_free_all(http->headers);
    curl_easy_cleanup(http->curl);
    fz_buffer_deinit(&http->answer);
    free(http);
}

void
net_http_closep(struct net_http **http)
{
    net_http_close(*http);
}
