#include "base/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/platform.h"

enum { FIRST_ROOM = 64, FIRST_ROOM_IN_ARENA = 8 };

static bool
charge(struct fz_budget *budget, size_t bytes)
{
    if (!budget)
        return true;
    /* Added first and taken back if it was too much: threads share the budget, and a look before
     * the addition would be a race. */
    size_t used = atomic_fetch_add(&budget->used, bytes);
    if (budget->cap && (used > budget->cap || bytes > budget->cap - used)) {
        atomic_fetch_sub(&budget->used, bytes);
        budget->over = true;
        return false;
    }
    return true;
}

static void
refund(struct fz_budget *budget, size_t bytes)
{
    if (budget)
        budget->used -= bytes;
}

void *
fz_list_grow_more(struct fz_budget *budget, void *data, size_t *room, size_t need, size_t elem)
{
    /* A half more, not double: large arrays are moved by mremap, so growing often is cheap. */
    size_t more = *room < FIRST_ROOM ? FIRST_ROOM : *room / 2;
    /* A caller that asks for so much at once knows the final size. */
    bool is_exact = *room + more < need;
    size_t wish = is_exact ? need : *room + more;
    size_t bytes;
    if (__builtin_mul_overflow(wish, elem, &bytes) || !charge(budget, bytes - *room * elem))
        return NULL;
    void *grown = realloc(data, bytes);
    /* The old array is as it was, and still the caller's. */
    if (!grown) {
        refund(budget, bytes - *room * elem);
        return NULL;
    }
    /* It will be written in full: one call for all pages is cheaper than a fault for each. */
    if (is_exact)
        fz_platform_populate((uint8_t *)grown + *room * elem, bytes - *room * elem);
    *room = wish;
    return grown;
}

void *
fz_list_trim(struct fz_budget *budget, void *data, size_t *room, size_t n, size_t elem)
{
    /* realloc() to 0 bytes may free the array and return NULL. */
    size_t kept = n ? n : 1;
    void *trimmed = data && kept < *room ? realloc(data, kept * elem) : NULL;
    if (!trimmed)
        return data;
    refund(budget, (*room - kept) * elem);
    *room = kept;
    return trimmed;
}

void *
fz_list_zeroed(struct fz_budget *budget, size_t n, size_t elem)
{
    size_t bytes;
    /* calloc() may return NULL for 0 bytes, which would look like a failure. */
    if (n == 0)
        n = 1;
    if (__builtin_mul_overflow(n, elem, &bytes) || !charge(budget, bytes))
        return NULL;
    void *data = calloc(n, elem);
    if (!data)
        refund(budget, bytes);
    return data;
}

void
fz_list_free(struct fz_budget *budget, void *data, size_t room, size_t elem)
{
    if (!data)
        return;
    free(data);
    refund(budget, room * elem);
}

enum fz_code
fz_budget_fail(const struct fz_budget *budget, struct fz_error *err)
{
    if (budget && budget->over)
        return fz_fail(err, FZ_E_LIMIT, "needs more than its limit of %zu bytes of memory",
                       budget->cap);
    return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

void *
fz_list_grow_in(struct fz_arena *arena, void *data, size_t *room, size_t need, size_t elem)
{
    if (data && need <= *room)
        return data;
    size_t more = *room ? *room : FIRST_ROOM_IN_ARENA, wish;
    if (__builtin_add_overflow(*room, more, &wish))
        return NULL;
    if (wish < need)
        wish = need;
    void *grown = fz_arena_array(arena, wish, elem);
    if (!grown)
        return NULL;
    if (data)
        memcpy(grown, data, *room * elem);
    *room = wish;
    return grown;
}
