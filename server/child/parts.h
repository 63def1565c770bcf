/*
 * What the parts of the child share: asking the worker, the requests, the open indexes.
 *
 * Nothing here is trusted by the worker.
 */
#ifndef CHILD_PARTS_H
#define CHILD_PARTS_H

#include "server/process/limits.h"
#include "server/protocol/protocol.h"
#include "server/resolve/resolve.h"
#include "symbolicator/symbolicator.h"

struct child_cache;  /* cache.c */
struct child_slices; /* slices.c */

struct child {
    struct limits limits;
    enum proto_role role;
    struct proto_inbox inbox;
    struct child_cache *cache;
    struct child_slices *slices;
    struct fz_arena *arena; /* of the report that is resolved */
    bool hung_up;           /* the worker has closed its end: nothing more can be sent */
};

/* Send one message to the worker; body NULL: an empty one. Also fails if the body has. */
FZ_MUST_CHECK enum fz_code child_send(struct child *child, enum proto_kind kind,
                                      const struct fz_buffer *body, struct fz_error *err);
/* Ask, and wait for an answer of kind `answer` in child->inbox. */
FZ_MUST_CHECK enum fz_code child_ask(struct child *child, enum proto_kind kind,
                                     const struct fz_buffer *body, enum proto_kind answer,
                                     struct fz_error *err);
/* A new empty file from the worker; *ret_fd is the caller's. */
FZ_MUST_CHECK enum fz_code child_new_file(struct child *child, int *ret_fd, uint32_t *ret_number,
                                          struct fz_error *err);

/* The issue of a resolved report under a project's rules (NULL: it has none); the encoded stack is in
 * `stack`. */
FZ_MUST_CHECK enum fz_code child_issue(struct report *report, const char *rules,
                                       struct fz_arena *arena, struct fz_buffer *stack,
                                       struct proto_issue *ret, struct fz_error *err);

/* The requests, in report.c, group.c, intake.c and symbols.c. */
FZ_MUST_CHECK enum fz_code child_group(struct child *child, struct fz_error *err);
FZ_MUST_CHECK enum fz_code child_symbolicate(struct child *child, struct fz_error *err);
FZ_MUST_CHECK enum fz_code child_intake(struct child *child, struct fz_error *err);
FZ_MUST_CHECK enum fz_code child_read_symbols(struct child *child, struct fz_error *err);

/* Open indexes, by their SHA-256, the least recently used is closed first. */
enum { CHILD_CACHE_ROOM = 32 };
FZ_MUST_CHECK enum fz_code child_cache_create(struct child_cache **ret, struct fz_error *err);
void child_cache_destroy(struct child_cache *cache);
/* Between reports: close what is over the room. Within one, all stay open. */
void child_cache_trim(struct child_cache *cache);
/* A report of a claim: what is known of another claim is forgotten. */
void child_cache_begin(struct child_cache *cache, uint64_t claim);
/*
 * A resolve_find_fn: asks the worker which file is the best now, once for all reports of a claim: a symbol file that comes later is
 * found by the end of their jobs (storage/store_finish.c). Fetches its index only if it is not open here. Borrowed until the next trim;
 * texts are in child->arena.
 */
FZ_MUST_CHECK enum fz_code child_cache_find(void *child, const struct report_image *image,
                                            unsigned rank, struct resolve_found *ret,
                                            struct fz_error *err);
/* A resolve_learned_fn; names are in child->arena. */
FZ_MUST_CHECK enum fz_code child_learned_find(void *child, const struct report_image *image,
                                              const uint32_t *offsets, size_t n,
                                              struct resolve_learned *ret, struct fz_error *err);
/* Open symbol files, the least recently used is closed first. */
enum { CHILD_SLICES_ROOM = 16 };
FZ_MUST_CHECK enum fz_code child_slices_create(struct child_slices **ret, struct fz_error *err);
void child_slices_destroy(struct child_slices *slices);
/* As child_cache_trim(). */
void child_slices_trim(struct child_slices *slices);
/* A resolve_files_fn: asks the worker for the dSYM and the binary. Borrowed until the next trim. */
FZ_MUST_CHECK enum fz_code child_slices_find(void *child, const struct report_image *image,
                                             struct sym_process_files *ret, struct fz_error *err);

/* Hits and misses since the last call. */
void child_cache_counts(struct child_cache *cache, uint64_t *ret_hits, uint64_t *ret_misses);

#endif
