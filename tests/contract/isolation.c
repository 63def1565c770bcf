/*
 * One project reads, changes and learns nothing of another's.
 */
#include "contract.h"

#include <string.h>

static void
test_reports(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct store_report report, *list;
    struct fz_span bytes;
    size_t n;
    const char *cursor;
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "x"));

    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_get(c->store, c->other, id, &c->arena, &report, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_result(c->store, c->other, id, &c->arena, &bytes, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_body(c->store, c->other, id, &c->arena, &bytes, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_report_delete(c->store, c->other, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_report_reprocess(c->store, c->other, id, &c->err));
    assert_fails(
        c, FZ_E_NOT_FOUND,
        store_report_take_transient(c->store, c->other, id, &c->arena, &report, &bytes, &c->err));
    const struct contract_where where = {"uuid", "61000000000000000000000000000001"};
    struct contract_filter filter = {.where = &where, .n_where = 1};
    assert_ok(c, contract_report_list(c, c->project, &filter, NULL, 9, &list, &n, &cursor));
    assert_int_equal(n, 1);
    assert_ok(c, contract_report_list(c, c->other, &filter, NULL, 9, &list, &n, &cursor));
    assert_int_equal(n, 0);
    assert_ok(c, contract_report_list(c, c->other, NULL, NULL, 9, &list, &n, &cursor));
    assert_int_equal(n, 0);
    struct store_missing *missing;
    assert_ok(c, store_missing_list(c->store, c->other, 9, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 0);

    /* Ids that are no ids are not found either, in one's own project. */
    static const char *const ids[] = {"", "x", "' OR '1'='1", "\xff",
                                      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(ids); i++) {
        assert_fails(c, FZ_E_NOT_FOUND,
                     store_report_get(c->store, c->project, ids[i], &c->arena, &report, &c->err));
        assert_fails(c, FZ_E_NOT_FOUND, store_report_delete(c->store, c->project, ids[i], &c->err));
        assert_fails(c, FZ_E_NOT_FOUND,
                     store_report_reprocess(c->store, c->project, ids[i], &c->err));
        struct store_upload upload;
        assert_fails(c, FZ_E_NOT_FOUND,
                     store_upload_get(c->store, c->project, ids[i], &c->arena, &upload, &c->err));
    }
    /* All this left it as it was. */
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_UNSYMBOLICATED);
}

static void
test_symbols(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    uint64_t n_unblocked;
    struct fz_uuid x = contract_uuid('x');
    bool unknown;
    struct store_symbol symbol, *list;
    struct store_upload upload;
    size_t n;
    const char *cursor;
    contract_upload(c, c->project, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish_upload(c, &job, "x", STORE_SYMBOL_READY, &n_unblocked));

    assert_fails(c, FZ_E_NOT_FOUND,
                 store_upload_get(c->store, c->other, id, &c->arena, &upload, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_symbol_find(c->store, &(struct store_symbol_key){c->other, x, 0}, &c->arena,
                                   &symbol, NULL, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_symbol_delete(c->store, c->other, &x, &n, &c->err));
    assert_ok(c, contract_symbol_list(c, c->other, NULL, NULL, 9, &list, &n, &cursor));
    assert_int_equal(n, 0);
    assert_ok(c, store_symbol_unknown(c->store, c->other, &x, 1, &unknown, &c->err));
    assert_true(unknown);
    assert_ok(c, store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                   &c->arena, &symbol, NULL, &c->err));
}

/* A job is only its own: another project, subject or kind in it makes it nobody's. */
static void
test_jobs(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id), wrong;
    wrong = job;
    wrong.project_id = c->other;
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &wrong, NULL));
    assert_fails(c, FZ_E_CONFLICT,
                 store_job_fail(c->store, &wrong, FZ_E_MALFORMED, "", false, &c->err));
    wrong = job;
    wrong.subject[0] ^= 1;
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &wrong, NULL));
    uint64_t n;
    wrong = job;
    wrong.kind = STORE_JOB_UPLOAD;
    assert_fails(c, FZ_E_CONFLICT, contract_finish_upload(c, &wrong, "x", STORE_SYMBOL_READY, &n));
    assert_ok(c, contract_finish(c, &job, NULL));
}

int
contract_run_isolation(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_reports),
        contract_test(test_symbols),
        contract_test(test_jobs),
    };
    return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}
