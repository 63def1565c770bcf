/*
 * Lists of reports and issues against a plain evaluation, with facts as rows and as columns.
 */
#include "issue_case.h"
#include "list_case.h"
#include "seal_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_fact_cache.h"
#include "storage/store_fact_query.h"
#include "storage/store_fact_share.h"
#include "storage/store_issue_list.h"
#include "storage/store_issue_state.h"

enum { QUERIES = 400 };

/* ---- facts as rows ---- */

static void
test_random(void **state)
{
    struct contract *c = *state;
    list_case_seed(20261123);
    list_case_check(c, list_case_make(c), QUERIES);
}

/* ---- days as columns ---- */

/* Seal all days that are over and have so many facts; how many of them there are then. */
static int64_t
seal(struct contract *c, uint64_t least)
{
    struct store_seal_rules rules = seal_case_days;
    rules.least = least;
    return seal_case(c, &rules);
}

static void
check_sealed(struct contract *c, int queries)
{
    list_case_seed(3);
    struct list_case *all = list_case_make(c);
    /* Days of many reports only, then all. */
    int64_t n_large = seal(c, 6), n;
    assert_true(n_large > 3);
    list_case_check(c, all, queries / 4);
    contract_sql(c, "UPDATE fact_days SET state = 0", "UPDATE fact_days SET state = 0");
    n = seal(c, 1);
    assert_true(n > n_large + 3);
    list_case_check(c, all, queries / 2);
    /* Deleted reports are in no list, and what they counted stays. */
    for (int i = 0; i < LIST_CASE_REPORTS; i += 9) {
        if (!all[i].is_deleted)
            list_case_delete(c, &all[i]);
    }
    assert_in_range(contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 1"), 1, n - 1);
    list_case_check(c, all, queries / 4);
    assert_int_equal(seal(c, 1), n);
    list_case_check(c, all, queries / 4);
    contract_sql(c, "DELETE FROM fact_columns", "DELETE FROM fact_columns");
    list_case_check(c, all, queries / 8);
}

static void
test_sealed(void **state)
{
    check_sealed(*state, QUERIES);
}

/* The same from memory, with room for all columns and for a few of them. */
static void
test_kept(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(1 << 20, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    check_sealed(c, QUERIES / 4);
    assert_in_range(store_fact_cache_bytes(cache), 20000, 1 << 20);
    store_set_fact_cache(c->store, NULL);
}

/* Counted by two threads. */
static void
test_shared(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(1 << 20, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    store_set_share_from(c->store, 1);
    store_set_all_from(c->store, 1);
    store_set_unknown_from(c->store, 1);
    check_sealed(c, QUERIES / 4);
    store_set_fact_cache(c->store, NULL);
}

/* A scan that could not be opened, as when the time of a request is over, has no facts. */
static void
test_not_opened(void **state FZ_UNUSED)
{
    struct store_fact_batch batch = {.n = 1};
    enum fz_code code = FZ_E_UNAVAILABLE;
    assert_false(store_fact_scan_next(NULL, &batch, &code, NULL));
    assert_int_equal(code, FZ_E_UNAVAILABLE);
}

static void
test_kept_partly(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(6000, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    check_sealed(c, QUERIES / 4);
    assert_in_range(store_fact_cache_bytes(cache), 1, 6000);
    store_set_fact_cache(c->store, NULL);
}

/* Columns that cannot be read are not used, and made again. */
static void
check_damaged(struct contract *c)
{
    list_case_seed(5);
    struct list_case *all = list_case_make(c);
    int64_t n = seal(c, 1);
    contract_sql(c,
                 "UPDATE fact_columns SET body = CASE day % 5 WHEN 0 THEN x'' WHEN 1 THEN "
                 "substr(body, 1, 12) WHEN 2 THEN CAST(body || x'00' AS BLOB) ELSE CAST(x'02' || "
                 "substr(body, 2) AS BLOB) END WHERE day % 2 = 0",
                 "UPDATE fact_columns SET body = CASE day % 5 WHEN 0 THEN ''::bytea WHEN 1 THEN "
                 "substr(body, 1, 12) WHEN 2 THEN body || '\\x00'::bytea ELSE '\\x02'::bytea || "
                 "substr(body, 2) END WHERE day % 2 = 0");
    /* Each column is one, but there are not so many tags as the other one says. */
    static const char *const counts =
        "UPDATE fact_columns SET body = (SELECT o.body FROM fact_columns o WHERE o.project_id = "
        "fact_columns.project_id AND o.day = fact_columns.day AND o.field = 16) WHERE field = 18 "
        "AND day % 2 = 1";
    contract_sql(c, counts, counts);
    list_case_check(c, all, QUERIES / 4);
    assert_true(contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 4") > 0);
    assert_int_equal(seal(c, 1), n);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 4"), 0);
    list_case_check(c, all, QUERIES / 8);
}

static void
test_damaged(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(1 << 20, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    store_set_share_from(c->store, 1);
    check_damaged(c);
    store_set_fact_cache(c->store, NULL);
}

/* Columns of reports' rows that a version before left out, or left as they were when it sealed the day; and texts beyond the limit. */
static void
test_texts(void **state)
{
    struct contract *c = *state;
    static const char *const changes[] = {
        "DELETE FROM fact_columns WHERE field >= 20 AND day % 2 = 0",
        "DELETE FROM fact_columns WHERE field >= 25 AND day % 3 = 0",
        ("UPDATE fact_columns SET body = (SELECT o.body FROM fact_columns o WHERE o.project_id = "
         "fact_columns.project_id AND o.day = fact_columns.day AND o.field = 24) WHERE field > 19"),
        "UPDATE fact_days SET sealing = sealing / 2 + 1 WHERE day % 2 = 1"};
    list_case_seed(11);
    struct list_case *all = list_case_make(c);
    int64_t n = seal(c, 1);
    for (size_t i = 0; i < FZ_ARRAY_LEN(changes); i++)
        contract_sql(c, changes[i], changes[i]);
    list_case_check(c, all, QUERIES / 4);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 1"), n);
    assert_int_equal(seal(c, 1), n);
    assert_int_equal(
        contract_count(c,
                       "SELECT count(*) FROM fact_columns c JOIN fact_days d ON d.day = c.day AND "
                       "d.sealing = c.sealing WHERE c.field >= 20"),
        8 * n);
    list_case_check(c, all, QUERIES / 4);
    contract_sql(
        c, "UPDATE terms SET text = '(other)' WHERE text IN ('shop@4.10', 'KERN_INVALID_ADDRESS')",
        "UPDATE terms SET text = '(other)' WHERE text IN ('shop@4.10', 'KERN_INVALID_ADDRESS')");
    list_case_check(c, all, QUERIES / 4);
}

/* A list of any order for which the memory ends anywhere fails, and does nothing else. */
static void
test_no_memory(void **state)
{
    struct contract *c = *state;
    struct store_query query;
    size_t n_failed = 0;
    list_case_seed(13);
    list_case_make(c);
    seal(c, 6);
    assert_ok(c, query_parse(fz_span_cstr("since:60d"), list_case_now, &c->arena, &query, &c->err));
    for (size_t size = 512; size < 64 * 1024; size += 512) {
        for (int order = STORE_NEWEST_FIRST; order <= STORE_CRASHED_FIRST_FIRST; order++) {
            const struct store_report_search search = {.query = &query,
                                                       .order = (enum store_report_order)order};
            FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(size);
            struct store_page page = {.limit = 60};
            struct store_report *reports;
            enum fz_code code = store_report_search(c->store, c->project, &search, &page, &arena,
                                                    &reports, &c->err);
            assert_true(code == FZ_OK || code == FZ_E_LIMIT || code == FZ_E_NO_MEMORY);
            n_failed += code != FZ_OK;
        }
    }
    assert_true(n_failed > 0);
}

/* ---- order ---- */

/* Issues are in the order of their users with one of the newest versions; an invented one does not count. */
static void
test_newest_versions(void **state)
{
    struct contract *c = *state;
    static const struct contract_group reports[] = {
        {.stack = "a", .key = "a", .variant = "v", .version = "1.1", .user = "ann"},
        {.stack = "a", .key = "a", .variant = "v", .version = "1.1", .user = "bert"},
        {.stack = "b", .key = "b", .variant = "v", .version = "999.9.9", .user = "cy"},
        {.stack = "b", .key = "b", .variant = "v", .version = "999.9.9", .user = "dee"},
        {.stack = "b", .key = "b", .variant = "v", .version = "999.9.9", .user = "eve"},
        {.stack = "b", .key = "b", .variant = "v", .version = "0.9", .user = "flo"},
        {.stack = "c", .key = "c", .variant = "v", .version = "1.0", .user = "ann"},
    };
    static const char *const queries[] = {"", "since:2020-01-01"};
    static const int64_t want[] = {1, 3, 2};
    for (size_t i = 0; i < FZ_ARRAY_LEN(reports); i++)
        contract_group_add(c, &reports[i]);
    for (size_t i = 0; i < FZ_ARRAY_LEN(queries); i++) {
        struct store_query query;
        struct store_issue_page issues;
        const struct store_issue_search search = {.query = &query};
        struct store_page page = {.limit = 10};
        assert_ok(c,
                  query_parse(fz_span_cstr(queries[i]), list_case_now, &c->arena, &query, &c->err));
        assert_ok(
            c, store_issue_list(c->store, c->project, &search, &page, &c->arena, &issues, &c->err));
        assert_int_equal(issues.n, 3);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(issues.issues[k].issue.number, want[k]);
    }
}

/* Versions that issues began in and are resolved in, with their builds or without. */
static void
test_introduced_and_fixed(void **state)
{
    struct contract *c = *state;
    static const struct contract_group reports[] = {
        {.stack = "a", .key = "a", .variant = "v", .version = "1.1", .user = "ann"},
        {.stack = "a", .key = "a", .variant = "v", .version = "1.0", .user = "ann"},
        {.stack = "b", .key = "b", .variant = "v", .version = "1.1", .user = "ann"},
    };
    static const struct {
        const char *query;
        int64_t issue; /* 0 = none */
    } cases[] = {{"introduced:1.0", 1},
                 {"introduced:1.1", 2},
                 {"-introduced:1.0", 2},
                 {"introduced:1.2", 0},
                 {"fixed:2.0", 1},
                 {"fixed:\"2.0 (7)\"", 1},
                 {"fixed:\"2.0 (8)\"", 0},
                 {"fixed:2*", 1},
                 {"-has:fixed", 2},
                 {"has:fixed is:resolved", 1},
                 {"introduced:1.1 fixed:2.0", 0}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(reports); i++)
        contract_group_add(c, &reports[i]);
    const struct store_fix fix = {"2.0", "7", false};
    const struct store_issue_change what = {.actor = "test",
                                            .set_state = true,
                                            .state = STORE_ISSUE_RESOLVED,
                                            .fixes = &fix,
                                            .n_fixes = 1};
    assert_ok(c, store_issue_change(c->store, c->project, 1, &what, &c->err));
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct store_query query;
        struct store_issue_page issues;
        const struct store_issue_search search = {.query = &query};
        struct store_page page = {.limit = 10};
        assert_ok(c, query_parse(fz_span_cstr(cases[i].query), list_case_now, &c->arena, &query,
                                 &c->err));
        assert_ok(
            c, store_issue_list(c->store, c->project, &search, &page, &c->arena, &issues, &c->err));
        if (issues.n != (cases[i].issue ? 1 : 0) ||
            (issues.n && issues.issues[0].issue.number != cases[i].issue))
            fail_msg("%s: %zu issues", cases[i].query, (size_t)issues.n);
    }
}

/* ---- plans ---- */

/* Each query reads facts by an index: that of a condition, or the time. */
static void
test_plans(void **state)
{
    struct contract *c = *state;
    /* Sequential scans are switched off on PostgreSQL, so one is in a plan only where no index helps. */
    static const char *const scans[] = {"SCAN f", "SCAN r", "Seq Scan on facts",
                                        "Seq Scan on reports"};
    list_case_seed(7);
    list_case_make(c);
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    for (size_t i = 0; i < list_case_n_words; i++) {
        struct store_query query;
        struct store_fact_query facts;
        struct store_sql q;
        enum fz_code code = FZ_OK;
        assert_ok(c, query_parse(fz_span_cstr(list_case_words[i]), list_case_now, &c->arena, &query,
                                 &c->err));
        assert_ok(c, store_fact_query_make(c->store, c->project, &query, i % 2 == 0, &c->arena,
                                           &facts, &c->err));
        assert_ok(c, store_fact_query_plan(&facts, &c->err));
        store_sql_init(&q, c->store, &c->arena);
        fz_buffer_text(&q.text, contract_is_sqlite(c) ? "EXPLAIN QUERY PLAN SELECT f.variant_id"
                                                      : "EXPLAIN SELECT f.variant_id");
        store_fact_query_from(&facts, &q);
        struct sql_rows rows = {0};
        assert_ok(c, store_sql_done(&q, &c->err));
        assert_ok(c,
                  sql_query_once(sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, &c->err));
        while (sql_row(&rows, &code, &c->err)) {
            const char *step = sql_col_text(&rows, contract_is_sqlite(c) ? 3 : 0, &c->arena);
            assert_non_null(step);
            for (size_t k = 0; k < FZ_ARRAY_LEN(scans); k++) {
                if (strstr(step, scans[k]))
                    fail_msg("%s: %s", list_case_words[i], step);
            }
        }
        assert_ok(c, code);
        sql_rows_close(&rows);
        store_sql_deinit(&q);
    }
}

/* A part of a text is looked up in the index of parts. */
static void
test_text_plan(void **state)
{
    struct contract *c = *state;
    static const char *const exprs[] = {"text"};
    struct store_query query;
    struct store_sql q;
    enum fz_code code = FZ_OK;
    bool has_index = false;
    if (contract_is_sqlite(c))
        return;
    contract_sql(c, "",
                 "INSERT INTO terms (project_id, field, text) SELECT 1, 10, 'timeout of request ' "
                 "|| n FROM generate_series(1, 5000) n");
    contract_sql(c, "", "VACUUM ANALYZE terms"); /* with what waits to be indexed */
    assert_ok(c, query_parse(fz_span_cstr("reason:\"request 4711\""), list_case_now, &c->arena,
                             &query, &c->err));
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    store_sql_init(&q, c->store, &c->arena);
    fz_buffer_text(&q.text,
                   "EXPLAIN SELECT id FROM terms WHERE project_id = 1 AND field = 10 AND ");
    store_sql_match_known(&q, &query.conditions[0], exprs, 1);
    struct sql_rows rows = {0};
    assert_ok(c, store_sql_done(&q, &c->err));
    assert_ok(c, sql_query_once(sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, &c->err));
    while (sql_row(&rows, &code, &c->err)) {
        const char *step = sql_col_text(&rows, 0, &c->arena);
        has_index = has_index || (step && strstr(step, "terms_trigrams"));
    }
    assert_ok(c, code);
    assert_true(has_index);
    sql_rows_close(&rows);
    store_sql_deinit(&q);
}

int
contract_run_lists(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_random),
        contract_test(test_sealed),
        contract_test(test_kept),
        contract_test(test_shared),
        contract_test(test_not_opened),
        contract_test(test_kept_partly),
        contract_test(test_damaged),
        contract_test(test_texts),
        contract_test(test_plans),
        contract_test(test_text_plan),
        contract_test(test_introduced_and_fixed),
        contract_test(test_no_memory),
        contract_test(test_newest_versions),
    };
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
