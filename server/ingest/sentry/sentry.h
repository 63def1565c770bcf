/*
 * The parts of a Sentry event between sentry_event.c (outer form, origin), sentry_crash.c
 * (exceptions), sentry_threads.c, sentry_frames.c, sentry_images.c and sentry_envelope.c. Private
 * to this folder.
 *
 * Memory failures stay in b.failed.
 */
#ifndef INGEST_SENTRY_H
#define INGEST_SENTRY_H

#include "server/ingest/common/json_member.h"

/* One event on its way into the report. */
struct sentry {
    struct ingest_builder b;
    const json_t *root;
    const json_t *exceptions, *threads; /* arrays; NULL if the event has none */
    struct report_thread *current;      /* the one that spoke; NULL = none says so */
    const json_t *exception; /* the one that ended the app: the last of the chain; NULL = none */
    int64_t thread_id;       /* that the exception names, -1 = none */
    bool is_thrown;          /* its stack is that of a throw: return addresses only */
    bool is_made;            /* the same, unless the stack comes with a pc */
    bool drops_frames; /* by a signal of which KSCrash may have dropped the innermost frames */
    bool is_arm64;
    uint64_t *image_addrs; /* sorted: of all images, those that only frames tell of too */
    size_t n_image_addrs;
    struct report_image *packages; /* images that only frames tell of */
    size_t n_packages, n_packages_cut;
};

/* "stacktrace" of a thread or exception. */
struct sentry_stack {
    struct report_frame *frames; /* newest first */
    size_t n_frames, n_frames_cut;
    struct report_register *registers;
    size_t n_registers;
    bool has_more; /* its frames have members that the model has no place for */
};

/* sentry_images.c: debug_meta.images into the report; each frame's image_addr and package; then,
 * once all frames are read, the images that only frames spoke of. */
void sentry_take_images(struct sentry *s);
void sentry_see_package(struct sentry *s, uint64_t image_addr, const char *package);
void sentry_take_packages(struct sentry *s);

/* sentry_frames.c */
void sentry_take_stack(struct sentry *s, const json_t *owner, const char *where,
                       struct sentry_stack *ret);
/* Frame 0 is the exact pc, unless the rules of crashed stacks say otherwise. */
void sentry_adjust_crashed(const struct sentry *s, struct sentry_stack *stack);

/* sentry_crash.c: which exception counts, what happened; before the threads. */
void sentry_take_crash(struct sentry *s);
/* What the chain of exceptions holds beyond the model; after the threads. */
void sentry_take_chain(struct sentry *s, bool with_stack);

/* sentry_threads.c: all threads, and the exception's stack where it belongs. */
void sentry_take_threads(struct sentry *s);

/* sentry_event.c: one event, JSON, into the report. MALFORMED: no JSON object; UNSUPPORTED: an
 * event of another kind (a transaction). */
FZ_MUST_CHECK enum fz_code sentry_take_event(struct ingest_builder *b, struct fz_span body,
                                             struct fz_error *err);
/* The outer form alone, and its own id ("" if it has none). */
FZ_MUST_CHECK enum fz_code sentry_check_event(struct fz_span body, const struct limits *limits,
                                              char ret_id[FZ_UUID_TEXT], struct fz_error *err);

#endif
