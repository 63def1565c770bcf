/* Captured memory: bodies without it, bodies that are kept for a time, and what the sweep deletes. */
#include "contract.h"

#include <string.h>

#include "storage/store_request.h"

static const char sent[] = "{\"memory\":\"hunter2\"}", without[] = "{\"memory\":\"AAAAAAA\"}";

static void
settings(struct contract *c, bool keep, int64_t days)
{
    const struct store_privacy privacy = {.keep_memory = keep, .memory_days = days};
    assert_ok(c, store_project_set_privacy(c->store, c->project, &privacy, &c->err));
}

static void
finish(struct contract *c, const char *id, const char *stripped)
{
    struct store_job job = contract_claim(c, id);
    const struct store_report_done done = {.status = STORE_REPORT_PARTIAL,
                                           .result = fz_span_cstr("{}"),
                                           .stripped = fz_span_cstr(stripped)};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
}

/* What the two bodies of a report are, and what its row says. */
static void
check(struct contract *c, const char *id, const char *body, const char *full,
      enum store_memory full_memory, enum store_memory memory)
{
    struct store_report report;
    struct fz_span bytes;
    struct store_full_body found;
    uint64_t size = 0;
    assert_ok(c, store_report_body(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_true(fz_span_is(bytes, body));
    assert_ok(c, store_report_full_body(c->store, c->project, id, &c->arena, &found, &c->err));
    assert_true(fz_span_is(found.bytes, full));
    assert_int_equal(found.memory, full_memory);
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(found.received_ms, report.received_ms);
    assert_int_equal(report.memory, memory);
    assert_ok(c,
              store_report_size(c->store, c->project, id, STORE_REPORT_FULL_BODY, &size, &c->err));
    assert_int_equal(size, strlen(full));
}

static void
test_drop(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], plain[STORE_ID_TEXT];
    contract_report(c, c->project, sent, id);
    check(c, id, sent, sent, STORE_MEMORY_UNKNOWN, STORE_MEMORY_UNKNOWN);
    finish(c, id, without);
    check(c, id, without, without, STORE_MEMORY_REMOVED, STORE_MEMORY_REMOVED);
    /* Once more, from the body without memory. */
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    finish(c, id, without);
    check(c, id, without, without, STORE_MEMORY_REMOVED, STORE_MEMORY_REMOVED);
    /* The same report sent again is still the same one. */
    struct store_report_new again = contract_item(c->project, sent);
    assert_ok(c, contract_insert(c->store, &again, 1, &c->err));
    assert_true(again.is_duplicate);
    assert_string_equal(again.id, id);

    contract_report(c, c->project, "{}", plain);
    finish(c, plain, "");
    check(c, plain, "{}", "{}", STORE_MEMORY_NONE, STORE_MEMORY_NONE);
    struct store_full_body none;
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_full_body(c->store, c->other, id, &c->arena, &none, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_full_body(c->store, c->project, "x", &c->arena, &none, &c->err));
}

/* Somebody asks for it to be done again while it is done: that needs the memory. */
static void
test_again(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, sent, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    const struct store_report_done done = {.status = STORE_REPORT_PARTIAL,
                                           .result = fz_span_cstr("{}"),
                                           .stripped = fz_span_cstr(without)};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    check(c, id, sent, sent, STORE_MEMORY_UNKNOWN, STORE_MEMORY_UNKNOWN);
    finish(c, id, without);
    check(c, id, without, without, STORE_MEMORY_REMOVED, STORE_MEMORY_REMOVED);
}

static void
test_keep(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    uint64_t n = 0;
    settings(c, true, 7);
    contract_report(c, c->project, sent, id);
    finish(c, id, without);
    check(c, id, without, sent, STORE_MEMORY_UNKNOWN, STORE_MEMORY_REMOVED);
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    finish(c, id, without);
    check(c, id, without, sent, STORE_MEMORY_UNKNOWN, STORE_MEMORY_REMOVED);
    /* A day before the end, and after it. */
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    contract_sql(c, "UPDATE report_memory SET stored_ms = stored_ms - 6 * 86400000",
                 "UPDATE report_memory SET stored_ms = stored_ms - 6 * 86400000");
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    check(c, id, without, sent, STORE_MEMORY_UNKNOWN, STORE_MEMORY_REMOVED);
    contract_sql(c, "UPDATE report_memory SET stored_ms = stored_ms - 86400001",
                 "UPDATE report_memory SET stored_ms = stored_ms - 86400001");
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(n, 1);
    check(c, id, without, without, STORE_MEMORY_REMOVED, STORE_MEMORY_REMOVED);
}

static void
test_keep_no_longer(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], other[STORE_ID_TEXT];
    uint64_t n = 0;
    settings(c, true, 7);
    contract_report(c, c->project, sent, id);
    finish(c, id, without);
    contract_report(c, c->project, "{\"memory\":\"2\"}", other);
    finish(c, other, without);
    /* A report takes its memory with it. */
    assert_ok(c, store_report_delete(c->store, c->project, other, &c->err));
    settings(c, false, 7);
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_int_equal(n, 1);
    check(c, id, without, without, STORE_MEMORY_REMOVED, STORE_MEMORY_REMOVED);
}

/* What cannot be read may have memory; it is kept as long as memory is. */
static void
test_failed(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct fz_span bytes;
    struct store_report report;
    uint64_t n = 0;
    contract_report(c, c->project, sent, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, store_job_fail(c->store, &job, FZ_E_MALFORMED, "no", false, &c->err));
    contract_sql(c, "UPDATE reports SET received_ms = (SELECT max(created_ms) FROM projects)",
                 "UPDATE reports SET received_ms = (SELECT max(created_ms) FROM projects)");
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_ok(c, store_report_body(c->store, c->project, id, &c->arena, &bytes, &c->err));
    contract_sql(c, "UPDATE reports SET received_ms = received_ms - 15 * 86400000",
                 "UPDATE reports SET received_ms = received_ms - 15 * 86400000");
    assert_ok(c, store_sweep_rows(c->store, &n, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_report_body(c->store, c->project, id, &c->arena, &bytes, &c->err));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_FAILED);
    assert_int_equal(report.memory, STORE_MEMORY_REMOVED);
}

int
contract_run_memory(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_drop),           contract_test(test_again),  contract_test(test_keep),
        contract_test(test_keep_no_longer), contract_test(test_failed),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
