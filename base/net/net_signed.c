#include "base/net/net_signed.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/text.h"

enum { HEADER_MAX = 3072, PIECE = 512 * 1024, EXPECT_MS = 200, PLUS_IS_SPACE = 0x080e00 };

struct net_signed {
    CURL *curl;
    char error[CURL_ERROR_SIZE];
};

/* One transfer, as the callbacks of libcurl see it. */
struct sending {
    struct net_signed *handle;
    const struct net_signed_request *request;
    struct net_signed_answer *answer;
    uint64_t sent; /* of the file */
    struct curl_slist *headers;
    bool has_all_headers;
};

/* ---- what libcurl calls ------------------------------------------------------------------ */

/* No child process inherits the connection. */
static curl_socket_t
open_socket(void *user FZ_UNUSED, curlsocktype purpose FZ_UNUSED, struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype, address->protocol);
    if (fd >= 0)
        fz_ignore(fcntl(fd, F_SETFD, FD_CLOEXEC)); /* only a bad descriptor makes it fail */
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static size_t
read_file(char *to, size_t size, size_t n, void *user)
{
    struct sending *s = user;
    uint64_t left = s->request->body_len - s->sent;
    size_t len = size * n < left ? size * n : (size_t)left;
    ssize_t got = 0;
    do {
        got = pread(s->request->fd, to, len, (off_t)(s->request->offset + s->sent));
    } while (got < 0 && errno == EINTR);
    /* A file that became shorter: what was promised cannot be sent. */
    if (got < 0 || (got == 0 && len > 0))
        return CURL_READFUNC_ABORT;
    s->sent += (uint64_t)got;
    return (size_t)got;
}

/* A connection that was kept may turn out to be dead; libcurl then sends on another one. */
static int
seek_file(void *user, curl_off_t offset, int origin)
{
    struct sending *s = user;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > s->request->body_len)
        return CURL_SEEKFUNC_FAIL;
    s->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t
write_answer(char *from, size_t size, size_t n, void *user)
{
    struct sending *s = user;
    long status = 0;
    curl_easy_getinfo(s->handle->curl, CURLINFO_RESPONSE_CODE, &status);
    if (s->request->on_bytes && (status == 200 || status == 206)) {
        bool good = s->request->on_bytes(s->request->user, fz_span_make(from, size * n));
        s->answer->is_ended = !good;
        return good ? size * n : 0;
    }
    fz_buffer_append(&s->answer->text, from, size * n);
    return s->answer->text.failed ? 0 : size * n;
}

/* The value of the header `name` in this line, trimmed; false: it is another one. */
static bool
header_is(const char *line, size_t len, const char *name, struct fz_span *ret)
{
    size_t n = strlen(name);
    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
        return false;
    *ret = fz_text_trim(fz_span_make(line + n + 1, len - n - 1));
    return true;
}

static void
copy_value(struct fz_span value, char *ret, size_t room)
{
    snprintf(ret, room, "%.*s", (int)(value.len < room ? value.len : 0), (const char *)value.data);
}

static size_t
read_header(char *line, size_t size, size_t n, void *user)
{
    struct sending *s = user;
    struct net_signed_answer *answer = s->answer;
    struct fz_span value;
    size_t len = size * n;
    if (header_is(line, len, "etag", &value)) {
        copy_value(value, answer->etag, sizeof(answer->etag));
    } else if (header_is(line, len, "x-amz-bucket-region", &value)) {
        copy_value(value, answer->region, sizeof(answer->region));
    } else if (header_is(line, len, "date", &value)) {
        char text[64];
        copy_value(value, text, sizeof(text));
        time_t date = curl_getdate(text, NULL);
        answer->date_ms = date > 0 ? (int64_t)date * 1000 : 0;
    } else if (header_is(line, len, "content-range", &value)) {
        /* "bytes 100-199/200" (RFC 9110, section 14.4) */
        uint64_t start = 0;
        size_t unit = fz_text_find(value, "bytes "), end = fz_text_find(value, "-");
        if (unit == 0 && end != SIZE_MAX && end > 6 &&
            fz_text_u64(fz_span_make(value.data + 6, end - 6), &start))
            answer->start = (int64_t)start;
    } else if (len <= 2) {
        long status = 0;
        curl_easy_getinfo(s->handle->curl, CURLINFO_RESPONSE_CODE, &status);
        s->has_all_headers = status >= 200; /* 1xx is followed by another one */
    }
    return len;
}

static int
check_go_on(void *user, curl_off_t d FZ_UNUSED, curl_off_t d_now FZ_UNUSED, curl_off_t u FZ_UNUSED,
            curl_off_t u_now FZ_UNUSED)
{
    struct sending *s = user;
    if (s->request->go_on(s->request->user))
        return 0;
    s->answer->is_ended = true;
    return 1;
}

/* ---- setting up -------------------------------------------------------------------------- */

static bool
add_header(struct sending *s, const char *name, const char *value)
{
    char line[HEADER_MAX];
    int len = snprintf(line, sizeof(line), "%s: %s", name, value);
    if (len < 0 || (size_t)len >= sizeof(line))
        return false;
    struct curl_slist *more = curl_slist_append(s->headers, line);
    if (more)
        s->headers = more;
    return more != NULL;
}

static bool
set_headers(struct sending *s)
{
    const struct net_signed_request *r = s->request;
    bool good = true;
    for (size_t i = 0; good && i < r->n_headers; i++)
        good = add_header(s, r->headers[i].name, r->headers[i].value);
    /* libcurl before 8 does not make it itself, and all versions sign the one that is given. */
    if (good && r->keys)
        good = add_header(s, "x-amz-content-sha256", r->sha256);
    if (good && r->keys && r->keys->token[0])
        good = add_header(s, "x-amz-security-token", r->keys->token);
    return good && curl_easy_setopt(s->handle->curl, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK;
}

static bool
set_keys(CURL *curl, const struct net_signed_request *r)
{
    char provider[96];
    snprintf(provider, sizeof(provider), "aws:amz:%.63s:s3", r->region);
    return curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_USERNAME, r->keys->access) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PASSWORD, r->keys->secret) == CURLE_OK;
}

static bool
set_method(struct sending *s)
{
    CURL *curl = s->handle->curl;
    const struct net_signed_request *r = s->request;
    if (strcmp(r->method, "HEAD") == 0)
        return curl_easy_setopt(curl, CURLOPT_NOBODY, 1L) == CURLE_OK;
    if (strcmp(r->method, "GET") == 0)
        return curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    if (strcmp(r->method, "DELETE") == 0)
        return curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE") == CURLE_OK;
    if (r->body_len > 0)
        return curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_file) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_READDATA, s) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_file) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_SEEKDATA, s) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)PIECE) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_len) ==
                   CURLE_OK;
    /* CURLOPT_POST in both cases: the body is in memory. */
    return curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                            r->body.len ? (const char *)r->body.data : "") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method) == CURLE_OK;
}

static void
set_times(struct sending *s)
{
    CURL *curl = s->handle->curl;
    const struct net_signed_request *r = s->request;
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)r->connect_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)r->total_ms);
    /* "Expect: 100-continue", which libcurl sends with large bodies, saves those that are refused; an
     * "Expect:" without a value would take it away, but libcurl 7.88 signs it. */
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)EXPECT_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)((r->stall_ms + 999) / 1000));
    if (r->go_on) {
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_go_on);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    }
}

static bool
set_up(struct sending *s)
{
    CURL *curl = s->handle->curl;
    const struct net_signed_request *r = s->request;
    /* Keeps the connections. */
    curl_easy_reset(curl);
    bool good =
        curl_easy_setopt(curl, CURLOPT_URL, r->url) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
        set_method(s) && set_headers(s) && (!r->keys || set_keys(curl, r));
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)PIECE);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, s->handle->error);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, s);
    set_times(s);
    if (r->ca_file && *r->ca_file)
        good = good && curl_easy_setopt(curl, CURLOPT_CAINFO, r->ca_file) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK;
    return good;
}

/* ---- the interface ----------------------------------------------------------------------- */

static void
init_curl(void)
{
    signal(SIGPIPE, SIG_IGN);
    fz_ignore(curl_global_init(CURL_GLOBAL_DEFAULT)); /* curl_easy_init() fails after it */
}

enum fz_code
net_signed_create(struct net_signed **ret, struct fz_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    fz_ignore(pthread_once(&once, init_curl));
    struct net_signed *handle = calloc(1, sizeof(*handle));
    if (handle)
        handle->curl = curl_easy_init();
    if (!handle || !handle->curl) {
        net_signed_destroy(handle);
        return fz_fail(err, FZ_E_NO_MEMORY, "libcurl could not be set up: out of memory");
    }
    *ret = handle;
    return FZ_OK;
}

void
net_signed_destroy(struct net_signed *handle)
{
    if (!handle)
        return;
    curl_easy_cleanup(handle->curl);
    free(handle);
}

/* libcurl 8.14 reads the '+' that "%2B" in a query means as a space, and signs that. */
static bool
cannot_sign(const struct net_signed_request *r, struct net_signed_answer *ret)
{
    const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
    const char *query = strchr(r->url, '?');
    if (!r->keys || version->version_num < PLUS_IS_SPACE || !query || !strstr(query, "%2B"))
        return false;
    snprintf(ret->why, sizeof(ret->why),
             "libcurl %.32s signs a '+' in a query wrongly: use it before 8.14", version->version);
    ret->is_refused = true;
    return true;
}

void
net_signed_send(struct net_signed *handle, const struct net_signed_request *request,
                struct net_signed_answer *ret)
{
    struct sending s = {.handle = handle, .request = request, .answer = ret};
    *ret = (struct net_signed_answer){.len = -1};
    fz_buffer_init(&ret->text, NET_SIGNED_TEXT_MAX);
    if (cannot_sign(request, ret))
        return;
    handle->error[0] = '\0';
    CURLcode result = set_up(&s) ? curl_easy_perform(handle->curl) : CURLE_FAILED_INIT;
    long status = 0;
    curl_off_t len = -1;
    curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &len);
    ret->len = (int64_t)len;
    /* A server may refuse a body before it has taken all of it: that is an answer. A body that was
     * cut off is not one. */
    bool is_answer = result == CURLE_OK || (result == CURLE_SEND_ERROR && s.has_all_headers);
    ret->status = is_answer ? status : 0;
    ret->is_refused = result == CURLE_PEER_FAILED_VERIFICATION ||
                      result == CURLE_SSL_CACERT_BADFILE || result == CURLE_UNSUPPORTED_PROTOCOL;
    if (!is_answer)
        snprintf(ret->why, sizeof(ret->why), "%.255s",
                 handle->error[0] ? handle->error : curl_easy_strerror(result));
    /* Nothing of this request is left in the handle. */
    curl_easy_reset(handle->curl);
    curl_slist_free_all(s.headers);
}

void
net_signed_answer_deinit(struct net_signed_answer *answer)
{
    fz_buffer_deinit(&answer->text);
}
