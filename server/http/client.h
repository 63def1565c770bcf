/*
 * Which address a request comes from: the peer's, or the one that a trusted proxy names.
 *
 * Addresses are 16 bytes, IPv4 as mapped (::ffff:192.0.2.1). Pure functions.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/error.h"
#include "base/span.h"
#include "server/http/framing.h"

enum { HTTP_PROXIES_MAX = 64, HTTP_ADDRESS_TEXT = 46 };

struct http_address {
    uint8_t bytes[16];
};

struct http_client {
    struct http_address key;      /* to compare and count by: IPv6 is cut to its /64 */
    char text[HTTP_ADDRESS_TEXT]; /* the whole address, for people */
};

struct http_proxies {
    struct {
        struct http_address address;
        unsigned bits; /* 0 to 128 */
    } list[HTTP_PROXIES_MAX];
    size_t n;
};

/* Addresses and networks ("10.0.0.0/8", "::1", "fd00::/8"), separated by commas or spaces; an empty
 * text means none. MALFORMED names the entry. */
FZ_MUST_CHECK enum fz_code http_proxies_parse(const char *text, struct http_proxies *ret,
                                              struct fz_error *err);
bool http_proxies_trust(const struct http_proxies *proxies, const struct http_address *address);

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". */
bool http_address_parse(struct fz_span text, struct http_address *ret);
bool http_address_is_loopback(const struct http_address *address);

void http_client_of(const struct http_address *address, struct http_client *ret);

/*
 * The client of a request from `peer` with these fields. If the peer is a trusted proxy: the
 * rightmost address in X-Forwarded-For, else in Forwarded, else in X-Real-IP, that is not a trusted
 * proxy. An entry that is not an address ends the search: then the client is the proxy that passed
 * it on, since the client may have made up everything left of it.
 */
void http_client_find(const struct http_proxies *proxies, const struct http_address *peer,
                      const struct http_field *fields, size_t n_fields, struct http_client *ret);

/* Is `origin` among `origins` (separated by commas or spaces, "*" is any)? Byte by byte, since a
 * browser sends the one serialised form. NULL or "": none. */
bool http_origins_allows(const char *origins, const char *origin);

/* An origin list as an operator writes it: NULL if it is sound, else the first element that is not
 * an origin ("https://host[:port]", "http://…", or "*"), within `origins`. */
const char *http_origins_fault(const char *origins);

#endif
