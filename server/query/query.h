/*
 * The query language that lists, filters of alerts and the page share: texts to struct store_query and back.
 *
 *     version:4.2 os:>=18 is:regressed -device:iPad* "unrecognized selector"
 *
 * docs/query.md describes the language, storage/store_query.h what the conditions mean. Everything here is pure: no clock, no
 * database. Texts may be hostile: at most STORE_QUERY_TEXT bytes are read, in linear time, and what is wrong is said with the
 * byte where it is. All memory is the arena's.
 */
#ifndef QUERY_H
#define QUERY_H

#include "base/arena.h"
#include "base/buffer.h"
#include "storage/store_query.h"

/* The arena for one query needs at most so many bytes. */
enum { QUERY_ARENA = 256 * 1024 };

/*
 * Read a query. `now_ms` is what ages ("seen:<7d") are counted from; a text that is kept is read again each time.
 *
 * MALFORMED, with err->offset: the text.
 */
FZ_MUST_CHECK enum fz_code query_parse(struct fz_span text, int64_t now_ms, struct fz_arena *arena,
                                       struct store_query *ret, struct fz_error *err);

/* The query in its canonical form, which query_parse() reads as the same query. Times are absolute. */
void query_print(const struct store_query *query, struct fz_buffer *out);
/* A value as it is written after a key: in quotes if it needs them. */
void query_print_value(const char *text, struct fz_buffer *out);

/* "2026-11-01", RFC 3339, Unix seconds or milliseconds, or so long before now_ms: "30m", "24h", "7d", "2w". False: it is not one of
 * these. *ret is 1 or more; *ret_is_age (NULL is allowed) says that it was the last. */
bool query_time_parse(struct fz_span text, int64_t now_ms, int64_t *ret, bool *ret_is_age);

/* ---- parameters of the report list ---- */

struct query_parameter {
    const char *name, *value;
};

/* Is ?name= a condition of the report list ("version", "q", "crashed_since")? */
bool query_is_parameter(const char *name);
/*
 * Add the conditions of URL parameters ("version=4.2,4.3&q=index") to a query: each name is a condition, its values are
 * alternatives; each tag is a condition of its own. Parameters that are not conditions, and empty ones, are skipped.
 * query->now_ms is what ages are counted from.
 *
 * MALFORMED: a value; the query is then as before.
 */
FZ_MUST_CHECK enum fz_code query_add_parameters(struct store_query *query,
                                                const struct query_parameter *list, size_t n,
                                                struct fz_arena *arena, struct fz_error *err);

/* ---- completion ---- */

enum query_completes {
    QUERY_COMPLETES_NOTHING,
    QUERY_COMPLETES_KEYS,    /* items: "version:", "has:" */
    QUERY_COMPLETES_CHOICES, /* items: what the key has, or examples of times */
    QUERY_COMPLETES_VALUES, /* no items: what storage has for `field` (and `tag`) that begins with `prefix` */
    QUERY_COMPLETES_TAGS /* no items: names of tags that begin with `prefix` */
};

struct query_item {
    const char *text; /* takes the place of the bytes from `start` to the cursor */
    const char *help; /* may be NULL */
};

struct query_completion {
    enum query_completes what;
    size_t start; /* byte of the text */
    enum store_field field;
    const char *tag;    /* its name; NULL for other fields */
    const char *prefix; /* what was typed, without quotes */
    const struct query_item *items;
    size_t n_items;
};

/* What may come at the cursor (a byte of the text). Never fails on what is typed: then it completes nothing. */
FZ_MUST_CHECK enum fz_code query_complete(struct fz_span text, size_t cursor,
                                          struct fz_arena *arena, struct query_completion *ret,
                                          struct fz_error *err);

/* ---- evaluation in memory ---- */

/* A text that a report or its issue has for a field. A field may have several (images, tags, states of the issue). The name and
 * the version of the system are two facts, of STORE_FIELD_OS and STORE_FIELD_OS_VERSION. STORE_FIELD_TEXT has no facts of its own.
 */
struct query_fact {
    enum store_field field;
    const char *name; /* of a tag */
    const char *
        text; /* NULL: unknown, or a number; at most its first STORE_QUERY_TEXT bytes are looked at */
    int64_t number; /* numbers, and times in ms; 0 = unknown */
};
struct query_record {
    const struct query_fact *facts;
    size_t n;
};

/* Does the query hold for the record, by the rules of storage/store_query.h? */
bool query_matches(const struct store_query *query, const struct query_record *record);

#endif
