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

enum { GROUPS = 5, USERS = 3000, COLUMN = 500 };

static uint32_t seed;

static uint32_t
pick(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

struct distinct_case {
    const char *name;
    size_t n;
    int64_t first, step; /* the first user, and how far they are apart: dense or sparse */
};

/* As a column of facts: in any order, and some have no user. */
static void
add_column(struct store_distinct *distinct, const uint32_t *lists, const int64_t *users, size_t n)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    uint32_t at[COLUMN], lists_at[COLUMN];
    struct store_block column;
    store_block_encode(users, n, &bytes);
    assert_int_equal(store_block_open(fz_buffer_span(&bytes), &column, NULL), FZ_OK);
    for (size_t i = 0; i < n; i++) {
        at[i] = (uint32_t)(n - 1 - i);
        lists_at[i] = lists[n - 1 - i];
    }
    store_distinct_expect(distinct, column.first_id, column.most);
    assert_int_equal(store_distinct_add_some(distinct, lists_at, &column, at, n, NULL), FZ_OK);
}

/* Columns of one day are of neighbours, of which the others have no user. */
static void
check_columns(const struct distinct_case *c, unsigned none_of)
{
    static uint8_t seen[GROUPS][USERS];
    FZ_CLEANUP(store_distinct_deinit) struct store_distinct distinct = {.n_groups = GROUPS};
    const struct store_distinct_wanted all = {.n = GROUPS};
    uint64_t users[GROUPS] = {0};
    memset(seen, 0, sizeof(seen));
    seed = (uint32_t)c->n;
    for (size_t from = 0; from < c->n; from += COLUMN) {
        uint32_t lists[COLUMN];
        int64_t numbers[COLUMN];
        size_t n = c->n - from < COLUMN ? c->n - from : COLUMN;
        for (size_t i = 0; i < n; i++) {
            uint32_t group = pick(GROUPS - 1), user = pick(USERS);
            bool is_none = none_of && pick(none_of) == 0;
            lists[i] = store_distinct_list(group, pick(10) == 0);
            numbers[i] = is_none ? 0 : c->first + user * c->step;
            seen[group][user] |= !is_none;
        }
        add_column(&distinct, lists, numbers, n);
    }
    assert_int_equal(store_distinct_count(&distinct, &all, users, NULL), FZ_OK);
    for (int group = 0; group < GROUPS; group++) {
        uint64_t want = 0;
        for (int user = 0; user < USERS; user++)
            want += seen[group][user];
        if (users[group] != want)
            fail_msg("%s, columns, none of %u, group %d: %llu users, not %llu", c->name, none_of,
                     group, (unsigned long long)users[group], (unsigned long long)want);
    }
}

/* `is_split`: every other pair is added to another set, and these are merged. */
static void
check_with(const struct distinct_case *c, size_t squeeze_from, bool is_split, bool is_shared)
{
    static uint8_t seen[GROUPS][USERS]; /* 1 seen, 2 marked */
    FZ_CLEANUP(store_distinct_deinit)
    struct store_distinct distinct = {.n_groups = GROUPS, .squeeze_from = squeeze_from};
    FZ_CLEANUP(store_distinct_deinit) struct store_distinct other = distinct;
    uint64_t users[GROUPS] = {0}, marked[GROUPS] = {0}, some[2];
    const uint32_t groups[] = {3, 0};
    const struct store_distinct_wanted all = {.n = GROUPS};
    const struct store_distinct_wanted all_marked = {.n = GROUPS, .marked_only = true};
    const struct store_distinct_wanted two = {.groups = groups, .n = 2};
    memset(seen, 0, sizeof(seen));
    seed = (uint32_t)c->n;
    for (size_t i = 0; i < c->n; i++) {
        struct store_distinct *to = is_split && i % 2 ? &other : &distinct;
        uint32_t group = pick(GROUPS - 1), user = pick(group ? USERS : 40);
        bool is_marked = pick(10) == 0;
        seen[group][user] |= is_marked ? 3 : 1;
        assert_int_equal(store_distinct_add(to, store_distinct_list(group, is_marked),
                                            c->first + user * c->step, NULL),
                         FZ_OK);
    }
    if (is_split)
        assert_int_equal(store_distinct_merge(&distinct, &other, NULL), FZ_OK);
    /* Not users. */
    assert_int_equal(store_distinct_add(&distinct, 1, 0, NULL), FZ_OK);
    assert_int_equal(store_distinct_add(&distinct, 1, -7, NULL), FZ_OK);
    assert_int_equal(store_distinct_add(&distinct, 1, INT64_MAX, NULL), FZ_OK);
    distinct.is_shared = is_shared;
    distinct.share_from = 1;
    assert_int_equal(store_distinct_count(&distinct, &all_marked, marked, NULL), FZ_OK);
    assert_int_equal(store_distinct_count(&distinct, &all, users, NULL), FZ_OK);
    /* Once more: what was counted is still there. */
    assert_int_equal(store_distinct_count(&distinct, &two, some, NULL), FZ_OK);
    assert_int_equal(some[0], users[3]);
    assert_int_equal(some[1], users[0]);
    for (int group = 0; group < GROUPS; group++) {
        uint64_t want[2] = {0, 0};
        for (int user = 0; user < USERS; user++) {
            want[0] += seen[group][user] & 1;
            want[1] += seen[group][user] >> 1;
        }
        if (users[group] != want[0] || marked[group] != want[1])
            fail_msg("%s, group %d: %llu and %llu users, not %llu and %llu", c->name, group,
                     (unsigned long long)users[group], (unsigned long long)marked[group],
                     (unsigned long long)want[0], (unsigned long long)want[1]);
    }
}

static void
test_count(void **state FZ_UNUSED)
{
    static const struct distinct_case cases[] = {
        {"none", 0, 1, 1},
        {"one", 1, 1, 1},
        {"dense", 3000, 1, 1},
        {"sparse", 3000, 1, 7919},
        {"across the end of a plane", 20000, (INT64_C(1) << 30) - 9000, 7},
        {"a user whose low bits are 0", 3000, INT64_C(1) << 30, 7919},
        {"in many planes", 3000, 1, INT64_C(1) << 28},
        {"large numbers", 100000, (INT64_C(1) << 39) - 9000, 3},
        {"many", 2000000, 1, 1},
        {"many, sparse", 200000, 1, 100003},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        for (int how = 0; how < 8; how++)
            check_with(&cases[i], how & 1 ? 1 : 0, how & 2, how & 4);
        for (unsigned none_of = 0; none_of < 4; none_of++)
            check_columns(&cases[i], none_of);
    }
}

/* Squeezed lists have each user twice at most, and what was dropped is used again. */
static void
test_memory(void **state FZ_UNUSED)
{
    FZ_CLEANUP(store_distinct_deinit)
    struct store_distinct distinct = {.n_groups = 1, .squeeze_from = 1};
    const struct store_distinct_wanted all = {.n = 1}, marked = {.n = 1, .marked_only = true};
    uint64_t users = 0;
    for (int i = 0; i < 10000000; i++)
        assert_int_equal(store_distinct_add(&distinct, 0, 1 + pick(50000), NULL), FZ_OK);
    assert_in_range(distinct.n_bytes, 50000 * 4, 3 * 50000 * 4);
    assert_true(distinct.n_slabs == 2);
    assert_int_equal(store_distinct_count(&distinct, &all, &users, NULL), FZ_OK);
    assert_int_equal(users, 50000);
    assert_int_equal(store_distinct_count(&distinct, &marked, &users, NULL), FZ_OK);
    assert_int_equal(users, 0);
}

/* More than there may be is an error that says what to do. */
static void
test_limit(void **state FZ_UNUSED)
{
    FZ_CLEANUP(store_distinct_deinit)
    struct store_distinct distinct = {.n_groups = 2, .most = 1 << 20, .squeeze_from = 1 << 19};
    enum fz_code code = FZ_OK;
    struct fz_error err = {0};
    for (int64_t user = 1; code == FZ_OK && user < 1 << 20; user++)
        code = store_distinct_add(&distinct, user & 3, user, &err);
    assert_int_equal(code, FZ_E_LIMIT);
    assert_non_null(strstr(err.text, "since="));
    assert_in_range(distinct.n_bytes, 1 << 20, (1 << 20) + (1 << 17));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
