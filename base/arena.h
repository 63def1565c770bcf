/*
 * An arena: memory for one report or one job, with a cap in bytes, freed all at once.
 *
 * Parsers allocate only here, so a hostile input costs at most the cap. Not thread-safe; one owner.
 * Memory is zeroed, unless it says otherwise, and aligned to 16 bytes.
 */
#ifndef FZ_ARENA_H
#define FZ_ARENA_H

#include "base/error.h"
#include "base/span.h"

struct fz_arena_block;

struct fz_arena {
    struct fz_arena_block *blocks;
    size_t used;        /* bytes allocated from the system so far */
    size_t cap;         /* at most this many */
    bool over_cap;      /* an allocation failed because of the cap */
    int64_t fail_after; /* tests: the number of allocations that still succeed; -1 = no limit */
};

/* An empty arena, for a local variable:
 *     FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
 */
static inline struct fz_arena
fz_arena_make(size_t cap)
{
    return (struct fz_arena){.cap = cap, .fail_after = -1};
}

/* The same for a member of a structure. */
void fz_arena_init(struct fz_arena *arena, size_t cap);
void fz_arena_deinit(struct fz_arena *arena); /* NULL and a deinited arena are fine */

/* `size` zeroed bytes, or NULL when the cap or memory is exhausted (report it as FZ_E_LIMIT or
 * FZ_E_NO_MEMORY with fz_arena_fail()). size 0 gives a valid pointer. */
void *fz_arena_alloc(struct fz_arena *arena, size_t size);
/* The same for bytes that the caller fills at once: many are not zeroed. */
void *fz_arena_bytes(struct fz_arena *arena, size_t size);

/* An array of `n` elements of `size` bytes; the product is checked. */
void *fz_arena_array(struct fz_arena *arena, size_t n, size_t size);

/* A NUL-terminated copy of the bytes. NULL when memory is exhausted. */
char *fz_arena_text(struct fz_arena *arena, struct fz_span bytes);
char *fz_arena_strdup(struct fz_arena *arena, const char *text);
char *fz_arena_printf(struct fz_arena *arena, const char *fmt, ...) FZ_PRINTF(2, 3);

/* The error of an allocation that returned NULL: FZ_E_LIMIT if the cap was hit, else
 * FZ_E_NO_MEMORY. */
enum fz_code fz_arena_fail(const struct fz_arena *arena, struct fz_error *err);

#endif
