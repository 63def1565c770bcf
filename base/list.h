/*
 * Lists that grow: an array, the number of its elements and the number it has room for.
 *
 *     struct item *list = fz_list_grow(NULL, x->list, &x->room, x->n + 1, sizeof(*list));
 *     if (!list)
 *         return fz_budget_fail(NULL, err);
 *     x->list = list;
 *     x->list[x->n++] = item;
 *
 * Heap lists may share a budget of bytes, so that a hostile file costs at most its cap. Threads may
 * share a budget too, each with its own lists. fz_buffer is the list of bytes.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct fz_arena;

struct fz_budget {
    atomic_size_t used; /* bytes */
    size_t cap;         /* 0 = none */
    atomic_bool over;   /* an allocation failed because of the cap */
};

/*
 * Room for `need` elements of `elem` bytes in the malloc'd array `data` (NULL at first), which has
 * room for *room. Returns the array, which may have moved; new elements are not zeroed. NULL when
 * the budget or memory is exhausted; the array then remains as it is. `budget` may be NULL.
 */
static inline void *fz_list_grow(struct fz_budget *budget, void *data, size_t *room, size_t need,
                                 size_t elem);
void *fz_list_grow_more(struct fz_budget *budget, void *data, size_t *room, size_t need,
                        size_t elem);

/* Free the room after the first `n` elements. Returns the array, which may have moved. */
void *fz_list_trim(struct fz_budget *budget, void *data, size_t *room, size_t n, size_t elem);

/* An array of `n` zeroed elements, or NULL. */
void *fz_list_zeroed(struct fz_budget *budget, size_t n, size_t elem);

/* free(), and return the bytes to the budget. */
void fz_list_free(struct fz_budget *budget, void *data, size_t room, size_t elem);

/* The error after NULL: LIMIT if the budget's cap was the reason, else NO_MEMORY. */
enum fz_code fz_budget_fail(const struct fz_budget *budget, struct fz_error *err);

/*
 * The same for an array in an arena; new elements are zeroed. NULL: fz_arena_fail() has the error.
 * The room doubles, because an arena does not reuse the old memory of an array that moves.
 */
void *fz_list_grow_in(struct fz_arena *arena, void *data, size_t *room, size_t need, size_t elem);

static inline void *
fz_list_grow(struct fz_budget *budget, void *data, size_t *room, size_t need, size_t elem)
{
    return data && need <= *room ? data : fz_list_grow_more(budget, data, room, need, elem);
}

#endif
