/*
 * The framing of a Sentry envelope: a header line, then items, each a header line and a payload.
 *
 *   {"event_id":"d3b0...","dsn":"http://KEY@host/1"}\n
 *   {"type":"event","length":41}\n
 *   <41 bytes>\n
 *   {"type":"session"}\n          no length: up to the next line break
 *   {"sid":...}\n
 *
 * Spans are borrowed from the body.
 */
#ifndef INGEST_SENTRY_ITEMS_H
#define INGEST_SENTRY_ITEMS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct sentry_item {
    struct fz_span header;  /* JSON object */
    struct fz_span type;    /* between the quotes; empty if it has none */
    struct fz_span payload; /* may be empty */
    size_t offset;          /* of the payload in the body */
};

/* Do these bytes begin like an envelope that has at least one item? `head` may end anywhere. */
bool sentry_items_detect(struct fz_span head);

struct sentry_items {
    struct fz_span header; /* the envelope's header, a JSON object */
    struct sentry_item *list;
    size_t n;
};

/* All items; the list is in the arena. MALFORMED with the byte in the body: a header that is not a
 * JSON object, a payload that ends before its length or goes on after it. */
FZ_MUST_CHECK enum fz_code sentry_items_read(struct fz_span body, struct fz_arena *arena,
                                             struct sentry_items *ret, struct fz_error *err);

/* A string member of a header as it is between its quotes; empty without one. */
struct fz_span sentry_header_text(struct fz_span header, const char *key);

#endif
