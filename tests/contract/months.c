/*
 * Months of reports (storage/store_partitions.h). Months pass by another definition of the function that says which one it is.
 *
 * SQLite has none: there the same reports are stored, and a sweep does nothing.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retention_case.h"
#include "storage/sql/sql.h"
#include "storage/store_partitions.h"
#include "storage/store_private.h"

/* It is `n` months after the one that it is. */
static void
pass_months(struct contract *c, int n)
{
    const char *text = fz_arena_printf(
        &c->arena,
        "CREATE OR REPLACE FUNCTION report_month(at timestamptz) RETURNS bigint LANGUAGE sql "
        "IMMUTABLE RETURN CAST(extract(year FROM at AT TIME ZONE 'UTC') * 12 + extract(month FROM "
        "at AT TIME ZONE 'UTC') - 24241 + %d AS bigint)",
        n);
    contract_sql(c, "", text);
}

static struct store_months_done
sweep(struct contract *c)
{
    struct store_months_done done;
    assert_ok(c, store_months_sweep(c->store, &done, &c->err));
    return done;
}

/* How many partitions reports have; -1 on SQLite. */
static int64_t
count_months(struct contract *c)
{
    return contract_is_sqlite(c)
               ? -1
               : contract_count(c, "SELECT count(*) FROM pg_inherits WHERE inhparent = "
                                   "CAST('reports' AS regclass)");
}

/* Bodies and results that belong to no report. */
static int64_t
count_left(struct contract *c)
{
    return contract_count(c,
                          "SELECT (SELECT count(*) FROM report_bodies b WHERE NOT EXISTS (SELECT 1 "
                          "FROM reports r WHERE r.key = b.report_key)) + (SELECT count(*) FROM "
                          "report_results b WHERE NOT EXISTS (SELECT 1 FROM reports r WHERE r.key "
                          "= b.report_key))");
}

static void
check_body(struct contract *c, const char *id, const char *want)
{
    struct fz_span body;
    assert_ok(c, store_report_body(c->store, c->project, id, &c->arena, &body, &c->err));
    assert_true(fz_span_is(body, want));
}

/* A body or an id that was stored in another month is known: alone, in a batch, and for reports that pass through. */
static void
test_identity(void **state)
{
    struct contract *c = *state;
    char first[STORE_ID_TEXT], gone[STORE_ID_TEXT];
    contract_report(c, c->project, "{\"n\":1}", first);
    contract_report(c, c->project, "{\"n\":2}", gone);
    pass_months(c, 1);
    struct store_report_new items[4] = {
        contract_item(c->project, "{\"n\":1}"), contract_item(c->project, "{\"n\":3}"),
        contract_item(c->other, "{\"n\":1}"), contract_item(c->project, "{\"n\":4}")};
    memcpy(items[1].id, first, STORE_ID_TEXT);
    items[3].transient = true;
    memcpy(items[3].id, first, STORE_ID_TEXT);
    for (int round = 0; round < 2; round++) {
        assert_ok(c, contract_insert(c->store, items, round ? 1 : 4, &c->err));
        assert_true(items[0].is_duplicate);
        assert_string_equal(items[0].id, first);
    }
    assert_true(items[1].is_clash && !items[1].is_duplicate);
    assert_string_not_equal(items[1].id, first);
    assert_false(items[2].is_duplicate || items[2].is_clash);
    assert_int_equal(items[3].code, FZ_E_CONFLICT);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM reports"), 4);
    check_body(c, first, "{\"n\":1}");
    check_body(c, items[1].id, "{\"n\":3}");
    /* Keys grow with the months. */
    assert_true(contract_is_sqlite(c) ||
                contract_count(c, "SELECT count(DISTINCT key >> 40) FROM reports") == 2);
    /* What was deleted may come again. */
    assert_ok(c, store_report_delete(c->store, c->project, gone, &c->err));
    assert_int_equal(count_left(c), 0);
    contract_report(c, c->project, "{\"n\":2}", gone);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM reports r JOIN report_ids i ON i.key "
                                       "= r.key AND i.project_id = r.project_id AND i.id = r.id "
                                       "AND i.body_sha256 = r.body_sha256"),
                     4);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_ids"), 4);
}

/* Tables are made ahead, once; what comes in a month without one is kept with the rest. */
static void
test_made_ahead(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], again[STORE_ID_TEXT];
    if (contract_is_sqlite(c)) {
        assert_int_equal(sweep(c).n_made, 0);
        return;
    }
    int64_t n = count_months(c);
    static const char planned[] =
        "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND reltuples = 0 AND relnamespace = "
        "CAST(current_schema() AS regnamespace) AND (relname = 'report_ids' OR relname LIKE "
        "'reports@_%' ESCAPE '@')";
    assert_int_equal(n, 4); /* before, this one, the next one, the rest */
    assert_int_equal(contract_count(c, planned), 0);
    contract_sql(c, "", "ANALYZE reports, report_ids");
    assert_int_equal(contract_count(c, planned), 5);
    assert_int_equal(sweep(c).n_made, 1);
    assert_int_equal(sweep(c).n_made, 0);
    assert_int_equal(contract_count(c, planned), 0);
    pass_months(c, 2);
    contract_report(c, c->project, "{\"n\":1}", id);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM reports_rest"), 0);
    struct store_months_done done = sweep(c);
    assert_int_equal(done.n_made, 2);
    /* Nothing came in them; on the first day of a month, the one before is left alone. */
    assert_in_range(done.n_dropped, 1, 2);
    assert_int_equal(count_months(c), 7 - (int64_t)done.n_dropped);
    /* Nobody has swept for long. */
    pass_months(c, 6);
    contract_report(c, c->project, "{\"n\":2}", again);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM reports_rest"), 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies_rest"), 1);
    assert_int_equal(sweep(c).n_made, 2);
    check_body(c, id, "{\"n\":1}");
    check_body(c, again, "{\"n\":2}");
    pass_months(c, 7);
    contract_report(c, c->project, "{\"n\":3}", again);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM reports_rest"), 1);
    /* Of a month without tables, rows go. */
    pass_months(c, 9);
    {
        int64_t key = contract_count(c, "SELECT key FROM reports_rest");
        FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
        assert_ok(c, sql_begin(c->store->sql, &tx, &c->err));
        assert_ok(c, store_months_leave(tx, &key, 1, &c->err));
        assert_ok(c,
                  sql_script(tx, "DELETE FROM reports WHERE key IN (SELECT key FROM reports_rest)",
                             &c->err));
        assert_ok(c, sql_commit(&tx, &c->err));
    }
    assert_int_equal(count_left(c), 1);
    fz_ignore(sweep(c).n_made); /* they are counted above */
    assert_int_equal(count_left(c), 0);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_months"), 0);
}

/* Those that are there, by month. */
static int64_t
find_living(struct contract *c, const struct retention_case_world *w, const char **ret)
{
    int64_t n = 0;
    for (int i = 0; i < w->n; i++) {
        if (retention_case_is_there(c, w->ids[i]))
            ret[n++] = w->ids[i];
    }
    return n;
}

/* Nearly all of a month is old: its tables are dropped, and what stays is in new ones; later all of it is. */
static void
test_dropped_whole(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    struct retention_case_world *w = retention_case_make_world(c, FEWER);
    const char **living = calloc(FEWER, sizeof(*living)), *before = retention_case_counts(c);
    char later[STORE_ID_TEXT];
    assert_non_null(living);
    pass_months(c, 2);
    fz_ignore(sweep(c).n_made); /* so that there is a table for the next one */
    contract_report(c, c->project, "{\"n\":1}", later);
    retention_case_set(c, &(struct store_retention){.report_days = 2});
    assert_ok(c, store_retention_confirm(c->store, c->project, w->n, &c->err));
    assert_true(retention_case_sweep(c, &done));
    int64_t n = find_living(c, w, living), n_months = count_months(c);
    assert_in_range(n, 10, 14);
    assert_int_equal(done.n_reports, w->n - n);
    assert_int_equal(count_left(c), contract_is_sqlite(c) ? 0 : 2 * (w->n - n));
    struct store_months_done months = sweep(c);
    assert_int_equal(count_left(c), 0);
    assert_int_equal(months.n_copied, !contract_is_sqlite(c));
    assert_int_equal(months.n_reports, contract_is_sqlite(c) ? 0 : n);
    assert_true(contract_is_sqlite(c) || months.bytes > 0);
    assert_int_equal(count_months(c), n_months);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies"), n + 1);
    assert_int_equal(find_living(c, w, living), n);
    check_body(c, later, "{\"n\":1}");
    check_body(c, living[0], fz_arena_printf(&c->arena, "retention %d", atoi(living[0] + 20) - 1));
    assert_string_equal(retention_case_counts(c), before);
    contract_recount(c);
    /* What stays is as it was: known by its body, and changed and deleted like others. */
    struct store_report_new again = contract_item(
        c->project, fz_arena_printf(&c->arena, "retention %d", atoi(living[1] + 20) - 1));
    assert_ok(c, contract_insert(c->store, &again, 1, &c->err));
    assert_true(again.is_duplicate);
    months = sweep(c);
    assert_int_equal(months.n_dropped + months.n_copied, 0);
    for (int64_t i = 0; i < n; i++)
        assert_ok(c, store_report_delete(c->store, c->project, living[i], &c->err));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies"), 1);
    assert_int_equal(sweep(c).n_dropped, !contract_is_sqlite(c));
    assert_int_equal(count_months(c), contract_is_sqlite(c) ? -1 : n_months - 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_ids"), 1);
    assert_string_equal(retention_case_counts(c), before);
    contract_recount(c);
    free(living);
    free(w);
}

/* Where much of a month stays, the rest of it waits, but not for ever. A report that is thinned out leaves nothing. */
static void
test_waits(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    struct retention_case_world *w = retention_case_make_world(c, FEWER);
    if (!contract_is_sqlite(c)) {
        pass_months(c, 2);
        retention_case_set(c, &(struct store_retention){.report_max = 550});
        assert_true(retention_case_sweep(c, &done));
        assert_true(done.n_reports > 0);
        assert_int_equal(count_left(c), 0);
        retention_case_set(c, &(struct store_retention){.report_days = 90});
        assert_true(retention_case_sweep(c, &done));
        int64_t n = contract_count(c, "SELECT count(*) FROM reports");
        assert_true(done.n_reports > 0);
        assert_int_equal(sweep(c).n_copied, 0);
        assert_int_equal(count_left(c), 2 * (int64_t)done.n_reports);
        contract_sql(c, "", "UPDATE report_months SET since_ms = since_ms - 34 * 86400000::bigint");
        assert_int_equal(sweep(c).n_copied, 0);
        contract_sql(c, "", "UPDATE report_months SET since_ms = since_ms - 2 * 86400000");
        assert_int_equal(sweep(c).n_copied, 1);
        assert_int_equal(count_left(c), 0);
        assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies"), n);
        assert_int_equal(contract_count(c, "SELECT count(*) FROM reports"), n);
        contract_recount(c);
    }
    free(w);
}

/* Somebody reads an old month meanwhile: the sweep gives up soon, and the next one does it. */
static void
test_in_use(void **state)
{
    struct contract *c = *state;
    struct store_months_done done;
    if (contract_is_sqlite(c)) {
        assert_int_equal(sweep(c).n_dropped, 0);
        return;
    }
    struct store *other = contract_open(c);
    pass_months(c, 3);
    {
        FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
        assert_ok(c, sql_begin(other->sql, &tx, &c->err));
        assert_ok(c, sql_script(tx, "SELECT count(*) FROM reports", &c->err));
        assert_fails(c, FZ_E_UNAVAILABLE, store_months_sweep(c->store, &done, &c->err));
        assert_int_equal(done.n_dropped, 0);
    }
    assert_int_equal(sweep(c).n_dropped, 2);
    store_close(other);
}

int
contract_run_months(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_identity),      contract_test(test_made_ahead),
        contract_test(test_dropped_whole), contract_test(test_waits),
        contract_test(test_in_use),
    };
    return cmocka_run_group_tests_name("months", tests, NULL, NULL);
}
