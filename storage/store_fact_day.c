#include "storage/store_fact_day.h"

#include <stdlib.h>

#include "base/list.h"

void
store_fact_day_drop(struct store_fact_day *day)
{
    for (int i = 0; i < STORE_FACT_COLUMNS; i++) {
        store_fact_kept_drop(day->kept[i]);
        day->kept[i] = NULL;
    }
}

void
store_fact_day_deinit(struct store_fact_day *day)
{
    store_fact_day_drop(day);
    free(day->at);
    free(day->tag_starts);
    *day = (struct store_fact_day){.at = NULL};
}

enum fz_code
store_fact_day_room(struct store_fact_day *day, size_t n, struct fz_error *err)
{
    uint32_t *at = fz_list_grow(NULL, day->at, &day->room_at, n, sizeof(*at));
    if (!at)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    day->at = at;
    return FZ_OK;
}

bool
store_fact_day_start(struct store_fact_day *day, const struct store_fact_pick *pick, int64_t number,
                     size_t n)
{
    struct store_block *columns = day->columns;
    day->n = n;
    for (int i = 1; i < STORE_FACT_COLUMNS; i++) {
        if (pick->needs[i] && i != STORE_FACT_TAG_IDS && columns[i].n != n)
            return false;
    }
    columns[STORE_FACT_RECEIVED].base += number * STORE_DAY_MS;
    columns[STORE_FACT_RECEIVED].most += number * STORE_DAY_MS;
    return !pick->needs[STORE_FACT_TAG_IDS] ||
           store_fact_tags_fit(&columns[STORE_FACT_TAG_COUNT], columns[STORE_FACT_TAG_IDS].n);
}

/* The place of the first fact that is not before this one. */
static size_t
find_fact(const struct store_fact_day *day, int64_t time_ms, int64_t key)
{
    size_t low = 0, high = day->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int64_t time = store_block_get(&day->columns[STORE_FACT_RECEIVED], mid);
        bool is_before = time < time_ms;
        if (time == time_ms && key != INT64_MIN)
            is_before = store_block_get(&day->columns[STORE_FACT_REPORT], mid) < key;
        if (is_before)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The facts of the day that are in the range of time and after the cursor: [*ret_from, *ret_to). */
static void
find_range(const struct store_fact_day *day, const struct store_fact_pick *pick, size_t *ret_from,
           size_t *ret_to)
{
    size_t from = 0, to = day->n;
    if (pick->since_ms)
        from = find_fact(day, pick->since_ms, INT64_MIN);
    if (pick->until_ms)
        to = find_fact(day, pick->until_ms, INT64_MIN);
    if (pick->has_after && pick->is_falling) {
        size_t end = find_fact(day, pick->after_ms, pick->after_key);
        to = end < to ? end : to;
    } else if (pick->has_after) {
        size_t start = find_fact(day, pick->after_ms, pick->after_key + 1);
        from = start > from ? start : from;
    }
    *ret_from = from;
    *ret_to = to > from ? to : from;
}

static enum fz_code
find_tags(struct store_fact_day *day, struct fz_error *err)
{
    uint32_t *starts =
        fz_list_grow(NULL, day->tag_starts, &day->room_tags, day->n + 1, sizeof(*starts));
    if (!starts)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    day->tag_starts = starts;
    store_fact_tag_starts(&day->columns[STORE_FACT_TAG_COUNT], starts);
    return FZ_OK;
}

enum fz_code
store_fact_day_pick(struct store_fact_day *day, const struct store_fact_pick *pick, size_t *ret_n,
                    size_t *ret_others, struct fz_error *err)
{
    size_t from, to, n = 0;
    enum fz_code code = store_fact_day_room(day, day->n + 1, err);
    if (code == FZ_OK && pick->needs[STORE_FACT_TAG_IDS])
        code = find_tags(day, err);
    if (code != FZ_OK)
        return code;
    uint32_t *at = day->at;
    find_range(day, pick, &from, &to);
    for (; from + n < to; n++)
        at[n] = (uint32_t)(from + n);
    if (pick->counted_only)
        n = store_fact_filter_flagged(&day->columns[STORE_FACT_COUNTED], at, n);
    if (pick->kept_only)
        n = store_fact_filter_flagged(&day->columns[STORE_FACT_REPORT], at, n);
    *ret_others = n;
    n = store_fact_filter_apply(&pick->filter, day->columns, day->tag_starts, at, n);
    *ret_others -= n;
    for (size_t i = 0; pick->is_falling && i < n / 2; i++) {
        uint32_t first = at[i];
        at[i] = at[n - 1 - i];
        at[n - 1 - i] = first;
    }
    *ret_n = n;
    return FZ_OK;
}
