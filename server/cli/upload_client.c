#include "server/cli/upload_client.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"

enum {
    TRIES = 6,
    PAUSE_MIN_MS = 500,
    PAUSE_MAX_MS = 60000,
    ANSWER_MAX = 64 * 1024 * 1024,
    URL_ROOM = 4096,
    CONNECT_S = 15,
    KNOWN_BATCH = 5000, /* the server takes 10,000 */
    POLL_MS = 500,
};

struct upload_client {
    struct upload_client_config config;
    CURL *curl;
    struct curl_slist *headers;
    struct fz_buffer answer;
    /* of the request in hand */
    struct fz_span body;
    size_t sent;
    int64_t retry_after_ms, shown_ms;
    char location[256];
};

/* ---- one request ------------------------------------------------------------------------- */

static size_t
read_body(char *to, size_t size, size_t n, void *user)
{
    struct upload_client *client = user;
    size_t left = client->body.len - client->sent;
    size_t len = size * n < left ? size * n : left;
    if (len > 0)
        memcpy(to, client->body.data + client->sent, len);
    client->sent += len;
    return len;
}

static int
seek_body(void *user, curl_off_t offset, int origin)
{
    struct upload_client *client = user;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > client->body.len)
        return CURL_SEEKFUNC_CANTSEEK;
    client->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t
write_answer(char *from, size_t size, size_t n, void *user)
{
    struct upload_client *client = user;
    fz_buffer_append(&client->answer, from, size * n);
    return client->answer.failed ? 0 : size * n;
}

/* "Name: value\r\n" */
static size_t
read_header(char *line, size_t size, size_t n, void *user)
{
    struct upload_client *client = user;
    static const char retry[] = "Retry-After:", location[] = "Location:";
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)(size * n < 255 ? size * n : 255), line);
    text[strcspn(text, "\r\n")] = '\0';
    if (strncasecmp(text, retry, strlen(retry)) == 0) {
        /* A day at most; a date, which is allowed here too, counts as nothing. */
        long seconds = strtol(text + strlen(retry), NULL, 10);
        client->retry_after_ms = seconds > 0 && seconds <= 86400 ? (int64_t)seconds * 1000 : 0;
    } else if (strncasecmp(text, location, strlen(location)) == 0) {
        const char *value = text + strlen(location);
        snprintf(client->location, sizeof(client->location), "%s", value + strspn(value, " "));
    }
    return size * n;
}

static int
show_progress(void *user, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
              curl_off_t up)
{
    struct upload_client *client = user;
    int64_t now_ms = fz_time_monotonic_ms();
    (void)down_total;
    (void)down;
    if (up_total > 0 && (now_ms - client->shown_ms > 200 || up == up_total)) {
        client->shown_ms = now_ms;
        fprintf(stderr, "\r  %3d %%\r", (int)(up * 100 / up_total));
    }
    return 0;
}

/* The next message begins on an empty line. */
static void
hide_progress(struct upload_client *client)
{
    if (client->shown_ms)
        fprintf(stderr, "\r       \r");
    client->shown_ms = 0;
}

static void
set_up(struct upload_client *client, const char *url, const struct fz_span *body)
{
    CURL *curl = client->curl;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "framezero/" FZ_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, client);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, client);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
        curl_easy_setopt(curl, CURLOPT_READDATA, client);
        curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
        curl_easy_setopt(curl, CURLOPT_SEEKDATA, client);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        if (client->config.show_progress) {
            curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
            curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show_progress);
            curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
        }
    }
    client->body = body ? *body : (struct fz_span){0};
    client->sent = 0;
    client->retry_after_ms = 0;
    client->location[0] = '\0';
    fz_buffer_clear(&client->answer);
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
        return result != CURLE_OK && result != CURLE_URL_MALFORMAT &&
               result != CURLE_UNSUPPORTED_PROTOCOL && result != CURLE_WRITE_ERROR &&
               result != CURLE_PEER_FAILED_VERIFICATION;
    }
}

/* The answer's status and (in client->answer) body; `body` NULL is a GET. */
static enum fz_code
request(struct upload_client *client, const char *path, const struct fz_span *body,
        long *ret_status, struct fz_error *err)
{
    char url[URL_ROOM];
    snprintf(url, sizeof(url), "%s%s", client->config.server, path);
    int64_t pause_ms = PAUSE_MIN_MS;
    for (int i = 1;; i++) {
        set_up(client, url, body);
        CURLcode result = curl_easy_perform(client->curl);
        hide_progress(client);
        long status = 0;
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
        /* A server that refuses early need not have read the body: its answer counts. */
        bool is_answered = result == CURLE_OK || (result == CURLE_SEND_ERROR && status >= 400);
        if (is_answered && !is_worth_a_retry(CURLE_OK, status)) {
            *ret_status = status;
            return FZ_OK;
        }
        char why[160];
        snprintf(why, sizeof(why), "HTTP status %ld", status);
        if (!is_answered)
            snprintf(why, sizeof(why), "%s", curl_easy_strerror(result));
        if (i == TRIES || !is_worth_a_retry(result, status))
            return fz_fail(err, FZ_E_UNAVAILABLE, "%s: %s (tried %d times)", client->config.server,
                           why, i);
        int64_t wait_ms = client->retry_after_ms > pause_ms ? client->retry_after_ms : pause_ms;
        if (wait_ms > PAUSE_MAX_MS)
            wait_ms = PAUSE_MAX_MS;
        fprintf(stderr, "%s: %s; again in %lld ms\n", client->config.server, why,
                (long long)wait_ms);
        fz_time_sleep_ms(wait_ms);
        pause_ms *= 2;
    }
}

/* {"error":{"message":…}} as an error of ours. */
static enum fz_code
fail_status(struct upload_client *client, long status, struct fz_error *err)
{
    json_auto_t *root =
        json_loadb(client->answer.data ? client->answer.data : "", client->answer.len, 0, NULL);
    const char *text =
        json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    return fz_fail(err,
                   status == 401 || status == 403 ? FZ_E_DENIED
                   : status < 500                 ? FZ_E_MALFORMED
                                                  : FZ_E_INTERNAL,
                   "%s (HTTP status %ld)", text ? text : "no message", status);
}

static enum fz_code
parse_answer(struct upload_client *client, json_t **ret, struct fz_error *err)
{
    json_error_t error;
    json_t *root =
        json_loadb(client->answer.data ? client->answer.data : "", client->answer.len, 0, &error);
    if (!root)
        return fz_fail(err, FZ_E_MALFORMED, "the answer is not JSON: %s; is %s a framezero server?",
                       error.text, client->config.server);
    *ret = root;
    return FZ_OK;
}

/* ---- life -------------------------------------------------------------------------------- */

enum fz_code
upload_client_open(const struct upload_client_config *config, struct upload_client **ret,
                   struct fz_error *err)
{
    char header[1024];
    FZ_CLEANUP(upload_client_closep) struct upload_client *client = calloc(1, sizeof(*client));
    if (!client || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    client->config = *config;
    signal(SIGPIPE, SIG_IGN); /* a server that closes the connection is an error, not the end */
    fz_buffer_init(&client->answer, ANSWER_MAX);
    client->curl = curl_easy_init();
    snprintf(header, sizeof(header), "Authorization: Bearer %s", config->token);
    client->headers = curl_slist_append(NULL, header);
    struct curl_slist *more =
        curl_slist_append(client->headers, "Content-Type: application/octet-stream");
    if (!client->curl || !more)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = fz_take(&client);
    return FZ_OK;
}

void
upload_client_close(struct upload_client *client)
{
    if (!client)
        return;
    curl_slist_free_all(client->headers);
    curl_easy_cleanup(client->curl);
    fz_buffer_deinit(&client->answer);
    free(client);
}

void
upload_client_closep(struct upload_client **client)
{
    upload_client_close(*client);
}

/* "?a=b&project=…", percent-encoded; `key` NULL = none. */
static void
make_path(struct upload_client *client, const char *path, const char *key, const char *value,
          char ret[URL_ROOM])
{
    const char *project = client->config.project;
    char *a = curl_easy_escape(client->curl, value ? value : "", 0);
    char *b = curl_easy_escape(client->curl, project ? project : "", 0);
    snprintf(ret, URL_ROOM, "%s%s%s%s%.1024s%s%s%.256s", path, key || project ? "?" : "",
             key ? key : "", key ? "=" : "", key && a ? a : "", key && project ? "&" : "",
             project ? "project=" : "", b ? b : "");
    curl_free(a);
    curl_free(b);
}

/* ---- what is missing --------------------------------------------------------------------- */

static enum fz_code
ask_batch(struct upload_client *client, const char *kind, const struct fz_uuid *uuids, size_t n,
          bool *ret_missing, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    char path[URL_ROOM];
    long status = 0;
    struct json_write w = json_write_start(&body);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "kind", kind);
    json_write_open(&w, "uuids", '[');
    for (size_t i = 0; i < n; i++) {
        char text[FZ_UUID_TEXT];
        fz_uuid_format(&uuids[i], text);
        json_write_text(&w, NULL, text);
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    enum fz_code code = fz_buffer_done(&body, err);
    if (code != FZ_OK)
        return code;
    struct fz_span span = fz_buffer_span(&body);
    make_path(client, "/api/v1/symbols/known", NULL, NULL, path);
    code = request(client, path, &span, &status, err);
    if (code == FZ_OK && status != 200)
        code = fail_status(client, status, err);
    json_auto_t *root = NULL;
    if (code == FZ_OK)
        code = parse_answer(client, &root, err);
    if (code != FZ_OK)
        return code;
    size_t index;
    json_t *value;
    json_array_foreach(json_object_get(root, "missing"), index, value)
    {
        struct fz_uuid uuid;
        if (!fz_uuid_parse(fz_span_cstr(json_string_value(value)), &uuid))
            continue;
        for (size_t i = 0; i < n; i++)
            ret_missing[i] = ret_missing[i] || fz_uuid_equal(&uuid, &uuids[i]);
    }
    return FZ_OK;
}

enum fz_code
upload_client_missing(struct upload_client *client, const char *kind, const struct fz_uuid *uuids,
                      size_t n, bool *ret_missing, struct fz_error *err)
{
    memset(ret_missing, 0, n * sizeof(*ret_missing));
    for (size_t done = 0; done < n; done += KNOWN_BATCH) {
        size_t some = n - done < KNOWN_BATCH ? n - done : KNOWN_BATCH;
        enum fz_code code = ask_batch(client, kind, uuids + done, some, ret_missing + done, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* ---- sending ----------------------------------------------------------------------------- */

/* The server took the file but had no time for it yet: ask until it had. */
static enum fz_code
await_upload(struct upload_client *client, json_t **ret_answer, struct fz_error *err)
{
    char location[sizeof(client->location)], path[URL_ROOM];
    snprintf(location, sizeof(location), "%s", client->location);
    if (location[0] != '/')
        return fz_fail(err, FZ_E_MALFORMED, "the server did not say where to ask for the upload");
    make_path(client, location, NULL, NULL, path);
    for (;;) {
        long status = 0;
        json_auto_t *root = NULL;
        fz_time_sleep_ms(POLL_MS);
        enum fz_code code = request(client, path, NULL, &status, err);
        if (code == FZ_OK && status != 200)
            code = fail_status(client, status, err);
        if (code == FZ_OK)
            code = parse_answer(client, &root, err);
        if (code != FZ_OK)
            return code;
        const char *state = json_string_value(json_object_get(root, "status"));
        if (state && strcmp(state, "failed") == 0)
            return fail_status(client, 422, err);
        if (state && strcmp(state, "done") == 0) {
            *ret_answer = json_incref(json_object_get(root, "result"));
            return FZ_OK;
        }
    }
}

enum fz_code
upload_client_send(struct upload_client *client, const char *name, struct fz_span bytes,
                   json_t **ret_answer, struct fz_error *err)
{
    char path[URL_ROOM];
    long status = 0;
    make_path(client, "/api/v1/symbols", "name", name, path);
    enum fz_code code = request(client, path, &bytes, &status, err);
    if (code != FZ_OK)
        return code;
    if (status == 202)
        return await_upload(client, ret_answer, err);
    if (status != 201)
        return fail_status(client, status, err);
    return parse_answer(client, ret_answer, err);
}
