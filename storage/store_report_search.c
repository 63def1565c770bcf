#include "storage/store_report_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "storage/store_fact_scan.h"
#include "storage/store_report_hits.h"

enum { LIST_MAX = 1000, BATCH = 5000, AT_ONCE = 256 /* facts */, UNKNOWN_FROM = 2000 };

/* Of cursors of lists by the time of the crash: a cursor of the other kind would skip reports silently. */
static const char CRASHED_MARK = 't';

struct search {
    struct store *store;
    int64_t project_id;
    const struct store_query *query;
    bool by_crash;
    struct fz_arena *arena;
    struct store_hits hits;
};

/* Append the cursor's condition, the order and the limit. */
static void
append_order(struct store_sql *q, const struct search *search, const char *time, const char *key,
             size_t limit)
{
    char sign = search->hits.is_rising ? '>' : '<';
    const char *way = search->hits.is_rising ? "ASC" : "DESC";
    if (search->hits.has_after)
        fz_buffer_printf(&q->text,
                         " AND %s %c= %" PRId64 " AND (%s, %s) %c (%" PRId64 ", %" PRId64 ")", time,
                         sign, search->hits.after.time_ms, time, key, sign,
                         search->hits.after.time_ms, search->hits.after.key);
    fz_buffer_printf(&q->text, " ORDER BY %s %s, %s %s LIMIT %zu", time, way, key, way, limit);
}

/* ---- reports with facts ---- */

/* In the order of the times of the crashes. Facts are in another order, so all are looked at. */
static enum fz_code
scan_crashes(struct search *search, const struct store_fact_query *facts, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_CRASHED, STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns, .n_columns = FZ_ARRAY_LEN(columns)};
    struct store_hits *hits = &search->hits;
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    int64_t times[AT_ONCE];
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t from = 0, n; code == FZ_OK && from < batch.n; from += n) {
            n = batch.n - from < AT_ONCE ? batch.n - from : AT_ONCE;
            store_block_read(&batch.columns[STORE_FACT_CRASHED], batch.at + from, n, times);
            for (size_t i = 0; code == FZ_OK && i < n; i++) {
                if (store_hits_are_far(hits, times[i]))
                    continue;
                const struct store_hit hit = {
                    times[i],
                    store_block_get(&batch.columns[STORE_FACT_REPORT], batch.at[from + i])};
                code = store_hits_offer(hits, hit, err);
            }
        }
    }
    store_fact_scan_close(scan);
    if (code == FZ_OK) /* without memory there may be no hits any more */
        store_hits_settle(hits);
    return code;
}

static enum fz_code
scan_facts(struct search *search, const struct store_fact_query *facts, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_RECEIVED, STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns,
                                         .n_columns = FZ_ARRAY_LEN(columns),
                                         .order = search->hits.is_rising ? STORE_FACTS_OLDEST_FIRST
                                                                         : STORE_FACTS_NEWEST_FIRST,
                                         .limit = search->hits.most,
                                         .has_after = search->hits.has_after,
                                         .after_ms = search->hits.after.time_ms,
                                         .after_key = search->hits.after.key};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    while (search->hits.n < search->hits.most && store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n && search->hits.n < search->hits.most;
             i++) {
            const struct store_hit hit = {
                store_block_get(&batch.columns[STORE_FACT_RECEIVED], batch.at[i]),
                store_block_get(&batch.columns[STORE_FACT_REPORT], batch.at[i])};
            code = store_hits_put(&search->hits, hit, err);
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
    while (search->hits.n < search->hits.most && sql_row(&rows, &code, err)) {
        ++*ret_n;
        search->hits.after = (struct store_hit){sql_col_int(&rows, 0), sql_col_int(&rows, 1)};
        if (versions_hold(search, &rows))
            code = store_hits_put(&search->hits, search->hits.after, err);
    }
    search->hits.has_after |= *ret_n > 0;
    store_sql_deinit(&q);
    return code;
}

static enum fz_code
find_rows(struct search *search, bool all, struct fz_error *err)
{
    struct store_hit after = search->hits.after;
    bool has_after = search->hits.has_after;
    size_t n, before = search->hits.n, most = search->hits.most;
    bool has_versions = compares_versions(search->query);
    enum fz_code code;
    search->hits.most = before + most;
    do {
        size_t left = search->hits.most - search->hits.n;
        size_t limit = has_versions || left > BATCH ? BATCH : left;
        n = 0;
        code = find_rows_batch(search, all, limit, &n, err);
        if (n < limit)
            break;
    } while (code == FZ_OK && search->hits.n < search->hits.most);
    search->hits.most = most;
    search->hits.after = after;
    search->hits.has_after = has_after;
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

void
store_set_unknown_from(struct store *store, int64_t reports)
{
    store->unknown_from = reports;
}

/*
 * Reports that do not say when the app crashed are one place of the index, in which they are in no order: many of them take longer to
 * sort than all facts to look at. Does the page begin among so many?
 */
static enum fz_code
is_among_unknown(const struct search *search, bool *ret, struct fz_error *err)
{
    const struct store_hits *hits = &search->hits;
    bool begins = hits->has_after ? hits->after.time_ms == 0 : hits->is_rising;
    int64_t n = 0, most = search->store->unknown_from ? search->store->unknown_from : UNKNOWN_FROM;
    const struct sql_value args[] = {sql_int(search->project_id), sql_int(most)};
    enum fz_code code = FZ_OK;
    if (search->by_crash && begins)
        code = sql_number(search->store->sql,
                          "SELECT count(*) FROM (SELECT 1 FROM reports WHERE project_id = $1 AND "
                          "transient = 0 AND timestamp_ms = 0 LIMIT $2) AS found",
                          args, FZ_ARRAY_LEN(args), &n, NULL, err);
    *ret = n == most;
    return code;
}

static enum fz_code
find(struct search *search, struct fz_error *err)
{
    bool by_facts = is_about_facts(search->query) || is_by_crash_of_days(search);
    enum fz_code code = by_facts ? FZ_OK : is_among_unknown(search, &by_facts, err);
    if (code != FZ_OK)
        return code;
    if (!by_facts)
        return find_rows(search, true, err);
    code = find_facts(search, err);
    if (code == FZ_OK && !needs_issue(search->query))
        code = find_rows(search, false, err);
    if (code == FZ_OK)
        store_hits_sort(&search->hits);
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
        code = store_ids_put(&keys, search->hits.list[i].key, search->arena, err);
    struct store_sql q;
    store_sql_init(&q, store, search->arena);
    fz_buffer_printf(&q.text, "SELECT %s FROM reports WHERE key", store->select_report);
    store_sql_in(&q, &keys);
    const char *way = search->hits.is_rising ? "ASC" : "DESC";
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
        .arena = arena,
        .hits = {.arena = arena,
                 .is_rising = order == STORE_OLDEST_FIRST || order == STORE_CRASHED_FIRST_FIRST,
                 .has_after = page->cursor != NULL,
                 /* One more shows that there is another page. */
                 .most = page->limit + 1}};
    struct store_hits *hits = &s.hits;
    char mark = s.by_crash ? CRASHED_MARK : 0;
    enum fz_code code = FZ_OK;
    if (page->cursor)
        code = store_cursor_read_key(page->cursor, mark, arena, &hits->after.time_ms,
                                     &hits->after.key, err);
    if (code == FZ_OK)
        code = find(&s, err);
    if (code != FZ_OK)
        return code;
    size_t n = hits->n < page->limit ? hits->n : page->limit;
    const struct store_hit *last = hits->n > n ? &hits->list[n - 1] : NULL;
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
    const struct store_fact_want want = {
        .columns = columns, .n_columns = 1, .limit = search->hits.most};
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
    while (*ret < search->hits.most && store_fact_scan_next(scan, &batch, &code, err))
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
                            .arena = arena,
                            .hits = {.arena = arena, .most = (size_t)most}};
    uint64_t n = 0;
    bool all = !is_about_facts(query);
    enum fz_code code = all ? FZ_OK : count_facts(&search, &n, err);
    if (code == FZ_OK && (all || !needs_issue(query)))
        code = find_rows(&search, all, err);
    n += search.hits.n;
    if (code == FZ_OK)
        *ret = n < most ? n : most;
    return code;
}
