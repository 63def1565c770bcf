#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"

/* Make every lease and every back-off end now, as time would. */
static void
let_time_pass(struct contract *c)
{
    static const char update[] = "UPDATE jobs SET due_ms = 1 WHERE state < 2";
    contract_sql(c, update, update);
}

static enum store_report_status
status_of(struct contract *c, const char *id, const char **ret_error)
{
    struct store_report report;
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    if (ret_error)
        *ret_error = report.error;
    return report.status;
}

static void
test_lease(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_job first, second;
    contract_report(c, c->project, "a", id);
    first = contract_claim(c, id);
    assert_true(first.queued_ms > 1600000000000);
    assert_string_equal(first.reader, "framezero");
    assert_int_equal(contract_claim_all(c, &second, 1), 0);
    let_time_pass(c);
    /* It ran out, but nobody took the job: still ours. */
    assert_ok(c, store_job_heartbeat(c->store, &first, 60000, &c->err));
    assert_int_equal(contract_claim_all(c, &second, 1), 0);
    let_time_pass(c);
    second = contract_claim(c, id);
    assert_int_equal(second.id, first.id);
    assert_int_equal(second.attempt, 2);
    assert_string_equal(second.reader, "framezero");
    assert_true(second.fence > first.fence);
    /* The first worker comes back to life: nothing it says counts. */
    assert_fails(c, FZ_E_CONFLICT, store_job_heartbeat(c->store, &first, 60000, &c->err));
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &first, "x"));
    assert_fails(c, FZ_E_CONFLICT,
                 store_job_fail(c->store, &first, FZ_E_MALFORMED, "no", false, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_job_release(c->store, &first, &c->err));
    assert_int_equal(status_of(c, id, NULL), STORE_REPORT_QUEUED);
    assert_ok(c, contract_finish(c, &second, NULL));
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &second, NULL));
    assert_int_equal(status_of(c, id, NULL), STORE_REPORT_SYMBOLICATED);
}

/* A real lease, judged by the database's clock. */
static void
test_lease_ends_by_itself(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_job job;
    size_t n;
    contract_report(c, c->project, "a", id);
    int64_t start = fz_time_monotonic_ms();
    assert_ok(c, store_job_claim(c->store, "w", 1, 30, &job, &n, &c->err));
    assert_int_equal(n, 1);
    do
        assert_ok(c, store_job_claim(c->store, "w", 1, 60000, &job, &n, &c->err));
    while (n == 0 && fz_time_monotonic_ms() - start < 20000);
    assert_int_equal(n, 1);
    assert_int_equal(job.attempt, 2);
    assert_true(fz_time_monotonic_ms() - start >= 29); /* clocks are cut to milliseconds */
}

static void
test_release(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    for (int i = 0; i < 10; i++) { /* more often than there are attempts */
        struct store_job job = contract_claim(c, id);
        assert_int_equal(job.attempt, 1);
        assert_ok(c, store_job_release(c->store, &job, &c->err));
        assert_fails(c, FZ_E_CONFLICT, store_job_heartbeat(c->store, &job, 60000, &c->err));
        assert_fails(c, FZ_E_CONFLICT, store_job_release(c->store, &job, &c->err));
    }
}

/* However often: no attempt, no longer wait, no quarantine. */
static void
test_postpone(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_job job;
    contract_report(c, c->project, "a", id);
    for (int i = 0; i < 30; i++) {
        job = contract_claim(c, id);
        assert_ok(c, store_job_postpone(c->store, &job, 60000, &c->err));
        assert_fails(c, FZ_E_CONFLICT, store_job_postpone(c->store, &job, 60000, &c->err));
        let_time_pass(c);
    }
    /* The first outage of another kind is still its first. */
    job = contract_claim(c, id);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "", false, &c->err));
    assert_int_equal(status_of(c, id, NULL), STORE_REPORT_QUEUED);
}

static bool
is_gone(void *user, const char *worker)
{
    return strcmp(worker, user) == 0;
}

static void
test_reclaim(void **state)
{
    struct contract *c = *state;
    char a[STORE_ID_TEXT], b[STORE_ID_TEXT], gone[] = "gone";
    struct store_job lost, alive, again;
    size_t n;
    uint64_t n_jobs = 99;
    contract_report(c, c->project, "a", a);
    assert_ok(c, store_job_claim(c->store, "gone", 1, 60000, &lost, &n, &c->err));
    contract_report(c, c->project, "b", b);
    assert_ok(c, store_job_claim(c->store, "alive", 1, 60000, &alive, &n, &c->err));
    assert_ok(c, store_job_reclaim(c->store, is_gone, gone, &n_jobs, &c->err));
    assert_int_equal(n_jobs, 1);
    again = contract_claim(c, a); /* at once */
    assert_int_equal(again.attempt, 2);
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &lost, NULL));
    assert_ok(c, contract_finish(c, &alive, NULL));
    assert_ok(c, store_job_reclaim(c->store, is_gone, gone, &n_jobs, &c->err));
    assert_int_equal(n_jobs, 0);
}

/* Servers are killed, and their jobs are innocent; but not of being there each of twenty times. */
static void
test_reclaimed_too_often(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], worker[] = "test";
    uint64_t n = 0;
    struct store_job none;
    const char *why;
    contract_report(c, c->project, "a", id);
    for (unsigned i = 1; i <= 20; i++) {
        struct store_job job = contract_claim(c, id);
        assert_int_equal(job.attempt, i);
        assert_ok(c, store_job_reclaim(c->store, is_gone, worker, &n, &c->err));
        assert_int_equal(n, 1);
        /* Should its worker be alive after all: what it has been told is over, is over. */
        assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &job, NULL));
    }
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
    assert_int_equal(status_of(c, id, &why), STORE_REPORT_FAILED);
    assert_string_equal(why, "given up after 20 attempts whose worker was lost");
}

static void
test_lost_too_often(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], other[STORE_ID_TEXT];
    struct store_job jobs[4];
    struct store_counts counts;
    const char *why;
    contract_report(c, c->project, "a", id);
    for (unsigned i = 1; i <= STORE_JOB_ATTEMPTS; i++) {
        assert_int_equal(contract_claim(c, id).attempt, i);
        let_time_pass(c);
    }
    contract_report(c, c->project, "b", other);
    /* It does not take the place of the healthy one. */
    assert_int_equal(contract_claim_all(c, jobs, 4), 1);
    assert_string_equal(jobs[0].subject, other);
    assert_int_equal(status_of(c, id, &why), STORE_REPORT_FAILED);
    assert_string_equal(why, "given up after 3 attempts whose worker was lost");
    assert_ok(c, store_counts(c->store, &counts, &c->err));
    assert_int_equal(counts.jobs_quarantined, 1);
    let_time_pass(c);
    assert_int_equal(contract_claim_all(c, jobs, 4), 1);
    /* The body is kept, and a human may try again. */
    struct fz_span body;
    assert_ok(c, store_report_body(c->store, c->project, id, &c->arena, &body, &c->err));
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_int_equal(contract_claim(c, id).attempt, 1);
}

static void
test_outage(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_job job, none;
    const char *why;
    contract_report(c, c->project, "a", id);
    for (unsigned i = 1; i <= 10; i++) {
        job = contract_claim(c, id);
        assert_int_equal(job.attempt, i);
        assert_int_equal(status_of(c, id, NULL), STORE_REPORT_QUEUED);
        assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "no disk", false, &c->err));
        assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &job, NULL));
        assert_int_equal(contract_claim_all(c, &none, 1), 0); /* not at once */
        let_time_pass(c);
    }
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
    assert_int_equal(status_of(c, id, &why), STORE_REPORT_FAILED);
    assert_string_equal(why, "no disk");
}

static void
test_back_off_grows(void **state)
{
    struct contract *c = *state;
    static const int64_t want[] = {1000, 16000, 81000};
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    for (size_t i = 0; i < FZ_ARRAY_LEN(want); i++) {
        struct store_job job = contract_claim(c, id), none;
        assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "x", false, &c->err));
        /* Move the clock forward by less than the delay, then by its longest. */
        char text[128];
        snprintf(text, sizeof(text), "UPDATE jobs SET due_ms = due_ms - %d", (int)want[i] - 500);
        contract_sql(c, text, text);
        assert_int_equal(contract_claim_all(c, &none, 1), 0);
        snprintf(text, sizeof(text), "UPDATE jobs SET due_ms = due_ms - %d",
                 (int)(want[i] / 4) + 501);
        contract_sql(c, text, text);
    }
    contract_claim(c, id);
}

/* Servers that were started again five times do not make the first outage last for minutes. */
static void
test_back_off_after_restarts(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], worker[] = "test", text[128];
    uint64_t n = 0;
    struct store_job none;
    contract_report(c, c->project, "a", id);
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(contract_claim(c, id).attempt, i);
        assert_ok(c, store_job_reclaim(c->store, is_gone, worker, &n, &c->err));
    }
    struct store_job job = contract_claim(c, id);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_UNAVAILABLE, "x", false, &c->err));
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
    /* The longest first delay. */
    snprintf(text, sizeof(text), "UPDATE jobs SET due_ms = due_ms - %d", 1251);
    contract_sql(c, text, text);
    contract_claim(c, id);
}

static void
test_child_died(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    const char *why;
    struct store_counts counts;
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_MALFORMED, "signal 11", true, &c->err));
    assert_int_equal(status_of(c, id, NULL), STORE_REPORT_QUEUED);
    job = contract_claim(c, id); /* at once */
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_MALFORMED, "signal 11", true, &c->err));
    assert_int_equal(status_of(c, id, &why), STORE_REPORT_FAILED);
    assert_string_equal(why, "signal 11");
    assert_ok(c, store_counts(c->store, &counts, &c->err));
    assert_int_equal(counts.jobs_quarantined, 1);
}

static void
test_failed_for_good(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], upload_id[STORE_ID_TEXT];
    const char *why;
    struct store_job job, none;
    contract_report(c, c->project, "a", id);
    job = contract_claim(c, id);
    assert_ok(
        c, store_job_fail(c->store, &job, FZ_E_UNSUPPORTED, "what \xff is this", false, &c->err));
    assert_int_equal(status_of(c, id, &why), STORE_REPORT_FAILED);
    assert_string_equal(why, "what \xef\xbf\xbd is this");
    contract_upload(c, c->project, upload_id);
    job = contract_claim(c, upload_id);
    assert_int_equal(job.kind, STORE_JOB_UPLOAD);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_LIMIT, "a zip bomb", false, &c->err));
    struct store_upload upload;
    assert_ok(c, store_upload_get(c->store, c->project, upload_id, &c->arena, &upload, &c->err));
    assert_int_equal(upload.state, STORE_UPLOAD_FAILED);
    assert_string_equal(upload.error, "a zip bomb");
    assert_int_equal(upload.error_code, FZ_E_LIMIT);
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
}

/* Neither kind keeps the other waiting, however many claims of whatever size come. */
static void
test_fairness(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    for (int i = 0; i < 40; i++) {
        char body[16];
        snprintf(body, sizeof(body), "%d", i);
        contract_report(c, c->project, body, id);
    }
    for (int i = 0; i < 40; i++)
        contract_upload(c, c->project, id);
    static const size_t sizes[] = {1, 1, 1, 1, 8, 8, 3, 3};
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i += 2) {
        size_t n_by_kind[3] = {0};
        for (size_t turn = 0; turn < 2; turn++) {
            struct store_job jobs[8];
            size_t n = contract_claim_all(c, jobs, sizes[i]);
            assert_int_equal(n, sizes[i]);
            for (size_t j = 0; j < n; j++)
                n_by_kind[jobs[j].kind]++;
        }
        assert_int_equal(n_by_kind[STORE_JOB_REPORT], sizes[i]);
        assert_int_equal(n_by_kind[STORE_JOB_UPLOAD], sizes[i]);
    }
    /* A kind that is alone gets all there is. */
    struct store_job jobs[64];
    assert_int_equal(contract_claim_all(c, jobs, 64), 54);
}

static void
test_oldest_first(void **state)
{
    struct contract *c = *state;
    char ids[3][STORE_ID_TEXT];
    for (int i = 0; i < 3; i++) {
        char body[2] = {(char)('a' + i), 0};
        contract_report(c, c->project, body, ids[i]);
    }
    for (int i = 0; i < 3; i++)
        contract_claim(c, ids[i]);
}

static void
test_uploads(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_upload upload;
    uint64_t n_unblocked = 99;
    contract_upload(c, c->project, id);
    assert_ok(c, store_upload_get(c->store, c->project, id, &c->arena, &upload, &c->err));
    assert_int_equal(upload.state, STORE_UPLOAD_QUEUED);
    assert_string_equal(upload.name, "App.zip");
    assert_int_equal(upload.size, 123);
    assert_null(upload.result);
    assert_fails(c, FZ_E_CONFLICT, store_upload_insert(c->store, &upload, &c->err));
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish_upload(c, &job, "xy", STORE_SYMBOL_READY, &n_unblocked));
    assert_int_equal(n_unblocked, 0);
    assert_ok(c, store_upload_get(c->store, c->project, id, &c->arena, &upload, &c->err));
    assert_int_equal(upload.state, STORE_UPLOAD_DONE);
    assert_string_equal(upload.result, "{\"new\":2}");
    assert_fails(c, FZ_E_CONFLICT,
                 contract_finish_upload(c, &job, "z", STORE_SYMBOL_READY, &n_unblocked));
    upload.id[0] = 'X';
    assert_fails(c, FZ_E_MALFORMED, store_upload_insert(c->store, &upload, &c->err));
    struct fz_uuid another = fz_uuid_new();
    fz_uuid_format(&another, upload.id);
    upload.project_id = 4711;
    assert_fails(c, FZ_E_NOT_FOUND, store_upload_insert(c->store, &upload, &c->err));
    upload.project_id = c->project;
    upload.name = "\xff.zip";
    assert_ok(c, store_upload_insert(c->store, &upload, &c->err));
    assert_ok(c, store_upload_get(c->store, c->project, upload.id, &c->arena, &upload, &c->err));
    assert_string_equal(upload.name, "\xef\xbf\xbd.zip");
}

int
contract_run_jobs(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_lease),          contract_test(test_lease_ends_by_itself),
        contract_test(test_release),        contract_test(test_postpone),
        contract_test(test_reclaim),        contract_test(test_reclaimed_too_often),
        contract_test(test_lost_too_often), contract_test(test_outage),
        contract_test(test_back_off_grows), contract_test(test_back_off_after_restarts),
        contract_test(test_child_died),     contract_test(test_failed_for_good),
        contract_test(test_fairness),       contract_test(test_oldest_first),
        contract_test(test_uploads),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
