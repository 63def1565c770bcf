/* Lists that grow, in the heap and in an arena. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/attr.h"

enum { N = 1000 };

static void
check_numbers(const uint32_t *list)
{
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(list[i], i);
}

static void
test_heap(void **state FZ_UNUSED)
{
    struct fz_budget budget = {.cap = 0};
    struct fz_budget *const budgets[] = {NULL, &budget};
    for (size_t k = 0; k < FZ_ARRAY_LEN(budgets); k++) {
        uint32_t *list = NULL;
        size_t room = 0;
        for (uint32_t i = 0; i < N; i++) {
            list = fz_list_grow(budgets[k], list, &room, i + 1, sizeof(*list));
            assert_non_null(list);
            list[i] = i;
        }
        list = fz_list_trim(budgets[k], list, &room, N, sizeof(*list));
        assert_int_equal(room, N);
        check_numbers(list);
        fz_list_free(budgets[k], list, room, sizeof(*list));
    }
    assert_int_equal(budget.used, 0);
}

static void
test_budget(void **state FZ_UNUSED)
{
    struct fz_budget budget = {.cap = 100};
    struct fz_error err;
    size_t room = 0;
    uint8_t *list = fz_list_grow(&budget, NULL, &room, 1, 1);
    assert_non_null(list);
    assert_null(fz_list_grow(&budget, list, &room, 101, 1));
    assert_int_equal(fz_budget_fail(&budget, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "needs more than its limit of 100 bytes of memory");
    assert_null(fz_list_grow(NULL, list, &room, SIZE_MAX, 16)); /* the product overflows */
    assert_int_equal(fz_budget_fail(NULL, &err), FZ_E_NO_MEMORY);
    fz_list_free(&budget, list, room, 1);
    assert_int_equal(budget.used, 0);
}

static void
test_arena(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 * 1024);
    uint32_t *list = NULL;
    size_t room = 0;
    for (uint32_t i = 0; i < N; i++) {
        list = fz_list_grow_in(&arena, list, &room, i + 1, sizeof(*list));
        assert_non_null(list);
        assert_int_equal(list[i], 0);
        list[i] = i;
    }
    check_numbers(list);
    assert_null(fz_list_grow_in(&arena, list, &room, 16 * 1024, sizeof(*list)));
    assert_null(fz_list_grow_in(&arena, list, &room, SIZE_MAX, sizeof(*list)));
    check_numbers(list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
