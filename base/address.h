/*
 * Network addresses and URLs as people write them, checked before they are used.
 *
 *   127.0.0.1:8480   [::1]:8480   crashes.example.com:80   :8480 (every address of the machine)
 */
#ifndef FZ_ADDRESS_H
#define FZ_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

enum { FZ_HOST_ROOM = 256 };

struct fz_address {
    char host[FZ_HOST_ROOM]; /* without brackets; "" = every address */
    uint16_t port;           /* 0 = any free one */
};

/* An address to listen on. MALFORMED: the message quotes the text and says what is expected. */
FZ_MUST_CHECK enum fz_code fz_address_parse(const char *text, struct fz_address *ret,
                                            struct fz_error *err);

/* An IP address as 16 bytes: IPv6, or IPv4 as mapped (::ffff:192.0.2.1), so that one comparison
 * serves both families. */
struct fz_ip {
    uint8_t bytes[16];
};

struct fz_network {
    struct fz_ip ip;
    unsigned bits; /* 0 to 128: those of `ip` that count */
};

bool fz_ip_is_v4(const struct fz_ip *ip);

/* An address without port, brackets or interface; false for anything else. */
bool fz_ip_parse_v4(struct fz_span text, struct fz_ip *ret);
bool fz_ip_parse_v6(struct fz_span text, struct fz_ip *ret);

/* "10.0.0.0/8", "fd00::/8", or one address of either family. */
bool fz_network_parse(struct fz_span text, struct fz_network *ret);
bool fz_network_has(const struct fz_network *network, const struct fz_ip *ip);

/* Is it http:// or https:// with a host, at most a port and a path? MALFORMED says what is
 * wrong. */
FZ_MUST_CHECK enum fz_code fz_address_check_url(const char *url, struct fz_error *err);

#endif
