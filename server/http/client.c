#include "server/http/client.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/text.h"

/* Entries of a list that are looked at, from the right; no real chain of proxies is longer. */
enum { HOPS_MAX = 32 };

static bool
is_port(struct fz_span text)
{
    unsigned number = 0;
    /* Five digits hold every port and cannot overflow. */
    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (unsigned)(text.data[i] - '0');
    }
    return number <= UINT16_MAX;
}

bool
http_address_parse(struct fz_span text, struct fz_ip *ret)
{
    const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
    const uint8_t *close = text.len ? memchr(text.data, ']', text.len) : NULL;
    if (text.len && text.data[0] == '[') {
        if (!close)
            return false;
        size_t len = (size_t)(close - text.data), rest = text.len - len - 1;
        bool good = rest == 0 || (close[1] == ':' && is_port(fz_span_make(close + 2, rest - 1)));
        return good && fz_ip_parse_v6(fz_span_make(text.data + 1, len - 1), ret);
    }
    /* An IPv6 address without brackets has at least two, and then no port. */
    bool one_colon = colon && !memchr(colon + 1, ':', text.len - (size_t)(colon - text.data) - 1);
    if (!one_colon)
        return fz_ip_parse_v4(text, ret) || fz_ip_parse_v6(text, ret);
    size_t len = (size_t)(colon - text.data);
    return is_port(fz_span_make(colon + 1, text.len - len - 1)) &&
           fz_ip_parse_v4(fz_span_make(text.data, len), ret);
}

bool
http_address_is_loopback(const struct fz_ip *address)
{
    static const uint8_t one[16] = {[15] = 1};
    return fz_ip_is_v4(address) ? address->bytes[12] == 127 : memcmp(address->bytes, one, 16) == 0;
}

void
http_client_of(const struct fz_ip *address, struct http_client *ret)
{
    ret->key = *address;
    if (fz_ip_is_v4(address)) {
        inet_ntop(AF_INET, &address->bytes[12], ret->text, sizeof(ret->text));
        return;
    }
    /* A site has a /64 at least: by single addresses, one client could count as 2^64. */
    memset(&ret->key.bytes[8], 0, 8);
    inet_ntop(AF_INET6, address->bytes, ret->text, sizeof(ret->text));
}

/* ---- trusted proxies --------------------------------------------------------------------- */

enum fz_code
http_proxies_parse(const char *text, struct http_proxies *ret, struct fz_error *err)
{
    static const char between[] = ", \t";
    *ret = (struct http_proxies){0};
    for (;;) {
        text += strspn(text, between);
        size_t len = strcspn(text, between);
        if (len == 0)
            return FZ_OK;
        if (ret->n == HTTP_PROXIES_MAX)
            return fz_fail(err, FZ_E_LIMIT, "more than %d trusted proxies", (int)HTTP_PROXIES_MAX);
        if (!fz_network_parse(fz_span_make(text, len), &ret->list[ret->n]))
            return fz_fail(err, FZ_E_MALFORMED,
                           "'%.*s' is not an address or network; examples: 10.0.0.0/8, 192.0.2.7, "
                           "::1, fd00::/8",
                           len > 60 ? 60 : (int)len, text);
        ret->n++;
        text += len;
    }
}

bool
http_proxies_trust(const struct http_proxies *proxies, const struct fz_ip *address)
{
    for (size_t i = 0; i < proxies->n; i++) {
        if (fz_network_has(&proxies->list[i], address))
            return true;
    }
    return false;
}

/* ---- what proxies say -------------------------------------------------------------------- */

/* The last entries of a list; older ones are overwritten. */
struct hops {
    struct fz_span list[HOPS_MAX];
    size_t n; /* all that were seen */
};

/* The length up to `end`, or all. Quotes do not protect it: an address has neither commas nor
 * semicolons, and a quote that the client left open must not swallow what the proxy added. */
static size_t
length_to(struct fz_span text, char end)
{
    const uint8_t *found = text.len ? memchr(text.data, end, text.len) : NULL;
    return found ? (size_t)(found - text.data) : text.len;
}

/* Empty entries are allowed in lists and mean nothing (RFC 9110, 5.6.1). */
static void
add_entries(struct hops *hops, struct fz_span value)
{
    while (value.len) {
        size_t len = length_to(value, ',');
        struct fz_span entry = fz_text_trim(fz_span_make(value.data, len));
        if (entry.len)
            hops->list[hops->n++ % HOPS_MAX] = entry;
        value = fz_span_from(value, len + 1);
    }
}

/* The value of "for=" in one element of a Forwarded field (RFC 7239); empty without one. */
static struct fz_span
forwarded_for(struct fz_span element)
{
    while (element.len) {
        size_t len = length_to(element, ';');
        struct fz_span pair = fz_text_trim(fz_span_make(element.data, len));
        if (pair.len > 4 && strncasecmp((const char *)pair.data, "for=", 4) == 0) {
            /* RFC 7239, 4: an address with a colon or bracket is in quotes. */
            struct fz_span value = fz_span_make(pair.data + 4, pair.len - 4);
            if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"')
                value = fz_span_make(value.data + 1, value.len - 2);
            return value;
        }
        element = fz_span_from(element, len + 1);
    }
    return (struct fz_span){0};
}

/* All fields of that name are one list. */
static void
collect(const struct http_field *fields, size_t n_fields, const char *name, struct hops *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < n_fields; i++) {
        struct fz_span field = fields[i].name;
        if (field.len == strlen(name) &&
            strncasecmp((const char *)field.data, name, field.len) == 0)
            add_entries(ret, fields[i].value);
    }
}

void
http_client_find(const struct http_proxies *proxies, const struct fz_ip *peer,
                 const struct http_field *fields, size_t n_fields, struct http_client *ret)
{
    static const char *const names[] = {"X-Forwarded-For", "Forwarded", "X-Real-IP"};
    struct fz_ip found = *peer;
    struct hops hops = {.n = 0};
    bool is_forwarded = false;
    for (size_t i = 0; http_proxies_trust(proxies, peer) && i < FZ_ARRAY_LEN(names) && !hops.n;
         i++) {
        collect(fields, n_fields, names[i], &hops);
        is_forwarded = i == 1;
    }
    /* Only the entries that trusted proxies have added are true: from the right, up to and
     * including the first address that is not one of them. All to the left of it may be made up
     * by the client. */
    size_t oldest = hops.n > HOPS_MAX ? hops.n - HOPS_MAX : 0;
    for (size_t i = hops.n; i > oldest && http_proxies_trust(proxies, &found); i--) {
        struct fz_span entry = hops.list[(i - 1) % HOPS_MAX];
        struct fz_ip next;
        if (!http_address_parse(is_forwarded ? forwarded_for(entry) : entry, &next))
            break;
        found = next;
    }
    http_client_of(&found, ret);
}

/* ---- origins of pages -------------------------------------------------------------------- */

static const char SEPARATORS[] = ", \t";

bool
http_origins_allows(const char *origins, const char *origin)
{
    const char *at = origins ? origins : "";
    while (origin && *(at += strspn(at, SEPARATORS))) {
        size_t len = strcspn(at, SEPARATORS);
        if ((len == 1 && *at == '*') || (strncmp(at, origin, len) == 0 && origin[len] == '\0'))
            return true;
        at += len;
    }
    return false;
}

/* "https://dash.example.com:8443": a scheme, a host, maybe a port, and nothing after it. */
static bool
is_origin(const char *at, size_t len)
{
    static const char *const schemes[] = {"https://", "http://"};
    static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
    if (len == 1 && *at == '*')
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        /* No path and no slash at the end: a browser sends neither, so such an entry never matches.
         */
        if (len > n && strncmp(at, schemes[i], n) == 0)
            return strspn(at + n, host) >= len - n;
    }
    return false;
}

const char *
http_origins_fault(const char *origins)
{
    const char *at = origins ? origins : "";
    while (*(at += strspn(at, SEPARATORS))) {
        size_t len = strcspn(at, SEPARATORS);
        if (!is_origin(at, len))
            return at;
        at += len;
    }
    return NULL;
}
