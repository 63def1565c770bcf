/* Users of issues, each once, against a table of all that was added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "storage/store_distinct.h"

enum { GROUPS = 5, USERS = 3000 };

static uint32_t seed;

static uint32_t
pick(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/*
 * `n` pairs; users are `step` apart, so that they are dense or sparse. Of the first groups many are expected. `is_split`: every other
 * pair is added to another set, and these are merged.
 */
static void
check_with(size_t n, int64_t first, int64_t step, uint32_t n_expected, bool is_split)
{
    static uint8_t seen[GROUPS][USERS]; /* 1 seen, 2 marked */
    FZ_CLEANUP(store_distinct_deinit) struct store_distinct distinct = {.n_groups = GROUPS};
    FZ_CLEANUP(store_distinct_deinit) struct store_distinct other = {.n_groups = 0};
    uint64_t users[GROUPS] = {0}, marked[GROUPS] = {0};
    memset(seen, 0, sizeof(seen));
    seed = (uint32_t)n;
    for (uint32_t i = 0; i < n_expected; i++)
        assert_int_equal(store_distinct_expect(&distinct, i, NULL), FZ_OK);
    assert_int_equal(store_distinct_like(&distinct, &other, NULL), FZ_OK);
    for (size_t i = 0; i < n; i++) {
        struct store_distinct *to = is_split && i % 2 ? &other : &distinct;
        uint32_t group = pick(GROUPS - 1), user = pick(group ? USERS : 40);
        bool is_marked = pick(10) == 0;
        seen[group][user] |= is_marked ? 3 : 1;
        assert_int_equal(store_distinct_add(to, group, first + user * step, is_marked, NULL),
                         FZ_OK);
    }
    assert_int_equal(store_distinct_merge(&distinct, &other, NULL), FZ_OK);
    /* Not users. */
    assert_int_equal(store_distinct_add(&distinct, 0, 0, true, NULL), FZ_OK);
    assert_int_equal(store_distinct_add(&distinct, 0, -7, true, NULL), FZ_OK);
    assert_int_equal(store_distinct_add(&distinct, 0, INT64_MAX, true, NULL), FZ_OK);
    assert_int_equal(store_distinct_count(&distinct, users, marked, NULL), FZ_OK);
    for (int group = 0; group < GROUPS; group++) {
        uint64_t want[2] = {0, 0};
        for (int user = 0; user < USERS; user++) {
            want[0] += seen[group][user] & 1;
            want[1] += seen[group][user] >> 1;
        }
        assert_int_equal(users[group], want[0]);
        assert_int_equal(marked[group], want[1]);
    }
}

static void
check(size_t n, int64_t first, int64_t step)
{
    for (int is_split = 0; is_split < 2; is_split++) {
        check_with(n, first, step, 0, is_split);
        check_with(n, first, step, 2, is_split);
        check_with(n, first, step, GROUPS, is_split);
    }
}

static void
test_count(void **state FZ_UNUSED)
{
    check(0, 1, 1);
    check(1, 1, 1);
    check(3000, 1, 1);
    check(3000, 1, 7919);                        /* sparse */
    check(20000, (INT64_C(1) << 31) - 9000, 7);  /* partly too far away for bits */
    check(100000, (INT64_C(1) << 39) - 9000, 3); /* large numbers */
    check(5000000, 1, 1);                        /* pairs are kept once on the way */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
