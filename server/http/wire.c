#include "server/http/wire.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"
#include "server/http/framing.h"
#include "server/http/uri.h"

enum {
    EXTENSION_MAX = 1024,   /* RFC 9112, 7.1.1: a server ought to limit them; no client uses any */
    TRAILER_MAX = 4 * 1024, /* less than is read at once: libmicrohttpd has less room for them */
    DIGITS_MAX = 16,        /* of a number below 2^64 */
    QUERY_MAX = 18000,      /* of a request line with parameters, and what they take: */
    PARAMETER = 64,
};

static const struct {
    int status;
    const char *text;
} faults[] = {
    [HTTP_WIRE_SOUND] = {400, "the request is malformed"},
    [HTTP_WIRE_BARE_LF] = {400, "a line ends with a LF without a CR"},
    [HTTP_WIRE_BARE_CR] = {400, "a line has a CR without a LF"},
    [HTTP_WIRE_NUL] = {400, "a header has a NUL character"},
    [HTTP_WIRE_REQUEST_LINE] = {400, "the request line does not end with the version of HTTP"},
    [HTTP_WIRE_VERSION] = {505, "the versions of HTTP are 1.0 and 1.1"},
    [HTTP_WIRE_QUERY] = {414, "the query has more than 128 parameters, or is too long"},
    [HTTP_WIRE_FIELD] = {400, "a header field has no name, or no colon"},
    [HTTP_WIRE_LENGTH] = {400, "Content-Length is not a number"},
    [HTTP_WIRE_LENGTH_HUGE] = {413, "the length of a body or of a chunk is 2^64 or more"},
    [HTTP_WIRE_SIZE] = {400, "the size of a chunk is not a hexadecimal number"},
    [HTTP_WIRE_EXTENSION] = {400,
                             "the extension of a chunk is too long or has a control character"},
    [HTTP_WIRE_CHUNK_END] = {400, "a chunk is longer than its size"},
    [HTTP_WIRE_TRAILER] = {400, "the trailers of a body are malformed or too long"},
};

_Static_assert(HTTP_MAX_PAIRS == 128, "the text of HTTP_WIRE_QUERY has the number");

int
http_wire_status(enum http_wire_fault fault)
{
    return faults[fault].status;
}

const char *
http_wire_text(enum http_wire_fault fault)
{
    return faults[fault].text;
}

/* ---- lines ------------------------------------------------------------------------------- */

static void
begin_line(struct http_wire *wire)
{
    wire->state = HTTP_WIRE_LINE;
    wire->line_len = 0;
    wire->cr = wire->colon = false;
}

static void
begin_message(struct http_wire *wire)
{
    wire->in_fields = wire->in_trailer = wire->chunked = wire->other = false;
    wire->length = 0;
    wire->trailer_len = wire->n_ampersands = 0;
    begin_line(wire);
}

static void
end_message(struct http_wire *wire)
{
    wire->n_messages++;
    begin_message(wire);
}

static void
begin_size(struct http_wire *wire)
{
    wire->state = HTTP_WIRE_CHUNK_SIZE;
    wire->length = 0;
    wire->digits = 0;
    wire->cr = false;
}

static void
end_header(struct http_wire *wire)
{
    wire->n_headers++;
    if (wire->other)
        wire->state = HTTP_WIRE_OTHER;
    else if (wire->chunked)
        begin_size(wire);
    else if (wire->length > 0)
        wire->state = HTTP_WIRE_BODY;
    else
        end_message(wire);
}

static enum http_wire_fault
read_length(struct http_wire *wire, struct fz_span value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return HTTP_WIRE_LENGTH;
    }
    if (value.len == 0)
        return HTTP_WIRE_LENGTH;
    return fz_text_u64(value, &wire->length) ? HTTP_WIRE_SOUND : HTTP_WIRE_LENGTH_HUGE;
}

static enum http_wire_fault
read_version(const struct http_wire *wire)
{
    const uint8_t *tail = wire->tail;
    if (wire->line_len < HTTP_WIRE_TAIL || memcmp(tail, " HTTP/", 6) != 0 || tail[7] != '.')
        return HTTP_WIRE_REQUEST_LINE;
    bool known = tail[6] == '1' && (tail[8] == '0' || tail[8] == '1');
    return known ? HTTP_WIRE_SOUND : HTTP_WIRE_VERSION;
}

/* The field in wire->line, if it says where the body ends. */
static enum http_wire_fault
read_field(struct http_wire *wire)
{
    size_t kept = wire->line_len < HTTP_WIRE_KEPT ? wire->line_len : HTTP_WIRE_KEPT;
    const uint8_t *colon = memchr(wire->line, ':', kept);
    if (wire->in_trailer) {
        bool folded = wire->line[0] == ' ' || wire->line[0] == '\t';
        /* libmicrohttpd takes trailers for fields, so they have the form of fields. */
        return folded || !colon || colon == wire->line ? HTTP_WIRE_TRAILER : HTTP_WIRE_SOUND;
    }
    /* A line that goes on with the one before (obsolete folding) needs none: header.c refuses it. A colon that is the first
     * byte of a line ends the header for libmicrohttpd 0.9. */
    if (colon == wire->line || (!wire->colon && wire->line[0] != ' ' && wire->line[0] != '\t'))
        return HTTP_WIRE_FIELD;
    if (!colon)
        return HTTP_WIRE_SOUND;
    struct fz_span name = fz_span_make(wire->line, (size_t)(colon - wire->line));
    struct fz_span value =
        fz_text_trim(fz_span_make(colon + 1, kept - (size_t)(colon + 1 - wire->line)));
    if (http_name_is(name, "Content-Length"))
        return wire->line_len > HTTP_WIRE_KEPT ? HTTP_WIRE_LENGTH : read_length(wire, value);
    if (http_name_is(name, "Transfer-Encoding")) {
        bool chunked = wire->line_len <= HTTP_WIRE_KEPT && http_name_is(value, "chunked");
        wire->chunked = wire->chunked || chunked;
        wire->other = wire->other || !chunked;
    }
    return HTTP_WIRE_SOUND;
}

static enum http_wire_fault
end_line(struct http_wire *wire)
{
    bool empty = wire->line_len == 0;
    enum http_wire_fault fault = empty             ? HTTP_WIRE_SOUND
                                 : wire->in_fields ? read_field(wire)
                                                   : read_version(wire);
    if (fault != HTTP_WIRE_SOUND)
        return fault;
    if (empty && wire->in_trailer)
        end_message(wire);
    else if (empty && wire->in_fields)
        end_header(wire);
    else {
        /* Empty lines before a request line are read over, as libmicrohttpd does. */
        wire->in_fields = wire->in_fields || !empty;
        begin_line(wire);
    }
    return HTTP_WIRE_SOUND;
}

static void
keep_tail(struct http_wire *wire, struct fz_span text)
{
    size_t n_new = text.len < HTTP_WIRE_TAIL ? text.len : HTTP_WIRE_TAIL;
    if (n_new == 0)
        return;
    memmove(wire->tail, wire->tail + n_new, HTTP_WIRE_TAIL - n_new);
    memcpy(wire->tail + HTTP_WIRE_TAIL - n_new, text.data + text.len - n_new, n_new);
}

/* Up to the next CR or LF; returns how many bytes that is. */
static size_t
feed_text(struct http_wire *wire, struct fz_span bytes)
{
    const uint8_t *lf = memchr(bytes.data, '\n', bytes.len);
    size_t len = lf ? (size_t)(lf - bytes.data) : bytes.len;
    const uint8_t *cr = len ? memchr(bytes.data, '\r', len) : NULL;
    if (cr)
        len = (size_t)(cr - bytes.data);
    if (wire->line_len < HTTP_WIRE_KEPT && len) {
        size_t room = HTTP_WIRE_KEPT - wire->line_len;
        memcpy(wire->line + wire->line_len, bytes.data, len < room ? len : room);
    }
    wire->line_len += len;
    wire->colon = wire->colon || (len && memchr(bytes.data, ':', len));
    if (!wire->in_fields)
        keep_tail(wire, fz_span_make(bytes.data, len));
    return len;
}

/*
 * A part of a request line, of which `before` bytes came before: how many bytes of it are not too much.
 *
 * The line and 56 bytes for each parameter must fit into a connection's memory (HTTP_HEADER_MEMORY): where it ends among the
 * parameters, libmicrohttpd 0.9 neither answers nor goes on reading.
 */
static size_t
feed_query(struct http_wire *wire, struct fz_span text, size_t before)
{
    for (size_t at = 0; at < text.len;) {
        const uint8_t *found = memchr(text.data + at, '&', text.len - at);
        size_t next = found ? (size_t)(found - text.data) : text.len;
        size_t taken = before + PARAMETER * wire->n_ampersands;
        size_t room = taken < QUERY_MAX ? QUERY_MAX - taken : 0;
        if (wire->n_ampersands && next > room)
            return room > at ? room : at;
        wire->n_ampersands += found != NULL;
        if (found && (wire->n_ampersands > HTTP_MAX_PAIRS ||
                      before + next + 1 + PARAMETER * wire->n_ampersands > QUERY_MAX))
            return next;
        at = next + 1;
    }
    return text.len;
}

static size_t
feed_line(struct http_wire *wire, struct fz_span bytes)
{
    if (wire->cr) {
        wire->fault = bytes.data[0] == '\n' ? end_line(wire) : HTTP_WIRE_BARE_CR;
        return wire->fault == HTTP_WIRE_SOUND ? 1 : 0;
    }
    size_t before = wire->line_len;
    size_t len = feed_text(wire, bytes);
    size_t n_sound =
        wire->in_fields ? len : feed_query(wire, fz_span_make(bytes.data, len), before);
    const uint8_t *nul = len ? memchr(bytes.data, 0, len) : NULL;
    if (nul)
        len = (size_t)(nul - bytes.data);
    if (n_sound < len) {
        wire->fault = HTTP_WIRE_QUERY;
        return n_sound;
    }
    if (wire->in_trailer) {
        wire->trailer_len += len;
        if (wire->trailer_len > TRAILER_MAX) {
            wire->fault = HTTP_WIRE_TRAILER;
            return 0;
        }
    }
    if (len == bytes.len)
        return len;
    if (bytes.data[len] != '\r') {
        wire->fault = bytes.data[len] ? HTTP_WIRE_BARE_LF : HTTP_WIRE_NUL;
        return len;
    }
    wire->cr = true;
    return len + 1;
}

/* ---- chunks ------------------------------------------------------------------------------ */

static int
hex_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static void
end_size(struct http_wire *wire)
{
    wire->cr = false;
    if (wire->length > 0) {
        wire->state = HTTP_WIRE_CHUNK_DATA;
        return;
    }
    wire->in_trailer = true;
    begin_line(wire);
}

/* One byte of a chunk's size, or of what follows it in its line. */
static enum http_wire_fault
feed_size(struct http_wire *wire, uint8_t byte)
{
    int value = hex_value(byte);
    if (wire->cr && byte != '\n')
        return HTTP_WIRE_BARE_CR;
    if (byte == '\n' && !wire->cr)
        return HTTP_WIRE_BARE_LF;
    if (byte == '\n') {
        end_size(wire);
    } else if (value >= 0 && wire->digits == DIGITS_MAX) {
        return HTTP_WIRE_LENGTH_HUGE;
    } else if (value >= 0) {
        wire->length = wire->length << 4 | (unsigned)value;
        wire->digits++;
    } else if (wire->digits > 0 && byte == '\r') {
        wire->cr = true;
    } else if (wire->digits > 0 && byte == ';') {
        wire->state = HTTP_WIRE_CHUNK_EXTENSION;
        wire->line_len = 0;
    } else {
        return HTTP_WIRE_SIZE;
    }
    return HTTP_WIRE_SOUND;
}

static enum http_wire_fault
feed_extension(struct http_wire *wire, uint8_t byte)
{
    if (wire->cr && byte != '\n')
        return HTTP_WIRE_BARE_CR;
    if (byte == '\n' && !wire->cr)
        return HTTP_WIRE_BARE_LF;
    if (byte == '\n')
        end_size(wire);
    else if (byte == '\r')
        wire->cr = true;
    else if ((byte < 0x20 && byte != '\t') || byte == 0x7f || ++wire->line_len > EXTENSION_MAX)
        return HTTP_WIRE_EXTENSION;
    return HTTP_WIRE_SOUND;
}

static enum http_wire_fault
feed_chunk_end(struct http_wire *wire, uint8_t byte)
{
    if (byte == '\n' && wire->cr)
        begin_size(wire);
    else if (byte == '\n')
        return HTTP_WIRE_BARE_LF;
    else if (byte == '\r' && !wire->cr)
        wire->cr = true;
    else
        return HTTP_WIRE_CHUNK_END;
    return HTTP_WIRE_SOUND;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Bytes of a body are counted, not looked at. */
static size_t
feed_body(struct http_wire *wire, size_t len)
{
    size_t n = wire->length < len ? (size_t)wire->length : len;
    wire->length -= n;
    if (wire->length > 0)
        return n;
    if (wire->state == HTTP_WIRE_BODY) {
        end_message(wire);
    } else {
        wire->state = HTTP_WIRE_CHUNK_DATA_END;
        wire->cr = false;
    }
    return n;
}

/* At least one byte, unless there is a fault. */
static size_t
feed_some(struct http_wire *wire, struct fz_span bytes)
{
    switch (wire->state) {
    case HTTP_WIRE_LINE:
        return feed_line(wire, bytes);
    case HTTP_WIRE_BODY:
    case HTTP_WIRE_CHUNK_DATA:
        return feed_body(wire, bytes.len);
    case HTTP_WIRE_CHUNK_SIZE:
        wire->fault = feed_size(wire, bytes.data[0]);
        return wire->fault == HTTP_WIRE_SOUND ? 1 : 0;
    case HTTP_WIRE_CHUNK_EXTENSION:
        wire->fault = feed_extension(wire, bytes.data[0]);
        return wire->fault == HTTP_WIRE_SOUND ? 1 : 0;
    case HTTP_WIRE_CHUNK_DATA_END:
        wire->fault = feed_chunk_end(wire, bytes.data[0]);
        return wire->fault == HTTP_WIRE_SOUND ? 1 : 0;
    case HTTP_WIRE_OTHER:
        return bytes.len;
    }
    return bytes.len;
}

size_t
http_wire_feed(struct http_wire *wire, struct fz_span bytes, size_t *ret_ended)
{
    size_t at = 0;
    *ret_ended = 0;
    while (at < bytes.len && wire->fault == HTTP_WIRE_SOUND) {
        uint64_t n_before = wire->n_messages;
        at += feed_some(wire, fz_span_make(bytes.data + at, bytes.len - at));
        if (wire->n_messages != n_before)
            *ret_ended = at;
    }
    return at;
}
