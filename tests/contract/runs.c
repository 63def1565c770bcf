/*
 * Reports of one run of an app: a crash that arrives several times is counted once, in any order.
 */
#include "issue_case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "storage/sql/sql.h"
#include "storage/store_runs.h"

enum { RUNS = 25, REPORTS = 4, CHILDREN = 4 };

static enum fz_code
finish(struct contract *c, const struct store_job *job, const char *run, const char *ends)
{
    const struct store_report_done done = {
        .status = STORE_REPORT_SYMBOLICATED,
        .values = contract_values(c, (const char *const[]){"run_id", run, "ends_run", ends, NULL}),
        .result = fz_span_cstr("{}")};
    return store_job_finish_report(c->store, job, &done, &c->err);
}

/* A report of this run, finished. */
static const char *
add(struct contract *c, int64_t project, const char *run, const char *ends)
{
    char *id = fz_arena_alloc(&c->arena, STORE_ID_TEXT), body[64];
    static int n;
    assert_non_null(id);
    snprintf(body, sizeof(body), "report %d", n++);
    contract_report(c, project, body, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, finish(c, &job, run, ends));
    return id;
}

static void
again(struct contract *c, const char *id, const char *run, const char *ends)
{
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    struct store_job job = contract_claim(c, id);
    assert_ok(c, finish(c, &job, run, ends));
}

/* same_as (NULL = counted), then the other reports of the crash, then NULL. */
static void
expect_others(struct contract *c, const char *id, const char *const *texts, int line)
{
    const char *same_as = texts[0], *const *others = texts + 1;
    struct store_report report;
    const char *const *found = NULL;
    size_t n = 0, want = 0;
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_ok(c, store_report_same_crash(c->store, &report, &c->arena, &found, &n, &c->err));
    const char *is = contract_text(&report, "same_as");
    if ((is == NULL) != (same_as == NULL) || (is && strcmp(is, same_as) != 0))
        fail_msg("line %d: the same as %s", line, is ? is : "none");
    while (others[want])
        want++;
    if (n != want)
        fail_msg("line %d: %zu others", line, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(found[i], others[i]);
}
#define expect(c, id, ...) \
    expect_others((c), (id), (const char *const[]){__VA_ARGS__, NULL}, __LINE__)

static void
test_counted_once(void **state)
{
    struct contract *c = *state;
    const char *hang = add(c, c->project, "run", "0");
    const char *first = add(c, c->project, "run", "1");
    const char *second = add(c, c->project, "run", "1");
    const char *third = add(c, c->project, "run", "1");
    const char *other_run = add(c, c->project, "Run", "1");
    const char *none[] = {add(c, c->project, NULL, "0"), add(c, c->project, NULL, "0")};
    add(c, c->other, "run", "1");
    expect(c, first, NULL, second, third);
    expect(c, second, first, first, third);
    expect(c, third, first, first, second);
    /* What does not end a run is no part of its crash, and is not counted with it either. */
    expect(c, hang, NULL);
    expect(c, other_run, NULL);
    expect(c, none[0], NULL);
    expect(c, none[1], NULL);
    /* Each one may be done again, as often as one likes. */
    again(c, first, "run", "1");
    again(c, third, "run", "1");
    expect(c, first, NULL, second, third);
    expect(c, third, first, first, second);
}

static void
test_counted_one_goes(void **state)
{
    struct contract *c = *state;
    const char *ids[4];
    for (size_t i = 0; i < FZ_ARRAY_LEN(ids); i++)
        ids[i] = add(c, c->project, "run", "1");
    assert_ok(c, store_report_delete(c->store, c->project, ids[2], &c->err));
    expect(c, ids[0], NULL, ids[1], ids[3]);
    assert_ok(c, store_report_delete(c->store, c->project, ids[0], &c->err));
    expect(c, ids[1], NULL, ids[3]);
    expect(c, ids[3], ids[1], ids[1]);
    /* A newer program finds that the run went on: it is no crash of it any more. */
    again(c, ids[1], "run", "0");
    expect(c, ids[1], NULL);
    expect(c, ids[3], NULL);
    /* Or that it was one after all; the counted one stays. */
    again(c, ids[1], "run", "1");
    expect(c, ids[1], ids[3], ids[3]);
    /* Or another run. */
    const char *moved = add(c, c->project, "2", "1");
    again(c, ids[3], "2", "1");
    expect(c, ids[3], moved, moved);
    expect(c, ids[1], NULL);
}

/* What was counted stays counted, whatever is deleted and comes later. */
static void
test_counts_outlive_reports(void **state)
{
    struct contract *c = *state;
    const struct contract_group crash = {.stack = "A", .key = "a", .variant = "x", .run = "run"};
    const struct contract_group other = {.stack = "A", .key = "a", .variant = "x", .run = "Run"};
    const struct contract_group hang = {.stack = "A", .key = "a", .variant = "x"};
    const char *ids[3];
    char queued[STORE_ID_TEXT];
    ids[0] = contract_group_add(c, &crash);
    assert_ok(c, store_report_delete(c->store, c->project, ids[0], &c->err));
    ids[0] = contract_group_add(c, &crash);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    /* It is the only report of the crash, but not the one that was counted. */
    expect(c, ids[0], NULL);
    ids[1] = contract_group_add(c, &crash);
    expect(c, ids[1], ids[0], ids[0]);
    contract_group_again(c, ids[0], &crash);
    assert_ok(c, store_report_delete(c->store, c->project, ids[0], &c->err));
    contract_group_again(c, ids[1], &crash);
    assert_ok(c, store_report_delete(c->store, c->project, ids[1], &c->err));
    contract_group_add(c, &crash);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    /* Neither does another run lose its count, nor what is no end of a run. */
    contract_group_add(c, &other);
    ids[2] = contract_group_add(c, &hang);
    assert_ok(c, store_report_delete(c->store, c->project, ids[2], &c->err));
    contract_group_add(c, &hang);
    assert_int_equal(contract_issue(c, 1).n_reports, 4);
    /* One that was deleted before it was processed was not counted. */
    contract_report(c, c->project, "queued", queued);
    assert_ok(c, store_report_delete(c->store, c->project, queued, &c->err));
    contract_recount(c);
}

/* What passes through is neither counted nor in the way of what is stored. */
static void
test_transient(void **state)
{
    struct contract *c = *state;
    struct store_report_new item = contract_item(c->project, "passing");
    item.transient = true;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    struct store_job job = contract_claim(c, item.id);
    assert_ok(c, finish(c, &job, "run", "1"));
    const char *stored = add(c, c->project, "run", "1");
    expect(c, stored, NULL);
}

/* The filter and the longest run id that is kept. */
static void
test_list(void **state)
{
    struct contract *c = *state;
    struct store_report *reports;
    const char *next;
    char run[400];
    size_t n = 0;
    memset(run, 'r', sizeof(run) - 1);
    run[sizeof(run) - 1] = '\0';
    const char *first = add(c, c->project, run, "1"), *second = add(c, c->project, run, "1");
    expect(c, second, first, first);
    run[256] = '\0';
    const struct contract_where where = {"run_id", run};
    const struct contract_filter filter = {.where = &where, .n_where = 1};
    assert_ok(c, contract_report_list(c, c->project, &filter, NULL, 10, &reports, &n, &next));
    assert_int_equal(n, 2);
}

/* ---- several workers ---- */

/* A thread with a connection of its own, that does one thing while a transaction of the test holds what it needs. */
struct beside {
    struct contract own;
    struct store_job job;
    const char *id;
    enum fz_code code;
    atomic_bool is_done;
    struct sql *sql, *tx, *watch; /* of the test */
    pthread_t thread;
};

static void *
finish_in_thread(void *user)
{
    struct beside *b = user;
    b->code = finish(&b->own, &b->job, "run", "1");
    atomic_store(&b->is_done, true);
    return NULL;
}

static void *
delete_in_thread(void *user)
{
    struct beside *b = user;
    b->code = store_report_delete(b->own.store, b->own.project, b->id, &b->own.err);
    atomic_store(&b->is_done, true);
    return NULL;
}

/* The report `gone` is deleted by a transaction that has looked for others already, and ends when the thread waits for it. */
static void
run_beside(struct contract *c, struct beside *b, const char *gone, void *(*body)(void *))
{
    const struct sql_value args[] = {sql_text(gone)};
    int64_t n = 0;
    b->own = *c;
    b->own.store = contract_open(c);
    fz_arena_init(&b->own.arena, 1 << 20);
    assert_ok(c, sql_open(c->url, false, &b->sql, &c->err));
    assert_ok(c, sql_open(c->url, false, &b->watch, &c->err));
    assert_ok(c, sql_begin(b->sql, &b->tx, &c->err));
    assert_ok(c, sql_exec(b->tx, "DELETE FROM reports WHERE id = $1", args, 1, NULL, &c->err));
    assert_int_equal(pthread_create(&b->thread, NULL, body, b), 0);
    /* SQLite has one writer at a time, so there it waits in any case. */
    while (!contract_is_sqlite(c) && n == 0 && !atomic_load(&b->is_done))
        assert_ok(c, sql_number(b->watch, "SELECT count(*) FROM pg_locks WHERE NOT granted", NULL,
                                0, &n, NULL, &c->err));
    assert_ok(c, sql_commit(&b->tx, &c->err));
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    assert_int_equal(b->code, FZ_OK);
    sql_close(b->watch);
    sql_close(b->sql);
    store_close(b->own.store);
    fz_arena_deinit(&b->own.arena);
}

/* Whoever finishes another report waits for the end of the counted one, and does not refer to what is gone. */
static void
test_counted_one_is_going(void **state)
{
    struct contract *c = *state;
    struct beside b = {.code = FZ_OK};
    char second[STORE_ID_TEXT];
    const char *first = add(c, c->project, "run", "1");
    contract_report(c, c->project, "second", second);
    b.job = contract_claim(c, second);
    run_beside(c, &b, first, finish_in_thread);
    expect(c, second, NULL);
}

/* The counted one is deleted while the one that would take its place is, too: the next one takes it. */
static void
test_heir_is_going(void **state)
{
    struct contract *c = *state;
    const char *first = add(c, c->project, "run", "1"), *heir = add(c, c->project, "run", "1");
    const char *third = add(c, c->project, "run", "1"), *fourth = add(c, c->project, "run", "1");
    struct beside b = {.id = first};
    run_beside(c, &b, heir, delete_in_thread);
    expect(c, third, NULL, fourth);
    expect(c, fourth, third, third);
}

/* Each child finishes what it can get; some reports are done again or deleted meanwhile. */
static int
work(struct contract *c, int i, void *user)
{
    struct store_job job;
    size_t n = 1;
    int n_done = i;
    (void)user;
    if (store_set_columns(c->store, &report_columns, &c->err) != FZ_OK)
        return 1;
    while (n > 0) {
        struct fz_span run;
        if (store_job_claim(c->store, "child", 1, 60000, &job, &n, &c->err) != FZ_OK)
            return 1;
        if (n == 0)
            return 0;
        if (store_report_body(c->store, c->project, job.subject, &c->arena, &run, &c->err) !=
            FZ_OK) {
            /* Another child deleted it after the claim. */
            continue;
        }
        const char *text = fz_arena_text(&c->arena, run);
        char name[8] = "";
        memcpy(name, text, strcspn(text, "."));
        enum fz_code code = finish(c, &job, name, "1");
        if (code != FZ_OK && code != FZ_E_CONFLICT)
            return 1;
        n_done++;
        if (n_done % 5 == 0)
            code = store_report_delete(c->store, c->project, job.subject, &c->err);
        else if (n_done % 3 == 0)
            code = store_report_reprocess(c->store, c->project, job.subject, &c->err);
        if (code != FZ_OK && code != FZ_E_NOT_FOUND && code != FZ_E_CONFLICT)
            return 1;
    }
    return 0;
}

static int64_t
count(struct contract *c, const char *query)
{
    struct sql *sql = NULL;
    int64_t n = -1;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    assert_ok(c, sql_number(sql, query, NULL, 0, &n, NULL, &c->err));
    sql_close(sql);
    return n;
}

static void
test_many_workers(void **state)
{
    struct contract *c = *state;
    /* Neighbours in the queue are of one run, so that workers have them at the same time. */
    for (int i = 0; i < RUNS * REPORTS; i++) {
        char id[STORE_ID_TEXT], body[32];
        snprintf(body, sizeof(body), "%d.%d", i / REPORTS, i % REPORTS);
        contract_report(c, c->project, body, id);
    }
    contract_fork(c, CHILDREN, work, NULL);
    assert_true(count(c, "SELECT count(*) FROM reports WHERE same_as IS NOT NULL") > RUNS / 2);
    assert_int_equal(count(c, "SELECT count(*) FROM reports WHERE ends_run = 0"), 0);
    assert_int_equal(count(c, "SELECT count(*) FROM (SELECT 1 FROM reports GROUP BY run_id HAVING "
                              "count(*) - count(same_as) <> 1) AS wrong"),
                     0);
    assert_int_equal(count(c, "SELECT count(*) FROM reports r WHERE same_as IS NOT NULL AND NOT "
                              "EXISTS (SELECT 1 FROM reports counted WHERE counted.id = r.same_as "
                              "AND counted.run_id = r.run_id AND counted.same_as IS NULL)"),
                     0);
}

int
contract_run_runs(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_counted_once),
        contract_test(test_counted_one_goes),
        contract_test(test_counts_outlive_reports),
        contract_test(test_transient),
        contract_test(test_list),
        contract_test(test_counted_one_is_going),
        contract_test(test_heir_is_going),
        contract_test(test_many_workers),
    };
    return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
