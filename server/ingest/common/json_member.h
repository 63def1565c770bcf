/*
 * Lenient readers of JSON for the formats: each takes one member into the report, or notes why it
 * could not.
 *
 * Absent and null are the same and are no reason for a note. `where` names the object in notes:
 * "threads[0]"; "" for the report itself.
 */
#ifndef INGEST_COMMON_JSON_MEMBER_H
#define INGEST_COMMON_JSON_MEMBER_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/json/walk.h"
#include "server/ingest/common/builder.h"

/*
 * Scan and load a JSON body; what the scanner had to rewrite is noted. The caller owns *ret
 * (json_decref). `text` (may be NULL) takes the rewritten text, for those who keep parts verbatim.
 */
FZ_MUST_CHECK enum fz_code ingest_json_load(struct ingest_builder *b, struct fz_span body,
                                            struct fz_buffer *text, json_t **ret,
                                            struct fz_error *err);

/* A part of a body as JSON, owned; NULL if it is something else. */
json_t *ingest_json_value(struct ingest_builder *b, struct fz_span text);

/* ---- before the tree is built --------------------------------------------------------------- */

/* Where the text begins, after a byte order mark and white space; its length if it is blank. */
size_t ingest_json_start(struct fz_span text);
/* The first byte from `at` on that is not white space. */
size_t ingest_json_skip_space(struct fz_span text, size_t at);
bool ingest_json_begins(struct fz_span value, char bracket);
/* The value of the object's last member of that name; empty if it has no such member. */
struct fz_span ingest_json_find(struct fz_span object, const char *key);
/* The number of items of an array. */
size_t ingest_json_count(struct fz_span array);
/* Append a member and a comma: "key":value, */
void ingest_json_append(struct fz_buffer *out, const struct json_member *member);
/* A report's own id: 32 hex digits if the value is a string that holds a UUID, else ret is left. */
void ingest_json_id(struct fz_span value, char ret[FZ_UUID_TEXT]);

/* ---- one member ----------------------------------------------------------------------------- */

/* A text: strings and numbers; NULL if it is absent or empty. */
const char *ingest_json_text(struct ingest_builder *b, const json_t *object, const char *where,
                             const char *key);
/* The first of the keys (NULL-terminated) that has a text. */
const char *ingest_json_first_text(struct ingest_builder *b, const json_t *object,
                                   const char *where, const char *const *keys);
/* An address, size or register (json_scan_u64()); false if it is absent or something else. */
bool ingest_json_u64(struct ingest_builder *b, const json_t *object, const char *where,
                     const char *key, uint64_t *ret);
/* A line, column or count; 0 if it is absent or does not fit. */
uint32_t ingest_json_u32(struct ingest_builder *b, const json_t *object, const char *where,
                         const char *key);
/* A small signed number, as integer or text. */
bool ingest_json_i64(struct ingest_builder *b, const json_t *object, const char *where,
                     const char *key, int64_t *ret);
/* "1.2.3" of KSCrash's major_version, minor_version and revision_version; NULL for 0.0.0. */
const char *ingest_json_dylib_version(struct ingest_builder *b, const json_t *object,
                                      const char *where);
/* The architecture of Mach-O's two numbers; NULL if `type` is absent or not known. */
const char *ingest_json_cpu(struct ingest_builder *b, const json_t *object, const char *where,
                            const char *type, const char *subtype);
/* true, false, or the fallback. */
bool ingest_json_bool(struct ingest_builder *b, const json_t *object, const char *where,
                      const char *key, bool fallback);
/* A time: RFC 3339 text, or Unix time in seconds or milliseconds; 0 if it is absent or something else. */
int64_t ingest_json_time(struct ingest_builder *b, const json_t *object, const char *where,
                         const char *key);
/* A member of that kind (JSON_OBJECT, JSON_ARRAY), borrowed; NULL if it is absent. */
const json_t *ingest_json_member(struct ingest_builder *b, const json_t *object, const char *where,
                                 const char *key, json_type type);
/* {"address", "bytes" in base64, "why", "truncated"}; false if it is something else. Bytes above the limit are cut. */
bool ingest_json_memory(struct ingest_builder *b, const json_t *object, const char *where,
                        struct report_memory *ret);

/* {"namespace", "code", "text" or "description"}, why the kernel ended the process, into
 * crash.termination; nothing without a code. `object` may be NULL. */
void ingest_json_exit_reason(struct ingest_builder *b, const json_t *object, const char *where);

/* ---- lists ---------------------------------------------------------------------------------- */

/*
 * The items of a list under a limit, one after the other:
 *
 *     struct ingest_json_list list = ingest_json_list_start(b, images, "images", limit);
 *     while (ingest_json_list_next(&list))
 *         read_image(b, list.item, list.where);
 */
struct ingest_json_list {
    struct ingest_builder *b;
    const json_t *list;
    const char *name;
    size_t n, n_cut; /* items that are visited, and those that the limit cuts (noted) */
    size_t must;     /* a place that the limit must not cut: it is visited last instead */
    bool backwards;  /* from the last item to the first */
    size_t n_visited;
    const json_t *item;       /* borrowed */
    size_t number;            /* its place in the list */
    char where[INGEST_WHERE]; /* "images[3]" */
};

/* `list` may be NULL. Set `must` and `backwards` before the first step. */
struct ingest_json_list ingest_json_list_start(struct ingest_builder *b, const json_t *list,
                                               const char *name, size_t limit);
/* The next item; false at the end and when memory is out. */
bool ingest_json_list_next(struct ingest_json_list *list);
/* The same for lists of objects: other items are left out with a note. */
bool ingest_json_list_next_object(struct ingest_json_list *list);

/* One frame from an item of a list; false, with a note, if the item is something else. *ret is
 * empty, in no image. */
typedef bool (*ingest_json_frame_fn)(void *user, const json_t *item, const char *where,
                                     struct report_frame *ret);
/* The frames of a list, newest first unless `oldest_first`. */
struct ingest_stack ingest_json_stack(struct ingest_builder *b, const json_t *list,
                                      const char *where, bool oldest_first,
                                      ingest_json_frame_fn read_frame, void *user);
/* The registers of an object, {"x0":"0x1",...}, of the thread at `where`. */
void ingest_json_registers(struct ingest_builder *b, const json_t *object, const char *where,
                           struct report_thread *thread);

/* A thread's index: the first of the keys (NULL-terminated) that holds a number, else its place. */
int64_t ingest_json_thread_index(const json_t *thread, const char *const *keys, size_t place);
/* The place of the thread that crashed, so that a limit does not cut it off: the one of index
 * `wanted` (-1: not known), else the first one whose `flag` is true, else 0. */
size_t ingest_json_crashed(const json_t *threads, const char *const *keys, const char *flag,
                           int64_t wanted);

/* ---- what is kept as it came ---------------------------------------------------------------- */

/* A member (or with key NULL the value itself) as JSON on one line, for report->user_json and its
 * like; NULL if it is absent or empty ({}, [], ""). */
const char *ingest_json_dump(struct ingest_builder *b, const json_t *object, const char *key);
/* What a format has no place for, into report->extra_json: the members of `object` that are not in
 * `known` (NULL-terminated; NULL: all), under `key`, or at the top with key NULL. May be called
 * several times; later members join the earlier ones. */
void ingest_add_extra(struct ingest_builder *b, const char *key, const json_t *object,
                      const char *const *known);
/* The same members put under `key` of another object, if there are any. Returns them, borrowed. */
json_t *ingest_json_rest(struct ingest_builder *b, const json_t *object, const char *const *known,
                         json_t *target, const char *key);
/* Put `value` (taken) under `key` of an object that is kept. */
void ingest_json_set(struct ingest_builder *b, json_t *object, const char *key, json_t *value);
void ingest_json_set_base64(struct ingest_builder *b, json_t *object, const char *key,
                            struct fz_span bytes);
/* The object under `key` of an object, borrowed, made if it is missing; NULL when memory is out. */
json_t *ingest_json_object(struct ingest_builder *b, json_t *object, const char *key);

#endif
