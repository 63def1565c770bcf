/*
 * What a report format gives to the table in ingest.c: one file a format, one row in the table.
 */
#ifndef INGEST_FORMAT_H
#define INGEST_FORMAT_H

#include "server/ingest/ingest.h"

struct ingest_format {
    const char *name; /* as the API tells it */

    /* Do these bytes look like it? `head` may end anywhere. Rows are asked in the table's order. */
    bool (*detect)(struct fz_span head);

    /* ingest_check() and ingest_parse() for a body that was detected; ret->format is set already.
     */
    enum fz_code (*check)(struct fz_span body, const struct limits *limits,
                          char ret_id[FZ_UUID_TEXT], struct fz_error *err);
    enum fz_code (*parse)(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
                          struct report *ret, struct fz_error *err);
};

extern const struct ingest_format ingest_native; /* native.c */

#endif
