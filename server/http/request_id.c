/*
 * The name of a request in the log and in X-Request-Id of its answer: the client's own if it sent a
 * sane one (a proxy names the same request in its own log), otherwise a random one.
 */
#include "server/http/internal.h"

#include <stdio.h>

#include "base/random.h"

bool
http_request_id_is_sane(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(text);
    return len > 0 && len < HTTP_ID_TEXT && strspn(text, plain) == len;
}

void
http_request_id_make(struct http_request *request)
{
    uint8_t bytes[8];
    fz_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(request->id + 2 * i, 3, "%02x", bytes[i]);
}

void
http_request_id_take(struct http_request *request)
{
    const char *sent = http_header(request, "X-Request-Id");
    if (sent && http_request_id_is_sane(sent))
        snprintf(request->id, sizeof(request->id), "%s", sent);
}

const char *
http_request_id(const struct http_request *request)
{
    return request->id;
}
