#include "storage/store_report_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "storage/store_fact_scan.h"

enum { LIST_MAX = 1000, BATCH = 5000 };

/* Of cursors of lists by the time of the crash: a cursor of the other kind would skip reports silently. */
static const char CRASHED_MARK = 't';

/* A report's place in the list. */
struct hit {
    int64_t time_ms, key;
};

struct search {
    struct store *store;
    int64_t project_id;
    const struct store_query *query;
    bool by_crash, is_rising;
    struct hit after; /* the list goes on after this one */
    bool has_after;
    size_t most;
    struct fz_arena *arena;
    struct hit *hits;
    size_t n, room;
};

/* Append the cursor's condition, the order and the limit. */
static void
append_order(struct store_sql *q, const struct search *search, const char *time, const char *key,
             size_t limit)
{
    char sign = search->is_rising ? '>' : '<';
    const char *way = search->is_rising ? "ASC" : "DESC";
    if (search->has_after)
        fz_buffer_printf(
            &q->text, " AND %s %c= %" PRId64 " AND (%s, %s) %c (%" PRId64 ", %" PRId64 ")", time,
            sign, search->after.time_ms, time, key, sign, search->after.time_ms, search->after.key);
    fz_buffer_printf(&q->text, " ORDER BY %s %s, %s %s LIMIT %zu", time, way, key, way, limit);
}

static enum fz_code
put_hit(struct search *search, struct hit hit, struct fz_error *err)
{
    search->hits = fz_list_grow_in(search->arena, search->hits, &search->room, search->n + 1,
                                   sizeof(*search->hits));
    if (!search->hits)
        return fz_arena_fail(search->arena, err);
    search->hits[search->n++] = hit;
    return FZ_OK;
}

static int
compare_hits(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    int order = (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
    return order ? order : (x->key > y->key) - (x->key < y->key);
}

static void
sort_hits(struct search *search)
{
    if (search->n)
        qsort(search->hits, search->n, sizeof(*search->hits), compare_hits);
    for (size_t i = 0; !search->is_rising && i < search->n / 2; i++) {
        struct hit swapped = search->hits[i];
        search->hits[i] = search->hits[search->n - 1 - i];
        search->hits[search->n - 1 - i] = swapped;
    }
}

/* ---- reports with facts ---- */

static bool
precedes(const struct search *search, const struct hit *a, const struct hit *b)
{
    int order = compare_hits(a, b);
    return search->is_rising ? order < 0 : order > 0;
}

/*
 * In the order of the times of the crashes. Facts are in another order, so all are looked at: the first ones of those that were
 * seen so far are kept, and at times as many others.
 */
static enum fz_code
scan_crashes(struct search *search, const struct store_fact_query *facts, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_CRASHED, STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns, .n_columns = FZ_ARRAY_LEN(columns)};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct hit last; /* as many are before it as are needed */
    bool has_last = false;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n; i++) {
            const struct hit hit = {
                store_block_get(&batch.columns[STORE_FACT_CRASHED], batch.at[i]),
                store_block_get(&batch.columns[STORE_FACT_REPORT], batch.at[i])};
            if ((search->has_after && !precedes(search, &search->after, &hit)) ||
                (has_last && !precedes(search, &hit, &last)))
                continue;
            code = put_hit(search, hit, err);
            if (search->n < 2 * search->most)
                continue;
            sort_hits(search);
            search->n = search->most;
            last = search->hits[search->n - 1];
            has_last = true;
        }
    }
    store_fact_scan_close(scan);
    if (code != FZ_OK) /* without memory there may be no hits any more */
        return code;
    sort_hits(search);
    search->n = search->n < search->most ? search->n : search->most;
    return FZ_OK;
}

static enum fz_code
scan_facts(struct search *search, const struct store_fact_query *facts, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_RECEIVED, STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns,
                                         .n_columns = FZ_ARRAY_LEN(columns),
                                         .order = search->is_rising ? STORE_FACTS_OLDEST_FIRST
                                                                    : STORE_FACTS_NEWEST_FIRST,
                                         .limit = search->most,
                                         .has_after = search->has_after,
                                         .after_ms = search->after.time_ms,
                                         .after_key = search->after.key};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    while (search->n < search->most && store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n && search->n < search->most; i++) {
            const struct hit hit = {
                store_block_get(&batch.columns[STORE_FACT_RECEIVED], batch.at[i]),
                store_block_get(&batch.columns[STORE_FACT_REPORT], batch.at[i])};
            code = put_hit(search, hit, err);
        }
    }
    store_fact_scan_close(scan);
    return code;
}

static enum fz_code
find_facts(struct search *search, struct fz_error *err)
{
    struct store_fact_query facts;
    enum fz_code code = store_fact_query_make(search->store, search->project_id, search->query,
                                              true, search->arena, &facts, err);
    if (code == FZ_OK && !facts.is_empty)
        code = store_fact_query_plan(&facts, err);
    if (code != FZ_OK || facts.is_empty)
        return code;
    return search->by_crash ? scan_crashes(search, &facts, err) : scan_facts(search, &facts, err);
}

/* ---- reports by their rows ---- */

static bool
is_of_versions(const struct store_condition *condition)
{
    return store_op_is_comparison(condition->op) &&
           store_field_row(condition->field)->type != STORE_FIELD_TYPE_TIME;
}

static bool
compares_versions(const struct store_query *query)
{
    bool any = false;
    for (size_t i = 0; i < query->n; i++)
        any |= is_of_versions(&query->conditions[i]);
    return any;
}

/* Versions of rows have no key in the database that orders them. */
static bool
versions_hold(const struct search *search, struct sql_rows *rows)
{
    char texts[3][STORE_TEXT_SHORT + 1];
    for (int i = 0; i < 3; i++)
        sql_col_copy(rows, 2 + i, texts[i], sizeof(texts[i]));
    for (size_t i = 0; i < search->query->n; i++) {
        const struct store_condition *condition = &search->query->conditions[i];
        enum store_field field = condition->field;
        if (!is_of_versions(condition))
            continue;
        const char *text = field == STORE_FIELD_VERSION ? texts[0]
                           : field == STORE_FIELD_BUILD ? texts[1]
                                                        : texts[2];
        if (store_version_holds(condition, text) == condition->is_negated)
            return false;
    }
    return true;
}

/* Conditions about an issue, or one of its variants, hold for no report without one. */
static bool
needs_issue(const struct store_query *query)
{
    for (size_t i = 0; i < query->n; i++) {
        const struct store_condition *condition = &query->conditions[i];
        bool is_of_issue = store_field_row(condition->field)->is_of_issue ||
                           condition->field == STORE_FIELD_VARIANT;
        if (is_of_issue && !condition->is_negated)
            return true;
    }
    return false;
}

static void
append_rows(struct store_sql *q, const struct search *search, bool all)
{
    const struct store_query *query = search->query;
    const char *time = search->by_crash ? "timestamp_ms" : "received_ms";
    fz_buffer_printf(&q->text,
                     "SELECT %s, key, app_version, app_build, os_version FROM reports "
                     "WHERE project_id = ",
                     time);
    store_sql_arg(q, sql_int(search->project_id));
    fz_buffer_printf(&q->text, " AND transient = 0%s", all ? "" : " AND is_grouped = 0");
    if (query->since_ms)
        fz_buffer_printf(&q->text, " AND received_ms >= %" PRId64, query->since_ms);
    if (query->until_ms)
        fz_buffer_printf(&q->text, " AND received_ms < %" PRId64, query->until_ms);
    for (size_t i = 0; i < query->n; i++) {
        const struct store_condition *condition = &query->conditions[i];
        const struct store_field_row *row = store_field_row(condition->field);
        /* What is left of these are the opposites, which hold. */
        if (!is_of_versions(condition) && !row->is_of_issue &&
            condition->field != STORE_FIELD_VARIANT)
            store_report_condition(q, condition, "");
    }
}

/* One batch; *ret_n rows were looked at. */
static enum fz_code
find_rows_batch(struct search *search, bool all, size_t limit, size_t *ret_n, struct fz_error *err)
{
    struct store_sql q;
    store_sql_init(&q, search->store, search->arena);
    append_rows(&q, search, all);
    append_order(&q, search, search->by_crash ? "timestamp_ms" : "received_ms", "key", limit);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query_once(search->store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows,
                              err);
    *ret_n = 0;
    while (search->n < search->most && sql_row(&rows, &code, err)) {
        ++*ret_n;
        search->after = (struct hit){sql_col_int(&rows, 0), sql_col_int(&rows, 1)};
        if (versions_hold(search, &rows))
            code = put_hit(search, search->after, err);
    }
    search->has_after |= *ret_n > 0;
    store_sql_deinit(&q);
    return code;
}

static enum fz_code
find_rows(struct search *search, bool all, struct fz_error *err)
{
    struct hit after = search->after;
    bool has_after = search->has_after;
    size_t n, before = search->n, most = search->most;
    bool has_versions = compares_versions(search->query);
    enum fz_code code;
    search->most = before + most;
    do {
        size_t left = search->most - search->n;
        size_t limit = has_versions || left > BATCH ? BATCH : left;
        n = 0;
        code = find_rows_batch(search, all, limit, &n, err);
        if (n < limit)
            break;
    } while (code == FZ_OK && search->n < search->most);
    search->most = most;
    search->after = after;
    search->has_after = has_after;
    return code;
}

/* ---- both ---- */

/* Those that an index of rows serves as well are left to it. */
static bool
is_about_facts(const struct store_query *query)
{
    for (size_t i = 0; i < query->n; i++) {
        enum store_field field = query->conditions[i].field;
        bool is_image = field == STORE_FIELD_IMAGE || field == STORE_FIELD_UUID;
        bool may_be_known = field == STORE_FIELD_RUN || field == STORE_FIELD_CRASHED;
        if (is_image || (may_be_known && query->conditions[i].op == STORE_OP_PRESENT))
            return true;
        if (field != STORE_FIELD_STATUS && field != STORE_FIELD_RECEIVED &&
            store_field_is_fact(field))
            return true;
    }
    return false;
}

/* In the order of the crashes, the rows of some days are anywhere in the index. */
static bool
is_by_crash_of_days(const struct search *search)
{
    const struct store_query *query = search->query;
    bool has_range = query->since_ms || query->until_ms;
    for (size_t i = 0; i < query->n; i++)
        has_range |= query->conditions[i].field == STORE_FIELD_RECEIVED;
    return search->by_crash && has_range;
}

static enum fz_code
find(struct search *search, struct fz_error *err)
{
    enum fz_code code;
    if (!is_about_facts(search->query) && !is_by_crash_of_days(search))
        return find_rows(search, true, err);
    code = find_facts(search, err);
    if (code == FZ_OK && !needs_issue(search->query))
        code = find_rows(search, false, err);
    if (code == FZ_OK)
        sort_hits(search);
    return code;
}

/* The rows of the first `n` hits. */
static enum fz_code
read_reports(struct search *search, size_t n, struct store_report **ret, size_t *ret_n,
             struct fz_error *err)
{
    const struct store *store = search->store;
    struct sql_list list = {.arena = search->arena, .item = sizeof(struct store_report)};
    struct store_ids keys = {0};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = store_ids_put(&keys, search->hits[i].key, search->arena, err);
    struct store_sql q;
    store_sql_init(&q, store, search->arena);
    fz_buffer_printf(&q.text, "SELECT %s FROM reports WHERE key", store->select_report);
    store_sql_in(&q, &keys);
    const char *way = search->is_rising ? "ASC" : "DESC";
    fz_buffer_printf(&q.text, " ORDER BY %s %s, key %s",
                     search->by_crash ? "timestamp_ms" : "received_ms", way, way);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (code == FZ_OK)
        code = store_sql_done(&q, err);
    if (code == FZ_OK && n)
        code = sql_query_once(store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    for (struct store_report *one; n && (one = sql_list_next(&rows, &list, &code, err));)
        code = store_report_read(store, &rows, search->arena, one, err);
    store_sql_deinit(&q);
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_report_search(struct store *store, int64_t project_id,
                    const struct store_report_search *search, struct store_page *page,
                    struct fz_arena *arena, struct store_report **ret, struct fz_error *err)
{
    if (page->limit == 0 || page->limit > LIST_MAX)
        page->limit = LIST_MAX;
    enum store_report_order order = search->order;
    struct search s = {
        .store = store,
        .project_id = project_id,
        .query = search->query,
        .by_crash = order == STORE_CRASHED_LAST_FIRST || order == STORE_CRASHED_FIRST_FIRST,
        .is_rising = order == STORE_OLDEST_FIRST || order == STORE_CRASHED_FIRST_FIRST,
        /* One more shows that there is another page. */
        .most = page->limit + 1,
        .arena = arena};
    char mark = s.by_crash ? CRASHED_MARK : 0;
    enum fz_code code = FZ_OK;
    s.has_after = page->cursor != NULL;
    if (page->cursor)
        code =
            store_cursor_read_key(page->cursor, mark, arena, &s.after.time_ms, &s.after.key, err);
    if (code == FZ_OK)
        code = find(&s, err);
    if (code != FZ_OK)
        return code;
    size_t n = s.n < page->limit ? s.n : page->limit;
    const struct hit *last = s.n > n ? &s.hits[n - 1] : NULL;
    const char *next = last ? store_cursor_of_key(arena, mark, last->time_ms, last->key) : NULL;
    if (last && !next)
        return fz_arena_fail(arena, err);
    code = read_reports(&s, n, ret, &page->n, err);
    if (code == FZ_OK)
        page->next = next;
    return code;
}

/* ---- how many ---- */

static enum fz_code
count_facts(struct search *search, uint64_t *ret, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns, .n_columns = 1, .limit = search->most};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct store_fact_query facts;
    enum fz_code code = store_fact_query_make(search->store, search->project_id, search->query,
                                              true, search->arena, &facts, err);
    if (code == FZ_OK && !facts.is_empty)
        code = store_fact_query_plan(&facts, err);
    if (code != FZ_OK || facts.is_empty)
        return code;
    code = store_fact_scan_open(&facts, &want, &scan, err);
    while (*ret < search->most && store_fact_scan_next(scan, &batch, &code, err))
        *ret += batch.n;
    store_fact_scan_close(scan);
    return code;
}

enum fz_code
store_report_search_count(struct store *store, int64_t project_id, const struct store_query *query,
                          uint64_t most, struct fz_arena *arena, uint64_t *ret,
                          struct fz_error *err)
{
    struct search search = {.store = store,
                            .project_id = project_id,
                            .query = query,
                            .most = (size_t)most,
                            .arena = arena};
    uint64_t n = 0;
    bool all = !is_about_facts(query);
    enum fz_code code = all ? FZ_OK : count_facts(&search, &n, err);
    if (code == FZ_OK && (all || !needs_issue(query)))
        code = find_rows(&search, all, err);
    n += search.n;
    if (code == FZ_OK)
        *ret = n < most ? n : most;
    return code;
}
