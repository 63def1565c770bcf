/*
 * Network addresses and URLs as people write them, checked before they are used.
 *
 *   127.0.0.1:8480   [::1]:8480   crashes.example.com:80   :8480 (every address of the machine)
 */
#ifndef FZ_ADDRESS_H
#define FZ_ADDRESS_H

#include "base/error.h"

enum { FZ_HOST_ROOM = 256 };

struct fz_address {
    char host[FZ_HOST_ROOM]; /* without brackets; "" = every address */
    uint16_t port;           /* 0 = any free one */
};

/* An address to listen on. MALFORMED: the message quotes the text and says what is expected. */
FZ_MUST_CHECK enum fz_code fz_address_parse(const char *text, struct fz_address *ret,
                                            struct fz_error *err);

/* Is it http:// or https:// with a host, at most a port and a path? MALFORMED says what is
 * wrong. */
FZ_MUST_CHECK enum fz_code fz_address_check_url(const char *url, struct fz_error *err);

#endif
