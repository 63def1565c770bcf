/*
 * Rules of grouping that change: what becomes of issues and their counts, and undoing it.
 */
#include "rules_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"

static void
set_state(struct contract *c, int64_t number, enum store_issue_state state, const char *title)
{
    const struct store_fix fix = {"9.0", NULL, false};
    const struct store_issue_change what = {.actor = rules_by,
                                            .set_state = true,
                                            .state = state,
                                            .fixes = &fix,
                                            .n_fixes = state == STORE_ISSUE_RESOLVED,
                                            .set_title = title != NULL,
                                            .title = title};
    assert_ok(c, store_issue_change(c->store, c->project, number, &what, &c->err));
}

static void
test_merge_and_undo(void **state)
{
    struct contract *c = *state;
    static const char *const together[] = {"A", "ab", "B", "ab", NULL};
    rules_add(c, "A", "A", "x", "anna");
    const char *b = rules_add(c, "B", "B", "x", "bert");
    rules_add(c, "B", "B", "y", "anna");
    rules_add(c, "C", "C", "x", "carl");
    /* 3 is part of 2, and so redirects with it. */
    assert_ok(c, store_issue_merge(c->store, c->project, 3, 2, rules_by, &c->err));
    set_state(c, 2, STORE_ISSUE_RESOLVED, "By hand");
    struct store_rules_effect done = rules_apply(c, together, "first");
    assert_int_equal(done.n_stacks, 3);
    assert_int_equal(done.n_moved, 2);
    assert_int_equal(done.n_reports, 3);
    /* 2 keeps the reports of C. */
    assert_int_equal(done.n_merged, 0);
    assert_int_equal(done.n_split, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    assert_int_equal(contract_issue(c, 1).n_users, 2);
    assert_string_equal(contract_issue(c, 1).title, "ab");
    assert_int_equal(contract_issue(c, 2).n_reports, 1);
    assert_int_equal(contract_number_of(c, b), 1);
    /* The same variant goes on under the new key. */
    assert_int_equal(contract_number_of(c, rules_add(c, "B", "ab", "y", "anna")), 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants WHERE n_reports > 0"), 3);
    static const char *const all[] = {"A", "abc", "B", "abc", "C", "abc", NULL};
    done = rules_apply(c, all, "second");
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_examples, 1);
    assert_int_equal(done.examples[0].number, 2);
    assert_string_equal(done.examples[0].title, "By hand");
    assert_int_equal(done.examples[0].into, 1);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(contract_issue(c, 3).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 5);
    /* Back to the first rules, then to none. */
    rules_undo(c, together);
    struct store_issue two = contract_issue(c, 2);
    assert_int_equal(two.merged_into, 0);
    assert_int_equal(two.state, STORE_ISSUE_RESOLVED);
    assert_string_equal(two.title, "By hand");
    assert_int_equal(two.n_reports, 1);
    assert_int_equal(contract_issue(c, 3).merged_into, 2);
    assert_string_equal(contract_issue(c, 1).title, "ab");
    rules_undo(c, NULL);
    assert_string_equal(contract_issue(c, 1).title, "A");
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    assert_int_equal(contract_issue(c, 2).n_reports, 4);
    assert_int_equal(contract_number_of(c, b), 2);
    const char *rules;
    int64_t undoes;
    assert_fails(c, FZ_E_CONFLICT,
                 store_rules_before(c->store, c->project, &c->arena, &rules, &undoes, &c->err));
}

static void
test_split_and_undo(void **state)
{
    struct contract *c = *state;
    static const char *const one[] = {"A1", "a", "A2", "a", NULL};
    static const char *const two[] = {"A1", "a1", "A2", "a2", NULL};
    struct store_rules_effect done;
    const char *small = rules_add(c, "A1", "a", "x", "anna"),
               *big = rules_add(c, "A2", "a", "x", "bert");
    rules_add(c, "A2", "a", "y", "anna");
    rules_add(c, "B", "B", "x", "anna");
    done = rules_apply(c, two, "two");
    assert_int_equal(done.n_split, 1);
    assert_int_equal(done.n_new, 1);
    /* The number stays with most of its reports. */
    assert_int_equal(contract_number_of(c, big), 1);
    assert_int_equal(contract_number_of(c, small), 3);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    assert_int_equal(contract_issue(c, 3).n_users, 1);
    assert_string_equal(contract_issue(c, 3).title, "a1");
    rules_undo(c, one);
    assert_int_equal(contract_issue(c, 3).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    assert_int_equal(contract_issue(c, 1).n_users, 2);
    assert_string_equal(contract_issue(c, 1).title, "a");
    /* Once more: the number from before is used again. */
    rules_apply(c, two, "two");
    assert_int_equal(contract_number_of(c, small), 3);
    assert_int_equal(contract_issue(c, 3).merged_into, 0);
}

static void
test_split_off_stays(void **state)
{
    struct contract *c = *state;
    static const char *const renamed[] = {"A", "z", "B", "z", NULL};
    int64_t split = 0;
    rules_add(c, "A", "A", "x", "anna");
    const char *off = rules_add(c, "A", "A", "y", "bert");
    rules_add(c, "B", "B", "y", "carl");
    assert_ok(c, store_issue_split(c->store, c->project, 1, "y", rules_by, &split, &c->err));
    assert_int_equal(split, 3);
    rules_apply(c, renamed, "renamed");
    assert_int_equal(contract_number_of(c, off), 3);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    rules_undo(c, NULL);
    assert_int_equal(contract_number_of(c, off), 3);
    assert_int_equal(contract_issue(c, 3).n_reports, 1);
    assert_int_equal(contract_issue(c, 2).n_reports, 1);
    assert_int_equal(contract_issue(c, 2).merged_into, 0);
}

/* A stack that was not known yet has a key whose issue was redirected. */
static void
test_key_comes_back(void **state)
{
    struct contract *c = *state;
    static const char *const together[] = {"A", "ab", "B", "ab", NULL};
    rules_add(c, "A", "A", "x", "anna");
    rules_add(c, "B", "B", "x", "anna");
    rules_apply(c, together, "together");
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    const char *id = rules_add(c, "B2", "B", "x", "anna");
    assert_int_equal(contract_number_of(c, id), 2);
    assert_int_equal(contract_issue(c, 2).merged_into, 0);
    assert_int_equal(contract_issue(c, 2).n_reports, 1);
    contract_recount(c);
}

/* A placeholder's stack has no reports once their names have come. */
static void
test_stack_without_reports(void **state)
{
    struct contract *c = *state;
    static const char *const renamed[] = {"A", "z", NULL}, *const merged[] = {"A", "B", NULL};
    static const char *const both[] = {"A", "B", "Shop + 0x10", "other", NULL};
    const struct contract_group unnamed = {.stack = "Shop + 0x10",
                                           .key = "Shop + 0x10",
                                           .variant = "x",
                                           .user = "anna",
                                           .is_placeholder = true};
    struct contract_group named = {.stack = "A", .key = "A", .variant = "x", .user = "anna"};
    const char *id = contract_group_add(c, &unnamed);
    contract_group_again(c, id, &named);
    rules_add(c, "B", "B", "x", "bert");
    /* All its reports get another key: the number goes with them. */
    struct store_rules_effect done = rules_apply(c, renamed, "renamed");
    assert_int_equal(done.n_moved, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(done.n_new, 0);
    assert_int_equal(done.n_examples, 0);
    assert_int_equal(contract_number_of(c, id), 1);
    rules_undo(c, NULL);
    /* The key of another issue. */
    done = rules_apply(c, merged, "merged");
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(contract_issue(c, 1).merged_into, 2);
    assert_int_equal(contract_issue(c, 2).n_reports, 2);
    rules_undo(c, NULL);
    assert_int_equal(contract_number_of(c, id), 1);
    assert_int_equal(contract_issue(c, 1).merged_into, 0);
    /* What has no reports moves as well, and makes no issue. */
    done = rules_apply(c, both, "both");
    assert_int_equal(done.n_moved, 2);
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(done.n_new, 0);
    assert_int_equal(contract_issue(c, 1).merged_into, 2);
    rules_apply(c, renamed, "renamed");
    assert_int_equal(contract_issue(c, 1).merged_into, 0);
    assert_int_equal(contract_number_of(c, id), 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issues"), 2);
}

/* A key that only stacks without reports come to leaves its issue redirected, until a report comes. */
static void
test_key_without_reports(void **state)
{
    struct contract *c = *state;
    static const char *const together[] = {"A", "ab", "B", "ab", NULL};
    static const char *const parked[] = {"A", "ab", "B", "ab", "Shop + 0x10", "B", NULL};
    const struct contract_group unnamed = {.stack = "Shop + 0x10",
                                           .key = "Shop + 0x10",
                                           .variant = "x",
                                           .user = "anna",
                                           .is_placeholder = true};
    struct contract_group named = {.stack = "A", .key = "A", .variant = "x", .user = "anna"};
    contract_group_again(c, contract_group_add(c, &unnamed), &named);
    rules_add(c, "B", "B", "x", "bert");
    rules_apply(c, together, "together");
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    /* The stack without names, which has no reports any more, comes to the key of 2. */
    rules_apply(c, parked, "parked");
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    const char *id = rules_add(c, "Shop + 0x10", "B", "x", "carl");
    assert_int_equal(contract_number_of(c, id), 2);
    assert_int_equal(contract_issue(c, 2).merged_into, 0);
    contract_recount(c);
}

/* Two placeholders whose names have one key under the rules become one issue, for ever: which reports came to which of them is
 * not known any more. Undone, the keys part, and the smaller one has a new number. */
static void
test_placeholders_joined(void **state)
{
    struct contract *c = *state;
    static const char *const together[] = {"A", "ab", "B", "ab", NULL};
    struct contract_group unnamed[2], named[2];
    const char *ids[3];
    rules_apply(c, together, "together");
    for (int i = 0; i < 3; i++) {
        static const char *const stacks[] = {"Shop + 0x10", "Shop + 0x20"}, *const names[] = {"A",
                                                                                              "B"};
        int which = i / 2;
        unnamed[which] = (struct contract_group){.stack = stacks[which],
                                                 .key = stacks[which],
                                                 .variant = "x",
                                                 .user = "anna",
                                                 .is_placeholder = true,
                                                 .rules_version = 1};
        named[which] = (struct contract_group){
            .stack = names[which], .key = "ab", .variant = "x", .user = "anna", .rules_version = 1};
        ids[i] = contract_group_add(c, &unnamed[which]);
    }
    for (int i = 0; i < 3; i++)
        contract_group_again(c, ids[i], &named[i / 2]);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    rules_undo(c, NULL);
    assert_int_equal(contract_number_of(c, ids[0]), 1);
    assert_int_equal(contract_number_of(c, ids[2]), 3);
    assert_string_equal(contract_issue(c, 3).title, "B");
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
}

static void
test_try_changes_nothing(void **state)
{
    struct contract *c = *state;
    static const char *const together[] = {"A", "ab", "B", "ab", NULL};
    static const char sum[] =
        "SELECT (SELECT sum(key_id) FROM stacks) * 1000 + (SELECT sum(variant_id) FROM facts) + "
        "(SELECT count(*) FROM issue_keys) + (SELECT count(*) FROM variants) + (SELECT count(*) "
        "FROM grouping_issues) + (SELECT count(*) FROM issue_activity)";
    struct store_rules_effect effect;
    rules_add(c, "A", "A", "x", "anna");
    rules_add(c, "B", "B", "x", "anna");
    int64_t before = contract_count(c, sum);
    const struct store_rules_change what = rules_change(c, together, "x");
    assert_ok(c, store_rules_try(c->store, c->project, &what, &c->arena, &effect, &c->err));
    assert_int_equal(effect.n_merged, 1);
    assert_int_equal(contract_count(c, sum), before);
    assert_int_equal(rules_now(c), 0);
    /* Someone else was faster. */
    rules_apply(c, NULL, "y");
    assert_fails(c, FZ_E_CONFLICT,
                 store_rules_apply(c->store, c->project, &what, &c->arena, &effect, &c->err));
    struct store_rules_version *history;
    size_t n = 0;
    assert_ok(c, store_rules_history(c->store, c->project, &c->arena, &history, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(history[0].rules, "y");
    assert_string_equal(history[0].actor, rules_by);
}

int
contract_run_rules(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_merge_and_undo),        contract_test(test_split_and_undo),
        contract_test(test_split_off_stays),       contract_test(test_key_comes_back),
        contract_test(test_stack_without_reports), contract_test(test_key_without_reports),
        contract_test(test_placeholders_joined),   contract_test(test_try_changes_nothing),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
