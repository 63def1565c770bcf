#include "base/net/net_guard.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"

/* ---- kinds of addresses ------------------------------------------------------------------ */

struct range {
    uint8_t first[16];
    unsigned bits;
    enum net_address_kind kind;
};

/* An IPv4 range in the bytes of a mapped address. */
#define V4(a, b, c, d, n)                                                                \
    .first = {[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d)}, \
    .bits = 96 + (n)

/* The first row that has an address counts. */
static const struct range v4_ranges[] = {
    {V4(169, 254, 169, 254, 32), NET_ADDRESS_METADATA}, /* AWS, Google, Azure and most others */
    {V4(169, 254, 170, 2, 32), NET_ADDRESS_METADATA},   /* AWS, containers */
    {V4(168, 63, 129, 16, 32), NET_ADDRESS_METADATA},   /* Azure; a public address elsewhere */
    {V4(100, 100, 100, 200, 32), NET_ADDRESS_METADATA}, /* Alibaba */
    {V4(192, 0, 0, 192, 32), NET_ADDRESS_METADATA},     /* Oracle */
    {V4(0, 0, 0, 0, 8), NET_ADDRESS_UNSPECIFIED},
    {V4(127, 0, 0, 0, 8), NET_ADDRESS_LOOPBACK},
    {V4(10, 0, 0, 0, 8), NET_ADDRESS_PRIVATE},
    {V4(172, 16, 0, 0, 12), NET_ADDRESS_PRIVATE},
    {V4(192, 168, 0, 0, 16), NET_ADDRESS_PRIVATE},
    {V4(169, 254, 0, 0, 16), NET_ADDRESS_LINK_LOCAL},
    {V4(100, 64, 0, 0, 10), NET_ADDRESS_SHARED},
    {V4(192, 0, 0, 0, 24), NET_ADDRESS_RESERVED},    /* protocol assignments, RFC 6890 */
    {V4(192, 0, 2, 0, 24), NET_ADDRESS_RESERVED},    /* documentation, RFC 5737 */
    {V4(198, 51, 100, 0, 24), NET_ADDRESS_RESERVED}, /* documentation */
    {V4(203, 0, 113, 0, 24), NET_ADDRESS_RESERVED},  /* documentation */
    {V4(192, 88, 99, 0, 24), NET_ADDRESS_TUNNEL},    /* relays of 6to4, RFC 7526 */
    {V4(198, 18, 0, 0, 15), NET_ADDRESS_RESERVED},   /* benchmarks, RFC 2544 */
    {V4(224, 0, 0, 0, 4), NET_ADDRESS_MULTICAST},
    {V4(240, 0, 0, 0, 4), NET_ADDRESS_RESERVED}, /* class E and 255.255.255.255 */
};
#undef V4

static const struct range v6_ranges[] = {
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, NET_ADDRESS_METADATA}, /* AWS */
    {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, NET_ADDRESS_METADATA}, /* Google */
    {{0}, 128, NET_ADDRESS_UNSPECIFIED},
    {{[15] = 1}, 128, NET_ADDRESS_LOOPBACK},
    {{0xff}, 8, NET_ADDRESS_MULTICAST},
    {{0xfe, 0x80}, 10, NET_ADDRESS_LINK_LOCAL},
    {{0xfe, 0xc0}, 10, NET_ADDRESS_PRIVATE},
    {{0xfc}, 7, NET_ADDRESS_PRIVATE},
    {{0}, 96, NET_ADDRESS_TUNNEL},                                  /* ::192.0.2.1, RFC 4291 */
    {{[8] = 0xff, 0xff}, 96, NET_ADDRESS_TUNNEL},                   /* ::ffff:0:192.0.2.1 */
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, NET_ADDRESS_TUNNEL}, /* local NAT64, RFC 8215 */
    {{0x20, 0x01}, 32, NET_ADDRESS_TUNNEL},                         /* Teredo */
    {{0x20, 0x02}, 16, NET_ADDRESS_TUNNEL},                         /* 6to4 */
    {{0x20, 0x01}, 23, NET_ADDRESS_RESERVED},                       /* protocol assignments */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, NET_ADDRESS_RESERVED},           /* documentation */
    {{0x3f, 0xff}, 20, NET_ADDRESS_RESERVED},                       /* documentation, RFC 9637 */
    {{0x20}, 3, NET_ADDRESS_GLOBAL},
    {{0}, 0, NET_ADDRESS_RESERVED}, /* IANA has assigned nothing else as global unicast */
};

static enum net_address_kind
find_kind(const struct range *ranges, size_t n, const struct fz_ip *ip)
{
    for (size_t i = 0; i < n; i++) {
        struct fz_network network = {.bits = ranges[i].bits};
        memcpy(network.ip.bytes, ranges[i].first, sizeof(network.ip.bytes));
        if (fz_network_has(&network, ip))
            return ranges[i].kind;
    }
    return NET_ADDRESS_GLOBAL;
}

/* An interface identifier of ISATAP (RFC 5214): 0:5efe or 200:5efe before an IPv4 address, below any
 * prefix. */
static bool
is_isatap(const struct fz_ip *ip)
{
    const uint8_t *id = &ip->bytes[8];
    return (id[0] == 0 || id[0] == 2) && id[1] == 0 && id[2] == 0x5e && id[3] == 0xfe;
}

enum net_address_kind
net_address_kind(const struct fz_ip *ip)
{
    static const struct fz_network nat64 = {.ip = {{0x00, 0x64, 0xff, 0x9b}}, .bits = 96};
    struct fz_ip v4 = *ip;
    if (fz_network_has(&nat64, ip)) {
        memset(v4.bytes, 0, 10);
        memset(&v4.bytes[10], 0xff, 2);
    }
    if (fz_ip_is_v4(&v4))
        return find_kind(v4_ranges, FZ_ARRAY_LEN(v4_ranges), &v4);
    enum net_address_kind kind = find_kind(v6_ranges, FZ_ARRAY_LEN(v6_ranges), ip);
    return kind == NET_ADDRESS_GLOBAL && is_isatap(ip) ? NET_ADDRESS_TUNNEL : kind;
}

const char *
net_address_kind_name(enum net_address_kind kind)
{
    static const char *const names[] = {
        [NET_ADDRESS_GLOBAL] = "an address of the public Internet",
        [NET_ADDRESS_UNSPECIFIED] = "an unspecified address",
        [NET_ADDRESS_LOOPBACK] = "a loopback address",
        [NET_ADDRESS_PRIVATE] = "a private address",
        [NET_ADDRESS_LINK_LOCAL] = "a link-local address",
        [NET_ADDRESS_METADATA] = "an address of cloud metadata",
        [NET_ADDRESS_SHARED] = "an address of carrier-grade NAT",
        [NET_ADDRESS_MULTICAST] = "a multicast address",
        [NET_ADDRESS_RESERVED] = "a reserved address",
        [NET_ADDRESS_TUNNEL] = "an address that contains another one",
    };
    return names[kind];
}

/* ---- what the operator allows ------------------------------------------------------------ */

/* "hooks.local", "build-1": letters, digits, inner dots, hyphens and underscores, and not what looks
 * like an address. */
static bool
is_host(const char *text, size_t len)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (len >= FZ_HOST_ROOM || strspn(text, inner) < len || strspn(text, "0123456789.") >= len)
        return false;
    return text[0] != '.' && text[0] != '-' && text[len - 1] != '.';
}

static enum fz_code
add_host(struct net_guard *guard, const char *host, size_t len, struct fz_error *err)
{
    size_t used = strlen(guard->hosts);
    if (used + len + 2 > sizeof(guard->hosts))
        return fz_fail(err, FZ_E_LIMIT, "the list of internal hosts is longer than %zu bytes",
                       sizeof(guard->hosts) - 1);
    for (size_t i = 0; i < len; i++)
        guard->hosts[used + i] = (char)tolower((unsigned char)host[i]);
    guard->hosts[used + len] = ' ';
    guard->hosts[used + len + 1] = '\0';
    return FZ_OK;
}

enum fz_code
net_guard_parse(const char *internal, struct net_guard *ret, struct fz_error *err)
{
    static const char between[] = ", \t";
    *ret = (struct net_guard){0};
    for (const char *at = internal + strspn(internal, between); *at; at += strspn(at, between)) {
        size_t len = strcspn(at, between);
        struct fz_network network;
        if (fz_network_parse(fz_span_make(at, len), &network)) {
            if (ret->n_networks == NET_GUARD_NETWORKS_MAX)
                return fz_fail(err, FZ_E_LIMIT, "more than %d internal networks",
                               (int)NET_GUARD_NETWORKS_MAX);
            ret->networks[ret->n_networks++] = network;
        } else if (is_host(at, len)) {
            enum fz_code code = add_host(ret, at, len, err);
            if (code != FZ_OK)
                return code;
        } else {
            return fz_fail(err, FZ_E_MALFORMED,
                           "'%.*s' is not a network, address or host; examples: 10.0.0.0/8, "
                           "192.168.1.7, fd00::/8, hooks.local",
                           len > 60 ? 60 : (int)len, at);
        }
        at += len;
    }
    return FZ_OK;
}

static bool
has_host(const struct net_guard *guard, const char *host)
{
    size_t len = strlen(host);
    for (const char *at = guard->hosts; *at; at += strcspn(at, " ") + 1) {
        size_t i = 0;
        while (i < len && at[i] == tolower((unsigned char)host[i]))
            i++;
        if (i == len && at[len] == ' ')
            return true;
    }
    return false;
}

bool
net_guard_allows(const struct net_guard *guard, const char *host, const struct fz_ip *ip)
{
    if (net_address_kind(ip) == NET_ADDRESS_GLOBAL)
        return true;
    for (size_t i = 0; i < guard->n_networks; i++) {
        if (fz_network_has(&guard->networks[i], ip))
            return true;
    }
    return *host && has_host(guard, host);
}
