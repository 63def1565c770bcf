/*
 * The parts of a KSCrash report: kscrash.c (outer form, origin), error.c (what happened),
 * threads.c (stacks), frames.c, images.c and profile.c (samples); and run_summary.c (not reports). bugsnag uses error.c, since Bugsnag's
 * notifier is made from KSCrash.
 */
#ifndef INGEST_KSCRASH_H
#define INGEST_KSCRASH_H

#include "base/json/rows.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_member.h"

/* The images of the frames that were read from their text, mostly few and all of them listed: then no frame is looked at again. */
struct ingest_kscrash_objects {
    uint64_t addrs[32]; /* each once */
    size_t n;
    size_t n_lists;  /* stacks that were read */
    bool is_partial; /* frames of theirs are in other images, too */
};

/* One of the two reports that a file may hold: a crash, and a crash of the reporter within. */
struct ingest_kscrash {
    struct ingest_builder *b;
    const json_t *report; /* with "report", "system", "crash"... */
    const json_t *crash, *error;
    const char *type; /* of the error: "mach", "nsexception"...; "" if unknown */
    struct ingest_kscrash_objects *objects;
};

/* ---- run_summary.c ---- */

/* {"schema_version":1,"run_id":"...","outcome":{...}}: how a run of the app ended, not a report. `text`
 * may end anywhere. */
bool ingest_kscrash_is_summary(struct fz_span text);
/* As struct ingest_format has it. */
FZ_MUST_CHECK enum fz_code ingest_kscrash_count(struct fz_span body,
                                                const struct ingest_context *in,
                                                struct fz_arena *arena, struct ingest_session *ret,
                                                struct fz_error *err);

/* ---- the other files ---- */

/* Each fills its part of b->report; memory failures stay in b->failed. */
void ingest_kscrash_read_error(const struct ingest_kscrash *k);
void ingest_kscrash_read_threads(const struct ingest_kscrash *k);
/* What the kernel recorded of a process that is dead, where the report lacks it. After the error. */
void ingest_kscrash_read_corpse(const struct ingest_kscrash *k);
/* The thread in which the reporter itself crashed, after the others. */
void ingest_kscrash_read_recrash(const struct ingest_kscrash *k);
void ingest_kscrash_read_profile(const struct ingest_kscrash *k);
void ingest_kscrash_read_images(struct ingest_builder *b, const json_t *images);

/* One frame, an object or an address: an ingest_json_frame_fn, `user` is the builder. */
bool ingest_kscrash_read_frame(void *user, const json_t *value, const char *where,
                               struct report_frame *ret);

/* The frames of a stack, newest first; `list` is a backtrace's `contents`: an array, or what the path left of one (kscrash.c). */
struct ingest_stack ingest_kscrash_read_stack(const struct ingest_kscrash *k, const json_t *list,
                                              const char *where);

/* What a frame has of its image. */
struct ingest_kscrash_place {
    uint64_t addr, object_addr; /* 0 if it has none */
    bool has_addr;
    struct fz_span name, uuid; /* NULL if it has none */
};

/* Where the members of a frame are, of flat ones that are read as text; -1: it has none. */
struct ingest_kscrash_columns {
    unsigned layout; /* 0: not known */
    int addr, symbol_addr, symbol_name, object_addr, object_name, object_uuid;
};
void ingest_kscrash_columns_find(const struct json_row *row, struct ingest_kscrash_columns *ret);

/* The places of a stack's frames, in turn. */
struct ingest_kscrash_places {
    const json_t *list; /* as for ingest_kscrash_read_stack() */
    size_t n_visited;   /* of an array */
    bool is_left;
    struct json_rows rows;
    struct ingest_kscrash_columns columns;
    json_t *tree; /* owned: of the item that `ret` points into */
};
struct ingest_kscrash_places ingest_kscrash_places_start(const json_t *list);
/* The next one; ret's texts are borrowed until the next call. False at the end. */
bool ingest_kscrash_places_next(struct ingest_kscrash_places *places,
                                struct ingest_kscrash_place *ret);
void ingest_kscrash_places_end(struct ingest_kscrash_places *places);

/* Images that only frames name (object_addr, object_name): found while the frames were taken, and
 * added to the report's when all are. */
void ingest_kscrash_images_of_frames(const struct ingest_kscrash *k);

#endif
