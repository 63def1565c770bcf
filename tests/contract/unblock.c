/*
 * Symbol files, what waits for them, and every order in which a report and its dSYM can come.
 */
#include "contract.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static uint64_t
upload(struct contract *c, const char *uuids, enum store_symbol_state state)
{
    char id[STORE_ID_TEXT];
    uint64_t n = 0;
    struct store_job job = {0};
    contract_upload(c, c->project, id);
    /* Claims take turns between the kinds, so a report may come first. */
    struct store_job jobs[8];
    size_t n_jobs = contract_claim_all(c, jobs, 8);
    for (size_t i = 0; i < n_jobs; i++) {
        if (strcmp(jobs[i].subject, id) == 0)
            job = jobs[i];
        else
            assert_ok(c, store_job_release(c->store, &jobs[i], &c->err));
    }
    assert_int_not_equal(job.id, 0);
    assert_ok(c, contract_finish_upload(c, &job, uuids, state, &n));
    return n;
}

static void
assert_idle(struct contract *c)
{
    struct store_job none;
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
}

static void
test_report_then_dsym(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "xy"));
    assert_idle(c);
    assert_int_equal(upload(c, "z", STORE_SYMBOL_READY), 0);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_FAILED), 0); /* of no use */
    assert_idle(c);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 1);
    job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "y"));
    assert_idle(c);
    assert_int_equal(upload(c, "xy", STORE_SYMBOL_READY), 1);
    job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_int_equal(upload(c, "xy", STORE_SYMBOL_READY), 0);
    assert_idle(c);
}

static void
test_dsym_before_the_claim(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 0);
    struct store_job job = contract_claim(c, id);
    /* The worker could see it, and says all the same that it waits: that is not news. */
    assert_ok(c, contract_finish(c, &job, "x"));
    assert_idle(c);
}

static void
test_dsym_between_lookup_and_finish(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_int_equal(upload(c, "z", STORE_SYMBOL_READY), 0);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 0);
    assert_ok(c, contract_finish(c, &job, "xy"));
    /* Again, and with fresh attempts; the result so far can be read meanwhile. */
    struct fz_span result;
    assert_ok(c, store_report_result(c->store, c->project, id, &c->arena, &result, &c->err));
    job = contract_claim(c, id);
    assert_int_equal(job.attempt, 1);
    /* Even if the file turns out to be useless it queues the report only once. */
    assert_ok(c, contract_finish(c, &job, "xy"));
    assert_idle(c);
}

static void
test_second_dsym_while_queued_again(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "xy"));
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 1);
    assert_int_equal(upload(c, "y", STORE_SYMBOL_READY),
                     0); /* queued already: its claim will see both */
    job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_idle(c);
}

static void
test_second_dsym_while_worked_on_again(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "xy"));
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 1);
    job = contract_claim(c, id);
    assert_int_equal(upload(c, "y", STORE_SYMBOL_READY), 0);
    assert_ok(c, contract_finish(c, &job, "y")); /* looked up before y came */
    job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, NULL));
    assert_idle(c);
}

static void
test_dsym_while_lease_is_lost(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job old = contract_claim(c, id);
    static const char expire[] = "UPDATE jobs SET due_ms = 1";
    contract_sql(c, expire, expire);
    struct store_job job = contract_claim(c, id);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 0);
    assert_fails(c, FZ_E_CONFLICT, contract_finish(c, &old, "x"));
    assert_ok(c, contract_finish(c, &job, "x"));
    contract_claim(c, id);
}

static void
test_dsym_of_another_project(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->other, "a", id);
    struct store_job job = contract_claim(c, id);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 0);
    assert_ok(c, contract_finish(c, &job, "x"));
    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 0);
    assert_idle(c);
}

static void
test_many_wait_for_one(void **state)
{
    struct contract *c = *state;
    struct store_missing *missing;
    size_t n;
    for (int i = 0; i < 20; i++) {
        char body[16], id[STORE_ID_TEXT];
        snprintf(body, sizeof(body), "%d", i);
        struct store_report_new item = contract_item(c->project, body);
        item.received_ms = 1000 + i;
        memcpy(id, item.id, sizeof(id));
        assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
        struct store_job job = contract_claim(c, id);
        struct store_image_wait waits[] = {{contract_uuid('x'), "Shop", "arm64"},
                                           {contract_uuid('x'), "Shop", "arm64"},
                                           {contract_uuid('y'), NULL, NULL}};
        struct store_report_done done = {
            .status = STORE_REPORT_PARTIAL,
            .values = contract_values(
                c, (const char *const[]){"app_version", i % 2 ? "4.2" : "4.1", NULL}),
            .result = fz_span_cstr("{}"),
            .waits = waits,
            .n_waits = i < 5 ? 3 : 2};
        assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    }
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 2);
    struct fz_uuid x = contract_uuid('x');
    assert_true(fz_uuid_equal(&missing[0].uuid, &x));
    assert_string_equal(missing[0].name, "Shop");
    assert_string_equal(missing[0].arch, "arm64");
    assert_int_equal(missing[0].n_reports, 20);
    assert_int_equal(missing[0].first_seen_ms, 1000);
    assert_int_equal(missing[0].last_seen_ms, 1019);
    assert_int_equal(missing[0].n_app_versions, 2);
    assert_string_equal(missing[0].app_versions[0], "4.1");
    assert_string_equal(missing[0].app_versions[1], "4.2");
    assert_int_equal(missing[1].n_reports, 5);
    assert_null(missing[1].name);
    assert_ok(c, store_missing_list(c->store, c->project, 1, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 1);

    assert_int_equal(upload(c, "x", STORE_SYMBOL_READY), 20);
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 1); /* y */
    struct store_job jobs[64];
    assert_int_equal(contract_claim_all(c, jobs, 64), 20);
    /* A report that failed waits for nothing. */
    for (int i = 0; i < 20; i++)
        assert_ok(c, store_job_fail(c->store, &jobs[i], FZ_E_MALFORMED, "x", false, &c->err));
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 0);
}

/* ---- which file is the best ---- */

/* Upload one file as it is described. */
static void
register_one(struct contract *c, struct store_symbol *symbol)
{
    char id[STORE_ID_TEXT];
    uint64_t n_unblocked;
    contract_upload(c, c->project, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(
        c, store_job_register_symbols(c->store, &job, symbol, 1, &c->arena, &n_unblocked, &c->err));
    assert_ok(c, store_job_finish_upload(c->store, &job, NULL, &c->err));
}

/* A dSYM with DWARF is better than any binary, and of two alike the newer. */
static void
test_best_symbol(void **state)
{
    struct contract *c = *state;
    static const struct {
        enum store_symbol_kind kind;
        bool has_dwarf;
        int64_t uploaded_ms;
        const char *name, *best; /* the best of all up to here */
    } files[] = {
        {STORE_SYMBOL_BINARY, false, 9000, "worst", "worst"},
        {STORE_SYMBOL_DSYM, false, 1000, "symtab", "symtab"},
        {STORE_SYMBOL_BINARY, true, 1000, "binary", "binary"},
        {STORE_SYMBOL_DSYM, true, 1000, "old", "old"},
        {STORE_SYMBOL_DSYM, true, 2000, "best", "best"},
        {STORE_SYMBOL_DSYM, true, 1500, "between", "best"},
    };
    struct store_symbol found;
    bool failed = false;
    struct fz_uuid x = contract_uuid('x');
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                   &c->arena, &found, &failed, &c->err));
    assert_false(failed);
    assert_int_equal(upload(c, "x", STORE_SYMBOL_FAILED), 0);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                   &c->arena, &found, &failed, &c->err));
    assert_true(failed);
    for (size_t i = 0; i < FZ_ARRAY_LEN(files); i++) {
        char hash[FZ_SHA256_TEXT];
        fz_sha256_hex(fz_span_cstr(files[i].name), hash);
        struct store_symbol symbol = {.uuid = x,
                                      .arch = "arm64",
                                      .kind = files[i].kind,
                                      .name = files[i].name,
                                      .size = 7,
                                      .state = STORE_SYMBOL_READY,
                                      .file_sha256 = hash,
                                      .index_sha256 = hash,
                                      .uploaded_ms = files[i].uploaded_ms,
                                      .has_dwarf = files[i].has_dwarf};
        register_one(c, &symbol);
        assert_true(symbol.is_new);
        failed = false;
        assert_ok(c, store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                       &c->arena, &found, &failed, &c->err));
        assert_string_equal(found.name, files[i].best);
        assert_true(failed);
    }
    /* The same file again is known; a failed attempt at it changes nothing. */
    struct store_symbol again = found;
    again.state = STORE_SYMBOL_FAILED;
    again.name = "changed";
    register_one(c, &again);
    assert_false(again.is_new);
    assert_ok(c, store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                   &c->arena, &found, NULL, &c->err));
    assert_string_equal(found.name, "best");
    assert_int_equal(found.state, STORE_SYMBOL_READY);
    assert_int_equal(found.size, 7);
}

static void
test_symbol_list(void **state)
{
    struct contract *c = *state;
    struct fz_uuid x = contract_uuid('x'), z = contract_uuid('z');
    struct store_symbol *list, found;
    const char *cursor = NULL;
    size_t n, total = 0, n_deleted = 0;
    int64_t last = INT64_MAX;
    for (int i = 0; i < 7; i++) {
        char name[2] = {(char)('0' + i), 0}, hash[FZ_SHA256_TEXT];
        fz_sha256_hex(fz_span_cstr(name), hash);
        struct store_symbol symbol = {.uuid = x,
                                      .kind = STORE_SYMBOL_DSYM,
                                      .name = name,
                                      .state = STORE_SYMBOL_READY,
                                      .file_sha256 = hash,
                                      .uploaded_ms = 1000 * (i % 3)};
        register_one(c, &symbol);
    }
    assert_int_equal(upload(c, "yz", STORE_SYMBOL_READY), 0);
    do {
        assert_ok(c, contract_symbol_list(c, c->project, NULL, cursor, 2, &list, &n, &cursor));
        for (size_t i = 0; i < n; i++, total++) {
            assert_true(list[i].uploaded_ms <= last);
            last = list[i].uploaded_ms;
        }
    } while (cursor);
    assert_int_equal(total, 9);
    assert_ok(c, contract_symbol_list(c, c->project, &x, NULL, 100, &list, &n, &cursor));
    assert_int_equal(n, 7);
    assert_null(cursor);
    assert_ok(c, store_symbol_delete(c->store, c->project, &x, &n_deleted, &c->err));
    assert_int_equal(n_deleted, 7);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_symbol_delete(c->store, c->project, &x, &n_deleted, &c->err));
    assert_ok(c, store_symbol_find(c->store, &(struct store_symbol_key){c->project, z, 0},
                                   &c->arena, &found, NULL, &c->err));
}

static void
test_unknown_symbols(void **state)
{
    struct contract *c = *state;
    bool unknown[5];
    assert_int_equal(upload(c, "xy", STORE_SYMBOL_READY), 0);
    assert_int_equal(upload(c, "p", STORE_SYMBOL_FAILED), 0); /* is wanted again */
    struct fz_uuid asked[] = {contract_uuid('q'), contract_uuid('x'), contract_uuid('p'),
                              contract_uuid('y'), contract_uuid('q')};
    assert_ok(c, store_symbol_unknown(c->store, c->project, asked, 5, unknown, &c->err));
    for (size_t i = 0; i < FZ_ARRAY_LEN(asked); i++)
        assert_int_equal(unknown[i], asked[i].bytes[0] == 'q' || asked[i].bytes[0] == 'p');
    assert_ok(c, store_symbol_unknown(c->store, c->project, NULL, 0, NULL, &c->err));
}

/* ---- both ends at the very same time ---- */

enum { ROUNDS = 60 };

struct racer {
    struct contract c; /* with a connection of its own */
    struct store_job job;
    pthread_barrier_t *start;
    enum fz_code code;
    uint64_t n_unblocked;
};

static void *
finish_report(void *user)
{
    struct racer *racer = user;
    pthread_barrier_wait(racer->start);
    racer->code = contract_finish(&racer->c, &racer->job, "x");
    return NULL;
}

static void *
finish_upload(void *user)
{
    struct racer *racer = user;
    pthread_barrier_wait(racer->start);
    racer->code = contract_finish_upload(&racer->c, &racer->job, "x", STORE_SYMBOL_READY,
                                         &racer->n_unblocked);
    return NULL;
}

static void
test_both_ends_at_once(void **state)
{
    struct contract *c = *state;
    pthread_barrier_t start;
    struct racer racers[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        racers[i] = (struct racer){.start = &start};
        memcpy(racers[i].c.url, c->url, sizeof(c->url));
        racers[i].c.store = contract_open(c);
        fz_arena_init(&racers[i].c.arena, 64 * 1024 * 1024);
    }
    struct fz_uuid x = contract_uuid('x');
    for (int round = 0; round < ROUNDS; round++) {
        char body[16], id[STORE_ID_TEXT], upload_id[STORE_ID_TEXT];
        size_t n;
        snprintf(body, sizeof(body), "%d", round);
        contract_report(c, c->project, body, id);
        racers[0].job = contract_claim(c, id);
        contract_upload(c, c->project, upload_id);
        racers[1].job = contract_claim(c, upload_id);
        pthread_t threads[2];
        assert_int_equal(pthread_create(&threads[0], NULL, finish_report, &racers[0]), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, finish_upload, &racers[1]), 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        contract_code(&racers[0].c, FZ_OK, racers[0].code, "finish_report", __LINE__);
        contract_code(&racers[1].c, FZ_OK, racers[1].code, "finish_upload", __LINE__);
        /* Whoever was first: the report is queued again, exactly once. */
        struct store_job jobs[4];
        if (contract_claim_all(c, jobs, 4) != 1)
            fail_msg("round %d: the report missed its dSYM", round);
        assert_string_equal(jobs[0].subject, id);
        assert_ok(c, contract_finish(c, &jobs[0], NULL));
        assert_ok(c, store_symbol_delete(c->store, c->project, &x, &n, &c->err));
    }
    for (int i = 0; i < 2; i++) {
        store_close(racers[i].c.store);
        fz_arena_deinit(&racers[i].c.arena);
    }
    pthread_barrier_destroy(&start);
}

int
contract_run_unblock(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_report_then_dsym),
        contract_test(test_dsym_before_the_claim),
        contract_test(test_dsym_between_lookup_and_finish),
        contract_test(test_second_dsym_while_queued_again),
        contract_test(test_second_dsym_while_worked_on_again),
        contract_test(test_dsym_while_lease_is_lost),
        contract_test(test_dsym_of_another_project),
        contract_test(test_many_wait_for_one),
        contract_test(test_best_symbol),
        contract_test(test_symbol_list),
        contract_test(test_unknown_symbols),
        contract_test(test_both_ends_at_once),
    };
    return cmocka_run_group_tests_name("unblock", tests, NULL, NULL);
}
