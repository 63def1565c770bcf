/*
 * Retention: which reports, bodies and symbol files a sweep deletes, that counts stay, and when it waits.
 *
 * The project has 3,000 reports of 100 days (or fewer), as many each day: of twenty rare issues with three each, of a
 * frequent one with 440, and of a very frequent one. Those of the first five days have the image 'o', all others 'n'; a
 * symbol file 'x' is of neither and was uploaded long ago.
 */
#include "issue_case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "storage/store_issue_state.h"
#include "storage/store_request.h"
#include "storage/store_retention.h"

enum { REPORTS = 3000, FEWER = 600, RARE = 20, BATCH = 500 };

/* ---- the project ---- */

struct world {
    int64_t now;
    int n; /* reports of a hundred days */
    char ids[REPORTS][STORE_ID_TEXT];
};

static int64_t
received_ms(const struct world *w, int i)
{
    return w->now - (w->n - i) * (INT64_C(100) * 86400000 / w->n);
}

static struct contract_group
group_of(int i)
{
    static char rare[RARE][16];
    struct contract_group group = {.stack = "often", .key = "often", .variant = "v"};
    if (i % 50 == 7) {
        snprintf(rare[i / 50 % RARE], sizeof(rare[0]), "rare %d", i / 50 % RARE);
        group.stack = group.key = rare[i / 50 % RARE];
    } else if (i % 7 == 3) {
        group.stack = group.key = "sometimes";
    }
    return group;
}

static void
finish_batch(struct contract *c, const struct world *w, const struct store_job *jobs,
             const int *numbers, size_t n)
{
    struct store_report_done done[STORE_ENDS_MAX];
    struct store_report_end ends[STORE_ENDS_MAX];
    struct store_grouping groupings[STORE_ENDS_MAX];
    static const struct store_image old = {.name = "Old"}, new = {.name = "New"};
    struct store_image images[STORE_ENDS_MAX];
    for (size_t i = 0; i < n; i++) {
        struct contract_group group = group_of(numbers[i]);
        bool is_old = numbers[i] < w->n / 20; /* of the first five days */
        groupings[i] = contract_grouping(&group);
        images[i] = is_old ? old : new;
        images[i].uuid = contract_uuid(is_old ? 'o' : 'n');
        done[i] = (struct store_report_done){
            /* Of the very frequent issue one report alone has all names. */
            .status = strcmp(group.key, "often") == 0 && numbers[i] != w->n / 3
                          ? STORE_REPORT_PARTIAL
                          : STORE_REPORT_SYMBOLICATED,
            .values = contract_group_values(c, &group),
            .result = fz_span_cstr("{\"threads\":[]}"),
            .images = &images[i],
            .n_images = 1,
            .grouping = &groupings[i]};
        ends[i] = (struct store_report_end){.job = &jobs[i], .done = &done[i]};
    }
    assert_ok(c, store_job_finish_reports(c->store, ends, n, &c->err));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ends[i].code, FZ_OK);
}

/* Store and process the first `n`. */
static void
add_reports(struct contract *c, struct world *w, int n_all)
{
    struct store_report_new items[BATCH];
    char bodies[BATCH][32];
    for (int at = 0; at < n_all; at += BATCH) {
        int n = n_all - at < BATCH ? n_all - at : BATCH;
        for (int i = 0; i < n; i++) {
            snprintf(bodies[i], sizeof(bodies[i]), "retention %d", at + i);
            items[i] = contract_item(c->project, bodies[i]);
            items[i].received_ms = received_ms(w, at + i);
            snprintf(items[i].id, sizeof(items[i].id), "%032d", at + i + 1);
            memcpy(w->ids[at + i], items[i].id, STORE_ID_TEXT);
        }
        assert_ok(c, contract_insert(c->store, items, (size_t)n, &c->err));
    }
    for (int left = n_all; left > 0;) {
        struct store_job jobs[STORE_ENDS_MAX];
        int numbers[STORE_ENDS_MAX];
        size_t n = contract_claim_all(c, jobs, STORE_ENDS_MAX);
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++)
            numbers[i] = atoi(jobs[i].subject + 20) - 1;
        finish_batch(c, w, jobs, numbers, n);
        left -= (int)n;
    }
}

static struct world *
make_world(struct contract *c, int n)
{
    char upload[STORE_ID_TEXT];
    uint64_t n_unblocked = 0;
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->now = fz_time_now_ms();
    w->n = n;
    add_reports(c, w, n);
    contract_upload(c, c->project, upload);
    struct store_job job = contract_claim(c, upload);
    assert_ok(c, contract_finish_upload(c, &job, "onxabcdef", STORE_SYMBOL_READY, &n_unblocked));
    contract_sql(c,
                 "UPDATE symbol_files SET uploaded_ms = 4000000000000 WHERE substr(uuid, 1, 1) IN "
                 "(x'61', x'62', x'63', x'64', x'65', x'66')",
                 "UPDATE symbol_files SET uploaded_ms = 4000000000000 WHERE substr(uuid, 1, 1) IN "
                 "('\\x61', '\\x62', '\\x63', '\\x64', '\\x65', '\\x66')");
    return w;
}

/* ---- sweeping ---- */

static void
set(struct contract *c, const struct store_retention *retention)
{
    assert_ok(c, store_retention_set(c->store, c->project, retention, &c->err));
}

static struct store_retention_plan *
look(struct contract *c)
{
    struct store_retention_plan *plan = NULL;
    struct store_retention retention;
    bool is_done = false;
    assert_ok(c, store_retention_get(c->store, c->project, &retention, NULL, &c->err));
    assert_ok(c, store_retention_plan_create(c->store, c->project, &retention, &plan, &c->err));
    for (int i = 0; !is_done && i < 1000; i++)
        assert_ok(c, store_retention_look(c->store, plan, &is_done, &c->err));
    assert_true(is_done);
    return plan;
}

/* One sweep; NULL in `ret` is allowed. False: it has to wait. */
static bool
sweep(struct contract *c, struct store_retention_done *ret)
{
    struct store_retention_plan *plan = look(c);
    struct store_retention_done done = {0};
    bool is_held = true, is_done = false;
    assert_ok(c, store_retention_hold(c->store, plan, &is_held, &c->err));
    for (int i = 0; !is_held && !is_done && i < 10000; i++) {
        struct store_retention_done before = done;
        assert_ok(c, store_retention_portion(c->store, plan, &done, &is_done, &c->err));
        assert_true(done.n_reports - before.n_reports <= STORE_RETENTION_PORTION);
    }
    store_retention_plan_destroy(plan);
    if (ret)
        *ret = done;
    return !is_held;
}

static int64_t
reports(struct contract *c)
{
    return contract_count(c, "SELECT count(*) FROM reports");
}

static bool
is_there(struct contract *c, const char *id)
{
    struct store_report report;
    enum fz_code code = store_report_get(c->store, c->project, id, &c->arena, &report, &c->err);
    assert_true(code == FZ_OK || code == FZ_E_NOT_FOUND);
    return code == FZ_OK;
}

static bool
has_symbol(struct contract *c, char name)
{
    struct fz_uuid uuid = contract_uuid(name);
    bool is_unknown = true;
    assert_ok(c, store_symbol_unknown(c->store, c->project, &uuid, 1, &is_unknown, &c->err));
    return !is_unknown;
}

static const char *
counts(struct contract *c)
{
    return fz_arena_printf(
        &c->arena, "%lld %lld %lld %lld %lld",
        (long long)contract_count(c, "SELECT CAST(sum(n_reports) AS bigint) FROM issues"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM issue_hours"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM issue_days"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM version_days"),
        (long long)contract_count(c, "SELECT count(*) FROM facts"));
}

/* ---- tests ---- */

static void
test_age(void **state)
{
    struct contract *c = *state;
    struct store_retention_done done;
    struct store_retention retention;
    struct world *w = make_world(c, REPORTS);
    const char *before = counts(c);
    /* A new project has limits. */
    assert_ok(c, store_retention_get(c->store, c->project, &retention, NULL, &c->err));
    assert_int_equal(retention.report_days, STORE_REPORT_DAYS);
    assert_int_equal(retention.symbol_days, STORE_SYMBOL_DAYS);
    assert_true(retention.keeps_samples);
    struct store_retention_plan *plan = look(c);
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
    struct store_retention_use use;
    assert_ok(c, store_retention_use(c->store, c->project, &use, &c->err));
    assert_true(use.is_estimated);
    int64_t exact =
        contract_count(c, "SELECT CAST(sum(length(body)) AS bigint) FROM report_bodies");
    assert_in_range(use.bodies.bytes, exact * 95 / 100, exact * 105 / 100);
    store_retention_plan_destroy(plan);
    assert_int_equal(reports(c), REPORTS); /* a look changes nothing */
    assert_true(sweep(c, &done));
    assert_int_equal(done.n_reports, n_aged);
    assert_int_equal(done.n_symbols, 1);
    assert_int_equal(reports(c), REPORTS - (int64_t)n_aged);
    assert_true(is_there(c, w->ids[0]) && is_there(c, w->ids[3]) && is_there(c, w->ids[7]));
    assert_false(is_there(c, w->ids[1]));
    assert_false(is_there(c, w->ids[REPORTS / 10 - 5]));
    assert_true(is_there(c, w->ids[REPORTS / 10 + 5]) && is_there(c, w->ids[REPORTS - 1]));
    /* 'o' is that of samples, so it stays. */
    assert_true(has_symbol(c, 'o') && has_symbol(c, 'n') && !has_symbol(c, 'x'));
    assert_string_equal(counts(c), before);
    contract_recount(c);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_bodies"), reports(c));
    assert_int_equal(contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM report_counts"),
                     reports(c));
    /* Nothing more to do. */
    assert_true(sweep(c, &done));
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
    struct world *w = make_world(c, FEWER);
    set(c, &(struct store_retention){.report_days = 90, .symbol_days = 30});
    assert_true(sweep(c, &done));
    assert_in_range(done.n_reports, w->n / 10 - 1, w->n / 10 + 3);
    assert_false(is_there(c, w->ids[0]));
    assert_true(has_symbol(c, 'o')); /* the set of images is still there */
    for (int i = 0; i < 3; i++)
        assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_true(sweep(c, &done)); /* needed until just now */
    assert_true(has_symbol(c, 'o'));
    contract_sql(
        c, "UPDATE symbol_files SET used_ms = used_ms - 31 * 86400000 WHERE used_ms > 0",
        "UPDATE symbol_files SET used_ms = used_ms - 31 * 86400000::bigint WHERE used_ms > 0");
    assert_true(sweep(c, &done));
    assert_int_equal(done.n_symbols, 1);
    assert_true(!has_symbol(c, 'o') && has_symbol(c, 'n'));
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
    struct world *w = make_world(c, REPORTS);
    const char *before = counts(c);
    int64_t often = contract_number_of(c, w->ids[0]);
    assert_ok(c, store_issue_comment(c->store, c->project, often, "anna",
                                     "as in /reports/00000000000000000000000000002501", &c->err));
    set(c, &retention);
    assert_false(sweep(c, &done)); /* two thirds */
    assert_int_equal(reports(c), REPORTS);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_n, REPORTS - 1000);
    assert_true(held.held_ms > 0);
    /* Not for as much as that. */
    assert_ok(c, store_retention_confirm(c->store, c->project, 100, &c->err));
    assert_false(sweep(c, &done));
    assert_ok(c, store_retention_confirm(c->store, c->project, held.held_n, &c->err));
    assert_true(sweep(c, &done));
    assert_int_equal(done.n_reports, REPORTS - 1000);
    assert_int_equal(reports(c), 1000);
    for (int i = 0; i < REPORTS; i++) {
        if (i % 50 == 7)
            assert_true(is_there(c, w->ids[i])); /* rare */
    }
    /* The first, the one with names, the newest, and the one that a comment names. */
    assert_true(is_there(c, w->ids[0]) && is_there(c, w->ids[1000]) &&
                is_there(c, w->ids[REPORTS - 1]) && is_there(c, w->ids[2500]));
    assert_string_equal(counts(c), before);
    contract_recount(c);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_ms + held.held_n + held.allowed, 0);
    assert_true(sweep(c, &done));
    assert_int_equal(done.n_reports, 0);
    free(w);
}

static void
test_bytes(void **state)
{
    struct contract *c = *state;
    struct store_retention_use use, after;
    struct world *w = make_world(c, FEWER);
    assert_ok(c, store_retention_use(c->store, c->project, &use, &c->err));
    int64_t exact =
        contract_count(c, "SELECT CAST(sum(length(body)) AS bigint) FROM report_bodies");
    assert_false(use.is_estimated);
    assert_int_equal(use.n_reports, w->n);
    assert_int_equal(use.bodies.bytes, exact);
    assert_int_equal(use.symbols.n, 9);
    assert_int_equal(use.symbols.bytes, 9 * 77);
    int64_t half = (int64_t)store_retention_bytes(&use) / 2;
    set(c, &(struct store_retention){.bytes_max = half});
    assert_false(sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, w->n, &c->err));
    assert_true(sweep(c, NULL));
    assert_ok(c, store_retention_use(c->store, c->project, &after, &c->err));
    assert_in_range(store_retention_bytes(&after), (uint64_t)half * 95 / 100,
                    (uint64_t)half * 105 / 100);
    contract_recount(c);
    /* Symbol files that are in use are not what reports have to make room for. */
    contract_sql(c, "UPDATE symbol_files SET size = 1000000000",
                 "UPDATE symbol_files SET size = 1000000000");
    set(c, &(struct store_retention){.bytes_max = 2000000});
    struct store_retention_plan *plan = look(c);
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
    set(c, &(struct store_retention){.body_days = 30});
    assert_false(sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, 1, &c->err));
    assert_true(sweep(c, &done));
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
    struct world w = {.now = fz_time_now_ms() + INT64_C(50) * 86400000, .n = 100};
    uint64_t n = 0;
    add_reports(c, &w, 50); /* 50 days old and less */
    contract_sql(
        c,
        "UPDATE projects SET keep_memory = 1; INSERT INTO report_memory SELECT key, project_id, "
        "received_ms, x'00' FROM reports",
        "UPDATE projects SET keep_memory = 1; INSERT INTO report_memory SELECT key, project_id, "
        "received_ms, '\\x00' FROM reports");
    assert_true(sweep(c, NULL));
    assert_int_equal(reports(c), 50);
    static const char year[] =
        "UPDATE reports SET received_ms = received_ms - 31536000000; UPDATE facts SET received_ms "
        "= "
        "received_ms - 31536000000; UPDATE report_memory SET stored_ms = stored_ms - 31536000000; "
        "UPDATE retention SET swept_ms = swept_ms - 31536000000 WHERE swept_ms > 0";
    contract_sql(c, year, year);
    assert_false(sweep(c, NULL));
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
    assert_true(sweep(c, NULL));
    assert_int_equal(reports(c), 50);
    assert_ok(c, store_retention_get(c->store, c->project, &retention, &held, &c->err));
    assert_int_equal(held.held_ms + held.held_n, 0);
    /* A year that has passed: confirmed, all but samples goes. */
    contract_sql(c, year, year);
    assert_false(sweep(c, NULL));
    assert_ok(c, store_retention_confirm(c->store, c->project, 100, &c->err));
    assert_true(sweep(c, NULL));
    assert_in_range(reports(c), 3, 9);
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM report_memory"), 0);
}

/* The settings change while a sweep is under way: what is left of it is not deleted. */
static void
test_change(void **state)
{
    struct contract *c = *state;
    struct world w = {.now = fz_time_now_ms() + INT64_C(50) * 86400000, .n = 800};
    struct store_retention_done done = {0};
    bool is_done = false, is_held = false;
    add_reports(c, &w, 400); /* 50 days old and less */
    set(c, &(struct store_retention){.report_days = 30});
    assert_ok(c, store_retention_confirm(c->store, c->project, 400, &c->err));
    struct store_retention_plan *plan = look(c);
    assert_ok(c, store_retention_hold(c->store, plan, &is_held, &c->err));
    assert_false(is_held);
    assert_ok(c, store_retention_portion(c->store, plan, &done, &is_done, &c->err));
    assert_int_equal(done.n_reports, STORE_RETENTION_PORTION);
    set(c, &(struct store_retention){.report_days = 80});
    assert_fails(c, FZ_E_CONFLICT,
                 store_retention_portion(c->store, plan, &done, &is_done, &c->err));
    assert_int_equal(reports(c), 400 - STORE_RETENTION_PORTION);
    store_retention_plan_destroy(plan);
    assert_true(sweep(c, NULL));
    assert_int_equal(reports(c), 400 - STORE_RETENTION_PORTION);
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
    sweep(&own, NULL);
    _exit(0);
}

/* Killed at five moments, it goes on: nothing is half deleted, no count is wrong. */
static void
test_kill(void **state)
{
    struct contract *c = *state;
    struct world *w = make_world(c, 2 * FEWER);
    const char *before = counts(c);
    int n_killed = 0;
    set(c, &(struct store_retention){.report_max = 200, .body_days = 20, .keeps_samples = true});
    assert_ok(c, store_retention_confirm(c->store, c->project, 3 * w->n, &c->err));
    for (int i = 0; i < 5; i++) {
        int64_t left = reports(c);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            run_and_die(c);
        /* Once it has begun to delete. */
        int status = 0;
        bool is_over = false;
        while (!is_over && reports(c) >= left)
            is_over = waitpid(child, &status, WNOHANG) == child;
        if (!is_over) {
            kill(child, SIGKILL);
            assert_int_equal(waitpid(child, &status, 0), child);
            n_killed += WIFSIGNALED(status);
        }
        assert_string_equal(counts(c), before);
        assert_int_equal(contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM report_counts"),
                         reports(c));
        assert_int_equal(contract_count(c, "SELECT count(*) FROM facts f WHERE report_key > 0"),
                         reports(c));
    }
    assert_true(n_killed >= 3);
    assert_ok(c, store_retention_confirm(c->store, c->project, 3 * w->n, &c->err));
    assert_true(sweep(c, NULL));
    assert_int_equal(reports(c), 200);
    assert_int_equal(
        contract_count(c, "SELECT count(*) FROM report_bodies b JOIN reports r ON r.key = "
                          "b.report_key WHERE r.has_body = 0"),
        0);
    assert_int_equal(
        contract_count(c, "SELECT count(*) FROM reports r WHERE r.has_body = 1 AND NOT EXISTS "
                          "(SELECT 1 FROM report_bodies b WHERE b.report_key = r.key)"),
        0);
    assert_string_equal(counts(c), before);
    contract_recount(c);
    free(w);
}

int
contract_run_retention(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_age),    contract_test(test_strict), contract_test(test_thin),
        contract_test(test_bytes),  contract_test(test_bodies), contract_test(test_clock),
        contract_test(test_change), contract_test(test_kill),
    };
    return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
