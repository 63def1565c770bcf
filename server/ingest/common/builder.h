/*
 * Lenient readers of JSON for the formats: each takes one member into the report, or notes why it
 * could not.
 *
 * Absent and null are the same and are no reason for a note. Only memory can fail: `failed` then
 * stays set, all further readers do nothing, and the parse ends with fz_arena_fail().
 */
#ifndef INGEST_COMMON_BUILDER_H
#define INGEST_COMMON_BUILDER_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "server/process/limits.h"
#include "server/report/report.h"

enum { INGEST_WHERE = 64 }; /* room for "threads[511].frames[1023]" */

struct ingest_builder {
    struct report *report;
    struct fz_arena *arena;
    const struct limits *limits;
    size_t memory_left; /* of limits->memory_bytes */
    bool failed;
};

struct ingest_builder ingest_builder_make(struct report *report, struct fz_arena *arena,
                                          const struct limits *limits);

/* `where` names the object in notes: "threads[0]"; "" for the report itself. A text: strings and
 * numbers; NULL if there is none or it is empty. */
const char *ingest_json_text(struct ingest_builder *b, const json_t *object, const char *where,
                             const char *key);
/* An address, size or register (json_scan_u64()); false if there is none. */
bool ingest_json_u64(struct ingest_builder *b, const json_t *object, const char *where,
                     const char *key, uint64_t *ret);
/* A small signed number, as integer or text. */
bool ingest_json_i64(struct ingest_builder *b, const json_t *object, const char *where,
                     const char *key, int64_t *ret);
/* true, false, or the fallback. */
bool ingest_json_bool(struct ingest_builder *b, const json_t *object, const char *where,
                      const char *key, bool fallback);
/* A time: RFC 3339 text, or Unix time in seconds or milliseconds; 0 if there is none. */
int64_t ingest_json_time(struct ingest_builder *b, const json_t *object, const char *where,
                         const char *key);
/* A member of that kind (JSON_OBJECT, JSON_ARRAY), borrowed; NULL if there is none. */
const json_t *ingest_json_member(struct ingest_builder *b, const json_t *object, const char *where,
                                 const char *key, json_type type);
/* {"address", "bytes" in base64}; false if it is none. Bytes above the limit are cut. */
bool ingest_json_memory(struct ingest_builder *b, const json_t *object, const char *where,
                        struct report_memory *ret);

/*
 * Scan and load a JSON body; mended places and the like are noted. The caller owns *ret
 * (json_decref). `text` (may be NULL) takes the mended text, for those who keep parts verbatim.
 */
FZ_MUST_CHECK enum fz_code ingest_json_load(struct ingest_builder *b, struct fz_span body,
                                            struct fz_buffer *text, json_t **ret,
                                            struct fz_error *err);
/* For FZ_CLEANUP. */
void ingest_take_decref(json_t **value);

/* A member (or with key NULL the value itself) as JSON on one line, for report->user_json and its
 * like; NULL if there is none, or it is empty ({}, [], ""). */
const char *ingest_json_dump(struct ingest_builder *b, const json_t *object, const char *key);
/* What a format has no place for, into report->extra_json: the members of `object` that are not in
 * `known` (NULL-terminated; NULL: all), under `key`, or at the top with key NULL. May be called
 * several times; later members join the earlier ones. */
void ingest_add_extra(struct ingest_builder *b, const char *key, const json_t *object,
                      const char *const *known);

/* A client's name for a frame, see report_add_client_symbol(); "<redacted>" and "???" are none. */
void ingest_add_client_symbol(struct ingest_builder *b, struct report_frame *frame,
                              const struct report_symbol *symbol);

/* Which thread crashed is said in two places (crash.thread, thread.crashed); one is made to follow
 * from the other. */
void ingest_mark_crashed(struct report *report);

/* How many of `n` are kept under the limit, with a note if not all. */
size_t ingest_limit(struct ingest_builder *b, const char *where, size_t n, size_t max);

/* A zeroed array in the arena; NULL sets `failed`. */
void *ingest_alloc(struct ingest_builder *b, size_t n, size_t size);

#endif
