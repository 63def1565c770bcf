/*
 * The framing of HTTP/1.1 as bytes come in: where each message ends, and whether its lines end as RFC 9112 wants.
 *
 * libmicrohttpd 0.9 takes a bare LF, or a bare CR, for the end of a chunk's line. A proxy that reads on to the CRLF sees one
 * request where libmicrohttpd sees two. So the bytes are judged before libmicrohttpd gets them (filter.h). The same goes for a
 * Content-Length that is not a number, for chunks that are not well formed, for a NUL in a line, which for libmicrohttpd ends the
 * line or the header, and for whatever else libmicrohttpd answers with a page of its own.
 * What else can be wrong with a header is judged when it is complete (header.h, framing.h). Pure; no allocation.
 *
 *   POST / HTTP/1.1 CRLF         LINE
 *   Transfer-Encoding: chunked   LINE     noted
 *   CRLF                                  the header is complete
 *   2b;x=y CRLF                  SIZE, EXTENSION
 *   43 bytes CRLF                DATA, DATA_END
 *   0 CRLF                       SIZE
 *   X-Sum: 1 CRLF                LINE     a trailer
 *   CRLF                                  the message is complete
 */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* What is wrong; the texts are http_wire_text()'s. */
enum http_wire_fault {
    HTTP_WIRE_SOUND,
    HTTP_WIRE_BARE_LF,
    HTTP_WIRE_BARE_CR,
    HTTP_WIRE_NUL,          /* in a request line, a field or a trailer */
    HTTP_WIRE_REQUEST_LINE, /* it does not end with a version */
    HTTP_WIRE_VERSION,      /* it is not 1.0 or 1.1 */
    HTTP_WIRE_QUERY,        /* more than HTTP_MAX_PAIRS ampersands in a request line */
    HTTP_WIRE_FIELD,        /* no name or no colon */
    HTTP_WIRE_LENGTH,       /* Content-Length is not a number */
    HTTP_WIRE_LENGTH_HUGE,  /* Content-Length or a chunk's size is 2^64 or more */
    HTTP_WIRE_SIZE,         /* a chunk's size is not a hexadecimal number */
    HTTP_WIRE_EXTENSION,    /* a chunk's extension is too long or has a control character */
    HTTP_WIRE_CHUNK_END,    /* no CRLF after a chunk's bytes */
    HTTP_WIRE_TRAILER, /* a line after the last chunk is not a field, or there is too much of them */
};

enum http_wire_state {
    HTTP_WIRE_LINE, /* a request line, a field or a trailer; or the empty line */
    HTTP_WIRE_BODY, /* of known length */
    HTTP_WIRE_CHUNK_SIZE,
    HTTP_WIRE_CHUNK_EXTENSION,
    HTTP_WIRE_CHUNK_DATA,
    HTTP_WIRE_CHUNK_DATA_END,
    HTTP_WIRE_OTHER, /* a body whose end cannot be found; such a request is refused when its header is complete */
};

enum {
    HTTP_WIRE_KEPT = 64, /* bytes of a line: enough for the fields that matter */
    HTTP_WIRE_TAIL = 9,  /* " HTTP/1.1" */
};

/* Zeroed, it is at the start of a connection. */
struct http_wire {
    enum http_wire_state state;
    enum http_wire_fault fault; /* once set, it stays */
    bool cr;                    /* the last byte was a CR that is to be followed by a LF */
    bool in_fields, in_trailer; /* LINE: past the request line; past the last chunk */
    bool chunked, other;        /* of the message's Transfer-Encoding */
    unsigned digits;            /* of a chunk's size */
    uint64_t length;            /* Content-Length; then, what is left of the body or chunk */
    size_t line_len;            /* of the current line or extension */
    size_t trailer_len;
    size_t n_ampersands;            /* of the request line */
    bool colon;                     /* in the line */
    uint8_t line[HTTP_WIRE_KEPT];   /* its start */
    uint8_t tail[HTTP_WIRE_TAIL];   /* the end of a request line */
    uint64_t n_headers, n_messages; /* that were complete */
};

/*
 * Read the next bytes. Returns how many of them are sound: `bytes.len`, or less if wire->fault is set; the byte there is the
 * first that must not be passed on. *ret_ended: how many of the bytes belong to messages that are complete.
 */
size_t http_wire_feed(struct http_wire *wire, struct fz_span bytes, size_t *ret_ended);

/* For the client: a status (400, 413, 414 or 505) and a sentence. */
int http_wire_status(enum http_wire_fault fault);
const char *http_wire_text(enum http_wire_fault fault);

#endif
