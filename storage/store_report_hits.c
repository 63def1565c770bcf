#include "storage/store_report_hits.h"

#include <stdlib.h>

#include "base/list.h"

enum fz_code
store_hits_put(struct store_hits *hits, struct store_hit hit, struct fz_error *err)
{
    hits->list =
        fz_list_grow_in(hits->arena, hits->list, &hits->room, hits->n + 1, sizeof(*hits->list));
    if (!hits->list)
        return fz_arena_fail(hits->arena, err);
    hits->list[hits->n++] = hit;
    return FZ_OK;
}

static int
compare(const void *a, const void *b)
{
    const struct store_hit *x = a, *y = b;
    int order = (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
    return order ? order : (x->key > y->key) - (x->key < y->key);
}

void
store_hits_sort(struct store_hits *hits)
{
    if (hits->n)
        qsort(hits->list, hits->n, sizeof(*hits->list), compare);
    for (size_t i = 0; !hits->is_rising && i < hits->n / 2; i++) {
        struct store_hit swapped = hits->list[i];
        hits->list[i] = hits->list[hits->n - 1 - i];
        hits->list[hits->n - 1 - i] = swapped;
    }
}

static bool
precedes(const struct store_hits *hits, const struct store_hit *a, const struct store_hit *b)
{
    int order = compare(a, b);
    return hits->is_rising ? order < 0 : order > 0;
}

enum fz_code
store_hits_offer(struct store_hits *hits, struct store_hit hit, struct fz_error *err)
{
    if ((hits->has_after && !precedes(hits, &hits->after, &hit)) ||
        (hits->has_last && !precedes(hits, &hit, &hits->last)))
        return FZ_OK;
    enum fz_code code = store_hits_put(hits, hit, err);
    if (code != FZ_OK || hits->n < 2 * hits->most)
        return code;
    store_hits_settle(hits);
    hits->last = hits->list[hits->n - 1];
    hits->has_last = true;
    return FZ_OK;
}

void
store_hits_settle(struct store_hits *hits)
{
    store_hits_sort(hits);
    hits->n = hits->n < hits->most ? hits->n : hits->most;
}
