/*
 * A Sentry event while it is read: its parts, one file each, for event.c, and the event for
 * envelope.c. Private to this folder.
 *
 * Memory failures stay in b.failed.
 */
#ifndef INGEST_SENTRY_H
#define INGEST_SENTRY_H

#include "server/ingest/common/image_map.h"
#include "server/ingest/common/json_member.h"

/* One event on its way into the report. */
struct sentry {
    struct ingest_builder b;
    const json_t *root;
    const json_t *exceptions, *threads; /* arrays; NULL if the event has none */
    int current;             /* number of the thread that sent the event, -1 = not known */
    const json_t *exception; /* the one that ended the app: the last of the chain; NULL = none */
    int64_t thread_id;       /* that the exception names, -1 = none */
    bool is_thrown;          /* its stack is that of a throw: return addresses only */
    bool is_made;            /* the same, unless the stack has registers */
    bool drops_frames; /* by a signal of which KSCrash may have dropped the innermost frames */
    bool is_arm64;
    bool has_more;                  /* a frame has members that the model has no place for */
    struct ingest_image_map images; /* by address: those of debug_meta, and those of frames */
};

/* images.c: debug_meta.images into the report; a frame's image_addr and package; then, once all
 * frames are read, a note about images that only frames name. */
void sentry_read_images(struct sentry *s);
void sentry_add_package(struct sentry *s, uint64_t image_addr, const char *package);
void sentry_note_packages(struct sentry *s);

/* frames.c: the "stacktrace" of a thread, an exception or an event: frames and registers of *ret.
 * Sets has_more. */
void sentry_read_stack(struct sentry *s, const json_t *owner, const char *where,
                       struct report_thread *ret);
/* Of a thread that crashed: frame 0 is the exact pc, unless its stack is of another place. */
void sentry_adjust_crashed(const struct sentry *s, struct report_thread *thread);

/* crash.c: which exception counts, what happened; before the threads. */
void sentry_read_crash(struct sentry *s);
/* What the chain of exceptions holds beyond the model; after the threads. */
void sentry_read_chain(struct sentry *s, bool with_stack);

/* threads.c: all threads, and the exception's stack where it belongs. */
void sentry_read_threads(struct sentry *s);

/* event.c: one event, JSON, into the report. MALFORMED: no JSON object; UNSUPPORTED: an
 * event of another kind (a transaction). */
FZ_MUST_CHECK enum fz_code sentry_read_event(struct ingest_builder *b, struct fz_span body,
                                             struct fz_error *err);
/* The outer form alone, and its own id ("" if it has none). */
FZ_MUST_CHECK enum fz_code sentry_check_event(struct fz_span body, const struct limits *limits,
                                              char ret_id[FZ_UUID_TEXT], struct fz_error *err);

#endif
