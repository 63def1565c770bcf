/*
 * Rules of grouping that change: what becomes of issues and their counts, and undoing it.
 */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"
#include "storage/store_rules.h"

enum { CHILDREN = 4, ROUNDS = 30 };

static const char by[] = "admin token";

/* Rules as pairs of a stack and its key; a stack that is not named has its own text as its key. */
static enum fz_code
key_of(void *user, struct fz_span stack, struct store_stack_key *ret,
       struct fz_error *err FZ_UNUSED)
{
    static char text[64];
    const char *const *pairs = user;
    snprintf(text, sizeof(text), "%.*s", (int)stack.len, (const char *)stack.data);
    const char *key = text;
    for (size_t i = 0; pairs && pairs[i]; i += 2) {
        if (strcmp(pairs[i], text) == 0)
            key = pairs[i + 1];
    }
    *ret = (struct store_stack_key){.title = key};
    memcpy(ret->key, key, strlen(key));
    return FZ_OK;
}

static int64_t
rules_version(struct contract *c)
{
    struct store_project project;
    assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
    return project.rules_version;
}

static struct store_rules_change
change(struct contract *c, const char *const *pairs, const char *text)
{
    return (struct store_rules_change){.actor = by,
                                       .rules = text,
                                       .based_on = rules_version(c),
                                       .key_of = key_of,
                                       .user = (void *)(uintptr_t)pairs};
}

static struct store_rules_effect
apply(struct contract *c, const char *const *pairs, const char *text)
{
    const struct store_rules_change what = change(c, pairs, text);
    struct store_rules_effect tried, done;
    assert_ok(c, store_rules_try(c->store, c->project, &what, &c->arena, &tried, &c->err));
    assert_ok(c, store_rules_apply(c->store, c->project, &what, &c->arena, &done, &c->err));
    /* The dry run says what happens. */
    assert_int_equal(tried.n_moved, done.n_moved);
    assert_int_equal(tried.n_merged, done.n_merged);
    assert_int_equal(tried.n_split, done.n_split);
    assert_int_equal(tried.n_new, done.n_new);
    assert_int_equal(done.version, what.based_on + 1);
    contract_recount(c);
    return done;
}

static void
undo(struct contract *c, const char *const *pairs)
{
    struct store_rules_change what = change(c, pairs, NULL);
    struct store_rules_effect done;
    assert_ok(
        c, store_rules_before(c->store, c->project, &c->arena, &what.rules, &what.undoes, &c->err));
    assert_ok(c, store_rules_apply(c->store, c->project, &what, &c->arena, &done, &c->err));
    contract_recount(c);
}

static const char *
add(struct contract *c, const char *stack, const char *key, const char *variant, const char *user)
{
    const struct contract_group g = {.stack = stack,
                                     .key = key,
                                     .variant = variant,
                                     .user = user,
                                     .rules_version = rules_version(c)};
    return contract_group_add(c, &g);
}

static void
set_state(struct contract *c, int64_t number, enum store_issue_state state, const char *title)
{
    const struct store_fix fix = {"9.0", NULL, false};
    const struct store_issue_change what = {.actor = by,
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
    add(c, "A", "A", "x", "anna");
    const char *b = add(c, "B", "B", "x", "bert");
    add(c, "B", "B", "y", "anna");
    add(c, "C", "C", "x", "carl");
    /* 3 is part of 2, and so redirects with it. */
    assert_ok(c, store_issue_merge(c->store, c->project, 3, 2, by, &c->err));
    set_state(c, 2, STORE_ISSUE_RESOLVED, "By hand");
    struct store_rules_effect done = apply(c, together, "first");
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
    assert_int_equal(contract_number_of(c, add(c, "B", "ab", "y", "anna")), 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants WHERE n_reports > 0"), 3);
    static const char *const all[] = {"A", "abc", "B", "abc", "C", "abc", NULL};
    done = apply(c, all, "second");
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_examples, 1);
    assert_int_equal(done.examples[0].number, 2);
    assert_string_equal(done.examples[0].title, "By hand");
    assert_int_equal(done.examples[0].into, 1);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(contract_issue(c, 3).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 5);
    /* Back to the first rules, then to none. */
    undo(c, together);
    struct store_issue two = contract_issue(c, 2);
    assert_int_equal(two.merged_into, 0);
    assert_int_equal(two.state, STORE_ISSUE_RESOLVED);
    assert_string_equal(two.title, "By hand");
    assert_int_equal(two.n_reports, 1);
    assert_int_equal(contract_issue(c, 3).merged_into, 2);
    assert_string_equal(contract_issue(c, 1).title, "ab");
    undo(c, NULL);
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
    const char *small = add(c, "A1", "a", "x", "anna"), *big = add(c, "A2", "a", "x", "bert");
    add(c, "A2", "a", "y", "anna");
    add(c, "B", "B", "x", "anna");
    done = apply(c, two, "two");
    assert_int_equal(done.n_split, 1);
    assert_int_equal(done.n_new, 1);
    /* The number stays with most of its reports. */
    assert_int_equal(contract_number_of(c, big), 1);
    assert_int_equal(contract_number_of(c, small), 3);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    assert_int_equal(contract_issue(c, 3).n_users, 1);
    assert_string_equal(contract_issue(c, 3).title, "a1");
    undo(c, one);
    assert_int_equal(contract_issue(c, 3).merged_into, 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    assert_int_equal(contract_issue(c, 1).n_users, 2);
    assert_string_equal(contract_issue(c, 1).title, "a");
    /* Once more: the number from before is used again. */
    apply(c, two, "two");
    assert_int_equal(contract_number_of(c, small), 3);
    assert_int_equal(contract_issue(c, 3).merged_into, 0);
}

static void
test_split_off_stays(void **state)
{
    struct contract *c = *state;
    static const char *const renamed[] = {"A", "z", "B", "z", NULL};
    int64_t split = 0;
    add(c, "A", "A", "x", "anna");
    const char *off = add(c, "A", "A", "y", "bert");
    add(c, "B", "B", "y", "carl");
    assert_ok(c, store_issue_split(c->store, c->project, 1, "y", by, &split, &c->err));
    assert_int_equal(split, 3);
    apply(c, renamed, "renamed");
    assert_int_equal(contract_number_of(c, off), 3);
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    undo(c, NULL);
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
    add(c, "A", "A", "x", "anna");
    add(c, "B", "B", "x", "anna");
    apply(c, together, "together");
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    const char *id = add(c, "B2", "B", "x", "anna");
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
    add(c, "B", "B", "x", "bert");
    /* All its reports get another key: the number goes with them. */
    struct store_rules_effect done = apply(c, renamed, "renamed");
    assert_int_equal(done.n_moved, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(done.n_new, 0);
    assert_int_equal(done.n_examples, 0);
    assert_int_equal(contract_number_of(c, id), 1);
    undo(c, NULL);
    /* The key of another issue. */
    done = apply(c, merged, "merged");
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(contract_issue(c, 1).merged_into, 2);
    assert_int_equal(contract_issue(c, 2).n_reports, 2);
    undo(c, NULL);
    assert_int_equal(contract_number_of(c, id), 1);
    assert_int_equal(contract_issue(c, 1).merged_into, 0);
    /* What has no reports moves as well, and makes no issue. */
    done = apply(c, both, "both");
    assert_int_equal(done.n_moved, 2);
    assert_int_equal(done.n_merged, 1);
    assert_int_equal(done.n_split, 0);
    assert_int_equal(done.n_new, 0);
    assert_int_equal(contract_issue(c, 1).merged_into, 2);
    apply(c, renamed, "renamed");
    assert_int_equal(contract_issue(c, 1).merged_into, 0);
    assert_int_equal(contract_number_of(c, id), 1);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issues"), 2);
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
    add(c, "A", "A", "x", "anna");
    add(c, "B", "B", "x", "anna");
    int64_t before = contract_count(c, sum);
    const struct store_rules_change what = change(c, together, "x");
    assert_ok(c, store_rules_try(c->store, c->project, &what, &c->arena, &effect, &c->err));
    assert_int_equal(effect.n_merged, 1);
    assert_int_equal(contract_count(c, sum), before);
    assert_int_equal(rules_version(c), 0);
    /* Someone else was faster. */
    apply(c, NULL, "y");
    assert_fails(c, FZ_E_CONFLICT,
                 store_rules_apply(c->store, c->project, &what, &c->arena, &effect, &c->err));
    struct store_rules_version *history;
    size_t n = 0;
    assert_ok(c, store_rules_history(c->store, c->project, &c->arena, &history, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(history[0].rules, "y");
    assert_string_equal(history[0].actor, by);
}

/* Of one variant, most reports leave, or most stay: either way all is counted where it is. */
static void
test_parts_of_variants(void **state)
{
    struct contract *c = *state;
    static const char *const leaves[] = {"A1", "a", "A2", "b", "B", "b", NULL};
    static const char *const swap[] = {"A1", "b", "A2", "b", "B", "a", NULL};
    static const char *const before[] = {"A1", "a", "A2", "a", "B", "b", NULL};
    char user[16];
    for (int i = 0; i < 12; i++) {
        snprintf(user, sizeof(user), "user %d", i % 5);
        add(c, i % 6 ? "A1" : "A2", "a", i % 3 ? "x" : "y", user);
        if (i % 2)
            add(c, "B", "b", "x", user);
    }
    apply(c, leaves, "leaves");
    assert_int_equal(contract_issue(c, 1).n_reports, 10);
    assert_int_equal(contract_issue(c, 2).n_reports, 8);
    apply(c, swap, "swap");
    assert_int_equal(contract_issue(c, 1).n_reports + contract_issue(c, 2).n_reports, 18);
    undo(c, leaves);
    undo(c, before);
    assert_int_equal(contract_issue(c, 1).n_reports, 12);
    assert_int_equal(contract_issue(c, 2).n_reports, 6);
    assert_int_equal(contract_issue(c, 1).n_users, 5);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issue_users WHERE issue_id < 0"), 0);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issue_hours WHERE variant_id < 0"), 0);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issue_days WHERE variant_id < 0"), 0);
}

/* Many stacks of one variant part, more than one statement writes; then all come together again. */
static void
test_many_stacks_part(void **state)
{
    enum { STACKS = 150 };
    struct contract *c = *state;
    static char names[STACKS][8];
    static const char *apart[2 * STACKS + 1], *before[2 * STACKS + 1];
    char user[16];
    for (int s = 0; s < STACKS; s++) {
        snprintf(names[s], sizeof(names[s]), "s%d", s);
        apart[2 * s] = apart[2 * s + 1] = before[2 * s] = names[s];
        before[2 * s + 1] = "one";
        snprintf(user, sizeof(user), "user %d", s % 7);
        add(c, names[s], "one", "x", user);
    }
    add(c, "s0", "one", "y", "anna");
    struct store_rules_effect done = apply(c, apart, "apart");
    assert_int_equal(done.n_new, STACKS - 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    assert_int_equal(contract_issue(c, STACKS).n_users, 1);
    undo(c, before);
    assert_int_equal(contract_issue(c, 1).n_reports, STACKS + 1);
    assert_int_equal(contract_issue(c, 1).n_users, 8);
    assert_int_equal(contract_issue(c, STACKS).merged_into, 1);
}

/* A key that goes to a new one as a whole takes its variants along: no fact is rewritten. */
static void
test_whole_keys_rewrite_nothing(void **state)
{
    struct contract *c = *state;
    static const char *const renamed[] = {"A1", "z", "A2", "z", NULL};
    static const char *const before[] = {"A1", "a", "A2", "a", NULL};
    static const char sum[] = "SELECT sum(variant_id * report_key) FROM facts";
    static const char *const stacks[] = {"A1", "A2", "B"}, *const variants[] = {"x", "y"};
    for (int i = 0; i < 12; i++)
        add(c, stacks[i % 3], i % 3 == 2 ? "B" : "a", variants[i % 2], "anna");
    int64_t facts = contract_count(c, sum);
    apply(c, renamed, "renamed");
    assert_string_equal(contract_issue(c, 1).title, "z");
    assert_int_equal(contract_count(c, sum), facts);
    undo(c, before);
    assert_string_equal(contract_issue(c, 1).title, "a");
    assert_int_equal(contract_count(c, sum), facts);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants"), 6);
}

/* Any rules after any others, and all of them taken back again. */
static void
test_random_rules(void **state)
{
    enum { STACKS = 9, KEYS = 4, VERSIONS = 12 };
    struct contract *c = *state;
    static char names[STACKS][4], keys[VERSIONS + 1][STACKS][4];
    static const char *pairs[VERSIONS + 1][2 * STACKS + 1];
    uint32_t random = 20261123;
    char user[16];
    for (int v = 0; v <= VERSIONS; v++) {
        for (int s = 0; s < STACKS; s++) {
            random = random * 1664525 + 1013904223;
            snprintf(names[s], sizeof(names[s]), "s%d", s);
            /* At first each is alone. */
            snprintf(keys[v][s], sizeof(keys[v][s]), v ? "k%d" : "s%d",
                     v ? (int)(random >> 16) % KEYS : s);
            pairs[v][2 * s] = names[s];
            pairs[v][2 * s + 1] = keys[v][s];
        }
    }
    for (int i = 0; i < 60; i++) {
        random = random * 1664525 + 1013904223;
        int s = (int)(random >> 16) % (i % 2 ? STACKS : 2);
        snprintf(user, sizeof(user), "user %d", i % 7);
        add(c, names[s], names[s], i % 3 ? "x" : "y", user);
    }
    const int64_t issues = contract_count(c, "SELECT count(*) FROM issues");
    for (int v = 1; v <= VERSIONS; v++)
        apply(c, pairs[v], "random");
    for (int v = VERSIONS - 1; v >= 0; v--)
        undo(c, pairs[v]);
    /* Every issue has what it had: the stacks that it is named after. */
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issues WHERE merged_into IS NULL AND "
                                       "n_reports > 0"),
                     issues);
    assert_int_equal(contract_count(c,
                                    "SELECT count(*) FROM issues i JOIN variants v ON v.issue_id "
                                    "= i.id JOIN issue_keys k ON k.id = v.key_id WHERE "
                                    "v.n_reports > 0 AND k.title <> i.title"),
                     0);
}

/* Reports end in several processes while issues are merged, split and resolved, and rules change. */
static int
work(struct contract *c, int child, void *user)
{
    static const char *const stacks[] = {"s0", "s1", "s2", "s3", "s4"};
    static const char *const together[] = {"s0", "t", "s1", "t", "s3", "u", NULL};
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        char body[64], id[STORE_ID_TEXT], person[16];
        struct store_job job;
        size_t n = 0;
        snprintf(body, sizeof(body), "child %d report %d", child, i);
        snprintf(person, sizeof(person), "user %d", i % 6);
        contract_report(c, c->project, body, id);
        while (store_job_claim(c->store, "worker", 1, 60000, &job, &n, &c->err) == FZ_OK &&
               n == 1) {
            struct store_stack_key key;
            struct store_project project;
            const char *stack = stacks[(child * 7 + i * 3) % 5];
            assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
            fz_ignore(key_of(project.rules ? (void *)(uintptr_t)together : NULL,
                             fz_span_cstr(stack), &key, NULL)); /* it cannot fail */
            const struct contract_group g = {.stack = stack,
                                             .key = key.title,
                                             .variant = i % 2 ? "a" : "b",
                                             .user = person,
                                             .rules_version = project.rules_version};
            enum fz_code code = contract_group_finish(c, &job, &g);
            if (code != FZ_OK && code != FZ_E_CONFLICT) {
                fprintf(stderr, "finish: %s\n", c->err.text);
                return 1;
            }
        }
        struct store_rules_effect effect;
        struct store_rules_change what = change(c, i % 2 ? together : NULL, i % 2 ? "t" : NULL);
        int64_t split = 0;
        enum fz_code code = FZ_OK;
        if (child == 0 && i % 5 == 0)
            code = store_rules_apply(c->store, c->project, &what, &c->arena, &effect, &c->err);
        else if (child == 1 && i % 3 == 0)
            code = store_issue_merge(c->store, c->project, 1 + i % 5, 1 + (i + 1) % 5, by, &c->err);
        else if (child == 2 && i % 3 == 0)
            code = store_issue_split(c->store, c->project, 1 + i % 4, "a", by, &split, &c->err);
        if (code != FZ_OK && code != FZ_E_CONFLICT && code != FZ_E_NOT_FOUND) {
            fprintf(stderr, "change: %s\n", c->err.text);
            return 2;
        }
    }
    return 0;
}

static void
test_many_at_once(void **state)
{
    struct contract *c = *state;
    struct store_job jobs[64];
    contract_fork(c, CHILDREN, work, NULL);
    contract_recount(c);
    assert_int_equal(contract_claim_all(c, jobs, 64), 0);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM facts"), CHILDREN * ROUNDS);
    assert_true(contract_count(c, "SELECT count(*) FROM grouping_versions") > 0);
}

int
contract_run_rules(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_merge_and_undo),        contract_test(test_split_and_undo),
        contract_test(test_split_off_stays),       contract_test(test_key_comes_back),
        contract_test(test_stack_without_reports), contract_test(test_try_changes_nothing),
        contract_test(test_parts_of_variants),     contract_test(test_whole_keys_rewrite_nothing),
        contract_test(test_many_stacks_part),      contract_test(test_random_rules),
        contract_test(test_many_at_once),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
