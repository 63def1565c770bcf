#include "storage/store_tally.h"

#include <inttypes.h>
#include <stdlib.h>

#include "storage/store_fact_cache.h"
#include "storage/store_fact_scan.h"
#include "storage/store_versions.h"

static const int64_t HOUR_MS = 3600000, DAY_MS = 86400000;
enum { DENSE_MIN = 1 << 16, SPREAD = 4 /* ids in a range for each that is wanted */ };

/* ---- maps ---- */

void
store_map_deinit(struct store_map *map)
{
    free(map->slots);
    free(map->dense);
    *map = (struct store_map){.slots = NULL};
}

static size_t
slot_of(const struct store_map *map, int64_t key)
{
    /* Fibonacci hashing: ids are consecutive, their products are not. */
    size_t at = (size_t)(((uint64_t)key * 0x9e3779b97f4a7c15) >> 20) & (map->room - 1);
    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & (map->room - 1);
    return at;
}

static bool
grow(struct store_map *map)
{
    struct store_map larger = {.room = map->room ? map->room * 2 : 1024, .n = map->n};
    larger.slots = calloc(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].key)
            larger.slots[slot_of(&larger, map->slots[i].key)] = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

uint32_t *
store_map_put(struct store_map *map, int64_t key)
{
    if (map->n * 2 >= map->room && !grow(map))
        return NULL;
    size_t at = slot_of(map, key);
    map->n += map->slots[at].key == 0;
    map->slots[at].key = key;
    return &map->slots[at].value;
}

void
store_map_pack(struct store_map *map)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < map->room; i++) {
        int64_t key = map->slots[i].key;
        least = key && key < least ? key : least;
        most = key && key > most ? key : most;
    }
    /* From 0 on, which many columns have for what is not known, if that is not far. */
    if (least > 0 && most < DENSE_MIN)
        least = 0;
    uint64_t span = (uint64_t)most - (uint64_t)least;
    if (map->n == 0 || span > DENSE_MIN + 16 * (uint64_t)map->n)
        return;
    map->dense = calloc(span + 1, sizeof(*map->dense));
    /* Without memory for it, it is slower. */
    for (size_t i = 0; map->dense && i < map->room; i++) {
        if (map->slots[i].key)
            map->dense[(uint64_t)map->slots[i].key - (uint64_t)least] = map->slots[i].value;
    }
    map->least = least;
    map->span = span;
}

uint32_t
store_map_find(const struct store_map *map, int64_t key)
{
    if (!map->room || !key)
        return 0;
    const struct store_map_slot *slot = &map->slots[slot_of(map, key)];
    return slot->key ? slot->value : 0;
}

static enum fz_code
put(struct store_map *map, int64_t key, uint32_t value, struct fz_error *err)
{
    uint32_t *at = store_map_put(map, key);
    if (!at)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *at = value;
    return FZ_OK;
}

/* ---- start ---- */

void
store_tally_deinit(struct store_tally *tally)
{
    if (!tally)
        return;
    store_map_deinit(&tally->by_id);
    store_map_deinit(&tally->by_variant);
    store_distinct_deinit(&tally->users);
    store_map_deinit(&tally->ranks);
    for (size_t i = 0; i < tally->n_times; i++)
        store_fact_kept_drop(tally->times[i].kept);
    free(tally->times);
}

/* The range of the query, or four weeks; from a full hour on if it is a day or longer, as issue_hours counts. */
static struct store_trend
trend_of(const struct store_query *query)
{
    int64_t end = query->until_ms ? query->until_ms : query->now_ms + 1;
    /* Up to the next full hour, so that the parts of four weeks are days. */
    int64_t start = query->since_ms
                        ? query->since_ms
                        : end + (HOUR_MS - end % HOUR_MS) % HOUR_MS - STORE_TREND * DAY_MS;
    if (start < 0 || start >= end)
        start = end > 1 ? end - 1 : 0;
    int64_t unit = end - start >= STORE_TREND * HOUR_MS ? HOUR_MS : 1;
    start -= start % unit;
    int64_t step = (end - start + STORE_TREND - 1) / STORE_TREND;
    step = (step + unit - 1) / unit * unit;
    return (struct store_trend){.start_ms = start, .step_ms = step ? step : 1};
}

/* All versions in their order, and which of them are the newest two. */
static enum fz_code
read_versions(struct store_tally *tally, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(tally->project_id)};
    struct store_newest_versions newest = {.n = 0};
    struct store_ids ids = {0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(tally->store->sql,
                                  "SELECT id FROM terms WHERE project_id = $1 AND field = 1 AND "
                                  "sort IS NOT NULL ORDER BY sort, id",
                                  args, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        code = store_ids_put(&ids, sql_col_int(&rows, 0), tally->arena, err);
        if (code == FZ_OK)
            code = put(&tally->ranks, ids.list[ids.n - 1], (uint32_t)ids.n, err);
    }
    sql_rows_close(&rows);
    tally->versions = ids.list;
    if (code == FZ_OK)
        code = store_versions_newest(tally->store, tally->project_id, tally->arena, &newest, err);
    tally->is_new = fz_arena_array(tally->arena, ids.n + 1, sizeof(*tally->is_new));
    if (code == FZ_OK && !tally->is_new)
        code = fz_arena_fail(tally->arena, err);
    for (size_t i = 0; code == FZ_OK && i < newest.n; i++) {
        tally->is_new[store_map_get(&tally->ranks, newest.ids[i])] = true;
        code = store_ids_put(&tally->newest, newest.ids[i], tally->arena, err);
    }
    if (code == FZ_OK)
        tally->is_new[0] = false;
    store_ids_sort(&tally->newest);
    store_map_pack(&tally->ranks);
    return code;
}

enum fz_code
store_tally_start(struct store *store, int64_t project_id, const struct store_query *query,
                  struct fz_arena *arena, struct store_tally *ret, struct fz_error *err)
{
    *ret = (struct store_tally){.store = store,
                                .project_id = project_id,
                                .arena = arena,
                                .trend = trend_of(query),
                                .users.memory = store->fact_cache};
    return read_versions(ret, err);
}

/* ---- issues ---- */

static enum fz_code
read_issues(struct store_tally *tally, const struct store_query *query, bool is_all_time,
            struct fz_error *err)
{
    /* Facts that are counted replace the last four. */
    static const char *const all_time[] = {"i.id",       "i.number",  "i.n_reports", "i.n_users",
                                           "i.first_ms", "i.last_ms", NULL};
    static const char *const counted[] = {"i.id", "i.number", NULL};
    struct store_sql q;
    struct sql_list list = {.arena = tally->arena, .item = sizeof(*tally->issues)};
    store_sql_init(&q, tally->store, tally->arena);
    store_sql_add(&q, "FROM issues i WHERE i.project_id = ? AND i.merged_into IS NULL",
                  sql_int(tally->project_id));
    for (size_t i = 0; i < query->n; i++) {
        if (store_field_row(query->conditions[i].field)->is_of_issue)
            store_issue_condition(&q, &query->conditions[i], query->now_ms);
    }
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_ints_open(tally->store->sql, is_all_time ? all_time : counted,
                             fz_buffer_cstr(&q.text), q.args, q.n_args, &ints, err);
    for (int64_t row[6] = {0}; sql_ints_next(&ints, row, &code, err);) {
        struct store_counted *issue = sql_list_put(&list, &code, err);
        if (!issue)
            break;
        *issue = (struct store_counted){.id = row[0],
                                        .number = row[1],
                                        .n_reports = (uint64_t)row[2],
                                        .n_users = (uint64_t)row[3],
                                        .first_ms = row[4],
                                        .last_ms = row[5]};
        code = put(&tally->by_id, row[0], (uint32_t)list.n, err);
    }
    sql_ints_close(&ints);
    store_sql_deinit(&q);
    return sql_list_done(&list, code, &tally->issues, &tally->n);
}

static enum fz_code
read_variants(struct store_tally *tally, struct fz_error *err)
{
    static const char *const columns[] = {"v.id", "v.issue_id", NULL};
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < tally->n; i++) {
        int64_t id = tally->issues[i].id;
        first = id < first ? id : first;
        last = id > last ? id : last;
    }
    if (tally->n == 0)
        return FZ_OK;
    /* Of ids that are near each other few are others', and a range of one index is read in a third of the time. */
    bool is_range = last - first < (int64_t)(SPREAD * tally->n);
    const struct sql_value of_range[] = {sql_int(first), sql_int(last)};
    const struct sql_value of_project[] = {sql_int(tally->project_id)};
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = sql_ints_open(
        tally->store->sql, columns,
        is_range ? "FROM variants v WHERE v.issue_id >= $1 AND v.issue_id <= $2"
                 : "FROM issues i JOIN variants v ON v.issue_id = i.id WHERE i.project_id = $1",
        is_range ? of_range : of_project, is_range ? 2 : 1, &ints, err);
    for (int64_t row[2]; sql_ints_next(&ints, row, &code, err);) {
        uint32_t at = store_map_get(&tally->by_id, row[1]);
        if (at)
            code = put(&tally->by_variant, row[0], at, err);
    }
    sql_ints_close(&ints);
    store_map_pack(&tally->by_variant);
    return code;
}

enum fz_code
store_tally_issues(struct store_tally *tally, const struct store_query *query, bool is_all_time,
                   struct fz_error *err)
{
    enum fz_code code = read_issues(tally, query, is_all_time, err);
    tally->users.n_groups = (uint32_t)tally->n;
    return code == FZ_OK ? read_variants(tally, err) : code;
}

enum fz_code
store_tally_one(struct store_tally *tally, const struct store_issue *issue,
                const struct store_ids *variants, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    tally->issues = fz_arena_array(tally->arena, variants->n, sizeof(*tally->issues));
    if (!tally->issues)
        return fz_arena_fail(tally->arena, err);
    tally->n = variants->n;
    tally->users.n_groups = 1;
    tally->is_one = true;
    for (size_t i = 0; code == FZ_OK && i < variants->n; i++) {
        tally->issues[i] = (struct store_counted){.id = variants->list[i], .number = issue->number};
        code = put(&tally->by_variant, variants->list[i], (uint32_t)i + 1, err);
    }
    store_map_pack(&tally->by_variant);
    return code;
}

void
store_tally_sum_up(const struct store_tally *tally, struct store_counted *ret)
{
    *ret = (struct store_counted){.n_reports = 0};
    for (size_t i = 0; i < tally->n; i++) {
        const struct store_counted *one = &tally->issues[i];
        for (int part = 0; part < STORE_TREND; part++)
            ret->trend[part] += one->trend[part];
        ret->number = one->number;
        ret->n_users += one->n_users;
        if (one->n_reports == 0)
            continue;
        if (ret->n_reports == 0 || one->first_ms < ret->first_ms)
            ret->first_ms = one->first_ms;
        if (one->last_ms > ret->last_ms)
            ret->last_ms = one->last_ms;
        if (one->first_version && (!ret->first_version || one->first_version < ret->first_version))
            ret->first_version = one->first_version;
        if (one->last_version > ret->last_version)
            ret->last_version = one->last_version;
        ret->n_reports += one->n_reports;
    }
}

/* ---- texts ---- */

static enum fz_code
put_rank(struct store_tally *tally, uint32_t rank, struct fz_error *err)
{
    return rank ? store_ids_put(&tally->shown, tally->versions[rank - 1], tally->arena, err)
                : FZ_OK;
}

enum fz_code
store_tally_versions_start(struct store_tally *tally, const struct store_ids *numbers,
                           struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    tally->shown.n = 0;
    for (size_t i = 0; code == FZ_OK && i < tally->n; i++) {
        const struct store_counted *counted = &tally->issues[i];
        if (!store_ids_have(numbers, counted->number))
            continue;
        code = put_rank(tally, counted->first_version, err);
        if (code == FZ_OK)
            code = put_rank(tally, counted->last_version, err);
    }
    store_ids_sort(&tally->shown);
    return code == FZ_OK ? store_term_texts(tally->store, &tally->shown, tally->arena,
                                            &tally->shown_texts, err)
                         : code;
}

static void
show_version(const struct store_tally *tally, uint32_t rank, const char **ret_version,
             const char **ret_build)
{
    *ret_version = *ret_build = NULL;
    size_t at = rank ? store_ids_find(&tally->shown, tally->versions[rank - 1]) : tally->shown.n;
    if (at == tally->shown.n)
        return;
    const struct store_term_text *text = &tally->shown_texts[at];
    *ret_version = *text->text ? text->text : NULL;
    *ret_build = *text->detail ? text->detail : NULL;
}

void
store_tally_versions(const struct store_tally *tally, const struct store_counted *counted,
                     struct store_issue *issue)
{
    show_version(tally, counted->first_version, &issue->first_version, &issue->first_build);
    show_version(tally, counted->last_version, &issue->last_version, &issue->last_build);
}
