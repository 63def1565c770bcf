#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "storage/store_request.h"

static void
test_insert_and_read(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_report report;
    struct fz_span bytes;
    contract_report(c, c->project, "{\"framezero\":1}", id);
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_string_equal(report.id, id);
    assert_int_equal(report.status, STORE_REPORT_QUEUED);
    assert_string_equal(report.format, "framezero");
    assert_int_equal(report.received_ms, 1700000000000);
    assert_null(contract_text(&report, "app_id"));
    assert_int_equal(report.n_processed, 0);
    assert_ok(c, store_report_body(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_true(fz_span_is(bytes, "{\"framezero\":1}"));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_result(c->store, c->project, id, &c->arena, &bytes, &c->err));

    struct store_job job = contract_claim(c, id);
    assert_int_equal(job.kind, STORE_JOB_REPORT);
    assert_int_equal(job.project_id, c->project);
    assert_int_equal(job.attempt, 1);
    assert_ok(c, contract_finish(c, &job, "xy"));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_UNSYMBOLICATED);
    assert_string_equal(contract_text(&report, "app_version"), "4.2");
    assert_int_equal(report.n_missing, 2);
    assert_int_equal(report.n_processed, 1);
    assert_ok(c, store_report_result(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_true(fz_span_is(bytes, "{\"threads\":[]}"));
}

static void
test_bodies_of_all_sizes(void **state)
{
    struct contract *c = *state;
    static const size_t sizes[] = {0, 1, 4096, 1024 * 1024, 32 * 1024 * 1024};
    uint8_t *bytes = malloc(sizes[4]);
    assert_non_null(bytes);
    fz_random(bytes, sizes[4]); /* does not get smaller */
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        struct store_report_new item = contract_item(c->project, "");
        struct fz_span back;
        item.body = fz_span_make(bytes, sizes[i]);
        fz_sha256_hex(item.body, item.body_sha256);
        assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
        assert_int_equal(item.code, FZ_OK);
        assert_ok(c, store_report_body(c->store, c->project, item.id, &c->arena, &back, &c->err));
        assert_true(fz_span_equal(item.body, back));
    }
    free(bytes);
    /* Too little memory is reported, not overrun. */
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "body", id);
    enum fz_code code = FZ_E_NO_MEMORY;
    for (int64_t n = 0; n < 3; n++) {
        struct fz_arena small;
        struct store_report report;
        struct fz_span back;
        fz_arena_init(&small, 1024 * 1024);
        small.fail_after = n;
        code = store_report_body(c->store, c->project, id, &small, &back, &c->err);
        assert_int_equal(code, n == 0 ? FZ_E_NO_MEMORY : FZ_OK);
        small.fail_after = n;
        code = store_report_get(c->store, c->project, id, &small, &report, &c->err);
        assert_int_equal(code, n < 2 ? FZ_E_NO_MEMORY : FZ_OK);
        fz_arena_deinit(&small);
    }
}

static void
test_duplicates(void **state)
{
    struct contract *c = *state;
    struct store_report_new items[5];
    for (size_t i = 0; i < 5; i++) {
        items[i] = contract_item(c->project, "");
        memset(items[i].body_sha256, '0' + (int)i, FZ_SHA256_TEXT - 1);
    }
    char first[STORE_ID_TEXT];
    memcpy(first, items[0].id, sizeof(first));
    memcpy(items[1].id, first, sizeof(first)); /* same id, and the same body */
    memcpy(items[1].body_sha256, items[0].body_sha256, FZ_SHA256_TEXT);
    memcpy(items[2].body_sha256, items[0].body_sha256, FZ_SHA256_TEXT); /* same body */
    items[3].project_id = c->other;                                     /* not the same */
    memcpy(items[3].id, first, sizeof(first));
    memcpy(items[3].body_sha256, items[0].body_sha256, FZ_SHA256_TEXT);
    static const bool want[] = {false, true, true, false, false};
    for (int round = 0; round < 2; round++) {
        struct store_report_new copy[5];
        memcpy(copy, items, sizeof(copy));
        assert_ok(c, contract_insert(c->store, copy, 5, &c->err));
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(copy[i].code, FZ_OK);
            assert_int_equal(copy[i].is_duplicate, round == 1 || want[i]);
            if (i < 4)
                assert_string_equal(copy[i].id, first);
        }
    }
    struct store_job jobs[10];
    assert_int_equal(contract_claim_all(c, jobs, 10), 3);
}

/* The same id with another body is another report, and each of the two knows of the other. */
static void
test_id_clash(void **state)
{
    struct contract *c = *state;
    static const char *const bodies[] = {"a", "b", "c", "b", "a", "c"};
    struct store_report_new items[6];
    struct store_report report;
    struct store_clash *clashes;
    struct fz_span body;
    size_t n;
    char claimed[STORE_ID_TEXT];
    memcpy(claimed, contract_item(c->project, "").id, sizeof(claimed));
    for (size_t i = 0; i < 6; i++) {
        items[i] = contract_item(c->project, bodies[i]);
        memcpy(items[i].id, claimed, sizeof(claimed));
    }
    /* One alone, then all the others in one commit. */
    assert_ok(c, contract_insert(c->store, &items[0], 1, &c->err));
    assert_ok(c, contract_insert(c->store, &items[1], 5, &c->err));
    static const bool is_clash[] = {false, true, true, false, false, false};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(items[i].code, FZ_OK);
        assert_int_equal(items[i].is_clash, is_clash[i]);
        assert_int_equal(items[i].is_duplicate, i >= 3);
        assert_ok(c,
                  store_report_body(c->store, c->project, items[i].id, &c->arena, &body, &c->err));
        assert_true(fz_span_is(body, bodies[i]));
    }
    assert_string_equal(items[0].id, claimed);
    assert_string_not_equal(items[1].id, claimed);
    assert_string_not_equal(items[2].id, items[1].id);
    assert_string_equal(items[3].id, items[1].id);
    assert_string_equal(items[4].id, claimed);
    assert_string_equal(items[5].id, items[2].id);
    assert_ok(
        c, store_report_clashes(c->store, c->project, claimed, &c->arena, &clashes, &n, &c->err));
    assert_int_equal(n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_false(clashes[i].is_claimed);
        assert_true(strcmp(clashes[i].id, items[1].id) == 0 ||
                    strcmp(clashes[i].id, items[2].id) == 0);
    }
    assert_ok(c, store_report_clashes(c->store, c->project, items[2].id, &c->arena, &clashes, &n,
                                      &c->err));
    assert_int_equal(n, 1);
    assert_true(clashes[0].is_claimed);
    assert_string_equal(clashes[0].id, claimed);
    struct store_job jobs[10];
    assert_int_equal(contract_claim_all(c, jobs, 10), 3);
    /* Another project's ids are its own. */
    struct store_report_new other = contract_item(c->other, "d");
    memcpy(other.id, claimed, sizeof(claimed));
    assert_ok(c, contract_insert(c->store, &other, 1, &c->err));
    assert_false(other.is_clash);
    assert_string_equal(other.id, claimed);
    assert_ok(c,
              store_report_clashes(c->store, c->other, claimed, &c->arena, &clashes, &n, &c->err));
    assert_int_equal(n, 0);
    /* The first one may go; the others stay what they are. */
    assert_ok(c, store_report_delete(c->store, c->project, claimed, &c->err));
    assert_ok(c, store_report_get(c->store, c->project, items[1].id, &c->arena, &report, &c->err));
}

/* A batch whose third reports are stored already: each new one gets its own body, id and job. */
static void
test_each_has_its_own(void **state)
{
    struct contract *c = *state;
    enum { COUNT = 60, OLD = COUNT / 3 };
    struct store_report_new items[COUNT], old[OLD];
    char bodies[COUNT][16];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), "body %zu", i);
        items[i] = contract_item(i % 2 ? c->project : c->other, bodies[i]);
        items[i].reader = i % 5 == 0 ? NULL : i % 5 == 1 ? "kscrash" : "sentry";
        items[i].transient = i % 7 == 0;
        if (i % 3 == 0)
            old[i / 3] = items[i];
    }
    assert_ok(c, contract_insert(c->store, old, OLD, &c->err));
    assert_ok(c, contract_insert(c->store, items, COUNT, &c->err));
    for (size_t i = 0; i < COUNT; i++) {
        struct fz_span body;
        bool is_old = i % 3 == 0;
        assert_int_equal(items[i].is_duplicate, is_old);
        assert_int_equal(items[i].code, is_old && items[i].transient ? FZ_E_CONFLICT : FZ_OK);
        assert_ok(c, store_report_body(c->store, items[i].project_id, items[i].id, &c->arena, &body,
                                       &c->err));
        assert_true(fz_span_is(body, bodies[i]));
    }
    struct store_job jobs[COUNT + 1];
    assert_int_equal(contract_claim_all(c, jobs, COUNT + 1), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = 0;
        while (at < COUNT && strcmp(items[at].id, jobs[i].subject) != 0)
            at++;
        assert_in_range(at, 0, COUNT - 1);
        assert_int_equal(jobs[i].project_id, items[at].project_id);
        assert_string_equal(jobs[i].reader, items[at].reader ? items[at].reader : "");
        items[at].id[0] = '\0'; /* each has one job */
    }
}

static void
test_bad_items_do_not_spoil_the_batch(void **state)
{
    struct contract *c = *state;
    struct store_report_new items[7];
    for (size_t i = 0; i < 7; i++) {
        char body[2] = {(char)('a' + i), 0};
        items[i] = contract_item(c->project, "");
        fz_sha256_hex(fz_span_cstr(body), items[i].body_sha256);
    }
    items[1].project_id = 4711;
    items[2].id[3] = 'X';
    items[3].body_sha256[0] = 0;
    items[4].format = NULL;
    items[5].project_id = 0;
    assert_ok(c, contract_insert(c->store, items, 7, &c->err));
    static const enum fz_code want[] = {FZ_OK,          FZ_E_NOT_FOUND, FZ_E_MALFORMED,
                                        FZ_E_MALFORMED, FZ_E_MALFORMED, FZ_E_MALFORMED,
                                        FZ_OK};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(items[i].code, want[i]);
    struct store_job jobs[10];
    assert_int_equal(contract_claim_all(c, jobs, 10), 2);
    assert_ok(c, contract_insert(c->store, items, 0, &c->err));
}

static void
test_delete(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_report report;
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, store_report_delete(c->store, c->project, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_report_delete(c->store, c->project, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    /* The worker that has it learns that it is gone. */
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &job, NULL));
    assert_fails(c, FZ_E_CONFLICT, store_job_heartbeat(c->store, &job, 1000, &c->err));
    contract_report(c, c->project, "a", id); /* may come again */
}

static void
test_reprocess(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_report report;
    struct fz_span bytes;
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_QUEUED);
    assert_ok(c, store_report_result(c->store, c->project, id, &c->arena, &bytes, &c->err));
    job = contract_claim(c, id);
    /* Asked for while it is worked on: once more after that. */
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_QUEUED);
    struct store_job again = contract_claim(c, id);
    assert_int_equal(again.attempt, 1);
    assert_true(again.fence != job.fence || again.id != job.id);
    assert_ok(c, contract_finish(c, &again, NULL));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_SYMBOLICATED);
    assert_int_equal(report.n_processed, 3);
    assert_int_equal(contract_claim_all(c, &again, 1), 0);
}

/* Asked for all at once by those who wait. */
static void
test_queued(void **state)
{
    struct contract *c = *state;
    char ids[STORE_QUEUED_MAX][STORE_ID_TEXT], done[3][STORE_ID_TEXT];
    const char *asked[STORE_QUEUED_MAX];
    bool queued[STORE_QUEUED_MAX];
    for (size_t i = 0; i < STORE_QUEUED_MAX; i++) {
        char body[16];
        snprintf(body, sizeof(body), "%zu", i);
        asked[i] = ids[i];
        if (i != 4)
            contract_report(c, c->project, body, ids[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        struct store_job job = contract_claim(c, NULL);
        /* Of reports of one millisecond any may be the first. */
        memcpy(done[i], job.subject, sizeof(done[i]));
        if (i == 1)
            assert_ok(c, store_job_fail(c->store, &job, FZ_E_MALFORMED, "no", false, &c->err));
        else
            assert_ok(c, contract_finish(c, &job, NULL));
    }
    contract_report(c, c->other, "other", ids[4]);
    assert_ok(c, store_report_reprocess(c->store, c->project, done[2], &c->err));
    assert_ok(c, store_report_delete(c->store, c->project, ids[31], &c->err));
    assert_ok(c,
              store_reports_queued(c->store, c->project, asked, STORE_QUEUED_MAX, queued, &c->err));
    for (size_t i = 0; i < STORE_QUEUED_MAX; i++) {
        bool is_done = strcmp(ids[i], done[0]) == 0 || strcmp(ids[i], done[1]) == 0;
        assert_int_equal(queued[i], !is_done && i != 4 && i != 31);
    }
    /* Fewer than there can be. */
    asked[0] = done[2];
    asked[1] = "nothing";
    asked[2] = done[1];
    assert_ok(c, store_reports_queued(c->store, c->project, asked, 3, queued, &c->err));
    assert_true(queued[0] && !queued[1] && !queued[2]);
}

static void
test_transient(void **state)
{
    struct contract *c = *state;
    struct store_report report, *list;
    struct fz_span result;
    size_t n;
    const char *cursor;
    struct store_report_new item = contract_item(c->project, "a");
    item.transient = true;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    assert_int_equal(item.code, FZ_OK);
    assert_fails(c, FZ_E_UNAVAILABLE,
                 store_report_take_transient(c->store, c->project, item.id, &c->arena, &report,
                                             &result, &c->err));
    /* The same body as a report proper is another matter, in either order. */
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_report_new second = contract_item(c->project, "a");
    second.transient = true;
    assert_ok(c, contract_insert(c->store, &second, 1, &c->err));
    assert_false(second.is_duplicate);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_take_transient(c->store, c->project, id, &c->arena, &report, &result,
                                             &c->err));
    assert_ok(c, contract_report_list(c, c->project, NULL, NULL, 10, &list, &n, &cursor));
    assert_int_equal(n, 1);
    struct store_missing *missing;
    struct store_job job = contract_claim(c, item.id);
    assert_ok(c, contract_finish(c, &job, "x"));
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 0);
    assert_ok(c, store_report_take_transient(c->store, c->project, item.id, &c->arena, &report,
                                             &result, &c->err));
    assert_int_equal(report.status, STORE_REPORT_UNSYMBOLICATED);
    assert_true(fz_span_is(result, "{\"threads\":[]}"));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_take_transient(c->store, c->project, item.id, &c->arena, &report,
                                             &result, &c->err));
    /* A failed one has no result but a reason. */
    struct store_job jobs[2];
    assert_int_equal(contract_claim_all(c, jobs, 2), 2);
    job = strcmp(jobs[0].subject, id) == 0 ? jobs[1] : jobs[0];
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_MALFORMED, "not a report", false, &c->err));
    assert_ok(c, store_report_take_transient(c->store, c->project, second.id, &c->arena, &report,
                                             &result, &c->err));
    assert_int_equal(report.status, STORE_REPORT_FAILED);
    assert_string_equal(report.error, "not a report");
    assert_int_equal(result.len, 0);
}

int
contract_run_reports(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_insert_and_read),  contract_test(test_bodies_of_all_sizes),
        contract_test(test_duplicates),       contract_test(test_id_clash),
        contract_test(test_each_has_its_own), contract_test(test_bad_items_do_not_spoil_the_batch),
        contract_test(test_delete),           contract_test(test_reprocess),
        contract_test(test_queued),           contract_test(test_transient),
    };
    return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}
