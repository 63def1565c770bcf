/*
 * Which stacks an issue is compared with.
 */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"
#include "storage/store_similar.h"

enum { MANY = 120 };

static const char by[] = "admin token";

/* The text of the stack is that of its key, if there is no other. */
static const char *
add(struct contract *c, const char *key, const char *stack, const char *f, const char *g,
    const char *h)
{
    const struct contract_group group = {
        .stack = stack ? stack : key, .key = key, .variant = "x", .functions = {f, g, h}};
    return contract_group_add(c, &group);
}

static struct store_similar
find(struct contract *c, int64_t number)
{
    struct store_similar found;
    assert_ok(c, store_similar_find(c->store, c->project, number, &c->arena, &found, &c->err));
    return found;
}

/* What is compared, sorted: "2:B 3:C". */
static const char *
texts(struct contract *c, const struct store_similar_stack *list, size_t n)
{
    char *text = fz_arena_strdup(&c->arena, "");
    for (int64_t number = 1; number < 10; number++) {
        for (size_t i = 0; i < n; i++) {
            if (list[i].number == number)
                text = fz_arena_printf(&c->arena, "%s%s%lld:%.*s", text, *text ? " " : "",
                                       (long long)number, (int)list[i].body.len,
                                       (const char *)list[i].body.data);
        }
    }
    assert_non_null(text);
    return text;
}

static const char *
others(struct contract *c, int64_t number)
{
    struct store_similar found = find(c, number);
    return texts(c, found.others, found.n_others);
}

static void
test_shared_functions(void **state)
{
    struct contract *c = *state;
    int64_t project = c->project;
    add(c, "A", NULL, "pay", "cart", "main");
    add(c, "B", NULL, "cart", "draw", NULL);
    add(c, "C", NULL, "draw", "view", NULL);
    add(c, "D", NULL, "main", NULL, NULL);
    assert_string_equal(others(c, 1), "2:B 4:D");
    assert_string_equal(others(c, 3), "2:B");
    assert_string_equal(others(c, 4), "1:A");
    struct store_similar found = find(c, 1);
    assert_string_equal(texts(c, found.own, found.n_own), "1:A");
    /* All of a small project are in the sample. */
    assert_int_equal(found.n_sample, 4);
    assert_int_equal(found.n_functions, 3);
    assert_string_equal(found.functions[0].function, "cart");
    assert_string_equal(found.functions[1].function, "draw");
    assert_string_equal(found.functions[2].function, "main");
    assert_int_equal(found.functions[2].n, 2);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_similar_find(c->store, c->project, 5, &c->arena, &found, &c->err));
    /* Another project has its own. */
    c->project = c->other;
    add(c, "A", NULL, "pay", "cart", "main");
    assert_string_equal(others(c, 1), "");
    c->project = project;
    assert_string_equal(others(c, 1), "2:B 4:D");
    /* What stands for all that came when the table was full is no function. */
    contract_sql(c, "UPDATE terms SET text = '(other)' WHERE text = 'cart'",
                 "UPDATE terms SET text = '(other)' WHERE text = 'cart'");
    assert_string_equal(others(c, 1), "4:D");
}

/* An issue is compared as people have put it together. */
static void
test_merged_and_split(void **state)
{
    struct contract *c = *state;
    const struct contract_group variant = {
        .stack = "A2", .key = "A", .variant = "y", .functions = {"pay", "till"}};
    int64_t split = 0;
    add(c, "A", NULL, "pay", "cart", NULL);
    add(c, "B", NULL, "pay", NULL, NULL);
    add(c, "C", NULL, "view", NULL, NULL);
    assert_string_equal(others(c, 1), "2:B");
    assert_ok(c, store_issue_merge(c->store, c->project, 2, 3, by, &c->err));
    assert_string_equal(others(c, 1), "3:B");
    struct store_similar found = find(c, 3);
    assert_int_equal(found.n_own, 2);
    assert_string_equal(texts(c, found.others, found.n_others), "1:A");
    /* One that was merged has no stacks any more. */
    assert_int_equal(find(c, 2).n_own, 0);
    contract_group_add(c, &variant);
    assert_int_equal(find(c, 1).n_own, 2);
    assert_ok(c, store_issue_split(c->store, c->project, 1, "y", by, &split, &c->err));
    assert_int_equal(split, 4);
    found = find(c, 4);
    assert_string_equal(texts(c, found.own, found.n_own), "4:A2");
    assert_string_equal(texts(c, found.others, found.n_others), "1:A 3:B");
    assert_string_equal(others(c, 3), "1:A 4:A2");
    contract_recount(c);
}

/* However many stacks there are: those that share what is rare. */
static void
test_many(void **state)
{
    struct contract *c = *state;
    char text[32];
    add(c, "A", NULL, "pay", "run loop", NULL);
    add(c, "B", NULL, "pay", "run loop", NULL);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "C%d", i);
        add(c, "C", text, "draw", "run loop", i % 10 ? NULL : "layout");
    }
    add(c, "D", NULL, "draw", NULL, NULL);
    add(c, "E", NULL, "layout", NULL, NULL);
    assert_string_equal(others(c, 1), "2:B");
    /* A few of each issue. */
    assert_int_equal(find(c, 5).n_others, 4);
    /* More than a tenth of all stacks has it. */
    assert_string_equal(others(c, 4), "");
    /* All that a common function leads to is the issue itself. */
    struct store_similar found = find(c, 3);
    assert_true(found.n_own <= STORE_SIMILAR_OWN && found.n_own > 1);
    assert_true(found.n_sample <= STORE_SIMILAR_SAMPLE && found.n_sample > MANY / 2);
    for (size_t i = 0; i < found.n_functions; i++) {
        if (strcmp(found.functions[i].function, "run loop") == 0)
            assert_true(found.functions[i].n * 10 > found.n_sample * 8);
    }
}

int
contract_run_similar(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_shared_functions),
        contract_test(test_merged_and_split),
        contract_test(test_many),
    };
    return cmocka_run_group_tests_name("similar", tests, NULL, NULL);
}
