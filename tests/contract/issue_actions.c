/*
 * What people do with issues, and what reports do to those that are not open.
 */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"
#include "storage/store_jobs.h"

static const char by[] = "ci token";

static struct store_issue_change
resolve(const struct store_fix *fixes, size_t n)
{
    return (struct store_issue_change){.actor = by,
                                       .set_state = true,
                                       .state = STORE_ISSUE_RESOLVED,
                                       .fixes = fixes,
                                       .n_fixes = n};
}

static void
change(struct contract *c, int64_t number, struct store_issue_change what)
{
    what.actor = by;
    assert_ok(c, store_issue_change(c->store, c->project, number, &what, &c->err));
}

static void
ignore(struct contract *c, struct store_ignore until)
{
    change(c, 1,
           (struct store_issue_change){
               .set_state = true, .state = STORE_ISSUE_IGNORED, .ignore = until});
}

/* The newest entry of the kind; NULL = there is none. */
static const struct store_activity *
activity(struct contract *c, int64_t number, const char *kind)
{
    struct store_page page = {.limit = 100};
    struct store_activity *list;
    assert_ok(c,
              store_activity_list(c->store, c->project, number, &page, &c->arena, &list, &c->err));
    for (size_t i = 0; i < page.n; i++) {
        if (strcmp(list[i].kind, kind) == 0)
            return &list[i];
    }
    return NULL;
}

static const char *
send(struct contract *c, const char *version, const char *build)
{
    const struct contract_group g = {
        .stack = "A", .key = "checkout", .variant = "x", .version = version, .build = build};
    return contract_group_add(c, &g);
}

static void
test_regressions(void **state)
{
    (void)state;
    /* The versions that came before the issue was resolved; where it is fixed; the report. */
    static const struct {
        const char *known[4];
        struct store_fix fixes[2];
        size_t n_fixes;
        const char *version, *build;
        bool is_regression;
    } rows[] = {
        {{"10.24.0"}, {{"10.24.0", NULL, false}}, 1, "10.24.0", "7", true},
        {{"10.24.0"}, {{"10.24.0", NULL, false}}, 1, "10.25.0", "7", true},
        {{"10.24.0"}, {{"10.24.0", NULL, false}}, 1, "10.23.9", "7", false},
        /* A hotfix that was made after it, on an older branch. */
        {{"10.24.0"}, {{"10.24.0", NULL, false}}, 1, "10.18.7", "7", false},
        {{"10.24.0"}, {{"10.18.7", NULL, false}}, 1, "10.18.8", "7", true},
        {{"10.24.0"}, {{"10.18.7", NULL, false}}, 1, "10.20.1", "7", false},
        {{"10.24.0"}, {{"10.18.7", NULL, false}}, 1, "10.24.1", "7", true},
        /* Fixed on both branches. */
        {{"10.24.0"},
         {{"10.18.7", NULL, false}, {"10.24.1", NULL, false}},
         2,
         "10.24.0",
         "7",
         false},
        {{"10.24.0"},
         {{"10.18.7", NULL, false}, {"10.24.1", NULL, false}},
         2,
         "10.18.9",
         "7",
         true},
        {{"4.2"}, {{"4.2", "45", false}}, 1, "4.2", "44", false},
        {{"4.2"}, {{"4.2", "45", false}}, 1, "4.2", "45", true},
        /* Ordered by numbers: 4.10 comes after 4.9. */
        {{"4.9", "4.10"}, {{NULL, NULL, true}}, 1, "4.9.1", "8", false},
        {{"4.9", "4.10"}, {{NULL, NULL, true}}, 1, "4.10", "7", false},
        {{"4.9", "4.10"}, {{NULL, NULL, true}}, 1, "4.10", "8", true},
        {{"4.9", "4.10"}, {{NULL, NULL, true}}, 1, "4.11", "1", true},
        /* In no particular version: in the highest one that there is. */
        {{"4.2", "4.3"}, {{NULL, NULL, false}}, 0, "4.2", "7", false},
        {{"4.2", "4.3"}, {{NULL, NULL, false}}, 0, "4.3", "7", true},
        {{"4.2", "4.3"}, {{NULL, NULL, false}}, 0, "4.4", "1", true},
        {{"main"}, {{NULL, NULL, false}}, 0, "main", "7", true},
        {{"4.2"}, {{"4.3", NULL, false}}, 1, "main", "7", false},
        /* Invented. It is not the highest version either. */
        {{"4.2"}, {{"4.3", NULL, false}}, 1, "999.9.9", "7", false},
        {{"4.2", "999.9.9"}, {{NULL, NULL, true}}, 1, "4.3", "7", true},
        {{"4.2", "999.9.9"}, {{NULL, NULL, true}}, 1, "999.9.10", "7", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        void *one = NULL;
        contract_setup(&one);
        struct contract *c = one;
        for (size_t j = 0; rows[i].known[j]; j++)
            send(c, rows[i].known[j], "7");
        change(c, 1, resolve(rows[i].fixes, rows[i].n_fixes));
        const char *id = send(c, rows[i].version, rows[i].build);
        struct store_issue issue = contract_issue(c, 1);
        const struct store_activity *entry = activity(c, 1, "regressed");
        if (issue.is_regressed != rows[i].is_regression ||
            (issue.state == STORE_ISSUE_OPEN) != rows[i].is_regression)
            fail_msg("row %zu: a report of %s (%s)", i, rows[i].version, rows[i].build);
        assert_int_equal(entry != NULL, rows[i].is_regression);
        if (entry) {
            assert_non_null(strstr(entry->detail, id));
            assert_non_null(strstr(entry->detail, rows[i].version));
            assert_string_equal(entry->actor, "framezero");
        }
        contract_recount(c);
        contract_teardown(&one);
    }
}

static void
test_invented_version_becomes_real(void **state)
{
    struct contract *c = *state;
    const struct store_fix fix = {"4.3", NULL, false};
    char user[16];
    struct contract_group g = {
        .stack = "A", .key = "checkout", .variant = "x", .version = "4.2", .user = user};
    snprintf(user, sizeof(user), "user");
    contract_group_add(c, &g);
    change(c, 1, resolve(&fix, 1));
    g.version = "2026.1";
    for (int i = 0; i < 4; i++) {
        snprintf(user, sizeof(user), "user %d", i);
        /* Twice each: it is people that count. */
        contract_group_add(c, &g);
        contract_group_add(c, &g);
        assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_RESOLVED);
    }
    snprintf(user, sizeof(user), "user 5");
    contract_group_add(c, &g);
    assert_true(contract_issue(c, 1).is_regressed);
}

static void
test_reports_that_are_not_new(void **state)
{
    struct contract *c = *state;
    const struct store_fix fix = {"1.0", NULL, false};
    const struct contract_group g = {.stack = "A", .key = "checkout", .variant = "x"};
    const struct contract_group nameless = {
        .stack = "P", .key = "uuid+10", .variant = "x", .is_placeholder = true};
    const char *id = contract_group_add(c, &g);
    const char *waits = contract_group_add(c, &nameless);
    change(c, 1, resolve(&fix, 1));
    contract_group_again(c, id, &g);
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_RESOLVED);
    /* Its names come now, but it crashed before the issue was resolved. */
    contract_group_again(c, waits, &g);
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_RESOLVED);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    contract_group_add(c, &g);
    assert_true(contract_issue(c, 1).is_regressed);
    /* Resolved once more, and then a crash whose names come late. */
    change(c, 1, resolve(&fix, 1));
    assert_false(contract_issue(c, 1).is_regressed);
    const struct contract_group later = {
        .stack = "Q", .key = "uuid+20", .variant = "x", .is_placeholder = true};
    struct store_report_new item = contract_item(c->project, "received later");
    item.received_ms = INT64_C(4000000000000);
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    struct store_job job = contract_claim(c, item.id);
    assert_ok(c, contract_group_finish(c, &job, &later));
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_RESOLVED);
    contract_group_again(c, item.id, &g);
    assert_true(contract_issue(c, 1).is_regressed);
    contract_recount(c);
}

/* The oldest number stays, and with it what people said of the bug. */
static void
test_placeholder_inherits(void **state)
{
    struct contract *c = *state;
    const struct store_fix fix = {"2.0", NULL, false};
    const struct contract_group g = {.stack = "A", .key = "checkout", .variant = "x"};
    const struct contract_group nameless = {
        .stack = "P", .key = "uuid+10", .variant = "x", .is_placeholder = true};
    const char *waits = contract_group_add(c, &nameless);
    contract_group_add(c, &g);
    struct store_issue_change what = resolve(&fix, 1);
    what.set_assignee = what.set_title = true;
    what.assignee = "anna";
    what.title = "The cart";
    change(c, 2, what);
    contract_group_again(c, waits, &g);
    struct store_issue issue = contract_issue(c, 1);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(issue.state, STORE_ISSUE_RESOLVED);
    assert_string_equal(issue.assignee, "anna");
    assert_string_equal(issue.title, "The cart");
    send(c, "1.5", "1");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_RESOLVED);
    send(c, "2.0", "1");
    assert_true(contract_issue(c, 1).is_regressed);
    assert_non_null(activity(c, 1, "resolved"));
    contract_recount(c);
}

static void
test_ignored(void **state)
{
    struct contract *c = *state;
    send(c, "4.2", "7");
    ignore(c, (struct store_ignore){.n_reports = 2});
    send(c, "4.2", "7");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_IGNORED);
    send(c, "4.2", "7");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_OPEN);
    assert_false(contract_issue(c, 1).is_regressed);
    assert_non_null(strstr(activity(c, 1, "unmuted")->detail, "\"because\":\"reports\""));
    struct contract_group g = {.stack = "A", .key = "checkout", .variant = "x", .user = "bert"};
    ignore(c, (struct store_ignore){.n_users = 1});
    send(c, "4.2", "7"); /* of the same user as before */
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_IGNORED);
    contract_group_add(c, &g);
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_OPEN);
    ignore(c, (struct store_ignore){.next_version = true});
    send(c, "4.1", "9");
    send(c, "4.2", "7");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_IGNORED);
    send(c, "4.3", "1");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_OPEN);
    ignore(c, (struct store_ignore){0});
    for (int i = 0; i < 5; i++)
        send(c, "9.0", "1");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_IGNORED);
    contract_recount(c);
}

static void
test_ignored_until(void **state)
{
    struct contract *c = *state;
    uint64_t n = 0;
    const struct store_issue_change past = {
        .actor = by, .set_state = true, .state = STORE_ISSUE_IGNORED, .ignore = {.until_ms = 1000}};
    send(c, "4.2", "7");
    assert_fails(c, FZ_E_MALFORMED, store_issue_change(c->store, c->project, 1, &past, &c->err));
    ignore(c, (struct store_ignore){.until_ms = INT64_C(4000000000000)});
    assert_ok(c, store_issue_sweep(c->store, &n, &c->err));
    assert_int_equal(n, 0);
    send(c, "4.2", "7");
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_IGNORED);
    /* The time passes. */
    contract_sql(c, "UPDATE issues SET ignore_until_ms = 1000",
                 "UPDATE issues SET ignore_until_ms = 1000");
    assert_ok(c, store_issue_sweep(c->store, &n, &c->err));
    assert_int_equal(n, 1);
    assert_int_equal(contract_issue(c, 1).state, STORE_ISSUE_OPEN);
    assert_non_null(strstr(activity(c, 1, "unmuted")->detail, "\"because\":\"time\""));
    assert_ok(c, store_issue_sweep(c->store, &n, &c->err));
    assert_int_equal(n, 0);
}

static void
test_words(void **state)
{
    struct contract *c = *state;
    const struct store_fix fixes[] = {{"4.3", "45", false}, {NULL, NULL, true}};
    const struct store_fix wrong = {"main", NULL, false};
    struct store_issue_terms terms;
    send(c, "4.2", "7");
    struct store_issue_change what = resolve(fixes, 2);
    what.set_assignee = what.set_title = true;
    what.assignee = "anna";
    what.title = "The cart is empty";
    change(c, 1, what);
    struct store_issue issue = contract_issue(c, 1);
    assert_string_equal(issue.title, "The cart is empty");
    assert_string_equal(issue.assignee, "anna");
    assert_ok(c, store_issue_terms(c->store, c->project, 1, &c->arena, &terms, &c->err));
    assert_false(terms.title_is_ours);
    assert_int_equal(terms.n_fixes, 2);
    assert_string_equal(terms.fixes[0].version, "4.2");
    assert_true(terms.fixes[0].is_next);
    assert_string_equal(terms.fixes[1].version, "4.3");
    assert_string_equal(terms.fixes[1].build, "45");
    assert_string_equal(activity(c, 1, "resolved")->detail,
                        "{\"was\":{\"state\":\"open\"},\"fixes\":[{\"version\":\"4.3\",\"build\":"
                        "\"45\"},{\"after\":\"4.2\",\"build\":\"7\"}]}");
    assert_string_equal(activity(c, 1, "resolved")->actor, by);
    /* As we call it, assigned to no one. */
    change(c, 1, (struct store_issue_change){.set_assignee = true, .set_title = true});
    assert_string_equal(contract_issue(c, 1).title, "checkout");
    assert_null(contract_issue(c, 1).assignee);
    assert_non_null(strstr(activity(c, 1, "renamed")->detail, "The cart is empty"));
    assert_ok(c, store_issue_comment(c->store, c->project, 1, by, "Seen in \"beta\"", &c->err));
    assert_string_equal(activity(c, 1, "commented")->detail, "{\"text\":\"Seen in \\\"beta\\\"\"}");
    /* Nothing of a change that is refused stays. */
    what = resolve(&wrong, 1);
    what.set_assignee = true;
    what.assignee = "bert";
    assert_fails(c, FZ_E_MALFORMED, store_issue_change(c->store, c->project, 1, &what, &c->err));
    assert_null(contract_issue(c, 1).assignee);
    assert_fails(c, FZ_E_NOT_FOUND, store_issue_change(c->store, c->other, 1, &what, &c->err));
    assert_fails(c, FZ_E_MALFORMED, store_issue_comment(c->store, c->project, 1, by, "", &c->err));
}

static void
test_activity_pages(void **state)
{
    struct contract *c = *state;
    char text[16];
    size_t n = 0;
    send(c, "4.2", "7");
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof(text), "comment %d", i);
        assert_ok(c, store_issue_comment(c->store, c->project, 1, by, text, &c->err));
    }
    struct store_page page = {.limit = 2};
    do {
        struct store_activity *list;
        assert_ok(c,
                  store_activity_list(c->store, c->project, 1, &page, &c->arena, &list, &c->err));
        if (n == 0)
            assert_string_equal(list[0].detail, "{\"text\":\"comment 4\"}");
        n += page.n;
        page.cursor = page.next;
    } while (page.cursor);
    assert_int_equal(n, 6); /* the first: "created" */
    page.cursor = "x";
    struct store_activity *list;
    assert_fails(c, FZ_E_MALFORMED,
                 store_activity_list(c->store, c->project, 1, &page, &c->arena, &list, &c->err));
}

static const char *
hex(const char *variant)
{
    static char text[FZ_SHA256_TEXT];
    memset(text, '0', sizeof(text) - 1);
    for (size_t i = 0; variant[i]; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)variant[i]);
    text[2 * strlen(variant)] = '0';
    return text;
}

static void
test_merge_and_split(void **state)
{
    struct contract *c = *state;
    const struct contract_group a = {.stack = "A", .key = "a", .variant = "x", .version = "2.0"};
    const struct contract_group b = {.stack = "B", .key = "b", .variant = "y", .version = "1.0"};
    const struct contract_group b2 = {.stack = "B", .key = "b", .variant = "z", .user = "bert"};
    int64_t split = 0;
    contract_group_add(c, &a);
    const char *id = contract_group_add(c, &b);
    const char *other = contract_group_add(c, &b2);
    contract_group_add(c, &b2);
    assert_ok(c, store_issue_merge(c->store, c->project, 2, 1, by, &c->err));
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 4);
    assert_int_equal(contract_issue(c, 1).n_users, 2);
    assert_int_equal(contract_number_of(c, id), 1);
    assert_int_equal(contract_number_of(c, contract_group_add(c, &b)), 1);
    assert_string_equal(activity(c, 1, "merged")->actor, by);
    contract_recount(c);
    assert_fails(c, FZ_E_CONFLICT, store_issue_merge(c->store, c->project, 1, 1, by, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_issue_merge(c->store, c->project, 2, 1, by, &c->err));
    assert_string_equal(c->err.text, "issue 2 was merged into issue 1: change that one");
    assert_fails(c, FZ_E_NOT_FOUND, store_issue_merge(c->store, c->project, 1, 9, by, &c->err));
    /* A variant of the merged one gets an issue of its own. */
    assert_ok(c, store_issue_split(c->store, c->project, 1, hex("z"), by, &split, &c->err));
    assert_int_equal(split, 3);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_issue_split(c->store, c->project, 1, "SIGABRT", by, &split, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_issue_split(c->store, c->project, 1, "7a", by, &split, &c->err));
    assert_int_equal(contract_number_of(c, other), 3);
    assert_int_equal(contract_issue(c, 3).n_reports, 2);
    assert_int_equal(contract_issue(c, 3).n_users, 1);
    assert_int_equal(contract_issue(c, 1).n_users, 1);
    assert_string_equal(contract_issue(c, 3).last_version, "1.0");
    assert_string_equal(contract_issue(c, 1).last_version, "2.0");
    assert_int_equal(contract_number_of(c, contract_group_add(c, &b2)), 3);
    assert_int_equal(contract_number_of(c, contract_group_add(c, &b)), 1);
    contract_recount(c);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_issue_split(c->store, c->project, 1, hex("z"), by, &split, &c->err));
    assert_fails(c, FZ_E_CONFLICT,
                 store_issue_split(c->store, c->project, 3, hex("z"), by, &split, &c->err));
    assert_ok(c, store_issue_merge(c->store, c->project, 3, 1, by, &c->err));
    assert_int_equal(contract_number_of(c, contract_group_add(c, &b2)), 1);
    assert_int_equal(contract_issue(c, 1).n_users, 2);
    contract_recount(c);
    /* By its label, and by the beginning of its hash. */
    assert_ok(c, store_issue_split(c->store, c->project, 1, "z", by, &split, &c->err));
    assert_int_equal(contract_number_of(c, other), split);
    assert_ok(c,
              store_issue_split(c->store, c->project, 1, "7900000000000000", by, &split, &c->err));
    assert_int_equal(contract_number_of(c, id), split);
    contract_recount(c);
}

int
contract_run_issue_actions(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regressions),
        contract_test(test_invented_version_becomes_real),
        contract_test(test_reports_that_are_not_new),
        contract_test(test_placeholder_inherits),
        contract_test(test_ignored),
        contract_test(test_ignored_until),
        contract_test(test_words),
        contract_test(test_activity_pages),
        contract_test(test_merge_and_split),
    };
    return cmocka_run_group_tests_name("issue_actions", tests, NULL, NULL);
}
