/* Retention: which reports, bodies and symbol files a sweep deletes, that counts stay, and when it waits. */
#include "retention_case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "storage/store_issue_state.h"
#include "storage/store_request.h"

/* Of a request that has no time to look. */
static struct store_retention_use
estimate_use(struct contract *c)
{
    const struct store_retention no_limit = {0};
    struct store_retention_plan *plan = NULL;
    assert_ok(c, store_retention_plan_create(c->store, c->project, &no_limit, &plan, &c->err));
    assert_ok(c, store_retention_estimate(c->store, plan, &c->err));
    struct store_retention_use use = *store_retention_use(plan);
    store_retention_plan_destroy(plan);
    return use;
}

/* What a sweep has counted is what requests say later. */
static void
check_noted(struct contract *c, int64_t n_left)
{
    struct store_retention_use use = estimate_use(c);
    assert_int_equal(use.n_reports, n_left);
    assert_int_equal(use.symbols.n, contract_count(c, "SELECT count(*) FROM symbol_files"));
    uint64_t exact = (uint64_t)contract_count(
        c, "SELECT CAST(sum(length(result)) AS bigint) FROM report_results");
    assert_in_range(use.results.bytes, exact * 95 / 100, exact * 105 / 100);
    exact = (uint64_t)contract_count(c, "SELECT count(*) FROM report_bodies");
    assert_in_range(use.bodies.n, exact * 95 / 100, exact * 105 / 100);
    /* No request counts them again. */
    contract_sql(c, "UPDATE retention SET n_reports = 7", "UPDATE retention SET n_reports = 7");
    use = estimate_use(c);
    assert_int_equal(use.n_reports, 7);
    assert_true(use.is_estimated);
}

static void
test_age(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    struct store_retention retention;
    struct retention_case_world *w = retention_case_make_world(c, REPORTS);
    const char *before = retention_case_counts(c);
    /* A new project has limits. */
    assert_ok(c, store_retention_get(c->store, c->project, &retention, NULL, &c->err));
    assert_int_equal(retention.report_days, STORE_REPORT_DAYS);
    assert_int_equal(retention.symbol_days, STORE_SYMBOL_DAYS);
    assert_true(retention.keeps_samples);
    struct store_retention_plan *plan = retention_case_look(c);
    const struct store_retention_due *due = store_retention_due(plan);
    assert_int_equal(due->n_reports, REPORTS);
    /* The first one of each issue is within the first days, and stays; the others of ten days go. */
    int n_first = 0;
    for (int i = 0; i < REPORTS / 10; i++)
        n_first += i < 1 || i == 3 || i % 50 == 7;
    assert_in_range(due->n_aged, REPORTS / 10 - n_first - 3, REPORTS / 10 - n_first + 3);
    assert_int_equal(due->n_thinned, 0);
    assert_int_equal(due->n_symbols, 1); /* x; uploaded in 2023 */
    uint64_t n_aged = due->n_aged;
    struct store_retention_use use = *store_retention_use(plan);
    assert_true(use.is_estimated);
    int64_t exact =
        contract_count(c, "SELECT CAST(sum(length(body)) AS bigint) FROM report_bodies");
    assert_in_range(use.bodies.bytes, exact * 95 / 100, exact * 105 / 100);
    store_retention_plan_destroy(plan);
    assert_int_equal(retention_case_reports(c), REPORTS); /* a look changes nothing */
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_reports, n_aged);
    assert_int_equal(done.n_symbols, 1);
    assert_int_equal(retention_case_reports(c), REPORTS - (int64_t)n_aged);
    check_noted(c, REPORTS - (int64_t)n_aged);
    assert_true(retention_case_is_there(c, w->ids[0]) && retention_case_is_there(c, w->ids[3]) &&
                retention_case_is_there(c, w->ids[7]));
    assert_false(retention_case_is_there(c, w->ids[1]));
    assert_false(retention_case_is_there(c, w->ids[REPORTS / 10 - 5]));
    assert_true(retention_case_is_there(c, w->ids[REPORTS / 10 + 5]) &&
                retention_case_is_there(c, w->ids[REPORTS - 1]));
    /* 'o' is that of samples, so it stays. */
    assert_true(retention_case_has_symbol(c, 'o') && retention_case_has_symbol(c, 'n') &&
                !retention_case_has_symbol(c, 'x'));
    assert_string_equal(retention_case_counts(c), before);
    contract_recount(c);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies"),
                     retention_case_reports(c));
    assert_int_equal(contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM report_counts"),
                     retention_case_reports(c));
    /* Nothing more to do. */
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_reports + done.n_symbols, 0);
    free(w);
}

/* Without samples, all that is old goes; its symbol file some time after its last report. */
static void
test_strict(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    uint64_t n = 0;
    struct retention_case_world *w = retention_case_make_world(c, FEWER);
    retention_case_set(c, &(struct store_retention){.report_days = 90, .symbol_days = 30});
    assert_true(retention_case_sweep(c, &done));
    assert_in_range(done.n_reports, w->n / 10 - 1, w->n / 10 + 3);
    assert_false(retention_case_is_there(c, w->ids[0]));
    assert_true(retention_case_has_symbol(c, 'o')); /* the set of images is still there */
    for (int i = 0; i < 3; i++)
        assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_true(retention_case_sweep(c, &done)); /* needed until just now */
    assert_true(retention_case_has_symbol(c, 'o'));
    contract_sql(
        c, "UPDATE symbol_files SET used_ms = used_ms - 31 * 86400000 WHERE used_ms > 0",
        "UPDATE symbol_files SET used_ms = used_ms - 31 * 86400000::bigint WHERE used_ms > 0");
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_symbols, 1);
    assert_true(!retention_case_has_symbol(c, 'o') && retention_case_has_symbol(c, 'n'));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM blob_garbage"),
                     3); /* x, o, the upload */
    contract_recount(c);
    free(w);
}

/* Frequent issues are thinned out; rare ones keep all, and each keeps what matters. */
static void
test_thin(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    struct store_retention_state held;
    struct store_retention retention = {.report_max = 1000, .keeps_samples = true};
    struct retention_case_world *w = retention_case_make_world(c, REPORTS);
    const char *before = retention_case_counts(c);
    int64_t often = contract_number_of(c, w->ids[0]);
    assert_ok(c, store_issue_comment(c->store, c->project, often, "anna",
                                     "as in /reports/00000000000000000000000000002501", &c->err));
    retention_case_set(c, &retention);
    assert_false(retention_case_sweep(c, &done)); /* two thirds */
    assert_int_equal(retention_case_reports(c), REPORTS);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_n, REPORTS - 1000);
    assert_true(held.held_ms > 0);
    /* Not for as much as that. */
    assert_ok(c, store_retention_confirm(c->store, c->project, 100, &c->err));
    assert_false(retention_case_sweep(c, &done));
    assert_ok(c, store_retention_confirm(c->store, c->project, held.held_n, &c->err));
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_reports, REPORTS - 1000);
    assert_int_equal(retention_case_reports(c), 1000);
    for (int i = 0; i < REPORTS; i++) {
        if (i % 50 == 7)
            assert_true(retention_case_is_there(c, w->ids[i])); /* rare */
    }
    /* The first, the one with names, the newest, and the one that a comment names. */
    assert_true(retention_case_is_there(c, w->ids[0]) && retention_case_is_there(c, w->ids[1000]) &&
                retention_case_is_there(c, w->ids[REPORTS - 1]) &&
                retention_case_is_there(c, w->ids[2500]));
    assert_string_equal(retention_case_counts(c), before);
    contract_recount(c);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_ms + held.held_n + held.allowed, 0);
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_reports, 0);
    free(w);
}

/* A request has no time to look at all reports. */
static void
test_estimate(void **state)
{
    struct contract *c = *state;
    struct retention_case_world *w = retention_case_make_world(c, REPORTS);
    const struct store_retention young = {.report_days = 20, .body_days = 10},
                                 few = {.report_max = 1000, .keeps_samples = true};
    const struct store_retention *const settings[] = {&young, &few};
    for (size_t i = 0; i < FZ_ARRAY_LEN(settings); i++) {
        struct store_retention_plan *plan = NULL, *all = NULL;
        bool is_done = false;
        assert_ok(c,
                  store_retention_plan_create(c->store, c->project, settings[i], &plan, &c->err));
        assert_ok(c, store_retention_look(c->store, plan, &is_done, &c->err));
        assert_false(is_done); /* 2,000 of 3,000 */
        assert_ok(c, store_retention_estimate(c->store, plan, &c->err));
        assert_ok(c, store_retention_plan_create(c->store, c->project, settings[i], &all, &c->err));
        while (!is_done)
            assert_ok(c, store_retention_look(c->store, all, &is_done, &c->err));
        const struct store_retention_due *due = store_retention_due(plan),
                                         *exact = store_retention_due(all);
        assert_true(due->is_estimated && !exact->is_estimated);
        assert_int_equal(due->n_reports, exact->n_reports);
        assert_int_equal(due->n_stored_bodies, exact->n_stored_bodies);
        assert_in_range(due->n_aged + 5, exact->n_aged, exact->n_aged + 10);
        assert_in_range(due->n_bodies + 5, exact->n_bodies, exact->n_bodies + 10);
        assert_int_equal(due->n_thinned, exact->n_thinned);
        assert_int_equal(due->n_symbols, exact->n_symbols);
        assert_in_range(due->bytes, exact->bytes * 95 / 100, exact->bytes * 105 / 100);
        assert_true(i == 0 ? due->n_aged > 2300 && due->n_bodies > 250 : due->n_thinned == 2000);
        store_retention_plan_destroy(plan);
        store_retention_plan_destroy(all);
    }
    free(w);
}

static void
test_bytes(void **state)
{
    struct contract *c = *state;
    struct store_retention_use use, after;
    struct retention_case_world *w = retention_case_make_world(c, FEWER);
    struct store_retention_plan *plan = retention_case_look(c);
    use = *store_retention_use(plan);
    store_retention_plan_destroy(plan);
    int64_t exact =
        contract_count(c, "SELECT CAST(sum(length(body)) AS bigint) FROM report_bodies");
    assert_false(use.is_estimated);
    assert_int_equal(use.n_reports, w->n);
    assert_int_equal(use.bodies.bytes, exact);
    assert_int_equal(use.symbols.n, 9);
    assert_int_equal(use.symbols.bytes, 9 * 77);
    int64_t half = (int64_t)store_retention_bytes(&use) / 2;
    retention_case_set(c, &(struct store_retention){.bytes_max = half});
    assert_false(retention_case_sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, w->n, &c->err));
    assert_true(retention_case_sweep(c, NULL));
    plan = retention_case_look(c);
    after = *store_retention_use(plan);
    store_retention_plan_destroy(plan);
    assert_in_range(store_retention_bytes(&after), (uint64_t)half * 95 / 100,
                    (uint64_t)half * 105 / 100);
    contract_recount(c);
    /* Symbol files that are in use are not what reports have to make room for. */
    contract_sql(c, "UPDATE symbol_files SET size = 1000000000",
                 "UPDATE symbol_files SET size = 1000000000");
    retention_case_set(c, &(struct store_retention){.bytes_max = 2000000});
    plan = retention_case_look(c);
    assert_true(store_retention_due(plan)->is_over);
    assert_int_equal(store_retention_due(plan)->n_thinned, 0);
    store_retention_plan_destroy(plan);
    free(w);
}

static void
test_bodies(void **state)
{
    struct contract *c = *state;
    struct fz_span bytes;
    struct store_retention_done done;
    char id[STORE_ID_TEXT], upload[STORE_ID_TEXT];
    uint64_t n = 0;
    contract_report(c, c->project, "{}", id); /* of 2023 */
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "z"));
    /* What was not processed yet is never touched. */
    char waiting[STORE_ID_TEXT];
    contract_report(c, c->project, "{\"a\":1}", waiting);
    retention_case_set(c, &(struct store_retention){.body_days = 30});
    assert_false(retention_case_sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, 1, &c->err));
    assert_true(retention_case_sweep(c, &done));
    assert_int_equal(done.n_bodies, 1);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_body(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_ok(c, store_report_result(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_ok(c, store_report_body(c->store, c->project, waiting, &c->arena, &bytes, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_report_reprocess(c->store, c->other, id, &c->err));
    /* A symbol file that it has waited for has nothing to name. */
    job = contract_claim(c, waiting);
    assert_ok(c, contract_finish(c, &job, "z"));
    contract_upload(c, c->project, upload);
    job = contract_claim(c, upload);
    assert_ok(c, contract_finish_upload(c, &job, "z", STORE_SYMBOL_READY, &n));
    assert_int_equal(n, 1); /* `waiting` alone */
}

/* The clock a year ahead: nothing goes until somebody says so, also no memory. */
static void
test_clock(void **state)
{
    struct contract *c = *state;
    struct store_retention_state held;
    struct store_retention retention;
    struct retention_case_world w = {.now = fz_time_now_ms() + INT64_C(50) * 86400000, .n = 100};
    uint64_t n = 0;
    retention_case_add_reports(c, &w, 50); /* 50 days old and less */
    contract_sql(
        c,
        "UPDATE projects SET keep_memory = 1; INSERT INTO report_memory SELECT key, project_id, "
        "received_ms, x'00' FROM reports",
        "UPDATE projects SET keep_memory = 1; INSERT INTO report_memory SELECT key, project_id, "
        "received_ms, '\\x00' FROM reports");
    assert_true(retention_case_sweep(c, NULL));
    assert_int_equal(retention_case_reports(c), 50);
    static const char year[] =
        "UPDATE reports SET received_ms = received_ms - 31536000000; UPDATE facts SET received_ms "
        "= "
        "received_ms - 31536000000; UPDATE report_memory SET stored_ms = stored_ms - 31536000000; "
        "UPDATE retention SET swept_ms = swept_ms - 31536000000 WHERE swept_ms > 0";
    contract_sql(c, year, year);
    assert_false(retention_case_sweep(c, NULL));
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_memory"), 50);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_true(held.held_n > 90);
    /* Set right again, it goes on by itself. */
    static const char back[] =
        "UPDATE reports SET received_ms = received_ms + 31536000000; UPDATE facts SET received_ms "
        "= "
        "received_ms + 31536000000; UPDATE report_memory SET stored_ms = stored_ms + 31536000000; "
        "UPDATE retention SET swept_ms = swept_ms + 31536000000 WHERE swept_ms > 0";
    contract_sql(c, back, back);
    assert_true(retention_case_sweep(c, NULL));
    assert_int_equal(retention_case_reports(c), 50);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_ms + held.held_n, 0);
    /* A year that has passed: confirmed, all but samples goes. */
    contract_sql(c, year, year);
    assert_false(retention_case_sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, 100, &c->err));
    assert_true(retention_case_sweep(c, NULL));
    assert_in_range(retention_case_reports(c), 3, 9);
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_memory"), 0);
}

/* The settings change while a sweep is under way: what is left of it is not deleted. */
static void
test_change(void **state)
{
    struct contract *c = *state;
    struct retention_case_world w = {.now = fz_time_now_ms() + INT64_C(50) * 86400000, .n = 800};
    struct store_retention_done done = {0};
    bool is_done = false, is_held = false;
    retention_case_add_reports(c, &w, 400); /* 50 days old and less */
    retention_case_set(c, &(struct store_retention){.report_days = 30});
    assert_ok(c, store_retention_confirm(c->store, c->project, 400, &c->err));
    struct store_retention_plan *plan = retention_case_look(c);
    assert_ok(c, store_retention_hold(c->store, plan, &is_held, &c->err));
    assert_false(is_held);
    assert_ok(c, store_retention_portion(c->store, plan, &done, &is_done, &c->err));
    assert_int_equal(done.n_reports, STORE_RETENTION_PORTION);
    retention_case_set(c, &(struct store_retention){.report_days = 80});
    assert_fails(c, FZ_E_CONFLICT,
                 store_retention_portion(c->store, plan, &done, &is_done, &c->err));
    assert_int_equal(retention_case_reports(c), 400 - STORE_RETENTION_PORTION);
    store_retention_plan_destroy(plan);
    assert_true(retention_case_sweep(c, NULL));
    assert_int_equal(retention_case_reports(c), 400 - STORE_RETENTION_PORTION);
    assert_fails(c, FZ_E_MALFORMED,
                 store_retention_set(c->store, c->project,
                                     &(struct store_retention){.report_days = -1}, &c->err));
    assert_fails(
        c, FZ_E_NOT_FOUND,
        store_retention_set(c->store, 999, &(struct store_retention){.report_days = 1}, &c->err));
    contract_recount(c);
}

static void
run_and_die(struct contract *c)
{
    struct contract own = *c;
    own.store = NULL;
    fz_arena_init(&own.arena, 64 * 1024 * 1024);
    if (store_open(own.url, &own.store, &own.err) != FZ_OK)
        _exit(1);
    retention_case_sweep(&own, NULL);
    _exit(0);
}

/* Killed at five moments, it goes on: nothing is half deleted, no count is wrong. */
static void
test_kill(void **state)
{
    struct contract *c = *state;
    struct retention_case_world *w = retention_case_make_world(c, 2 * FEWER);
    const char *before = retention_case_counts(c);
    int n_killed = 0;
    retention_case_set(
        c, &(struct store_retention){.report_max = 200, .body_days = 20, .keeps_samples = true});
    assert_ok(c, store_retention_confirm(c->store, c->project, 3 * w->n, &c->err));
    for (int i = 0; i < 5; i++) {
        int64_t left = retention_case_reports(c);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            run_and_die(c);
        /* Once it has begun to delete. */
        int status = 0;
        bool is_over = false;
        while (!is_over && retention_case_reports(c) >= left)
            is_over = waitpid(child, &status, WNOHANG) == child;
        if (!is_over) {
            kill(child, SIGKILL);
            assert_int_equal(waitpid(child, &status, 0), child);
            n_killed += WIFSIGNALED(status);
        }
        assert_string_equal(retention_case_counts(c), before);
        assert_int_equal(contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM report_counts"),
                         retention_case_reports(c));
        assert_int_equal(contract_count(c, "SELECT count(*) FROM facts f WHERE report_key > 0"),
                         retention_case_reports(c));
    }
    assert_true(n_killed >= 3);
    assert_ok(c, store_retention_confirm(c->store, c->project, 3 * w->n, &c->err));
    assert_true(retention_case_sweep(c, NULL));
    assert_int_equal(retention_case_reports(c), 200);
    assert_int_equal(
        contract_count(c, "SELECT count(*) FROM report_bodies b JOIN reports r ON r.key = "
                          "b.report_key WHERE r.has_body = 0"),
        0);
    assert_int_equal(
        contract_count(c, "SELECT count(*) FROM reports r WHERE r.has_body = 1 AND NOT EXISTS "
                          "(SELECT 1 FROM report_bodies b WHERE b.report_key = r.key)"),
        0);
    assert_string_equal(retention_case_counts(c), before);
    contract_recount(c);
    free(w);
}

int
contract_run_retention(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_age),    contract_test(test_strict), contract_test(test_thin),
        contract_test(test_bytes),  contract_test(test_bodies), contract_test(test_clock),
        contract_test(test_change), contract_test(test_kill),   contract_test(test_estimate),
    };
    return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
