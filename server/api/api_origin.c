/* What a browser says of a request: its cookie, and whose page has sent it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"

static const char secure_name[] = "__Host-framezero", plain_name[] = "framezero_session";

bool
api_cookie_find(const char *header, const char *name, char *ret, size_t room)
{
    size_t name_len = strlen(name);
    /* "a=b; c=d" (RFC 6265, 4.2.1). */
    for (const char *at = header; at && *at;) {
        at += strspn(at, " \t;");
        size_t len = strcspn(at, ";");
        if (len > name_len && at[name_len] == '=' && strncmp(at, name, name_len) == 0) {
            size_t value_len = len - name_len - 1;
            while (value_len && (at[len - 1] == ' ' || at[len - 1] == '\t'))
                len--, value_len--;
            if (value_len == 0 || value_len >= room)
                return false;
            memcpy(ret, at + name_len + 1, value_len);
            ret[value_len] = '\0';
            return true;
        }
        at += len;
    }
    return false;
}

/* "https://host:1" of "https://host:1/path": the length of the origin. */
static size_t
origin_len(const char *url)
{
    const char *host = strstr(url, "://");
    return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/") : 0;
}

/* By Origin, which browsers send where they send no Sec-Fetch-Site: on plain http. */
static bool
is_own_origin(const struct api_origin *o)
{
    size_t len = o->public_url ? origin_len(o->public_url) : 0;
    bool needs_https = len && strncasecmp(o->public_url, "https://", 8) == 0;
    /* A proxy may change Host, and the public URL may be one of several addresses. */
    if (len && strlen(o->origin) == len && strncasecmp(o->origin, o->public_url, len) == 0)
        return true;
    const char *host = strncmp(o->origin, "https://", 8) == 0  ? o->origin + 8
                       : strncmp(o->origin, "http://", 7) == 0 ? o->origin + 7
                                                               : NULL;
    if (!host || (needs_https && host == o->origin + 7))
        return false;
    return o->host && strcasecmp(host, o->host) == 0;
}

bool
api_origin_allows(const struct api_origin *o)
{
    if (strcmp(o->method, "GET") == 0 || strcmp(o->method, "HEAD") == 0 ||
        strcmp(o->method, "OPTIONS") == 0)
        return true;
    if (o->site)
        return strcmp(o->site, "same-origin") == 0 || strcmp(o->site, "none") == 0;
    if (o->origin)
        return is_own_origin(o);
    return !o->has_login;
}

/* ---- a request ------------------------------------------------------------------------------ */

bool
api_is_https(const struct api *api, const struct http_request *request)
{
    const char *scheme = http_header(request, "X-Forwarded-Proto");
    const char *url = api->config.login->public_url;
    return strncasecmp(url, "https://", 8) == 0 ||
           (scheme && strcasecmp(scheme, "https") == 0 && http_from_proxy(request));
}

const char *
api_cookie_name(const struct api *api, const struct http_request *request)
{
    /* Never both: what another host of the domain has set under the plain name must not count where
     * the prefix keeps it out. */
    return api_is_https(api, request) ? secure_name : plain_name;
}

bool
api_cookie(const struct api *api, const struct http_request *request, char ret[API_COOKIE_ROOM])
{
    const char *header = http_header(request, "Cookie");
    return header && api_cookie_find(header, api_cookie_name(api, request), ret, API_COOKIE_ROOM);
}

bool
api_proxy_user(const struct api *api, const struct http_request *request,
               char ret[STORE_EMAIL_MAX + 1])
{
    const char *name = api->config.login->proxy_user_header;
    if (!*name || !http_from_proxy(request))
        return false;
    /* Twice: one of them may be the client's own, which the proxy passed on. */
    if (http_header_count(request, name) != 1)
        return false;
    return store_email_fold(http_header(request, name), false, ret, NULL) == FZ_OK;
}

/* The part of a list before the next comma, without blanks around it; *list moves on. */
static struct fz_span
next_part(const char **list)
{
    size_t len = strcspn(*list, ",");
    struct fz_span part = fz_text_trim(fz_span_make(*list, len));
    *list += len + ((*list)[len] == ',');
    return part;
}

enum store_role
api_groups_role(const char *map, const char *header)
{
    enum store_role greatest = STORE_ROLE_NONE;
    while (*map) {
        struct fz_span one = next_part(&map);
        size_t equals = fz_text_find_last(one, "=");
        struct fz_span name = fz_text_trim(fz_span_until(one, equals));
        struct fz_span word =
            equals == SIZE_MAX ? name : fz_text_trim(fz_span_from(one, equals + 1));
        enum store_role role = STORE_ROLE_NONE;
        for (unsigned i = STORE_ROLE_VIEWER; i < STORE_ROLES; i++)
            role =
                fz_span_is(word, store_role_name((enum store_role)i)) ? (enum store_role)i : role;
        for (const char *groups = header; role > greatest && name.len && *groups;) {
            if (fz_span_equal(next_part(&groups), name))
                greatest = role;
        }
    }
    return greatest;
}

bool
api_proxy_role(const struct api *api, const struct http_request *request, enum store_role *ret)
{
    const struct api_login *login = api->config.login;
    const char *name = login->proxy_groups_header;
    enum store_role role = STORE_ROLE_NONE;
    if (!*name)
        return false;
    /* Twice: as with the user's name, and then it is the proxy that must be looked at. */
    if (http_header_count(request, name) == 1)
        role = api_groups_role(login->proxy_groups, http_header(request, name));
    if (role == STORE_ROLE_NONE)
        fz_ignore(store_role_parse(login->proxy_role, &role)); /* "none" leaves it */
    *ret = role;
    return true;
}

enum fz_code
api_check_origin(const struct api *api, const struct http_request *request, bool has_login,
                 struct fz_error *err)
{
    const struct api_route *route = http_route_user(request);
    const struct api_origin origin = {
        .method = route->method,
        .site = http_header(request, "Sec-Fetch-Site"),
        .origin = http_header(request, "Origin"),
        .host = http_header(request, "Host"),
        .public_url = api->config.login->public_url,
        .has_login = has_login,
    };
    if (api_origin_allows(&origin))
        return FZ_OK;
    if (!origin.site && !origin.origin)
        return fz_fail(err, FZ_E_DENIED,
                       "a login of the page is for browsers, and this request has neither "
                       "Sec-Fetch-Site nor Origin; programs send a token");
    return fz_fail(
        err, FZ_E_DENIED,
        "this request was sent by a page of another site (%s %.100s); if that is this "
        "server under another address, set --public-url to it",
        origin.site ? "Sec-Fetch-Site:" : "Origin:", origin.site ? origin.site : origin.origin);
}
