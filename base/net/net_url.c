#include "base/net/net_call.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void
net_url_freep(CURLU **url)
{
    curl_url_cleanup(*url);
}

static void
free_text(char **text)
{
    curl_free(*text);
}

/* Visible ASCII without a backslash, which some parsers take for a slash. */
static bool
is_plain(const char *url)
{
    for (const char *c = url; *c; c++) {
        if (*c <= ' ' || *c > '~' || *c == '\\')
            return false;
    }
    return true;
}

/* Only these are in what is before the path, so that there is nothing about which two parsers could
 * disagree: no '@', no '%', no second port. */
static enum fz_code
check_authority(const char *url, struct fz_error *err)
{
    /* Directly after the scheme: libcurl also reads http:/host, which then may have "://" later. */
    size_t scheme = strspn(url, LETTERS);
    if (scheme == 0 || strncmp(url + scheme, "://", 3) != 0)
        return fz_fail(err, FZ_E_MALFORMED,
                       "the URL does not begin with a scheme such as https://");
    const char *start = url + scheme + strlen("://");
    size_t len = strcspn(start, "/?#");
    /* libcurl takes the host of https:///host from the path. */
    if (len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the URL has no host");
    if (memchr(start, '@', len))
        return fz_fail(err, FZ_E_MALFORMED, "the URL must not contain a user name or password");
    for (size_t i = 0; i < len; i++) {
        if (!strchr(LETTERS, start[i]) && !strchr(".-_:[]", start[i]))
            return fz_fail(err, FZ_E_MALFORMED,
                           "'%c' is not allowed in the host of a URL; a name in other letters is "
                           "written as xn--...",
                           start[i]);
    }
    return FZ_OK;
}

/* No empty label; an IPv6 address loses its brackets. */
static enum fz_code
read_host(CURLU *parsed, char ret_host[FZ_HOST_ROOM], struct fz_error *err)
{
    FZ_CLEANUP(free_text) char *host = NULL;
    if (curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK || !*host)
        return fz_fail(err, FZ_E_MALFORMED, "the URL has no host");
    size_t len = strlen(host), bracket = host[0] == '[';
    bool is_name = !bracket && host[0] != '.' && host[len - 1] != '.' && !strstr(host, "..");
    if ((!is_name && !bracket) || len >= FZ_HOST_ROOM)
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s' is not the name of a host", host);
    snprintf(ret_host, FZ_HOST_ROOM, "%.*s", (int)(len - 2 * bracket), host + bracket);
    return FZ_OK;
}

static bool
is_scheme(CURLU *parsed, const char *schemes)
{
    FZ_CLEANUP(free_text) char *scheme = NULL;
    if (curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return false;
    size_t len = strlen(scheme);
    for (const char *at = schemes; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == len && strncmp(at, scheme, len) == 0)
            return true;
    }
    return false;
}

enum fz_code
net_url_parse(const char *url, const char *schemes, CURLU **ret_url, char ret_host[FZ_HOST_ROOM],
              struct fz_error *err)
{
    if (strlen(url) > NET_URL_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "the URL is longer than %d bytes", (int)NET_URL_MAX);
    if (!is_plain(url))
        return fz_fail(err, FZ_E_MALFORMED,
                       "the URL contains a character that must be written as %%XX");
    enum fz_code code = check_authority(url, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(net_url_freep) CURLU *parsed = curl_url();
    if (!parsed)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    CURLUcode result = curl_url_set(parsed, CURLUPART_URL, url, 0);
    if (result == CURLUE_UNSUPPORTED_SCHEME || (result == CURLUE_OK && !is_scheme(parsed, schemes)))
        return fz_fail(err, FZ_E_MALFORMED, "the URL must begin with %s",
                       strcmp(schemes, "http,https") == 0 ? "https:// or http://"
                                                          : "smtp:// or smtps://");
    if (result != CURLUE_OK)
        return fz_fail(err, FZ_E_MALFORMED, "the URL is not valid: %s", curl_url_strerror(result));
    FZ_CLEANUP(free_text) char *port = NULL;
    if (curl_url_get(parsed, CURLUPART_PORT, &port, 0) == CURLUE_OK && strcmp(port, "0") == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the URL has the port 0");
    code = read_host(parsed, ret_host, err);
    if (code == FZ_OK)
        *ret_url = fz_take(&parsed);
    return code;
}

enum fz_code
net_request_check_url(const char *url, const struct net_guard *guard, struct fz_error *err)
{
    char host[FZ_HOST_ROOM];
    struct fz_ip ip;
    FZ_CLEANUP(net_url_freep) CURLU *parsed = NULL;
    enum fz_code code = net_url_parse(url, "http,https", &parsed, host, err);
    if (code != FZ_OK)
        return code;
    struct fz_span text = fz_span_cstr(host);
    bool is_address = fz_ip_parse_v4(text, &ip) || fz_ip_parse_v6(text, &ip);
    if (is_address && !net_guard_allows(guard, host, &ip))
        return fz_fail(err, FZ_E_DENIED,
                       "%s is %s, which the server may not connect to; the operator can allow it "
                       "with the setting alert-internal",
                       host, net_address_kind_name(net_address_kind(&ip)));
    return FZ_OK;
}
