/*
 * What a report format gives to the table in ingest.c, and what formats use of each other: a format
 * that holds reports of other formats finds those through the table in its context.
 */
#ifndef INGEST_COMMON_FORMAT_H
#define INGEST_COMMON_FORMAT_H

#include "base/buffer.h"
#include "server/ingest/ingest.h"

/* What every function of a format gets beside the bytes. */
struct ingest_context {
    const struct limits *limits;
    const struct ingest_format *const *formats; /* the table; NULL follows the last */
    const char *reader; /* what is inside the bytes, if that was detected before; else NULL */
};

/* The reports that were found in one body, filled by ingest_found_body(). */
struct ingest_found {
    const struct ingest_context *in;
    struct ingest_item *items;
    size_t n, room;
    size_t n_cut; /* beyond INGEST_ITEMS_MAX */
    struct fz_arena *arena;
    unsigned depth; /* containers around the current bytes */
    bool failed;    /* memory is out */
};

struct ingest_format {
    const char *name;   /* as the API shows it */
    const char *reader; /* the row's name, where `name` is not unique; else NULL */

    /* Do these bytes look like it? `head` may end anywhere. Rows are asked in the table's order. */
    bool (*detect)(struct fz_span head);

    /* The check of the outer form, and ingest_parse(), for a body that was detected; ret->format is set already.
     */
    enum fz_code (*check)(struct fz_span body, const struct ingest_context *in,
                          char ret_id[FZ_UUID_TEXT], struct fz_error *err);
    enum fz_code (*parse)(struct fz_span body, const struct ingest_context *in,
                          struct fz_arena *arena, struct report *ret, struct fz_error *err);

    /* For a body that `check` rejects as UNSUPPORTED since it is about a run of the app: that run, to be
     * counted; its texts are in the arena. UNSUPPORTED, MALFORMED: it cannot be counted, or is
     * something else. NULL where all bodies are reports. */
    enum fz_code (*count)(struct fz_span body, const struct ingest_context *in,
                          struct fz_arena *arena, struct ingest_session *ret, struct fz_error *err);

    /* Where one body may hold several reports: hand each of them to ingest_found_body(), as bytes
     * that this format or another one takes alone; nothing handed over means that the whole body is
     * one report. NULL where a body is always one. Bounded in time and memory. */
    enum fz_code (*split)(struct fz_span body, struct ingest_found *found, struct fz_error *err);

    /* Of a format that wraps another one: the row for what is inside, NULL if no row takes that. It
     * is shown in place of this one; `reader` (may be NULL) gets what `parse` finds in in->reader.
     * NULL elsewhere. */
    const struct ingest_format *(*inside)(struct fz_span body, const struct ingest_context *in,
                                          char reader[INGEST_READER_TEXT]);
    bool needs_inside; /* without it, the body is not of this format */
};

/* The row that takes `body`, NULL if none does. */
const struct ingest_format *ingest_format_of(const struct ingest_context *in, struct fz_span body);

/* The row's name in a reader. */
const char *ingest_format_reader(const struct ingest_format *format);

/* A report inside a body: `body` is detected and checked (and split in turn, 3 containers deep),
 * and added with what came of it. The bytes must live as long as the input or found->arena. */
void ingest_found_body(struct ingest_found *found, struct fz_span body);

/* The same for a body that was put together in `text`: it is copied, unless there are too many. */
void ingest_found_copy(struct ingest_found *found, const struct fz_buffer *text);

/* The same for a report that its container has checked. */
void ingest_found_item(struct ingest_found *found, const struct ingest_item *item);

/* The check, ingest_split() and ingest_parse_as(), for formats that hold another one. The check
 * fills all members of *ret but the body. */
FZ_MUST_CHECK enum fz_code ingest_check_body(const struct ingest_context *in, struct fz_span body,
                                             struct ingest_item *ret);
FZ_MUST_CHECK enum fz_code ingest_split_body(const struct ingest_context *in, struct fz_span body,
                                             struct fz_arena *arena, struct ingest_item **ret,
                                             size_t *ret_n, size_t *ret_n_cut,
                                             struct fz_error *err);
/* The same, but FZ_OK also if all of them are bad; at least one is there. */
FZ_MUST_CHECK enum fz_code ingest_find_items(const struct ingest_context *in, struct fz_span body,
                                             struct fz_arena *arena, struct ingest_item **ret,
                                             size_t *ret_n, size_t *ret_n_cut,
                                             struct fz_error *err);
FZ_MUST_CHECK enum fz_code ingest_parse_body(const struct ingest_context *in, struct fz_span body,
                                             struct fz_arena *arena, struct report *ret,
                                             struct fz_error *err);

extern const struct ingest_format ingest_utf16;           /* containers/utf16.c */
extern const struct ingest_format ingest_array;           /* containers/array.c */
extern const struct ingest_format ingest_bugsnag;         /* bugsnag/bugsnag.c */
extern const struct ingest_format ingest_ips;             /* apple/ips.c */
extern const struct ingest_format ingest_kscrash;         /* kscrash/kscrash.c */
extern const struct ingest_format ingest_minidump;        /* minidump/minidump.c */
extern const struct ingest_format ingest_multipart;       /* containers/multipart.c */
extern const struct ingest_format ingest_native;          /* native/native.c */
extern const struct ingest_format ingest_plcrash;         /* plcrash/plcrash.c */
extern const struct ingest_format ingest_sentry_envelope; /* sentry/envelope.c */
extern const struct ingest_format ingest_sentry_event;    /* sentry/event.c */
extern const struct ingest_format ingest_crash_text;      /* text/apple_crash.c */
extern const struct ingest_format ingest_quincy;          /* quincy/quincy.c */
extern const struct ingest_format ingest_metrickit;       /* apple/metrickit.c */
extern const struct ingest_format ingest_stack_text;      /* text/stack.c */
extern const struct ingest_format ingest_stack_array;     /* text/stack.c */

#endif
