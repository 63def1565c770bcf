#include "server/cli/upload_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json/write.h"
#include "base/net/http_client.h"
#include "base/time.h"

enum {
    KNOWN_BATCH = 5000, /* the server accepts 10,000 */
    POLL_MS = 500,
};

struct upload_client {
    struct upload_client_config config;
    struct net_http *http;
};

/* ---- answers ----------------------------------------------------------------------------- */

static const char *
text_of(const struct net_http_answer *answer)
{
    return answer->body.len ? (const char *)answer->body.data : "";
}

/* {"error":{"message":…}} as an error of ours. */
static enum fz_code
fail_status(const struct net_http_answer *answer, long status, struct fz_error *err)
{
    json_auto_t *root = json_loadb(text_of(answer), answer->body.len, 0, NULL);
    const char *text =
        json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    return fz_fail(err,
                   status == 401 || status == 403 ? FZ_E_DENIED
                   : status < 500                 ? FZ_E_MALFORMED
                                                  : FZ_E_INTERNAL,
                   "%s (HTTP status %ld)", text ? text : "no message", status);
}

static enum fz_code
parse_answer(const struct upload_client *client, const struct net_http_answer *answer, json_t **ret,
             struct fz_error *err)
{
    json_error_t error;
    /* Most likely a proxy's page, or another server at this address. */
    json_t *root = json_loadb(text_of(answer), answer->body.len, 0, &error);
    if (!root)
        return fz_fail(err, FZ_E_MALFORMED, "the answer is not JSON: %s; is %s a framezero server?",
                       error.text, client->config.server);
    *ret = root;
    return FZ_OK;
}

/* ---- life -------------------------------------------------------------------------------- */

static void
show_progress(void *user FZ_UNUSED, int percent)
{
    if (percent >= 0)
        fprintf(stderr, "\r  %3d %%\r", percent);
    else
        fprintf(stderr, "\r       \r"); /* the next message begins on an empty line */
}

static void
show_retry(void *user, const char *why, int64_t wait_ms)
{
    const struct upload_client *client = user;
    fprintf(stderr, "%s: %s; retrying in %lld ms\n", client->config.server, why,
            (long long)wait_ms);
}

enum fz_code
upload_client_open(const struct upload_client_config *config, struct upload_client **ret,
                   struct fz_error *err)
{
    FZ_CLEANUP(upload_client_closep) struct upload_client *client = calloc(1, sizeof(*client));
    if (!client)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    client->config = *config;
    const struct net_http_config http = {
        .server = config->server,
        .token = config->token,
        .progress = config->show_progress ? show_progress : NULL,
        .retry = show_retry,
        .user = client,
    };
    enum fz_code code = net_http_open(&http, &client->http, err);
    if (code != FZ_OK)
        return code;
    *ret = fz_take(&client);
    return FZ_OK;
}

void
upload_client_close(struct upload_client *client)
{
    if (!client)
        return;
    net_http_close(client->http);
    free(client);
}

void
upload_client_closep(struct upload_client **client)
{
    upload_client_close(*client);
}

/* As net_http_send(), in the project that the user named, if any. */
static enum fz_code
request(struct upload_client *client, struct fz_buffer *path, const struct fz_span *body,
        struct net_http_answer *ret, struct fz_error *err)
{
    if (client->config.project)
        net_http_append_query(path, "project", client->config.project);
    enum fz_code code = fz_buffer_done(path, err);
    return code == FZ_OK ? net_http_send(client->http, fz_buffer_cstr(path), body, ret, err) : code;
}

/* ---- what is missing --------------------------------------------------------------------- */

static enum fz_code
ask_batch(struct upload_client *client, const char *kind, const struct fz_uuid *uuids, size_t n,
          bool *ret_missing, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
    struct net_http_answer answer;
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
    fz_buffer_text(&path, "/api/v1/symbols/known");
    code = request(client, &path, &span, &answer, err);
    if (code == FZ_OK && answer.status != 200)
        code = fail_status(&answer, answer.status, err);
    json_auto_t *root = NULL;
    if (code == FZ_OK)
        code = parse_answer(client, &answer, &root, err);
    if (code != FZ_OK)
        return code;
    size_t index;
    json_t *value;
    json_array_foreach(json_object_get(root, "missing"), index, value)
    {
        struct fz_uuid uuid;
        /* A server that answers something else is treated as if it had the file. */
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
        /* An archive of frameworks may have more images than one request may ask for. */
        size_t some = n - done < KNOWN_BATCH ? n - done : KNOWN_BATCH;
        enum fz_code code = ask_batch(client, kind, uuids + done, some, ret_missing + done, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* ---- sending ----------------------------------------------------------------------------- */

/* The server has the file but has not read it yet: ask until it has. */
static enum fz_code
await_upload(struct upload_client *client, const char *location, json_t **ret_answer,
             struct fz_error *err)
{
    if (location[0] != '/')
        return fz_fail(err, FZ_E_MALFORMED,
                       "the server's answer 202 does not name the upload (header Location)");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
    fz_buffer_text(&path, location);
    if (client->config.project)
        net_http_append_query(&path, "project", client->config.project);
    enum fz_code code = fz_buffer_done(&path, err);
    /* Without a limit: the server ends every upload, if need be as failed. */
    while (code == FZ_OK) {
        struct net_http_answer answer;
        json_auto_t *root = NULL;
        fz_time_sleep_ms(POLL_MS);
        /* The path has the project already: a token of all projects needs it here too. */
        code = net_http_send(client->http, fz_buffer_cstr(&path), NULL, &answer, err);
        if (code == FZ_OK && answer.status != 200)
            code = fail_status(&answer, answer.status, err);
        if (code == FZ_OK)
            code = parse_answer(client, &answer, &root, err);
        if (code != FZ_OK)
            return code;
        const char *state = json_string_value(json_object_get(root, "status"));
        if (state && strcmp(state, "failed") == 0)
            /* The question was answered with 200; the upload that it is about has failed. */
            return fail_status(&answer, 422, err);
        if (state && strcmp(state, "done") == 0) {
            *ret_answer = json_incref(json_object_get(root, "result"));
            return FZ_OK;
        }
    }
    return code;
}

enum fz_code
upload_client_send(struct upload_client *client, const char *name, struct fz_span bytes,
                   json_t **ret_answer, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
    struct net_http_answer answer;
    fz_buffer_text(&path, "/api/v1/symbols");
    net_http_append_query(&path, "name", name);
    enum fz_code code = request(client, &path, &bytes, &answer, err);
    if (code != FZ_OK)
        return code;
    if (answer.status == 202)
        return await_upload(client, answer.location, ret_answer, err);
    if (answer.status != 201)
        return fail_status(&answer, answer.status, err);
    return parse_answer(client, &answer, ret_answer, err);
}
