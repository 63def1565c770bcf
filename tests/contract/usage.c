/*
 * Usage: what a project has sent today, counted by all connections together. How long a request may use the database.
 */
#include "contract.h"

#include <stdio.h>

#include "base/time.h"
#include "storage/store_filters.h"
#include "storage/store_private.h"
#include "storage/store_request.h"
#include "storage/store_usage.h"

static const int64_t DAY = INT64_C(24) * 3600 * 1000;

/* "bytes n" of today; "" without a row. */
static const char *
today(struct contract *c, int64_t project, enum store_usage_kind kind)
{
    struct store_usage *list;
    size_t n;
    int64_t day, left_ms, now_ms = fz_time_now_ms();
    assert_ok(c, store_usage_today(c->store, &c->arena, &list, &n, &day, &left_ms, &c->err));
    assert_true(day == now_ms / DAY || day == now_ms / DAY + 1);
    assert_true(left_ms > 0 && left_ms <= DAY);
    for (size_t i = 0; i < n; i++) {
        if (list[i].project_id == project && list[i].kind == kind)
            return fz_arena_printf(&c->arena, "%d %d", (int)list[i].bytes, (int)list[i].n);
    }
    return "";
}

static void
test_reports(void **state)
{
    struct contract *c = *state;
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "");
    struct store_report_new items[] = {
        contract_item(c->project, "12345"), contract_item(c->other, "123"),
        contract_item(c->project, "1234567"), contract_item(c->project, "passing through"),
        contract_item(4711, "no such project")};
    items[3].transient = true;
    assert_ok(c, contract_insert(c->store, items, 5, &c->err));
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "12 2");
    assert_string_equal(today(c, c->other, STORE_USAGE_REPORTS), "3 1");
    /* What is known already is not stored again. */
    items[0].code = FZ_OK;
    assert_ok(c, contract_insert(c->store, items, 1, &c->err));
    assert_true(items[0].is_duplicate);
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "12 2");
    assert_string_equal(today(c, c->project, STORE_USAGE_SYMBOLS), "");
}

static int
add_some(struct contract *c, int i, void *user)
{
    (void)user;
    for (int k = 0; k < 20; k++) {
        struct store_report_new item =
            contract_item(c->project, fz_arena_printf(&c->arena, "%02d%02d", i, k));
        if (store_usage_add(c->store, c->project, STORE_USAGE_SYMBOLS, 1000, &c->err) ||
            contract_insert(c->store, &item, 1, &c->err))
            return 1;
    }
    return 0;
}

static void
test_at_once(void **state)
{
    struct contract *c = *state;
    contract_fork(c, 6, add_some, NULL);
    assert_string_equal(today(c, c->project, STORE_USAGE_SYMBOLS), "120000 120");
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "480 120");
}

static void
test_old_days(void **state)
{
    struct contract *c = *state;
    static const char insert[] = "INSERT INTO usage (project_id, day, kind, slot, bytes, n) "
                                 "SELECT id, 100, 1, 0, 5, 1 FROM projects";
    contract_sql(c, insert, insert);
    assert_ok(c, store_usage_add(c->store, c->project, STORE_USAGE_REPORTS, 7, &c->err));
    /* Yesterday's numbers are not today's. */
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "7 1");
    assert_ok(c, store_usage_forget(c->store, &c->err));
    assert_string_equal(today(c, c->project, STORE_USAGE_REPORTS), "7 1");
    /* The old rows are gone: the same ones can be put in again. */
    contract_sql(c, insert, insert);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_usage_add(c->store, 4711, STORE_USAGE_REPORTS, 7, &c->err));
}

static void
test_quotas(void **state)
{
    struct contract *c = *state;
    struct store_quota quota, *list;
    size_t n;
    assert_ok(c, store_quota_get(c->store, c->project, &quota, &c->err));
    assert_int_equal(quota.project_id, c->project);
    assert_true(quota.reports == 0 && quota.report_bytes == 0 && quota.symbol_bytes == 0);
    assert_ok(c, store_quota_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
    quota.reports = 7;
    quota.symbol_bytes = (UINT64_C(1) << STORE_QUOTA_BITS) - 1;
    assert_ok(c, store_quota_set(c->store, &quota, &c->err));
    quota = (struct store_quota){.project_id = c->other, .report_bytes = 9};
    assert_ok(c, store_quota_set(c->store, &quota, &c->err));
    assert_ok(c, store_quota_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_true(list[0].project_id < list[1].project_id);
    for (size_t i = 0; i < n; i++) {
        bool is_first = list[i].project_id == c->project;
        assert_int_equal(list[i].reports, is_first ? 7 : 0);
        assert_int_equal(list[i].report_bytes, is_first ? 0 : 9);
        assert_true(list[i].symbol_bytes == (is_first ? (UINT64_C(1) << STORE_QUOTA_BITS) - 1 : 0));
    }
    quota.report_bytes = UINT64_C(1) << STORE_QUOTA_BITS;
    assert_fails(c, FZ_E_MALFORMED, store_quota_set(c->store, &quota, &c->err));
    quota.report_bytes = 0;
    assert_ok(c, store_quota_set(c->store, &quota, &c->err));
    assert_ok(c, store_quota_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 1);
    quota.project_id = 4711;
    assert_fails(c, FZ_E_NOT_FOUND, store_quota_set(c->store, &quota, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_quota_get(c->store, 4711, &quota, &c->err));
}

static void
test_limit_time(void **state)
{
    struct contract *c = *state;
    /* A table whose rows take for ever; where it was, a list of it must end. It reads another table, since SQLite
     * looks for a change of the schema only before it reads one. */
#define SLOW(X)                                                                                   \
    "CREATE VIEW filters AS WITH RECURSIVE c (n) AS (SELECT count(*) FROM projects UNION ALL "    \
    "SELECT n + 1 FROM c) SELECT n AS id, n + 1 AS project_id, " X " AS name, " X " AS query, " X \
    " AS since, " X " AS until, " X " AS sort, " X " AS actor, n AS created_ms FROM c WHERE n < 0"
    static const char view[] = SLOW("'x'"), typed_view[] = SLOW("'x' COLLATE \"C\"");
#undef SLOW
    static const char away[] = "ALTER TABLE filters RENAME TO kept_filters";
    static const char back[] = "ALTER TABLE kept_filters RENAME TO filters";
    struct store_filter *list;
    size_t n;
    contract_sql(c, away, away);
    contract_sql(c, view, typed_view);
    int64_t began_ms = fz_time_monotonic_ms();
    store_limit_time(c->store, 200);
    assert_fails(c, FZ_E_LIMIT,
                 store_filter_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    assert_non_null(strstr(c->err.text, "narrow the time range"));
    assert_true(store_is_late(c->store));
    assert_in_range(fz_time_monotonic_ms() - began_ms, 150, 5000);
    /* Further statements of the same request do not even begin. */
    assert_fails(c, FZ_E_LIMIT,
                 store_filter_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    store_limit_time(c->store, 0);
    assert_false(store_is_late(c->store));
    contract_sql(c, "DROP VIEW filters", "DROP VIEW filters");
    contract_sql(c, back, back);
    store_limit_time(c->store, 5000);
    assert_ok(c, store_filter_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    store_limit_time(c->store, 0);
}

/* A request's own limit ends with it; what all requests have comes back. */
static void
test_statement_time(void **state)
{
    struct contract *c = *state;
    static const struct {
        int64_t limit_ms, want_ms;
    } steps[] = {{0, 30000}, {700, 700}, {0, 30000}};
    if (contract_is_sqlite(c))
        skip();
    assert_ok(c, store_serve_requests(c->store, &c->err));
    for (size_t i = 0; i < FZ_ARRAY_LEN(steps); i++) {
        int64_t found = 0;
        store_limit_time(c->store, steps[i].limit_ms);
        assert_ok(c, sql_number(c->store->sql,
                                "SELECT CAST(setting AS bigint) FROM pg_settings WHERE name = "
                                "'statement_timeout'",
                                NULL, 0, &found, NULL, &c->err));
        assert_int_equal(found, steps[i].want_ms);
    }
}

/* A server whose default is lax: what it calls committed is on its disk, also through a pooler. */
static void
test_waits_for_disk(void **state)
{
    struct contract *c = *state;
    static const char query[] = "SELECT count(*) FROM pg_settings WHERE name = "
                                "'synchronous_commit' AND setting = 'on'";
    int64_t outside = 0, inside = 0;
    if (contract_is_sqlite(c))
        skip();
    /* Those that are open already have the old default. */
    contract_sql(c, "",
                 "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET "
                 "synchronous_commit = off'; END $$; SELECT pg_terminate_backend(pid) FROM "
                 "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
    struct store *store = NULL;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    /* A pooler gives those that have just ended to the next ones. */
    enum fz_code code = FZ_E_UNAVAILABLE;
    for (int i = 0; i < 20 && code == FZ_E_UNAVAILABLE; i++)
        code = store_open(c->url, &store, &c->err);
    assert_ok(c, code);
    assert_ok(c, sql_number(store->sql, query, NULL, 0, &outside, NULL, &c->err));
    assert_ok(c, sql_begin(store->sql, &tx, &c->err));
    assert_ok(c, sql_number(tx, query, NULL, 0, &inside, NULL, &c->err));
    assert_ok(c, sql_commit(&tx, &c->err));
    store_close(store);
    contract_sql(c, "",
                 "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' RESET "
                 "synchronous_commit'; END $$");
    assert_int_equal(outside, 1);
    assert_int_equal(inside, 1);
}

int
contract_run_usage(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_reports),        contract_test(test_at_once),
        contract_test(test_old_days),       contract_test(test_quotas),
        contract_test(test_limit_time),     contract_test(test_statement_time),
        contract_test(test_waits_for_disk),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
