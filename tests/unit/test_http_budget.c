/* Who may hold how much of a budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/http/budget.h"

enum { LIMIT = 64 * 1024 * 1024, MIB = 1024 * 1024 };

static struct http_client
client(unsigned n)
{
    struct http_client made = {.key = {{1, (uint8_t)n, (uint8_t)(n >> 8)}}, .text = "192.0.2.1"};
    return made;
}

struct step {
    unsigned client;
    int64_t token;
    unsigned mib;
    enum fz_code code;
};

/* Each step is a new holding; all are given back at the end. */
static void
run(const struct step *steps, size_t n)
{
    struct http_budget budget;
    struct http_holding holdings[16] = {{0}};
    http_budget_init(&budget, "body_memory", LIMIT);
    assert_true(n <= FZ_ARRAY_LEN(holdings));
    for (size_t i = 0; i < n; i++) {
        struct http_client who = client(steps[i].client);
        struct fz_error err = {.text = ""};
        print_message("%zu: client %u, token %d, %u MiB\n", i, steps[i].client, (int)steps[i].token,
                      steps[i].mib);
        enum fz_code code = http_budget_take(&budget, &holdings[i], &who, steps[i].token,
                                             (uint64_t)steps[i].mib * MIB, &err);
        assert_int_equal(code, steps[i].code);
        if (code) {
            assert_non_null(strstr(err.text, "limit body_memory"));
            assert_null(holdings[i].budget); /* free for another one */
        }
    }
    for (size_t i = 0; i < n; i++)
        http_budget_release(&holdings[i]);
    assert_int_equal(budget.used, 0);
    for (size_t i = 0; i < HTTP_BUDGET_BUCKETS; i++)
        assert_null(budget.shares[i]);
    http_budget_deinit(&budget);
}

static void
test_shares(void **state)
{
    (void)state;
    /* One client alone has half of it, and leaves the rest to others, who get a quarter each. */
    static const struct step greedy[] = {
        {1, 0, 32, FZ_OK},           {1, 0, 1, FZ_E_LIMIT}, {2, 0, 16, FZ_OK},
        {2, 0, 1, FZ_E_LIMIT},       {3, 0, 15, FZ_OK},     {3, 0, 1, FZ_OK},
        {4, 0, 1, FZ_E_UNAVAILABLE},
    };
    run(greedy, FZ_ARRAY_LEN(greedy));
    /* More than there is. */
    static const struct step huge[] = {{1, 0, 65, FZ_E_UNAVAILABLE}, {1, 0, 33, FZ_E_LIMIT}};
    run(huge, FZ_ARRAY_LEN(huge));
    /* One token through a few greedy clients: its other clients still get something. */
    static const struct step token[] = {
        {1, 7, 16, FZ_OK}, {2, 7, 16, FZ_OK}, {3, 7, 5, FZ_E_LIMIT},
        {4, 7, 4, FZ_OK},  {5, 7, 4, FZ_OK},  {6, 8, 16, FZ_OK},
    };
    run(token, FZ_ARRAY_LEN(token));
    /* One token through many clients that send little each leaves room for other tokens. */
    static const struct step spread[] = {
        {1, 7, 16, FZ_OK}, {2, 7, 16, FZ_OK}, {3, 7, 4, FZ_OK},      {4, 7, 4, FZ_OK},
        {5, 7, 4, FZ_OK},  {6, 7, 4, FZ_OK},  {7, 7, 1, FZ_E_LIMIT}, {8, 8, 16, FZ_OK},
    };
    run(spread, FZ_ARRAY_LEN(spread));
}

/* Small holdings of one token, however many, leave room for other tokens. */
static void
test_small_of_one_token(void **state)
{
    (void)state;
    enum { N = LIMIT / HTTP_BUDGET_SMALL, SHARE = N - N / 8 };
    static struct http_holding holdings[N];
    struct http_budget budget;
    struct http_holding other = {0};
    struct http_client who = client(N);
    struct fz_error err;
    http_budget_init(&budget, "body_memory", LIMIT);
    for (unsigned i = 0; i < N; i++) {
        struct http_client one = client(i);
        assert_int_equal(http_budget_take(&budget, &holdings[i], &one, 7, HTTP_BUDGET_SMALL, &err),
                         i < SHARE ? FZ_OK : FZ_E_LIMIT);
    }
    assert_int_equal(http_budget_take(&budget, &other, &who, 8, MIB, &err), FZ_OK);
    http_budget_release(&other);
    for (unsigned i = 0; i < N; i++)
        http_budget_release(&holdings[i]);
    assert_int_equal(budget.used, 0);
    http_budget_deinit(&budget);
}

/* Small holdings do not count as a share, whoever has them. */
static void
test_small(void **state)
{
    (void)state;
    struct http_budget budget;
    struct http_client who = client(1);
    struct http_holding large = {0}, small = {0};
    struct fz_error err;
    http_budget_init(&budget, "body_memory", LIMIT);
    assert_int_equal(http_budget_take(&budget, &large, &who, 1, LIMIT / 2, &err), FZ_OK);
    assert_int_equal(http_budget_take(&budget, &small, &who, 1, HTTP_BUDGET_SMALL, &err), FZ_OK);
    assert_int_equal(http_budget_take(&budget, &small, &who, 1, 1, &err), FZ_E_LIMIT);
    http_budget_give(&large, LIMIT / 2);
    assert_int_equal(http_budget_take(&budget, &small, &who, 1, 1, &err), FZ_OK);
    assert_int_equal(budget.used, HTTP_BUDGET_SMALL + 1);
    http_budget_release(&small);
    http_budget_release(&large);
    http_budget_release(&large);
    assert_int_equal(budget.used, 0);
    http_budget_deinit(&budget);
}

/* Many callers come and go. */
static void
test_many(void **state)
{
    (void)state;
    enum { N = 2000 };
    static struct http_holding holdings[N];
    struct http_budget budget;
    struct fz_error err;
    http_budget_init(&budget, "body_memory", LIMIT);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            struct http_client who = client(i);
            assert_int_equal(
                http_budget_take(&budget, &holdings[i], &who, i % 7, 1 + i + round, &err), FZ_OK);
        }
        for (unsigned i = round % 2; i < N; i++)
            http_budget_release(&holdings[i]);
        http_budget_release(&holdings[0]);
        assert_int_equal(budget.used, 0);
    }
    http_budget_deinit(&budget);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_small_of_one_token),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
