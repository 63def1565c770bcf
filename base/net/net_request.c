#include "base/net/net_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/net/net_call.h"

/* A name is a token (RFC 9110, 5.6.2); a value is visible ASCII and inner spaces, so that it cannot
 * end its line. */
static bool
is_header(const struct net_header *header)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (!*header->name || header->name[strspn(header->name, token)] != '\0')
        return false;
    for (const char *c = header->value; *c; c++) {
        if (*c < ' ' || *c > '~')
            return false;
    }
    return *header->value != '\0';
}

static void
free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static bool
append(struct curl_slist **list, const char *line)
{
    struct curl_slist *more = curl_slist_append(*list, line);
    if (more)
        *list = more;
    return more != NULL;
}

/* NULL without memory. */
static struct curl_slist *
make_headers(const struct net_request *request)
{
    FZ_CLEANUP(free_list) struct curl_slist *list = NULL;
    /* A large body would wait a second for "100 Continue", which few receivers send. */
    if (!append(&list, "Expect:"))
        return NULL;
    for (size_t i = 0; i < request->n_headers; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
        fz_buffer_printf(&line, "%s: %s", request->headers[i].name, request->headers[i].value);
        if (line.failed || !append(&list, fz_buffer_cstr(&line)))
            return NULL;
    }
    return fz_take(&list);
}

static bool
set_body(CURL *curl, const struct net_request *request)
{
    if (request->is_get)
        return curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    return curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                            request->body.len ? (const char *)request->body.data : "") == CURLE_OK;
}

static void
send_with(struct net_call *call, const struct net_request *request,
          const struct curl_slist *headers)
{
    CURL *curl = call->curl;
    bool good =
        headers && curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
        set_body(curl, request) &&
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "framezero/" FZ_VERSION) == CURLE_OK &&
        /* HTTP/2 gains nothing for one small request. */
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    if (good)
        net_call_perform(call);
    else
        snprintf(call->outcome->text, sizeof(call->outcome->text), "out of memory");
}

void
net_request_send(const struct net_request *request, const struct net_rules *rules,
                 struct net_outcome *ret)
{
    *ret = (struct net_outcome){.result = NET_FAILED};
    for (size_t i = 0; i < request->n_headers; i++) {
        if (!is_header(&request->headers[i])) {
            net_call_invalid(ret, "a header contains a character that is not allowed in one");
            return;
        }
    }
    if (request->body.len > NET_BODY_MAX) {
        net_call_invalid(ret, "the body is too large");
        return;
    }
    FZ_CLEANUP(net_call_close)
    struct net_call call = {.guard = &rules->guard,
                            .setting = rules->setting,
                            .outcome = ret,
                            .answer = request->answer};
    if (!net_call_open(&call, request->url, "http,https", rules))
        return;
    FZ_CLEANUP(free_list) struct curl_slist *headers = make_headers(request);
    send_with(&call, request, headers);
}
