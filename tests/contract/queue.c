/* The order of claims: priorities, projects, kinds; and what the queue costs when it is full. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/sql/sql.h"
#include "storage/store_private.h"

static void
post(struct contract *c, int64_t project, int n, char ret_ids[][STORE_ID_TEXT])
{
    static int number;
    for (int i = 0; i < n; i++) {
        char body[32];
        snprintf(body, sizeof(body), "report %d", number++);
        contract_report(c, project, body, ret_ids[i]);
    }
}

/* n reports that are done and wait for image `x`. */
static void
post_waiting(struct contract *c, int64_t project, int n, char ret_ids[][STORE_ID_TEXT])
{
    post(c, project, n, ret_ids);
    for (int i = 0; i < n; i++) {
        struct store_job job = contract_claim(c, NULL);
        assert_ok(c, contract_finish(c, &job, "x"));
    }
}

/* Claim the upload, whatever else there is. */
static struct store_job
claim_upload(struct contract *c, const char *id)
{
    struct store_job jobs[64], found = {0};
    size_t n = contract_claim_all(c, jobs, 64);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(jobs[i].subject, id) == 0)
            found = jobs[i];
        else
            assert_ok(c, store_job_release(c->store, &jobs[i], &c->err));
    }
    assert_int_equal(found.kind, STORE_JOB_UPLOAD);
    return found;
}

static uint64_t
upload_symbols(struct contract *c, int64_t project)
{
    char id[STORE_ID_TEXT];
    uint64_t n = 99;
    contract_upload(c, project, id);
    struct store_job job = claim_upload(c, id);
    assert_ok(c, contract_finish_upload(c, &job, "x", STORE_SYMBOL_READY, &n));
    return n;
}

static struct store_queue
counts(struct contract *c)
{
    struct store_queue queue;
    assert_ok(c, store_queue_counts(c->store, &queue, &c->err));
    return queue;
}

static void
test_fresh_goes_first(void **state)
{
    struct contract *c = *state;
    char late[3][STORE_ID_TEXT], done[1][STORE_ID_TEXT], fresh[2][STORE_ID_TEXT],
        build[STORE_ID_TEXT];
    post_waiting(c, c->project, 3, late);
    post(c, c->project, 1, done);
    struct store_job job = contract_claim(c, done[0]);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_int_equal(upload_symbols(c, c->project), 3);
    assert_ok(c, store_report_reprocess(c->store, c->project, done[0], &c->err));
    /* What is asked for goes before what happens by itself, even if it was queued after it. */
    assert_ok(c, store_report_reprocess(c->store, c->project, late[2], &c->err));
    post(c, c->project, 2, fresh);
    contract_upload(c, c->project, build);
    struct store_queue queue = counts(c);
    assert_int_equal(queue.n_waiting, 7);
    assert_int_equal(queue.n_fresh, 3);
    assert_int_equal(queue.n_asked, 2);
    assert_int_equal(queue.n_late, 2);
    struct store_job jobs[8];
    size_t n = contract_claim_all(c, jobs, 8), at = 0;
    assert_int_equal(n, 7);
    const char *order[6];
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].kind == STORE_JOB_UPLOAD)
            assert_string_equal(jobs[i].subject, build);
        else
            order[at++] = jobs[i].subject;
    }
    assert_string_equal(order[0], fresh[0]);
    assert_string_equal(order[1], fresh[1]);
    assert_true(strcmp(order[2], done[0]) == 0 || strcmp(order[2], late[2]) == 0);
    assert_true(strcmp(order[3], done[0]) == 0 || strcmp(order[3], late[2]) == 0);
    assert_string_equal(order[4], late[0]);
    assert_string_equal(order[5], late[1]);
    queue = counts(c);
    assert_int_equal(queue.n_waiting, 0);
    assert_int_equal(queue.n_running, 7);
}

/* A flood of fresh reports slows the others down but does not stop them. */
static void
test_late_is_not_starved(void **state)
{
    struct contract *c = *state;
    char late[1][STORE_ID_TEXT], asked[1][STORE_ID_TEXT], fresh[40][STORE_ID_TEXT];
    post_waiting(c, c->project, 1, late);
    post(c, c->project, 1, asked);
    struct store_job job = contract_claim(c, asked[0]);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_int_equal(upload_symbols(c, c->project), 1);
    assert_ok(c, store_report_reprocess(c->store, c->project, asked[0], &c->err));
    post(c, c->project, 40, fresh);
    int late_at = -1, asked_at = -1;
    for (int i = 0; i < 20; i++) {
        job = contract_claim(c, NULL);
        late_at = strcmp(job.subject, late[0]) == 0 ? i : late_at;
        asked_at = strcmp(job.subject, asked[0]) == 0 ? i : asked_at;
    }
    assert_true(late_at >= 0 && asked_at >= 0);
}

/* One that is tried again stays where it belongs. */
static void
test_retries_keep_their_priority(void **state)
{
    struct contract *c = *state;
    char late[2][STORE_ID_TEXT], fresh[1][STORE_ID_TEXT];
    post_waiting(c, c->project, 2, late);
    assert_int_equal(upload_symbols(c, c->project), 2);
    struct store_job job = contract_claim(c, late[0]);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "x", false, &c->err));
    struct store_queue queue = counts(c);
    assert_int_equal(queue.n_waiting, 2);
    assert_int_equal(queue.n_delayed, 1);
    static const char pass[] = "UPDATE jobs SET due_ms = 1 WHERE due_ms > 0";
    contract_sql(c, pass, pass);
    post(c, c->project, 1, fresh);
    contract_claim(c, fresh[0]);
    contract_claim(c, late[0]);
    contract_claim(c, late[1]);
}

/* Sets of images go with the last report that has them; what ended long ago goes too. */
static void
test_sweep_rows(void **state)
{
    struct contract *c = *state;
    char ids[2][STORE_ID_TEXT], id[STORE_ID_TEXT];
    struct store_upload upload;
    uint64_t n = 0;
    post_waiting(c, c->project, 2, ids);
    contract_upload(c, c->project, id);
    struct store_job job = claim_upload(c, id);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_LIMIT, "x", false, &c->err));
    assert_ok(c, store_report_delete(c->store, c->project, ids[0], &c->err));
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(n, 0);
    assert_ok(c, store_report_delete(c->store, c->project, ids[1], &c->err));
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(n, 2); /* its images, and those it waited for */
    assert_ok(c, store_upload_get(c->store, c->project, id, &c->arena, &upload, &c->err));
    static const char age[] = "UPDATE uploads SET created_ms = created_ms - 2700000000";
    contract_sql(c, age, age);
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(n, 1);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_upload_get(c->store, c->project, id, &c->arena, &upload, &c->err));
    /* A set that is needed again is made again. */
    post_waiting(c, c->project, 1, ids);
    assert_int_equal(upload_symbols(c, c->project), 1);
}

/* Leases and back-offs that end further ahead than any can were made by another clock. */
static void
test_times_of_another_clock(void **state)
{
    struct contract *c = *state;
    static const char later[] = "UPDATE jobs SET due_ms = due_ms + 86400000 WHERE due_ms > 0";
    char id[1][STORE_ID_TEXT];
    post(c, c->project, 1, id);
    struct store_job first = contract_claim(c, id[0]), job;
    assert_int_equal(contract_claim_all(c, &job, 1), 0);
    contract_sql(c, later, later);
    job = contract_claim(c, id[0]);
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &first, NULL));
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "x", false, &c->err));
    assert_int_equal(contract_claim_all(c, &first, 1), 0);
    contract_sql(c, later, later);
    contract_claim(c, id[0]);
}

static bool
nobody(void *user, const char *worker)
{
    (void)user;
    (void)worker;
    return false;
}

/* After a reboot the machine counts anew: what it said before does not hold, and nothing is young. */
static void
test_another_boot(void **state)
{
    struct contract *c = *state;
    char ids[3][STORE_ID_TEXT];
    struct store_job job;
    uint64_t n = 0;
    if (!contract_is_sqlite(c))
        skip(); /* its clock is a calendar */
    assert_ok(c, store_job_reclaim(c->store, nobody, NULL, &n, &c->err));
    post(c, c->project, 3, ids);
    contract_claim(c, ids[0]);
    job = contract_claim(c, ids[1]);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "x", false, &c->err));
    static const char reboot[] =
        "UPDATE queue_clock SET boot = 'earlier'; UPDATE jobs SET queued_ms = queued_ms - 50000, "
        "since_ms = since_ms + 3000000, due_ms = CASE WHEN due_ms > 0 THEN due_ms + 300000 ELSE 0 "
        "END";
    contract_sql(c, reboot, reboot);
    assert_ok(c, store_job_reclaim(c->store, nobody, NULL, &n, &c->err));
    assert_in_range(counts(c).oldest_ms, 50000, 150000);
    struct store_job jobs[8];
    assert_int_equal(contract_claim_all(c, jobs, 8), 3);
}

/* A project with 40 expensive reports delays another's cheap one by one job. */
static void
test_projects_share(void **state)
{
    struct contract *c = *state;
    char dear[40][STORE_ID_TEXT], cheap[10][STORE_ID_TEXT];
    post(c, c->project, 40, dear);
    struct store_job job = contract_claim(c, dear[0]), jobs[8];
    store_job_spent(c->store, &job, 500000);
    /* It is known to be dear by now, so one claim takes no more than one. */
    assert_int_equal(contract_claim_all(c, jobs, 8), 1);
    store_job_spent(c->store, &jobs[0], 500000);
    post(c, c->other, 10, cheap);
    for (int i = 0; i < 10; i++) {
        job = contract_claim(c, cheap[i]);
        store_job_spent(c->store, &job, 1000);
    }
    /* Half and half of the time where both have enough: 500 cheap ones to a dear one. */
    int n_cheap = 0;
    for (int i = 0; i < 30; i++) {
        char one[1][STORE_ID_TEXT];
        post(c, c->other, 1, one);
        job = contract_claim(c, NULL);
        store_job_spent(c->store, &job, job.project_id == c->other ? 1000 : 500000);
        n_cheap += job.project_id == c->other;
    }
    assert_in_range(n_cheap, 28, 30);
    assert_int_equal(counts(c).n_delayed, 0);
}

static void
test_equal_projects_take_turns(void **state)
{
    struct contract *c = *state;
    char a[20][STORE_ID_TEXT], b[20][STORE_ID_TEXT];
    post(c, c->project, 20, a); /* all of them before the other's */
    post(c, c->other, 20, b);
    int n[2] = {0};
    for (int i = 0; i < 20; i++) {
        struct store_job job = contract_claim(c, NULL);
        n[job.project_id == c->other]++;
        store_job_spent(c->store, &job, 2000);
    }
    assert_int_equal(n[0], 10);
    assert_int_equal(n[1], 10);
    struct store_job jobs[8];
    size_t n_jobs = contract_claim_all(c, jobs, 8), n_other = 0;
    for (size_t i = 0; i < n_jobs; i++)
        n_other += jobs[i].project_id == c->other;
    assert_int_equal(n_jobs, 8);
    assert_int_equal(n_other, 4);
}

/* Claim up to 64 jobs, each of which takes 5 ms. */
static size_t
claim_of_5_ms(struct contract *c)
{
    struct store_job jobs[64];
    size_t n = contract_claim_all(c, jobs, 64);
    for (size_t i = 0; i < n; i++)
        store_job_spent(c->store, &jobs[i], 5000);
    return n;
}

/* While fresh reports are more than one claim takes, the next one takes more of them. */
static void
test_claims_grow(void **state)
{
    struct contract *c = *state;
    static const struct {
        size_t n;
        int64_t hold_ms;
    } claims[] = {{4, 20}, {8, 40}, {16, 80}, {32, 160}, {32, 160}, {7, 160}};
    char ids[99][STORE_ID_TEXT];
    post(c, c->project, 1, ids);
    assert_int_equal(claim_of_5_ms(c), 1); /* what one takes is known from then on */
    post(c, c->project, 99, ids);
    for (size_t i = 0; i < FZ_ARRAY_LEN(claims); i++) {
        assert_int_equal(claim_of_5_ms(c), claims[i].n);
        assert_int_equal(store_job_hold_ms(c->store), claims[i].hold_ms);
    }
    post(c, c->project, 30, ids);
    assert_int_equal(claim_of_5_ms(c), 4);
    assert_int_equal(claim_of_5_ms(c), 8);
    /* Not of what somebody asked to have done again. */
    contract_sql(c, "UPDATE jobs SET priority = 1 WHERE state = 0",
                 "UPDATE jobs SET priority = 1 WHERE state = 0");
    post(c, c->project, 1, ids);
    assert_int_equal(claim_of_5_ms(c), 4);
    assert_int_equal(store_job_hold_ms(c->store), 80);
    assert_int_equal(claim_of_5_ms(c), 4);
    assert_int_equal(store_job_hold_ms(c->store), 20);
    /* Nor without work. */
    while (claim_of_5_ms(c) > 0)
        continue;
    assert_int_equal(store_job_hold_ms(c->store), 20);
}

static void
test_no_uploads(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], reports[1][STORE_ID_TEXT];
    struct store_job job;
    for (int i = 0; i < 3; i++)
        contract_upload(c, c->project, id);
    post(c, c->project, 1, reports);
    store_job_no_uploads(c->store, true);
    contract_claim(c, reports[0]);
    assert_int_equal(contract_claim_all(c, &job, 1), 0);
    store_job_no_uploads(c->store, false);
    assert_int_equal(contract_claim(c, NULL).kind, STORE_JOB_UPLOAD);
    /* Reports that are done again, once they are known to take long. */
    post(c, c->other, 1, reports);
    store_job_no_uploads(c->store, true);
    job = contract_claim(c, reports[0]);
    store_job_spent(c->store, &job, 500000);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_ok(c, store_report_reprocess(c->store, c->other, reports[0], &c->err));
    assert_int_equal(contract_claim_all(c, &job, 1), 0);
    store_job_no_uploads(c->store, false);
    bool found = false;
    for (int i = 0; i < 3; i++) /* with the two uploads that are left */
        found = strcmp(contract_claim(c, NULL).subject, reports[0]) == 0 || found;
    assert_true(found);
}

/* More reports than one portion queues; of several sets; the count is of those that were queued. */
static void
test_unblock_in_portions(void **state)
{
    struct contract *c = *state;
    enum { MANY = 1203 };
    static struct store_report_new items[MANY];
    for (int i = 0; i < MANY; i++) {
        char body[32];
        snprintf(body, sizeof(body), "many %d", i);
        items[i] = contract_item(c->project, body);
        items[i].body = fz_span_cstr("{}");
        items[i].received_ms += i % 7;
    }
    assert_ok(c, contract_insert(c->store, items, MANY, &c->err));
    struct store_job jobs[64];
    size_t n = 0, n_done = 0;
    while ((n = contract_claim_all(c, jobs, 64)) > 0)
        for (size_t i = 0; i < n; i++, n_done++)
            assert_ok(c, contract_finish(c, &jobs[i], n_done % 3 ? "x" : "xy"));
    assert_int_equal(n_done, MANY);
    assert_ok(c, store_report_reprocess(c->store, c->project, items[5].id, &c->err));
    assert_int_equal(upload_symbols(c, c->project), MANY - 1); /* one has a job already */
    assert_int_equal(counts(c).n_late, MANY - 1);
    assert_int_equal(counts(c).n_asked, 1);
    /* It was queued by the first file; the second changes nothing. */
    assert_int_equal(upload_symbols(c, c->project), 0);
}

/* A worker is lost in the middle of it: the next one goes on, and the count is that of both. */
static void
test_unblock_goes_on(void **state)
{
    struct contract *c = *state;
    char late[4][STORE_ID_TEXT], id[STORE_ID_TEXT];
    uint64_t n = 0;
    post_waiting(c, c->project, 4, late);
    contract_upload(c, c->project, id);
    struct store_job job = claim_upload(c, id);
    /* As its first portion would have left it. */
    char text[256];
    snprintf(text, sizeof(text),
             "UPDATE uploads SET n_unblocked = 2; INSERT INTO jobs (project_id, kind, subject, "
             "priority, due_ms, queued_ms) SELECT project_id, 1, id, 2, 0, 1 FROM reports "
             "ORDER BY key LIMIT 2; UPDATE jobs SET due_ms = 1 WHERE kind = 2");
    contract_sql(c, text, text);
    struct store_job second = claim_upload(c, id);
    assert_fails(c, FZ_E_CONFLICT, contract_finish_upload(c, &job, "x", STORE_SYMBOL_READY, &n));
    assert_ok(c, contract_finish_upload(c, &second, "x", STORE_SYMBOL_READY, &n));
    assert_int_equal(n, 4);
}

static void
test_age_of_the_oldest(void **state)
{
    struct contract *c = *state;
    char ids[2][STORE_ID_TEXT];
    assert_int_equal(counts(c).oldest_ms, 0);
    post(c, c->project, 2, ids);
    static const char age[] = "UPDATE jobs SET since_ms = since_ms - 70000";
    contract_sql(c, age, age);
    assert_in_range(counts(c).oldest_ms, 70000, 170000);
    struct store_counts all;
    assert_ok(c, store_counts(c->store, &all, &c->err));
    assert_int_equal(all.jobs_queued, 2);
    assert_in_range(all.oldest_queued_ms, 70000, 170000);
}

/* What a claim asks for must come out of an index, however long the queue is. */
static void
test_claims_use_the_index(void **state)
{
    struct contract *c = *state;
    static const char many[] =
        "WITH RECURSIVE at (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i < 20000) "
        "INSERT INTO jobs (project_id, kind, subject, priority, due_ms, queued_ms) "
        "SELECT (SELECT min(id) FROM projects), 1, 'late' || i, 2, 0, 1 FROM at";
    contract_sql(c, many, many);
    bool is_sqlite = contract_is_sqlite(c);
    struct sql *sql = NULL;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    struct sql_rows rows = {0};
    char text[2048];
    bool row = true;
    snprintf(text, sizeof(text), "%s %s", is_sqlite ? "EXPLAIN QUERY PLAN" : "EXPLAIN",
             store_lanes_query);
    const struct sql_value args[] = {sql_int(0), sql_int(100)};
    assert_ok(c, sql_query_once(sql, text, args, 2, &rows, &c->err));
    int n_index = 0;
    while (sql_next(&rows, &row, &c->err) == FZ_OK && row) {
        char line[512];
        sql_col_copy(&rows, is_sqlite ? 3 : 0, line, sizeof(line));
        if (strstr(line, "jobs_ready"))
            n_index++;
        else if (strstr(line, "jobs") || strstr(line, "SCAN j"))
            fail_msg("not by the index: %s", line);
    }
    assert_true(n_index > 0); /* PostgreSQL does not show what is inside the recursion */
    sql_rows_close(&rows);
    sql_close(sql);
}

int
contract_run_queue(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_fresh_goes_first),
        contract_test(test_late_is_not_starved),
        contract_test(test_retries_keep_their_priority),
        contract_test(test_sweep_rows),
        contract_test(test_times_of_another_clock),
        contract_test(test_another_boot),
        contract_test(test_projects_share),
        contract_test(test_equal_projects_take_turns),
        contract_test(test_claims_grow),
        contract_test(test_no_uploads),
        contract_test(test_unblock_in_portions),
        contract_test(test_unblock_goes_on),
        contract_test(test_age_of_the_oldest),
        contract_test(test_claims_use_the_index),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
