/*
 * Facts counted by issue, batch by batch.
 *
 * A list counts up to millions of facts, so each of them touches 24 bytes of its issue and the end of its list of users, and nothing
 * else. Columns are read some facts at a time, one after the other, so that each loop needs few registers. What the facts add to
 * the trend is found once for each part of it, as they come in the order of time; and only the first and the last one of an issue
 * are looked at for their times, at the end.
 */
#include "storage/store_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/platform.h"
#include "storage/store_fact_cache.h"
#include "storage/store_fact_share.h"

enum { AT_ONCE = 256 /* facts */ };

/* ---- parts of the trend ---- */

/* What was counted since the last call is of the present part. */
static void
end_part(struct store_tally *tally)
{
    for (size_t i = 0; i < tally->n; i++) {
        struct store_tally_sum *sum = &tally->sums[i + 1];
        if (tally->part >= 0)
            tally->issues[i].trend[tally->part] += sum->n - sum->n_before;
        tally->issues[i].n_reports += sum->n - sum->n_before;
        sum->n_before = sum->n;
    }
}

static void
start_part(struct store_tally *tally, int64_t received_ms)
{
    int64_t start = tally->trend.start_ms, step = tally->trend.step_ms;
    if (received_ms >= tally->part_from_ms && received_ms < tally->part_to_ms)
        return;
    int64_t part = received_ms >= start ? (received_ms - start) / step : -1;
    bool is_inside = part >= 0 && part < STORE_TREND;
    end_part(tally);
    tally->part = is_inside ? part : -1;
    tally->part_from_ms = is_inside ? start + part * step : part < 0 ? INT64_MIN : received_ms;
    tally->part_to_ms = is_inside ? start + (part + 1) * step : part < 0 ? start : INT64_MAX;
}

/* ---- times ---- */

static void
see_time(struct store_counted *issue, int64_t received_ms)
{
    if (!issue->last_ms || received_ms < issue->first_ms)
        issue->first_ms = received_ms;
    if (!issue->last_ms || received_ms > issue->last_ms)
        issue->last_ms = received_ms;
}

static int64_t
time_of(const struct store_tally *tally, uint32_t place)
{
    size_t low = 0, high = tally->n_times;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (tally->times[mid].from <= place)
            low = mid;
        else
            high = mid;
    }
    return store_block_get(&tally->times[low].column, place - tally->times[low].from);
}

/* Find the times of the first and last facts, and let go of the columns. */
static void
settle(struct store_tally *tally)
{
    for (size_t i = 0; i < tally->n; i++) {
        struct store_tally_sum *sum = &tally->sums[i + 1];
        if (!sum->first)
            continue;
        see_time(&tally->issues[i], time_of(tally, sum->first));
        see_time(&tally->issues[i], time_of(tally, sum->last));
        sum->first = sum->last = 0;
    }
    for (size_t i = 0; i < tally->n_times; i++)
        store_fact_kept_drop(tally->times[i].kept);
    tally->n_times = 0;
    tally->n_places = 0;
}

/* Hold on to the times of the batch; returns what to add to the places of its facts, 0 without memory. */
static uint32_t
hold_times(struct store_tally *tally, const struct store_fact_batch *batch)
{
    const struct store_block *column = &batch->columns[STORE_FACT_RECEIVED];
    if (UINT32_MAX - tally->n_places <= column->n)
        settle(tally);
    struct store_tally_times *times =
        fz_list_grow(NULL, tally->times, &tally->room_times, tally->n_times + 1, sizeof(*times));
    if (!times)
        return 0;
    uint32_t from = tally->n_places + 1;
    tally->times = times;
    times[tally->n_times++] =
        (struct store_tally_times){from, *column, store_fact_kept_hold(batch->times)};
    tally->n_places += (uint32_t)column->n;
    return from;
}

/* ---- facts ---- */

/* Ranks count from 1; 0, an unknown version, changes neither. */
static void
widen(struct store_tally_sum *sum, uint32_t rank)
{
    if (rank > sum->last_version)
        sum->last_version = rank;
    if (rank - 1 < sum->first_version - 1)
        sum->first_version = rank;
}

/* Few facts of an issue widen the range of its versions, so one branch is foreseen and nothing is written. */
static inline void
count_version(struct store_tally_sum *sum, uint32_t rank)
{
    uint32_t first = sum->first_version;
    if (__builtin_expect(rank - first > sum->last_version - first, 0))
        widen(sum, rank);
}

/* Of a column in memory: some facts of one part of the trend. */
struct some {
    size_t n;
    const uint32_t *at;       /* places in the columns */
    uint32_t issues[AT_ONCE]; /* places in tally.sums, then lists of users */
    uint32_t ranks[AT_ONCE];
    int64_t numbers[AT_ONCE];
    uint32_t kept[AT_ONCE]; /* places, if some have no issue */
};

/* Are all values, which are less than 2^31, above 0? */
static bool
are_known(const uint32_t *values, size_t n)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= values[i] - 1;
    return all >> 31 == 0;
}

/* 0 for what is not in the map. */
static void
look_up(const struct store_map *map, const struct store_block *column, struct some *some,
        uint32_t ret[AT_ONCE])
{
    const struct store_map local = *map;
    const int64_t *numbers = some->numbers;
    uint64_t from = (uint64_t)column->base - (uint64_t)local.least;
    if (local.dense && column->base >= local.least &&
        (uint64_t)column->most - (uint64_t)local.least <= local.span) {
        store_block_translate(column, some->at, some->n, local.dense + from, ret);
        return;
    }
    store_block_read(column, some->at, some->n, some->numbers);
    for (size_t i = 0; i < some->n; i++)
        ret[i] = store_map_get(&local, numbers[i]);
}

/* Keep those that have an issue. */
static void
keep_known(struct some *some)
{
    size_t kept = 0;
    for (size_t i = 0; i < some->n; i++) {
        uint32_t issue = some->issues[i];
        some->kept[kept] = some->at[i];
        some->issues[kept] = issue;
        kept += issue != 0;
    }
    some->at = some->kept;
    some->n = kept;
}

static enum fz_code
count_some(struct store_tally *tally, const struct store_block *columns, uint32_t from,
           struct some *some, struct fz_error *err)
{
    struct store_tally_sum *sums = tally->sums;
    const bool *is_new = tally->is_new;
    const uint32_t group_mask = tally->is_one ? 0 : UINT32_MAX;
    look_up(&tally->by_variant, &columns[STORE_FACT_VARIANT], some, some->issues);
    if (!are_known(some->issues, some->n))
        keep_known(some);
    look_up(&tally->ranks, &columns[STORE_FACT_VERSION], some, some->ranks);
    const size_t n = some->n;
    for (size_t i = 0; i < n; i++) {
        struct store_tally_sum *sum = &sums[some->issues[i]];
        uint32_t place = from + some->at[i], rank = some->ranks[i];
        sum->n++;
        if (__builtin_expect(!sum->first, 0))
            sum->first = place;
        sum->last = place;
        count_version(sum, rank);
        some->issues[i] = store_distinct_list((some->issues[i] - 1) & group_mask, is_new[rank]);
    }
    return store_distinct_add_some(&tally->users, some->issues, &columns[STORE_FACT_USER], some->at,
                                   some->n, err);
}

/* The end of the facts that are of the same part of the trend as this one. */
static size_t
find_end(const struct store_tally *tally, const struct store_fact_batch *batch, size_t from)
{
    const struct store_block *times = &batch->columns[STORE_FACT_RECEIVED];
    size_t low = from + 1, high = batch->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (store_block_get(times, batch->at[mid]) < tally->part_to_ms)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static enum fz_code
count_columns(struct store_tally *tally, const struct store_fact_batch *batch, uint32_t from_place,
              struct fz_error *err)
{
    const struct store_block *columns = batch->columns;
    struct some some;
    store_distinct_expect(&tally->users, columns[STORE_FACT_USER].first_id,
                          columns[STORE_FACT_USER].most);
    for (size_t from = 0, end = 0, n; from < batch->n; from += n) {
        if (from == end) {
            start_part(tally, store_block_get(&columns[STORE_FACT_RECEIVED], batch->at[from]));
            end = find_end(tally, batch, from);
        }
        some.at = batch->at + from;
        some.n = n = end - from < AT_ONCE ? end - from : AT_ONCE;
        enum fz_code code = count_some(tally, columns, from_place, &some, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* Of rows, in any order. */
static enum fz_code
count_rows(struct store_tally *tally, const struct store_fact_batch *batch, struct fz_error *err)
{
    const struct store_block *columns = batch->columns;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < batch->n; i++) {
        size_t fact = batch->at[i];
        uint32_t at =
            store_map_get(&tally->by_variant, store_block_get(&columns[STORE_FACT_VARIANT], fact));
        uint32_t rank =
            store_map_get(&tally->ranks, store_block_get(&columns[STORE_FACT_VERSION], fact));
        int64_t received_ms = store_block_get(&columns[STORE_FACT_RECEIVED], fact);
        if (!at)
            continue;
        start_part(tally, received_ms);
        tally->sums[at].n++;
        see_time(&tally->issues[at - 1], received_ms);
        count_version(&tally->sums[at], rank);
        code = store_distinct_add(
            &tally->users, store_distinct_list(tally->is_one ? 0 : at - 1, tally->is_new[rank]),
            store_block_get(&columns[STORE_FACT_USER], fact), err);
    }
    return code;
}

enum fz_code
store_tally_count(struct store_tally *tally, const struct store_fact_batch *batch,
                  struct fz_error *err)
{
    uint32_t from = batch->times ? hold_times(tally, batch) : 0;
    return from ? count_columns(tally, batch, from, err) : count_rows(tally, batch, err);
}

/* ---- start and end ---- */

enum fz_code
store_tally_count_start(struct store_tally *tally, struct fz_error *err)
{
    tally->sums = fz_arena_array(tally->arena, tally->n + 1, sizeof(*tally->sums));
    if (!tally->sums)
        return fz_arena_fail(tally->arena, err);
    for (size_t i = 0; i < tally->n; i++) {
        struct store_counted *issue = &tally->issues[i];
        *issue = (struct store_counted){.id = issue->id, .number = issue->number};
        tally->sums[i + 1] = (struct store_tally_sum){.first_version = UINT32_MAX};
    }
    tally->part = -1;
    tally->part_from_ms = tally->part_to_ms = 0;
    return FZ_OK;
}

enum fz_code
store_tally_count_like(const struct store_tally *tally, struct store_tally *ret,
                       struct fz_error *err)
{
    *ret = *tally;
    ret->users =
        (struct store_distinct){.n_groups = tally->users.n_groups, .memory = tally->users.memory};
    ret->times = NULL;
    ret->n_times = ret->room_times = ret->n_places = 0;
    /* Half a megabyte of each thousand issues that there are. */
    ret->issues = fz_platform_large((tally->n + 1) * sizeof(*ret->issues));
    ret->sums = calloc(tally->n + 1, sizeof(*ret->sums));
    if (!ret->issues || !ret->sums)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    memcpy(ret->sums, tally->sums, (tally->n + 1) * sizeof(*ret->sums));
    return FZ_OK;
}

enum fz_code
store_tally_count_add(struct store_tally *tally, struct store_tally *other, struct fz_error *err)
{
    tally->users.is_shared = true;
    end_part(other);
    settle(other);
    for (size_t i = 0; i < tally->n; i++) {
        const struct store_tally_sum *sum = &other->sums[i + 1];
        const struct store_counted *more = &other->issues[i];
        struct store_counted *issue = &tally->issues[i];
        if (more->n_reports == 0)
            continue;
        for (int part = 0; part < STORE_TREND; part++)
            issue->trend[part] += more->trend[part];
        see_time(issue, more->first_ms);
        see_time(issue, more->last_ms);
        issue->n_reports += more->n_reports;
        count_version(&tally->sums[i + 1],
                      sum->first_version == UINT32_MAX ? 0 : sum->first_version);
        count_version(&tally->sums[i + 1], sum->last_version);
    }
    return store_distinct_merge(&tally->users, &other->users, err);
}

void
store_tally_count_drop(struct store_tally *other)
{
    for (size_t i = 0; i < other->n_times; i++)
        store_fact_kept_drop(other->times[i].kept);
    free(other->times);
    store_distinct_deinit(&other->users);
    fz_platform_large_drop(other->issues, (other->n + 1) * sizeof(*other->issues));
    free(other->sums);
}

void
store_tally_count_end(struct store_tally *tally)
{
    end_part(tally);
    settle(tally);
    for (size_t i = 0; i < tally->n; i++) {
        const struct store_tally_sum *sum = &tally->sums[i + 1];
        struct store_counted *issue = &tally->issues[i];
        issue->first_version = sum->last_version ? sum->first_version : 0;
        issue->last_version = sum->last_version;
    }
}

enum fz_code
store_tally_users(struct store_tally *tally, const uint32_t *places, size_t n, struct fz_error *err)
{
    const struct store_distinct_wanted wanted = {.groups = places, .n = n};
    uint64_t *users = fz_arena_array(tally->arena, n, sizeof(*users));
    if (!users)
        return fz_arena_fail(tally->arena, err);
    enum fz_code code = store_distinct_count(&tally->users, &wanted, users, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        tally->issues[places[i]].n_users = users[i];
    return code;
}

enum fz_code
store_tally_new_users(struct store_tally *tally, struct fz_error *err)
{
    const struct store_distinct_wanted wanted = {.n = tally->n, .marked_only = true};
    uint64_t *users = fz_arena_array(tally->arena, tally->n, sizeof(*users));
    if (!users)
        return fz_arena_fail(tally->arena, err);
    enum fz_code code = store_distinct_count(&tally->users, &wanted, users, err);
    for (size_t i = 0; code == FZ_OK && i < tally->n; i++)
        tally->issues[i].n_new_users = users[i];
    return code;
}

/* ---- the facts of a query ---- */

static enum fz_code
count_batch(void *own, const struct store_fact_batch *batch, struct fz_error *err)
{
    return store_tally_count(own, batch, err);
}

static enum fz_code
make_other(void *own, void **ret, struct fz_error *err)
{
    struct store_tally *other = calloc(1, sizeof(*other));
    *ret = other;
    return other ? store_tally_count_like(own, other, err)
                 : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
add_other(void *own, void *other, struct fz_error *err)
{
    return store_tally_count_add(own, other, err);
}

static void
drop_other(void *other)
{
    if (other)
        store_tally_count_drop(other);
    free(other);
}

enum fz_code
store_tally_facts(struct store_tally *tally, const struct store_fact_query *facts,
                  struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_USER,
                                                     STORE_FACT_VERSION, STORE_FACT_RECEIVED};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_counter counter = {tally, count_batch, make_other, add_other, drop_other};
    enum fz_code code = store_tally_count_start(tally, err);
    if (code == FZ_OK && !facts->is_empty)
        code = store_facts_count(facts, &want, &counter, err);
    if (code == FZ_OK)
        store_tally_count_end(tally);
    return code;
}
