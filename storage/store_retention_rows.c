/* Lists of reports that a sweep may delete. */
#include "storage/store_retention_plan.h"

#include <stdlib.h>

enum fz_code
store_plan_put(struct store_plan_rows *rows, const struct store_plan_row *row, struct fz_error *err)
{
    if (rows->n == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 256;
        struct store_plan_row *more = realloc(rows->rows, room * sizeof(*more));
        if (!more)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        rows->rows = more;
        rows->room = room;
    }
    rows->rows[rows->n++] = *row;
    return FZ_OK;
}

/* Of two with one score, the older one goes first. */
static bool
goes_before(const struct store_plan_row *a, const struct store_plan_row *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->received_ms != b->received_ms ? a->received_ms < b->received_ms : a->key < b->key;
}

static void
swap(struct store_plan_row *a, struct store_plan_row *b)
{
    struct store_plan_row kept = *a;
    *a = *b;
    *b = kept;
}

enum fz_code
store_plan_put_heap(struct store_plan_rows *heap, const struct store_plan_row *row,
                    struct fz_error *err)
{
    if (heap->n < STORE_PLAN_MAX) {
        enum fz_code code = store_plan_put(heap, row, err);
        for (size_t i = heap->n - 1; code == FZ_OK && i > 0; i = (i - 1) / 2) {
            if (!goes_before(&heap->rows[(i - 1) / 2], &heap->rows[i]))
                break;
            swap(&heap->rows[(i - 1) / 2], &heap->rows[i]);
        }
        return code;
    }
    if (!goes_before(row, &heap->rows[0]))
        return FZ_OK;
    heap->rows[0] = *row;
    for (size_t i = 0, child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n && goes_before(&heap->rows[child], &heap->rows[child + 1]))
            child++;
        if (!goes_before(&heap->rows[i], &heap->rows[child]))
            break;
        swap(&heap->rows[i], &heap->rows[child]);
    }
    return FZ_OK;
}

static int
compare_rows(const void *a, const void *b)
{
    return goes_before(a, b) ? -1 : goes_before(b, a);
}

void
store_plan_sort(struct store_plan_rows *rows)
{
    if (rows->n > 1)
        qsort(rows->rows, rows->n, sizeof(*rows->rows), compare_rows);
}
