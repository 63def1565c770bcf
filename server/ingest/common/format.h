/*
 * What a report format gives to the table in ingest.c: one file a format, one row in the table.
 */
#ifndef INGEST_COMMON_FORMAT_H
#define INGEST_COMMON_FORMAT_H

#include "server/ingest/ingest.h"

/* The reports that were found in one body, filled by ingest_found_add(). */
struct ingest_found {
    struct ingest_item *items;
    size_t n, room;
    size_t n_cut; /* beyond INGEST_ITEMS_MAX */
    struct fz_arena *arena;
    const struct limits *limits;
    unsigned depth; /* containers around the current bytes */
    bool failed;    /* memory is out */
};

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

    /* Where one body may hold several reports: hand each of them to ingest_found_body(), as bytes
     * that this format or another one takes alone; nothing handed over means that the whole body is
     * one report. NULL where a body is always one. Cheap and bounded: runs on the HTTP side. */
    enum fz_code (*split)(struct fz_span body, struct ingest_found *found, struct fz_error *err);
};

/* A report inside a body: `body` is detected and checked (and split in turn, 3 containers deep),
 * and added with what came of it. The bytes must live as long as the input or found->arena. */
void ingest_found_body(struct ingest_found *found, struct fz_span body);

/* For formats that wrap another one (multipart): the row that takes `body`, NULL if none does. */
const struct ingest_format *ingest_format_of(struct fz_span body);

/* For a form: the name of what it holds. */
const char *ingest_multipart_format(struct fz_span body, const struct limits *limits);

/* For a text in UTF-16: the name of what it holds. */
const char *ingest_utf16_format(struct fz_span body);

extern const struct ingest_format ingest_utf16;           /* utf16.c */
extern const struct ingest_format ingest_array;           /* array.c */
extern const struct ingest_format ingest_bugsnag;         /* bugsnag.c */
extern const struct ingest_format ingest_ips;             /* ips.c */
extern const struct ingest_format ingest_kscrash;         /* kscrash.c */
extern const struct ingest_format ingest_minidump;        /* minidump.c */
extern const struct ingest_format ingest_multipart;       /* multipart.c */
extern const struct ingest_format ingest_native;          /* native.c */
extern const struct ingest_format ingest_plcrash;         /* plcrash.c */
extern const struct ingest_format ingest_sentry_envelope; /* sentry_envelope.c */
extern const struct ingest_format ingest_sentry_event;    /* sentry_event.c */
extern const struct ingest_format ingest_crash_text;      /* text/apple_crash.c */
extern const struct ingest_format ingest_quincy;          /* quincy.c */
extern const struct ingest_format ingest_metrickit;       /* metrickit.c */
extern const struct ingest_format ingest_stack_text;      /* text/stack.c */
extern const struct ingest_format ingest_stack_array;     /* text/stack.c */

#endif
