#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "storage/store_fair.h"

/* Of the first n projects the one that is next, as a claim chooses. */
static int64_t
next(const struct store_fair *fair, int64_t n)
{
    int64_t best = 1;
    for (int64_t i = 2; i <= n; i++)
        if (store_fair_start(fair, 1, i) < store_fair_start(fair, 1, best))
            best = i;
    return best;
}

static void
run(struct store_fair *fair, int64_t project, int64_t us)
{
    store_fair_settle(fair, 1, project, store_fair_charge(fair, 1, project, 1), us);
}

/* Whatever their jobs cost, each project has an equal part of the time. */
static void
test_equal_parts(void **state)
{
    (void)state;
    static const int64_t cost[] = {0, 1000, 10000, 500000};
    int64_t spent[4] = {0};
    struct store_fair fair = {.n = 0};
    for (int i = 0; i < 4000; i++) {
        int64_t project = next(&fair, 3);
        run(&fair, project, cost[project]);
        spent[project] += cost[project];
    }
    for (int64_t i = 2; i <= 3; i++) {
        int64_t apart = spent[1] - spent[i];
        assert_in_range(apart < 0 ? -apart : apart, 0, 600000);
    }
}

/* One that was idle comes next, but for no longer than its part; what others used before is theirs.
 */
static void
test_newcomer(void **state)
{
    (void)state;
    struct store_fair fair = {.n = 0};
    for (int i = 0; i < 1000; i++)
        run(&fair, 1, 20000);
    assert_int_equal(next(&fair, 2), 2);
    run(&fair, 2, 20000);
    assert_int_equal(next(&fair, 2), 1);
    int n = 0;
    for (int i = 0; i < 100; i++) {
        int64_t project = next(&fair, 2);
        run(&fair, project, 20000);
        n += project == 2;
    }
    assert_in_range(n, 49, 51);
}

/* Jobs that run count before it is known how long they take. */
static void
test_charged_in_advance(void **state)
{
    (void)state;
    struct store_fair fair = {.n = 0};
    run(&fair, 1, 500000);
    run(&fair, 2, 1000);
    int64_t each = store_fair_charge(&fair, 1, 2, 3);
    assert_int_equal(each, 1000);
    assert_int_equal(store_fair_cost(&fair, 1, 1), 500000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(next(&fair, 2), 2);
    store_fair_charge(&fair, 1, 2, 600);
    assert_int_equal(next(&fair, 2), 1);
    for (int i = 0; i < 600; i++)
        store_fair_refund(&fair, 1, 2, each);
    assert_int_equal(next(&fair, 2), 2);
}

static void
test_bounded(void **state)
{
    (void)state;
    struct store_fair fair = {.n = 0};
    /* More projects than are remembered. */
    for (int64_t i = 1; i <= 3 * STORE_FAIR_PROJECTS; i++)
        run(&fair, i, 1000);
    assert_int_equal(fair.n, STORE_FAIR_PROJECTS);
    /* A job of an hour does not lock its project out for an hour. */
    run(&fair, 7, (int64_t)3600 * 1000 * 1000);
    assert_true(store_fair_start(&fair, 1, 7) - fair.now_us[1] <= (int64_t)30 * 1000 * 1000);
    /* The other kind knows nothing of it. */
    assert_int_equal(store_fair_start(&fair, 2, 7), 0);
    assert_int_equal(store_fair_cost(&fair, 2, 7), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_parts), cmocka_unit_test(test_newcomer),
        cmocka_unit_test(test_charged_in_advance), cmocka_unit_test(test_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
