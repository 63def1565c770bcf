/*
 * Growing arrays under one budget of bytes: the index build takes all its memory here.
 *
 * A hostile file then costs at most the cap. Threads may share a budget, each with its own arrays.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct fz_budget {
    atomic_size_t used; /* bytes */
    size_t cap;         /* 0 = none */
    atomic_bool over;   /* the cap refused something (otherwise it was the system) */
};

/*
 * Room for `need` elements of `elem` bytes in the malloc'd array `data` (NULL at first) that has
 * room for *room: returns the array, moved if it had to grow, new elements not zeroed. NULL when
 * the budget or memory is exhausted: the old array is then still the caller's.
 */
static inline void *fz_list_grow(struct fz_budget *budget, void *data, size_t *room, size_t need,
                                 size_t elem);
void *fz_list_grow_more(struct fz_budget *budget, void *data, size_t *room, size_t need,
                        size_t elem);

/* Give back what the array has room for behind its first `n` elements: returns it, moved maybe. */
void *fz_list_trim(struct fz_budget *budget, void *data, size_t *room, size_t n, size_t elem);

/* `n` zeroed elements, or NULL. */
void *fz_list_zeroed(struct fz_budget *budget, size_t n, size_t elem);

/* free(), and give the bytes back. */
void fz_list_free(struct fz_budget *budget, void *data, size_t room, size_t elem);

/* The error of a NULL above: LIMIT if it was the cap, else NO_MEMORY. */
enum fz_code fz_budget_fail(const struct fz_budget *budget, struct fz_error *err);

static inline void *
fz_list_grow(struct fz_budget *budget, void *data, size_t *room, size_t need, size_t elem)
{
    return data && need <= *room ? data : fz_list_grow_more(budget, data, room, need, elem);
}

#endif
