/*
 * The framing of a Sentry envelope: a header line, then items, each a header line and a payload.
 *
 *   {"event_id":"d3b0...","dsn":"http://KEY@host/1"}\n
 *   {"type":"event","length":41}\n
 *   <41 bytes>\n
 *   {"type":"session"}\n          no length: up to the next line break
 *   {"sid":...}\n
 *
 * For ingest (the event) and for those who answer envelopes (sessions, client reports, keys). Spans
 * are borrowed from the body.
 */
#ifndef INGEST_SENTRY_ITEMS_H
#define INGEST_SENTRY_ITEMS_H

#include "base/error.h"
#include "base/span.h"

struct sentry_items {
    struct fz_span body;
    size_t pos;            /* behind what was read */
    struct fz_span header; /* the envelope's header, a JSON object */
};

struct sentry_item {
    struct fz_span header;  /* JSON object */
    struct fz_span type;    /* between the quotes; empty if it has none */
    struct fz_span payload; /* may be empty */
    size_t offset;          /* of the payload in the body */
};

/* Do these bytes begin like an envelope that has at least one item? `head` may end anywhere. */
bool sentry_items_detect(struct fz_span head);

/* Read the header line. MALFORMED: it is no JSON object. */
FZ_MUST_CHECK enum fz_code sentry_items_start(struct fz_span body, struct sentry_items *ret,
                                              struct fz_error *err);

/* The next item; *ret_any is false at the end. MALFORMED with the byte in the body: an item header
 * that is no JSON object, a payload that ends before or goes on behind its length. */
FZ_MUST_CHECK enum fz_code sentry_items_next(struct sentry_items *items, struct sentry_item *ret,
                                             bool *ret_any, struct fz_error *err);

/* A string member of a header as it stands between its quotes; empty if there is none. */
struct fz_span sentry_header_text(struct fz_span header, const char *key);

#endif
