/*
 * The key of a DSN, wherever an SDK puts it:
 *
 *   X-Sentry-Auth: Sentry sentry_version=7, sentry_key=KEY,sentry_client=...
 *   Authorization: Sentry sentry_key=KEY
 *   ?sentry_key=KEY
 *   {"dsn":"http://KEY@host/1"} in the header of the envelope
 *
 * The secret of old DSNs ("KEY:SECRET@") is ignored.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "server/clients/sentry/sdk.h"

enum { HEADER_DEPTH = 32 };

/* Percent-decoded into `room`; NULL if it is empty or too long. */
static const char *
decode(const char *text, size_t len, char room[API_TOKEN_ROOM])
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%' && len - i > 2 && fz_text_hex_digit(text[i + 1]) >= 0 &&
            fz_text_hex_digit(text[i + 2]) >= 0) {
            c = (char)(fz_text_hex_digit(text[i + 1]) * 16 + fz_text_hex_digit(text[i + 2]));
            i += 2;
        }
        /* Refused, not cut: a shorter key might be another one. */
        if (n + 1 == API_TOKEN_ROOM || c == '\0')
            return NULL;
        room[n++] = c;
    }
    room[n] = '\0';
    return n ? room : NULL;
}

const char *
sentry_header_key(const char *header, char room[API_TOKEN_ROOM])
{
    static const char scheme[] = "Sentry ", name[] = "sentry_key=";
    /* Another scheme is not for this protocol: "Bearer" is a token of our own API. */
    if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
        return NULL;
    for (const char *at = header + strlen(scheme); *at;) {
        at += strspn(at, " ,\t");
        size_t len = strcspn(at, ",");
        size_t text_len = len;
        while (text_len && (at[text_len - 1] == ' ' || at[text_len - 1] == '\t'))
            text_len--;
        if (text_len > strlen(name) && strncasecmp(at, name, strlen(name)) == 0)
            return decode(at + strlen(name), text_len - strlen(name), room);
        at += len;
    }
    return NULL;
}

const char *
sentry_find_key(const struct http_request *request, char room[API_TOKEN_ROOM])
{
    const char *key = sentry_header_key(http_header(request, "X-Sentry-Auth"), room);
    /* Authorization comes second, since a proxy before the server may use it. */
    if (!key)
        key = sentry_header_key(http_header(request, "Authorization"), room);
    return key ? key : http_query(request, "sentry_key");
}

/* Of the envelope only the first line is read here, by the checked scanner: which child may have
 * the rest depends on the key. */
static struct fz_span
find_dsn(struct fz_span envelope)
{
    struct json_scan_limits limits = {HEADER_DEPTH, SIZE_MAX, 0};
    struct fz_span dsn = {NULL, 0}, line = envelope;
    /* The header line may be the whole body: an envelope without items. */
    const uint8_t *end = line.len ? memchr(line.data, '\n', line.len) : NULL;
    if (end)
        line.len = (size_t)(end - line.data);
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    if (line.len == 0 || json_scan(line, &limits, NULL, NULL, NULL) != FZ_OK)
        return dsn;
    struct json_walk walk = json_walk_start(line);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "dsn"))
            dsn = member.value;
    }
    if (dsn.len <= 2 || dsn.data[0] != '"')
        return (struct fz_span){NULL, 0};
    return fz_span_make(dsn.data + 1, dsn.len - 2);
}

const char *
sentry_dsn_key(struct fz_span envelope, char room[API_TOKEN_ROOM])
{
    struct fz_span dsn = find_dsn(envelope);
    char text[API_TOKEN_ROOM];
    /* A longer one does not have a key of this server. */
    if (dsn.len == 0 || dsn.len >= sizeof(text))
        return NULL;
    memcpy(text, dsn.data, dsn.len);
    text[dsn.len] = '\0';
    const char *key = strstr(text, "://"); /* JSON may have it as ":\/\/" */
    key = key ? key + 3 : strstr(text, ":\\/\\/") ? strstr(text, ":\\/\\/") + 5 : NULL;
    /* The key ends at the secret of an old DSN, or at the host. */
    size_t len = key ? strcspn(key, ":@/") : 0;
    return len && strchr(key, '@') ? decode(key, len, room) : NULL;
}
