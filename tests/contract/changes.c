/*
 * What is counted for those who watch a project: by every connection, of that project alone.
 */
#include "issue_case.h"
#include "storage/store_changes.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"
#include "storage/store_jobs.h"

/* "received 2 report 1..." since the last call. */
static const char *
news(struct contract *c, struct store_changes *state, int64_t project)
{
    static const char *const names[] = {
        [STORE_CHANGE_RECEIVED] = "received", [STORE_CHANGE_REPORT] = "report",
        [STORE_CHANGE_ISSUE] = "issue",       [STORE_CHANGE_NEW_ISSUE] = "new",
        [STORE_CHANGE_UPLOAD] = "upload",     [STORE_CHANGE_UNBLOCKED] = "unblocked",
        [STORE_CHANGE_SYMBOLS] = "symbols"};
    struct store_news list[STORE_CHANGES_N];
    static char text[512];
    int len = 0;
    assert_ok(c, store_changes_read(c->store, project, state, list, &c->err));
    text[0] = '\0';
    for (int i = 0; i < STORE_CHANGES_N; i++) {
        if (list[i].n)
            len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s %d", len ? " " : "",
                            names[i], (int)list[i].n);
    }
    return text;
}

/* The id that came with the last news of this kind; "" without one. */
static const char *
id_of(struct contract *c, struct store_changes before, enum store_change kind)
{
    struct store_news list[STORE_CHANGES_N];
    assert_ok(c, store_changes_read(c->store, c->project, &before, list, &c->err));
    assert_int_equal(list[kind].n, 1);
    return list[kind].n_ids ? fz_arena_printf(&c->arena, "%s", list[kind].ids[0]) : "";
}

static void
test_reports(void **state)
{
    struct contract *c = *state;
    struct store_changes mine = {0}, other = {0}, before;
    char id[STORE_ID_TEXT];
    assert_string_equal(news(c, &mine, c->project), "");
    assert_string_equal(news(c, &other, c->other), "");
    before = mine;
    contract_report(c, c->project, "one", id);
    assert_string_equal(news(c, &mine, c->project), "received 1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_RECEIVED), id);
    assert_string_equal(news(c, &mine, c->project), "");
    struct store_report_new items[] = {
        contract_item(c->project, "two"), contract_item(c->other, "three"),
        contract_item(c->project, "one"), contract_item(c->project, "passing through")};
    items[3].transient = true;
    assert_ok(c, contract_insert(c->store, items, 4, &c->err));
    assert_string_equal(news(c, &mine, c->project), "received 1");
    assert_string_equal(news(c, &other, c->other), "received 1");
    /* One is finished, one fails, one was not to be kept. */
    struct store_job jobs[8];
    size_t n = contract_claim_all(c, jobs, 8);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        bool fails = strcmp(jobs[i].subject, items[0].id) == 0;
        assert_ok(c, fails ? store_job_fail(c->store, &jobs[i], FZ_E_MALFORMED, "it is not one",
                                            false, &c->err)
                           : contract_finish(c, &jobs[i], NULL));
    }
    assert_string_equal(news(c, &mine, c->project), "report 2");
    assert_string_equal(news(c, &other, c->other), "report 1");
    before = mine;
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    assert_string_equal(news(c, &mine, c->project), "report 1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_REPORT), id);
    assert_ok(c, store_report_delete(c->store, c->project, id, &c->err));
    assert_ok(c, store_report_delete(c->store, c->project, items[3].id, &c->err));
    assert_string_equal(news(c, &mine, c->project), "report 1");
    assert_string_equal(news(c, &other, c->other), "");
    /* Somebody who comes now has heard nothing, and the same sums. */
    struct store_changes late = {0};
    assert_string_equal(news(c, &late, c->project), "");
    assert_memory_equal(late.sums, mine.sums, sizeof(mine.sums));
}

static void
test_issues(void **state)
{
    struct contract *c = *state;
    struct store_changes mine = {0}, before;
    const struct contract_group a = {.stack = "A", .key = "checkout", .variant = "x"},
                                b = {.stack = "B", .key = "cart", .variant = "x"},
                                b2 = {.stack = "C", .key = "cart", .variant = "y"};
    assert_string_equal(news(c, &mine, c->project), "");
    before = mine;
    contract_group_add(c, &a);
    assert_string_equal(news(c, &mine, c->project), "received 1 report 1 issue 1 new 1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_ISSUE), "1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_NEW_ISSUE), "1");
    contract_group_add(c, &a);
    assert_string_equal(news(c, &mine, c->project), "received 1 report 1 issue 1");
    contract_group_add(c, &b);
    contract_group_add(c, &b2);
    assert_string_equal(news(c, &mine, c->project), "received 2 report 2 issue 2 new 1");
    const struct store_issue_change change = {
        .actor = "ci", .set_state = true, .state = STORE_ISSUE_RESOLVED};
    assert_ok(c, store_issue_change(c->store, c->project, 2, &change, &c->err));
    assert_string_equal(news(c, &mine, c->project), "issue 1");
    before = mine;
    assert_ok(c, store_issue_comment(c->store, c->project, 2, "ci", "hm", &c->err));
    assert_string_equal(news(c, &mine, c->project), "issue 1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_ISSUE), "2");
    int64_t number = 0;
    assert_ok(c, store_issue_split(c->store, c->project, 2, "y", "ci", &number, &c->err));
    assert_string_equal(news(c, &mine, c->project), "issue 1 new 1");
    before = mine;
    assert_ok(c, store_issue_merge(c->store, c->project, number, 2, "ci", &c->err));
    assert_string_equal(news(c, &mine, c->project), "issue 1");
    assert_string_equal(id_of(c, before, STORE_CHANGE_ISSUE), "2");
}

static void
test_uploads(void **state)
{
    struct contract *c = *state;
    struct store_changes mine = {0}, before;
    char id[STORE_ID_TEXT], upload[STORE_ID_TEXT];
    uint64_t unblocked = 0;
    contract_report(c, c->project, "one", id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "a"));
    assert_string_equal(news(c, &mine, c->project), "");
    before = mine;
    contract_upload(c, c->project, upload);
    assert_string_equal(news(c, &mine, c->project), "");
    job = contract_claim(c, upload);
    assert_ok(c, contract_finish_upload(c, &job, "ab", STORE_SYMBOL_READY, &unblocked));
    assert_string_equal(news(c, &mine, c->project), "upload 1 unblocked 1 symbols 2");
    assert_string_equal(id_of(c, before, STORE_CHANGE_UPLOAD), upload);
    struct fz_uuid uuid = contract_uuid('a');
    size_t n = 0;
    assert_ok(c, store_symbol_delete(c->store, c->project, &uuid, &n, &c->err));
    assert_string_equal(news(c, &mine, c->project), "symbols 1");
    contract_upload(c, c->project, upload);
    struct store_job jobs[4];
    assert_int_equal(contract_claim_all(c, jobs, 4), 2);
    const struct store_job *second = jobs[0].kind == STORE_JOB_UPLOAD ? &jobs[0] : &jobs[1];
    assert_ok(c, store_job_fail(c->store, second, FZ_E_MALFORMED, "no", false, &c->err));
    assert_string_equal(news(c, &mine, c->project), "upload 1");
}

static int
add_some(struct contract *c, int i, void *user)
{
    (void)user;
    for (int k = 0; k < 20; k++) {
        struct store_report_new item =
            contract_item(c->project, fz_arena_printf(&c->arena, "%02d%02d", i, k));
        if (contract_insert(c->store, &item, 1, &c->err))
            return 1;
    }
    return 0;
}

static void
test_at_once(void **state)
{
    struct contract *c = *state;
    struct store_changes mine = {0};
    struct store_news list[STORE_CHANGES_N];
    assert_string_equal(news(c, &mine, c->project), "");
    contract_fork(c, 6, add_some, NULL);
    assert_ok(c, store_changes_read(c->store, c->project, &mine, list, &c->err));
    assert_int_equal(list[STORE_CHANGE_RECEIVED].n, 120);
    assert_int_equal(mine.sums[STORE_CHANGE_RECEIVED], 120);
    assert_in_range(list[STORE_CHANGE_RECEIVED].n_ids, 1, STORE_CHANGE_IDS);
}

int
contract_run_changes(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_reports),
        contract_test(test_issues),
        contract_test(test_uploads),
        contract_test(test_at_once),
    };
    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
