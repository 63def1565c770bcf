#include "server/http/client.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/text.h"

/* Entries of a list that are looked at, from the right; no real chain of proxies is longer. */
enum { HOPS_MAX = 32, V4_BITS = 96 };

static bool
is_v4(const struct http_address *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

/* An address without port or brackets. */
static bool
parse_bare(struct fz_span text, bool allows_v4, bool allows_v6, struct http_address *ret)
{
    /* inet_pton() wants a NUL at the end; what is longer is not an address. */
    char copy[HTTP_ADDRESS_TEXT];
    if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.data, '\0', text.len))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *ret = (struct http_address){{0}};
    if (allows_v6 && inet_pton(AF_INET6, copy, ret->bytes) == 1)
        return true;
    if (!allows_v4 || inet_pton(AF_INET, copy, &ret->bytes[12]) != 1)
        return false;
    /* IPv4 as ::ffff:a.b.c.d, so that one comparison serves both families. */
    ret->bytes[10] = ret->bytes[11] = 0xff;
    return true;
}

/* A decimal number up to `max`. */
static bool
parse_number(struct fz_span text, unsigned max, unsigned *ret)
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
    *ret = number;
    return number <= max;
}

static bool
is_port(struct fz_span text)
{
    unsigned port;
    return parse_number(text, UINT16_MAX, &port);
}

bool
http_address_parse(struct fz_span text, struct http_address *ret)
{
    const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
    const uint8_t *close = text.len ? memchr(text.data, ']', text.len) : NULL;
    if (text.len && text.data[0] == '[') {
        if (!close)
            return false;
        size_t len = (size_t)(close - text.data), rest = text.len - len - 1;
        bool good = rest == 0 || (close[1] == ':' && is_port(fz_span_make(close + 2, rest - 1)));
        return good && parse_bare(fz_span_make(text.data + 1, len - 1), false, true, ret);
    }
    /* An IPv6 address without brackets has at least two, and then no port. */
    bool one_colon = colon && !memchr(colon + 1, ':', text.len - (size_t)(colon - text.data) - 1);
    if (!one_colon)
        return parse_bare(text, true, true, ret);
    size_t len = (size_t)(colon - text.data);
    return is_port(fz_span_make(colon + 1, text.len - len - 1)) &&
           parse_bare(fz_span_make(text.data, len), true, false, ret);
}

bool
http_address_is_loopback(const struct http_address *address)
{
    static const uint8_t one[16] = {[15] = 1};
    return is_v4(address) ? address->bytes[12] == 127 : memcmp(address->bytes, one, 16) == 0;
}

void
http_client_of(const struct http_address *address, struct http_client *ret)
{
    ret->key = *address;
    if (is_v4(address)) {
        inet_ntop(AF_INET, &address->bytes[12], ret->text, sizeof(ret->text));
        return;
    }
    /* A site has a /64 at least: by single addresses, one client could count as 2^64. */
    memset(&ret->key.bytes[8], 0, 8);
    inet_ntop(AF_INET6, address->bytes, ret->text, sizeof(ret->text));
}

/* ---- trusted proxies --------------------------------------------------------------------- */

static bool
parse_network(struct fz_span text, struct http_address *ret, unsigned *ret_bits)
{
    const uint8_t *slash = memchr(text.data, '/', text.len);
    size_t len = slash ? (size_t)(slash - text.data) : text.len;
    if (!parse_bare(fz_span_make(text.data, len), true, true, ret))
        return false;
    /* Whether it was written as IPv4, not whether it is: ::ffff:0:0/96 is a network of IPv6. */
    bool v4 = memchr(text.data, ':', len) == NULL;
    unsigned max = v4 ? 32 : 128, bits = max;
    if (slash && !parse_number(fz_span_make(slash + 1, text.len - len - 1), max, &bits))
        return false;
    *ret_bits = bits + (v4 ? V4_BITS : 0);
    return true;
}

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
        if (!parse_network(fz_span_make(text, len), &ret->list[ret->n].address,
                           &ret->list[ret->n].bits))
            return fz_fail(err, FZ_E_MALFORMED,
                           "'%.*s' is not an address or network; examples: 10.0.0.0/8, 192.0.2.7, "
                           "::1, fd00::/8",
                           len > 60 ? 60 : (int)len, text);
        ret->n++;
        text += len;
    }
}

static bool
is_inside(const struct http_address *address, const struct http_address *network, unsigned bits)
{
    if (memcmp(address->bytes, network->bytes, bits / 8) != 0)
        return false;
    unsigned rest = bits % 8;
    return rest == 0 || (address->bytes[bits / 8] ^ network->bytes[bits / 8]) >> (8 - rest) == 0;
}

bool
http_proxies_trust(const struct http_proxies *proxies, const struct http_address *address)
{
    for (size_t i = 0; i < proxies->n; i++) {
        if (is_inside(address, &proxies->list[i].address, proxies->list[i].bits))
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
http_client_find(const struct http_proxies *proxies, const struct http_address *peer,
                 const struct http_field *fields, size_t n_fields, struct http_client *ret)
{
    static const char *const names[] = {"X-Forwarded-For", "Forwarded", "X-Real-IP"};
    struct http_address found = *peer;
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
        struct http_address next;
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
