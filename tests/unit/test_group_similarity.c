/* FaST against values made by hand. */
#include <math.h>

#include "group_case.h"

static uint64_t
frequency(void *user, const char *function)
{
    (void)user;
    return strcmp(function, "common") == 0 ? 50 : 1;
}

static struct group_stack
make(const char *const *names, struct fz_arena *arena)
{
    struct group_stack stack = {.kind = "crash"};
    stack.frames = fz_arena_array(arena, 8, sizeof(*stack.frames));
    for (; names[stack.n_frames]; stack.n_frames++)
        stack.frames[stack.n_frames].name = names[stack.n_frames];
    return stack;
}

static double
similarity(const struct group_similarity *with, const struct group_stack *a,
           const struct group_stack *b, struct fz_arena *arena)
{
    const struct group_weighed *x = group_similarity_weigh(with, a, arena);
    const struct group_weighed *y = group_similarity_weigh(with, b, arena);
    assert_non_null(x);
    assert_non_null(y);
    return group_similarity(with, x, y);
}

static void
test_values(void **state)
{
    static const struct {
        const char *a[5], *b[5];
        double alpha, beta, gamma, want;
    } cases[] = {
        {{"f", "g"}, {"f", "g"}, 1, 0, 1, 1},
        {{"f", "g"}, {"h", "i"}, 1, 0, 1, -1},
        {{NULL}, {NULL}, 1, 0, 1, 0},
        {{"f"}, {NULL}, 1, 0, 1, -1},
        /* Weights 1, 1/2 and 1: the pair of g adds 1.5, f subtracts 1. */
        {{"f", "g"}, {"g"}, 1, 0, 0, 0.2},
        /* The same with a distance of 1: (1.5 / e - 1) / 2.5. */
        {{"f", "g"}, {"g"}, 1, 0, 1, (1.5 * 0.36787944117144233 - 1) / 2.5},
        /* Pairs in order: f1-f1 and f3-f2; weights 1, 1/3 and 1, 1/2; g has 1/2. */
        {{"f", "g", "f"}, {"f", "f"}, 1, 0, 0, (2 + 1.0 / 3 + 0.5 - 0.5) / (10.0 / 3)},
        /* alpha 0: all positions weigh the same. */
        {{"f", "g", "h"}, {"f"}, 0, 0, 0, 0},
        /* "common" is in half of all stacks: exp(-0.02 * 100 * 0.5) = 1/e; the others in 1 of 100. */
        {{"common"}, {"f"}, 0, 0.02, 0, -1},
        {{"common", "f"},
         {"f"},
         0,
         0.02,
         0,
         (2 * 0.98019867330675525 - 0.36787944117144233) /
             (2 * 0.98019867330675525 + 0.36787944117144233)},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
        struct group_stack a = make(cases[i].a, &arena), b = make(cases[i].b, &arena);
        const struct group_similarity with = {.alpha = cases[i].alpha,
                                              .beta = cases[i].beta,
                                              .gamma = cases[i].gamma,
                                              .frequency = frequency,
                                              .n_stacks = 100};
        double got = similarity(&with, &a, &b, &arena), back = similarity(&with, &b, &a, &arena);
        if (fabs(got - cases[i].want) > 1e-12 || fabs(back - got) > 1e-12)
            fail_msg("row %zu: %.15f and %.15f, not %.15f", i, got, back, cases[i].want);
    }
}

/* One frame more at the top changes little; frames without a name do not count. */
static void
test_default(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", NULL}, *const more[] = {"x", "a", "b",
                                                                                    "c", "d", NULL};
    static const char *const others[] = {"a", "x", "y", "z", NULL};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    const struct group_similarity with = group_similarity_default();
    struct group_stack a = make(names, &arena), b = make(more, &arena), c = make(others, &arena);
    struct group_stack none = make(names, &arena);
    (void)state;
    for (size_t i = 0; i < none.n_frames; i++)
        none.frames[i].name = NULL;
    assert_true(fabs(similarity(&with, &a, &a, &arena) - 1) < 1e-12);
    assert_true(similarity(&with, &a, &b, &arena) > similarity(&with, &b, &c, &arena));
    assert_true(fabs(similarity(&with, &none, &none, &arena)) < 1e-12);
}

/* What two stacks share, the rare and the upper first; each function once. */
static void
test_shared(void **state)
{
    static const struct {
        const char *a[6], *b[6], *want[4];
        size_t max, n;
    } cases[] = {
        {{"f", "g", "h"}, {"h", "f"}, {"f", "h"}, 4, 2},
        {{"f", "g"}, {"x", "y"}, {NULL}, 4, 0},
        {{"f", "f", "f"}, {"f", "g", "f"}, {"f"}, 4, 1},
        /* "common" is first in both, and in half of all stacks. */
        {{"common", "f", "g"}, {"common", "f", "g"}, {"f", "g", "common"}, 4, 3},
        {{"common", "a", "b", "c", "d"}, {"common", "d", "c", "b", "a"}, {"a", "d"}, 2, 5},
        {{NULL}, {NULL}, {NULL}, 4, 0},
        {{"f"}, {"f"}, {NULL}, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
        struct group_similarity with = group_similarity_default();
        struct group_stack a = make(cases[i].a, &arena), b = make(cases[i].b, &arena);
        const char *got[4] = {NULL};
        with.frequency = frequency;
        with.n_stacks = 100;
        size_t n =
            group_similarity_shared(group_similarity_weigh(&with, &a, &arena),
                                    group_similarity_weigh(&with, &b, &arena), got, cases[i].max);
        bool same = n == cases[i].n;
        for (size_t k = 0; same && k < FZ_ARRAY_LEN(got); k++)
            same = !got[k] ? !cases[i].want[k]
                           : cases[i].want[k] && strcmp(got[k], cases[i].want[k]) == 0;
        if (!same)
            fail_msg("row %zu: %zu: %s %s %s", i, n, got[0], got[1], got[2]);
    }
}

static void
test_no_memory(void **state)
{
    static const char *const names[] = {"a", "b", NULL};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena full = fz_arena_make(8);
    const struct group_similarity with = group_similarity_default();
    struct group_stack a = make(names, &arena);
    (void)state;
    assert_null(group_similarity_weigh(&with, &a, &full));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_default),
        cmocka_unit_test(test_shared), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
