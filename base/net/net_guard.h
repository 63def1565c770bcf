/*
 * Which addresses the server may connect to on behalf of its users.
 *
 * A user names a URL, but the server makes the request, from a place that may reach what the user
 * cannot: services of the machine, the internal network, the metadata of a cloud. So only addresses
 * of the public Internet are allowed, and what the operator lists. The address is checked when the
 * socket is made (net_request.h), not the name before it: a name may resolve to another address the
 * second time.
 *
 * Kinds of addresses: the IANA registries of special-purpose addresses (RFC 6890) of IPv4 and IPv6.
 * Pure functions; this header needs no libcurl.
 */
#ifndef BASE_NET_GUARD_H
#define BASE_NET_GUARD_H

#include "base/address.h"
#include "base/error.h"

enum net_address_kind {
    NET_ADDRESS_GLOBAL,
    NET_ADDRESS_UNSPECIFIED, /* 0.0.0.0/8 and ::, which many systems take as themselves */
    NET_ADDRESS_LOOPBACK,
    NET_ADDRESS_PRIVATE,    /* RFC 1918, unique local (fc00::/7), site-local (fec0::/10) */
    NET_ADDRESS_LINK_LOCAL, /* 169.254.0.0/16, fe80::/10 */
    NET_ADDRESS_METADATA,   /* where clouds have the credentials of their machines */
    NET_ADDRESS_SHARED,     /* carrier-grade NAT, 100.64.0.0/10 */
    NET_ADDRESS_MULTICAST,
    NET_ADDRESS_RESERVED, /* documentation, benchmarks, protocols, everything not assigned */
    NET_ADDRESS_TUNNEL,   /* an IPv4 address in an IPv6 one: 6to4, Teredo, ISATAP, local NAT64 */
};

/* An IPv4 address in ::ffff:0:0/96 or in the well-known prefix of NAT64 (64:ff9b::/96), where
 * networks without IPv4 have all of the IPv4 Internet, has the kind of that IPv4 address. */
enum net_address_kind net_address_kind(const struct fz_ip *ip);
/* "a private address": what a message says after "is". Static. */
const char *net_address_kind_name(enum net_address_kind kind);

enum { NET_GUARD_TEXT = 2048, NET_GUARD_NETWORKS_MAX = 64 };

struct net_guard {
    struct fz_network networks[NET_GUARD_NETWORKS_MAX];
    size_t n_networks;
    char hosts[NET_GUARD_TEXT]; /* lower case, each with a space after it */
};

/*
 * What is allowed besides the public Internet: networks, addresses and host names, separated by
 * commas or spaces ("10.0.0.0/8, hooks.local"); "" is nothing. A host is compared as a whole with the
 * one in the URL, and then may have any address. MALFORMED and LIMIT name the entry.
 */
FZ_MUST_CHECK enum fz_code net_guard_parse(const char *internal, struct net_guard *ret,
                                           struct fz_error *err);

/* May a request to `host` connect to `ip`? */
bool net_guard_allows(const struct net_guard *guard, const char *host, const struct fz_ip *ip);

#endif
