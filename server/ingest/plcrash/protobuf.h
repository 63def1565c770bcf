/*
 * A bounded reader of protobuf's wire format: one message, field by field. Private to this folder.
 *
 * Not protobuf-c, because the wire format takes 150 lines here, and the library lacks what a reader
 * of crash reports needs:
 * - it allocates per field and unpacks a message as a whole; here a field is a view of the input,
 *   nothing is allocated, and what is kept comes from the report's arena under its cap;
 * - it refuses a message with one bad byte; a report cut off by a full disk or a dying process
 *   must yield all fields before the cut, and its place;
 * - it drops unknown fields, which hold a reporter's additions;
 * - a generated parser is one more dependency for packagers.
 *
 * Source: protobuf's "Encoding" specification. Wire types: 0 varint, 1 64 bits, 2 length-delimited,
 * 3 and 4 group (deprecated; skipped as a whole), 5 32 bits.
 */
#ifndef INGEST_PLCRASH_PROTOBUF_H
#define INGEST_PLCRASH_PROTOBUF_H

#include "base/reader.h"

enum {
    PROTOBUF_GROUPS_MAX = 32,
    PROTOBUF_FIELDS_MAX = 1 << 20, /* of one message; real ones have some hundreds */
};

struct protobuf {
    struct fz_reader reader;
    size_t n_fields;   /* read so far */
    bool cut;          /* the input ended inside this message */
    const char *fault; /* why reading stopped before the end, static; NULL = it did not */
    uint64_t fault_at; /* offset in the input */
};

struct protobuf_field {
    uint32_t number;
    bool is_bytes;        /* length-delimited: a message, text, bytes; else a number */
    uint64_t value;       /* the number */
    struct fz_span bytes; /* borrowed from the input */
    bool cut;             /* its end is missing: `bytes` is what there is of it */
    uint64_t offset;      /* of its bytes, or its number, in the input */
};

/* A message at `offset` of the whole input. */
struct protobuf protobuf_start(struct fz_span bytes, uint64_t offset);

/* The message in a field; it is cut where the field is. */
struct protobuf protobuf_inner(const struct protobuf_field *field);

/* The next field. False at the end, or where a field cannot be read: then `fault` says why. */
bool protobuf_next(struct protobuf *message, struct protobuf_field *ret);

/* The next number of a repeated numeric field: the field's own, or one after the other if they are
 * packed. *at begins as 0. */
bool protobuf_packed(const struct protobuf_field *field, size_t *at, uint64_t *ret);

#endif
