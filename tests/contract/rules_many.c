/*
 * Rules of grouping over many stacks, in any order, and while reports come.
 */
#include "rules_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"

enum { CHILDREN = 4, ROUNDS = 30 };

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
        rules_add(c, i % 6 ? "A1" : "A2", "a", i % 3 ? "x" : "y", user);
        if (i % 2)
            rules_add(c, "B", "b", "x", user);
    }
    rules_apply(c, leaves, "leaves");
    assert_int_equal(contract_issue(c, 1).n_reports, 10);
    assert_int_equal(contract_issue(c, 2).n_reports, 8);
    rules_apply(c, swap, "swap");
    assert_int_equal(contract_issue(c, 1).n_reports + contract_issue(c, 2).n_reports, 18);
    rules_undo(c, leaves);
    rules_undo(c, before);
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
        rules_add(c, names[s], "one", "x", user);
    }
    rules_add(c, "s0", "one", "y", "anna");
    struct store_rules_effect done = rules_apply(c, apart, "apart");
    assert_int_equal(done.n_new, STACKS - 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    assert_int_equal(contract_issue(c, STACKS).n_users, 1);
    rules_undo(c, before);
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
        rules_add(c, stacks[i % 3], i % 3 == 2 ? "B" : "a", variants[i % 2], "anna");
    int64_t facts = contract_count(c, sum);
    rules_apply(c, renamed, "renamed");
    assert_string_equal(contract_issue(c, 1).title, "z");
    assert_int_equal(contract_count(c, sum), facts);
    rules_undo(c, before);
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
        rules_add(c, names[s], names[s], i % 3 ? "x" : "y", user);
    }
    const int64_t issues = contract_count(c, "SELECT count(*) FROM issues");
    for (int v = 1; v <= VERSIONS; v++)
        rules_apply(c, pairs[v], "random");
    for (int v = VERSIONS - 1; v >= 0; v--)
        rules_undo(c, pairs[v]);
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
            fz_ignore(rules_key_of(project.rules ? (void *)(uintptr_t)together : NULL,
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
        struct store_rules_change what =
            rules_change(c, i % 2 ? together : NULL, i % 2 ? "t" : NULL);
        int64_t split = 0;
        enum fz_code code = FZ_OK;
        if (child == 0 && i % 5 == 0)
            code = store_rules_apply(c->store, c->project, &what, &c->arena, &effect, &c->err);
        else if (child == 1 && i % 3 == 0)
            code = store_issue_merge(c->store, c->project, 1 + i % 5, 1 + (i + 1) % 5, rules_by,
                                     &c->err);
        else if (child == 2 && i % 3 == 0)
            code =
                store_issue_split(c->store, c->project, 1 + i % 4, "a", rules_by, &split, &c->err);
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
contract_run_rules_many(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_parts_of_variants),
        contract_test(test_many_stacks_part),
        contract_test(test_whole_keys_rewrite_nothing),
        contract_test(test_random_rules),
        contract_test(test_many_at_once),
    };
    return cmocka_run_group_tests_name("rules_many", tests, NULL, NULL);
}
