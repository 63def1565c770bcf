/*
 * Which address a request comes from: the peer's, or the one that a trusted proxy names.
 *
 * Pure functions.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/address.h"
#include "base/error.h"
#include "base/span.h"
#include "server/http/framing.h"

enum { HTTP_PROXIES_MAX = 64, HTTP_ADDRESS_TEXT = 46 };

struct http_client {
    struct fz_ip key;             /* to compare and count by: IPv6 is cut to its /64 */
    char text[HTTP_ADDRESS_TEXT]; /* the whole address, for people */
};

struct http_proxies {
    struct fz_network list[HTTP_PROXIES_MAX];
    size_t n;
};

/* Addresses and networks ("10.0.0.0/8", "::1", "fd00::/8"), separated by commas or spaces; an empty
 * text means none. MALFORMED names the entry. */
FZ_MUST_CHECK enum fz_code http_proxies_parse(const char *text, struct http_proxies *ret,
                                              struct fz_error *err);
bool http_proxies_trust(const struct http_proxies *proxies, const struct fz_ip *address);

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". */
bool http_address_parse(struct fz_span text, struct fz_ip *ret);
bool http_address_is_loopback(const struct fz_ip *address);

void http_client_of(const struct fz_ip *address, struct http_client *ret);

/*
 * The client of a request from `peer` with these fields. If the peer is a trusted proxy: the
 * rightmost address in X-Forwarded-For, else in Forwarded, else in X-Real-IP, that is not a trusted
 * proxy. An entry that is not an address ends the search: then the client is the proxy that passed
 * it on, since the client may have made up everything left of it.
 */
void http_client_find(const struct http_proxies *proxies, const struct fz_ip *peer,
                      const struct http_field *fields, size_t n_fields, struct http_client *ret);

/* Is `origin` among `origins` (separated by commas or spaces, "*" is any)? Byte by byte, since a
 * browser sends the one serialised form. NULL or "": none. */
bool http_origins_allows(const char *origins, const char *origin);

/* An origin list as an operator writes it: NULL if it is sound, else the first element that is not
 * an origin ("https://host[:port]", "http://…", or "*"), within `origins`. */
const char *http_origins_fault(const char *origins);

#endif
