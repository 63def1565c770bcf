#include "base/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { PORT_MAX = 65535, LABEL_MAX = 63, V4_BITS = 96 };

/* ---- IP addresses and networks ----------------------------------------------------------- */

bool
fz_ip_is_v4(const struct fz_ip *ip)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
}

/* inet_pton() wants a NUL at the end; what is longer is not an address. */
static bool
is_bare(int family, struct fz_span text, uint8_t *ret)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.data, '\0', text.len))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return inet_pton(family, copy, ret) == 1;
}

bool
fz_ip_parse_v4(struct fz_span text, struct fz_ip *ret)
{
    struct fz_ip ip = {.bytes = {[10] = 0xff, [11] = 0xff}};
    bool good = is_bare(AF_INET, text, &ip.bytes[12]);
    if (good)
        *ret = ip;
    return good;
}

bool
fz_ip_parse_v6(struct fz_span text, struct fz_ip *ret)
{
    struct fz_ip ip;
    bool good = is_bare(AF_INET6, text, ip.bytes);
    if (good)
        *ret = ip;
    return good;
}

bool
fz_network_parse(struct fz_span text, struct fz_network *ret)
{
    const uint8_t *slash = text.len ? memchr(text.data, '/', text.len) : NULL;
    size_t len = slash ? (size_t)(slash - text.data) : text.len;
    struct fz_network network;
    struct fz_span bare = fz_span_until(text, len);
    /* Whether it was written as IPv4, not whether it is: ::ffff:0:0/96 is a network of IPv6. */
    bool v4 = bare.len && memchr(bare.data, ':', bare.len) == NULL;
    if (v4 ? !fz_ip_parse_v4(bare, &network.ip) : !fz_ip_parse_v6(bare, &network.ip))
        return false;
    uint64_t max = v4 ? 32 : 128, bits = max;
    struct fz_span digits = slash ? fz_span_from(text, len + 1) : bare;
    for (size_t i = 0; slash && i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
    }
    if (slash && (digits.len > 3 || !fz_text_u64(digits, &bits) || bits > max))
        return false;
    network.bits = (unsigned)bits + (v4 ? V4_BITS : 0);
    *ret = network;
    return true;
}

bool
fz_network_has(const struct fz_network *network, const struct fz_ip *ip)
{
    unsigned bits = network->bits, rest = bits % 8;
    if (memcmp(ip->bytes, network->ip.bytes, bits / 8) != 0)
        return false;
    return rest == 0 || (ip->bytes[bits / 8] ^ network->ip.bytes[bits / 8]) >> (8 - rest) == 0;
}

/* ---- addresses to listen on, URLs -------------------------------------------------------- */

static enum fz_code
parse_port(const char *text, const char *port, unsigned min, uint16_t *ret, struct fz_error *err)
{
    uint64_t number;
    size_t digits = strspn(port, "0123456789");
    if (port[digits] != '\0' || !fz_text_u64(fz_span_cstr(port), &number) || number < min ||
        number > PORT_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s': the port must be a number from %u to %d",
                       text, min, PORT_MAX);
    *ret = (uint16_t)number;
    return FZ_OK;
}

/* An IPv4 address where it looks like one, else a name of labels. */
static bool
is_host(const char *host)
{
    struct in_addr ignored;
    /* "1.2.3" would be a valid name, but is a mistyped address. */
    if (host[0] && host[strspn(host, "0123456789.")] == '\0')
        return inet_pton(AF_INET, host, &ignored) == 1;
    size_t label = 0;
    for (const char *c = host; *c; c++) {
        bool is_inner = *c == '-' || *c == '_' || isalnum((unsigned char)*c);
        if (*c == '.' ? label == 0 : !is_inner || ++label > LABEL_MAX)
            return false;
        if (*c == '.')
            label = 0;
    }
    return host[0] != '-';
}

static bool
is_v6(const char *host)
{
    char address[FZ_HOST_ROOM];
    struct in6_addr ignored;
    snprintf(address, sizeof(address), "%s", host);
    address[strcspn(address, "%")] = '\0'; /* fe80::1%eth0: the name of an interface */
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* "host", "[v6]" or "" with ":port" or without; *ret_port stays NULL without one. `whole` is what the
 * user wrote, for the message. */
static enum fz_code
split(const char *whole, const char *text, char host[FZ_HOST_ROOM], const char **ret_port,
      struct fz_error *err)
{
    bool is_bracket = text[0] == '[';
    const char *end = is_bracket ? strchr(text, ']') : strchr(text, ':');
    if (is_bracket && (!end || (end[1] != ':' && end[1] != '\0')))
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s' is not an address such as [::1]:8480", text);
    /* Where the port begins cannot be seen in ::1:8480. */
    if (!is_bracket && end && strchr(end + 1, ':'))
        return fz_fail(err, FZ_E_MALFORMED,
                       "'%.80s': write an IPv6 address in brackets, such as [::1]:8480", text);
    const char *start = is_bracket ? text + 1 : text;
    size_t len = end ? (size_t)(end - start) : strlen(start);
    if (len >= FZ_HOST_ROOM)
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s...': the host is longer than %d bytes", text,
                       FZ_HOST_ROOM - 1);
    memcpy(host, start, len);
    host[len] = '\0';
    if (is_bracket ? !is_v6(host) : !is_host(host))
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s' in '%.80s' is not %s", host, whole,
                       is_bracket ? "an IPv6 address" : "a host name or an IP address");
    const char *colon = is_bracket ? end + 1 : end;
    *ret_port = colon && *colon == ':' ? colon + 1 : NULL;
    return FZ_OK;
}

enum fz_code
fz_address_parse(const char *text, struct fz_address *ret, struct fz_error *err)
{
    struct fz_address address = {.port = 0};
    const char *port = NULL;
    if (strlen(text) < FZ_HOST_ROOM && !strchr(text, ':') && !is_host(text)) /* "8480" alone */
        return fz_fail(err, FZ_E_MALFORMED,
                       "'%.80s' is not an address to listen on: write ADDRESS:PORT, such as "
                       "127.0.0.1:8480",
                       text);
    enum fz_code code = split(text, text, address.host, &port, err);
    if (code != FZ_OK)
        return code;
    if (!port)
        return fz_fail(err, FZ_E_MALFORMED,
                       "'%.80s': the port is missing; expected ADDRESS:PORT, such as %.80s:8480",
                       text, *text ? text : "127.0.0.1");
    code = parse_port(text, port, 0, &address.port, err);
    if (code == FZ_OK)
        *ret = address;
    return code;
}

enum fz_code
fz_address_check_url(const char *url, struct fz_error *err)
{
    bool is_plain = fz_text_has_prefix(url, "http://");
    if (!is_plain && !fz_text_has_prefix(url, "https://"))
        return fz_fail(err, FZ_E_MALFORMED,
                       "'%.80s' is not a URL: it must begin with http:// or https://", url);
    for (const char *c = url; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '?' || *c == '#' || *c == '\\')
            return fz_fail(err, FZ_E_MALFORMED, "'%.80s': a URL without '%c' is expected", url,
                           (unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c);
    }
    const char *authority = url + (is_plain ? strlen("http://") : strlen("https://"));
    char text[2 * FZ_HOST_ROOM], host[FZ_HOST_ROOM];
    int len = snprintf(text, sizeof(text), "%.*s", (int)strcspn(authority, "/"), authority);
    if (len < 0 || (size_t)len >= sizeof(text))
        return fz_fail(err, FZ_E_MALFORMED, "'%.80s...': the host is too long", url);
    /* It would be shown in logs, and is not what authorises here. */
    if (strchr(text, '@'))
        return fz_fail(err, FZ_E_MALFORMED, "the URL must not contain a user name or password");
    const char *port = NULL;
    uint16_t ignored;
    enum fz_code code = split(url, text, host, &port, err);
    if (code == FZ_OK && !*host)
        code = fz_fail(err, FZ_E_MALFORMED, "'%.80s': the host is missing", url);
    if (code == FZ_OK && port)
        /* Port 0 is "any free one", which only a listener can ask for. */
        code = parse_port(url, port, 1, &ignored, err);
    return code;
}
